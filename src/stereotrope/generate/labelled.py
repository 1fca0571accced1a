"""Studies that exist as files alone, as a generator: pictures were made and labelled, and are not at hand."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from stereotrope.generate.contract import ImageRequest, ImageResult, ImageStatus
from stereotrope.generate.folder import NOT_AT_HAND, FolderGenerator
from stereotrope.generate.listing import STATUSES, LabelledOptions, ListedPicture, Listing
from stereotrope.inputs.options import options_of
from stereotrope.inputs.row import Row
from stereotrope.inputs.rows import RowFile, picture_column, read_rows
from stereotrope.tables import MADE

LABELS_EXAMPLE = "{labels: labels.csv, name_from: model, factors: [occupation]}"


class LabelledGenerator(FolderGenerator):
    """A study that exists as files alone: pictures were made and labelled, and are not at hand.

    Every picture that the file names is a row of ``images`` with status ``absent``: labels, captions and
    vectors made elsewhere count of it, whatever looks at pictures leaves it out with that reason. Where a
    column says what came of each request, those that were refused or cannot be used are so here.

    labels: The file that names them.
    columns: As of :class:`~stereotrope.generate.listing.LabelledOptions`; the file of a picture is by default
        named by the column that a file of labels names it with: ``image_id``, ``file_name``, ``source`` …

    Raises UsageError: The arguments contradict each other.
    """

    kind = "labels"
    note = "pictures that are not at hand, known by what others said of them"
    remedy = None
    _once = False

    def __init__(self, labels: Path | str, **columns: Any) -> None:
        given = {"labels": labels, **columns}
        self._file = Path(labels)
        chosen = options_of(LabelledOptions, given, "generator labels", example=LABELS_EXAMPLE)
        self._status, self._reason = chosen.status, chosen.reason
        self._begin(self._file.parent, chosen, self._file.stem)

    def process(self, request: ImageRequest) -> ImageResult:
        """Look for nothing: the picture is absent, or what the file says came of it."""
        told = (request.params.get(name) for name in ("status", "reason"))
        return ImageResult(None, *outcome_of(*told, named=bool(request.source)))

    def _listings(self) -> list[Listing]:
        found = read_rows(self._file)
        for key, column in (("status", self._status), ("reason", self._reason)):
            if column is not None:
                found.require(column, key)
        self.files = {self._file: hashlib.sha256(found.data).hexdigest()}
        return [(PurePosixPath(), found)]

    def _file_column(self, metadata: RowFile) -> str:
        return picture_column(metadata, option="file")

    def _located(self, folder: PurePosixPath, listed: str) -> tuple[str, str | None, bool]:
        called = listed.strip()
        return called, None, bool(called)

    def _entry(self, folder: PurePosixPath, row: Row, file: str, factors: Mapping[str, str]) -> ListedPicture:
        entry = super()._entry(folder, row, file, factors)
        if self._status is None:
            return entry
        written = row.text(self._status) or "ok"
        if (status := written.casefold()) not in STATUSES:
            raise row.error(
                f"column {self._status!r} must be {', '.join(STATUSES)} or empty, found {written!r}; correct "
                "it, or leave out status:"
            )
        outcome = {"status": status, "reason": row.text(self._reason) if self._reason else None}
        told = tuple((name, value) for name, value in outcome.items() if value is not None)
        return replace(entry, absent=entry.absent and status == "ok", outcome=told)

    def _note_absent(self, entries: Sequence[ListedPicture]) -> None:
        """Say nothing: no picture of such a list is at hand, and the run counts them."""

    def _note_pictures(self, entries: Sequence[ListedPicture]) -> None:
        """Say nothing: there is no folder that pictures could lie in."""


def outcome_of(status: str | None, reason: str | None, *, named: bool) -> tuple[ImageStatus, str | None]:
    """Status and reason of an image of which a file says this, and whether it names one."""
    if status == "refused":
        return "refused", reason
    if not named:
        return "excluded", "no file name"
    if status == "excluded":
        return "excluded", reason or "picture cannot be used"
    return "absent", NOT_AT_HAND if status is None else MADE
