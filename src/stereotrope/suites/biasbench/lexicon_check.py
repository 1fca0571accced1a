"""What the terms of a lexicon hit in captions, and what of it to doubt."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.confusables import lookalikes
from stereotrope.errors import InputError, UsageError, did_you_mean
from stereotrope.escape import ellipsis
from stereotrope.inputs.captions import CaptionFile, read_captions
from stereotrope.lexicon import Lexicon, MatchingAudit, built_in_lexicons, read_lexicon
from stereotrope.suites.biasbench.captions_file import prompt_named, prompt_of_name
from stereotrope.suites.biasbench.hits import audited
from stereotrope.suites.biasbench.wordlists import read_wordlists

_COLUMNS = ("caption", "prompt", "image")
_BOUNDARIES = ("word", "letters")
_LONGEST = 2_000
"""Characters of a caption that are told in JSON."""
_UNTOLD = ("by", "doubted", "places", "places_inside", "places_noun", "places_other")
"""Columns of the audit for programs that hold the captions themselves."""
_SHOWN = 5


@dataclass(frozen=True)
class CheckedLexicon:
    """A lexicon as it was matched (``matching`` says it in words), beside so many captions of a file.

    ``remarks`` say what is odd about the files, one sentence each; ``audit`` has the worst terms first.
    """

    lexicon: Lexicon
    matching: str
    file: str
    captions: int
    remarks: tuple[str, ...]
    audit: MatchingAudit

    def as_dict(self) -> dict[str, Any]:
        """Return everything for JSON; long captions are cut."""
        return {
            "lexicon": {
                "name": self.lexicon.name,
                "version": self.lexicon.version,
                "fingerprint": self.lexicon.fingerprint,
                "matching": self.matching,
                "terms": len(self.lexicon.terms),
            },
            "captions": {"file": self.file, "n": self.captions},
            "remarks": list(self.remarks),
            "read_again_by": self.audit.second,
            "values": [self._told(row) for row in self.audit.labels.iter_rows(named=True)],
            "several_groups": [self._told(row) for row in self.audit.several.iter_rows(named=True)],
            "terms": [self._told(row) for row in self.audit.terms.iter_rows(named=True)],
        }

    def _told(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of the audit for JSON, with the captions in place of where it is in them."""
        told = {key: value for key, value in row.items() if key not in _UNTOLD}
        for key in ("places", "places_inside", "places_noun"):
            if key in row:
                texts = [self.audit.captions[at["caption"]] for at in row[key]]
                told[key.replace("places", "examples")] = [ellipsis(text, _LONGEST) for text in texts]
        if "counted_as" in told:
            told["counted_as"] = {one["value"]: one["n"] for one in told["counted_as"]}
        return told


def check_lexicon(
    lexicon: str,
    captions: Path,
    *,
    columns: Sequence[str] = (),
    prompt: str | None = None,
    boundary: str | None = None,
) -> CheckedLexicon:
    """Read a lexicon and captions, and audit the matching; arguments are those of the command.

    Without ``boundary`` terms are found as the lexicon says, and the authors' lists as their scripts do it.

    Raises UsageError: An argument does not fit.
    Raises InputError: A file cannot be used, or no term is to be looked for in any caption.
    """
    read, patterned, remarks = _read_lexicon(lexicon, boundary)
    named = _named_columns(columns)
    found = read_captions(captions, name=str(captions), need_images=False, **named)
    if found.frame.is_empty():
        raise InputError(f"{captions}: must hold captions, found rows without any; fill them in")
    prompts, said = _prompts(read, found, prompt, str(captions))
    frame = pl.DataFrame({"prompt": pl.Series(prompts, dtype=pl.String), "caption": found.frame["caption"]})
    audit = audited(read, frame, patterned)
    worst = audit.terms.sort("n_doubtful", "n_hits", descending=True, maintain_order=True)
    if not worst["n_captions"].sum():
        raise InputError(
            f"{captions}: none of its {frame.height} captions is of a prompt of lexicon {read.name!r} "
            f"({', '.join(read.prompts)}), found {_some(prompts)}; name the column with --column "
            "prompt=NAME, or the prompt of all with --prompt"
        )
    way, *split = read.matching.words.split(", ", 1)
    way += f", {', '.join(patterned)} as whole words" if patterned else ""
    return CheckedLexicon(
        read,
        ", ".join([way, *split]),
        str(captions),
        frame.height,
        (*found.notes, *said, *remarks),
        replace(audit, terms=worst),
    )


def _read_lexicon(lexicon: str, boundary: str | None) -> tuple[Lexicon, tuple[str, ...], list[str]]:
    """Return the lexicon as it is to match, and attributes that go by whole words whatever the others do."""
    if boundary is not None and boundary not in _BOUNDARIES:
        hint = did_you_mean(boundary, _BOUNDARIES, otherwise="write word or letters")
        raise UsageError(f"--boundary must be word or letters, found {boundary!r}; {hint}")
    patterned: tuple[str, ...] = ()
    remarks: list[str] = []
    if lexicon not in built_in_lexicons() and Path(lexicon).suffix.lower() == ".json":
        lists = read_wordlists(Path(lexicon))
        read = lists.lexicon
        if boundary in (None, "letters"):
            boundary = "letters"
            patterned = lists.patterned
            remarks.append(
                f"{Path(lexicon).name}: the authors' lists are read as letters anywhere and "
                f"{', '.join(patterned)} as whole words, like their scripts do; --boundary word reads all "
                "as the paper says"
            )
    else:
        read = read_lexicon(lexicon)
    if boundary is not None:
        how = read.matching.model_copy(update={"boundary": "word" if boundary == "word" else "substring"})
        read = replace(read, matching=how)
    return read, patterned, remarks


def _named_columns(columns: Sequence[str]) -> dict[str, str]:
    named = {}
    for column in columns:
        what, _, name = column.partition("=")
        if what not in _COLUMNS or not name:
            hint = did_you_mean(what, _COLUMNS) if name else ""
            raise UsageError(
                f"--column must be caption=NAME, prompt=NAME or image=NAME, found {column!r}"
                + (f"; {hint}" if hint else "; write for example --column caption=text")
            )
        named[what] = name
    return named


def _prompts(
    lexicon: Lexicon, found: CaptionFile, given: str | None, file: str
) -> tuple[list[str | None], list[str]]:
    """Return the prompt of each caption as the lexicon calls it, and what is odd about them."""
    if given is not None:
        if lexicon.prompts and given.casefold() not in {name.casefold() for name in lexicon.prompts}:
            hint = did_you_mean(given, lexicon.prompts, otherwise=f"it has {', '.join(lexicon.prompts)}")
            raise UsageError(f"--prompt: lexicon {lexicon.name!r} has no prompt {given!r}; {hint}")
        return [given] * found.frame.height, []
    if not lexicon.prompts:
        return [None] * found.frame.height, []
    known = {name.casefold(): name for name in lexicon.prompts}
    texts = {e.text.strip().casefold(): name for name, e in lexicon.prompts.items() if e.text}
    known = texts | known
    prompts: list[str | None] = []
    by_image = 0
    for said, image in found.frame.select("prompt", "image").iter_rows():
        own = known.get(str(said).strip().casefold()) or known.get(prompt_named(said)) if said else None
        if said is None and (own := known.get((prompt_of_name(image or "") or "").casefold())):
            by_image += 1
        prompts.append(own or said)
    notes = []
    if by_image:
        notes.append(f"{file}: {by_image} captions without a prompt are of the one their image's name says")
    strange = [one for one in prompts if one not in lexicon.prompts]
    if strange:
        notes.append(
            f"{file}: {len(strange)} of {len(prompts)} captions are of no prompt of the lexicon "
            f"({_some(strange)}); only attributes of all prompts are looked for in them. A column "
            f"`prompt` says of which a caption is: {ellipsis(', '.join(lexicon.prompts), 60)}"
        )
        alike = lookalikes(Counter(one for one in strange if one), lexicon.prompts)
        notes += [one.sentence(f"{file}: prompts of captions") for one in alike]
    return prompts, notes


def _some(prompts: Sequence[str | None]) -> str:
    listed = list(dict.fromkeys("no prompt" if one is None else repr(ellipsis(one, 40)) for one in prompts))
    return ", ".join(listed[:_SHOWN]) + (f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else "")
