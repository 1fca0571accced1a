"""The prompts that strategies made, in a file of the run that people may edit, and what is asked by them."""

import csv
import difflib
import io
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields, replace
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import escape
from stereotrope.audit.designing import SEEDS_PER_AUDIT, drawn_requests
from stereotrope.audit.file import AuditSpec
from stereotrope.errors import UsageError
from stereotrope.generate import REQUESTS, Generator, request_id
from stereotrope.inputs.options import shorten
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import read_rows
from stereotrope.inputs.yaml import Source
from stereotrope.mitigate import REWRITE_STATUSES
from stereotrope.run import write_atomic
from stereotrope.tables import KEPT_FROM, MITIGATION, factors_of, prompt_id

MITIGATED_FILE = "mitigated.csv"
"""Name of the file in a run folder."""
FACTOR, ORIGINAL = MITIGATION, "none"
"""The factor that strategies give prompts, and its level of those that none has touched."""


REDRAWN = "redrawn"
"""Status of a prompt that is drawn with other seeds."""
_NEAR = 0.8
"""Likeness (difflib's ratio) from which a level is taken for a slip in another's name."""
FURTHER_SEEDS = SEEDS_PER_AUDIT // 2
"""The first of these, beyond that of the audit."""
MOST_ROUNDS = 20
_LONGEST_ROUND = 4
"""Digits."""


@dataclass(frozen=True)
class MitigatedPrompt:
    """What a strategy made of one prompt.

    mitigation: Level of the factor.
    round: From 1 on.
    generator: The model whose pictures it is made of, and for which alone it is; None for all.
    prompt_id, query: The prompt as it was designed.
    prompt: What is sent instead; None where nothing is drawn.
    status, reason: As of :class:`stereotrope.mitigate.Rewrite`.
    by: Who wrote it.
    strategy: Hash of the strategy that was asked; None where that is not known.
    """

    mitigation: str
    round: int
    generator: str | None
    prompt_id: str
    query: str
    prompt: str | None
    status: str
    reason: str | None
    by: str | None
    strategy: str | None = None

    @property
    def place(self) -> tuple[str, str | None, str]:
        """What there is one of: level, model and prompt."""
        return self.mitigation, self.generator, self.prompt_id


def read_mitigated(folder: Path) -> list[MitigatedPrompt]:
    """Read the file of a run folder; nothing where there is none.

    Raises MetadataError: A column is missing, a row lacks what it needs, or two are of one place, a row for
        all models being of each.
    """
    if not (folder / MITIGATED_FILE).is_file():
        return []
    found = read_rows(folder / MITIGATED_FILE, may_be_empty=True)
    for name in ("mitigation", "prompt_id", "prompt"):
        found.require(name, "a prompt that a strategy made")
    made: dict[tuple[str, str | None, str], MitigatedPrompt] = {}
    for row in found.rows:
        one = _read(row)
        if one.place in made:
            raise row.error(
                f"{one.mitigation!r} of this prompt and generator stands in a row above already; leave one "
                "out"
            )
        made[one.place] = one
        of_all = [other for other in made.values() if (other.generator is None) != (one.generator is None)]
        if twice := next((other for other in of_all if _is_of_one_prompt(one, other)), None):
            raise row.error(
                f"{one.mitigation!r} of this prompt has a row for all models (`generator` is empty) and one "
                f"for {shorten(one.generator or twice.generator)}; leave one out, or name a model in each"
            )
    _refuse_changed(found.rows, list(made.values()))
    return list(made.values())


def _is_of_one_prompt(one: MitigatedPrompt, other: MitigatedPrompt) -> bool:
    return (one.mitigation, one.prompt_id) == (other.mitigation, other.prompt_id)


def _refuse_changed(rows: Sequence[Row], made: Sequence[MitigatedPrompt]) -> None:
    """Refuse a prompt that is said to be kept, and is neither the query nor what another level sends."""
    by_prompt: dict[str, list[MitigatedPrompt]] = {}
    for one in made:
        by_prompt.setdefault(one.prompt_id, []).append(one)
    for row, one in zip(rows, made, strict=True):
        if one.status != "kept" or not one.query or one.prompt in (None, one.query):
            continue
        others = (other for other in by_prompt[one.prompt_id] if other.mitigation != one.mitigation)
        before = {
            o.prompt for o in others if o.generator == one.generator or None in (o.generator, one.generator)
        }
        if one.prompt not in before:
            raise row.error(
                f"column 'status' says kept, and the prompt is another than before, found "
                f"{shorten(one.prompt)}; write rewritten, or the prompt as it was"
            )


def write_mitigated(folder: Path, rows: Sequence[MitigatedPrompt]) -> None:
    """Write the file: whole or not at all."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([each.name for each in fields(MitigatedPrompt)])
    for row in rows:
        told = replace(row, reason=row.reason and escape.csv(row.reason))
        writer.writerow(["" if cell is None else cell for cell in astuple(told)])
    write_atomic(folder / MITIGATED_FILE, out.getvalue().encode("utf-8", "replace"))


def _read(row: Row) -> MitigatedPrompt:
    level, initial, number = row.text("mitigation"), row.text("prompt_id"), row.text("round") or "1"
    if level is None or initial is None or level == ORIGINAL:
        raise row.error(
            f"columns 'mitigation' and 'prompt_id' must be filled in, and no mitigation is called "
            f"{ORIGINAL!r}; fill them in, or leave the row out"
        )
    is_round = number.isdecimal() and len(number) <= _LONGEST_ROUND and 1 <= int(number) <= MOST_ROUNDS
    if not is_round:
        raise row.error(
            f"column 'round' must be a whole number from 1 to {MOST_ROUNDS}, found {shorten(number)}; "
            "correct it"
        )
    status = row.text("status") or "rewritten"
    if status not in REWRITE_STATUSES:
        raise row.error(
            f"column 'status' must be one of {', '.join(REWRITE_STATUSES)}, found {shorten(status)}; "
            "correct it"
        )
    text = row.raw("prompt")
    return MitigatedPrompt(
        level,
        int(number),
        row.text("generator"),
        initial,
        row.raw("query") or "",
        text if text and text.strip() else None,
        status,
        row.text("reason"),
        row.text("by"),
        row.text("strategy"),
    )


def originals(prompts: pl.DataFrame) -> pl.DataFrame:
    """The prompts of a design that no mitigation has touched, with the factor.

    Raises UsageError: The design has mitigations of its own, and no level without one.
    """
    if FACTOR not in prompts.columns:
        return prompts.with_columns(pl.lit(ORIGINAL).alias(FACTOR))
    own = prompts.filter(pl.col(FACTOR) == ORIGINAL)
    if own.is_empty():
        raise UsageError(
            f'the design has mitigations of its own and no level {ORIGINAL!r} to begin from; add `none: ""` '
            "to `mitigations`"
        )
    return own


def draws(requests: pl.DataFrame, generator: str) -> bool:
    """Whether a generator draws what it is asked for; the pictures of others were made elsewhere."""
    own = requests.filter(drawn_by=generator)
    return bool(own.height and own.select((pl.col("source").is_null() & ~pl.col("absent")).all()).item())


def mitigated_prompt(original: Mapping[str, Any], level: str, text: str) -> dict[str, Any]:
    """The row of the ``prompts`` table of what a strategy made of a prompt."""
    factors = {**{name: original[name] for name in factors_of(original)}, FACTOR: level}
    made = prompt_id(text, original["negative"], factors)
    return {**original, **factors, "prompt_id": made, "text": text}


def with_mitigated(
    rows: Sequence[MitigatedPrompt],
    prompts: pl.DataFrame,
    requests: pl.DataFrame,
    generators: Sequence[Generator],
    prefixes: Sequence[str],
    count: int,
    spec: AuditSpec,
    source: Source,
) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """The prompts and requests of a design with those that strategies made, and what is to be said of these.

    A prompt whose text a model is sent already, under another level, draws nothing: its pictures are those.

    Raises UsageError: A level is one of the design, or a model cannot draw a prompt.
    """
    if not rows:
        return prompts, requests, []
    known = {row["prompt_id"]: row for row in originals(prompts).to_dicts()}
    if FACTOR in prompts.columns and (taken := {row.mitigation for row in rows} & set(prompts[FACTOR])):
        raise UsageError(
            f"{MITIGATED_FILE}: {sorted(taken)[0]!r} is a level of `mitigations` of the design; give the "
            "strategy another `name:`"
        )
    together = prompts if FACTOR in prompts.columns else originals(prompts)
    drawing = {one.name: (one, prefix) for one, prefix in zip(generators, prefixes, strict=True)}
    asked, made = [requests], []
    ids = set(requests["image_id"])
    for level, of_level in _by_level(rows):
        for name, (generator, prefix) in drawing.items():
            mine = [
                (row.status == REDRAWN, mitigated_prompt(known[row.prompt_id], level, row.prompt))
                for row in of_level
                if row.prompt is not None and row.prompt_id in known and row.generator in (None, name)
            ]
            if not mine or not draws(requests, name):
                continue
            frame = pl.DataFrame([row for _, row in mine], schema=together.schema)
            frame = frame.unique("prompt_id", maintain_order=True)
            for text, negative in frame.select("text", "negative").rows():
                if reason := generator.check(text, negative):
                    raise UsageError(
                        f"{MITIGATED_FILE}: generator {name!r} cannot draw {shorten(text)} ({reason}); "
                        "change the prompt, or leave it empty"
                    )
            again = pl.col("prompt_id").is_in([row["prompt_id"] for redrawn, row in mine if redrawn])
            for part, first in ((frame.filter(~again), 0), (frame.filter(again), FURTHER_SEEDS)):
                drawn = drawn_requests(generator, part, count, spec, source, prefix, first)
                asked.append(_kept(drawn, ids, generator).with_columns(drawn_by=pl.lit(name)))
            made.append(frame)
    together = pl.concat([together, *made]).unique("prompt_id", keep="first", maintain_order=True)
    return together, pl.concat(asked), _notes(rows, known, drawing)


def _by_level(rows: Sequence[MitigatedPrompt]) -> Iterator[tuple[str, list[MitigatedPrompt]]]:
    for level in dict.fromkeys(row.mitigation for row in rows):
        yield level, [row for row in rows if row.mitigation == level]


def _kept(requests: pl.DataFrame, ids: set[str], generator: Generator) -> pl.DataFrame:
    """Requests; those that are among ``ids``, or stand there twice, are of that picture. ``ids`` grows."""
    rows = []
    for row in requests.to_dicts():
        if row["image_id"] in ids:
            params = {**json.loads(row["params"]), KEPT_FROM: row["image_id"], "prompt": row["prompt_id"]}
            image = request_id(generator.fingerprint, row["text"], row["negative"], row["seed"], params)
            row |= {"image_id": image, "params": json.dumps(params, sort_keys=True)}
        ids.add(row["image_id"])
        rows.append(row)
    return pl.DataFrame(rows, schema=REQUESTS)


def _kept_places(rows: Sequence[MitigatedPrompt]) -> set[tuple[str | None, str]]:
    """Models and prompts whose pictures a level keeps."""
    return {(row.generator, row.prompt_id) for row in rows if row.status == "kept"}


def _slips(levels: Mapping[str, Sequence[MitigatedPrompt]]) -> Iterator[str]:
    """What to say of levels that are perhaps others misspelt: much like one, and of prompts that it lacks."""
    places = {level: {(row.generator, row.prompt_id) for row in of} for level, of in levels.items()}
    by_size = sorted(levels, key=lambda level: -len(places[level]))
    for at, level in enumerate(by_size):
        apart = [one for one in by_size[:at] if not places[one] & places[level]]
        for near in difflib.get_close_matches(level, apart, n=1, cutoff=_NEAR):
            n, first = len(levels[level]), levels[level][0]
            yield (
                f"{MITIGATED_FILE}: {shorten(level)} is a level of its own, of {n:,} "
                f"prompt{'s' * (n != 1)} that {shorten(near)} lacks (the first: "
                f"{shorten(first.query or first.prompt_id)}); did you mean "
                f"{shorten(near)}? If so, write it so in the file"
            )


def _notes(rows: Sequence[MitigatedPrompt], known: Mapping[str, Any], models: Collection[str]) -> list[str]:
    notes: list[str] = []
    levels = dict(_by_level(rows))
    redrawn = [level for level, part in levels.items() if any(row.status == REDRAWN for row in part)]
    controls = {level: _kept_places(levels[level]) for level in redrawn}
    notes += _slips(levels)
    for level, of_level in levels.items():
        lacking = [row for row in of_level if row.prompt is None]
        gone = sum(row.prompt_id not in known or row.generator not in (None, *models) for row in of_level)
        if lacking:
            why = next((row.reason for row in lacking if row.reason), None)
            notes.append(
                f"{level}: {len(lacking):,} of {len(of_level):,} prompts have no mitigated one"
                + (f", the first because: {shorten(why, 200)}" if why else "")
            )
        kept = _kept_places(of_level)
        if kept and level not in controls:
            control = next((name for name, places in controls.items() if places == kept), None)
            then = f"compare with redraw:{level}" if control is None else f"see {level} beside {control}"
            notes.append(
                f"{level}: {len(kept):,} of {len(of_level):,} prompts were kept with their pictures. The "
                "others were chosen by theirs, and what was chosen for being high falls by being drawn again "
                f"alone: {then}"
            )
        if gone:
            notes.append(
                f"{level}: {gone:,} of {len(of_level):,} mitigated prompts are of no prompt or model of this "
                "audit"
            )
    return notes
