"""``stereotrope power``: the least shift that an audit would find, its intervals, and what pictures cost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rich.text import Text

from stereotrope.errors import AuditFileError
from stereotrope.escape import terminal
from stereotrope.report.numbers import count, dollars
from stereotrope.terminal import console, print_json, print_line, print_rows, safe

if TYPE_CHECKING:
    from rich.console import Console

    from stereotrope.audit import Plan
    from stereotrope.audit.detection import AuditDetection
    from stereotrope.audit.power import Power
    from stereotrope.audit.precision import AuditPrecision
    from stereotrope.commands import Settings

_NONE = "none"
_NOT_KNOWN = "not known"
_TOO_LARGE = (
    "How large differences of scores must be is not made up for so many pictures; ask with fewer "
    "`images_per_prompt` or prompts."
)


def print_power(
    plan: Plan,
    shift: float,
    half: float,
    settings: Settings,
    *,
    as_json: bool,
    chance: float,
    icc: float,
) -> None:
    """Print what an audit would find, and how exact its numbers would be.

    shift: Of one value's share, that matters.
    half: Of the width of an interval, that is wanted.
    chance, icc: Of :class:`stereotrope.audit.power.Power`.
    Raises AuditFileError: Neither can be made up for the audit.
    """
    from stereotrope.audit.detection import AuditDetection
    from stereotrope.audit.power import Power
    from stereotrope.audit.precision import AuditPrecision

    precision = AuditPrecision(plan, half, icc)
    intervals = list(_intervals(precision))
    told: dict[str, Any] = {}
    why, labelled = None, None
    try:
        power = Power(plan, chance, icc)
        told = _powers(power, shift)
        labelled = power.measures
    except AuditFileError as error:
        why = error
    detection = AuditDetection(plan, shift, labelled or (), chance, icc)
    others = list(_others(detection))
    if why is not None and not intervals and not others:
        raise why
    if as_json:
        whole = {
            "all_comparisons": detection.n_comparisons,
            "others": None if detection.too_large else others,
        }
        refused = None if why is None else str(why)
        print_json({**told, "refused": refused, **whole, "half_width": half, "intervals": intervals})
        return
    out = console(settings)
    print_line(Text(terminal(plan.title), style="bold"), out)
    if why is None:
        _print_found(power, told, out)
    elif not others and not detection.too_large:
        print_line(safe("Differences: nothing is tested that pictures can be made up for."), out)
    if detection.too_large:
        print_line(safe(_TOO_LARGE), out)
    if others:
        out.print()
        _print_others(detection, others, out)
    if intervals:
        out.print()
        _print_intervals(precision, intervals, out)
    if any(one["cost"] is None for one in (*told.get("found", ()), *others, *intervals) if one["pictures"]):
        print_line(safe("A price is not known where a generator or annotator has no `price:`."), out)


def _powers(power: Power, shift: float) -> dict[str, Any]:
    """What is said of differences, for scripts; null where nothing can be said."""
    from stereotrope.audit.power import SPREADS

    found = []
    for name, spread in SPREADS.items():
        if 0 < spread * power.n_comparisons <= 1:
            continue
        n = power.pictures(shift, spread)
        found.append(
            {
                "differ": name,
                "smallest_shift": power.smallest(spread),
                "power": power.power(shift, spread),
                "pictures": n,
                "cost": _cost(None if n is None else power.price(n)),
            }
        )
    return {
        "comparisons": power.n_comparisons,
        "pictures": power.n,
        "shift": shift,
        "chance": power.chance,
        "icc": power.icc,
        "alpha": power.alpha,
        "level": round(power.level, 12),
        "alike_within": power.plan.spec.alike_within,
        "alike": power.at(0.0).alike,
        "found": found,
    }


def _others(detection: AuditDetection) -> Iterator[dict[str, Any]]:
    """What is said of differences of other kinds, for scripts; null where nothing can be said."""
    for kind in detection.kinds:
        n = detection.pictures(kind) if kind.of_shares else None
        yield {
            "measure": kind.measure,
            "by": list(kind.by),
            "contrast": kind.contrast,
            "of_shares": kind.of_shares,
            "comparisons": kind.n_comparisons,
            "smallest": kind.smallest(detection.chance),
            "power": kind.power(detection.size) if kind.of_shares else None,
            "pictures": n,
            "more_than": detection.more_than(kind) if kind.of_shares else None,
            "cost": _cost(None if n is None else detection.price(n)),
        }


def _intervals(precision: AuditPrecision) -> Iterator[dict[str, Any]]:
    """What is said of intervals, for scripts; null where nothing can be said."""
    for width in precision.widths:
        n, more_than = precision.pictures(width), precision.more_than(width)
        yield {
            "measure": width.measure,
            "definition": width.definition,
            "by": list(width.by),
            "mean_over": width.aggregate,
            "all_attributes": width.attributes,
            "n": width.n,
            "half_width": width.half,
            "pictures": n,
            "more_than": more_than,
            "times_prompts": precision.prompts(width),
            "cost": _cost(None if n is None else precision.price(n)),
        }


def _cost(of: tuple[float, float] | None) -> list[float] | None:
    return None if of is None else list(of)


def _print_found(power: Power, told: dict[str, Any], out: Console) -> None:
    of = count(told["comparisons"], "comparison")
    for line in (
        f"{of} of {count(power.n, 'picture')} a condition; false discovery rate {power.alpha:g} over all, of "
        f"which the first look at the run has {power.level:.2g} (`looks`).",
        "A shift is how much the share of one value grows; the others shrink in proportion.",
    ):
        print_line(safe(line), out)
    out.print()
    columns = [
        "comparisons that differ",
        f"smallest shift found {power.chance:.0%}",
        f"a shift of {told['shift']:g} is found",
        f"pictures for {power.chance:.0%}",
        "price",
    ]
    print_rows("", columns, [_found(one) for one in told["found"]], out, named=1)
    out.print()
    prompts = power.most_prompts
    clustered = prompts > 1
    few = (
        f"More pictures of {prompts} prompts tell no more beside {of}: add prompts, compare fewer attributes "
        "or conditions, or take conditions together (`within`)."
    )
    for line in (
        few if clustered and all(one["pictures"] is None for one in told["found"]) else "",
        f"Where nothing differs, {told['alike']:.0%} end as alike within ±{told['alike_within']:g}.",
        f"Simulated with the audit's own measures, to about {power.error:.2f}; baseline shares are drawn "
        "evenly from all that are possible, and every picture has a usable label.",
        f"Pictures of one prompt correlate at {power.icc:g} (`--icc`)." if clustered else "",
    ):
        if line:
            print_line(safe(line), out)


def _found(one: dict[str, Any]) -> list[str]:
    shift, n = one["smallest_shift"], one["pictures"]
    return [
        one["differ"],
        _NONE if shift is None else f"{shift:.2f}",
        f"{one['power']:.0%}",
        "more than 5000" if n is None else str(n),
        "–" if n is None else _price(one["cost"]),
    ]


def _pictures(n: float) -> str:
    number = _number(n, 3)
    return f"{number} picture{'s' * (number != '1')}"


def _number(of: float, digits: int = 2) -> str:
    """In so many digits, and never as a power of ten."""
    return f"{of:.{digits}g}" if of < 10**digits - 0.5 else f"{of:.0f}"


def _price(cost: list[float] | None) -> str:
    return _NOT_KNOWN if cost is None else "–".join(dict.fromkeys(map(dollars, cost)))


def _print_others(detection: AuditDetection, others: list[dict[str, Any]], out: Console) -> None:
    columns = [
        "comparison",
        "for each",
        "comparisons",
        f"smallest told {detection.chance:.0%}",
        f"{detection.size:g} is told",
        f"pictures a prompt for {detection.chance:.0%}",
        "price",
    ]
    among = count(detection.n_comparisons, "comparison")
    title = f"Differences of scores, {_pictures(detection.n)} a prompt, one alone among {among}"
    print_rows(title, columns, [_other(one) for one in others], out, named=2)
    out.print()
    line = (
        "Sizes are in the unit of the score. Simulated with the audit's own measures, shares drawn evenly "
        "from all that are possible, models unlike: chances to about 0.05, of a comparison that comes once "
        "to about 0.1. “More prompts”: more pictures of these do not help."
    )
    print_line(safe(line), out)
    if detection.unknown:
        print_line(safe(f"Tested, but not made up: {', '.join(detection.unknown)}."), out)


def _other(one: dict[str, Any]) -> list[str]:
    smallest, n = one["smallest"], one["pictures"]
    known = one["of_shares"] and smallest is not None
    more = f"more than {one['more_than']}" if one["more_than"] is not None else "more prompts"
    between = f", between levels of {one['contrast']}" if one["contrast"] else ""
    return [
        one["measure"] + between,
        ", ".join(one["by"]) or "–",
        str(one["comparisons"]),
        _NONE if smallest is None else f"{smallest:.2g}",
        "–" if one["power"] is None else f"{one['power']:.0%}",
        str(n) if n is not None else more if known else "–",
        "–" if n is None else _price(one["cost"]),
    ]


def _print_intervals(precision: AuditPrecision, intervals: list[dict[str, Any]], out: Console) -> None:
    columns = ["number", "for each", "±", f"pictures a prompt for ±{precision.half:g}", "price"]
    kinds = [(one["measure"], one["by"], one["mean_over"], one["all_attributes"]) for one in intervals]
    rows = [_interval(one, kinds.count(kind) > 1) for one, kind in zip(intervals, kinds, strict=True)]
    print_rows(f"Intervals of {_pictures(precision.n)} a prompt", columns, rows, out, named=2)
    out.print()
    lines = [
        "± is half of a typical interval: simulated with the audit's own measures, shares drawn evenly from "
        "all that are possible, nothing refused, models alike; pictures of one prompt correlate at "
        f"{precision.icc:g} (`--icc`) where a number spans several.",
        "“× prompts”: more pictures do not help, prompts (or what it is a mean over) differ by more; so many "
        "times as many would. “Another scale”: the number may lie beyond 1.",
    ]
    if precision.unknown:
        lines.append(f"Not made up: {', '.join(precision.unknown)}.")
    for line in lines:
        print_line(safe(line), out)


def _interval(one: dict[str, Any], defined: bool) -> list[str]:
    """A line; ``defined``: whether another definition has one, too."""
    n = one["pictures"]
    times = one["times_prompts"]
    if times is not None:
        more = f"× {_number(times)} prompts"
    else:
        more = "another scale" if one["more_than"] is None else f"more than {one['more_than']}"
    said = (
        one["measure"],
        one["definition"] if defined else "",
        "all attributes" if one["all_attributes"] else "",
        f"mean over {one['mean_over']}" if one["mean_over"] else "",
    )
    return [
        ", ".join(filter(None, said)),
        ", ".join(one["by"]) or "–",
        f"{one['half_width']:.2g}",
        str(n) if n is not None else more,
        "–" if n is None else _price(one["cost"]),
    ]
