"""``stereotrope run`` that notes every call of a generator or annotator in a side log, as it begins.

Run as ``python counted_run.py LOG ARGUMENTS…``; the log is opened for appending and written unbuffered.
"""

import os
import sys

from stereotrope.annotate import BlankAnnotator, ColourAnnotator, DuplicatesAnnotator
from stereotrope.cli import main
from stereotrope.generate import CalibratedGenerator


def noted(kind, process, log):
    def wrapped(self, item):
        key = getattr(item, "sha256", None) or item.image_id
        os.write(log, f"{kind} {key}\n".encode())
        return process(self, item)

    return wrapped


if __name__ == "__main__":
    log = os.open(sys.argv[1], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    for maker in (CalibratedGenerator, BlankAnnotator, ColourAnnotator, DuplicatesAnnotator):
        maker.process = noted(maker.__name__, maker.process, log)
    main(sys.argv[2:])
