"""How far a judge of sets is right: against people, and what people would find."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.inputs.options import shorten
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo, register
from stereotrope.measure.rubric.reading import as_given, call_of_items, judges_of, read_sets
from stereotrope.measure.setting import MeasureSetting
from stereotrope.measure.shares.agreement import agreement
from stereotrope.measure.shares.by_class import class_agreement
from stereotrope.measure.shares.powered import ppi_share
from stereotrope.measure.tidy import factor_names, pooled_factors, to_polars
from stereotrope.tables import ALL_ATTRIBUTES

TIE = "as many answers yes as no"


def call_beside_people(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure that sets judges beside an annotator of sets who is taken for right.

    Raises UsageError: There is none of that name, or nobody beside it.
    """
    names = [one.name for one in judges_of(setting)]
    reference = given.get("reference")
    if reference not in names or len(names) < 2:
        hint = did_you_mean(str(reference), names, otherwise=f"there is: {', '.join(names) or 'none'}")
        raise UsageError(
            f"reference must be an annotator of sets beside a judge, found {shorten(reference)}; {hint}. "
            "What people said of sets is read by `{set_labels: human.csv, name: people}`"
        )
    raters = [name for name in names if name != reference]
    call = call_of_items(info, {"raters": raters, **given}, setting, calls)
    by = [name for name in call.arguments["by"] if name != "annotator"]
    return replace(call, arguments={**call.arguments, "by": by})


def has_people(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether there is an annotator of sets of the name that an entry of a suite gives."""
    names = [one.name for one in judges_of(setting)]
    return given.get("reference") in names and len(names) > 1


@register(
    suite="ssi",
    bounds=(-1.0, 1.0),
    direction="1: the judge says what people say; κ 0: no more than chance",
    source="Barve et al. 2026, Table 4; Cohen 1960; van Rijsbergen 1979; Wilson 1927",
    subject="set",
    own_bounds=dict.fromkeys(("accuracy", "precision", "recall", "f1"), (0.0, 1.0)),
    call=call_beside_people,
    due=has_people,
)
def set_agreement(
    labels: Any,
    reference: str,
    *,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    query: str | None = None,
    raters: Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How far a judge of sets answers as people do: accuracy, κ, and precision and recall of each answer.

    Formula
    -------
    As of :func:`stereotrope.measure.agreement` and :func:`stereotrope.measure.class_agreement`, a set and
    item being what is labelled; of a set that was judged several times what most of its answers say.

    Parameters
    ----------
    labels, items, by, query, level
        As for :func:`stereotrope.measure.ssi`, with the column ``annotator``; with ``attribute`` among ``by``
        items are told apart, else they are pooled.
    reference, raters
        The annotator who is taken for right, and those who are compared with it; all others when None.

    Returns
    -------
    polars.DataFrame
        Rows as of those two, ``annotator`` the judge, ``contrast`` ``annotator`` and ``reference`` the name
        of the reference: ``accuracy``, ``cohen_kappa``, and ``precision``, ``recall`` and ``f1`` of yes and
        of no. ``n`` counts answers that both gave.

    Undefined
    ---------
    As of these two; an even number of answers of which half is yes is none.

    Notes
    -----
    Where an item is rare, an accuracy is high by saying no: read κ, and the recall of yes. The answers about
    a set are
    alike, and so are those about a query: with four queries or more these are the units.

    References
    ----------
    Barve et al. (2026), Social stereotypes in AI text-to-image generation, Table 4; Cohen (1960), Educ.
    Psychol. Meas. 20; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> judge = pl.DataFrame({"image_id": list("abcd"), "attribute": "hats", "annotator": "judge"})
    >>> judge = judge.with_columns(value=pl.Series(["yes", "yes", "no", "no"]))
    >>> people = judge.with_columns(value=pl.Series(["yes", "no", "no", "no"]), annotator=pl.lit("people"))
    >>> found = set_agreement(pl.concat([judge, people]), "people", by=[])
    >>> found.select("definition", "value").head(2).rows()
    [('accuracy', 0.75), ('cohen_kappa', 0.5)]
    """
    told, factors = _answers(labels, reference, items, by, query, raters, "set_agreement")
    shared: dict[str, Any] = {"by": ["attribute", *factors], "level": level}
    made = [agreement(told, reference, **shared), class_agreement(told, reference, **shared)]
    return pl.concat(made, how="diagonal").with_columns(measure=pl.lit("set_agreement"))


@register(
    suite="ssi",
    bounds=(0.0, 1.0),
    direction="higher: people would find more of the rubric's items",
    source="Angelopoulos, Duchi and Zrnic 2023 (PPI++)",
    subject="set",
    call=call_beside_people,
    due=has_people,
)
def ppi_ssi(
    labels: Any,
    reference: str,
    *,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = ("generator",),
    query: str | None = None,
    raters: Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""Which share of a rubric's items people would find: their answers about some sets, a judge's about all.

    Formula
    -------
    As of :func:`stereotrope.measure.ppi_share`, of the value ``yes``, a set and item being what is labelled,
    all items pooled: where each set of a cell has as many items, that is the index that people would give.

    Parameters
    ----------
    labels, items, by, query, level
        As for :func:`stereotrope.measure.ssi`, with the column ``annotator``.
    reference, raters
        The annotator whose answers are taken for right, about some of the sets, drawn at random; and the
        judges.

    Returns
    -------
    polars.DataFrame
        One row a cell and judge, ``attribute`` ``all``, ``category`` ``yes``; ``value`` in [0, 1]. ``n``
        counts answers of the judge, ``n_reference`` those of them that people gave too.

    Undefined
    ---------
    As of :func:`stereotrope.measure.ppi_share`.

    Notes
    -----
    Whatever the judge's errors, the interval is right about what these people would say, where the sets that
    they saw are a random part (``sample_unlike`` where not, see :func:`stereotrope.measure.ppi_share`); it
    stands beside the raw index, never instead of it.

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: Efficient prediction-powered inference, arXiv:2311.01453.

    Examples
    --------
    >>> import polars as pl
    >>> said = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(420)], "attribute": "hats", "annotator": "judge",
    ...     "value": ["yes"] * 8 + ["no"] * 12 + ["yes"] * 200 + ["no"] * 200,
    ... })
    >>> people = said.head(20).with_columns(
    ...     annotator=pl.lit("people"), value=pl.Series(["yes"] * 10 + ["no"] * 10)
    ... )
    >>> ppi_ssi(pl.concat([said, people]), "people", by=[]).select(pl.col("value").round(2)).item()
    0.57
    """
    told, factors = _answers(labels, reference, items, by, query, raters, "ppi_ssi")
    people = told.filter(annotator=reference)
    judges = told.filter(pl.col("annotator") != reference)
    # What tells sets apart and is pooled says whether people saw a random part of them.
    frame = to_polars(labels)
    pooled = [name for name in pooled_factors(frame, by) if name not in judges.columns]
    sets = as_given(frame, ["images"], frame["image_id"].cast(pl.String))
    known = frame.select(sets.alias("images"), *pooled).unique("images", keep="first", maintain_order=True)
    judges = judges.join(known, on="images", how="left", maintain_order="left")
    made = ppi_share(judges, people, value="yes", of=("yes", "no"), by=[*factors, "annotator"], level=level)
    return made.with_columns(measure=pl.lit("ppi_ssi"))


def _answers(
    labels: Any,
    reference: str,
    items: str | Sequence[str] | None,
    by: Sequence[str],
    query: str | None,
    raters: Sequence[str] | None,
    measure: str,
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    """One answer a set, item and annotator as a tidy frame, and the factors that tell cells apart."""
    listed = factor_names(by, measure=measure, what="by")
    factors = tuple(name for name in listed if name not in ("annotator", "attribute"))
    frame = to_polars(labels, needs=("annotator",))
    names = (
        frame["annotator"].unique(maintain_order=True).to_list() if raters is None else [*raters, reference]
    )
    if reference not in names:
        raise UsageError(f"{measure}: no annotator {reference!r}; there is: {', '.join(map(str, names))}")
    parts = [
        _one_answer(cell.answers, dict(zip(factors, cell.key, strict=True)), name, "attribute" in listed)
        for name in names
        for cell in read_sets(frame, measure=measure, by=factors, items=items, query=query, raters=[name])
    ]
    return pl.concat(parts), factors


def _one_answer(
    answers: pl.DataFrame, levels: Mapping[str, str | None], annotator: str, apart: bool
) -> pl.DataFrame:
    """What most answers about each set and item say."""
    yes = pl.col("yes")
    value = pl.when(yes > 0.5).then(pl.lit("yes")).when(yes < 0.5).then(pl.lit("no"))
    why = pl.when(yes.is_null()).then(pl.col("lost").list.first()).when(yes == 0.5).then(pl.lit(TIE))
    alike = {**levels, "annotator": annotator}
    return answers.select(
        images="set",
        image_id=pl.concat_str("set", "item", separator=" "),
        prompt_id="query",
        attribute="item" if apart else pl.lit(ALL_ATTRIBUTES),
        value=value,
        excluded=why,
        seed="seed",
        **{name: pl.lit(level, pl.String) for name, level in alike.items()},
    )
