"""All measures of captions that a lexicon declares something for, from one set of resamples."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import TableError
from stereotrope.lexicon.declared import Declared, declared_of
from stereotrope.measure.captions.composite import cbs, contextual_diversity, occlusion_split
from stereotrope.measure.captions.difference import OVER_PROMPTS, SideCompared, with_own_q
from stereotrope.measure.captions.distribution import (
    bias_amplification,
    kl_from_uniform,
    representation_parity,
    shannon_entropy,
)
from stereotrope.measure.captions.frame import Captions, caption_cells
from stereotrope.measure.captions.parity import parity_difference, signed_parity
from stereotrope.measure.captions.rows import ScoreRow
from stereotrope.measure.captions.similarity import clip_proxy, vendi
from stereotrope.measure.captions.terms import OTHER_SCRIPT, car, cas, gmr, hallucination, iemr
from stereotrope.measure.captions.words import readable
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.setting import GENERATOR
from stereotrope.measure.tidy import reason_given, to_polars
from stereotrope.measure.units import FEWEST_PROMPTS, claim_of
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

    Captions that share no script with any term of their prompt are left out of every measure (``other script
    than the terms``): a lexicon cannot find in them what it looks for, and *unknown* or *missing* would say
    something of the lexicon.

    captions: Captions frame with a column for each attribute and list that the lexicon declares.
    lexicon: As for :func:`declared_of`, or what it returned. A prompt of which it has no text takes that of
        the column ``text``, where all captions of a cell have the same.
    prompt: Factor whose levels are the lexicon's prompts (case does not matter).
    by: Factors whose combinations, with ``prompt``, are the cells.
    unknown: Whether ``unknown`` is a group of its own.
    epsilon: As for :func:`cas`.
    definition, level, n_bootstrap, seed: As for :func:`cbs`. All scores of a cell share one set of resamples.

    Returns: Estimates of the single functions, cell by cell: each attribute's shares, parities (of the sides
    that the lexicon declares, and of each pair of up to 20 groups), amplification, entropy and divergence;
    CAS where lists are declared; omissions; Vendi and the CLIP proxy; the composite of the prompt's path;
    shares of unknown and occluded where ``ppe`` is declared. A prompt of the lexicon without captions has
    rows that say so.

    Raises TableError: A column is missing, or no prompt of the frame is one of the lexicon.
    Raises UsageError: The lexicon declares no prompt, or the definition is unknown.
    """
    is_read = isinstance(lexicon, Mapping) and any(isinstance(one, Declared) for one in lexicon.values())
    plans = lexicon if is_read else declared_of(lexicon)
    named = {_folded(name): plan for name, plan in plans.items()}
    how: dict[str, Any] = {"definition": definition, "level": level, "n_bootstrap": n_bootstrap, "seed": seed}
    frame = _checked(captions, prompt, named)
    cells = caption_cells(frame, measure="caption_measures", by=(*by, prompt), **how)
    rows: list[ScoreRow] = []
    for cell in [*cells, *_without_captions(cells, prompt, named)]:
        plan = named.get(_folded(cell.key[prompt]))
        if plan is not None:
            rows += _rows(cell, plan, unknown, epsilon)
    if GENERATOR in by:
        rows += _over_prompts(frame, named, prompt, by, unknown, how)
    return estimate_frame(rows, factors=(*by, prompt))


def _folded(level: Any) -> str:
    return str(level).strip().casefold()


def _checked(captions: Any, prompt: str, named: Mapping[str, Declared]) -> pl.DataFrame:
    """The captions, those in other scripts than the terms of their prompt left out."""
    frame = to_polars(captions, what="captions", needs=(prompt, CAPTION))
    place = [_folded(level) for level in frame[prompt]]
    if frame.height and not set(place) & set(named):
        levels = [str(level).strip() for level in frame[prompt].unique(maintain_order=True)]
        raise TableError(
            f"captions: no prompt of the lexicon in column {prompt!r}; the lexicon has "
            f"{', '.join(repr(plan.name) for plan in named.values())}, found "
            f"{', '.join(map(repr, levels[:5]))}"
        )
    foreign = np.zeros(frame.height, bool)
    texts = ["" if text is None else str(text) for text in frame[CAPTION]]
    for name, plan in named.items():
        own = [row for row, there in enumerate(place) if there == name]
        if own and plan.terms:
            foreign[own] = readable([texts[row] for row in own], plan.terms) == 0
    outside = pl.when(pl.lit(pl.Series(foreign, dtype=pl.Boolean))).then(pl.lit(OTHER_SCRIPT))
    return frame.with_columns(excluded=pl.coalesce(reason_given(frame), outside))


def _without_captions(
    cells: Sequence[Captions], prompt: str, named: Mapping[str, Declared]
) -> list[Captions]:
    """An empty cell for each prompt of the lexicon that a model has no caption of."""
    if not cells:
        return []
    spelled = {_folded(cell.key[prompt]): cell.key[prompt] for cell in cells}
    models = {tuple(cell.key.values())[:-1]: cell.key for cell in cells}
    there = {(tuple(cell.key.values())[:-1], _folded(cell.key[prompt])) for cell in cells}
    nothing: dict[str, Any] = {"frame": cells[0].frame.clear(), "excluded": {}, "claim": claim_of()}
    resample = Resample(np.zeros(0, np.int64), 0)
    return [
        replace(cells[0], key={**key, prompt: spelled.get(name, plan.name)}, resample=resample, **nothing)
        for model, key in models.items()
        for name, plan in named.items()
        if (model, name) not in there
    ]


def _rows(cell: Captions, plan: Declared, unknown: bool, epsilon: float) -> list[ScoreRow]:
    rows: list[ScoreRow] = []
    for attribute, groups in plan.groups.items():
        rows += representation_parity.rows(cell, attribute, groups=groups, unknown=unknown)
        if plan.path == "demographic":
            rows += _parity_rows(cell, plan, attribute, unknown)
        for spread in (bias_amplification, shannon_entropy, kl_from_uniform):
            rows += spread.rows(cell, attribute, groups=groups, unknown=unknown)
    if plan.association:
        rows += cas.rows(cell, epsilon=epsilon)
    elements = plan.elements
    rows += gmr.rows(cell, elements.get("keyword", ()))
    rows += iemr.rows(cell, elements.get("implied", ()))
    if "hallucination" in elements:
        rows += hallucination.rows(cell, terms=elements["hallucination"])
    if "reference" in elements:
        rows += car.rows(cell, elements=elements["reference"])
    text = plan.text or _own_text(cell)
    rows += vendi.rows(cell, text=text)
    column = "alignment" if "alignment" in elements else "keyword"
    rows += clip_proxy.rows(cell, text, keywords=elements.get(column, ()), column=column)
    return [*rows, *_composite_rows(cell, plan, text, unknown, epsilon)]


def _over_prompts(
    frame: pl.DataFrame,
    named: Mapping[str, Declared],
    prompt: str,
    by: Sequence[str],
    unknown: bool,
    how: Mapping[str, Any],
) -> list[ScoreRow]:
    """How differently often models name each side that several prompts declare."""
    prompts: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name, plan in named.items():
        for attribute, of in _sides_compared(plan):
            prompts.setdefault((attribute, of), []).append(name)
    place = pl.Series([_folded(level) for level in frame[prompt]], dtype=pl.String)
    rows: list[ScoreRow] = []
    for (attribute, of), names in prompts.items():
        part = frame.filter(place.is_in(names))
        alone = part[prompt].n_unique() == 1
        cells = caption_cells(part, measure=OVER_PROMPTS, by=(*by, prompt) if alone else by, **how)
        asked = SideCompared(attribute, of, named[names[0]].groups[attribute], unknown, GENERATOR, prompt)
        # Of the few texts of a single prompt its own scores speak.
        rows += [row for row in asked.rows(cells) if not alone or row["n"] >= FEWEST_PROMPTS]
    return with_own_q(rows)


def _sides_compared(plan: Declared) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Attribute and first side of each parity of a prompt whose sides are declared, or all there are."""
    for attribute, groups in plan.groups.items() if plan.path == "demographic" else ():
        if attribute == plan.attribute and plan.of:
            yield attribute, tuple(plan.of)
        elif len(groups) == 2:
            yield attribute, groups[:1]


def _own_text(cell: Captions) -> str | None:
    """The prompt's text where the lexicon has none and all captions of the cell have the same."""
    texts = cell.frame["text"].drop_nulls().unique().to_list() if "text" in cell.frame.columns else []
    return str(texts[0]) if len(texts) == 1 else None


def _parity_rows(cell: Captions, plan: Declared, attribute: str, unknown: bool) -> list[ScoreRow]:
    """Parities of the sides declared, and by the paper's definition of every other pair of groups."""
    groups = plan.groups[attribute]
    rows: list[ScoreRow] = []
    for parity in (parity_difference, signed_parity):
        declared: list[ScoreRow] = []
        if attribute == plan.attribute and plan.of:
            sides: dict[str, Any] = {"of": plan.of, "against": plan.against}
            declared = parity.rows(cell, attribute, groups=groups, unknown=unknown, **sides)
        rows += declared
        if cell.released or len(groups) > MOST_PAIRED:
            continue
        known = [{row["category"], row["reference"]} for row in declared]
        for row in parity.rows(cell, attribute, groups=groups, unknown=unknown):
            if {row["category"], row["reference"]} not in known:
                rows.append({**row, "sides": None} if declared else row)
    return rows


def _composite_rows(
    cell: Captions, plan: Declared, text: str | None, unknown: bool, epsilon: float
) -> list[ScoreRow]:
    """The composite of the prompt's path, and what covered faces have to do with it."""
    if plan.attribute is None:
        return []
    shared: dict[str, Any] = {"groups": plan.groups[plan.attribute], "unknown": unknown, "epsilon": epsilon}
    shared["association"] = plan.association
    if plan.path != "demographic":
        keywords = plan.elements.get("keyword", ())
        return contextual_diversity.rows(cell, plan.attribute, keywords=keywords, text=text, **shared)
    shared |= {"of": plan.of, "against": plan.against}
    if "ppe" in plan.elements:
        return occlusion_split.rows(cell, plan.attribute, **shared)
    return cbs.rows(cell, plan.attribute, **shared)
