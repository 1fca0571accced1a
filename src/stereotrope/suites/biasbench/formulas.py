"""The paper's formulas on the same captions: the measures of captions, on what a lexicon finds as words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.annotate.lexicon import Lexicon
from stereotrope.measure import captions as measures
from stereotrope.suites.biasbench.released import by_patterns, fold
from stereotrope.suites.biasbench.wordlists import WordLists, attribute_of

__all__ = ["paper_values"]

Values = dict[tuple[str, str, str], float | None]

_PLAIN: Mapping[str, Any] = {"n_bootstrap": 0}


def paper_values(captions: Mapping[str, Sequence[str]], lists: WordLists) -> Values:
    """Compute the paper's formulas of every prompt, by prompt, measure and level.

    Parameters
    ----------
    captions
        Captions by prompt.
    lists
        Their lexicon finds groups and elements; a caption that names several groups without one of them
        deciding counts for none.

    Returns
    -------
    dict
        Unrounded; None where a value is undefined. What the lexicon does not declare is not there.
    """
    rows = [(prompt, caption) for prompt, listed in captions.items() for caption in listed]
    made = pl.DataFrame(
        {
            "image_id": [str(number) for number in range(len(rows))],
            "generator": ["model"] * len(rows),
            "prompt": [prompt for prompt, _ in rows],
            "caption": [caption for _, caption in rows],
        },
        schema_overrides=dict.fromkeys(("image_id", "generator", "prompt", "caption"), pl.String),
    )
    lexicon = lists.lexicon
    frame = lexicon.frame(made)
    values: Values = {}
    for prompt in captions:
        own = frame.filter(pl.col("prompt") == prompt)
        if prompt in lists.by_patterns:
            patterns = lists.prompts[prompt].patterns
            said = [by_patterns(fold(caption), patterns) for caption in own["caption"]]
            own = own.with_columns(pl.Series(attribute_of(prompt, lexicon) or "", said, dtype=pl.String))
        if own.height and prompt in lexicon.prompts:
            values |= _of_prompt(own, prompt, lexicon)
    return values


def _of_prompt(frame: pl.DataFrame, prompt: str, lexicon: Lexicon) -> Values:
    entry = lexicon.prompts[prompt]
    elements = {name: list(one.elements) for name, one in entry.lists.items()}
    frame = frame.with_columns(pl.col(name).fill_null([]) for name in elements if name in frame.columns)
    found = [measures.vendi(frame, text=entry.text, **_PLAIN)]
    if "keyword" in elements:
        found.append(measures.gmr(frame, elements["keyword"], **_PLAIN))
    if "implied" in elements:
        found.append(measures.iemr(frame, elements["implied"], **_PLAIN))
    if "hallucination" in elements:
        found.append(measures.hallucination(frame, terms=elements["hallucination"]))
    if "reference" in elements:
        found.append(measures.car(frame, elements=elements["reference"]))
    both = entry.cas and {"stereotype", "diversity"} <= set(elements)
    if both:
        found.append(measures.cas(frame, **_PLAIN))
    if entry.text:
        found.append(measures.clip_proxy(frame, entry.text, **_PLAIN))
    found += _of_groups(frame, prompt, lexicon, elements, association=both)
    named: Values = {}
    for estimates in found:
        for row in estimates.iter_rows(named=True):
            named.setdefault(_cell(prompt, row, entry.path == "contextual"), row["value"])
    return named


def _of_groups(
    frame: pl.DataFrame,
    prompt: str,
    lexicon: Lexicon,
    elements: Mapping[str, list[str]],
    *,
    association: bool,
) -> list[pl.DataFrame]:
    attribute = attribute_of(prompt, lexicon)
    if attribute is None:
        return []
    entry = lexicon.prompts[prompt]
    groups = list(lexicon.attributes[attribute].groups)
    found = [measures.representation_parity(frame, attribute, groups=groups)]
    found += [
        measure(frame, attribute, groups=groups, **_PLAIN)
        for measure in (measures.bias_amplification, measures.shannon_entropy, measures.kl_from_uniform)
    ]
    if entry.parity is not None:
        against: Any = entry.parity["against"]
        sides: dict[str, Any] = {
            "of": list(entry.parity["groups"]),  # type: ignore[call-overload]
            "against": against if isinstance(against, str) else list(against),
        }
        found.append(measures.parity_difference(frame, attribute, groups=groups, **sides, **_PLAIN))
        found.append(
            measures.cbs(frame, attribute, groups=groups, association=association, **sides, **_PLAIN)
        )
    if entry.path == "contextual" and entry.text and "keyword" in elements:
        keywords = elements["keyword"]
        found.append(
            measures.contextual_diversity(
                frame, attribute, groups=groups, keywords=keywords, text=entry.text, **_PLAIN
            )
        )
    return found


def _cell(prompt: str, row: Mapping[str, Any], contextual: bool) -> tuple[str, str, str]:
    """The cell a row fills; only shares have levels, and a contextual prompt's unknown is called other."""
    measure = {"vendi_normalised": "vendi", "vendi": "vendi_raw"}.get(row["measure"], row["measure"])
    level = row["category"] if measure == "representation_parity" else ""
    if measure in ("gmr", "iemr") and row["category"]:
        measure, level = f"{measure}_of", row["category"]
    return prompt, measure, "other" if contextual and level == "unknown" else level or ""
