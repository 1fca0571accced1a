"""``stereotrope run`` that notes what an encoder encodes, and is killed as it begins its n-th batch.

Run as ``python killed_encoding.py LOG N ARGUMENTS…``; N = 0 lets it end.
"""

import os
import signal
import sys

from stereotrope.annotate import Encoder
from stereotrope.cli import main

if __name__ == "__main__":
    log = os.open(sys.argv[1], os.O_APPEND | os.O_CREAT | os.O_WRONLY)
    last, begun = int(sys.argv[2]), []

    def noted(encode):
        def wrapped(self, items):
            begun.append(len(items))
            os.write(log, f"{len(items)}\n".encode())
            found = encode(self, items)
            if len(begun) == last:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        return wrapped

    Encoder.encode_pictures = noted(Encoder.encode_pictures)
    Encoder.encode_texts = noted(Encoder.encode_texts)
    main(sys.argv[3:])
