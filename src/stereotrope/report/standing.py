"""A report that stands: neither what it shows nor any of its files has changed since it was written."""

import hashlib
import json
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from stereotrope.plugins import OURS
from stereotrope.report.contract import SECTIONS
from stereotrope.report.kept import FOLDER, bytes_at, keep, read_kept
from stereotrope.run import LEDGER, Run, is_sealed
from stereotrope.run.seal import sealed_digests
from stereotrope.version import program_text_hash

_FILE = "report"
_LIBRARIES = ("jinja2", "markupsafe", "pillow", "polars", "vl-convert-python")
"""Libraries whose version can change the bytes of a report."""
_MOST_LOOKED = 100_000
"""Pictures that are looked for one by one; of more a report is made anew."""


class StandingReport:
    """What the report in a run's folder was made of, and what it is.

    run: An opened run.
    options: What the report was asked to be.
    """

    def __init__(self, run: Run, **options: Any) -> None:
        self._run, self._folder = run, run.path / "report"
        self._key = self._made_of(options)

    def is_as_written(self) -> bool:
        """Whether what :meth:`keep` remembered is as it was, to the last file."""
        data = read_kept(self._run.path / FOLDER / _FILE)
        return self._key is not None and data is not None and json.loads(data) == self._told()

    def keep(self) -> None:
        """Remember what was made of what."""
        if self._key is not None:
            keep(self._run.path / FOLDER / _FILE, json.dumps(self._told()).encode())

    def _made_of(self, options: Mapping[str, Any]) -> str | None:
        """Hash of all that a report shows; None where it cannot be told.

        It cannot be of a run that was changed by hand, of sections of other packages, which change without a
        new version, nor where the words of measures are not in the run, where there are very many pictures,
        or one cannot be found.
        """
        run = self._run
        ours = all(SECTIONS.origin(name) == OURS for name in SECTIONS)
        stored = run.scan("images").select("image_id", "path").drop_nulls().collect()["image_id"]
        if not ours or not is_sealed(run.path) or "words" not in run.info or len(stored) > _MOST_LOOKED:
            return None
        stamps = run.stamps(stored.to_list())
        if len(stamps) < stored.n_unique():
            return None
        told = {
            "program": [program_text_hash(), *map(version, _LIBRARIES)],
            "run": sealed_digests(run.path),
            "ledger": (run.path / LEDGER).is_file(),
            "spending": run.spending.rows(),
            "pictures": stamps,
            "options": dict(options),
        }
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()

    def _told(self) -> dict[str, Any]:
        files = sorted(file for file in self._folder.rglob("*") if file.is_file())
        return {
            "key": self._key,
            "files": {str(file.relative_to(self._folder)): _hash(file) for file in files},
        }


def _hash(file: Path) -> str:
    return hashlib.sha256(bytes_at(file) or b"").hexdigest()
