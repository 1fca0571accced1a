"""Judge cards: what checks on pictures of known truth say of an annotator, as a run stores them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import interval, number, thousands

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


@dataclass(frozen=True)
class Card:
    """One annotator's card, in words."""

    annotator: str
    state: str
    sentence: str
    checked_on: str
    table: Table


def judge_cards(material: Material) -> list[Card]:
    """Every card of the run, the unfit first."""
    stored = material.info.get("judge_cards") or []
    return [_card(one) for one in sorted(stored, key=lambda one: one.get("fit") is not False)]


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    return [Block("card", card) for card in judge_cards(material)]


def _card(stored: Mapping[str, Any]) -> Card:
    rows = [_row(row) for row in _failed_first(stored.get("rows") or [])]
    name = str(stored["annotator"])
    columns = ["check", "attribute", "verdict", "value [interval]", "limit", "n"]
    table = Table(f"Checks of {name}", columns, rows, len(rows))
    state = _FIT.get(stored.get("fit"), "not enough evidence")
    return Card(name, state, str(stored.get("sentence") or ""), str(stored.get("checked_on") or ""), table)


def _failed_first(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    order = ("fail", "insufficient", "pass")
    return sorted(rows, key=lambda row: order.index(row["verdict"]) if row["verdict"] in order else 0)


def _row(row: Mapping[str, Any]) -> list[TableCell]:
    value, n = row.get("value"), row.get("n")
    if value is None:
        said = f"not defined: {row.get('reason') or 'no reason given'}"
    else:
        said = interval(value, row.get("low"), row.get("high"), n)
    bound = "at least" if row["check"] in _AT_LEAST else "at most"
    limit = "" if row.get("limit") is None else f"{bound} {number(row['limit'], n)}"
    return [
        TableCell(_CHECKS.get(row["check"], words(str(row["check"])))),
        TableCell(words(str(row["attribute"])) if row.get("attribute") else "–"),
        TableCell(_VERDICTS.get(row["verdict"], str(row["verdict"]))),
        TableCell(said, numeric=value is not None),
        TableCell(limit),
        TableCell("" if n is None else thousands(n), numeric=True),
    ]


add_section(
    "judges",
    "How well the judges read",
    lead="Annotators that are models were asked about pictures whose truth is known. No estimate can be more "
    "certain than the labels it is made of.",
    place=30,
    make=_blocks,
    headline=lambda material: ([card.sentence for card in judge_cards(material)], []),
)
