"""What a picture shows by what was said of its regions, and why one that shows no one thing is filtered."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.derived import DerivedAnnotator
from stereotrope.annotate.label import image_labels
from stereotrope.annotate.picture import subject_id
from stereotrope.annotate.registry import annotator
from stereotrope.errors import UsageError
from stereotrope.folding import fold
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import Name, Options, Text, Texts
from stereotrope.tables import LABELS, NOT_VALUES, NOTHING_CLEAR, NOTHING_FOUND, SEVERAL_VALUES, polars_types


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
        searched = found.group_by("subject_id", maintain_order=True).agg(
            failed=(pl.col("status") != "ok").all(),
            status=pl.col("status").first(),
            rationale=pl.col("rationale").first(),
        )
        judged = labels.filter(annotator=self.of, subject_kind="region").rename({"subject_id": "part"})
        judged = judged.select("part", "attribute", "value", "status")
        self.notes = [f"{self.name}: {self.regions!r} labelled no picture"] * searched.is_empty()
        parts = boxes.select("subject_id", part=pl.Series(ids, dtype=pl.String))
        rows = [self._of(name, searched, parts, judged.filter(attribute=name)) for name in self.attributes]
        if not rows:
            return pl.DataFrame(schema=polars_types(LABELS))
        order = images.select(subject_id="image_id")
        said = order.join(pl.concat(rows), on="subject_id", how="inner", maintain_order="left_right")
        return image_labels(said, annotator=self.name, derived_from=", ".join(self.reads))

    def _of(
        self, attribute: str, searched: pl.DataFrame, parts: pl.DataFrame, judged: pl.DataFrame
    ) -> pl.DataFrame:
        """Labels of one attribute, of the pictures whose regions all have one."""
        folded = {value: fold(value) for value in judged["value"].unique().drop_nulls()}
        plain = pl.col("value").replace_strict(folded, return_dtype=pl.String)
        clear = (pl.col("status") == "ok") & ~plain.is_in(list(self.unclear))
        status = pl.col("status")
        told = parts.join(judged, on="part", how="left", maintain_order="left")
        each = told.group_by("subject_id", maintain_order=True).agg(
            n=pl.len(),
            lacking=status.is_null().sum(),
            clear=clear.sum(),
            values=plain.filter(clear).n_unique(),
            value=pl.col("value").filter(clear).first(),
            none=pl.when((status == status.first()).all() & (status.first() != "ok"))
            .then(status.first())
            .otherwise(pl.lit(_UNCLEAR)),
        )
        joined = searched.join(each, on="subject_id", how="left", maintain_order="left")
        shows = (pl.col("values") == 1).fill_null(False)
        filtered = (
            pl.when(pl.col("n").is_null())
            .then(pl.lit(NOTHING_FOUND))
            .when(pl.col("values") > 1)
            .then(pl.lit(SEVERAL_VALUES))
            .when(pl.col("none") == _UNCLEAR)
            .then(pl.lit(NOTHING_CLEAR))
        )
        kept = joined.filter(pl.col("lacking").fill_null(0) == 0)
        return kept.select(
            "subject_id",
            attribute=pl.lit(attribute),
            value=pl.when(shows).then("value"),
            confidence=pl.when(shows).then(pl.col("clear") / pl.col("n")),
            status=pl.when("failed")
            .then("status")
            .when(shows)
            .then(pl.lit("ok"))
            .when(pl.col("values") > 1)
            .then(pl.lit(_UNCLEAR))
            .otherwise(pl.col("none").fill_null(_UNCLEAR)),
            rationale=pl.when("failed")
            .then("rationale")
            .when(shows)
            .then(pl.format("{} of {}", "clear", "n"))
            .otherwise(filtered.fill_null(pl.format("all {}", "none"))),
        )


_UNCLEAR = NOT_VALUES[0]


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
