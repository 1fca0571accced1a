"""Two looks at the same images, side by side: what each says, why a pair does not count, rates of hits."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N, as_names
from stereotrope.measure.contract import REGISTRY
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.join import NOT_LABELLED
from stereotrope.measure.named import other_word
from stereotrope.measure.seeds import across_units
from stereotrope.measure.tidy import factor_names, read_labels, to_polars
from stereotrope.measure.units import SEEDS_COUNTED, Claim, prompt_codes, units_of
from stereotrope.stats import Across, cluster_share_interval, wilson

NO_PAIR = "no image with a usable label from both"
PAIRED = ("image_id", "attribute")


def factors_beside(by: Sequence[str], measure: str) -> tuple[str, ...]:
    """The factors in ``by``, which must hold ``attribute``: values of different attributes do not mix."""
    listed = factor_names(by, measure=measure, what="by")
    if "attribute" not in listed:
        raise UsageError(
            f"{measure}: by must hold 'attribute'; answers about different attributes do not mix"
        )
    return tuple(name for name in listed if name != "attribute")


def other_look(labels: Any, name: str) -> pl.DataFrame:
    """The other look of a pair; ``""`` where its label counts, so that null means no label."""
    read = read_labels(labels, factors=())
    return read.select(
        *PAIRED,
        pl.when(pl.col("excluded").is_null()).then("value").alias(f"{name}_value"),
        pl.col("excluded").fill_null("").alias(f"{name}_excluded"),
    )


def beside(
    looks: pl.DataFrame, other: Any, name: str, *, how: Literal["left", "inner"] = "left"
) -> pl.DataFrame:
    """Looks with what the other look says of each."""
    return looks.join(other_look(other, name), on=PAIRED, how=how, maintain_order="left")


def no_common_value(true: pl.Series, said: pl.Series, who: tuple[str, str]) -> str | None:
    """Why labels cannot be compared, of ten or more; ``who`` said which.

    Not one value is written by both, or one writes a value for which the other has another word.
    """
    one, other = (sorted(set(values.drop_nulls())) for values in (true, said))
    if true.count() < SMALL_N:
        return None
    if set(one) & set(other):
        return _words_apart((one, other), who)
    shown = ", ".join(f"{name} {', '.join(of[:3])}" for name, of in zip(who, (one, other), strict=True))
    return (
        f"{' and '.join(who)} have no value in common ({shown}); write both alike, for example by `mapping`"
    )


def _words_apart(sides: tuple[Sequence[str], Sequence[str]], who: tuple[str, str]) -> str | None:
    for (own, theirs), (name, whose) in zip((sides, sides[::-1]), (who, who[::-1]), strict=True):
        others = set(theirs)
        for value in own:
            if word := other_word(value, others):
                both = f"{name} write {value!r} and {whose} {word!r}, which may mean the same"
                return f"{both}; write both alike, for example by `mapping`"
    return None


def compared_apart(true: pl.Series, said: pl.Series, who: tuple[str, str]) -> str | None:
    """:func:`no_common_value`, but of one value throughout on each side, which may be errors."""
    alone = true.n_unique() == said.n_unique() == 1
    return None if alone else no_common_value(true, said, who)


def sources_of(annotator: str, labels: pl.DataFrame) -> set[str]:
    """Annotators whose labels those of another are derived from."""
    told = labels.select("annotator", "derived_from").drop_nulls().unique()
    # A name may hold a comma (“Müller, Anna”).
    names = labels["annotator"].unique()
    derived = {
        name: [one for one in names if f", {one}, " in f", {sources}, "]
        for name, sources in told.sort("annotator", "derived_from").iter_rows()
    }
    found: set[str] = set()
    waiting = [annotator]
    while waiting:
        new = [name for name in derived.get(waiting.pop(), ()) if name not in found]
        found.update(new)
        waiting += new
    return found


def with_apart(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs with ``apart``: why the values of an attribute cannot be compared, null where they can."""
    keys = [name for name in ("attribute", "annotator") if name in pairs.columns]
    told = [
        (*key, compared_apart(part["reference_value"], part["value"], ("the reference", "the annotator")))
        for key, part in pairs.filter(pl.col("reason").is_null()).group_by(keys)
    ]
    rows = pl.DataFrame(told, dict.fromkeys([*keys, "apart"], pl.String), orient="row")
    return pairs.join(rows, on=keys, how="left", nulls_equal=True, maintain_order="left")


def reason_of(name: str) -> pl.Expr:
    """Why the label of the other look does not count, null where it does."""
    given = pl.col(f"{name}_excluded").fill_null(NOT_LABELLED)
    return pl.when(given != "").then(given)


def hit_rates(
    measure: str,
    judged: pl.DataFrame,
    hits: Mapping[str, pl.Expr],
    factors: Sequence[str],
    level: float,
    undefined: str,
    further: Callable[[dict[str, Any], pl.DataFrame], list[dict[str, Any]]] = lambda row, entered: [],
    *,
    prompts: bool = False,
) -> pl.DataFrame:
    """Estimates of rates: of the pictures of a cell without a ``reason`` those hit, with Wilson's interval.

    hits: Definition → what is a hit by it.
    further: More rows, from the row of a rate and what entered it.
    prompts: Whether prompts can be the units, as :func:`~stereotrope.measure.units.units_of` decides: not of
        checks, which speak of the very pictures that were made for them.
    """
    rows = []
    for key, part in judged.group_by(["attribute", *factors], maintain_order=True):
        entered = part.filter(pl.col("reason").is_null())
        n, units = entered.height, units_in(entered, prompts=prompts)
        apart = part["apart"][0] if "apart" in part.columns else None
        for definition, hit in hits.items():
            row = {
                "measure": measure,
                "definition": definition,
                **dict(zip(("attribute", *factors), key, strict=True)),
                "level": level,
                "n": n,
                "excluded": dict(part["reason"].drop_nulls().value_counts().iter_rows()),
                "flags": {**units.claim.flags, "small_n": n < SMALL_N},
                "source": REGISTRY[measure].source,
            }
            if n and not apart:
                row |= rate_of(entered.select(hit.fill_null(False)).to_series().to_numpy(), units, level)
            else:
                row["undefined"] = apart if n else undefined
            rows += [row, *further(row, entered)]
    return estimate_frame(rows, factors=factors)


class Units(NamedTuple):
    """What the units of a rate are.

    number: Of each picture, from 0 on.
    across: These and the seeds that they share; None where they share none.
    """

    claim: Claim
    number: NDArray[np.int64]
    across: Across | None = None

    def among(self, kept: NDArray[np.bool_]) -> "Units":
        """Of some pictures alone."""
        number = np.unique(self.number[kept], return_inverse=True)[1].astype(np.int64)
        return Units(self.claim, number, self.across and self.across.among(kept))

    @property
    def words(self) -> str:
        """What the method says of them."""
        seeds = f", {SEEDS_COUNTED}" if self.across else ""
        return f"{self.number.max(initial=-1) + 1} {'prompts' if self.claim.prompts else 'pictures'}{seeds}"


def rate_of(hits: NDArray[np.bool_], units: Units, level: float) -> dict[str, Any]:
    """Part of the pictures that are hits, with its interval over the units."""
    if units.claim.clustered:
        k, n = np.bincount(units.number, hits), np.bincount(units.number)
        crossed = units.across and units.across.crossed(hits)
        low, high = cluster_share_interval(k, n, level=level, crossed=crossed)
        method = f"{'Wilson' if crossed else 'beta-binomial'} over {units.words}"
    else:
        low, high = map(float, wilson(hits.sum(), hits.size, level=level))
        method = "Wilson"
    ends = {"value": float(hits.mean()), "low": low, "high": high}
    return {**ends, "holds_for": units.claim.holds_for, "method": method}


def units_in(entered: pl.DataFrame, *, prompts: bool = True) -> Units:
    """What the units of a rate are, and their numbers."""
    if not prompts:
        return Units(Claim(prompts=False, dependent=False, known=True), np.arange(entered.height))
    claim, (number,) = units_of(prompt_codes(entered))
    claim, across = across_units(entered, claim, number)
    return Units(claim, number, across)


def among(labels: Any, raters: Sequence[str] | None, reference: Any) -> Any:
    """The labels of these annotators and of the reference; all where none are named."""
    if raters is None:
        return labels
    kept = [*as_names(raters, what="raters"), *([reference] if isinstance(reference, str) else [])]
    return to_polars(labels, needs=("annotator",)).filter(pl.col("annotator").is_in(kept))


def beside_reference(
    labels: Any,
    reference: Any,
    factors: Sequence[str],
    attributes: Sequence[str] | None,
    raters: Sequence[str] | None = None,
) -> tuple[Any, Any, tuple[str, ...], dict[str, Any]]:
    """Labels, those of the reference, the factors that tell cells apart, and what to say of the contrast.

    reference: A frame, or the name of an annotator in ``labels``: then others are told apart by annotator.
    """
    labels, told = among(labels, raters, reference), {}
    if isinstance(reference, str):
        frame = to_polars(labels, needs=("annotator",))
        told = {"contrast": "annotator", "reference": reference}
        factors = tuple(dict.fromkeys([*factors, "annotator"]))
        reference, labels = frame.filter(annotator=reference), frame.filter(pl.col("annotator") != reference)
    if attributes is not None:
        labels = to_polars(labels).filter(pl.col("attribute").is_in(list(attributes)))
    return labels, reference, tuple(factors), told


def paired_looks(labels: Any, reference: Any, factors: Sequence[str]) -> pl.DataFrame:
    """Every image and attribute that one side knows; both values, and why the pair does not count."""
    said = read_labels(labels, factors=factors, seeds=True)
    true = other_look(reference, "reference").join(said, on="attribute", how="semi")
    joined = said.join(
        true,
        on=PAIRED,
        # An image that only the reference knows has no factor levels to stand under.
        how="left" if factors else "full",
        coalesce=True,
        maintain_order="left" if factors else "left_right",
    )
    missing = pl.when(pl.col("value").is_null()).then(pl.lit(NOT_LABELLED))
    paired = joined.with_columns(label_reason=pl.coalesce("excluded", missing))
    reason = pl.coalesce(
        pl.format("label: {}", "label_reason"), pl.format("reference: {}", reason_of("reference"))
    )
    return paired.with_columns(reason=reason).sort("attribute", maintain_order=True)
