"""The run folder: ledger, pictures, tables; one writer, any number of readers; and who carries stages out.

``RunFolder`` writes, ``Run`` (by :func:`open`) reads, ``engine.run`` does what is missing of a stage.
"""

from stereotrope.run import engine
from stereotrope.run.disk import file_stem, make_folder, sweep, write_atomic
from stereotrope.run.engine import Items, Job, Needs, Stage, Summary, refuse_stopped
from stereotrope.run.engines import Engine, engine_of
from stereotrope.run.folder import FORMAT_VERSION, RunFolder, refuse_lost_ledger
from stereotrope.run.ledger import Ledger
from stereotrope.run.lock import writing
from stereotrope.run.reader import Run, open
from stereotrope.run.salvage import damage_of
from stereotrope.run.seal import LEDGER, SEAL, changed_files, changes_told, is_sealed, write_seal
from stereotrope.run.store import PictureStore, StoredPicture

__all__ = [
    "FORMAT_VERSION",
    "LEDGER",
    "SEAL",
    "Engine",
    "Items",
    "Job",
    "Ledger",
    "Needs",
    "PictureStore",
    "Run",
    "RunFolder",
    "Stage",
    "StoredPicture",
    "Summary",
    "changed_files",
    "changes_told",
    "damage_of",
    "engine",
    "engine_of",
    "file_stem",
    "is_sealed",
    "make_folder",
    "open",
    "refuse_lost_ledger",
    "refuse_stopped",
    "sweep",
    "write_atomic",
    "write_seal",
    "writing",
]
