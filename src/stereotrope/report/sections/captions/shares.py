"""Which groups captions name: shares that add up, and how even they are."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.stacks import stacks
from stereotrope.report.contract import Block
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, number, thousands
from stereotrope.report.panels import Figure, Panel, panel_words
from stereotrope.report.prose import listing
from stereotrope.report.sections.captions.alongside import (
    MOST_LINES,
    MOST_SERIES,
    SeriesStyle,
    entries_by_scope,
    figure_of,
    labeller,
    panel_of,
    parts_by_scope,
    scope_of,
    scope_words,
)
from stereotrope.report.sections.captions.bases import Basis, bases_of
from stereotrope.report.sections.captions.pictures import UNKNOWN

SHARES = "representation_parity"
EVENNESS = ("shannon_entropy", "bias_amplification", "kl_from_uniform")
_MOST_BARS = 40
_NEVER = "no caption names"
_MOST_SAID = 4
_MOST_EVEN = 36
_NEUTRAL = "var(--band)"
_HEADS = {
    "shannon_entropy": "Entropy (H): 1 all equally frequent, 0 one alone",
    "bias_amplification": "Bias amplification (BA): 0 all equally frequent",
}

Row = Mapping[str, Any]


def shares_block(material: Material) -> Block | None:
    """The shares of all groups, and beneath them how even these are; None where there are none."""
    figures: list[Figure] = []
    shares = material.scores.filter(pl.col("measure") == SHARES)
    figures += [_shares(material, basis) for basis in bases_of(material, shares)]
    even = material.scores.filter(pl.col("measure").is_in(EVENNESS))
    figures += [_evenness(material, basis) for basis in bases_of(material, even)]
    if not figures:
        return None
    present = set(material.scores["measure"].unique().to_list())
    return Block(figures=figures, replaces=frozenset(present & {SHARES, *EVENNESS}))


def _shares(material: Material, basis: Basis) -> Figure:
    """A panel an attribute: stacked bars, and of very many groups a dot each."""
    frame = basis.frame
    prose = material.explain(SHARES, basis.definition)
    prose = replace(prose, title=f"{prose.title}{basis.named}")
    scope = scope_of(material, frame)
    look = SeriesStyle.for_frame(frame, prose.unit, bars=True)
    panels: list[Panel] = []
    notes: list[str] = []
    for attribute in frame["attribute"].unique(maintain_order=True).to_list():
        rows = frame.filter(pl.col("attribute").eq_missing(attribute))
        groups = [g for g in rows["category"].unique(maintain_order=True) if g is not None]
        if not groups:
            continue
        told, counted = words(str(attribute)), _counted(rows)
        if len([g for g in groups if g != UNKNOWN]) <= len(PALETTE):
            panel, said = _stacked(material, rows, scope, f"{told}{counted}", prose.title)
            panels.append(panel)
            notes += said
        else:
            for heading, part in parts_by_scope(material, rows, scope):
                full = f"{told}, {heading}" if heading else told
                panel, said = _single(material, part, f"{full}{counted}", look, prose.title)
                panels.append(panel)
                notes += said
    if sum(_NEVER in note for note in notes) > _MOST_SAID:
        notes = [note for note in notes if _NEVER not in note]
        notes.append("Groups that no caption names have no line; the table has them.")
    name = basis.called("captions-groups")
    return figure_of(material, frame, prose, panels, name=name, notes=notes)


def _counted(rows: pl.DataFrame) -> str:
    """How many groups there are and whether unknown is one; empty where rows differ in it."""
    k = rows["n_categories"].drop_nulls().unique().to_list()
    inside = "in" if (rows["category"] == UNKNOWN).any() else "out"
    return f": k = {k[0]} groups, {UNKNOWN} {inside}" if len(k) == 1 else ""


def _ordered(groups: Sequence[str]) -> list[str]:
    """The groups in the lexicon's order, unknown at the end."""
    return sorted(groups, key=lambda g: g == UNKNOWN)


def _stacked(
    material: Material, rows: pl.DataFrame, scope: Sequence[str], heading: str, title: str
) -> tuple[Panel, list[str]]:
    groups = _ordered([g for g in rows["category"].unique(maintain_order=True) if g is not None])
    plain = [g for g in groups if g != UNKNOWN]
    colours = {words(g): PALETTE[i] for i, g in enumerate(plain)}
    colours |= {words(g): _NEUTRAL for g in groups if g == UNKNOWN}
    bars = _bars(material, rows, scope)
    models = sorted({m for _, m in bars}, key=lambda m: material.position("generator", m))
    kept = list(bars)[:_MOST_BARS]
    drawn: list[dict[str, Any]] = []
    for line, model in kept:
        drawn += _pieces(line, model, bars[line, model], groups, several=len(models) > 1)
    lines = list(dict.fromkeys(line for line, _ in kept))
    told = [r for r in drawn if "tip" in r]
    spec = stacks(drawn, lines=lines, series=models, colours=colours)
    panel = Panel(heading, spec, panel_words(title, heading, told), len(kept))
    left = len(bars) - len(kept)
    said = f"{heading.partition(':')[0].capitalize()}: {count(left, 'further bar is', 'further bars are')} "
    return panel, [f"{said}not drawn; the files hold their rows."] if left else []


def _bars(material: Material, rows: pl.DataFrame, scope: Sequence[str]) -> dict[tuple[str, str], list[Row]]:
    """The rows of each bar, by prompt and model in the order of the design."""
    by = [*scope, "generator"] if "generator" in rows.columns else [*scope]
    ordered = sorted(rows.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in by])
    bars: dict[tuple[str, str], list[Row]] = {}
    for row in ordered:
        key = (scope_words(row, scope) or "all captions", str(row.get("generator") or ""))
        bars.setdefault(key, []).append(row)
    return bars


def _pieces(
    line: str, model: str, rows: Sequence[Row], groups: Sequence[str], *, several: bool
) -> list[dict[str, Any]]:
    by_group = {row["category"]: row for row in rows}
    at, pieces = 0.0, []
    for group in groups:
        row = by_group.get(group)
        if row is None or not row["value"]:
            continue
        share = number(row["value"], places=2)
        where = f"{line}, {model}" if model else line
        pieces.append(
            {
                "line": line,
                "series": model,
                "group": words(group),
                "start": at,
                "end": at + row["value"],
                "text": share,
                "tip": f"{where}: {words(group)} {share} "
                f"[{number(row['low'], places=2)}, {number(row['high'], places=2)}], n = {row['n']}",
            }
        )
        at += row["value"]
    n = next((row["n"] for row in rows if row["n"] is not None), None)
    size = "not defined" if not pieces else "" if n is None else f"n = {thousands(n)}"
    said = f"{model}, {size}" if several and size else (model if several else size)
    return [*pieces, {"line": line, "series": model, "said": said, "short": model if several else size}]


def _single(
    material: Material, part: pl.DataFrame, heading: str, look: SeriesStyle, title: str
) -> tuple[Panel, list[str]]:
    """Of very many groups a line each, those that captions name; unknown set apart at the top."""
    entries = entries_by_scope(material, part, (), lambda r: words(str(r["category"])))
    unknown = [replace(e, apart=True) for e in entries if e.label == UNKNOWN]
    named = [e for e in entries if e.label != UNKNOWN and e.height > 0]
    never = [e.label for e in entries if e.label != UNKNOWN and e.height == 0]
    named.sort(key=lambda e: -e.height)
    notes = []
    where = heading.partition(":")[0].capitalize()
    if never:
        notes.append(f"{where}: {_NEVER} {listing(never, most=16).replace(' and ', ' or ')}.")
    if len(named) > MOST_LINES:
        left = count(len(named) - MOST_LINES, "rarer group is", "rarer groups are")
        notes.append(f"{where}: {left} in the table only.")
    panel = panel_of(material, heading, [*unknown, *named[:MOST_LINES]], look, title=title)
    return panel, notes


def _evenness(material: Material, basis: Basis) -> Figure:
    """Entropy and bias amplification side by side, a line a prompt and attribute; KL is in the table."""
    frame = basis.frame
    scope = scope_of(material, frame)
    parts = {m: material.explain(m, basis.definition) for m in EVENNESS if (frame["measure"] == m).any()}
    first = next(iter(parts.values()))
    drawn = [m for m in parts if m != "kl_from_uniform"] or list(parts)
    panels: list[Panel] = []
    notes: list[str] = []
    for measure in drawn:
        rows = frame.filter(pl.col("measure") == measure)
        base = 1.0 if measure == "shannon_entropy" else 0.0
        look = SeriesStyle.for_frame(rows, parts[measure].unit, base=base, zero_line=False)
        if measure == "shannon_entropy":
            look = replace(look, domain=(0.0, 1.0))
        entries = entries_by_scope(material, rows, scope, labeller(rows, scope, ("attribute",)))
        panels.append(
            panel_of(
                material,
                _HEADS.get(measure, parts[measure].short),
                entries[:_MOST_EVEN],
                look,
                title=first.title,
            )
        )
        if len(entries) > _MOST_EVEN and not notes:
            left = count(len(entries) - _MOST_EVEN, "further line is", "further lines are")
            notes.append(f"{left[:1].upper()}{left[1:]} in the table and in the files only.")
    if frame["floor"].drop_nulls().len() and len(frame["generator"].unique()) <= MOST_SERIES:
        notes.append(
            "The grey band ends at what equally frequent groups would read at this number of captions."
        )
    if "kl_from_uniform" in parts and "kl_from_uniform" not in drawn:
        notes.append(
            "The divergence from equal shares (KL) is not drawn, because the entropy determines it: it is 0 "
            "where H is 1, and the greater the less H is. The table has it."
        )
    prose = replace(
        first,
        title=f"How even the shares of the groups are{basis.named}",
        unit="",
        definition=" ".join(f"{p.short}: {p.definition}" for p in parts.values()),
        source="; ".join(dict.fromkeys(p.source for p in parts.values())),
    )
    reads = (
        "Many captions that name no group can make shares look even or uneven. Attributes with another "
        "number of groups have another scale of BA."
    )
    name = basis.called("captions-evenness")
    return figure_of(material, frame, prose, panels, name=name, notes=notes, reads=reads)
