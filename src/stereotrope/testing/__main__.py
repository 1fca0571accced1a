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
    parser.add_argument("--model", action="append", help="the models there are; any where not given")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-seeds", action="store_true", help="pictures take no seed")
    parser.add_argument("--first-number", type=int, default=0, help="of the first picture without a seed")
    return parser


def main() -> None:
    """Serve until interrupted or terminated."""
    given = _arguments().parse_args()
    over = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: over.set())
    with Loopback(
        painter=given.painter,
        error=given.error,
        reads=True,
        latency=tuple(given.latency),
        requests_per_minute=given.requests_per_minute,
        key=os.environ[given.key_variable] if given.key_variable else None,
        models=given.model,
        seed=given.seed,
        seeds=not given.no_seeds,
        first_number=given.first_number,
        port=given.port,
        bodies=False,
    ) as server:
        sys.stdout.write(f"{server.url}\n")
        sys.stdout.flush()
        over.wait()


if __name__ == "__main__":
    main()
