"""YAML that people write by hand: its tree, and the line on which everything in it stands."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from stereotrope.clients import line_with_key
from stereotrope.errors import AuditFileError

_MAX_BYTES = 4_000_000
"""An audit file larger than this is refused; long prompt lists belong into a CSV file."""
_LONGEST = 200
"""Characters of the reader's own words that a message repeats."""


def read_tree(text: str, error: Callable[[str, int], Exception]) -> Any:
    """Read a YAML text as a tree that knows its lines.

    text: The text. A key that stands twice in one mapping is a mistake.
    error: Makes what is raised from a message and a line.
    Raises Exception: What ``error`` makes: the text is not YAML.
    """
    try:
        return YAML(typ="rt", pure=True).load(text)
    except MarkedYAMLError as found:
        mark = found.problem_mark or found.context_mark
        # ruamel repeats the value of a doubled key, which may be anything.
        problem = str(found.problem or found.context).splitlines()[0].partition(" with value ")[0]
        hint = "write each key once" if "duplicate key" in problem else "check indentation, colons and quotes"
        raise error(f"not readable as YAML: {problem}; {hint}", mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise error("not readable as YAML: nested too deeply; write it flatter", 1) from None
    except (YAMLError, ValueError) as found:
        first = (str(found).splitlines() or ["unreadable"])[0].split("; use sys.")[0]
        first = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}… ({len(first)} characters)"
        raise error(f"not readable as YAML: {first}; correct it", 1) from None


def line_of(tree: Any, location: Sequence[Any]) -> int:
    """Line of the innermost key or item of ``location`` that a tree holds; 1 where it holds none.

    >>> line_of(read_tree("a:\\n  b: 1\\n", ValueError), ("a", "b", "c"))
    2
    """
    node, line = tree, 1
    for step in location:
        held = node.lc.data or {} if isinstance(node, CommentedMap | CommentedSeq) else {}
        if step in held:
            line = held[step][0] + 1
            node = node[step]
    return line


class Source:
    """The text of an audit file, and on which line each key stands."""

    def __init__(self, text: str, name: str, base: Path) -> None:
        self.text, self.name, self.base = text, name, base
        _refuse_key(text, name)
        self.tree: Any = _parse(text, name)

    def line(self, location: Sequence[str | int]) -> int:
        """Line of the innermost key of ``location`` that the file holds; 1 where none is."""
        return line_of(self.tree, location)

    def error(self, message: str, *location: str | int) -> AuditFileError:
        """Return an error that points at ``location``."""
        return AuditFileError(message, file=self.name, line=self.line(location))


def read_source(path: Path | str) -> Source:
    """Read an audit file.

    Raises AuditFileError: It is not there, too large, not UTF-8, not YAML, or no mapping.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > _MAX_BYTES:
            raise AuditFileError(
                f"an audit file has at most {_MAX_BYTES:,} bytes, found {size:,}; put long lists of prompts "
                "into a CSV file and name it under `prompts`",
                file=path,
            )
        text = path.read_bytes().decode("utf-8-sig")
    except IsADirectoryError:
        raise AuditFileError("is a folder; name an audit file (YAML)", file=path) from None
    except FileNotFoundError:
        raise AuditFileError(
            "no such file; write one with `stereotrope init objects > audit.yaml`", file=path
        ) from None
    except UnicodeDecodeError as error:
        raise AuditFileError(
            f"must be UTF-8 text, found another encoding at byte {error.start}", file=path
        ) from None
    except OSError as error:
        raise AuditFileError(f"cannot be read: {error.strerror}", file=path) from error
    return Source(text, str(path), path.parent)


def _refuse_key(text: str, name: str) -> None:
    """Refuse a file with a key in it, comments included: a run keeps a copy of its audit file."""
    line = line_with_key(text)
    if line is not None:
        raise AuditFileError(
            "holds what looks like the key of a model server (it is not shown); put the key into an "
            "environment variable and write `key: NAME_OF_THE_VARIABLE`",
            file=name,
            line=line,
        )


def _parse(text: str, name: str) -> Any:
    tree = read_tree(text, lambda message, line: AuditFileError(message, file=name, line=line))
    if not isinstance(tree, CommentedMap):
        raise AuditFileError(
            "an audit file is a mapping of keys such as `generators:` and `objects:`, found "
            f"{'nothing' if tree is None else 'a ' + type(tree).__name__.removeprefix('Commented').lower()}; "
            "start from `stereotrope init objects`",
            file=name,
            line=1,
        )
    return tree
