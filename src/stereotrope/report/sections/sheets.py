"""Every picture, by condition."""

from collections.abc import Mapping
from typing import Any

from stereotrope.report.contract import Block, add_section
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material
from stereotrope.report.numbers import count, thousands
from stereotrope.tables import ABSENT

_MOST_OPEN = 12
_MOST_OPEN_PICTURES = 100


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    closed = len(material.sheets) > _MOST_OPEN or material.images.height > _MOST_OPEN_PICTURES
    return [
        Block("text", [_note(material, shown.thumbs.left_out)]),
        Block("sheets", {"generators": _sheets(shown), "closed": closed}),
    ]


def _note(material: Material, left_out: int) -> str:
    status = material.images["status"]
    ok, away = int((status == "ok").sum()), int((status == ABSENT).sum())
    text = (
        "Small copies of the pictures; the originals are in the run folder, under pictures/. "
        "A dashed frame is a request without a usable picture."
    )
    if away:
        text += (
            f" {count(away, 'picture is', 'pictures are')} not at hand, so nothing is drawn of them; what "
            "others said of them counts."
        )
    if left_out:
        text += (
            f" To keep this file below a fixed size, {thousands(ok - left_out)} of {thousands(ok)} "
            "pictures are shown, the first of every condition before any further one."
        )
    return text


def _sheets(shown: Exhibits) -> list[tuple[str, list[dict[str, Any]]]]:
    """Contact sheets, by generator."""
    out: dict[str, list[dict[str, Any]]] = {}
    for sheet in shown.material.sheets:
        ok = sum(1 for i in sheet.images if i["status"] == "ok")
        here = [i for i in sheet.images if i["status"] != ABSENT]
        items = [item for i in here if (item := _item(shown, i)) is not None]
        of = f"{ok} of " * (ok < len(sheet.images))
        counts = f"{of}{count(len(sheet.images), 'picture')}"
        if len(here) < len(sheet.images):
            counts += ", the others not at hand" if here else ": they are not at hand"
        if hidden := len(here) - len(items):
            counts += f", {thousands(ok - hidden)} shown"
        prompt = min((i["text"] for i in sheet.images if i["text"]), default=None)
        told = {
            "anchor": sheet.anchor,
            "title": sheet.title,
            "counts": counts,
            "prompt": prompt,
            "images": items,
        }
        out.setdefault(sheet.generator, []).append({**told, "images": items})
    return list(out.items())


def _item(shown: Exhibits, row: Mapping[str, Any]) -> dict[str, Any] | None:
    image = row["image_id"]
    if row["status"] != "ok":
        return {"uri": None, "alt": f"{row['status']}: {row['reason'] or 'no reason given'}"}
    if image in shown.thumbs.broken:
        return {"uri": None, "alt": "this picture can no longer be read"}
    uri = shown.thumbs.uris.get(image)
    return {"uri": uri, "alt": shown.alt(image, captioned=True)} if uri else None


add_section("pictures", "All pictures, by condition", place=120, make=_blocks)
