"""Which groups captions name: their shares, how even these are, which side more, and covered faces."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.material import words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import Figure, Panel, panel_words
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.alongside import (
    MOST_ENTRIES,
    MOST_SERIES,
    Drawing,
    ScoreEntry,
    SeriesStyle,
    joined_prose,
)
from stereotrope.report.series import Estimate
from stereotrope.tables import UNKNOWN

GROUP_SHARES = "representation_parity"
SIGNED, UNSIGNED = "signed_parity", "parity_difference"
_ENTROPY, _DIVERGENCE = "shannon_entropy", "kl_from_uniform"
EVENNESS = (_ENTROPY, "bias_amplification", _DIVERGENCE)
_HEADS = {
    _ENTROPY: "Entropy (H): 1 all equally frequent, 0 one alone",
    "bias_amplification": "Bias amplification (BA): 0 all equally frequent",
}
_MOST_GROUPS, _MOST_BARS, _MOST_EVEN, _MOST_SAID = 12, 40, 36, 4
_NEVER = "no caption names"
_REST = {"others": "all other groups", "rest": "all others and unknown"}
"""References that stand for every other group: the named ones, or those and unknown."""
_UNKNOWN_SHARE, _OCCLUDED_SHARE = "unknown_share", "occluded_share"
_SHARES = _UNKNOWN_SHARE, _OCCLUDED_SHARE
_SCORES, _SCORE_WITHOUT = ("cbs", "cbs_without_association"), "cbs_without_occluded"
COVERED = (*_SHARES, _SCORE_WITHOUT)
_AMONG = {None: "all captions", "occluded": "face covered", "not occluded": "not covered"}


def shares_figure(drawing: Drawing) -> Figure:
    """A panel an attribute: stacked bars, and of very many groups a dot each."""
    frame = drawing.frame
    drawing.titled(drawing.explained([GROUP_SHARES])[GROUP_SHARES])
    look = SeriesStyle.for_frame(frame, drawing.prose.unit, bars=True)
    for rows in frame.partition_by("attribute", maintain_order=True):
        groups = rows["category"].drop_nulls().unique(maintain_order=True).to_list()
        groups.sort(key=lambda group: group == UNKNOWN)
        if not groups:
            continue
        told, counted = words(str(rows["attribute"][0])), _counted(rows)
        if len(groups) - (UNKNOWN in groups) <= len(PALETTE):
            _stacked(drawing, rows, groups, told, counted)
            continue
        for heading, part in drawing.by_prompt(rows):
            _single(drawing, part, f"{told}, {heading}" if heading else told, counted, look)
    if sum(_NEVER in note for note in drawing.notes) > _MOST_SAID:
        drawing.notes = [note for note in drawing.notes if _NEVER not in note]
        drawing.notes.append("Groups that no caption names have no line; the table has them.")
    return drawing.figure("captions-groups")


def _counted(rows: pl.DataFrame) -> str:
    """How many groups there are and whether unknown is one; empty where rows differ in it."""
    k = rows["n_categories"].drop_nulls().unique().to_list()
    inside = "in" if (rows["category"] == UNKNOWN).any() else "out"
    return f": k = {k[0]} groups, {UNKNOWN} {inside}" if len(k) == 1 else ""


def _stacked(drawing: Drawing, rows: pl.DataFrame, groups: Sequence[str], named: str, counted: str) -> None:
    heading = f"{named}{counted}"
    colours = {words(g): "var(--band)" if g == UNKNOWN else PALETTE[i] for i, g in enumerate(groups)}
    position, by = drawing.material.position, [*drawing.scope, "generator"]
    label = drawing.labeller(rows)
    bars: dict[tuple[str, str], list[Estimate]] = {}
    for row in sorted(rows.iter_rows(named=True), key=lambda r: [position(c, r[c]) for c in by]):
        bars.setdefault((label(row), str(row["generator"] or "")), []).append(row)
    kept = list(bars)[:_MOST_BARS]
    models = sorted({model for _, model in bars}, key=lambda model: position("generator", model))
    pieces = [
        piece
        for line, model in kept
        for piece in _pieces(line, model, bars[line, model], groups, several=len(models) > 1)
    ]
    spec = stacks(pieces, lines=list(dict(kept)), series=models, colours=colours)
    told = panel_words(drawing.prose.title, heading, [piece for piece in pieces if "tip" in piece])
    drawing.panels.append(Panel(heading, spec, told, len(kept)))
    if left := len(bars) - len(kept):
        said = count(left, "further bar is", "further bars are")
        drawing.notes.append(f"{named.capitalize()}: {said} not drawn; the files hold their rows.")


def _pieces(
    line: str, model: str, rows: Sequence[Estimate], groups: Sequence[str], *, several: bool
) -> list[dict[str, Any]]:
    """One bar: a piece a group that captions name, and what is said behind it."""
    by_group = {row["category"]: row for row in rows}
    at, pieces = 0.0, []
    for group in groups:
        row = by_group.get(group)
        if row is None or not row["value"]:
            continue
        share, low, high = (number(row[end], places=2) for end in ("value", "low", "high"))
        where = ", ".join(filter(None, (line, model)))
        tip = f"{where}: {words(group)} {share} [{low}, {high}], n = {row['n']}"
        place = {"start": at, "end": at + row["value"], "text": share, "tip": tip}
        pieces.append({"line": line, "series": model, "group": words(group), **place})
        at += row["value"]
    n = next((row["n"] for row in rows if row["n"] is not None), None)
    size = "not defined" if not pieces else "" if n is None else f"n = {thousands(n)}"
    said = ", ".join(filter(None, (model, size))) if several else size
    return [*pieces, {"line": line, "series": model, "said": said, "short": model if several else size}]


def _single(drawing: Drawing, part: pl.DataFrame, named: str, counted: str, look: SeriesStyle) -> None:
    """Of very many groups a line each, those that captions name; unknown set apart at the top."""
    entries = drawing.lines(part, lambda r: words(str(r["category"])))
    unknown = [replace(e, apart=True) for e in entries if e.label == UNKNOWN]
    others = sorted((e for e in entries if e.label != UNKNOWN), key=lambda e: -e.height)
    drawn = [e for e in others if e.height > 0]
    if never := [e.label for e in others if e.height == 0]:
        told = listing(never, most=16).replace(" and ", " or ")
        drawing.notes.append(f"{named.capitalize()}: {_NEVER} {told}.")
    if (rarer := len(drawn) - _MOST_GROUPS) > 0:
        left = count(rarer, "rarer group is", "rarer groups are")
        drawing.notes.append(f"{named.capitalize()}: {left} in the table only.")
    drawing.add(f"{named}{counted}", [*unknown, *drawn[:_MOST_GROUPS]], look)


def evenness_figure(drawing: Drawing) -> Figure:
    """Entropy and bias amplification side by side, a line a prompt and attribute; KL is in the table."""
    frame = drawing.frame
    parts = drawing.explained(EVENNESS)
    drawing.titled(joined_prose(parts.values(), "How even the shares of the groups are"))
    drawn = [measure for measure in parts if measure != _DIVERGENCE] or list(parts)
    for measure in drawn:
        rows = drawing.of(measure)
        look = SeriesStyle.for_frame(rows, parts[measure].unit, zero_line=False)
        if measure == _ENTROPY:
            look = replace(look, domain=(0.0, 1.0), base=1.0)
        heading = _HEADS.get(measure, parts[measure].short)
        drawing.add(heading, drawing.lines(rows, ["attribute"]), look, _MOST_EVEN)
    if frame["floor"].count() and frame["generator"].n_unique() <= MOST_SERIES:
        drawing.notes.append(
            "The grey band ends at what equally frequent groups would read at this number of captions."
        )
    if _DIVERGENCE in parts and _DIVERGENCE not in drawn:
        drawing.notes.append(
            "The divergence from equal shares (KL) is not drawn, because the entropy determines it: it is 0 "
            "where H is 1, and the greater the less H is. The table has it."
        )
    reads = (
        "Many captions that name no group can make shares look even or uneven. Attributes with another "
        "number of groups have another scale of BA."
    )
    return drawing.figure("captions-evenness", reads=reads)


def declared() -> pl.Expr:
    """Rows whose two sides somebody chose: the lexicon does, or the attribute has two groups only."""
    return pl.col("sides").is_not_null()


def sides_words(row: Estimate) -> str:
    """The difference in words: ``white less all other groups``."""
    second = _REST.get(str(row["reference"]), words(str(row["reference"])))
    return f"{words(str(row['category']))} less {second}"


def parity_figure(drawing: Drawing) -> Figure:
    """Declared sides against each other, else every pair of groups."""
    frame = drawing.frame
    chosen = frame.filter(declared())
    rows = chosen if chosen.height else frame
    measure = SIGNED if (rows["measure"] == SIGNED).any() else UNSIGNED
    drawn = rows.filter(pl.col("measure") == measure)
    drawing.titled(drawing.explained([measure])[measure])
    look = SeriesStyle.for_frame(drawn, drawing.prose.unit)
    prompt = drawing.labeller(drawn)

    def lines(part: pl.DataFrame) -> list[ScoreEntry]:
        named = bool(drawing.scope)
        return drawing.lines(part, lambda r: f"{prompt(r)}: {sides_words(r)}" if named else sides_words(r))

    if len(every := lines(drawn)) <= MOST_ENTRIES:
        drawing.add("", every, look)
    else:
        for part in drawn.partition_by("attribute", maintain_order=True):
            drawing.add(words(str(part["attribute"][0])), lines(part), look, MOST_ENTRIES)
    if left := drawing.of(measure).height - drawn.height:
        drawing.notes.append(
            f"{count(left, 'other pair', 'other pairs')} of groups, which nobody set against each other, "
            f"{'is' if left == 1 else 'are'} in the files tables/{measure}.csv and .parquet."
        )
    if (rows["measure"] == UNSIGNED).any() and measure == SIGNED:
        drawing.notes.append("The table has the same differences without their sign too, as the paper's PD.")
    return drawing.figure("captions-parity", frame=rows)


def occlusion_figure(drawing: Drawing) -> Figure:
    """Whether covered faces explain that captions name no group: shares, and scores without these."""
    shares, scores = drawing.of(*_SHARES), _with_whole(drawing)
    drawing.titled(
        joined_prose(
            drawing.explained(COVERED).values(), "Whether covered faces explain why captions name no group"
        )
    )
    named = next(iter(scores.filter(pl.col("measure").is_in(_SCORES))["measure"]), _SCORES[0])
    composite = drawing.material.explain(named, drawing.basis.definition).short
    rows, of_shares = pl.concat([shares, scores]), pl.col("measure").is_in(_SHARES)
    for prompt, part in drawing.by_prompt(rows):
        lead = f"{prompt}: " if prompt else ""
        if (here := part.filter(of_shares)).height:
            look = SeriesStyle.for_frame(shares, "share of captions", bars=True)
            drawing.add(f"{lead}share of captions", _covered(drawing, here), look)
        if (here := part.filter(~of_shares)).height:
            look = SeriesStyle.for_frame(scores, composite)
            drawing.add(f"{lead}composite with and without them", _covered(drawing, here), look)
    reads = (
        "If covered faces were the reason why captions name no group, no group would be named clearly more "
        "often where a face is covered, and the composite would move without these captions. Where neither "
        "is seen, covers do not explain it."
    )
    return drawing.figure("captions-covered", reads=reads, frame=rows)


def _with_whole(drawing: Drawing) -> pl.DataFrame:
    """The composites without covered faces, and those of all captions of the same prompts."""
    without = drawing.of(_SCORE_WITHOUT)
    named = ("generator", "annotator", *drawing.material.factors, "attribute", "category", "definition")
    same = [c for c in named if c in without.columns]
    whole = drawing.material.scores.filter(pl.col("measure").is_in(_SCORES)).join(
        without.select(same).unique(), on=same, how="semi", nulls_equal=True, maintain_order="left"
    )
    return pl.concat([whole, without])


def _covered(drawing: Drawing, rows: pl.DataFrame) -> list[ScoreEntry]:
    """How many captions name a cover, set apart; then scores, or unknown groups, and of which captions."""
    several = rows["attribute"].drop_nulls().n_unique() > 1

    def label(row: Estimate) -> str:
        named = [words(str(row["attribute"]))] * several
        if row["measure"] == _UNKNOWN_SHARE:
            among = _AMONG.get(row["category"], str(row["category"]))
            return f"{', '.join(['no group named', *named])}: {among}"
        return ", ".join([*named, "all captions" if row["measure"] in _SCORES else "without covered faces"])

    covers = pl.col("measure") == _OCCLUDED_SHARE
    head = drawing.lines(rows.filter(covers), lambda _: "face covered", apart=True)
    return [*head, *drawing.lines(rows.filter(~covers), label)]
