"""``stereotrope power``: the least shift that an audit would find, and the pictures for a wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from stereotrope.escape import terminal
from stereotrope.report.numbers import count, dollars
from stereotrope.terminal import console, print_json, print_line, print_rows, safe

if TYPE_CHECKING:
    from stereotrope.audit.power import Power
    from stereotrope.commands import Settings

_NONE = "none"


def powers(power: Power, shift: float) -> dict[str, Any]:
    """What is said of an audit, for scripts; null where nothing can be said."""
    from stereotrope.audit.power import SPREADS

    found = []
    for name, spread in SPREADS.items():
        if 0 < spread * power.n_comparisons <= 1:
            continue
        n = power.pictures(shift, spread)
        cost = None if n is None else power.price(n)
        found.append(
            {
                "differ": name,
                "smallest_shift": power.smallest(spread),
                "power": power.power(shift, spread),
                "pictures": n,
                "cost": None if cost is None else list(cost),
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


def print_power(power: Power, shift: float, settings: Settings, *, as_json: bool) -> None:
    """Print what an audit would find."""
    told = powers(power, shift)
    if as_json:
        print_json(told)
        return
    out = console(settings)
    of = count(told["comparisons"], "comparison")
    print_line(Text(terminal(power.plan.title), style="bold"), out)
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
        f"a shift of {shift:g} is found",
        f"pictures for {power.chance:.0%}",
        "price",
    ]
    print_rows("", columns, [_row(one) for one in told["found"]], out, named=1)
    out.print()
    clustered = power.most_prompts > 1
    for line in (
        f"Where nothing differs, {told['alike']:.0%} end as alike within ±{told['alike_within']:g}.",
        f"Simulated with the audit's own measures, to about {power.error:.2f}; baseline shares are drawn "
        "evenly from all that are possible, and every picture has a usable label.",
        f"Pictures of one prompt correlate at {power.icc:g} (`--icc`)." if clustered else "",
    ):
        if line:
            print_line(safe(line), out)


def _row(one: dict[str, Any]) -> list[str]:
    shift, n, cost = one["smallest_shift"], one["pictures"], one["cost"]
    return [
        one["differ"],
        _NONE if shift is None else f"{shift:.2f}",
        f"{one['power']:.0%}",
        "more than 5000" if n is None else str(n),
        "not known, add `price:`" if cost is None else "–".join(dict.fromkeys(map(dollars, cost))),
    ]
