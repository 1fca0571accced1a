"""What a picture shows by what was said of its regions, and why one that shows no one thing is filtered."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.derived import DerivedAnnotator
from stereotrope.annotate.label import image_labels
from stereotrope.annotate.part import CountedPart, said_frame
from stereotrope.annotate.picture import subject_id
from stereotrope.annotate.registry import annotator
from stereotrope.errors import UsageError
from stereotrope.folding import fold
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text, Texts
from stereotrope.tables import NOT_VALUES, NOTHING_CLEAR, NOTHING_FOUND, SEVERAL_VALUES


class Consensus(DerivedAnnotator):
    """The one value that the regions of a picture have: the gender shown, where only one is.

    A picture whose regions have one clear value between them has that value; ``confidence`` is the share of
    its regions that have it. Any other is ``unclear``, and ``rationale`` says which filter it fell to, which
    is the reason that measures count it out for:

    ``nothing found``
        no region: nobody is in the picture.
    ``nothing clear``
        no region has a clear value.
    ``several values``
        regions differ: a woman and a man.

    Where all regions were refused, or are invalid, the picture is. One whose regions are not all labelled has
    no label, and neither has one that was not searched for regions.

    of: Annotator whose labels of regions it reads.
    regions: Annotator that found the regions.
    attributes: What it labels.
    unclear: Values that count as unclear too.
    """

    def __init__(
        self, name: str, of: str, regions: str, attributes: Sequence[str], *, unclear: Sequence[str] = ()
    ) -> None:
        super().__init__(name, [of, regions], attributes, {"unclear": list(unclear)})
        self.of, self.regions = of, regions
        self.unclear = frozenset(map(fold, unclear))

    def require_of(self, sources: Sequence[Annotator]) -> None:
        """Refuse annotators that label no regions, or find none; take the value lists of the first."""
        by_name = {one.name: one for one in sources}
        for role, name, fits in (
            ("consensus", self.of, by_name[self.of].subject == "region"),
            ("regions", self.regions, bool(by_name[self.regions].several)),
        ):
            if not fits:
                does = "labels regions" if role == "consensus" else "finds them"
                raise UsageError(
                    f"annotator {self.name!r}: `{role}:` must name an annotator that {does}, found {name!r}; "
                    "see docs/how-to/people-in-pictures.md"
                )
        super().require_of([by_name[self.of]])
        listed = by_name[self.of].attributes
        self.attributes = {name: listed.get(name) for name in self.attributes}

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return a label an attribute of each picture that was searched, in the order of the images."""
        found = labels.filter(annotator=self.regions, subject_kind="image")
        boxes = found.filter(pl.col("region").is_not_null(), status="ok").select("subject_id", "region")
        boxes = boxes.unique(maintain_order=True)
        ids = [subject_id(image, box) for image, box in boxes.iter_rows()]
        judged = labels.filter(annotator=self.of, subject_kind="region").rename({"subject_id": "part"})
        parts = boxes.select("subject_id", part=pl.Series(ids, dtype=pl.String))
        self.notes = [f"{self.name}: {self.regions!r} labelled no picture"] * found.is_empty()
        order = images.select(subject_id="image_id")
        said = order.join(
            self._agreed(list(self.attributes), found, parts, judged),
            on="subject_id",
            how="inner",
            maintain_order="left_right",
        )
        return image_labels(said, annotator=self.name, derived_from=", ".join(self.reads))

    def derive_part(self, part: CountedPart) -> pl.DataFrame:
        """Say the same of a part of a study that is counted."""
        found, judged = part.said[self.regions], part.said[self.of]
        regions = found.select("picture", "region").drop_nulls("region")
        searched = found.filter(pl.col("region").is_null())
        said = []
        for attribute in self.attributes:
            own = judged.filter(attribute=attribute)
            if not regions["region"].equals(own["region"]):
                own = own.join(regions.select("region"), on="region", how="semi", maintain_order="left")
            # Pictures of which the same is said are decided once, by the first of them.
            alike = self._alike(part.pictures.height, searched, regions, own)
            firsts = alike.unique("pattern", keep="first", maintain_order=True)
            is_first = np.zeros(part.pictures.height, bool)
            is_first[firsts["picture"].to_numpy()] = True
            few = [
                rows.filter(pl.Series(is_first[rows["picture"].to_numpy()])).with_columns(
                    pl.col(pl.Categorical).cast(pl.String)
                )
                for rows in (searched, regions, own)
            ]
            names = (
                {"picture": "subject_id"},
                {"picture": "subject_id", "region": "part"},
                {"region": "part"},
            )
            told = self._agreed([attribute], *(rows.rename(of) for rows, of in zip(few, names, strict=True)))
            told = told.rename({"subject_id": "picture"}).join(firsts, on="picture").drop("picture")
            said.append(said_frame(alike.join(told, on="pattern", maintain_order="left")))
        return pl.concat(said)

    def _alike(
        self, n_pictures: int, searched: pl.DataFrame, regions: pl.DataFrame, judged: pl.DataFrame
    ) -> pl.DataFrame:
        """Of each picture that was searched a number, the same of all of which the same is said."""
        spellings = judged["value"].unique().drop_nulls().cast(pl.String)
        total = np.zeros(n_pictures, np.uint64)
        if len({fold(value) for value in spellings}) < len(spellings):
            total += np.arange(n_pictures, dtype=np.uint64)  # which spelling comes first counts
        else:
            np.add.at(total, regions["picture"].to_numpy(), _REGION)
            for rows, columns in ((searched, ("status", "rationale")), (judged, ("value", "status"))):
                said = rows.select("picture", said=pl.struct(columns).hash())
                np.add.at(total, said["picture"].to_numpy(), said["said"].to_numpy())
        pattern = pl.Series(total[searched["picture"].to_numpy()])
        return searched.select("picture", pattern=pattern).unique(
            "picture", keep="first", maintain_order=True
        )

    def _agreed(
        self, attributes: Sequence[str], found: pl.DataFrame, parts: pl.DataFrame, judged: pl.DataFrame
    ) -> pl.DataFrame:
        """Labels of some attributes of pictures.

        found: What was said of each picture where regions were searched: ``subject_id, status, rationale``.
        parts: Regions, and the pictures that they are of: ``subject_id, part``.
        judged: Labels of regions: ``part, attribute, value, status``.
        """
        searched = found.group_by("subject_id", maintain_order=True).agg(
            failed=(pl.col("status") != "ok").all(),
            status=pl.col("status").first(),
            rationale=pl.col("rationale").first(),
        )
        judged = judged.select("part", "attribute", "value", "status")
        rows = [self._of(name, searched, parts, judged.filter(attribute=name)) for name in attributes]
        return pl.concat(rows)

    def _of(
        self, attribute: str, searched: pl.DataFrame, parts: pl.DataFrame, judged: pl.DataFrame
    ) -> pl.DataFrame:
        """Labels of one attribute, of the pictures whose regions all have one."""
        values = judged["value"].unique().drop_nulls().sort().to_list()
        plain = [fold(value) for value in values]
        meant = [None if one in self.unclear else plain.index(one) for one in plain]
        # Numbers stand for words: so millions of regions are grouped in a second.
        told = (
            _beside(parts, judged)
            .select(
                "subject_id",
                status=_coded("status", _STATUSES, range(len(_STATUSES))),
                value=_coded("value", values, range(len(values))),
                clear=_coded("value", values, meant),
            )
            .with_columns(
                first=pl.when(pl.col("clear").is_not_null()).then(
                    pl.int_range(pl.len(), dtype=pl.Int64) * len(values) + pl.col("value")
                )
            )
        )
        status, clear = pl.col("status"), pl.col("clear")
        each = told.group_by("subject_id", maintain_order=True).agg(
            n=pl.len(),
            lacking=status.null_count(),
            clear=clear.count(),
            several=clear.min() != clear.max(),
            value=pl.col("first").min() % max(1, len(values)),
            none=pl.when(status.min() == status.max()).then(status.min()),
        )
        joined = searched.join(each, on="subject_id", how="left", maintain_order="left")
        kept = joined.filter(pl.col("lacking").fill_null(0) == 0).with_columns(
            value=_worded("value", values), none=_worded("none", [None, *_STATUSES[1:]]).fill_null(_UNCLEAR)
        )
        return _told(attribute, kept)


def _told(attribute: str, pictures: pl.DataFrame) -> pl.DataFrame:
    """Labels of pictures, by what their regions say together."""
    clear = pl.col("clear")
    both = pl.col("several").fill_null(False)
    shows = (pl.col("clear") > 0).fill_null(False) & ~both
    filtered = (
        pl.when(pl.col("n").is_null())
        .then(pl.lit(NOTHING_FOUND))
        .when(both)
        .then(pl.lit(SEVERAL_VALUES))
        .when(pl.col("none") == _UNCLEAR)
        .then(pl.lit(NOTHING_CLEAR))
    )
    return pictures.select(
        "subject_id",
        attribute=pl.lit(attribute),
        value=pl.when(shows).then("value"),
        confidence=pl.when(shows).then(clear / pl.col("n")),
        status=pl.when("failed")
        .then("status")
        .when(shows)
        .then(pl.lit("ok"))
        .when(both)
        .then(pl.lit(_UNCLEAR))
        .otherwise("none"),
        rationale=pl.when("failed")
        .then("rationale")
        .when(shows)
        .then(pl.format("{} of {}", "clear", "n"))
        .otherwise(filtered.fill_null(pl.format("all {}", "none"))),
    )


def _beside(parts: pl.DataFrame, judged: pl.DataFrame) -> pl.DataFrame:
    """Each region with what was said of it."""
    if parts["part"].equals(judged["part"]):  # rows of one file
        return parts.with_columns(judged["value"], judged["status"])
    return parts.join(judged, on="part", how="left", maintain_order="left")


def _coded(column: str, words: Sequence[str], numbers: Iterable[int | None]) -> pl.Expr:
    """A column of words as numbers, null where there is none of it."""
    pairs = dict(zip(words, numbers, strict=True))
    return pl.col(column).replace_strict(pairs, default=None, return_dtype=pl.Int64)


def _worded(column: str, words: Sequence[str | None]) -> pl.Expr:
    """Numbers as words."""
    return pl.col(column).replace_strict(dict(enumerate(words)), default=None, return_dtype=pl.String)


_UNCLEAR = NOT_VALUES[0]
_REGION = np.uint64(0x9E3779B97F4A7C15)
"""Stands for a region, in numbers of pictures of which the same is said."""
_STATUSES = ("ok", *NOT_VALUES)


class ConsensusOptions(Options):
    """As of :class:`Consensus`; ``consensus`` names the annotator whose labels of regions it reads."""

    consensus: Text
    regions: Text
    attributes: Texts
    name: Name
    unclear: Texts | None = None


@annotator(
    ConsensusOptions,
    summary="what all regions of a picture agree on; nobody, nobody clear and several are counted out",
    example="{consensus: gpt-4o, regions: detect, attributes: [perceived_gender], name: shown}",
)
def consensus(options: ConsensusOptions, context: Context) -> Consensus:
    """Read the labels of regions."""
    given: dict[str, Any] = {"unclear": options.unclear or ()}
    return Consensus(options.name, options.consensus, options.regions, options.attributes, **given)
