"""What is said of an error that ends a command: where the machine or a file is at fault, what to do."""

import errno

from stereotrope.cli.stopping import keeps
from stereotrope.errors import InputError, RunError, StereotropeError, said_by

_IN_THE_WAY = {
    errno.EEXIST: "a folder must be here, and a file of that name is in the way",
    errno.EISDIR: "a file must be here, and a folder of that name is in the way",
}
"""What is in the way of a file or folder, by the number of the error."""


def errors_of(error: BaseException) -> list[StereotropeError]:
    """Return what is said of an error; nothing of one that is ours to mend."""
    told: list[StereotropeError] = [error] if isinstance(error, StereotropeError) else []
    if short := _short_of(error):
        # A file that there was no room to read is not at fault.
        return [RunError(short)] if isinstance(error, InputError) else [*told, RunError(short)]
    full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    if told or not isinstance(error, OSError) or (error.filename is None and not full):
        return told
    where = "the output" if error.filename is None else error.filename
    hint = "choose another place, or see who may read and write there"
    if blocks := _IN_THE_WAY.get(error.errno or 0):
        return [
            RunError(f"{where}: {blocks}; move it elsewhere or remove it, then run the same command again")
        ]
    if full:
        kept = "what was finished is kept; " if keeps() else ""
        hint = f"{kept}make room, then run the same command again{' to continue' if kept else ''}"
    return [RunError(f"{where}: {(error.strerror or 'cannot be used').lower()}; {hint}")]


_NO_ROOM = (
    "failed to map segment from shared object",
    "cannot allocate memory",
    "memory allocation of",
    "pyobject pointer is null",
)
"""What the loader says of a library for which there is no room, and Polars where there is none."""


def _short_of(error: BaseException | None) -> str | None:
    """What the machine lacks, where that is behind an error, and what to do."""
    while error is not None:
        number, said = getattr(error, "errno", None), said_by(error).lower()
        if number in (errno.EMFILE, errno.ENFILE) or "too many open files" in said:
            what, remedy = "too many files are open", "raise the limit (`ulimit -n 4096`)"
        elif isinstance(error, MemoryError) or number == errno.ENOMEM or any(one in said for one in _NO_ROOM):
            what, remedy = "memory is short", "close other programs"
        elif "can't start new thread" in said:
            what, remedy = "no further thread can be started", "close other programs, or raise the limits"
        else:
            error = error.__cause__ or error.__context__
            continue
        kept = ": everything finished is kept" if keeps() else ""
        return f"{what}; {remedy}, then run the same command again{kept}"
    return None
