"""How far a judge of sets holds: whether it says the same again, and what it says without the images."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from stereotrope.errors import UsageError
from stereotrope.measure.contract import Calls, MeasureCall, MeasureInfo, register
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.rubric.reading import Sets, call_of_items, judges_of, read_sets
from stereotrope.measure.rubric.rows import rows_of
from stereotrope.measure.setting import MeasureSetting
from stereotrope.measure.tidy import factor_names

NOT_TWICE = "no set with two usable answers"
NO_CONTROL_PAIR = "no set with a usable answer from both"
_SHARE = "control_share"


def call_of_looks(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure of judges that look again; a file of answers does not."""
    looking = [one.name for one in judges_of(setting) if one.looks]
    return call_of_items(info, {"raters": looking, **given} if looking else given, setting, calls)


@register(
    suite="ssi",
    bounds=(0.0, 1.0),
    direction="0: says the same again; 0.5: as a coin",
    source="Wilson 1927",
    subject="set",
    call=call_of_looks,
)
def item_flip_rate(
    labels: Any,
    *,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = (),
    query: str | None = None,
    raters: Sequence[str] | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How often a judge answers an item otherwise when it sees the same images again in another order.

    Formula
    -------
    Of a set with ``k`` usable answers to an item, ``y`` of them yes, the share of its pairs of answers that
    differ, :math:`f = 2y(k - y)/(k(k - 1))`; the mean over the sets of a query, then over queries.

    Parameters
    ----------
    labels, items, by, query, raters, level
        As for :func:`stereotrope.measure.ssi`; sets with the same ``images`` are repetitions.

    Returns
    -------
    polars.DataFrame
        One row a cell and item, and one over all items (``attribute`` ``all``: the mean over the items of
        each set); ``value`` in [0, 1], of an item with Wilson's interval, a query counting as one
        observation, which is cautious, and of all items with Student's over queries that differ. ``n`` counts
        sets with two usable answers, ``excluded`` answers that cannot be used.

    Undefined
    ---------
    ``no set with two usable answers``.

    Notes
    -----
    Of two answers that differ one is wrong, so that a flip rate f leaves an accuracy of at most 1 − f/2. One
    that answers always alike never flips: read the controls too. The order of images and of items both
        change.

    References
    ----------
    Student (1908), Biometrika 6; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> labels = pl.DataFrame({
    ...     "image_id": ["a1", "a2", "b1", "b2"], "images": ["a", "a", "b", "b"], "attribute": "hats",
    ...     "value": ["yes", "no", "no", "no"],
    ... })
    >>> item_flip_rate(labels)["value"].to_list()
    [0.5, 0.5]
    """
    k, yes = pl.col("k"), pl.col("yes") * pl.col("k")
    flips = pl.when(k > 1).then(2 * yes * (k - yes) / (k * (k - 1)))
    pairs = [
        cell._replace(answers=cell.answers.with_columns(yes=flips))
        for cell in read_sets(
            labels, measure="item_flip_rate", by=by, items=items, query=query, raters=raters
        )
    ]
    told = {"measure": "item_flip_rate", "level": level, "source": "Student 1908; Wilson 1927"}
    rows = [row for one in rows_of(pairs, by, told, NOT_TWICE, "wilson") for row in one]
    return estimate_frame(rows, factors=tuple(by))


def call_of_controls(
    info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
) -> MeasureCall:
    """The call of a measure that compares judges with their controls, which the audit knows.

    Raises UsageError: There is no control.
    """
    controls = _controls(setting)
    if not controls and "controls" not in given:
        raise UsageError(
            "compares judges with their controls, and there is none; add an annotator such as "
            "`{judge: openai:gpt-4o, rubric: …, control: neutral}`"
        )
    kinds = {one.name: str(one.control) for one in setting.annotators if one.name in controls}
    return call_of_items(info, {"controls": controls, "kinds": kinds, **given}, setting, calls)


def has_controls(given: Mapping[str, Any], setting: MeasureSetting, calls: Calls) -> bool:
    """Whether any annotator is a control of another."""
    return bool(_controls(setting))


def _controls(setting: MeasureSetting) -> dict[str, str]:
    names = {one.name for one in setting.annotators}
    return {
        one.name: one.control_of
        for one in setting.annotators
        if one.subject == "set" and one.control_of in names
    }


@register(
    suite="ssi",
    bounds=(-1.0, 1.0),
    direction="above 0: found less often under the control; 0: as often",
    source="Student 1908; Wilson 1927",
    subject="set",
    also=(_SHARE,),
    own_bounds={_SHARE: (0.0, 1.0)},
    call=call_of_controls,
    due=has_controls,
)
def control_difference(
    labels: Any,
    controls: Mapping[str, str],
    *,
    kinds: Mapping[str, str] | None = None,
    items: str | Sequence[str] | None = None,
    by: Sequence[str] = (),
    query: str | None = None,
    level: float = 0.95,
) -> pl.DataFrame:
    r"""How much less a judge finds when the query is a neutral one, or when there are no images.

    Formula
    -------
    The mean over queries of :math:`x - x'`, each the mean of its sets, with :math:`x` the share of a judge's
    answers to an item that are yes and :math:`x'` that of its control about the same images; over all items
    the difference of both indices (:func:`stereotrope.measure.ssi`).

    Parameters
    ----------
    labels
        As for :func:`stereotrope.measure.ssi`, with the column ``annotator``.
    controls
        Name of each control → the annotator that it is one of; in an audit those with ``control``.
    kinds
        What each shows, for the column ``definition``: ``neutral``, ``blind``; ``control`` when None.
    items, by, query, level
        As for :func:`stereotrope.measure.ssi`.

    Returns
    -------
    polars.DataFrame
        For each cell and control one row an item and one over all (``attribute`` ``all``), with ``annotator``
        the judge, ``contrast`` ``annotator`` and ``reference`` the control: ``control_difference`` in [−1, 1]
        with Student's interval over queries, and ``control_share``, what the control itself says, in [0, 1],
        with intervals as :func:`stereotrope.measure.item_flip_rate`. ``n`` counts sets that both answered.

    Undefined
    ---------
    ``no set with a usable answer from both``. The difference has no interval below four queries
    (``few_queries``), nor where all are alike (``no_variation``).

    Notes
    -----
    ``blind``: without images there is nothing to find, so any ``control_share`` above 0 is what the judge
    expects of the query. ``neutral``: the images are the same, so that a difference goes with the words of
    the query. A part of it may be right: that clothes repeat a stereotype of a nationality can be seen only
    by who knows which is meant. A judge that does not look shows in one of both: it finds as much without the
    images, or what it finds goes with the words.

    References
    ----------
    Student (1908), Biometrika 6; Wilson (1927), JASA 22.

    Examples
    --------
    >>> import polars as pl
    >>> one = pl.DataFrame({"image_id": ["a", "b"], "attribute": "hats", "value": ["yes", "yes"]})
    >>> two = one.with_columns(value=pl.Series(["yes", "no"]), annotator=pl.lit("j (blind)"))
    >>> both = pl.concat([one.with_columns(annotator=pl.lit("j")), two])
    >>> found = control_difference(both, {"j (blind)": "j"}, kinds={"j (blind)": "blind"})
    >>> found.select("measure", "attribute", "value").rows()[:2]
    [('control_difference', 'all', 0.5), ('control_share', 'all', 0.5)]
    """
    listed = factor_names(by, measure="control_difference", what="by")
    factors = tuple(name for name in listed if name != "annotator")
    rows: list[dict[str, Any]] = []
    for control, judge in controls.items():
        told: dict[str, Any] = {"measure": "control_difference", "by": factors, "items": items}
        told["query"] = query
        sides = [
            {cell.key: cell for cell in read_sets(labels, raters=[name], **told)} for name in (judge, control)
        ]
        shared = {
            "definition": (kinds or {}).get(control, "control"),
            "annotator": judge,
            "contrast": "annotator",
            "reference": control,
        }
        pairs = [(sides[0][key], sides[1][key]) for key in sides[0] if key in sides[1]]
        rows += [{**row, **shared} for row in _beside(pairs, factors, level)]
    return estimate_frame(rows, factors=(*factors, "annotator"))


def _beside(pairs: Sequence[tuple[Sets, Sets]], by: Sequence[str], level: float) -> list[dict[str, Any]]:
    """The rows of each cell of a judge and its control: of all items, then of each."""
    both = [(judge, _both(judge.answers, control.answers)) for judge, control in pairs]
    away = {"measure": "control_difference", "level": level, "source": "Student 1908"}
    share = {"measure": _SHARE, "level": level, "source": "Student 1908; Wilson 1927"}
    made = zip(
        rows_of([_of(*one, "difference") for one in both], by, away, NO_CONTROL_PAIR, "signed"),
        rows_of([_of(*one, "share") for one in both], by, share, NO_CONTROL_PAIR, "wilson"),
        strict=True,
    )
    return [row for cell in made for pair in zip(*cell, strict=True) for row in pair]


def _both(judge: pl.DataFrame, control: pl.DataFrame) -> pl.DataFrame:
    """Answers of which both gave one, with their difference."""
    keys = ["query", "set", "item"]
    second = control.select(*keys, other="yes", other_lost="lost", other_k="k", other_of="of")
    both = judge.join(second, on=keys, how="inner", maintain_order="left")
    known = pl.col("yes").is_not_null() & pl.col("other").is_not_null()
    return both.with_columns(
        lost=pl.col("lost").list.concat("other_lost"),
        k=pl.min_horizontal(pl.col("k") / pl.col("of"), pl.col("other_k") / pl.col("other_of")),
        of=pl.lit(1),
        difference=pl.when(known).then(pl.col("yes") - pl.col("other")),
        share=pl.when(known).then("other"),
    )


def _of(cell: Sets, answers: pl.DataFrame, column: str) -> Sets:
    return cell._replace(answers=answers.with_columns(yes=column))
