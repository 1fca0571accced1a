"""Labels as coded images in scopes: one scope for each combination of levels that a score is given for."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.measure.cells import Key, reference_of
from stereotrope.measure.divergence.value_lists import ValueLists
from stereotrope.measure.seeds import share_seeds
from stereotrope.measure.tidy import read_labels
from stereotrope.measure.units import FEWEST_PROMPTS, SEED_COLUMN, seeds_shared
from stereotrope.stats import Across, icc_evidence, icc_priors, joint_evidence
from stereotrope.stats.arrays import Floats
from stereotrope.tables import QUALITY_ATTRIBUTES

UNLABELLED = "unlabelled"
"""Reason of an image that has no label at all of an attribute that others of its scope have."""

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


@dataclass(frozen=True)
class CodedScope:
    """One combination of levels, with the images of each group in it.

    groups: group → rows of :class:`CodedLabels`, in the order of the image ids.
    attributes: Attributes that any image of the scope has a label of, usable or not.
    """

    levels: Key
    groups: Mapping[str, Ints]
    attributes: Ints


@dataclass(frozen=True)
class CodedLabels:
    """A tidy frame of labels, one row an image, sorted by image id.

    attributes, values: Names of the attributes, and for each its usable values, sorted.
    reasons: Why labels were left out, sorted.
    factors, group: The scoping factors, and the factor whose levels are compared.
    images: ``image_id``, factors and group of each row.
    codes: Shape (n_images, n_attributes): index into ``values``, −1 where there is no usable label.
    why: Same shape: index into ``reasons``, −1 where the label counts or there is none.
    prompts, seeds: Shape (n_images,): code of the image's prompt and of its seed, −1 where it is not known;
        seeds are known where prompts of a condition share some.
    """

    attributes: tuple[str, ...]
    values: tuple[tuple[str, ...], ...]
    reasons: tuple[str, ...]
    factors: tuple[str, ...]
    group: str
    images: pl.DataFrame
    codes: Codes
    why: Codes
    prompts: Codes
    seeds: Codes

    def scopes(self, *, baseline: str | None = None) -> Iterator[CodedScope]:
        """Scopes in the order of their levels.

        With a baseline, its images are those of the same levels, or else those whose factors are null
        where the scope has a level: a baseline has no phrasing. A group without an image in a scope
        appears there, empty, when each level of the scope occurs with the group elsewhere: a missing
        combination is said, not skipped.
        """
        keyed = self.images.with_row_index("_row").filter(pl.col(self.group).is_not_null())
        keyed = keyed.group_by([*self.factors, self.group], maintain_order=True).agg("_row")
        members: dict[Key, dict[str, Ints]] = {}
        together: set[tuple[int, str | None, str]] = set()
        for *key, name, rows in keyed.iter_rows():
            members.setdefault(tuple(key), {})[name] = np.asarray(rows, dtype=np.int64)
            together.update((place, level, name) for place, level in enumerate(key))
        references = {key: groups[baseline] for key, groups in members.items() if baseline in groups}
        names = sorted({name for groups in members.values() for name in groups} - {baseline})
        none = np.zeros(0, dtype=np.int64)
        for levels in sorted(members, key=lambda key: [(level is not None, level or "") for level in key]):
            if not set(members[levels]) - {baseline}:
                continue
            expected = [
                g for g in names if all((at, level, g) in together for at, level in enumerate(levels))
            ]
            groups = {name: members[levels].get(name, none) for name in expected}
            if baseline is not None:
                found = reference_of(levels, references)
                groups[baseline] = none if found is None else found
            images = np.concatenate(list(groups.values()))
            seen = ((self.codes[images] >= 0) | (self.why[images] >= 0)).any(axis=0)
            yield CodedScope(levels, groups, np.flatnonzero(seen))

    def labelled(self, rows: Ints, columns: Ints) -> NDArray[np.bool_]:
        """Whether these images have a usable label of these attributes, shape (n_rows, n_columns)."""
        return np.asarray(self.codes[np.ix_(rows, columns)] >= 0)

    @cached_property
    def _conditions(self) -> tuple[Ints, Ints]:
        """The condition of each image, and of each factor and the group the level of each condition."""
        levels = [*self.factors, self.group]
        numbered = self.images.select(pl.col(levels).rank("dense").fill_null(0).cast(pl.Int64))
        condition = numbered.select(pl.struct(levels).rank("dense") - 1).to_series().cast(pl.Int64)
        each = numbered.with_columns(condition=condition).unique("condition").sort("condition")
        return condition.to_numpy(), each.select(levels).to_numpy().T

    @cached_property
    def _icc_priors(self) -> Floats:
        """Of each condition and attribute, shape (n_conditions, n_attributes, 16)."""
        condition, levels = self._conditions
        # What several annotators say of the same pictures is not known several times.
        apart = "annotator" in self.factors
        kin = levels[self.factors.index("annotator")] if apart else np.zeros(levels.shape[1], np.int64)
        found = np.tile(icc_priors([]), (levels.shape[1], len(self.attributes), 1))
        for at, value in enumerate(self.codes.T):
            some, told = _icc_evidence(condition, self.prompts, value)
            for one in np.unique(kin[some]):
                here = kin[some] == one
                found[some[here], at] = icc_priors(told[here], levels[:, some[here]])
        return found

    def icc_priors(self, rows: Ints, columns: Ints) -> Floats:
        """How probable each intra-class correlation is of some attributes, by what other conditions say.

        rows: Images of a condition.
        columns: The attributes.
        Returns: Shape (n_columns, 16).
        """
        return np.asarray(self._icc_priors[self._conditions[0][rows[0]], columns])

    def annotator(self, rows: Ints) -> str | None:
        """Who labelled some images, where annotators are told apart."""
        named = "annotator" in self.factors and len(rows) > 0
        return self.images["annotator"][int(rows[0])] if named else None

    def across(self, rows: Ints, used: NDArray[np.bool_]) -> Across | None:
        """Prompts and seeds of those of the images that are used, where these prompts share seeds."""
        across = Across(*(of[rows][used].astype(np.int64) for of in (self.prompts, self.seeds)))
        if not used.any() or min(of.min() for of in across) < 0 or not share_seeds(*across):
            return None
        return across

    def excluded(self, rows: Ints, columns: Ints) -> Counter[str]:
        """Labels of these images and attributes that do not count, by reason."""
        why = self.why[np.ix_(rows, columns)]
        left, counts = np.unique(why[~self.labelled(rows, columns)], return_counts=True)
        names = (self.reasons[at] if at >= 0 else UNLABELLED for at in left.tolist())
        found: Counter[str] = Counter()
        for name, n in zip(names, counts.tolist(), strict=True):
            found[name] += n
        return found


def _icc_evidence(condition: Ints, prompt: Codes, value: Codes) -> tuple[Ints, Floats]:
    """Conditions of several prompts, and what their values together say of the intra-class correlation."""
    usable = (value >= 0) & (prompt >= 0)
    images = pl.DataFrame([of[usable] for of in (condition, prompt, value)], ["condition", "prompt", "value"])
    units = images.group_by("condition", "prompt").agg(n=pl.len())
    # Prompts of one picture each say nothing.
    several = (pl.len() >= FEWEST_PROMPTS) & (pl.col("n").max() > 1)
    units = units.filter(several.over("condition"))
    shown = images.select("condition", "value").unique().join(units, on="condition")
    keys = ["condition", "value", "prompt"]
    counts = shown.join(images.group_by(keys).agg(k=pl.len()), on=keys, how="left").sort(keys)
    each = counts.group_by("condition", "value", maintain_order=True).agg(pl.len())
    m = each["len"].to_numpy().astype(np.int64)
    some, owner = np.unique(each["condition"], return_inverse=True)
    told = icc_evidence(counts["k"].fill_null(0), counts["n"], np.cumsum(m) - m)
    return some, joint_evidence(told, owner, len(some))


def code_labels(
    labels: Any,
    *,
    factors: Sequence[str],
    group: str,
    attributes: Collection[str] | None = None,
    lists: ValueLists | None = None,
) -> CodedLabels:
    """Read a tidy frame of labels into codes.

    labels: As in :func:`stereotrope.measure.tidy.read_labels`. A column ``prompt_id`` says which images
        share a prompt.
    factors, group: Factors that scope a score, and the factor whose levels are compared.
    attributes: Attributes to keep; all but those of a picture's quality when None.
    lists: Value lists of closed attributes: a value outside its list is left out as ``invalid``.
    """
    tidy = read_labels(
        labels, factors=[*factors, group], attributes=attributes, argument="within", seeds=True
    )
    if attributes is None:
        tidy = tidy.filter(~pl.col("attribute").is_in(QUALITY_ATTRIBUTES))
    if lists is not None and lists.lists:
        invalid = pl.col("excluded").is_null() & lists.outside(tidy)
        tidy = tidy.with_columns(excluded=pl.when(invalid).then(pl.lit("invalid")).otherwise("excluded"))
    identity = ["image_id", *factors, group]
    shared = [SEED_COLUMN] if seeds_shared(tidy, [*factors, group]) else []
    ranks = {f"_{of}": pl.col(of).rank("dense").cast(pl.Int32) - 1 for of in ("prompt_id", *shared)}
    tidy = tidy.with_columns(**ranks)
    parts = tidy.partition_by("attribute", as_dict=True, maintain_order=True)
    names = tuple(sorted(name for (name,) in parts))
    reasons = tuple(sorted(tidy["excluded"].drop_nulls().unique().to_list()))
    images, rows = _images([parts[name,].select(identity) for name in names], tidy.select(identity))
    codes = np.full((images.height, len(names)), -1, dtype=np.int32)
    why = np.full_like(codes, -1)
    prompts, seeds = (np.full(images.height, -1, dtype=np.int32) for _ in range(2))
    values: list[tuple[str, ...]] = []
    for column, (name, row) in enumerate(zip(names, rows, strict=True)):
        mine = parts[name,]
        usable = mine["excluded"].is_null()
        counts, out = mine["value"].filter(usable), mine["excluded"].filter(~usable)
        found = tuple(counts.unique().sort().to_list())
        codes[row[usable.to_numpy()], column] = _codes(counts, found)
        why[row[~usable.to_numpy()], column] = _codes(out, reasons)
        values.append(found)
        for one, of in zip(ranks, (prompts, seeds), strict=False):
            given = mine[one].is_not_null().to_numpy()
            of[row[given]] = mine[one].drop_nulls().to_numpy()
    return CodedLabels(
        names, tuple(values), reasons, tuple(factors), group, images, codes, why, prompts, seeds
    )


def _images(parts: Sequence[pl.DataFrame], every: pl.DataFrame) -> tuple[pl.DataFrame, list[Ints]]:
    """Images of labels, sorted, and the row of each label's image by attribute.

    parts: What tells images apart, by attribute; an image has one label of each at most.
    every: The same of all labels.
    """
    if parts and all(part.equals(parts[0]) for part in parts[1:]):
        # Every attribute has the same images in the same order: no label has to be looked up.
        order = parts[0].with_row_index("_row").sort(every.columns)
        row = np.empty(order.height, np.int64)
        row[order["_row"].to_numpy()] = np.arange(order.height)
        return order.drop("_row"), [row] * len(parts)
    images = every.unique().sort(every.columns)
    numbered = images.with_row_index("_row")
    how: dict[str, Any] = {"on": every.columns, "how": "left", "nulls_equal": True, "maintain_order": "left"}
    return images, [part.join(numbered, **how)["_row"].to_numpy().astype(np.int64) for part in parts]


def _codes(series: pl.Series, values: Sequence[str]) -> Codes:
    return series.cast(pl.Enum(values)).to_physical().cast(pl.Int32).to_numpy()
