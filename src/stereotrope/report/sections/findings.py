"""What stands out, the strongest findings with their pictures, and the cases in which all pictures agree."""

from collections.abc import Mapping
from typing import Any

from stereotrope.report.contract import Block, add_section
from stereotrope.report.exhibits import Exhibits, exhibited
from stereotrope.report.material import Material, image_ids, words

_FINDINGS, _CASES, _OPEN_CASES = 5, 8, 4
_MOST_PICTURES = 4
_KINDS = {"deterministic": "One value only", "dominance_shift": "Another dominant value"}


def _cases(material: Material) -> list[dict[str, Any]]:
    return [row for row in material.findings.iter_rows(named=True) if row["kind"] in _KINDS]


def _findings_block(material: Material, shown: Exhibits) -> list[Block]:
    told = [
        {"sentence": row["sentence"], "groups": shown.groups(image_ids(row), most=_MOST_PICTURES)}
        for row in material.findings.head(_FINDINGS).iter_rows(named=True)
    ]
    return [Block("findings", told)]


def _cases_block(material: Material, shown: Exhibits) -> list[Block]:
    rows = _cases(material)
    told = [_case(row, shown) for row in rows[:_CASES]]
    left = max(0, len(rows) - _CASES)
    return [Block("cases", {"cases": told, "open": _OPEN_CASES, "left": left})] if told else []


def _case(row: Mapping[str, Any], shown: Exhibits) -> dict[str, Any]:
    kind, attribute = _KINDS[row["kind"]], row["attribute"]
    title = f"{kind}: {words(attribute)}" if attribute else kind
    return {"title": title, "sentence": row["sentence"], "groups": shown.groups(image_ids(row))}


add_section(
    "findings",
    "What stands out",
    place=10,
    make=_findings_block,
    large=lambda material: exhibited(material, material.findings.head(_FINDINGS).iter_rows(named=True)),
)
add_section(
    "cases",
    "Repetition and change, with the pictures",
    lead="Conditions in which all pictures agree, and most frequent values that change.",
    place=90,
    make=_cases_block,
    large=lambda material: exhibited(material, _cases(material)[:_CASES]),
)
