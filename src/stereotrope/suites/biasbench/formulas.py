"""The paper's formulas on the same captions, with terms found in three ways."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.lexicon import Lexicon, Matching
from stereotrope.lexicon.declared import declared_of
from stereotrope.measure.captions import caption_measures
from stereotrope.report.numbers import number
from stereotrope.suites.biasbench.released import as_matched, by_patterns
from stereotrope.suites.biasbench.wordlists import WordLists, attribute_of

MATCHINGS: Mapping[str, str] = {
    "letters": "a term hits wherever its letters stand, inside longer words too, as in the released scripts",
    "word": "a term hits as a whole word (equation 3 of the paper)",
    "split": "as a whole word, after words run together are split: MaleFair, Female20s",
}
"""Every way to find a term, with its meaning."""
JUDGED = "split"
"""The way by which a formula is set against what is printed: in captions without words run together it is
``word``."""

CellKey = tuple[str, str, str]


@dataclass(frozen=True)
class PaperValue:
    """A value by the paper's formula, of ``n`` captions: unrounded, with the measure's own interval."""

    value: float | None
    low: float | None
    high: float | None
    n: int | None
    undefined: str

    @property
    def ends(self) -> tuple[float, float] | None:
        """The interval, where there is one."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def interval(self) -> str:
        """The interval as it is printed."""
        return f"[{', '.join(number(end, self.n) for end in self.ends)}]" if self.ends else ""


def paper_values(
    captions: Mapping[str, Sequence[str]],
    lists: WordLists,
    matching: str = "word",
    *,
    n_bootstrap: int = 1_000,
    seed: int = 0,
) -> dict[CellKey, PaperValue]:
    """Compute the paper's formulas of every prompt, by prompt, measure and level.

    captions: Captions by prompt.
    lists: Their lexicon finds groups and elements. Groups that go by patterns do so in every matching.
    matching: One of :data:`MATCHINGS`, whatever the lexicon says of its own. With ``split`` a lexicon finds
        its terms as it does everywhere else when it splits, and the authors' lists theirs in captions split
        by :func:`split_words`; the measures of the captions' likeness change too.
    n_bootstrap, seed: Of the intervals; 0 for none where they need resampling.
    Returns: Nothing of what the lexicon does not declare.
    """
    ours = not lists.patterned
    how = Matching(
        boundary="substring" if matching == "letters" else "word",
        split_case=ours and matching == "split",
        forms=lists.lexicon.matching.forms,
    )
    lexicon = replace(lists.lexicon, matching=how)
    rows = [(prompt, caption) for prompt, listed in captions.items() for caption in listed]
    read = [(p, split_words(caption)) for p, caption in rows] if matching == "split" else rows
    made = pl.DataFrame(
        {
            "image_id": [str(number) for number in range(len(rows))],
            "generator": ["model"] * len(rows),
            "prompt": [prompt for prompt, _ in rows],
            "caption": [caption for _, caption in (rows if ours else read)],
        },
        schema_overrides=dict.fromkeys(("image_id", "generator", "prompt", "caption"), pl.String),
    )
    frame = lexicon.frame(made).with_columns(pl.Series("caption", [c for _, c in read], dtype=pl.String))
    resampling = {"n_bootstrap": n_bootstrap, "seed": seed}
    values: dict[CellKey, PaperValue] = {}
    for prompt in captions:
        own = frame.filter(pl.col("prompt") == prompt)
        attribute = attribute_of(prompt, lexicon) if prompt in lexicon.prompts else None
        if attribute in lists.patterned:
            patterns = lists.prompts[prompt].patterns
            said = [by_patterns(as_matched(caption), patterns) for caption in own["caption"]]
            own = own.with_columns(pl.Series(attribute, said, dtype=pl.String))
        if own.height and prompt in lexicon.prompts:
            values |= _of_prompt(own, prompt, lexicon, resampling)
    return values


_PRINTED = {"cbs_without_association": "cbs"}
"""Name of a score → that of the column in which the paper prints it."""


def split_words(text: str) -> str:
    """Put a space where a word ends inside a run of letters, as in columns glued together.

    That is between a small letter and a digit, and between either and a capital that begins a word.

    >>> split_words("a SurgeonMaleFair, Female20sLong, DogN/A, iPhone")
    'a Surgeon Male Fair, Female 20s Long, DogN/A, i Phone'
    """
    ends = [at for at in range(1, len(text)) if _ends(text[at - 1], text[at], text[at + 1 : at + 2])]
    return " ".join(text[begin:end] for begin, end in zip([0, *ends], [*ends, len(text)], strict=True))


def _ends(before: str, at: str, after: str) -> bool:
    if at.isdecimal():
        return before.islower()
    return at.isupper() and after.islower() and (before.islower() or before.isdecimal())


def _of_prompt(
    frame: pl.DataFrame, prompt: str, lexicon: Lexicon, resampling: Mapping[str, Any]
) -> dict[CellKey, PaperValue]:
    """What the lexicon declares of a prompt, by the attribute that the prompt is about."""
    entry, attribute = lexicon.prompts[prompt], attribute_of(prompt, lexicon)
    about = {name: one for name, one in lexicon.attributes.items() if name == attribute}
    (declared,) = declared_of(replace(lexicon, attributes=about, prompts={prompt: entry})).values()
    frame = frame.with_columns(pl.col(name).fill_null([]) for name in entry.lists)
    given = {"gmr": "keyword" in entry.lists, "iemr": "implied" in entry.lists}
    given |= dict.fromkeys(("parity_difference", "cbs"), declared.of is not None)
    values: dict[CellKey, PaperValue] = {}
    for row in caption_measures(frame, {prompt: declared}, **resampling).iter_rows(named=True):
        row["measure"] = _PRINTED.get(row["measure"], row["measure"])
        if given.get(row["measure"], True):
            made = PaperValue(row["value"], row["low"], row["high"], row["n"], row["undefined"] or "")
            values.setdefault(_cell(prompt, row, entry.path == "contextual"), made)
    return values


def _cell(prompt: str, row: Mapping[str, Any], contextual: bool) -> CellKey:
    """The cell a row fills; only shares have levels, and a contextual prompt's unknown is called other."""
    measure = {"vendi_normalised": "vendi", "vendi": "vendi_raw"}.get(row["measure"], row["measure"])
    level = row["category"] if measure == "representation_parity" else ""
    if measure in ("gmr", "iemr") and row["category"]:
        measure, level = f"{measure}_of", row["category"]
    return prompt, measure, "other" if contextual and level == "unknown" else level or ""
