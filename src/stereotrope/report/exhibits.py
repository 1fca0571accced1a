"""Pictures with their words, ready for the page."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from stereotrope.report.material import Material, Sheet, image_ids, words
from stereotrope.report.thumbnails import Thumbnails

MOST_EXHIBITED = 6
"""Pictures of one condition beside a finding."""
_MANY_PICTURES = 2000
_MOST_LABELS, _FEW_LABELS = 8, 3


class Exhibits:
    """Pictures with their words, ready for the template."""

    def __init__(self, material: Material, thumbs: Thumbnails) -> None:
        self.material = material
        self.thumbs = thumbs

    def alt(self, image: str, *, captioned: bool = False) -> str:
        """What a picture was asked for and what annotators saw in it.

        captioned: What it was asked for stands above it, and of very many pictures is not said again.
        """
        sheet = self.material.sheet_of[image]
        short = captioned and len(self.material.image_rows) > _MANY_PICTURES
        most = _FEW_LABELS if short else _MOST_LABELS
        labels = self.material.image_labels.get(image, [])
        seen = "; ".join(f"{words(a)}: {words(v)}" for a, v in labels[:most])
        if short and labels:
            return f"{seen} … ({len(labels)} labels)" if len(labels) > most else seen
        asked = f"{sheet.generator}, {sheet.title}"
        return f"{asked}. Labelled {seen}" if seen else asked

    def groups(self, images: Sequence[str], *, most: int = MOST_EXHIBITED) -> list[dict[str, Any]]:
        """Images of a finding by condition; beside a single one, those of its baseline that count."""
        by_sheet: dict[str, tuple[Sheet, list[str]]] = {}
        for image in images:
            sheet = self.material.sheet_of.get(image)
            if sheet is not None:
                by_sheet.setdefault(sheet.anchor, (sheet, []))[1].append(image)
        if len(by_sheet) == 1:
            base = self.material.baseline_of(next(iter(by_sheet.values()))[0])
            if base is not None:
                usable = (i["image_id"] for i in base.images if i["status"] == "ok")
                by_sheet[base.anchor] = (base, [i for i in usable if i not in self.material.blank])
        several = len(self.material.generators) > 1
        out = []
        for sheet, members in by_sheet.values():
            uris = [(i, uri) for i in members if (uri := self.thumbs.best(i))][:most]
            if uris:
                title = f"{sheet.generator}: {sheet.title}" if several else sheet.title
                shown = [{"uri": uri, "alt": self.alt(i)} for i, uri in uris]
                more = f"{len(uris)} of {len(members)} pictures" if len(members) > len(uris) else ""
                out.append({"anchor": sheet.anchor, "title": title, "images": shown, "more": more})
        return out


def exhibited(material: Material, rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The pictures that findings show: of each the first of every condition."""
    wanted: list[str] = []
    for row in rows:
        by_sheet = Counter[str]()
        for image in image_ids(row):
            sheet = material.sheet_of.get(image)
            if sheet is None or material.image_rows[image]["status"] != "ok":
                continue
            by_sheet[sheet.anchor] += 1
            if by_sheet[sheet.anchor] <= MOST_EXHIBITED:
                wanted.append(image)
    return wanted
