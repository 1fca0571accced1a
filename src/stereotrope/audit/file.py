"""The audit file: what may stand in it, and one clear message for a mistake.

The file is YAML 1.2 (``no`` and ``on`` are words, not booleans). Every message has file, line, rule,
what was found and what to do.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails
from ruamel.yaml.comments import CommentedMap, CommentedSeq
from ruamel.yaml.timestamp import TimeStamp

from stereotrope.clients import line_with_key
from stereotrope.errors import AuditFileError, did_you_mean
from stereotrope.yaml_lines import line_of, read_tree

__all__ = ["AuditSpec", "ReportSpec", "Source", "TemplatesSpec", "json_schema", "read_source", "validate"]

MAX_BYTES = 4_000_000
"""An audit file larger than this is refused; long prompt lists belong into a CSV file."""
MAX_NODES = 500_000
"""Keys and values once every alias is written out: a few lines of YAML can stand for billions."""
_VERSIONS = ("format_version", "stereotrope_version", "version")
"""What a run says of itself in its ``run.json``, and people write into its audit file."""
_NO_TEXT = re.compile("[\0\ud800-\udfff]")


def _text(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, (Mapping, list)):
        raise ValueError("must be a text; put it in quotes")
    text = str(value)
    if not text.strip():
        raise ValueError("must not be empty")
    return text


def _groups(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(key): _text(words) for key, words in value.items()}
    if isinstance(value, list):
        return _distinct([_text(item) for item in value])
    raise ValueError("must be a list of names, or a mapping name: wording")


def _distinct(values: list[str]) -> list[str]:
    for value in values:
        if values.count(value) > 1:
            raise ValueError(f"lists {value!r} twice; list each once")
    return values


def _texts(value: Any) -> Any:
    if not isinstance(value, list):
        raise ValueError("must be a list, for example [car, cup]")
    if not value:
        raise ValueError("must list at least one")
    return _distinct([_text(item) for item in value])


def _suffixes(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {_text(key): "" if words in (None, "") else _text(words) for key, words in value.items()}
    return _texts(value)


def _item(value: Any) -> Any:
    if isinstance(value, Mapping) and value:
        return {str(key): content for key, content in value.items()}
    return _text(value)


def _prompts(value: Any) -> Any:
    if isinstance(value, (Mapping, list, str)) and value:
        return value
    raise ValueError(
        "must be a mapping with a template, a list of {text: …, factor: level}, or the name of a CSV file"
    )


Text = Annotated[str, BeforeValidator(_text)]
Texts = Annotated[list[str], BeforeValidator(_texts)]
Groups = Annotated[list[str] | dict[str, str], BeforeValidator(_groups)]
Suffixes = Annotated[list[str] | dict[str, str], BeforeValidator(_suffixes)]
Item = Annotated[str | dict[str, Any], BeforeValidator(_item)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class ReportSpec(_Strict):
    """What the report is called and how sure its intervals are."""

    title: Text = Field(default="Audit", description="heading of the report")
    level: float = Field(default=0.95, gt=0.5, lt=1, description="nominal coverage of every interval")
    sensitive: bool = Field(default=False, description="pictures are blurred until asked for")


class TemplatesSpec(_Strict):
    """How the baseline and a cue are worded."""

    baseline: Text = Field(description="template with {object}")
    cue: Text = Field(description="template with {object}, {phrasing} and {group}")


class AuditSpec(_Strict):
    """Everything an audit file may say."""

    suite: Text | None = Field(None, description="a published method whose design and measures are used")
    objects: Texts | None = Field(None, description="what is drawn")
    dimensions: dict[Text, Groups] | None = Field(
        None, min_length=1, description="dimension: groups that a prompt names"
    )
    templates: TemplatesSpec | None = Field(None, description="wording of baseline and cue")
    phrasings: Texts | None = Field(None, description="words between object and group, a factor")
    mitigations: Suffixes | None = Field(None, description="suffixes that ask for variety, a factor")
    prompts: Annotated[Any, BeforeValidator(_prompts)] = Field(
        None, description="prompts of your own: {template, factors…}, a list, a CSV file, or {file, factors}"
    )
    baseline: dict[str, Text] | None = Field(
        None, description="factor: level compared with; {generator: NAME}: the model of `delta`"
    )
    images_per_prompt: int = Field(20, ge=1, le=100_000, description="pictures of each prompt")
    seed: int = Field(0, ge=0, lt=2**31, description="of the pictures, the shuffles and the resamples")
    generators: list[Item] = Field(min_length=1, description="the models under audit")
    annotators: list[Item] | None = Field(None, description="who looks at the pictures")
    measures: list[Item] | None = Field(None, description="what is computed from the labels")
    permutations: int = Field(10_000, ge=99, le=10_000_000, description="shuffles of a permutation test")
    resamples: int = Field(2_000, ge=100, le=1_000_000, description="of a bootstrap interval")
    merge_colours: float | None = Field(
        None, gt=0, le=50, description="CIEDE2000 distance up to which two open colour words count as one"
    )
    violations: Literal["both", "in", "out"] = Field(
        "both", description="pictures that break the prompt: scores with and without them, or one of these"
    )
    discovery_images: Literal["auto", "in", "out"] = Field(
        "auto",
        description="pictures that attributes were discovered on, in the scores; auto: out from 40 a prompt",
    )
    max_excluded: float = Field(
        0.05, ge=0, le=1, description="share of unusable pictures beyond which the run ends with exit code 3"
    )
    max_unanswered: float = Field(
        0.5,
        ge=0,
        le=1,
        description="share of an annotator's labels that are refused, invalid or an empty caption beyond "
        "which the run ends with exit code 3",
    )
    report: ReportSpec = Field(default_factory=lambda: ReportSpec(), description="title and level")


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

    Raises
    ------
    AuditFileError
        It is not there, too large, not UTF-8, not YAML, or no mapping.
    """
    path = Path(path)
    try:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise AuditFileError(
                f"an audit file has at most {MAX_BYTES:,} bytes, found {size:,}; put long lists of prompts "
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


def validate(source: Source) -> AuditSpec:
    """Check the file against :class:`AuditSpec`.

    Raises
    ------
    AuditFileError
        The first mistake by line, and how many more there are.
    """
    try:
        return AuditSpec.model_validate(_Plain(source).of(source.tree, ()))
    except ValidationError as error:
        found = sorted(error.errors(include_url=False), key=lambda e: source.line(e["loc"]))
        more = f" ({len(found) - 1} more after this)" if len(found) > 1 else ""
        first = found[0]
        raise source.error(_message(first) + more, *first["loc"]) from None


class _Plain:
    """Turns the tree of a file into plain values, and refuses what no value of an audit may be."""

    def __init__(self, source: Source) -> None:
        self.source, self.left = source, MAX_NODES

    def of(self, node: Any, at: tuple[str | int, ...]) -> Any:
        self.left -= 1
        if self.left < 0:
            raise self.source.error(
                f"more than {MAX_NODES:,} values, aliases (*name) written out; write fewer, or "
                "name a CSV file",
                *at,
            )
        if isinstance(node, CommentedMap):
            return {self.key(key, at): self.of(value, (*at, key)) for key, value in node.items()}
        if isinstance(node, CommentedSeq):
            return [self.of(value, (*at, index)) for index, value in enumerate(node)]
        if isinstance(node, bool) or node is None:
            return node
        for kind in (int, float, str):
            if isinstance(node, kind):
                return self.text(kind(node), at)
        if isinstance(node, date | TimeStamp):
            return str(node)
        raise self.source.error(
            f"{_path(at)} must be a text, number, list or mapping, found a {type(node).__name__}; "
            "remove the tag (!!…)",
            *at,
        )

    def key(self, key: Any, at: tuple[str | int, ...]) -> Any:
        if key is None or isinstance(key, list | tuple | Mapping):
            raise self.source.error(
                f"{_path(at)}: a key must be a text, found {shorten(key)}; put it in quotes", *at
            )
        return self.text(key, at)

    def text(self, value: Any, at: tuple[str | int, ...]) -> Any:
        if isinstance(value, str) and _NO_TEXT.search(value):  # JSON writes what is beyond 16 bits as a pair
            value = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        if isinstance(value, str) and (wrong := _NO_TEXT.search(value)):
            what = "a NUL character" if wrong.group() == "\0" else "half a surrogate pair"
            raise self.source.error(
                f"{_path(at)} must be a text that can be written to a file, found {what}; remove it", *at
            )
        return value


def _path(location: Sequence[str | int]) -> str:
    return ".".join(str(step) for step in location if step != "[key]") or "the file"


def _message(error: ErrorDetails) -> str:
    path = _path(error["loc"])
    context: Mapping[str, Any] = error.get("ctx") or {}
    found = "a mapping" if isinstance(error["input"], Mapping) else shorten(error["input"])
    if isinstance(error["input"], float) and not math.isfinite(error["input"]):
        return f"{path} must be a finite number, found {found}; correct it"
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(error["loc"])
        case "missing":
            return f"{path} is missing; add it (see `stereotrope init objects`)"
        case "value_error":
            return f"{path} {context.get('error', error['msg'])}, found {found}"
        case "greater_than_equal":
            return f"{path} must be at least {context['ge']:g}, found {found}; raise it"
        case "less_than_equal":
            return f"{path} must be at most {_number(context['le'])}, found {found}; lower it"
        case "greater_than":
            return f"{path} must be more than {context['gt']:g}, found {found}; raise it"
        case "less_than":
            return f"{path} must be less than {_number(context['lt'])}, found {found}; lower it"
        case "invalid_key":
            return f"a key must be a text, found {found}; put it in quotes"
        case "too_short":
            return f"{path} must list at least {context['min_length']}, found {found}; add one"
    rule = (
        error["msg"]
        .split(" or instance of")[0]
        .replace("a valid dictionary", "a mapping")
        .replace("Input should be", "must be")
        .replace("a valid integer", "a whole number")
        .replace("a valid ", "a ")
    )
    return f"{path} {rule}, found {found}; write it as the examples of `stereotrope init objects` do"


def _number(limit: float) -> str:
    return f"{limit:,}" if isinstance(limit, int) else f"{limit:g}"


def _unknown_key(location: Sequence[str | int]) -> str:
    key = str(location[-1])
    inside: Any = {"report": ReportSpec, "templates": TemplatesSpec}.get(str(location[0]), AuditSpec)
    known = list(inside.model_fields)
    if key in _VERSIONS:
        return f"unknown key {key!r}: an audit file has no version; remove the line"
    hint = did_you_mean(key, known, otherwise=f"known keys: {', '.join(known)}")
    return f"unknown key {shorten(key)}; {hint}"


def shorten(value: Any, limit: int = 80) -> str:
    """``repr`` of a value from a file, cut to ``limit`` characters."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[:limit]}… ({len(text)} characters)"


def json_schema() -> dict[str, Any]:
    """JSON Schema of the audit file, for completion and checks in an editor."""
    schema = AuditSpec.model_json_schema()
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "stereotrope audit"}
