"""``stereotrope run`` that notes every call of a generator or annotator in a side log, as it begins.

Run as ``python counted_run.py LOG ARGUMENTS…``; the log is opened for appending and written unbuffered.
"""

import os
import sys
from contextlib import ExitStack, contextmanager
from unittest import mock

from stereotrope.annotate import BlankAnnotator, ColourAnnotator, DuplicatesAnnotator
from stereotrope.cli import main
from stereotrope.generate import CalibratedGenerator


def noted(kind, process, log):
    def wrapped(self, item):
        key = getattr(item, "sha256", None) or item.image_id
        os.write(log, f"{kind} {key}\n".encode())
        return process(self, item)

    return wrapped


@contextmanager
def noting(file):
    """Each call adds a line to the file."""
    log = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    with ExitStack() as patched:
        patched.callback(os.close, log)
        for maker in (CalibratedGenerator, BlankAnnotator, ColourAnnotator, DuplicatesAnnotator):
            process = noted(maker.__name__, maker.process, log)
            patched.enter_context(mock.patch.object(maker, "process", process))
        yield


if __name__ == "__main__":
    with noting(sys.argv[1]):
        main(sys.argv[2:])
