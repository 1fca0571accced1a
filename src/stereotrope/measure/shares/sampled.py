"""The pictures of which an annotator said something, and people of some of them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cell_reading import read_cell_table
from stereotrope.measure.cell_table import CellTable
from stereotrope.measure.cells import MUCH_MISSING, NOT_IN_OF, Key, as_names
from stereotrope.measure.join import NOT_LABELLED
from stereotrope.measure.named import Named, named_values
from stereotrope.measure.seeds import across_units
from stereotrope.measure.sentences import quoted
from stereotrope.measure.shares.pairs import no_common_value, other_look
from stereotrope.measure.tidy import as_text, pooled_factors, read_labels, reason_given, to_polars
from stereotrope.measure.units import Claim, prompt_codes
from stereotrope.stats import (
    Across,
    PoweredShare,
    cluster_permutation_test,
    greatest_shift,
    prediction_powered_share,
    stratified_shift_p,
    wilson,
)
from stereotrope.stats.arrays import Floats

_UNLIKE = 0.01
"""p below which the pictures that people labelled are no random part of all."""
_WHOLE = 0.9
"""Part of the pictures of their prompts that people labelled from which on they took prompts whole."""
_MOST_VALUES = 20
"""Values, the most frequent, that are compared."""
_NOT_SAID = "reference: "
"""Before the reason for which people's label does not count."""
_SET = "images"
"""Column of labels that says of which set of images an answer is."""
_OF = "of "
"""Before the name of a factor that is pooled, which may be called as another column is."""


class _Taken:
    """Pictures that people took from all, by units: pictures, or what was taken whole."""

    def __init__(self, people: NDArray[np.bool_], units: NDArray[Any]) -> None:
        self.people, self.units = people, units
        self.one_by_one = len(np.unique(units)) == len(units)

    def unlike(self, name: str, levels: pl.Series) -> str:
        """Of which level of a factor people took more pictures than of which other, if beyond chance."""
        names, codes = np.unique(levels.to_numpy(), return_inverse=True)
        if not 1 < len(names) <= len(codes) / 2:
            return ""
        units, unit = np.unique(np.stack([self.units, codes]), axis=1, return_inverse=True)
        k, n = (np.bincount(of.ravel(), self.people) / np.bincount(of.ravel()) for of in (unit, codes))
        if not _shift_p(units[1].astype(int), k > 0.5) < _UNLIKE:
            return ""
        size = np.bincount(codes)
        least, most = (
            f"{n[at] * size[at]:.0f} of {size[at]} pictures with {name} {quoted(str(names[at]))}"
            for at in (np.argmin(n), np.argmax(n))
        )
        return f"people labelled {least}, but {most}"

    def said_otherwise(self, values: pl.Series, strata: NDArray[np.int64], others: str = "others") -> str:
        """Which value the annotator said otherwise of these pictures than of the rest, if beyond chance."""
        names, codes = np.unique(values.to_numpy(), return_inverse=True)
        k, n = (np.bincount(codes[of], minlength=len(names)) for of in (self.people, ~self.people))
        # Rare values say little and would only have the others prove more.
        most = np.argsort(-(k + n), kind="stable")[:_MOST_VALUES]
        by = strata if self.one_by_one else self.units
        unit = np.unique(by, return_inverse=True)[1]
        total, taken = np.bincount(unit), np.bincount(unit, self.people)
        hits, shown = (
            np.stack([np.bincount(unit, (codes == at) & of, len(total)) for at in most])
            for of in (np.ones_like(self.people), self.people)
        )
        if len(total) == 1:
            p = _shift_p(codes, self.people)
        else:
            if self.one_by_one:
                each = stratified_shift_p(shown.T, taken, hits.T, total)
            else:
                sizes, whole = np.broadcast_to(total, hits.shape), 2 * taken > total
                one, other = ([of[:, these] for of in (hits, sizes)] for these in (whole, ~whole))
                each = cluster_permutation_test(*one, *other)[0]
            p = float(each.min()) * max(1, len(each) - (len(each) == 2))
        if not p < _UNLIKE:
            return ""
        at = np.argmax(np.abs(k / k.sum() - n / n.sum()))
        named = f"{quoted(str(names[at]))} of {k[at]} of the {k.sum()} pictures that people labelled"
        return f"the annotator said {named} and of {n[at]} of the {n.sum()} {others}"


def _taken_whole(prompts: NDArray[np.int64], people: NDArray[np.bool_]) -> bool:
    """Whether people labelled nearly all pictures of the prompts of which they labelled any."""
    there = np.isin(prompts, prompts[people])
    return bool(people.sum() >= _WHOLE * there.sum() and not there.all())


def _shift_p(codes: NDArray[Any], taken: NDArray[np.bool_]) -> float:
    """p that those taken show levels as the others do."""
    sides = (np.bincount(codes[these], minlength=codes.max() + 1) for these in (taken, ~taken))
    return float(greatest_shift(*([side] for side in sides))[0][0])


@dataclass(frozen=True)
class SampledCell:
    """The pictures of an attribute in a combination of factor levels: what both said, null where none did.

    pictures: ``value, reference_value, prompt_id``, of those that count, and the factors that are pooled.
    unsure: Pictures that people looked at and could not say, with what the annotator said.
    n_unlabelled: Pictures that the annotator could not say.
    excluded: Why others do not count.
    trouble: Why a named value cannot be counted.
    people, correct: The labels of people in all cells, and whether the annotator's are the same.
    place: Which of these cells this is; None where people gave no label.
    pooled: Factors whose levels are together in it.
    """

    key: Key
    attribute: str
    pictures: pl.DataFrame
    unsure: pl.DataFrame
    n_unlabelled: int
    excluded: dict[str, int]
    people: CellTable
    correct: CellTable
    place: int | None
    trouble: str | None = None
    pooled: Sequence[str] = ()

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

    def unlike(self, claim: Claim) -> str:
        """What says that the pictures that people labelled are no random part; empty where nothing does.

        Pictures are exchanged, or what people took whole: answers about a set of images, and prompts where
        these are the units. What the annotator said is compared within prompts where pictures of these were
        taken one by one.
        """
        people = self.by_people
        if not people.any():
            return ""
        if people.all():
            return self._chosen_by_people(claim)
        prompts = prompt_codes(self.pictures)
        taken = _Taken(people, np.arange(len(people)))
        if claim.clustered and _taken_whole(prompts, people):
            taken = _Taken(people, prompts)
        elif _OF + _SET in self.pictures.columns:
            taken = _Taken(people, self.pictures[_OF + _SET].rank("dense").to_numpy())
        told = [taken.unlike(name, self.pictures[_OF + name].fill_null("")) for name in self.pooled]
        n_prompts, some = len(np.unique(prompts)), len(self.sampled)
        if some < n_prompts and taken.unlike("prompt", pl.Series(prompts)):
            told.append(f"people labelled pictures of {some} of {n_prompts} prompts")
        strata = prompts if claim.clustered and taken.one_by_one else np.zeros(len(people), int)
        told += [taken.said_otherwise(self.pictures["value"], strata), self._chosen_by_people(claim)]
        return "; ".join(filter(None, told))

    def _chosen_by_people(self, claim: Claim) -> str:
        """What says that pictures of which people could not say are unlike those of which they could."""
        columns = ["value", "prompt_id", *({_OF + _SET} & set(self.pictures.columns))]
        seen = pl.concat([self.pictures.filter(self.by_people).select(columns), self.unsure.select(columns)])
        sure = np.arange(seen.height) < self.n_labelled
        if sure.all():
            return ""
        units = seen[_OF + _SET].rank("dense").to_numpy() if len(columns) > 2 else np.arange(len(sure))
        strata = prompt_codes(seen) if claim.clustered else np.zeros(len(sure), int)
        return _Taken(sure, units).said_otherwise(seen["value"], strata, "of which they could not say")

    def bounds(self, value: Floats) -> tuple[Floats, Floats] | None:
        """Between what shares may be with pictures of which one of both could not say; None where few are."""
        asked, seen = self.pictures.height + self.unsure.height, self.n_labelled + self.unsure.height
        lacking = 1 - asked / (asked + self.n_unlabelled) * self.n_labelled / seen
        return (value * (1 - lacking), value * (1 - lacking) + lacking) if lacking > MUCH_MISSING else None

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
            icc=None if self.place is None else self.people.weights[self.place],
            icc_errors=None if self.place is None else self.correct.weights[self.place],
            across=self._seeds(claim, true),
            level=level,
        )

    @property
    def stands_alone(self) -> bool:
        """Whether the share of people's labels has the interval of their likelihood."""
        return self.place is not None and bool(self.people.alone[self.place])

    def interval(
        self, categories: Sequence[str], shares: PoweredShare, level: float
    ) -> tuple[Floats, Floats]:
        """Both ends of :meth:`powered` shares: Wilson's.

        Of a cell that :attr:`stands_alone` each end lies as much nearer or further than Wilson's as that of
        the likelihood of people's labels does.
        """
        low, high = wilson(shares.value * shares.n_effective, shares.n_effective, level=level)
        if not self.stands_alone:
            return low, high
        cell = pl.Series([self.place] * len(categories))
        n, k = self.n_labelled, self.people.count(cell, pl.Series(categories)).to_numpy()
        told = self.people.intervals_alone(cell, pl.Series(categories), np.full(len(k), level))
        trials = float(self.people.trials(level)[self.place])
        usual = np.stack(wilson(k / n * trials, trials, level=level))
        reach, own = np.abs(usual - k / n), np.abs(told - k / n)
        scale = np.divide(own, reach, out=np.ones_like(own), where=reach > 0)
        ends = shares.value + scale * (np.stack([low, high]) - shares.value)
        return tuple(np.clip(ends, 0.0, 1.0))

    def across(self, claim: Claim) -> Across | None:
        """Prompts and the seeds that they share; None where they share none."""
        return across_units(self.pictures, claim, prompt_codes(self.pictures))[1]

    def _seeds(self, claim: Claim, true: NDArray[np.float64]) -> list[Any] | None:
        """Pictures of each seed, and what those that people labelled say of how alike these are."""
        across, people = self.across(claim), self.by_people
        if across is None:
            return None
        each = [np.bincount(across.group, of) for of in (people, ~people)]
        if self.people.seed_weights is not None and self.place is not None:
            return [*each, np.tile(self.people.seed_weights[self.place], (true.shape[1], 1))]
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
    pooled = [name for name in pooled_factors(labels, by) if name != _SET]
    said = read_labels(labels, factors=by, attributes=names or None, argument=argument, seeds=True)
    kept = labels.filter(pl.col("attribute").cast(pl.String).is_in(list(names))) if names else labels
    carried = [*pooled, *([_SET] if _SET in labels.columns else [])]
    said = said.hstack(kept.select(as_text(kept, name).alias(_OF + name) for name in carried))
    said = said.join(people.select("attribute").unique(), on="attribute", how="semi", maintain_order="left")
    said = said.join(people, on=["image_id", "attribute"], how="left", maintain_order="left")
    judged = pl.col("reference_excluded").replace({"": None, NOT_LABELLED: None})
    reasons = [pl.format("label: {}", "excluded"), pl.format(_NOT_SAID + "{}", judged)]
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
    tables, place = _tables_of_people(usable, by, argument)
    for key, part in said.group_by(["attribute", *by], maintain_order=True):
        counted = part.filter(pl.col("reason").is_null())
        excluded = dict(part["reason"].drop_nulls().value_counts(sort=True).iter_rows())
        unsure = pl.col("excluded").is_null() & pl.col("reason").str.starts_with(_NOT_SAID)
        cell = SampledCell(
            key[1:],
            str(key[0]),
            counted,
            part.filter(unsure),
            part["excluded"].count(),
            excluded,
            *tables,
            place.get(key),
            meant.why_not(str(key[0]), {}) or strangers.get(key[0]),
            pooled,
        )
        yield cell, meant.wanted or totals.filter(attribute=key[0])["value"].to_list()


def _tables_of_people(
    usable: pl.DataFrame, by: Sequence[str], argument: str
) -> tuple[tuple[CellTable, CellTable], dict[tuple[Any, ...], int]]:
    """What people said of all cells, whether the annotator said so too, and which cell is of which levels."""
    known = usable.drop_nulls("reference_value")
    given = ["image_id", "attribute", *by, "reference_value", "value"]
    known = known.select(*given, pl.col("^(prompt_id|seed)$"))
    names = known["attribute"].unique().to_list()
    people, correct = (
        read_cell_table(known.with_columns(value=of), by=by, attributes=names, argument=argument)
        for of in (pl.col("reference_value"), (pl.col("value") == pl.col("reference_value")).cast(pl.String))
    )
    keys = people.cells.select("attribute").hstack(people.levels.select(by))
    return (people, correct), {key: at for at, key in enumerate(keys.rows()) if people.cells["n"][at]}


def _strangers(usable: pl.DataFrame) -> dict[Any, str]:
    """Attributes of which people and the annotator have no value in common, in ten labels or more."""
    found = {}
    for (attribute,), part in usable.group_by(["attribute"], maintain_order=True):
        who = "people", "the annotator"
        if why := no_common_value(part["reference_value"], part["value"], who):
            found[attribute] = why
    return found
