"""Who is missing what: refusals, pictures that cannot be used, labels without a value."""

from typing import Any

import polars as pl

from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands
from stereotrope.tables import ABSENT, CAPTION, LABELLED

_MOST_NOTES = 5
_LABEL_STATES = ("unclear", "refused", "invalid")


def missing_table(material: Material) -> dict[str, Any]:
    """Refusals, pictures that cannot be used and labels without a value, by model and group."""
    by = ["generator", *([material.row_factor] if material.row_factor else [])]
    ok = pl.col("status") == "ok"
    picture = pl.coalesce("sha256", "image_id")
    images = material.images.group_by(by).agg(
        pl.len(),
        picture.filter(ok).n_unique().alias("distinct"),
        *(pl.col("status").eq(s).sum().alias(s) for s in ("ok", "refused", "excluded", ABSENT)),
    )
    labels = material.every_label.group_by(by).agg(
        pl.len().alias("labels"), *(pl.col("status").eq(s).sum().alias(f"l_{s}") for s in _LABEL_STATES)
    )
    joined = images.join(labels, on=by, how="left", nulls_equal=True).with_columns(
        pl.selectors.numeric().fill_null(0)
    )
    records = sorted(joined.iter_rows(named=True), key=lambda r: [material.position(c, r[c]) for c in by])
    usable = material.images.filter(ok)
    told = {
        "len": "asked for",
        "ok": "usable",
        **({"distinct": "of them distinct"} if usable.select(picture).n_unique() < usable.height else {}),
        "refused": "refused",
        "excluded": "excluded",
        **({ABSENT: "not at hand"} if any(r[ABSENT] for r in records) else {}),
        "labels": "labels",
        **{f"l_{s}": f"labels {s}" for s in _LABEL_STATES},
    }
    return {
        "sentence": _missing_sentence(material, records),
        "items": _missing_items(material),
        "notes": _notes(material),
        "columns": [*(words(c) for c in by), *told.values()],
        "rows": [[*(str(r[c] or "–") for c in by), *(_number(r, c) for c in told)] for r in records],
        "labels": len(by),
    }


def _number(record: dict[str, Any], column: str) -> str:
    """A count in words; of pictures that are not at hand nobody knows what was refused or unreadable."""
    unknown = column in ("refused", "excluded") and record["len"] == record[ABSENT]
    return "–" if unknown else thousands(int(record[column]))


def _notes(material: Material) -> list[str]:
    """The notes of a run; of many the first, and how many more there are."""
    notes = [str(note) for note in material.info.get("notes") or []]
    left = len(notes) - _MOST_NOTES
    if left < 2:
        return notes
    return [*notes[:_MOST_NOTES], f"{thousands(left)} more notes stand at the end of the report."]


_NOT_DONE = {
    "generate": ("picture was", "pictures were", "not made"),
    "annotate": ("picture was", "pictures were", "not looked at"),
    "discover": ("set of attributes was", "sets of attributes were", "not found"),
}
"""A stage → how what it did not do is named."""


def _missing_items(material: Material) -> list[str]:
    """What a stage could not do, in a sentence each: a dead model, a spent budget, no caption."""
    told = []
    for item in material.info.get("missing") or []:
        one, many, undone = _NOT_DONE.get(str(item["stage"]), ("item was", "items were", "not done"))
        n, of, reason = int(item["n"]), int(item["of"]), str(item["reason"]).strip() or "no reason given"
        end = "" if reason.endswith((".", "!", "?")) else "."
        told.append(f"{item['name']}: {thousands(n)} of {count(of, one, many)} {undone}: {reason}{end}")
    return told + _uncaptioned(material)


def _uncaptioned(material: Material) -> list[str]:
    """How many pictures a captioner has no caption of; where it has them all, nothing."""
    usable = material.images.filter(pl.col("status").is_in(LABELLED))["image_id"]
    captions = material.labels.filter(pl.col("attribute") == CAPTION)
    told = []
    for (captioner,), said in captions.sort("annotator").group_by("annotator", maintain_order=True):
        given = said.drop_nulls("value")["subject_id"]
        if lacking := usable.filter(~usable.is_in(given.implode())).len():
            has, many = ("has", "picture") if usable.len() == 1 else ("have", "pictures")
            of = f"{thousands(lacking)} of {thousands(usable.len())} {many}"
            told.append(f"{captioner}: {of} {has} no caption, and no score of captions counts them.")
    return told


def not_made(material: Material) -> int:
    """Pictures that were planned and never came to be, not even as a refusal."""
    return sum(int(i["n"]) for i in material.info.get("missing") or [] if i["stage"] == "generate")


def _missing_sentence(material: Material, records: list[dict[str, Any]]) -> str:
    if not records:
        return "No picture was made."
    total, refused, excluded, absent, labels = (
        sum(r[c] for r in records) for c in ("len", "refused", "excluded", ABSENT, "labels")
    )
    without = sum(r[f"l_{s}"] for r in records for s in _LABEL_STATES)
    blank = images_with(material, "blank")
    lacking = refused or excluded or absent or without or blank
    if not lacking and not _missing_items(material):
        nothing = "All" if _notes(material) or not labels else "Nothing is missing: all"
        said = f"all {count(labels, 'label')} have a value" if labels else "there is no label"
        sentence = f"{nothing} {count(total, 'picture')} could be used and {said}."
        return " ".join([sentence, *_of_quality(material)])
    parts = []
    if refused:
        parts.append(f"{thousands(refused)} of {count(total, 'request')} were refused by a model.")
    if excluded:
        parts.append(f"{count(excluded, 'picture')} could not be used.")
    if absent:
        away = count(absent, "picture is", "pictures are")
        parts.append(f"{away} not at hand: what others said of them counts, and nothing here looked at them.")
    total -= absent
    if total and not refused and not excluded:
        made = " that were made" if not_made(material) else ""
        could = "read" if blank else "used"
        parts.append(f"No request was refused, and all {count(total, 'picture')}{made} could be {could}.")
    worst = max(records, key=lambda r: r["refused"] / r["len"])
    if worst["refused"]:
        where = ", ".join(str(worst[c]) for c in ("generator", material.row_factor) if c and worst.get(c))
        parts.append(f"Most refusals, as a share, are for {where}: {worst['refused']} of {worst['len']}.")
    if labels:
        have = (
            f"{thousands(without)} of {count(labels, 'label')} have no value (unclear, refused or invalid)."
        )
        parts.append(have if without else f"All {count(labels, 'label')} have a value.")
    return " ".join([*parts, *_of_quality(material)])


_QUALITY = {
    "blank": "blank and left out of the scores",
    "exact_duplicate_of": "an exact copy of another",
    "near_duplicate_of": "nearly a copy of another",
}


def _of_quality(material: Material) -> list[str]:
    """Pictures that are blank or copies of another, in words; copies count."""
    counts = {what: images_with(material, attribute) for attribute, what in _QUALITY.items()}
    return [f"{count(n, 'picture is', 'pictures are')} {what}." for what, n in counts.items() if n]


def images_with(material: Material, attribute: str) -> int:
    """How many pictures have what an attribute of their quality speaks of."""
    rows = material.labels.filter(pl.col("value") != "no", attribute=attribute, status="ok")
    return rows["subject_id"].n_unique()
