"""YAML that people write by hand: its tree, and the line on which everything in it stands."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.reader import ReaderError

from stereotrope.clients import line_with_key
from stereotrope.errors import AuditFileError, InputError
from stereotrope.inputs.files import read_text

_LONGEST = 200
"""Characters of the reader's own words that a message repeats."""


def read_tree(text: str, error: Callable[[str, int], Exception]) -> Any:
    """Read a YAML text as a tree that knows its lines; it is shared, and only to be read.

    text: The text. A key that stands twice in one mapping is a mistake.
    error: Makes what is raised from a message and a line.
    Raises Exception: What ``error`` makes: the text is not YAML.
    """
    try:
        return _loaded(text)
    except MarkedYAMLError as found:
        mark = found.problem_mark or found.context_mark
        # ruamel repeats the value of a doubled key, which may be anything.
        problem = str(found.problem or found.context).splitlines()[0].partition(" with value ")[0]
        hint = "write each key once" if "duplicate key" in problem else "check indentation, colons and quotes"
        raise error(f"not readable as YAML: {problem}; {hint}", mark.line + 1 if mark else 1) from None
    except RecursionError:
        raise error("not readable as YAML: nested too deeply; write it flatter", 1) from None
    except ReaderError as found:
        line, sign = text.count("\n", 0, found.position) + 1, f"U+{found.character:04X}"
        raise error(f"not readable as YAML: found the control character {sign}; remove it", line) from None
    except (YAMLError, ValueError) as found:
        first = (str(found).splitlines() or ["unreadable"])[0].split("; use sys.")[0]
        first = first if len(first) <= _LONGEST else f"{first[:_LONGEST]}… ({len(first)} characters)"
        raise error(f"not readable as YAML: {first}; correct it", 1) from None


@lru_cache(maxsize=16)
def _loaded(text: str) -> Any:
    """Plans, runs and reports of an audit read its files again and again, at a millisecond a line."""
    return YAML(typ="rt", pure=True).load(text)


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


class YamlFile:
    """A YAML text: its tree, the line of everything in it, and the errors of a kind that point there."""

    def __init__(self, text: str, name: str, kind: type[Exception] = InputError) -> None:
        self.text, self.name, self._kind = text, name, kind
        self.tree: Any = read_tree(text, self.mistake)

    def mistake(self, message: str, line: int) -> Exception:
        """Return an error that points at a line."""
        return self._kind(f"{self.name}:{line}: {message}")

    def line(self, location: Sequence[str | int]) -> int:
        """Line of the innermost key of ``location`` that the file holds; 1 where none is."""
        return line_of(self.tree, location)

    def error(self, message: str, *location: str | int) -> Exception:
        """Return an error that points at ``location``."""
        return self.mistake(message, self.line(location))


class Source(YamlFile):
    """The text of an audit file, and the folder from which its paths start."""

    def __init__(self, text: str, name: str, base: Path) -> None:
        self.base = base
        if (line := line_with_key(text)) is not None:  # a run keeps a copy of it, comments included
            raise AuditFileError(
                "holds what looks like the key of a model server (it is not shown); put the key into an "
                "environment variable and write `key: NAME_OF_THE_VARIABLE`",
                file=name,
                line=line,
            )
        super().__init__(text, name)
        if not isinstance(self.tree, CommentedMap):
            kind = "list" if isinstance(self.tree, list) else "single text or number"
            raise self.mistake(
                "an audit file is a mapping of keys such as `generators:` and `objects:`, found "
                f"{'nothing' if self.tree is None else f'a {kind}'}; start from `stereotrope init objects`",
                1,
            )

    def mistake(self, message: str, line: int) -> AuditFileError:
        """Return an error that points at a line."""
        return AuditFileError(message, file=self.name, line=line)


def read_source(path: Path | str) -> Source:
    """Read an audit file.

    Raises AuditFileError: It is not there, too large, not UTF-8, not YAML, or no mapping.
    """
    text = read_text(
        path,
        what="an audit file",
        absent="write one with `stereotrope init objects > audit.yaml`",
        large="put long lists of prompts into a CSV file and name it under `prompts`",
        error=AuditFileError,
    )
    return Source(text, str(path), Path(path).parent)
