"""``python -m stereotrope.testing``: the loopback server as a process of its own; prints its URL.

Its judge knows the pictures that it drew and looks at all others.
"""

import argparse
import os
import signal
import sys
import threading

from stereotrope.testing.server import Loopback


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m stereotrope.testing", description=__doc__, allow_abbrev=False)
    parser.add_argument("--port", type=int, default=0, help="0 for any that is free")
    parser.add_argument("--latency", type=float, nargs=2, default=(0.0, 0.0), metavar=("LOW", "HIGH"))
    parser.add_argument("--requests-per-minute", type=float)
    parser.add_argument("--error", type=float, default=0.0, help="share of wrong answers of the judge")
    parser.add_argument("--painter", choices=["calibrated"])
    parser.add_argument("--key-variable", help="environment variable with the only key that is let in")
    parser.add_argument("--model", action="append", dest="models", help="the models there are; else any")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-seeds", action="store_false", dest="seeds", help="pictures take no seed")
    parser.add_argument("--first-number", type=int, default=0, help="of the first picture without a seed")
    return parser


def main() -> None:
    """Serve until interrupted or terminated."""
    options = vars(_arguments().parse_args())
    variable, low_high = options.pop("key_variable"), tuple(options.pop("latency"))
    key = os.environ[variable] if variable else None
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with Loopback(**options, latency=low_high, key=key, reads=True, bodies=False) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        over.wait()


if __name__ == "__main__":
    main()
