"""The pictures of which an annotator said something, and people of some of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import NOT_IN_OF, SMALL_N, Key, as_names
from stereotrope.measure.join import NOT_LABELLED
from stereotrope.measure.named import Named, named_values
from stereotrope.measure.seeds import across_units
from stereotrope.measure.shares.pairs import other_look
from stereotrope.measure.tidy import as_text, read_labels, reason_given, to_polars
from stereotrope.measure.units import Claim, prompt_codes
from stereotrope.stats import Across, PoweredShare, greatest_shift, prediction_powered_share

_UNLIKE = 0.01
"""p below which the pictures that people labelled are no random part of all."""


@dataclass(frozen=True)
class SampledCell:
    """The pictures of an attribute in a combination of factor levels: what both said, null where none did.

    pictures: ``value, reference_value, prompt_id``, of those that count.
    excluded: Why others do not count.
    trouble: Why a named value cannot be counted.
    """

    key: Key
    attribute: str
    pictures: pl.DataFrame
    excluded: dict[str, int]
    trouble: str | None = None

    @cached_property
    def by_people(self) -> NDArray[np.bool_]:
        """Which pictures people labelled."""
        return self.pictures["reference_value"].is_not_null().to_numpy()

    @cached_property
    def sampled(self) -> dict[Any, int]:
        """Prompt → pictures that people labelled."""
        labelled = self.pictures.filter(pl.col("reference_value").is_not_null())["prompt_id"]
        return dict(labelled.value_counts().iter_rows())

    @property
    def n_labelled(self) -> int:
        """How many these are."""
        return int(self.by_people.sum())

    @cached_property
    def sample_is_unlike(self) -> bool:
        """Whether the annotator said other values of the pictures that people labelled than of the rest."""
        values = self.pictures["value"].drop_nulls().unique().sort().to_list()
        said = self.pictures["value"].to_numpy()
        counts = [
            [int(((said == v) & side).sum()) for v in values] for side in (self.by_people, ~self.by_people)
        ]
        p = greatest_shift(counts[0], counts[1])[0] if values else np.array([np.nan])
        return bool(p[0] < _UNLIKE)

    def powered(self, categories: Sequence[str], claim: Claim, level: float) -> PoweredShare:
        """The shares of values, shape ``(K,)``."""
        said, true = (
            (self.pictures[name].to_numpy()[:, None] == np.array(categories, object)).astype(float)
            for name in ("value", "reference_value")
        )
        codes = prompt_codes(self.pictures) if claim.prompts else np.zeros(len(said), int)
        units, unit = np.unique(codes, return_inverse=True)

        def told(these: NDArray[np.bool_], of: NDArray[np.float64]) -> NDArray[np.float64]:
            each = [np.bincount(unit[these], column, len(units)) for column in of[these].T]
            return np.stack(each, axis=-1)

        people = self.by_people
        both = [[told(people, (y - true) ** 2 * (f - said) ** 2) for f in (1, 0)] for y in (1, 0)]
        machine = np.stack([told(~people, 1 - said), told(~people, said)], axis=-1)
        table = np.moveaxis(np.array(both), (0, 1), (-2, -1))
        return prediction_powered_share(
            table.swapaxes(0, 1),
            machine.swapaxes(0, 1),
            clustered=claim.prompts,
            across=self._seeds(claim, true),
            level=level,
        )

    def across(self, claim: Claim) -> Across | None:
        """Prompts and the seeds that they share; None where they share none."""
        return across_units(self.pictures, claim, prompt_codes(self.pictures))[1]

    def _seeds(self, claim: Claim, true: NDArray[np.float64]) -> list[Any] | None:
        """Pictures of each seed, and what those that people labelled say of how alike these are."""
        across, people = self.across(claim), self.by_people
        if across is None:
            return None
        each = [np.bincount(across.group, of) for of in (people, ~people)]
        sampled = across.among(people)
        return [*each, np.stack([sampled.crossed(of).weights for of in true[people].T])]


def _written_alike(
    labels: Any, reference: Any, names: Sequence[str] | None, value: Any, of: Sequence[str] | None
) -> tuple[pl.DataFrame, pl.DataFrame, Named]:
    """Both with named values written in one way, however the annotator and people write them."""
    frames = {"(labels)": to_polars(labels), "(reference)": to_polars(reference)}
    needs = ("image_id", "attribute", "value")
    slim = []
    for side, frame in frames.items():
        given = to_polars(frame, what=side.strip("()"), needs=needs)
        columns = [pl.col("attribute").cast(pl.String), as_text(given, "value"), reason_given(given)]
        slim.append(given.select(*columns[:2], columns[2].alias("excluded"), annotator=pl.lit(side)))
    meant = named_values(pl.concat(slim), names, value, of)
    written = [meant.labels.filter(annotator=side)["value"] for side in frames]
    both = [frame.with_columns(value=own) for frame, own in zip(frames.values(), written, strict=True)]
    return both[0], both[1], meant


def sampled_cells(
    labels: Any,
    reference: Any,
    attribute: str | Sequence[str] | None,
    value: str | Sequence[str] | None,
    of: Sequence[str] | None,
    by: Sequence[str],
    argument: str = "by",
) -> Iterator[tuple[SampledCell, Sequence[str]]]:
    """Each cell with the values to count: those named, else all that either side shows of the attribute."""
    names = as_names(attribute, what="attribute")
    if of is not None and (outside := [v for v in as_names(value, what="value") if v not in of]):
        raise UsageError(f"ppi_share: value {outside[0]!r} is not in of={list(of)}; add it to of")
    labels, reference, meant = _written_alike(labels, reference, names or None, value, of)
    allowed = meant.allowed
    people = other_look(reference, "reference")
    said = read_labels(labels, factors=by, attributes=names or None, argument=argument, seeds=True)
    said = said.join(people.select("attribute").unique(), on="attribute", how="semi", maintain_order="left")
    said = said.join(people, on=["image_id", "attribute"], how="left", maintain_order="left")
    judged = pl.col("reference_excluded").replace({"": None, NOT_LABELLED: None})
    reasons = [pl.format("label: {}", "excluded"), pl.format("reference: {}", judged)]
    if allowed is not None:
        for column in ("value", "reference_value"):
            counts = pl.col("excluded" if column == "value" else "reference_excluded").fill_null("") == ""
            strange = counts & ~pl.col(column).is_in(list(allowed))
            reasons.append(pl.when(strange).then(pl.concat_str(pl.lit(NOT_IN_OF), column)))
    said = said.with_columns(
        reason=pl.coalesce(reasons),
        reference_value=pl.when(pl.col("reference_excluded") == "").then("reference_value"),
    )
    usable = said.filter(pl.col("reason").is_null())
    seen = pl.concat([usable.select("attribute", value=name) for name in ("value", "reference_value")])
    totals = (
        seen.drop_nulls().group_by("attribute", "value").len().sort("len", "value", descending=[True, False])
    )
    strangers = _strangers(usable)
    for key, part in said.group_by(["attribute", *by], maintain_order=True):
        counted = part.filter(pl.col("reason").is_null())
        excluded = dict(part["reason"].drop_nulls().value_counts(sort=True).iter_rows())
        cell = SampledCell(
            key[1:], str(key[0]), counted, excluded, meant.why_not(str(key[0]), {}) or strangers.get(key[0])
        )
        yield cell, meant.wanted or totals.filter(attribute=key[0])["value"].to_list()


def _strangers(usable: pl.DataFrame) -> dict[Any, str]:
    """Attributes of which people and the annotator have no value in common, in ten labels or more."""
    found = {}
    for (attribute,), part in usable.group_by(["attribute"], maintain_order=True):
        said, true = (sorted(set(part[name].drop_nulls())) for name in ("value", "reference_value"))
        if part["reference_value"].count() >= SMALL_N and not set(said) & set(true):
            shown = f"people {', '.join(true[:3])}, the annotator {', '.join(said[:3])}"
            do = "write both alike, for example by `mapping`"
            found[attribute] = f"people and the annotator have no value in common ({shown}); {do}"
    return found
