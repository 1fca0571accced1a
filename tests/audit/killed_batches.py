"""``stereotrope run`` that notes batches that models here draw, encode or cluster, and is killed in the n-th.

Run as ``python killed_batches.py LOG N ARGUMENTS…``; N = 0 lets it end.
"""

import os
import signal
import sys
from itertools import count

from stereotrope.annotate import ClusterPrompts, Encoder
from stereotrope.cli import main
from stereotrope.generate import DiffusersGenerator

if __name__ == "__main__":
    log = os.open(sys.argv[1], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    last, numbers = int(sys.argv[2]), count(1)

    def noted(work):
        def wrapped(self, items):
            number = next(numbers)  # batches of several threads may be under way
            os.write(log, f"{len(items)}\n".encode())
            found = work(self, items)
            if number == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return wrapped

    for maker, name in (
        (DiffusersGenerator, "process_batch"),
        (DiffusersGenerator, "probe_batch"),
        (Encoder, "encode_pictures"),
        (Encoder, "encode_texts"),
        (ClusterPrompts, "process"),
    ):
        setattr(maker, name, noted(getattr(maker, name)))
    main(sys.argv[3:])
