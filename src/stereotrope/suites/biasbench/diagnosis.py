"""What is odd about a file of captions, said before any number is made of it."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TypeVar

from stereotrope.confusables import lookalikes
from stereotrope.inputs.captions.headings import is_header_row
from stereotrope.suites.biasbench.captions_file import CaptionRow, CaptionsFile, prompt_of_name
from stereotrope.suites.biasbench.figures import printed, published_name
from stereotrope.suites.biasbench.formulas import split_words
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS

_SHOWN = 12
_LONGEST = 40
_STRANGE = "unknown prompt"
_Key = TypeVar("_Key")


@dataclass(frozen=True)
class Remark:
    """One oddity: ``effect`` is what is done about it in every number that follows."""

    kind: str
    lines: tuple[int, ...]
    what: str
    effect: str

    def where(self, most: int) -> str:
        """The lines in brackets, at most so many of them."""
        if not self.lines:
            return ""
        more = f" and {len(self.lines) - most} more" if len(self.lines) > most else ""
        return f" (line{'s' if len(self.lines) > 1 else ''} {', '.join(_runs(self.lines[:most]))}{more})"


@dataclass(frozen=True)
class ModelCaptions:
    """Captions of one model as they are counted, in the order of the file, and every oddity.

    ``repaired`` are the rows under the readings that ``repairs`` speak of, by which the published figures may
    have been counted. No number but the comparison with the paper uses them.
    """

    model: str
    rows: tuple[CaptionRow, ...]
    remarks: tuple[Remark, ...]
    repaired: tuple[CaptionRow, ...]
    repairs: tuple[Remark, ...]


def diagnose(files: Sequence[CaptionsFile]) -> list[ModelCaptions]:
    """Look at every file and return the captions by model, each with what is odd about it."""
    names: dict[str, str] = {}
    by_model: dict[str, list[tuple[CaptionsFile, list[CaptionRow]]]] = {}
    for file in files:
        if file.skipped:
            continue
        strays = [row for row in file.rows if _is_header(row)]
        models = list(dict.fromkeys(r.model for r in file.rows if r not in strays)) or [file.path.stem]
        for model in models:
            mine = [r for r in file.rows if r.model == model or r in strays]
            name = names.setdefault(model.casefold(), model)
            by_model.setdefault(name, []).append((file, mine))
    return [_of_model(model, parts) for model, parts in by_model.items()]


def _of_model(model: str, parts: Sequence[tuple[CaptionsFile, list[CaptionRow]]]) -> ModelCaptions:
    remarks: list[Remark] = []
    rows: list[CaptionRow] = []
    for file, mine in parts:
        remarks += [
            Remark("reading", (), f"{file.path.name}: {note}", "counted as read") for note in file.notes
        ]
        if not file.header:
            lost = file.rows[0].image or "its first caption"
            what = (
                f"{file.path.name} has no header row; a program that takes its first row for one loses {lost}"
            )
            remarks += _remarks("no header", file.rows[:1], what, "its first row is counted")
        kept, found = _left_out(mine)
        rows += kept
        remarks += found
    remarks += [*_broken(rows), *_glued(rows), *_names(rows), *_repeated(rows), *_gaps(rows), *_missing(rows)]
    repaired, repairs = _as_published(model, rows)
    return ModelCaptions(model, tuple(rows), (*remarks, *repairs), tuple(repaired), tuple(repairs))


def _remarks(kind: str, rows: Sequence[CaptionRow], what: str, effect: str) -> list[Remark]:
    """One of the rows that are odd, none where none is."""
    return [Remark(kind, tuple(row.line for row in rows), what, effect)] if rows else []


def _left_out(rows: Sequence[CaptionRow]) -> tuple[list[CaptionRow], list[Remark]]:
    """Rows that are no captions, or of no prompt of the benchmark."""
    tests: tuple[tuple[str, Callable[[CaptionRow], bool], str], ...] = (
        ("stray header row", _is_header, "a second header row stands among the captions"),
        ("empty caption", lambda r: not r.caption, "the caption is empty"),
        (_STRANGE, lambda r: r.prompt not in BENCHMARK_PROMPTS, "the prompt is none of the benchmark"),
    )
    kept: list[CaptionRow] = list(rows)
    remarks: list[Remark] = []
    for kind, odd, why in tests:
        found = [row for row in kept if odd(row)]
        shown = ", ".join(dict.fromkeys(repr(r.image or r.prompt) for r in found[:_SHOWN]))
        alike = lookalikes(Counter(r.prompt for r in found if kind == _STRANGE), BENCHMARK_PROMPTS)
        hints = [set_.sentence("prompts", "write it as the benchmark does") for set_ in alike]
        remarks += _remarks(kind, found, "; ".join([f"{why} ({shown})", *hints]), "left out")
        kept = [row for row in kept if not odd(row)]
    return kept, remarks


def _is_header(row: CaptionRow) -> bool:
    return is_header_row(row.image, row.caption)


def _broken(rows: Sequence[CaptionRow]) -> list[Remark]:
    """Captions over several lines, as when a quote is left open and the next rows are taken in."""
    found = [row for row in rows if "\n" in row.caption or "\r" in row.caption]
    what = f"{len(found)} captions go over several lines; a quote left open would do that"
    return _remarks("line breaks", found, what, "each is counted as one caption")


def _glued(rows: Sequence[CaptionRow]) -> list[Remark]:
    """Captions in which words run together, as when columns are joined without a blank."""
    found = [row for row in rows if split_words(row.caption) != row.caption]
    words = (word for row in found for word in row.caption.split() if split_words(word) != word)
    first = next(words, "")
    shown = repr(first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…")
    what = f"{len(found)} of {len(rows)} captions hold words run together, such as {shown}"
    effect = "split before the figures are judged; the other two ways to find a term leave them"
    return _remarks("words run together", found, what, effect)


def _names(rows: Sequence[CaptionRow]) -> Iterator[Remark]:
    """Rows whose image is named for another prompt than the one they are counted under."""
    odd = [r for r in rows if (prompt_of_name(r.image) or r.prompt) != r.prompt]
    for (said, counted), found in _grouped(odd, lambda r: (prompt_of_name(r.image) or "", r.prompt)):
        what = f"{len(found)} rows of {counted} have images named for {said} ({_span(found)}): the "
        what += f"caption is likely of {said}"
        yield from _remarks("mislabelled rows", found, what, f"counted as {counted}, as labelled")


def _repeated(rows: Sequence[CaptionRow]) -> Iterator[Remark]:
    counted = Counter((r.prompt, _stem(r.image)) for r in rows if r.image)
    again = [r for r in rows if counted[r.prompt, _stem(r.image)] > 1]
    for prompt, found in _grouped(again, lambda r: r.prompt):
        images = len({_stem(r.image) for r in found})
        what = f"images of {prompt} with more than one caption: {images} ({_span(found)})"
        yield from _remarks("image named twice", found, what, "each caption is counted")


def _gaps(rows: Sequence[CaptionRow]) -> Iterator[Remark]:
    """Numbers missing from the names, by prompt: from 0 where any name has it, else from 1."""
    first = 0 if any(_number(row) == 0 for row in rows) else 1
    for prompt, found in _grouped(rows, lambda r: r.prompt):
        numbers = {n for r in found if (n := _number(r)) is not None}
        if not numbers or max(numbers) > 4 * len(found) + _SHOWN:
            continue
        missing = sorted(set(range(first, max(numbers))) - numbers)
        if missing == [0]:
            what = (
                f"images of {prompt} are numbered from 1 to {max(numbers)}: number 0 is missing, as when the "
                "first row of a file without a header is taken for one"
            )
            yield Remark("first row lost", (found[0].line,), what, "cannot be put back")
        elif missing:
            runs = _runs(missing)
            shown = ", ".join(runs[:_SHOWN]) + (" and more" if len(runs) > _SHOWN else "")
            what = f"images of {prompt} lack the numbers {shown} of {first} to {max(numbers)}"
            yield Remark("missing numbers", (), what, "cannot be put back")


def _missing(rows: Sequence[CaptionRow]) -> Iterator[Remark]:
    there = {row.prompt for row in rows}
    if absent := ", ".join(prompt for prompt in BENCHMARK_PROMPTS if prompt not in there):
        yield Remark("no captions", (), f"no caption of {absent}", "these prompts have no numbers")


def _as_published(model: str, rows: Sequence[CaptionRow]) -> tuple[list[CaptionRow], list[Remark]]:
    """Readings under which a file may give the published figures, where it does not as it stands."""
    remarks: list[Remark] = []
    strangers = _strangers(rows)
    for (said, block), found in _grouped(list(strangers), lambda r: (r.prompt, strangers[r])):
        what = (
            f"{len(found)} rows named for {said} ({_span(found)}) stand among those of {block}, whose own "
            f"images of these numbers are missing; counted by their place they are of {block}"
        )
        effect = f"counted as {said}; as {block} only in the published reading"
        remarks += _remarks("mislabelled rows", found, what, effect)
    repaired = [replace(r, prompt=strangers.get(r, r.prompt)) for r in rows]
    name = published_name(model)
    told = [int(f.value) for f in printed(name, "", "images")] if name else []
    if told and len(rows) == told[0] + 1:
        what = (
            f"Table 1 counts {told[0]} images, the file has {len(rows)} captions: the first row of a file "
            f"without header ({rows[0].image}) was likely taken for one"
        )
        effect = "counted; lost only in the published reading"
        remarks += _remarks("header eaten as data", rows[:1], what, effect)
        repaired = repaired[1:]
    return repaired, remarks


def _strangers(rows: Sequence[CaptionRow]) -> dict[CaptionRow, str]:
    """Rows that stand, as a run, inside those of another prompt that lacks their numbers; by that prompt."""
    runs = [list(run) for _, run in groupby(rows, key=lambda r: r.prompt)]
    numbers = {(r.prompt, _number(r)) for r in rows}
    found: dict[CaptionRow, str] = {}
    for before, run, after in zip(runs, runs[1:], runs[2:], strict=False):
        block = before[0].prompt
        lacking = all(_number(r) is not None and (block, _number(r)) not in numbers for r in run)
        if block == after[0].prompt and lacking and len(run) < len(before) + len(after):
            found |= dict.fromkeys(run, block)
    return found


def _grouped(
    rows: Sequence[CaptionRow], key: Callable[[CaptionRow], _Key]
) -> list[tuple[_Key, list[CaptionRow]]]:
    groups: dict[_Key, list[CaptionRow]] = {}
    for row in rows:
        groups.setdefault(key(row), []).append(row)
    return list(groups.items())


def _stem(image: str) -> str:
    return re.sub(r"\.[A-Za-z0-9]{2,4}$", "", image)


def _number(row: CaptionRow) -> int | None:
    found = re.search(r"(\d{1,9})$", _stem(row.image))
    return int(found.group(1)) if found else None


def _span(rows: Sequence[CaptionRow]) -> str:
    names = list(dict.fromkeys(_stem(r.image) for r in rows))
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _runs(numbers: Sequence[int]) -> list[str]:
    """``3``, ``40 to 49``."""
    runs: list[list[int]] = []
    for number in numbers:
        if not runs or number != runs[-1][-1] + 1:
            runs.append([])
        runs[-1].append(number)
    return [f"{run[0]} to {run[-1]}" if len(run) > 1 else str(run[0]) for run in runs]
