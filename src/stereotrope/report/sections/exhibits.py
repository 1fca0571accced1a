"""Pictures with their words: beside findings, in sheets, in the strips of a distribution."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stereotrope.report.datatable import Table, TableCell, shown_rows
from stereotrope.report.material import Material, Sheet, image_ids, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.sections.distributions import Distribution
from stereotrope.report.thumbnails import Thumbnails
from stereotrope.tables import ABSENT

__all__ = ["MOST_EXHIBITED", "Exhibits"]

MOST_EXHIBITED = 6
"""Pictures of one condition beside a finding."""
_MANY_PICTURES = 2000
_MOST_OPEN_LINES = 24
_MOST_LABELS, _FEW_LABELS = 8, 3


class Exhibits:
    """Pictures with their words, ready for the template."""

    def __init__(self, material: Material, thumbs: Thumbnails) -> None:
        self.material = material
        self.thumbs = thumbs

    def alt(self, image: str, *, captioned: bool = False) -> str:
        """What a picture was asked for and what annotators saw in it.

        Of very many pictures, ``captioned`` ones are told by their first labels alone: what they were asked
        for stands above them.
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

    def case(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """One deterministic case or dominance shift."""
        kind = {"deterministic": "One value only", "dominance_shift": "Another dominant value"}[row["kind"]]
        title = f"{kind}: {words(row['attribute'])}" if row["attribute"] else kind
        return {"title": title, "sentence": row["sentence"], "groups": self.groups(image_ids(row))}

    def sheets(self) -> list[tuple[str, list[dict[str, Any]]]]:
        """Contact sheets, by generator."""
        out: dict[str, list[dict[str, Any]]] = {}
        for sheet in self.material.sheets:
            ok = sum(1 for i in sheet.images if i["status"] == "ok")
            here = [i for i in sheet.images if i["status"] != ABSENT]
            shown = [self._item(i) for i in here]
            items = [i for i in shown if i is not None]
            hidden = len(shown) - len(items)
            counts = (
                f"{ok} of {count(len(sheet.images), 'picture')}"
                if ok < len(sheet.images)
                else count(ok, "picture")
            )
            if len(here) < len(sheet.images):
                counts += ", the others not at hand" if here else ": they are not at hand"
            if hidden:
                counts += f", {thousands(ok - hidden)} shown"
            prompts = {i["text"] for i in sheet.images if i["text"]}
            prompt = min(prompts) if prompts else None
            out.setdefault(sheet.generator, []).append(
                {
                    "anchor": sheet.anchor,
                    "title": sheet.title,
                    "counts": counts,
                    "prompt": prompt,
                    "images": items,
                }
            )
        return list(out.items())

    def _item(self, row: Mapping[str, Any]) -> dict[str, Any] | None:
        image = row["image_id"]
        if row["status"] != "ok":
            return {"uri": None, "alt": f"{row['status']}: {row['reason'] or 'no reason given'}"}
        if image in self.thumbs.broken:
            return {"uri": None, "alt": "this picture can no longer be read"}
        uri = self.thumbs.uris.get(image)
        return {"uri": uri, "alt": self.alt(image, captioned=True)} if uri else None

    def distribution(self, d: Distribution, material: Material) -> dict[str, Any]:
        """A distribution with the pictures of its highlighted rows and its data table."""
        lines = []
        for line in d.lines:
            pictures = [
                {"uri": u, "alt": self.alt(i)} for i in line.pictures if (u := self.thumbs.uris.get(i))
            ]
            lines.append({**{k: getattr(line, k) for k in ("title", "anchor", "strips")}, "shown": pictures})
        by = words(material.row_factor) if material.row_factor else "condition"
        rows = [
            [
                TableCell(line.title, href=f"#{line.anchor}"),
                TableCell(a),
                TableCell(g.value),
                TableCell(str(g.count), True),
                TableCell(str(s.n), True),
            ]
            for line in d.lines
            for a, s in zip(d.attributes, line.strips, strict=True)
            for g in s.segments
        ]
        what = "captions name" if d.of_captions else "the pictures show"
        heading = f"{d.title}: what {what}, by {by}" if d.title else f"What {what}, by {by}"
        counted = "captions" if d.of_captions else "pictures"
        ns = [s.n for line in d.lines for s in line.strips if s.n] or [0]
        low, high = min(ns), max(ns)
        return {
            "name": d.name,
            "width": d.width,
            "heading": heading,
            "n": f"n = {low} a strip" if low == high else f"n = {low} to {high} a strip",
            "attributes": d.attributes,
            "lines": lines,
            "open_lines": _MOST_OPEN_LINES if len(lines) > _MOST_OPEN_LINES + 1 else len(lines),
            "some_missing": any(s.left_out for line in d.lines for s in line.strips),
            "any_pictures": any(line["shown"] for line in lines),
            "legend": d.keys,
            "share_of": "captions read as" if d.of_captions else "pictures labelled with",
            "table": Table(
                heading,
                ["condition", "attribute", "value", counted, "of"],
                rows[: shown_rows(len(rows))],
                len(rows),
                "tables/labels.csv",
            ),
        }
