"""Names, levels and values of a run that read alike and count apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.confusables import lookalikes
from stereotrope.tables import CONSTRAINTS, N_SUBJECTS, NOT_VALUES, QUALITY_ATTRIBUTES, factors_of, number_in

MOST_SETS = 20
"""Sets that notes tell; ``run.json`` has more."""
_NO_VALUES = [name for name in QUALITY_ATTRIBUTES if name not in CONSTRAINTS]
_WORDS = {"levels": "levels of {name!r}", "values": "values of {name!r}", "texts": "texts of prompts"}


def lookalikes_in(
    prompts: pl.DataFrame,
    images: pl.DataFrame,
    labels: pl.DataFrame,
    listed: Mapping[str, Sequence[str]] | None = None,
) -> list[dict[str, Any]]:
    """Return the sets of writings that read alike: what they are, each with its count and how it differs.

    Values are compared as they are counted, after folding, attribute by attribute across annotators, also
    with those that are ``listed`` for the attribute and with the words of a status, such as ``unclear``.
    Texts of prompts are compared where no level explains why they read alike.
    """
    found: list[dict[str, Any]] = []
    for kind, name, counts in _writings(prompts, images, labels):
        if kind == "texts" and any(one["kind"] == "levels" for one in found):
            continue
        meant = (*(listed or {}).get(name or "", ()), *NOT_VALUES) if kind == "values" else ()
        for one in lookalikes({**dict.fromkeys(meant, 0), **counts}):
            if not any(n for text, n in one.written):
                continue
            written = [
                {"written": text, "n": n, **({"differs": how} if how else {})}
                for (text, n), how in zip(one.written, one.differs, strict=True)
            ]
            sentence = one.sentence(_WORDS.get(kind, kind).format(name=name))
            found.append({"kind": kind, "name": name, "written": written, "sentence": sentence})
    return found


def lookalike_notes(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence a set, of many the first and how many more there are."""
    left = len(found) - MOST_SETS
    more = f"{left:,} more sets of writings that read alike stand in run.json under `lookalikes`"
    return [*(str(one["sentence"]) for one in found[:MOST_SETS]), *[more] * (left > 0)]


def _writings(
    prompts: pl.DataFrame, images: pl.DataFrame, labels: pl.DataFrame
) -> Iterator[tuple[str, str | None, Mapping[str, int]]]:
    """What is written, its kind and what it is of: writing → how many pictures or labels have it."""
    factors = factors_of(prompts.columns)
    pictures = _numbers(images, "prompt_id", "generator").join(
        prompts.select("prompt_id", "text", *(f for f in factors if f != "generator")),
        on="prompt_id",
        how="left",
    )
    said = _numbers(labels, "annotator", "attribute", "value")
    yield "generators", None, _counts(pictures, "generator")
    yield "annotators", None, _counts(said, "annotator")
    yield "factors", None, dict.fromkeys(factors, number_in(pictures))
    yield "attributes", None, _counts(said, "attribute")
    for factor in factors:
        yield "levels", factor, _counts(pictures, factor)
    values = said.filter(~pl.col("attribute").is_in(_NO_VALUES), pl.col("value").is_not_null())
    for (attribute,), part in values.group_by("attribute", maintain_order=True):
        yield "values", str(attribute), _counts(part, "value")
    yield "texts", None, _counts(pictures, "text")


def _numbers(frame: pl.DataFrame, *names: str) -> pl.DataFrame:
    """How many rows, or subjects of counted ones, are alike in these columns."""
    number = pl.col(N_SUBJECTS).sum() if N_SUBJECTS in frame.columns else pl.len()
    return frame.group_by(names, maintain_order=True).agg(number.alias(N_SUBJECTS))


def _counts(frame: pl.DataFrame, name: str) -> dict[str, int]:
    written = frame.drop_nulls(name).group_by(pl.col(name).cast(pl.String)).agg(pl.col(N_SUBJECTS).sum())
    return dict(written.sort(name).iter_rows())
