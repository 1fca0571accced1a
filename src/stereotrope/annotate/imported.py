"""Labels made elsewhere: by people, or by another tool."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from stereotrope.annotate.label import Attributes, fingerprint_of, labels_frame
from stereotrope.annotate.labelfile import Row, read_rows
from stereotrope.annotate.lookup import Lookup, normal_path
from stereotrope.errors import MetadataError, UsageError
from stereotrope.tables import NOT_VALUES

__all__ = ["ImportedLabels"]

KEYS = {"image_id": "image_id", "file_name": "source", "source": "source", "sha256": "sha256"}
"""Key column of a file → the column of ``images`` it is matched with."""
_TIDY = ("attribute", "value")
_TIDY_EXTRAS = ("confidence", "rationale", "status")


@dataclass(frozen=True)
class _Said:
    line: int
    key: str
    attribute: str
    value: str
    confidence: float | None = None
    rationale: str | None = None


class ImportedLabels:
    """Labels from a CSV or JSON Lines file.

    *Tidy* files have the columns ``attribute`` and ``value`` (and may have ``confidence``, ``rationale``
    and ``status``), *wide* ones a column an attribute. Rows name their picture by ``image_id``,
    ``file_name`` or ``source`` (path inside the folder the pictures came from) or ``sha256``.

    An empty cell is a missing label; ``None`` and ``NA`` are values. The words ``unclear``, ``refused``
    and ``invalid`` become that status. The same row twice counts once.

    Parameters
    ----------
    file
        The file, as the user wrote it.
    name
        Name of the rater or tool, the ``annotator`` of its labels.
    key
        Key column; found among those above when None.
    attributes
        Attributes to take; all when None.
    layout
        ``"tidy"`` or ``"wide"``; found from the columns when None.
    folder
        Folder that a relative ``file`` starts from.

    Attributes
    ----------
    notes
        What the last derivation left out or could not match, one sentence each.

    Raises
    ------
    MetadataError
        The file cannot be used; the message names file, line, rule, what was found and what to do.
    """

    version = 1
    needs: tuple[str, ...] = ()

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        key: str | None = None,
        attributes: Sequence[str] | None = None,
        layout: Literal["tidy", "wide"] | None = None,
        folder: Path | str | None = None,
    ) -> None:
        self.name = name
        self.file = str(file)
        self.notes: list[str] = []
        path = Path(folder or ".") / file
        try:
            data = path.read_bytes()
        except OSError as error:
            raise MetadataError(
                f"{self.file}: the file of labels cannot be read: {error.strerror}; check the path"
            ) from error
        if layout not in (None, "tidy", "wide"):
            raise UsageError(f"annotator {name!r}: 'layout' must be 'tidy' or 'wide', found {layout!r}")
        columns, rows = read_rows(data, file=self.file)
        self.key = self._key_column(columns, key)
        tidy = layout == "tidy" or (layout is None and all(c in columns for c in _TIDY))
        said = self._tidy(columns, rows) if tidy else self._wide(columns, rows, attributes)
        self._doubled = 0
        self._said = self._once(said)
        if attributes is not None:
            self._said = self._chosen(attributes)
        self.attributes: Attributes = dict.fromkeys(attributes or sorted({s.attribute for s in self._said}))
        parameters: dict[str, Any] = {
            "key": self.key,
            "attributes": attributes and list(attributes),
            "tidy": tidy,
        }
        self.fingerprint = fingerprint_of(f"labels:{name}", self.version, parameters, data)

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the file's labels of the images in the table, in the table's order."""
        self.notes = []
        if self._doubled:
            what = (
                "1 label given twice counts"
                if self._doubled == 1
                else f"{self._doubled} labels given twice count"
            )
            self.notes.append(f"{self.file}: {what} once")
        if not self._said:
            self.notes.append(f"{self.file}: no label in it")
        usable = images.filter(pl.col("status") == "ok")
        matched, strays = self._match(usable)
        if strays:
            lines = sorted(strays)
            shown = ", ".join(map(str, lines[:5])) + (" …" if len(lines) > 5 else "")
            rows = "1 row matches" if len(lines) == 1 else f"{len(lines)} rows match"
            self.notes.append(f"{self.file}: {rows} no image (line {shown})")
        rows_out = []
        for attribute in self.attributes:
            of = matched[attribute]
            missing = usable.height - len(of)
            if missing:
                self.notes.append(
                    f"{self.file}: {missing} of {usable.height} images have no label of {attribute!r}"
                )
            rows_out += [
                self._row(image_id, of[image_id]) for image_id in usable["image_id"] if image_id in of
            ]
        return labels_frame(rows_out)

    def _row(self, image_id: str, said: _Said) -> dict[str, Any]:
        status = said.value.casefold() if said.value.casefold() in NOT_VALUES else "ok"
        return {
            "subject_kind": "image",
            "subject_id": image_id,
            "attribute": said.attribute,
            "value": said.value if status == "ok" else None,
            "confidence": said.confidence,
            "annotator": self.name,
            "status": status,
            "rationale": said.rationale,
        }

    def _key_column(self, columns: Sequence[str], key: str | None) -> str:
        known = ", ".join(KEYS)
        if key is None:
            found = [k for k in KEYS if k in columns]
            if not found:
                raise MetadataError(
                    f"{self.file}:1: a column must name the picture ({known}), found {', '.join(columns)}; "
                    "rename one or give 'key'"
                )
            return found[0]
        if key not in KEYS:
            raise MetadataError(
                f"{self.file}:1: 'key' must be one of {known}, found {key!r}; rename the column"
            )
        if key not in columns:
            raise MetadataError(
                f"{self.file}:1: no column {key!r}, found {', '.join(columns)}; correct 'key'"
            )
        return key

    def _tidy(self, columns: Sequence[str], rows: Iterable[Row]) -> list[_Said]:
        for column in _TIDY:
            if column not in columns:
                raise MetadataError(
                    f"{self.file}:1: a tidy file needs the column {column!r}, found {', '.join(columns)}; "
                    "add it or give layout: wide"
                )
        said = []
        for row in rows:
            status = row.cells.get("status", "").casefold()
            if status not in ("", "ok", *NOT_VALUES):
                raise MetadataError(
                    f"{self.file}:{row.line}: 'status' must be ok, {', '.join(NOT_VALUES)} or empty, "
                    f"found {row.cells['status']!r}; correct it"
                )
            value = status if status in NOT_VALUES else row.cells.get("value", "")
            attribute = row.cells.get("attribute", "")
            if not attribute:
                raise MetadataError(
                    f"{self.file}:{row.line}: 'attribute' must be given, found nothing; fill it in"
                )
            if value:
                confidence = self._confidence(row)
                said.append(
                    _Said(
                        row.line,
                        self._key(row),
                        attribute,
                        value,
                        confidence,
                        row.cells.get("rationale") or None,
                    )
                )
        return said

    def _confidence(self, row: Row) -> float | None:
        text = row.cells.get("confidence", "")
        if not text:
            return None
        try:
            number = float(text)
        except ValueError:
            number = -1.0
        if not 0 <= number <= 1:
            raise MetadataError(
                f"{self.file}:{row.line}: 'confidence' must be a number from 0 to 1, "
                f"found {text!r}; correct it"
            )
        return number

    def _wide(
        self, columns: Sequence[str], rows: Iterable[Row], attributes: Sequence[str] | None
    ) -> list[_Said]:
        given = attributes or [c for c in columns if c not in KEYS]
        for attribute in given:
            if attribute not in columns:
                raise MetadataError(
                    f"{self.file}:1: no column {attribute!r}, found {', '.join(columns)}; "
                    "correct 'attributes'"
                )
        return [
            _Said(row.line, self._key(row), attribute, row.cells[attribute])
            for row in rows
            for attribute in given
            if row.cells.get(attribute)
        ]

    def _key(self, row: Row) -> str:
        key = row.cells.get(self.key, "")
        if not key:
            raise MetadataError(
                f"{self.file}:{row.line}: {self.key!r} must name a picture, found nothing; fill it in"
            )
        return (
            normal_path(key) if KEYS[self.key] == "source" else key.lower() if self.key == "sha256" else key
        )

    def _once(self, said: Iterable[_Said]) -> list[_Said]:
        first: dict[tuple[str, str], _Said] = {}
        for one in said:
            earlier = first.setdefault((one.key, one.attribute), one)
            if earlier is one:
                continue
            self._doubled += 1
            self._refuse_conflict(earlier, one)
        return list(first.values())

    def _refuse_conflict(self, earlier: _Said, one: _Said) -> None:
        if earlier.value != one.value:
            raise MetadataError(
                f"{self.file}:{one.line}: a picture has one label of an attribute, found {one.attribute!r} "
                f"{one.value!r} here and {earlier.value!r} on line {earlier.line} for {one.key!r}; keep one"
            )

    def _chosen(self, attributes: Sequence[str]) -> list[_Said]:
        present = {s.attribute for s in self._said}
        for attribute in attributes:
            if attribute not in present and present:
                raise MetadataError(
                    f"{self.file}: no label of attribute {attribute!r}, found {', '.join(sorted(present))}; "
                    "correct 'attributes'"
                )
        return [s for s in self._said if s.attribute in attributes]

    def _match(self, images: pl.DataFrame) -> tuple[dict[str, dict[str, _Said]], set[int]]:
        """Attribute → image_id → what was said, and the lines that match no image."""
        lookup = Lookup(images, KEYS[self.key])
        matched: dict[str, dict[str, _Said]] = defaultdict(dict)
        strays: set[int] = set()
        for said in self._said:
            ids = lookup.find(said.key)
            if lookup.column == "source" and len(ids) > 1:
                raise MetadataError(
                    f"{self.file}:{said.line}: {self.key!r} must name one image, found {len(ids)} "
                    f"for {said.key!r}; give image_id or sha256"
                )
            if not ids:
                strays.add(said.line)
            for image_id in ids:
                earlier = matched[said.attribute].setdefault(image_id, said)
                if earlier is not said:
                    self._refuse_conflict(earlier, said)
        return matched, strays
