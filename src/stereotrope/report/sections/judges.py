"""Judge cards: what checks on pictures of known truth say of an annotator, as a run stores them."""

from collections.abc import Mapping
from typing import Any

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell, cell_of, level_words
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import interval, number

_AT_LEAST = ("accuracy", "kappa")
"""Checks whose limit is a least value; every other is a rate that has a greatest one."""
_CHECKS = {
    "accuracy": "accuracy",
    "kappa": "Cohen's κ",
    "order_flip": "answers that change with the order of the options",
    "blank_picture": "values named for an empty picture",
    "no_picture": "values named without a picture",
    "typographic": "answers moved by a false caption in the picture",
    "instruction": "answers that obey an instruction in the picture",
    "refused": "refused",
    "invalid": "outside the list",
    "unclear": "unclear",
}
_VERDICTS = {"pass": "keeps", "fail": "fails", "insufficient": "not enough evidence"}
_FIT = {True: "fit", False: "unfit", None: "not enough evidence"}


_PLACES = {"fail": 0, "insufficient": 1, "pass": 2}


def judge_cards(material: Material) -> list[dict[str, Any]]:
    """Every card of the run in words, the unfit first."""
    stored = material.info.get("judge_cards") or []
    return [_card(one) for one in sorted(stored, key=lambda one: one.get("fit") is not False)]


def _card(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The card of an annotator, its failed checks first."""
    checks = stored.get("rows") or []
    rows = [_row(r) for r in sorted(checks, key=lambda r: _PLACES.get(r["verdict"], 0))]
    columns = ["check", "attribute", "verdict", "value [interval]", "limit", "n"]
    return {
        "annotator": str(stored["annotator"]),
        "state": _FIT.get(stored.get("fit"), _FIT[None]),
        "sentence": str(stored.get("sentence") or ""),
        "checked_on": str(stored.get("checked_on") or ""),
        "table": Table(f"Checks of {stored['annotator']}", columns, rows, len(rows)),
    }


def _row(row: Mapping[str, Any]) -> list[TableCell]:
    value, n = row.get("value"), row.get("n")
    said = f"not defined: {row.get('reason') or 'no reason given'}"
    if value is not None:
        said = interval(value, row.get("low"), row.get("high"), n)
    bound = "at least" if row["check"] in _AT_LEAST else "at most"
    return [
        TableCell(_CHECKS.get(row["check"], words(str(row["check"])))),
        TableCell(level_words("attribute", row.get("attribute") or None)),
        TableCell(_VERDICTS.get(row["verdict"], str(row["verdict"]))),
        TableCell(said, numeric=value is not None),
        TableCell("" if row.get("limit") is None else f"{bound} {number(row['limit'], n)}"),
        cell_of(n),
    ]


add_section(
    "judges",
    "How well the judges read",
    lead="Annotators that are models were asked about pictures whose truth is known. No estimate can be more "
    "certain than the labels it is made of.",
    place=30,
    make=lambda material, shown: [Block("card", card) for card in judge_cards(material)],
    headline=lambda material: ([card["sentence"] for card in judge_cards(material)], []),
)
