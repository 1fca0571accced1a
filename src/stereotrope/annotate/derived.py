"""Labels that follow from those of other annotators: their majority, and other names for their values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes, image_labels, labels_frame
from stereotrope.annotate.registry import annotator
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.folding import fold
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text, Texts, shorten
from stereotrope.tables import NOT_VALUES, fingerprint_of

_TIE = "tie"


class DerivedAnnotator(Annotator):
    """Says of every image what follows from the labels of others; nothing is looked at or paid for.

    name: In the ``annotator`` column.
    of: Names of the annotators whose labels it reads.
    attributes: What it labels.
    parameters: Everything else that can change what it says.
    """

    version = 1
    fewest = 1
    """Annotators that must label an attribute."""

    def __init__(
        self, name: str, of: Sequence[str], attributes: Sequence[str], parameters: Mapping[str, Any]
    ) -> None:
        if name in of:
            raise UsageError(
                f"annotator {name!r}: must have a name of its own, and reads {name!r}; rename it"
            )
        self.name: str = name
        self.reads = tuple(of)
        self.attributes: Attributes = dict.fromkeys(attributes)
        self.fingerprint: str = fingerprint_of(
            type(self).__name__, self.version, {"of": list(of), "attributes": list(attributes), **parameters}
        )
        self.notes: list[str] = []

    def require_of(self, sources: Sequence[Annotator]) -> None:
        """Refuse an attribute that too few of them label; what is discovered is known only in the run."""
        if any(one.discovers for one in sources):
            return
        for attribute in self.attributes:
            n = sum(attribute in one.attributes for one in sources)
            if n < self.fewest:
                labelled = list(dict.fromkeys(name for one in sources for name in one.attributes))
                hint = did_you_mean(attribute, labelled, otherwise=f"labelled are {', '.join(labelled)}")
                raise UsageError(
                    f"annotator {self.name!r}: {attribute!r} must be labelled by at least {self.fewest} of "
                    f"{', '.join(self.reads)}, found {n}; {hint}"
                )

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return its labels, images in their order."""
        own = pl.col("annotator").is_in(self.reads) & pl.col("attribute").is_in(list(self.attributes))
        read = labels.filter(own, subject_kind="image")
        self.notes = [
            f"{self.name}: no label of {attribute!r} by {rater!r}"
            for attribute in self.attributes
            for rater in self.reads
            if read.filter(annotator=rater, attribute=attribute).is_empty()
        ]
        order = images.select(subject_id="image_id")
        shown = order.join(read, on="subject_id", how="inner", maintain_order="left_right")
        return image_labels(self.follow(shown), annotator=self.name, derived_from=", ".join(self.reads))

    def follow(self, read: pl.DataFrame) -> pl.DataFrame:
        """What follows from labels of images, with ``subject_id`` and ``attribute``."""
        raise NotImplementedError


class Majority(DerivedAnnotator):
    """The value that more annotators gave than any other.

    Values written differently count as one (:func:`stereotrope.folding.fold`), and are written as most wrote
    them. ``unclear``, ``refused`` and ``invalid`` are no votes. Where two values have as many votes the label
    is ``unclear``, for the reason *tie*; where there are fewer than ``least`` votes for it, for that reason.
    Of an image with labels and no vote it is what most of them are. ``confidence`` is the winner's share of
    the votes.

    least: Votes that the winning value needs.
    """

    fewest = 2

    def __init__(self, name: str, of: Sequence[str], attributes: Sequence[str], *, least: int = 1) -> None:
        if len(of) < self.fewest:
            raise UsageError(
                f"annotator {name!r}: majority must name two annotators or more, found "
                f"{', '.join(of)}; to read the values of one as others, write `mapping`"
            )
        if not 1 <= least <= len(of):
            raise UsageError(
                f"annotator {name!r}: least must be from 1 to the number of annotators, found {least} of "
                f"{len(of)}; correct it"
            )
        super().__init__(name, of, attributes, {"least": least})
        self.least = least

    def follow(self, read: pl.DataFrame) -> pl.DataFrame:
        """Count the votes of each image."""
        keys = ["subject_id", "attribute"]
        rows = [
            dict(zip(keys, key, strict=True)) | self._won(part["value"].to_list(), part["status"].to_list())
            for key, part in read.group_by(keys, maintain_order=True)
        ]
        return labels_frame(rows).select(*keys, "value", "status", "confidence", "rationale")

    def _won(self, values: Sequence[str | None], statuses: Sequence[str]) -> dict[str, Any]:
        given = [value for value in values if value is not None]
        votes = Counter(fold(value) for value in given).most_common()
        if not votes:
            status = Counter(statuses).most_common(1)[0][0]
            return {"status": status, "rationale": f"no vote: {_listed(Counter(statuses).most_common())}"}
        value, n = votes[0]
        if len(votes) > 1 and votes[1][1] == n:
            return {"status": "unclear", "rationale": f"{_TIE}: {_listed(votes)}"}
        if n < self.least:
            return {"status": "unclear", "rationale": f"fewer than {self.least} votes: {_listed(votes)}"}
        written = Counter(one for one in given if fold(one) == value).most_common(1)[0][0]
        return {"status": "ok", "value": written, "confidence": n / len(given), "rationale": _listed(votes)}


class Mapped(DerivedAnnotator):
    """An annotator's labels with other values: ``Pass`` read as ``unclear``, ``F`` as ``female``.

    A value is found however it is written (:func:`stereotrope.folding.fold`); what is not listed stays. One
    that is listed as ``unclear``, ``refused`` or ``invalid`` becomes that status, and one of these can be
    given a value.

    values: Attribute → value → what it is read as.
    """

    def __init__(self, name: str, of: str, values: Mapping[str, Mapping[str, str]]) -> None:
        super().__init__(name, [of], list(values), {"values": {k: dict(v) for k, v in values.items()}})
        self.values = {attribute: _by_fold(name, attribute, given) for attribute, given in values.items()}

    def require_of(self, sources: Sequence[Annotator]) -> None:
        """Refuse, beside that, a value that the annotator cannot give."""
        super().require_of(sources)
        (source,) = sources
        for attribute, given in self.values.items():
            listed = source.attributes.get(attribute)
            known = {fold(value): value for value in (*(listed or ()), *NOT_VALUES)}
            if listed and (strange := [value for value in given if value not in known]):
                there = f"there is {', '.join(listed)}"
                hint = did_you_mean(strange[0], known.values(), otherwise=there)
                raise UsageError(
                    f"annotator {self.name!r}: {source.name!r} never says {strange[0]!r} of {attribute!r}, "
                    f"which values lists; {hint}"
                )

    def follow(self, read: pl.DataFrame) -> pl.DataFrame:
        """Read each value as it is listed."""
        rows, met = [], set()
        for row in read.iter_rows(named=True):
            told = {name: row[name] for name in ("subject_id", "attribute", "confidence", "region")}
            was = row["value"] if row["status"] == "ok" else row["status"]
            key = row["attribute"], fold(was)
            if key[1] not in self.values[key[0]]:
                told |= {name: row[name] for name in ("value", "status", "rationale")}
            else:
                met.add(key)
                told |= _read_as(self.values[key[0]][key[1]], was)
            rows.append(told)
        unmet = [(a, v) for a, listed in self.values.items() for v in listed if (a, v) not in met]
        self.notes += [f"{self.name}: no label of {a!r} is {v!r}, which values lists" for a, v in unmet]
        return labels_frame(rows).drop("subject_kind", "annotator", "derived_from")


def _read_as(value: str, was: str) -> dict[str, Any]:
    if value in NOT_VALUES:
        return {"status": value, "rationale": f"reads {was!r} as {value}"}
    return {"status": "ok", "value": value, "written": was if was != value else None}


def _by_fold(name: str, attribute: str, given: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for value, other in given.items():
        if found.setdefault(fold(value), other) != other:
            raise UsageError(
                f"annotator {name!r}: values of {attribute!r} read {shorten(value)} as {shorten(other)} and "
                f"as {shorten(found[fold(value)])}; both are one value, keep one"
            )
    return found


def _listed(counts: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{value} {n}" for value, n in sorted(counts, key=lambda pair: (-pair[1], pair[0])))


class MajorityOptions(Options):
    """As of :class:`Majority`; ``majority`` lists the annotators."""

    majority: Texts
    name: Name
    attributes: Texts
    least: int = 1


class MappedOptions(Options):
    """As of :class:`Mapped`; ``mapping`` names the annotator."""

    mapping: Text
    name: Name
    values: dict[Text, dict[Text, Text]]


@annotator(
    MajorityOptions,
    summary="the value that most of some annotators gave, `unclear` where there is a tie",
    example="{majority: [rater-1, rater-2, rater-3], attributes: [gender], name: people}",
)
def majority(options: MajorityOptions, context: Context) -> Majority:
    """Count the votes of other annotators."""
    return Majority(options.name, options.majority, options.attributes, least=options.least)


@annotator(
    MappedOptions,
    summary="an annotator's labels with other values, such as `Pass` read as `unclear`",
    example="{mapping: rater-1, values: {gender: {Pass: unclear}}, name: rater-1 read}",
)
def mapping(options: MappedOptions, context: Context) -> Mapped:
    """Read the values of another annotator as others."""
    return Mapped(options.name, options.mapping, options.values)
