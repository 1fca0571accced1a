"""What should end a pipeline, by the headline of a run."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Any

import typer


class Gate(StrEnum):
    """What a pipeline may ask not to be there."""

    DIFFERENCES = "differences"
    UNDECIDED = "undecided"
    WARNINGS = "warnings"
    INCOMPLETE = "incomplete"


FailOn = Annotated[
    list[Gate] | None,
    typer.Option(
        "--fail-on",
        help="End with exit code 5 where the run shows it, repeatable: a difference; a comparison that has "
        "not enough pictures to differ or be alike; a warning about the instruments; something missing.",
    ),
]


def objections(headline: Mapping[str, Any], gates: Iterable[Gate]) -> list[str]:
    """Return what of a run is asked not to be there, a sentence each without its stop; nothing for nothing.

    Where nothing was compared, or an older version made the findings, which tested no list of comparisons, no
    difference can be ruled out: that is said for ``differences`` and ``undecided``.

    headline: As :func:`stereotrope.report.headline` returns it.

    >>> objections({"comparisons": {}, "findings": []}, [Gate.DIFFERENCES])
    ['no comparison was tested, so that nothing is known to be alike']
    """
    told = (_OF[gate](headline) for gate in dict.fromkeys(gates))
    return [one for one in told if one]


def _differences(headline: Mapping[str, Any]) -> str | None:
    return _untested(headline) or _of_comparisons(headline, "differs", "differ", "difference")


def _undecided(headline: Mapping[str, Any]) -> str | None:
    return _untested(headline) or _of_comparisons(headline, "not enough", "are undecided")


def _of_comparisons(headline: Mapping[str, Any], verdict: str, words: str, name: str = "") -> str | None:
    from stereotrope.report.numbers import count, thousands

    ended = headline["comparisons"]
    first = _first(headline, name) if name else ""
    n, of = ended.get(verdict, 0), count(sum(ended.values()), "comparison")
    return f"{thousands(n)} of {of} {words}{first}" if n else None


def _untested(headline: Mapping[str, Any]) -> str | None:
    if headline["comparisons"]:
        return None
    if any(one["list"] is None for one in headline["findings"]):
        return (
            "an older version made the findings, and tested no list of comparisons; run the audit into this "
            "folder again"
        )
    return "no comparison was tested, so that nothing is known to be alike"


def _warnings(headline: Mapping[str, Any]) -> str | None:
    from stereotrope.report.numbers import count

    n = headline["lists"].get("instrument", 0)
    return f"{count(n, 'warning')} about the instruments{_first(headline, 'instrument')}" if n else None


def _incomplete(headline: Mapping[str, Any]) -> str | None:
    items = headline["missing"]["items"]
    return f"something is missing: {items[0].removesuffix('.')}" if items else None


def _first(headline: Mapping[str, Any], name: str) -> str:
    told = next((one["sentence"] for one in headline["findings"] if one["list"] == name), None)
    return "" if told is None else f"; the first: {told.removesuffix('.')}"


_OF = {
    Gate.DIFFERENCES: _differences,
    Gate.UNDECIDED: _undecided,
    Gate.WARNINGS: _warnings,
    Gate.INCOMPLETE: _incomplete,
}
