"""Pictures: those of the strongest findings and of cases, regions and sets, and all of them by condition."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from stereotrope.report.contract import SCORES, Block, add_section, sections_in_order
from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.exhibits import Exhibits, exhibited
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, interval, thousands
from stereotrope.tables import ABSENT, QUALITY_ATTRIBUTES

_CASES, _OPEN_CASES = 8, 4
_OF_A_FINDING = 4
_MOST_INSTEAD = 6
"""Sentences of a section that stand in place of findings."""
_KINDS = {"deterministic": "One value only", "dominance_shift": "Another dominant value"}
_SHOWN = {
    "region": ("image_id", 6, "picture with its regions", "pictures with their regions"),
    "set": ("subject_id", 4, "set", "sets"),
}
"""Of each kind what is one example, how many there are of an annotator at most, and their names."""
_MOST_BOXES, _OF_A_SET = 12, 8
_DIGITS = 0.07
"""Height of a box's number, as a share of the picture's longer side."""
_MOST_OPEN = 12
_MOST_OPEN_PICTURES = 100
_MOST_SHEETS = 2_000
"""Conditions that stand in the page with their pictures, beside those that findings point at."""


def _findings(material: Material, shown: Exhibits) -> list[Block]:
    lists = [
        {
            "title": one.title,
            "note": one.note,
            "more": one.more,
            "told": [
                {
                    "sentence": row["sentence"],
                    "pattern": row["pattern_sentence"],
                    "again": [other["sentence"] for other in one.again.get(row["pattern_id"] or "", ())],
                    "groups": shown.groups(row, most=_OF_A_FINDING),
                    "otherwise": _otherwise(material, row["finding_id"]),
                }
                for row in one.rows
            ],
        }
        for one in material.first_findings
    ]
    told = {"tested": material.tested, "untested": material.untested, "looks": material.looks, "lists": lists}
    return [Block("findings", {**told, "instead": list(_instead(material))})]


def _instead(material: Material) -> Iterator[dict[str, Any]]:
    """Where there are no findings, what sections before the scores say first."""
    for section in sections_in_order(material.info) if material.without_findings else ():
        if section.headline and section.place < SCORES and (said := section.headline(material)[0]):
            yield {"id": section.id, "title": section.title, "said": said[:_MOST_INSTEAD]}


def _otherwise(material: Material, finding: str) -> Table | None:
    """The finding in other ways; None where there is but one."""
    rows = material.run.robustness.filter(finding_id=finding)
    if not rows.height:
        return None
    cells = [
        [
            TableCell(words(row["way"]) + (f": {row['level_of']}" if row["level_of"] is not None else "")),
            TableCell(f"{row['numerator']} of {row['n']}", numeric=True),
            TableCell(f"{row['numerator_reference']} of {row['n_reference']}", numeric=True),
            TableCell(interval(row["value"], row["low"], row["high"], row["n"]), numeric=True),
        ]
        for row in rows.iter_rows(named=True)
    ]
    heads = ["looked at", "condition", "reference", "difference [interval]"]
    caption = "The same difference in other ways; intervals are plain, and nothing is tested"
    return Table(caption, heads, cells, rows.height)


def _first(material: Material) -> Iterator[Mapping[str, Any]]:
    return (row for one in material.first_findings for row in one.rows)


def _cases_of(material: Material) -> list[dict[str, Any]]:
    """What agrees or changes in every picture, beside what stands on the first screen already."""
    told = [row["finding_id"] for row in _first(material)]
    beside = pl.col("kind").is_in(list(_KINDS)) & ~pl.col("finding_id").is_in(told)
    return material.findings.filter(beside).to_dicts()


def _cases(material: Material, shown: Exhibits) -> list[Block]:
    rows = _cases_of(material)
    told = [
        {
            "title": ": ".join(filter(None, (_KINDS[row["kind"]], words(row["attribute"] or "")))),
            "sentence": row["sentence"],
            "groups": shown.groups(row),
        }
        for row in rows[:_CASES]
    ]
    left = max(0, len(rows) - _CASES)
    return [Block("cases", {"cases": told, "open": _OPEN_CASES, "left": left})] if told else []


def _examples(material: Material) -> Iterator[tuple[str, str, int, list[pl.DataFrame]]]:
    """Kind, annotator, number of all, and labels of some: one of every condition before any has two."""
    members = material.run.subjects.select("subject_id", "image_id", "position", box="region")
    labels = material.run.scan("labels").filter(pl.col("subject_kind").is_in(list(_SHOWN))).collect()
    known = pl.concat([labels.join(members, on="subject_id"), _unasked(material, members)], how="diagonal")
    turns = material.sheet_of.frame.select("image_id", "turn")
    known = known.join(turns, on="image_id", maintain_order="left")
    turn = pl.col("turn").first().over("subject_id")
    ordered = known.sort("position").sort(turn, maintain_order=True).drop("turn")
    for (kind, annotator), frame in ordered.group_by("subject_kind", "annotator", maintain_order=True):
        one, most, *_ = _SHOWN[str(kind)]
        each = frame[one].unique(maintain_order=True)
        first = frame.filter(pl.col(one).is_in(each.head(most).implode()))
        yield str(kind), str(annotator), len(each), first.partition_by(one, maintain_order=True)


def _unasked(material: Material, members: pl.DataFrame) -> pl.DataFrame:
    """Labels of regions that were found in a picture and that nobody looked at by themselves."""
    of_region = material.run.scan("labels").filter(
        pl.col("region").is_not_null(),
        ~pl.col("attribute").is_in(list(QUALITY_ATTRIBUTES)),
        pl.col("subject_kind") == "image",
    )
    found = of_region.collect().with_columns(
        image_id="subject_id", box="region", position=pl.lit(0, pl.Int64)
    )
    left = found.join(members, on=["image_id", "box"], how="anti", maintain_order="left")
    return left.with_columns(subject_kind=pl.lit("region"), subject_id=pl.concat_str("image_id", "box"))


def _images(part: pl.DataFrame) -> list[str]:
    return part["image_id"].unique(maintain_order=True).to_list()[:_OF_A_SET]


def _subjects(material: Material, shown: Exhibits) -> list[Block]:
    blocks = []
    for kind, annotator, total, parts in _examples(material):
        made = [_boxed(shown, part) if kind == "region" else _set(shown, part) for part in parts]
        drawn = [one for one in made if one]
        some = f"{thousands(len(drawn))} of " * (len(drawn) < total)
        blocks.append(Block("text", [f"{annotator}: {some}{count(total, *_SHOWN[kind][2:])}."]))
        blocks.append(Block("regions" if kind == "region" else "pictures", drawn))
    return blocks


def _said(labels: pl.DataFrame, part: pl.DataFrame | None = None) -> str:
    """What labels say; where they are of a picture, those that gave the region of ``part``, and ``part``."""
    if part is not None:
        labels = pl.concat([labels.filter(region=part["box"][0]), part], how="diagonal")
    told = labels.unique(["attribute", "value", "status"], maintain_order=True)
    given = told.select("attribute", pl.coalesce("value", "status")).iter_rows()
    return "; ".join(f"{words(attribute)}: {words(value)}" for attribute, value in given)


def _boxed(shown: Exhibits, labels: pl.DataFrame) -> dict[str, Any] | None:
    """A picture with its boxes, numbered, and what was said of each."""
    (image,) = _images(labels)
    row, uri = shown.material.image_row(image), shown.thumbs.best(image)
    if uri is None or not row["width"] or not row["height"]:
        return None
    parts = labels.partition_by("subject_id", maintain_order=True)
    of_image = (pl.col("subject_kind") == "image") & (pl.col("subject_id") == image)
    given = shown.material.run.scan("labels").filter(of_image).collect()
    left = len(parts) - _MOST_BOXES
    return {
        **_place(shown, image),
        "uri": uri,
        "alt": f"{shown.alt(image)}. {count(len(parts), 'region')}",
        "width": row["width"],
        "height": row["height"],
        "size": round(_DIGITS * max(row["width"], row["height"]), 1),
        "boxes": [(json.loads(p["box"][0]), _said(given, p)) for p in parts[:_MOST_BOXES]],
        "more": f"{left} more in the run's table of labels" if left > 0 else "",
    }


def _set(shown: Exhibits, labels: pl.DataFrame) -> dict[str, Any] | None:
    """The pictures of a set in their order, and what was said of it."""
    uris = [(image, uri) for image in _images(labels) if (uri := shown.thumbs.best(image))]
    total = labels["image_id"].n_unique()
    left = f" ({len(uris)} of {total} pictures)" if len(uris) < total else ""
    images = [{"uri": uri, "alt": shown.alt(image)} for image, uri in uris]
    more = f"{_said(labels)}{left}"
    return {**_place(shown, labels["image_id"][0]), "images": images, "more": more} if uris else None


def _place(shown: Exhibits, image: str) -> dict[str, str]:
    sheet = shown.material.sheet_of[image]
    return {"anchor": sheet.anchor, "title": f"{sheet.generator}: {sheet.title}"}


def _sheets(material: Material, shown: Exhibits) -> list[Block]:
    """Every picture, by generator and condition; of very many conditions the first and those in findings."""
    sheets: dict[str, list[dict[str, Any]]] = {}
    more: dict[str, list[str]] = {}
    left_out = shown.thumbs.left_out
    for at, sheet in enumerate(material.sheets):
        sheets.setdefault(sheet.generator, [])
        if at >= _MOST_SHEETS and sheet.anchor not in material.highlighted:
            more.setdefault(sheet.generator, []).append(sheet.anchor)
            left_out += sum(image in shown.thumbs.uris for image in sheet.usable)
            continue
        n, ok, here = sheet.n, sheet.n_usable, sheet.n - sheet.n_absent
        made = [(i, item) for i in sheet.images if i["status"] != ABSENT and (item := _item(shown, i))]
        of = f"{thousands(ok)} of " * (ok < n)
        counts = f"{of}{count(n, 'picture')}"
        if here < n:
            counts += ", the others not at hand" if here else ": they are not at hand"
        if len(made) < here:
            counts += f", {thousands(sum(i['status'] == 'ok' for i, _ in made))} shown"
        prompt = min(filter(None, sheet.texts), default=None)
        told = {"anchor": sheet.anchor, "title": sheet.title, "counts": counts, "prompt": prompt}
        sheets[sheet.generator].append({**told, "images": [item for _, item in made]})
    ok, away = (sum(getattr(s, name) for s in material.sheets) for name in ("n_usable", "n_absent"))
    content = {
        "generators": list(sheets.items()),
        "more": more,
        "closed": len(material.sheets) > _MOST_OPEN or material.n_images > _MOST_OPEN_PICTURES,
        "away": count(away, "picture is", "pictures are") if away else "",
        "shown": f"{thousands(ok - left_out)} of {thousands(ok)}" if left_out else "",
    }
    return [Block("sheets", content)]


def _item(shown: Exhibits, row: Mapping[str, Any]) -> dict[str, Any] | None:
    image = row["image_id"]
    if row["status"] != "ok":
        return {"uri": None, "alt": f"{row['status']}: {row['reason'] or 'no reason given'}"}
    if image in shown.thumbs.broken:
        return {"uri": None, "alt": "this picture can no longer be read"}
    uri = shown.thumbs.uris.get(image)
    return {"uri": uri, "alt": shown.alt(image, captioned=True)} if uri else None


add_section(
    "findings",
    "What stands out",
    place=10,
    make=_findings,
    large=lambda material: exhibited(material, _first(material)),
)
add_section(
    "cases",
    "Repetition and change, with the pictures",
    lead="Conditions in which all pictures agree, and most frequent values that change. Intervals are "
    "widened for having been selected.",
    place=90,
    make=_cases,
    large=lambda material: exhibited(material, _cases_of(material)[:_CASES]),
)
add_section(
    "subjects",
    "Regions and sets",
    lead="What was said of parts of pictures, each box with its number, and of pictures set side by side.",
    place=85,
    make=_subjects,
    large=lambda material: [i for *_, parts in _examples(material) for part in parts for i in _images(part)],
)
add_section("pictures", "All pictures, by condition", place=120, make=_sheets)
