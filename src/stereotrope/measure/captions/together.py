"""All measures of captions that a lexicon declares something for, from one set of resamples."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.lexicon.declared import Declared, declared_of
from stereotrope.measure.captions.association import cas_row
from stereotrope.measure.captions.composite import cbs_row, contextual_row
from stereotrope.measure.captions.distribution import share_rows, spread_rows
from stereotrope.measure.captions.frame import Captions, caption_table
from stereotrope.measure.captions.groups import Groups, Sides, count_groups, sides_of
from stereotrope.measure.captions.occlusion import bare, occlusion_rows
from stereotrope.measure.captions.omission import OTHER_SCRIPT, any_row, missing_rows
from stereotrope.measure.captions.parity import parity_row
from stereotrope.measure.captions.rows import How, ScoreRow, make_how
from stereotrope.measure.captions.similarity import Compared, clip_proxy_row, compare, vendi_rows
from stereotrope.measure.captions.words import readable
from stereotrope.measure.tidy import estimate_frame, to_polars
from stereotrope.stats import Resample
from stereotrope.tables import CAPTION

MOST_PAIRED = 20
"""Groups of an attribute up to which each is set against each other one: 190 pairs."""


def caption_measures(
    captions: Any,
    lexicon: Any,
    *,
    prompt: str = "prompt",
    by: Sequence[str] = ("generator",),
    unknown: bool = True,
    epsilon: float = 0.0,
    definition: str = "paper",
    level: float = 0.95,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Every measure of captions, for every model and prompt of a lexicon.

    Parameters
    ----------
    captions
        Captions frame with a column for each attribute and list that the lexicon declares.
    lexicon
        As for :func:`declared_of`, or what it returned. A prompt of which it has no text takes that of
        the column ``text``, where all captions of a cell have the same.
    prompt
        Factor whose levels are the lexicon's prompts (case does not matter).
    by
        Factors whose combinations, with ``prompt``, are the cells.
    unknown
        Whether ``unknown`` is a group of its own.
    epsilon
        As for :func:`cas`.
    definition, level, n_bootstrap, seed
        As for :func:`cbs`. All scores of a cell share one set of resamples.

    Returns
    -------
    polars.DataFrame
        Estimates of the single functions, cell by cell: each attribute's shares, parities (of the sides that
        the lexicon declares, and of each pair of up to 20 groups), amplification, entropy and divergence; CAS
        where lists are declared; omissions; Vendi and the CLIP proxy; the composite of the prompt's path;
        shares of unknown and occluded where ``ppe`` is declared. A prompt of the lexicon without captions has
        rows that say so.

    Raises
    ------
    TableError
        A column is missing, or no prompt of the frame is one of the lexicon.
    UsageError
        The lexicon declares no prompt, or the definition is unknown.

    Notes
    -----
    Captions that share no script with any term of their prompt are left out of every measure
    (``other script than the terms``): a lexicon cannot find in them what it looks for, and *unknown* or
    *missing* would say something of the lexicon.
    """
    how = make_how("caption_measures", (*by, prompt), definition, level)
    plans = lexicon if _is_declared(lexicon) else declared_of(lexicon)
    named = {name.casefold(): plan for name, plan in plans.items()}
    frame = _checked(captions, prompt, named)
    columns = [a for plan in named.values() for a in plan.groups]
    lists = [name for plan in named.values() for name in plan.elements]
    cells = caption_table(
        frame,
        by=how.by,
        measure="caption_measures",
        columns=list(dict.fromkeys(columns)),
        lists=list(dict.fromkeys(lists)),
        n_bootstrap=n_bootstrap,
        seed=seed,
    )
    rows: list[ScoreRow] = []
    for cell in [*cells, *_without_captions(cells, named)]:
        plan = named.get(str(cell.key[-1]).strip().casefold())
        if plan is not None:
            rows += _rows(cell, plan, how, unknown, epsilon)
    return estimate_frame(rows, factors=how.by)


def _is_declared(lexicon: Any) -> bool:
    return isinstance(lexicon, Mapping) and any(isinstance(one, Declared) for one in lexicon.values())


def _checked(captions: Any, prompt: str, named: Mapping[str, Declared]) -> pl.DataFrame:
    frame = to_polars(captions, what="captions")
    for name in (prompt, CAPTION):
        if name not in frame.columns:
            raise TableError(f"captions: no column {name!r}; found {', '.join(map(repr, frame.columns))}")
    levels = [str(level).strip() for level in frame[prompt].unique(maintain_order=True)]
    if frame.height and not any(level.casefold() in named for level in levels):
        raise TableError(
            f"captions: no prompt of the lexicon in column {prompt!r}; the lexicon has "
            f"{', '.join(repr(plan.name) for plan in named.values())}, found "
            f"{', '.join(map(repr, levels[:5]))}"
        )
    given = pl.col("excluded").cast(pl.String) if "excluded" in frame.columns else pl.lit(None, pl.String)
    foreign = np.zeros(frame.height, bool)
    place = np.array([str(level).strip().casefold() for level in frame[prompt]], dtype=object)
    texts = ["" if text is None else str(text) for text in frame[CAPTION]]
    for name, plan in named.items():
        own = np.flatnonzero(place == name)
        if len(own) and plan.terms:
            foreign[own] = readable([texts[row] for row in own.tolist()], plan.terms) == 0
    outside = pl.Series("outside", foreign, dtype=pl.Boolean)
    return frame.with_columns(
        pl.when(given.is_null() & outside).then(pl.lit(OTHER_SCRIPT)).otherwise(given).alias("excluded")
    )


def _without_captions(cells: Sequence[Captions], named: Mapping[str, Declared]) -> list[Captions]:
    """An empty cell for each prompt of the lexicon that a model has no caption of."""
    if not cells:
        return []
    there = {(cell.key[:-1], str(cell.key[-1]).strip().casefold()) for cell in cells}
    models = dict.fromkeys(cell.key[:-1] for cell in cells)
    spelled = {str(cell.key[-1]).strip().casefold(): cell.key[-1] for cell in cells}
    nothing = Resample(np.zeros(0, np.int64), 0)
    return [
        Captions((*model, spelled.get(name, plan.name)), cells[0].frame.clear(), {}, nothing, clustered=False)
        for model in models
        for name, plan in named.items()
        if (model, name) not in there
    ]


def _rows(cell: Captions, plan: Declared, how: How, unknown: bool, epsilon: float) -> list[ScoreRow]:
    rows: list[ScoreRow] = []
    for attribute, groups in plan.groups.items():
        counted = count_groups(cell, attribute, groups=groups, unknown=unknown, released=how.released)
        rows += share_rows(cell, counted, how)
        if plan.path == "demographic":
            pairs = _parities(counted, plan, groups, how)
            rows += [
                parity_row(cell, counted, one, how, signed=sign) for sign in (False, True) for one in pairs
            ]
        rows += spread_rows(cell, counted, how)
    if plan.association:
        rows.append(cas_row(cell, how, epsilon=epsilon))
    elements = plan.elements
    rows += missing_rows(cell, how, "gmr", elements.get("keyword", ()), "keyword")
    rows += missing_rows(cell, how, "iemr", elements.get("implied", ()), "implied")
    for measure, name in (("hallucination", "hallucination"), ("car", "reference")):
        if name in elements:
            rows.append(any_row(cell, how, measure, elements[name], name))
    plan = replace(plan, text=plan.text or _own_text(cell))
    compared = compare(cell, plan.text)
    rows += vendi_rows(cell, how, compared)
    column = "alignment" if "alignment" in elements else "keyword"
    rows.append(clip_proxy_row(cell, how, compared, plan.text, elements.get(column, ()), column))
    return [*rows, *_composites(cell, plan, how, compared, unknown, epsilon)]


def _own_text(cell: Captions) -> str | None:
    """The prompt's text where the lexicon has none and all captions of the cell have the same."""
    texts = cell.frame["text"].drop_nulls().unique().to_list() if "text" in cell.frame.columns else []
    return str(texts[0]) if len(texts) == 1 else None


def _parities(counted: Groups, plan: Declared, groups: Sequence[str], how: How) -> list[Sides]:
    """The sides declared, and under the paper's definition every other pair of up to so many groups."""
    first: list[Sides] = []
    if counted.attribute == plan.attribute and plan.of:
        first = sides_of(counted, plan.of, plan.against, groups)
    if how.released or len(groups) > MOST_PAIRED:
        return first
    known = {frozenset((one.of, one.against)) for one in first}
    pairs = sides_of(counted, None, None, groups)
    rest = [one for one in pairs if frozenset((one.of, one.against)) not in known]
    return [*first, *(replace(one, declared=False) for one in rest)] if first else rest


def _composites(
    cell: Captions, plan: Declared, how: How, compared: Compared, unknown: bool, epsilon: float
) -> list[ScoreRow]:
    """The composite of the prompt's path, and what covered faces have to do with it."""
    if plan.attribute is None:
        return []
    groups = plan.groups[plan.attribute]
    lists = ("stereotype", "diversity") if plan.association else None
    counted = count_groups(cell, plan.attribute, groups=groups, unknown=unknown, released=how.released)
    if plan.path != "demographic":
        keywords = plan.elements.get("keyword", ())
        return [contextual_row(cell, counted, how, compared, plan.text, keywords, "keyword", lists, epsilon)]
    if "ppe" not in plan.elements:
        sides = sides_of(counted, plan.of, plan.against, groups)
        return [cbs_row(cell, counted, sides[0] if len(sides) == 1 else None, how, lists, epsilon)]
    rows = occlusion_rows(cell, plan.attribute, how, "ppe")
    for part, name in ((cell, "cbs"), (bare(cell, "ppe"), "cbs_without_occluded")):
        seen = count_groups(part, plan.attribute, groups=groups, unknown=unknown, released=how.released)
        sides = sides_of(seen, plan.of, plan.against, groups)
        row = cbs_row(part, seen, sides[0] if len(sides) == 1 else None, how, lists, epsilon)
        rows.append({**row, "measure": name})
    return rows
