"""Shares corrected for the errors that the annotator is known to make."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.errors import TableError, UsageError
from stereotrope.measure.cell_reading import read_cells
from stereotrope.measure.cells import NO_LABEL, SMALL_N, Cell, Key, as_names, share_row
from stereotrope.measure.contract import MeasureCall, register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.setting import RunTables
from stereotrope.measure.tidy import as_number, as_text, factor_names, require_whole, to_polars
from stereotrope.stats import corrected_shares, is_invertible, normal_quantile, resampled_shares, wilson

_SOURCE = "Rogan and Gladen 1978; Tenenbein 1972; Flor et al. 2020"


@dataclass(frozen=True)
class _Errors:
    """How an annotator labels an attribute: one row a true value, one column a label."""

    truths: tuple[str, ...]
    labels: tuple[str, ...]
    counts: NDArray[np.float64]

    def why_not(self, cell: Cell) -> str | None:
        """Why the shares of a cell cannot be corrected."""
        if not cell.n:
            return NO_LABEL
        if unchecked := sorted(value for value in cell.seen if value not in self.truths):
            return f"never checked: {', '.join(unchecked)}"
        return None if is_invertible(self.counts) else "the confusion matrix cannot be inverted"


_UNCHECKED = _Errors((), (), np.zeros((0, 0)))


def _beside_share(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """Beside raw shares, corrected ones of annotators that a calibration checked."""
    if call is None or call.name != "share":
        return None
    asked = as_names(call.arguments.get("attribute"), what="attribute")
    by = list(dict.fromkeys([*call.arguments["by"], "annotator"]))
    more = {name: call.arguments[name] for name in ("level", "n_bootstrap", "seed") if name in call.arguments}
    made = []
    for annotator, checked in tables.confusions.items():
        labels = tables.looks.filter(annotator=annotator)
        confusion = checked.join(labels.select("attribute").unique(), on="attribute", how="semi")
        if asked:
            confusion = confusion.filter(pl.col("attribute").is_in(list(asked)))
        if confusion.height:
            made.append(corrected_share(labels, confusion, by=by, **more))
    return pl.concat(made, how="diagonal") if made else None


@register(
    bounds=(0.0, 1.0),
    direction="higher: seen more often; wider than the raw interval",
    source="Rogan and Gladen 1978; Tenenbein 1972",
    also=("raw_share",),
    unasked=_beside_share,
)
def corrected_share(
    labels: Any,
    confusion: Any,
    attribute: str | Sequence[str] | None = None,
    *,
    by: Sequence[str] = ("generator",),
    level: float = 0.95,
    n_bootstrap: int = 2_000,
    seed: int = 0,
) -> pl.DataFrame:
    r"""How often each value is seen, corrected for the errors the annotator is known to make.

    Formula
    -------
    With :math:`q_v` the share labelled ``v`` and :math:`M_{rv}` how often a picture that truly is ``r`` is
    labelled ``v``: :math:`π = qM^{-1}`, moved to the nearest shares that are not negative. For two values
    :math:`π = (q + Sp - 1)/(Se + Sp - 1)`, cut at 0 and 1.

    Parameters
    ----------
    labels, attribute
        As for :func:`stereotrope.measure.share`, of the annotator that was checked; all that was checked,
        when None.
    confusion
        What :func:`stereotrope.measure.confusion` counts from pictures whose truth is known, of other
        pictures than ``labels``, or of few of them. Values in brackets, such as ``(unclear)``, stay out.
        Where it has columns of ``by`` (``confusion(…, by=["group"])``), each cell is corrected by its own.
    by, level, n_bootstrap, seed
        Factors whose combinations are the cells; nominal coverage; draws for the interval; seed of the draws.

    Returns
    -------
    polars.DataFrame
        Two rows a cell, attribute and ``category``: ``corrected_share`` in [0, 1], which sum to 1 in a cell,
        and ``raw_share`` with Wilson's interval. ``n`` counts the labels of the cell, ``n_reference`` the
        checked pictures of the attribute.

    Undefined
    ---------
    ``no usable label``; ``never checked: …``: the labels show a value that no checked picture truly had;
    ``the confusion matrix cannot be inverted``: some true values are labelled alike. The raw row stays.

    Notes
    -----
    The interval carries the uncertainty of both samples: quantiles of the correction over error rates and
    label shares drawn from what the counts allow (:func:`stereotrope.stats.resampled_shares`). A corrected
    share is less certain than a raw one. It supposes that the annotator errs on these pictures as on the
    checked ones, and alike for every group unless ``confusion`` tells groups apart, and speaks of the
    pictures with a usable label. Over four prompts or more label shares are drawn at their effective number,
    and it holds for ``prompts like these``: over 5 to 20 prompts at an intra-class correlation of 0.1 and 0.3
    it covered 0.92 to 0.96.

    References
    ----------
    Rogan and Gladen (1978), Am. J. Epidemiology 107; Tenenbein (1972), Technometrics 14; Flor et al.
    (2020), BMC Public Health 20.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(100)], "attribute": "text_presence", "generator": "m",
    ...     "value": ["present"] * 50 + ["absent"] * 50,
    ... })
    >>> checked = pl.DataFrame({
    ...     "attribute": "text_presence", "reference_value": ["present", "present", "absent", "absent"],
    ...     "value": ["present", "absent", "present", "absent"], "n": [90, 10, 20, 80],
    ... })
    >>> found = corrected_share(labels, checked).filter(category="present")
    >>> found.select("measure", pl.col("value").round(3)).rows()
    [('corrected_share', 0.429), ('raw_share', 0.5)]
    """
    normal_quantile(level)
    require_whole("corrected_share", n_bootstrap=n_bootstrap, seed=seed)
    if not n_bootstrap:
        raise UsageError("corrected_share: n_bootstrap must be at least 1, found 0")
    by = factor_names(by, measure="corrected_share", what="by")
    errors = _errors(confusion, by)
    checked = list(dict.fromkeys(attribute for attribute, _ in errors))
    names = as_names(attribute, what="attribute")
    if unknown := [name for name in names if name not in checked]:
        raise TableError(
            f"confusion: attribute {unknown[0]!r} was never checked; checked are "
            f"{', '.join(map(repr, checked)) or 'none'}"
        )
    frame = to_polars(labels)
    if "attribute" in frame.columns and not names:
        frame = frame.filter(pl.col("attribute").cast(pl.String).is_in(checked))
    apart = [by.index(name) for name in _apart(to_polars(confusion), by)]
    rows: list[dict[str, Any]] = []
    for cell in read_cells(frame, by=by, attributes=names or None):
        shared = {**share_row(cell, by), "level": level}
        own = errors.get((cell.attribute, tuple(cell.key[at] for at in apart)), _UNCHECKED)
        rows += _rows(cell, own, shared, level, n_bootstrap, seed)
    return estimate_frame(rows, factors=by)


def _apart(confusion: pl.DataFrame, by: Sequence[str]) -> list[str]:
    """Factors of the cells that the errors were counted apart for."""
    return [name for name in by if name in confusion.columns]


def _errors(confusion: Any, by: Sequence[str]) -> dict[tuple[str, Key], _Errors]:
    """Attribute, and levels of what the errors were counted apart for → how the annotator labels it there."""
    keys = ["attribute", "reference_value", "value"]
    frame = to_polars(confusion, what="confusion", needs=(*keys, "n"))
    apart = _apart(frame, by)
    texts = [as_text(frame, name) for name in (*keys, *apart)]
    table = frame.select(*texts, as_number(frame, "n", what="confusion")).drop_nulls([*keys, "n"])
    if table.select(*keys, *apart).is_duplicated().any():
        raise TableError(
            "confusion: a pair of values stands twice; keep the counts of one annotator, one row a pair, or "
            "name the factor that tells them apart in by"
        )
    if (table["n"] < 0).any():
        raise TableError("confusion: n must be 0 or more, found a count below it")
    bracketed = pl.any_horizontal(pl.col(keys[1:]).str.contains(r"(?s)^\(.*\)$"))
    table = table.filter(~bracketed, pl.col("n") > 0).sort(*keys, *apart, nulls_last=True)
    found: dict[tuple[str, Key], _Errors] = {}
    for key, part in table.group_by(["attribute", *apart], maintain_order=True):
        truths = sorted(set(part["reference_value"]))
        labels = sorted({*part["value"], *truths})
        rows = np.searchsorted(truths, part["reference_value"].to_list())
        counts = np.zeros((len(truths), len(labels)))
        counts[rows, np.searchsorted(labels, part["value"].to_list())] = part["n"]
        found[str(key[0]), key[1:]] = _Errors(tuple(truths), tuple(labels), counts)
    return found


def _rows(
    cell: Cell, errors: _Errors, shared: Mapping[str, Any], level: float, n_bootstrap: int, seed: int
) -> Iterator[dict[str, Any]]:
    corrected = {
        **shared,
        "measure": "corrected_share",
        "n_reference": int(errors.counts.sum()),
        "source": _SOURCE,
    }
    reason = errors.why_not(cell)
    numbers: Mapping[str, Mapping[str, Any]] = {}
    if reason is None:
        numbers = _corrected(cell, errors, level=level, n_bootstrap=n_bootstrap, seed=seed)
    for category in sorted({*errors.truths, *cell.seen}):
        yield {**corrected, "category": category, "undefined": reason, **numbers.get(category, {})}
        raw = {**shared, "measure": "raw_share", "source": "Wilson 1927", "category": category}
        if cell.n:
            low, high = wilson(*cell.effective(category, level=level), level=level)
            raw |= {"value": cell.count(category) / cell.n, "low": float(low), "high": float(high)}
            yield {**raw, "flags": cell.flags, "holds_for": cell.claim.holds_for, "method": "Wilson"}
        else:
            yield {**raw, "undefined": NO_LABEL}


def _corrected(
    cell: Cell, errors: _Errors, *, level: float, n_bootstrap: int, seed: int
) -> dict[str, dict[str, Any]]:
    """Value and interval of each corrected share; counts shrink to their effective number over prompts."""
    counts = np.array([cell.count(label) for label in errors.labels], np.float64)
    shares = corrected_shares(counts, errors.counts).tolist()
    flags = {**cell.flags, "few_checked": errors.counts.sum(axis=1).min() < SMALL_N}
    method = f"inverse of the confusion matrix; interval: {n_bootstrap} draws of both samples, seed {seed}"
    own = [errors.labels.index(truth) for truth in errors.truths]
    drawn: dict[float, NDArray[np.float64]] = {}
    found = {}
    for at, (category, share) in enumerate(zip(errors.truths, shares, strict=True)):
        _, effective = cell.effective(category, level=level)
        if effective not in drawn:
            draws = resampled_shares(
                counts * effective / cell.n, errors.counts, own=own, n_resamples=n_bootstrap, seed=seed
            )
            drawn[effective] = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
        low, high = drawn[effective][:, at].tolist()
        found[category] = {
            "value": share,
            # The nearest shares may lie a little outside what single draws reach.
            "low": min(low, share),
            "high": max(high, share),
            "holds_for": cell.claim.holds_for,
            "flags": flags,
            "method": method,
        }
    return found
