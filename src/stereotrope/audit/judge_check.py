"""What a calibration found of an instrument, for the audits that use it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.errors import UsageError
from stereotrope.run import open as open_run

_CONFUSION = {"attribute": pl.String, "reference_value": pl.String, "value": pl.String, "n": pl.Int64}


@dataclass(frozen=True)
class JudgeCheck:
    """A calibration of one annotator.

    card: Its judge card: ``annotator, fingerprint, attributes, fit, checked_on, rows, sentence``.
    confusion: ``attribute, reference_value, value, n``: what was planted and what was read, of the attributes
        that are planted. A value in brackets is none, such as ``(unclear)``.
    """

    card: Mapping[str, Any]
    confusion: pl.DataFrame

    def judged(self, verdict: str) -> set[str]:
        """Attributes with this verdict: ``pass`` or ``fail``."""
        return {row["attribute"] for row in self.card["rows"] if row["verdict"] == verdict}


def judge_check_of(folder: Path | str, annotator: Annotator) -> JudgeCheck:
    """Read what a calibration found of the instrument that an audit uses.

    folder: The run folder of the calibration.
    annotator: The audit's annotator. It may be asked for some of the attributes that were checked, and have
        another name; model, parameters and wording must be those that were checked.

    Raises RunError: There is no run at ``folder``, or it cannot be read.
    Raises UsageError: The run is no calibration, or none of this instrument; the message says what differs.
    """
    cards: list[Mapping[str, Any]] = open_run(Path(folder)).info.get("judge_cards") or []
    if not cards:
        raise UsageError(
            f"{folder}: is no calibration; make one with `stereotrope calibrate --annotator … -o {folder}`"
        )
    for card in cards:
        checked = {name: None if v is None else tuple(v) for name, v in card["attributes"]}
        if annotator.fingerprint_with(checked) == card["fingerprint"]:
            confusion = pl.DataFrame(list(card["confusion"]), schema=_CONFUSION, orient="row")
            return JudgeCheck(card, confusion.filter(pl.col("attribute").is_in(list(annotator.attributes))))
    names = ", ".join(str(card["annotator"]) for card in cards)
    raise UsageError(
        f"{folder}: is no check of annotator {annotator.name!r} as it is asked here (checked: {names}); "
        "model, parameters, wording and value lists must be the same. Calibrate it as the audit asks it, "
        "or ask it as it was checked"
    )
