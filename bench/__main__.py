"""Every benchmark in one table: ours, the best vectorised reference, the bare limit, and how it grows.

``python -m bench`` runs all, ``python -m bench shares lexicon`` some, each in a process of its own with one
thread of linear algebra. It fails where results disagree or a promise is not kept, and says which.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from importlib import import_module

from bench.rows import Found, Row, table

BENCHMARKS = (
    *("divergences", "shares", "pictures", "lexicon", "spectrum", "loops"),
    *("reports", "study", "million"),
)


def apart(name: str) -> Found:
    """What a benchmark finds in a process of its own."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "bench", "--here", name]
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    found = json.loads(done.stdout.splitlines()[-1])
    return [Row(**row) for row in found["rows"]], found["wrong"]


def here(name: str) -> str:
    """What a benchmark finds, as JSON."""
    rows, wrong = import_module(f"bench.{name}").bench()
    return json.dumps({"rows": [asdict(row) for row in rows], "wrong": wrong})


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--here"]:
        print(here(arguments[1]))
        return 0
    if unknown := [name for name in arguments if name not in BENCHMARKS]:
        sys.exit(f"no benchmark {unknown[0]!r}; there are {', '.join(BENCHMARKS)}")
    rows, wrong = [], []
    for name in arguments or BENCHMARKS:
        print(f"{name} …", file=sys.stderr, flush=True)
        found = apart(name)
        rows += found[0]
        wrong += found[1]
    print("CPU seconds; * on a slice, multiplied up; growth is the exponent since the size before")
    print(*table(rows), *wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
