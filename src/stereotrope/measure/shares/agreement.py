"""Two looks at the same images: how often their labels are a hit, and how far annotators agree."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import REGISTRY, MeasureCall, register
from stereotrope.measure.join import NOT_LABELLED
from stereotrope.measure.setting import RunTables
from stereotrope.measure.tidy import estimate_frame, factor_names, read_labels
from stereotrope.stats import cohen_kappa, wilson

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
) -> pl.DataFrame:
    """Estimates of rates: of the pictures of a cell without a ``reason`` those hit.

    hits: Definition → what is a hit by it.
    further: More rows, from the row of a rate and what entered it.
    """
    rows = []
    for key, part in judged.group_by(["attribute", *factors], maintain_order=True):
        entered = part.filter(pl.col("reason").is_null())
        n = entered.height
        for definition, hit in hits.items():
            row = {
                "measure": measure,
                "definition": definition,
                **dict(zip(("attribute", *factors), key, strict=True)),
                "level": level,
                "n": n,
                "excluded": dict(part["reason"].drop_nulls().value_counts().iter_rows()),
                "flags": {"small_n": n < SMALL_N},
                "method": "Wilson",
                "source": REGISTRY[measure].source,
            }
            if n:
                k = entered.select(hit.sum()).item()
                low, high = wilson(k, n, level=level)
                row |= {"value": k / n, "low": float(low), "high": float(high)}
            else:
                row["undefined"] = undefined
            rows += [row, *further(row, entered)]
    return estimate_frame(rows, factors=factors)


def _with_reference(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """At the end of a run that knows the truth of its pictures, the agreement of its annotators with it."""
    if call is not None or tables.reference is None:
        return None
    labels = tables.every_look.join(tables.reference, on="attribute", how="semi", maintain_order="left")
    known = tables.reference.join(labels, on=PAIRED, how="semi", maintain_order="left")
    return agreement(
        labels,
        known,
        by=("attribute", "annotator"),
        level=tables.level,
        n_bootstrap=tables.n_bootstrap,
        seed=tables.seed,
    )


@register(
    bounds=(-1.0, 1.0),
    direction="1: full agreement; κ 0: no more than chance",
    source="Cohen 1960; Wilson 1927",
    own_bounds={"accuracy": (0.0, 1.0)},
    unasked=_with_reference,
)
def agreement(
    labels: Any,
    reference: Any,
    *,
    by: Sequence[str] = ("attribute",),
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    """Accuracy and Cohen's κ of an annotator against a reference.

    Formula
    -------
    Accuracy :math:`p_o` = share of images on which both give the same value;
    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_e = Σ_v p_{v·}p_{·v}`.

    Parameters
    ----------
    labels, reference
        Tidy frames. ``reference`` needs only ``image_id, attribute, value``. Values must be written
        alike on both sides: fold them first.
    by, level, n_bootstrap, seed
        ``attribute`` and, besides, factors of ``labels``; nominal coverage; resamples of images for κ;
        seed of the resamples.

    Returns
    -------
    polars.DataFrame
        Two rows a cell: ``definition`` ``accuracy`` (in [0, 1], Wilson's interval) and ``cohen_kappa``
        (in [−1, 1], percentile bootstrap). ``n`` counts images with a usable label from both;
        ``excluded`` says which side had none and why.

    Undefined
    ---------
    ``no image with a usable label from both``; κ also where both gave one value throughout. Its
    interval is null where no resample changes it (``no_variation``).

    Notes
    -----
    Accuracy counts against usable pairs only: an annotator that answers ``unclear`` on the hard images
    looks better than it is. Read ``n_excluded``. κ falls with rare values at equal accuracy.

    References
    ----------
    Cohen (1960), Educ. Psychol. Meas. 20, eq. 1; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": list("abcd"), "attribute": "text", "value": list("yynn")})
    >>> machine = human.with_columns(value=pl.Series(list("yyny")))
    >>> agreement(machine, human)["value"].to_list()
    [0.75, 0.5]
    """
    factors = factors_beside(by, "agreement")

    def kappa(row: dict[str, Any], both: pl.DataFrame) -> list[dict[str, Any]]:
        value, low, high = _kappa(both, level, n_bootstrap, seed)
        known = value == value
        return [
            {
                **row,
                "definition": "cohen_kappa",
                "value": value,
                "low": low,
                "high": high,
                "undefined": None if known else row.get("undefined", "both gave one value throughout"),
                "flags": {**row["flags"], "no_variation": known and low != low},
                "method": f"percentile bootstrap of images, {n_bootstrap} resamples, seed {seed}",
            }
        ]

    pairs = _pairs(labels, reference, factors)
    same = {"accuracy": pl.col("value") == pl.col("reference_value")}
    return hit_rates("agreement", pairs, same, factors, level, NO_PAIR, further=kappa)


def confusion(labels: Any, reference: Any) -> pl.DataFrame:
    """Count which value the labels give for each value of the reference.

    labels, reference: As for :func:`agreement`.

    Returns: ``attribute, reference_value, value, n``, sorted. A side without a usable label stands in
    brackets with its reason, such as ``(unclear)``: nothing is dropped.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": ["a", "b"], "attribute": "text", "value": ["yes", "no"]})
    >>> machine = human.with_columns(value=pl.Series(["yes", "unclear"]))
    >>> confusion(machine, human).rows()
    [('text', 'no', '(unclear)', 1), ('text', 'yes', 'yes', 1)]
    """
    keys = ["attribute", "reference_value", "value"]
    pairs = _pairs(labels, reference, ()).with_columns(
        value=pl.coalesce(pl.format("({})", "label_reason"), "value"),
        reference_value=pl.coalesce(pl.format("({})", reason_of("reference")), "reference_value"),
    )
    return pairs.group_by(keys).agg(n=pl.len().cast(pl.Int64)).sort(keys)


def _pairs(labels: Any, reference: Any, factors: Sequence[str]) -> pl.DataFrame:
    """Every image and attribute that one side knows; both values, and why the pair does not count."""
    said = read_labels(labels, factors=factors)
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


def _kappa(both: pl.DataFrame, level: float, n_bootstrap: int, seed: int) -> tuple[float, float, float]:
    """κ and its interval, NaN where there is none."""
    values = sorted({*both["value"], *both["reference_value"]})
    k, n = len(values), both.height
    if k < 2:
        return np.nan, np.nan, np.nan
    truth, given = (np.searchsorted(values, both[name].to_list()) for name in ("reference_value", "value"))
    counts = np.bincount(truth * k + given, minlength=k * k)
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=n_bootstrap)
    resampled = cohen_kappa(drawn.reshape(-1, k, k))
    known = resampled[~np.isnan(resampled)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if known.size else (np.nan, np.nan)
    if not high - low > 1e-12:
        low = high = np.nan
    return float(cohen_kappa(counts.reshape(k, k))), float(low), float(high)
