"""From label files to counts: part by part of the pictures, so that none is in memory but those of a part."""

import threading
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.annotate.counted import CountedFile
from stereotrope.annotate.part import CountedPart, RowReading
from stereotrope.audit.ordering import ordered
from stereotrope.audit.plan import Plan
from stereotrope.audit.tally import Tally
from stereotrope.audit.work import Watcher
from stereotrope.generate import CountableGenerator
from stereotrope.run import refuse_stopped
from stereotrope.tables import COUNTS, FILTERED, polars_types

AT_ONCE = 4_000_000
"""Pictures of a part, roughly: so many are in memory together, and every part reads the files again."""
COUNT = "count"
_SAMPLE = 200
_TOLD = ("value", "status", "rationale")
_Of = tuple[str | None, ...]
"""Kind of subject, annotator and attribute; None of pictures themselves."""


def count_labels(plan: Plan, watcher: Watcher, stop: threading.Event | None) -> pl.DataFrame:
    """Count what label files say of the pictures of a plan: the table ``counts``.

    Raises MetadataError: Rows of a file contradict one another, or it cannot be read.
    Raises Interrupted: ``stop`` was set.
    """
    cells = plan.cells if plan.cells is not None else pl.DataFrame()
    n_parts = max(1, -(-int(cells["n_subjects"].sum()) // AT_ONCE))
    watcher.stage(COUNT, n_parts, 0)
    tallies: dict[_Of, Tally] = {}
    for number in range(n_parts):
        part = _part(plan, cells, number, n_parts)
        _count(plan, part, tallies, cells.height)
        watcher.advance(COUNT, number + 1)
        refuse_stopped(stop, f"{COUNT}: stopped after part {number + 1} of {n_parts}")
    listing = [one for one in plan.generators if isinstance(one, CountableGenerator)]
    names = [name for one in listing for name in one.some_names(_SAMPLE)]
    for one in plan.annotators:
        if isinstance(one, CountedFile):
            one.tell(names)
    return _table(tallies, cells, plan.annotators)


def _part(plan: Plan, cells: pl.DataFrame, number: int, of: int) -> CountedPart:
    """The pictures whose keys are of a part, with what came of them."""

    def only(key: pl.Expr) -> pl.Expr:
        return pl.lit(True) if of == 1 else key % of == number

    rows = []
    for generator in plan.generators:
        if isinstance(generator, CountableGenerator):
            known = cells.filter(drawn_by=generator.name).select("own", "cell", "generator", "status")
            listed = generator.listed(only).rename({"cell": "own"})
            rows.append(listed.join(known, on="own", maintain_order="left").drop("own"))
    wanted: dict[RowReading, set[str]] = {}
    for one in plan.annotators:
        if isinstance(one, CountedFile):
            wanted.setdefault(one.reading, set()).update(one.columns)
    return CountedPart(pl.concat(rows), only, wanted)


def _count(plan: Plan, part: CountedPart, tallies: dict[_Of, Tally], n_cells: int) -> None:
    """Count the pictures and regions of each cell of a part, and of how many annotators say what."""
    cell = part.pictures["cell"]

    def tally(*of: str | None) -> Tally:
        return tallies.setdefault(of, Tally(f"{of[1]}: {of[2]!r}", _TOLD, n_cells))

    images = np.bincount(cell.to_numpy(), minlength=n_cells)
    own = tally("image", None, None)
    own.rest(own.total + images)
    for one in ordered(plan.annotators):
        if one.derive_part is None:
            continue
        part.said[one.name] = said = one.derive_part(part)
        asked = images
        if one.subject != "image":
            asked = np.bincount(cell.gather(_regions(plan, one, part)).to_numpy(), minlength=n_cells)
        fell = pl.col("rationale").is_in(list(FILTERED)) & (pl.col("status") == "unclear") & bool(one.reads)
        for attribute in one.attributes:
            if attribute in one.several:
                continue
            told = said.filter(attribute=attribute).with_columns(rationale=pl.when(fell).then("rationale"))
            counts = tally(one.subject, one.name, attribute)
            before = counts.total
            counts.add(cell.gather(told["picture"]), told)
            counts.rest(before + asked)


def _regions(plan: Plan, annotator: Annotator, part: CountedPart) -> pl.Series:
    """The picture of each region that an annotator of regions is asked about."""
    known = [
        part.said[one.name].filter(pl.col("attribute").is_in(annotator.needs)).select("picture", "region")
        for one in plan.annotators
        if set(one.attributes) & set(annotator.needs)
    ]
    regions = pl.concat(known)
    regions = regions if len(known) == 1 else regions.unique("region", maintain_order=True)
    return regions.filter(pl.col("picture").is_in(part.usable.implode()))["picture"]


def _table(
    tallies: Mapping[_Of, Tally], cells: pl.DataFrame, annotators: Sequence[Annotator]
) -> pl.DataFrame:
    """The table ``counts``: by subject, attribute and annotator, then as the rows are listed."""
    types = polars_types(COUNTS)
    where = cells.select("cell", "generator", "prompt_id", "reason", image_status="status")
    tables = []
    for of in sorted(tallies, key=lambda one: tuple(part or "" for part in (one[0], one[2], one[1]))):
        kind, annotator, attribute = of
        reads = next((", ".join(a.reads) or None for a in annotators if a.name == annotator), None)
        rows = tallies[of].table().join(where, on="cell", maintain_order="left")
        fixed = {"subject_kind": kind, "annotator": annotator, "attribute": attribute, "derived_from": reads}
        alike = [pl.lit(value, pl.String).alias(name) for name, value in {**fixed, "written": None}.items()]
        tables.append(rows.with_columns(alike).select(pl.col(n).cast(t) for n, t in types.items()))
    return pl.concat(tables)
