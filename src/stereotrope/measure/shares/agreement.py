"""How far an annotator agrees with another one, or with people."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.contract import MeasureCall, register
from stereotrope.measure.setting import RunTables
from stereotrope.measure.tidy import estimate_frame, excluded_json, factor_names, read_labels
from stereotrope.stats import cohen_kappa, wilson

_SOURCE = "Cohen 1960; Wilson 1927"
NO_PAIR = "no image with a usable label from both"


def _with_reference(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """At the end of a run that knows the truth of its pictures, the agreement of its annotators with it."""
    if call is not None or tables.reference is None:
        return None
    labels = tables.every_look.filter(
        pl.col("attribute").is_in(tables.reference["attribute"].unique().to_list())
    )
    known = tables.reference.join(
        labels.select("image_id", "attribute").unique(), on=["image_id", "attribute"]
    )
    return agreement(
        labels,
        known,
        by=("attribute", "annotator"),
        level=tables.level,
        n_bootstrap=tables.n_bootstrap,
        seed=tables.seed,
    )


@register(
    summary="Accuracy and Cohen's κ of an annotator against a reference.",
    suite="general",
    bounds=(-1.0, 1.0),
    direction="1: full agreement; κ 0: no more than chance",
    source="Cohen 1960; Wilson 1927",
    needs="labels",
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
    """Accuracy and Cohen's κ of labels against a reference, attribute by attribute.

    Formula
    -------
    Accuracy :math:`p_o` = share of images on which both give the same value;
    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_e = Σ_v p_{v·}p_{·v}`.

    Parameters
    ----------
    labels, reference
        Tidy frames; ``reference`` needs only ``image_id, attribute, value``. Values must be written
        alike on both sides: fold them first.
    by
        ``attribute`` and, besides, factors of ``labels``.
    level
        Nominal coverage.
    n_bootstrap, seed
        Resamples of images for κ, and the seed of ``numpy.random.default_rng``.

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

    Raises
    ------
    TableError
        A column is missing, or an image has two labels of one attribute.
    UsageError
        ``by`` leaves out ``attribute``: values of different attributes do not compare.

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
    by = factor_names(by, measure="agreement", what="by")
    factors = tuple(name for name in by if name != "attribute")
    if "attribute" not in by:
        raise UsageError("agreement: by must hold 'attribute'; values of different attributes do not compare")
    pairs = _pairs(labels, reference, factors)
    rows = []
    for key, part in pairs.group_by(["attribute", *factors], maintain_order=True):
        both = part.filter(pl.col("excluded").is_null())
        shared = {
            "measure": "agreement",
            **dict(zip(factors, key[1:], strict=True)),
            "attribute": key[0],
            "level": level,
            "n": both.height,
            "n_excluded": part.height - both.height,
            "excluded": excluded_json(Counter(part["excluded"].drop_nulls().to_list())),
            "flags": "small_n" if both.height < SMALL_N else None,
            "source": _SOURCE,
        }
        accuracy = {**shared, "definition": "accuracy", "method": "Wilson"}
        method = f"percentile bootstrap of images, {n_bootstrap} resamples, seed {seed}"
        kappa = {**shared, "definition": "cohen_kappa", "method": method}
        if not both.height:
            rows += [{**accuracy, "undefined": NO_PAIR}, {**kappa, "undefined": NO_PAIR}]
            continue
        same = int((both["value"] == both["reference_value"]).sum())
        low, high = wilson(same, both.height, level=level)
        rows.append({**accuracy, "value": same / both.height, "low": float(low), "high": float(high)})
        rows.append({**kappa, **_kappa(both, level, n_bootstrap, seed, shared["flags"])})
    return estimate_frame(rows, factors=factors)


def confusion(labels: Any, reference: Any) -> pl.DataFrame:
    """Count which value the labels give for each value of the reference.

    Parameters
    ----------
    labels, reference
        As for :func:`agreement`.

    Returns
    -------
    polars.DataFrame
        ``attribute, reference_value, value, n``, sorted. A side without a usable label stands in
        brackets with its reason, such as ``(unclear)``: nothing is dropped.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": ["a", "b"], "attribute": "text", "value": ["yes", "no"]})
    >>> machine = human.with_columns(value=pl.Series(["yes", "unclear"]))
    >>> confusion(machine, human).rows()
    [('text', 'no', '(unclear)', 1), ('text', 'yes', 'yes', 1)]
    """
    pairs = _pairs(labels, reference, ())
    counted = pairs.group_by("attribute", "reference_value", "value").len("n")
    return counted.with_columns(pl.col("n").cast(pl.Int64)).sort("attribute", "reference_value", "value")


def _pairs(labels: Any, reference: Any, factors: Sequence[str]) -> pl.DataFrame:
    """Every image and attribute that one side knows; both values, and why the pair does not count."""
    said = read_labels(labels, factors=factors)
    true = read_labels(reference, factors=())
    true = true.filter(pl.col("attribute").is_in(said["attribute"].unique().to_list()))
    joined = said.join(
        true.select(
            "image_id", "attribute", reference_value="value", reference_excluded="excluded", known=True
        ),
        on=["image_id", "attribute"],
        # An image that only the reference knows has no factor levels to stand under.
        how="left" if factors else "full",
        coalesce=True,
        maintain_order="left_right" if not factors else "left",
    )
    missing = pl.lit("not labelled")
    value_reason = pl.coalesce("excluded", pl.when(pl.col("value").is_null()).then(missing))
    true_reason = pl.coalesce("reference_excluded", pl.when(pl.col("known").is_null()).then(missing))
    return joined.select(
        "image_id",
        "attribute",
        *factors,
        pl.when(value_reason.is_null()).then("value").otherwise(_bracketed(value_reason)).alias("value"),
        pl.when(true_reason.is_null())
        .then("reference_value")
        .otherwise(_bracketed(true_reason))
        .alias("reference_value"),
        pl.coalesce(
            pl.concat_str(pl.lit("label: "), value_reason), pl.concat_str(pl.lit("reference: "), true_reason)
        ).alias("excluded"),
    ).sort("attribute", maintain_order=True)


def _bracketed(reason: pl.Expr) -> pl.Expr:
    return pl.concat_str(pl.lit("("), reason, pl.lit(")"))


def _kappa(both: pl.DataFrame, level: float, n_bootstrap: int, seed: int, flags: Any) -> dict[str, Any]:
    values = sorted({*both["value"], *both["reference_value"]})
    place = {value: i for i, value in enumerate(values)}
    k, n = len(values), both.height
    codes = [place[r] * k + place[v] for r, v in both.select("reference_value", "value").iter_rows()]
    counts = np.bincount(codes, minlength=k * k)
    value = float(cohen_kappa(counts.reshape(k, k)))
    if np.isnan(value):
        return {"undefined": "both gave one value throughout"}
    drawn = np.random.default_rng(seed).multinomial(n, counts / n, size=n_bootstrap)
    resampled = cohen_kappa(drawn.reshape(-1, k, k))
    known = resampled[~np.isnan(resampled)]
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if known.size else (np.nan, np.nan)
    if not high - low > 1e-12:
        return {"value": value, "flags": ",".join(f for f in (flags, "no_variation") if f)}
    return {"value": value, "low": float(low), "high": float(high)}
