"""Print the peak of memory of a process that reads a 64-megapixel PNG of 16 bits in four threads."""

import resource
import struct
import sys
import threading
import zlib

from stereotrope import pictures

SIDE = 8000


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(colour, channels):
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(1 + 2 * channels * SIDE)) for _ in range(SIDE)) + packer.flush()
    header = struct.pack(">IIBBBBB", SIDE, SIDE, 16, colour, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


if __name__ == "__main__":
    data = png(*{"grey": (0, 1), "rgb": (2, 3)}[sys.argv[1]])

    def read():
        pictures.inspect(data)
        pictures.decode(data, max_side=256)
        pictures.decode(data)

    threads = [threading.Thread(target=read) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
