"""Commands in a process of their own, where another package is installed."""

from __future__ import annotations

import json
import os
import subprocess
import sys

TOGETHER = """\
import io, json, sys
from contextlib import redirect_stderr, redirect_stdout
from stereotrope.cli import main
done = []
for arguments in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code
    done.append([arguments, code or 0, out.getvalue(), err.getvalue()])
json.dump(done, sys.stdout)
"""
"""Several commands in one process: most of the time of a short one goes into its start."""


def python(folder, *arguments, site=None):
    paths = [str(site)] * (site is not None) + [os.environ.get("PYTHONPATH", "")]
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "COLUMNS": "120"},
        capture_output=True,
        text=True,
        check=False,
    )


def stereotrope(folder, *arguments, site=None):
    return python(folder, "-m", "stereotrope", *arguments, site=site)


def together(folder, *commands, site=None):
    done = python(folder, "-c", TOGETHER, json.dumps([command.split() for command in commands]), site=site)
    assert done.returncode == 0, done.stderr
    return [subprocess.CompletedProcess(*one) for one in json.loads(done.stdout)]
