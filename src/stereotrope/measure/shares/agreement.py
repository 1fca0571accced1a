"""How far annotators agree, with a reference or with each other."""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.confusables import reads_like
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.measure.cells import as_names
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo, register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.setting import MeasureSetting, RunTables, labels_behind
from stereotrope.measure.shares.pairs import (
    NO_PAIR,
    PAIRED,
    among,
    beside_reference,
    factors_beside,
    hit_rates,
    paired_looks,
    reason_of,
    sources_of,
    units_in,
    with_apart,
)
from stereotrope.measure.shares.raters import between_raters, jackknifed
from stereotrope.measure.tidy import factor_names, to_polars
from stereotrope.stats import cohen_kappa
from stereotrope.tables import QUALITY_ATTRIBUTES

_BOTH_ONE = "both gave one value throughout"


def _with_reference(call: MeasureCall | None, tables: RunTables) -> pl.DataFrame | None:
    """The agreement of annotators with what is taken for right.

    Beside that of all with each other, with annotators whose labels are; at the end of a run that knows the
    truth of its pictures, with that.
    """
    if call is not None:
        return _with_people(call, tables)
    if tables.reference is None:
        return None
    labels = tables.every_look.join(tables.reference, on="attribute", how="semi", maintain_order="left")
    known = tables.reference.join(labels, on=PAIRED, how="semi", maintain_order="left")
    return _with(known, labels, ("annotator",), tables.level, prompts=False)


def _with_people(call: MeasureCall, tables: RunTables) -> pl.DataFrame | None:
    if call.name != "agreement" or call.arguments.get("reference") is not None:
        return None
    how = {
        name: call.arguments[name]
        for name in ("attribute", "raters", "by", "level")
        if name in call.arguments
    }
    made = []
    for name in tables.references:
        # Who voted for it agrees with it by what it is.
        voted = sources_of(name, tables.labels)
        looks = tables.looks.filter(~pl.col("annotator").is_in(voted))
        raters = [one for one in how.get("raters") or () if one not in voted]
        if name in set(looks["annotator"]) and set(raters or looks["annotator"]) - {name}:
            made.append(agreement(looks, name, **how | ({"raters": raters} if raters else {})))
    return pl.concat(made, how="diagonal") if made else None


def agreement_call(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of an audit: over the whole design, unless the file says by what."""
    reference, every = given.get("reference"), [one.name for one in setting.annotators]
    for name in [*([] if reference is None else [reference]), *(given.get("raters") or ())]:
        if name not in every:
            hint = did_you_mean(str(name), every, otherwise=f"there is: {', '.join(every)}")
            raise UsageError(
                f"reference and raters must be names of annotators, found {shorten(name)}; {hint}"
            )
    # What says the labels of others in other words agrees with these by what it is.
    raters = given.get("raters") or _raters(setting.annotators, reference)
    if not setting.discovers:
        _require_two(reference, raters, setting)
    given = {**given, "by": given.get("by") or ["attribute"], "raters": raters}
    return info.frame.call(info, given, setting, calls)


def has_rater(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether the annotator that a suite takes for the reference is there, and labels what another does."""
    reference = given.get("reference")
    return _labelled_twice(reference, _raters(setting.annotators, reference), setting)


def _labelled_twice(reference: str | None, raters: Sequence[str], setting: MeasureSetting) -> bool:
    """Whether an attribute is labelled by two annotators, one of them the reference where one is named."""
    looking = [one for one in setting.annotators if one.subject == "image"]
    labelled = {one.name: set(one.attributes) - set(QUALITY_ATTRIBUTES) for one in looking}
    among = [name for name in labelled if name in raters or name == reference]
    pairs = [(a, b) for a, b in itertools.combinations(among, 2) if labelled[a] & labelled[b]]
    return any(reference in (None, *pair) for pair in pairs)


def _require_two(reference: str | None, raters: Sequence[str], setting: MeasureSetting) -> None:
    """Refuse an audit in which no attribute is labelled twice, or not by the reference."""
    if not _labelled_twice(reference, raters, setting):
        made = next((one.reads for one in setting.annotators if one.name == reference), ())
        but = f" and {', '.join(made)}, of whose labels it is made" if made else ""
        beside = "" if reference is None else f" beside {shorten(reference)}{but}"
        of_regions = any(one.subject == "region" and one.attributes for one in setting.annotators)
        add = (
            "labels of regions are compared by picture: add a `consensus` of each annotator"
            if of_regions
            else "add one that labels it too, for example `{labels: human.csv, name: rater-1}`"
        )
        names = dict.fromkeys(name for one in setting.annotators for name in one.attributes)
        alike = (reads_like([other], [name]) for name, other in itertools.combinations(names, 2))
        hint = next(filter(None, alike), "")
        raise UsageError(f"no attribute is labelled by another annotator{beside}; {add}{hint}")


def _raters(annotators: Sequence[Any], reference: str | None = None) -> list[str]:
    """Those that look themselves; what reads all labels of one of them in other words stands for it.

    What says of pictures what one says of their regions stands for this one. The labels of a reference agree
    with those that it is made from by what they are.
    """
    known = {one.name: one for one in annotators}
    standing: dict[str, str] = {}

    def is_rater(one: Any) -> bool:
        of = [known[name] for name in one.reads if name in known and known[name].subject == "region"]
        return not one.reads or any(set(judge.attributes) & set(one.attributes) for judge in of)

    for one in annotators:
        source = one
        for _ in annotators:
            read = known.get(source.reads[0]) if len(source.reads) == 1 else None
            if is_rater(source) or read is None or not set(read.attributes) <= set(source.attributes):
                break
            source = read
        if is_rater(source) and (source is one or standing.get(source.name, source.name) == source.name):
            standing[source.name] = one.name
    behind = labels_behind(reference, annotators)
    return [one.name for one in annotators if one.name in standing.values() and one.name not in behind]


@register(
    bounds=(-1.0, 1.0),
    direction="1: full agreement; κ, α and AC1 0: no more than chance",
    source="Cohen 1960; Krippendorff 2011; Fleiss 1971; Gwet 2008",
    own_bounds={"accuracy": (0.0, 1.0), "observed": (0.0, 1.0)},
    call=agreement_call,
    due=has_rater,
    unasked=_with_reference,
)
def agreement(
    labels: Any,
    reference: Any = None,
    *,
    attribute: str | Sequence[str] | None = None,
    raters: Sequence[str] | None = None,
    by: Sequence[str] = ("attribute",),
    ordinal: Mapping[str, Sequence[str]] | None = None,
    taxonomy: Mapping[str, Sequence[str]] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far annotators agree, with a reference or with each other.

    Formula
    -------
    With a reference: accuracy :math:`p_o` = share of images on which both give the same value;
    :math:`κ = (p_o - p_e)/(1 - p_e)` with :math:`p_e = Σ_v p_{v·}p_{·v}`. Of all annotators, :math:`n_{uc}`
    of whose :math:`n_u` labels of image ``u`` are ``c``: observed agreement :math:`p_a`, the mean over images
    of :math:`Σ_c n_{uc}(n_{uc} - 1)/(n_u(n_u - 1))`; Krippendorff's :math:`α = 1 - D_o/D_e`
    (:func:`stereotrope.stats.krippendorff_alpha`); Fleiss' κ and Gwet's AC1,
    :math:`(p_a - p_e)/(1 - p_e)` with :math:`p_e = Σ_c π_c^2` and :math:`Σ_c π_c(1 - π_c)/(K - 1)`,
    :math:`π_c` the mean over images of :math:`n_{uc}/n_u`.

    Parameters
    ----------
    labels
        Tidy frame; with the column ``annotator`` where there is no reference.
    reference
        A tidy frame of ``image_id, attribute, value``, or the name of an annotator in ``labels``, with whom
        each other one is compared. None: all annotators of an attribute with each other.
        Values must be written alike on both sides: fold them first.
    attribute
        One or several; all that two annotators label, when None.
    raters
        Annotators in ``labels`` to compare, all when None; in an audit all but those whose labels follow from
        others' (``majority``), or that the reference follows from: they agree by what they are. A ``mapping``
        that reads all labels of one annotator stands for it.
    by, level
        ``attribute`` and, besides, factors of ``labels``; nominal coverage.
    ordinal
        Attribute → its values, ascending: α for values that are in order too.
    taxonomy
        Attribute → all values that could be given, on whose number AC1 depends; those seen, when None.

    Returns
    -------
    polars.DataFrame
        With a reference two rows a cell: ``definition`` ``accuracy`` (in [0, 1], Wilson's interval) and
        ``cohen_kappa`` (in [−1, 1]). ``n`` counts images with a usable label from both; ``excluded`` says
        which side had none and why. Where it is an annotator, ``contrast`` is ``annotator``.
        Without one ``observed`` (in [0, 1]), ``krippendorff_alpha``, ``fleiss_kappa``, ``gwet_ac1`` and
        ``krippendorff_alpha_ordinal``. ``n`` counts images with two usable labels or more, ``excluded``
        others, by what their labels lack; ``n_categories`` is AC1's :math:`K`.

    Undefined
    ---------
    ``no image with a usable label from both``; ``no image with two usable labels``; where two write ten
    labels or more and no value alike (``F`` and ``female``), but one throughout each; κ and α where all gave
    one value throughout; the ordinal α where a value is ``not in the order given``. The interval of α, κ and
    AC1 is null where leaving out any unit changes nothing, as in full agreement (``no_variation``): how far
    below 1 they may be depends on labels of which none differed.

    Notes
    -----
    Accuracy counts against usable pairs only: an annotator that answers ``unclear`` on the hard images
    looks better than it is. Read ``n_excluded``. κ and α fall with rare values at equal accuracy; AC1 does
    not.
    Fleiss' κ is made for images with equally many labels; where these differ it is Gwet's generalisation.
    Agreement is not truth: annotators can be wrong alike.

    The interval of accuracy is Wilson's, and so is that of ``observed`` where it is 0 or 1 (in full agreement
    of 20 images from 0.84 to 1); others are :func:`stereotrope.stats.agreement_interval`. Whole prompts
    are their units where there are four or more, and they hold for prompts like these; of fewer prompts, or
    where the frame has no ``prompt_id``, single images, and they speak of these prompts alone. So do those of
    a calibration, which is of the very pictures that were drawn for it. Where prompts share four seeds or
    more (column ``seed``), pictures of one seed are taken to be as alike as they look
    (:class:`stereotrope.stats.Across`).

    References
    ----------
    Cohen (1960), Educ. Psychol. Meas. 20, eq. 1; Wilson (1927), JASA 22; Krippendorff (2011), Computing
    Krippendorff's alpha-reliability; Fleiss (1971), Psychological Bulletin 76; Gwet (2008), Br. J. Math.
    Stat. Psychol. 61.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": list("abcd"), "attribute": "text", "value": list("yynn")})
    >>> machine = human.with_columns(value=pl.Series(list("yyny")))
    >>> agreement(machine, human)["value"].to_list()
    [0.75, 0.5]
    >>> two = [human.with_columns(annotator=pl.lit("h")), machine.with_columns(annotator=pl.lit("m"))]
    >>> agreement(pl.concat(two)).select("definition", pl.col("value").round(3)).head(2).rows()
    [('observed', 0.75), ('krippendorff_alpha', 0.533)]
    """
    factors = factors_beside(by, "agreement")
    names = as_names(attribute, what="attribute") or None
    every, labels = labels, among(labels, raters, reference)
    if reference is None:
        if names and raters is not None:
            others, theirs = (
                set(to_polars(one, needs=("attribute",))["attribute"]) for one in (every, labels)
            )
            names = tuple(name for name in names if name in theirs or name not in others)
        rows = between_raters(labels, factors, names, taxonomy or {}, ordinal or {}, level)
        return estimate_frame(rows, factors=[name for name in factors if name != "annotator"])
    if ordinal:
        raise UsageError("agreement: ordinal is for annotators among each other; leave out reference, or it")
    looks, truth, factors, told = beside_reference(labels, reference, factors, names)
    rates = _with(truth, looks, factors, level, prompts=True)
    return rates.with_columns(**{name: pl.lit(value) for name, value in told.items()})


def _with(
    reference: Any, labels: Any, factors: Sequence[str], level: float, *, prompts: bool
) -> pl.DataFrame:
    """Accuracy and Cohen's κ."""
    pairs = paired_looks(labels, reference, factors)
    # A check knows the values that it planted: other words are errors there.
    pairs = with_apart(pairs) if prompts else pairs
    same = {"accuracy": pl.col("value") == pl.col("reference_value")}
    kappa = partial(_kappa, level=level, prompts=prompts)
    return hit_rates("agreement", pairs, same, factors, level, NO_PAIR, further=kappa, prompts=prompts)


def confusion(labels: Any, reference: Any, *, by: Sequence[str] = ()) -> pl.DataFrame:
    """Count which value the labels give for each value of the reference.

    labels, reference: As for :func:`agreement`.
    by: Factors of ``labels`` to count apart: an annotator may err otherwise on some groups.

    Returns: ``attribute, <by>, reference_value, value, n``, sorted. A side without a usable label stands in
    brackets with its reason, such as ``(unclear)``: nothing is dropped.

    Examples
    --------
    >>> import polars as pl
    >>> human = pl.DataFrame({"image_id": ["a", "b"], "attribute": "text", "value": ["yes", "no"]})
    >>> machine = human.with_columns(value=pl.Series(["yes", "unclear"]))
    >>> confusion(machine, human).rows()
    [('text', 'no', '(unclear)', 1), ('text', 'yes', 'yes', 1)]
    """
    apart = factor_names(by, measure="confusion", what="by")
    keys = ["attribute", *apart, "reference_value", "value"]
    pairs = paired_looks(labels, reference, apart).with_columns(
        value=pl.coalesce(pl.format("({})", "label_reason"), "value"),
        reference_value=pl.coalesce(pl.format("({})", reason_of("reference")), "reference_value"),
    )
    return pairs.group_by(keys).agg(n=pl.len().cast(pl.Int64)).sort(keys)


def _kappa(row: dict[str, Any], both: pl.DataFrame, *, level: float, prompts: bool) -> list[dict[str, Any]]:
    """The row of Cohen's κ, from that of the accuracy and the pairs."""
    row = {**row, "definition": "cohen_kappa", "value": None, "low": None, "high": None, "method": None}
    values = sorted({*both["value"], *both["reference_value"]})
    k = len(values)
    if k < 2 or "undefined" in row:
        return [{**row, "undefined": row.get("undefined", _BOTH_ONE)}]
    truth, given = (np.searchsorted(values, both[name].to_list()) for name in ("reference_value", "value"))
    pairs, patterns = np.unique(truth * k + given, return_inverse=True)

    def score(counts: NDArray[np.float64]) -> Any:
        table = np.zeros((*counts.shape[:-1], k * k))
        table[..., pairs] = counts
        return cohen_kappa(table.reshape(*counts.shape[:-1], k, k))

    value = float(score(np.bincount(patterns).astype(np.float64)))
    units = units_in(both, prompts=prompts)
    low, high = jackknifed(value, patterns, units, score, level)
    return [
        {
            **row,
            "value": value,
            "low": max(low, -1.0) if low == low else None,
            "high": high,
            "holds_for": None if low != low else units.claim.holds_for,
            "flags": {**row["flags"], "no_variation": low != low},
            "method": f"jackknife over {units.words}, on the scale of log(1 - κ)",
        }
    ]
