"""What is missing: refusals, pictures that cannot be used, labels without a value, by model and group."""

from collections import Counter

import polars as pl

from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import plain_table
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.missing_counts import factor_of_missing, missing_counts, missing_table, texts_of
from stereotrope.report.prose import listing
from stereotrope.tables import N_SUBJECTS

_MOST_REASONS = 40
_UNDELIVERED = "Asked pictures that did not come, by condition"


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    missing = missing_table(material, shown.thumbs.told)
    content = {**missing, "reasons": _reasons(material)[:_MOST_REASONS], "undelivered": None}
    content["table"] = plain_table(_title(material), missing, "missing")
    lacking = _undelivered(material)
    if lacking.height:
        content["undelivered"] = plain_table(_UNDELIVERED, texts_of(lacking), "undelivered")
    return [Block("missing", content)]


def _tables(material: Material) -> dict[str, tuple[str, pl.DataFrame]]:
    told = {"missing": (_title(material), missing_counts(material)[1])}
    lacking = _undelivered(material)
    return told | ({"undelivered": (_UNDELIVERED, lacking)} if lacking.height else {})


def _title(material: Material) -> str:
    return f"What is missing, by {listing(['model', *map(words, factor_of_missing(material))])}"


def _undelivered(material: Material) -> pl.DataFrame:
    """Conditions of which files made elsewhere hold fewer pictures than the design asks for."""
    levels = {
        row["prompt_id"]: row for row in material.prompts.select("prompt_id", *material.shown).to_dicts()
    }
    rows = [
        [
            model,
            *(levels.get(one.get("prompt_id"), {}).get(f) for f in material.shown),
            one.get("asked"),
            one.get("came"),
        ]
        for told in material.info.get("undelivered") or ()
        for model in told["generators"]
        for one in told["prompts"]
    ]
    heads = dict.fromkeys(map(words, ["generator", *material.shown]), pl.String())
    return pl.DataFrame(rows, schema=heads | dict.fromkeys(("asked", "came"), pl.Int64()), orient="row")


def _reasons(material: Material) -> list[tuple[str, int]]:
    """Why pictures were refused or excluded and labels have no value, with counts."""
    found: Counter[str] = Counter()
    for what, rows, why in (
        ("picture", material.pictures, "reason"),
        ("label", material.every_label, "attribute"),
    ):
        number = pl.col(N_SUBJECTS).sum() if N_SUBJECTS in rows.columns else pl.len()
        counts = rows.filter(pl.col("status") != "ok").group_by("status", why).agg(n=number)
        for status, reason, n in counts.iter_rows():
            told = (reason or "no reason given") if what == "picture" else words(reason)
            found[f"{what} {status}: {told}"] += n
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))


add_section("missing", "What is missing", place=20, make=_blocks, tables=_tables)
