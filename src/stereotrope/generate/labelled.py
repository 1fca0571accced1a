"""Pictures that are not at hand, known by a file that says things of them, as a generator like any other."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Any

from stereotrope.generate.columns import LabelledOptions
from stereotrope.generate.contract import ImageRequest, ImageResult, generator
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.listing import ListedPicture, Listing
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import options_of
from stereotrope.inputs.rows import Row, RowFile, picture_column, read_rows

EXAMPLE = "{labels: labels.csv, name_from: model, factors: [occupation]}"


class LabelledGenerator(FolderGenerator):
    """A study that exists as files alone: pictures were made and labelled, and are not at hand.

    Every picture that the file names is a row of ``images`` with status ``absent``: labels, captions and
    vectors made elsewhere count of it, whatever looks at pictures leaves it out with that reason.

    labels: The file that names them.
    columns: As of :class:`~stereotrope.generate.columns.LabelledOptions`; the file of a picture is by default
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
        chosen = options_of(LabelledOptions, given, "generator labels", example=EXAMPLE)
        self._begin(self._file.parent, chosen, self._file.stem)

    def process(self, request: ImageRequest) -> ImageResult:
        """Look for nothing: the picture is absent, or a row that names none is ``excluded``."""
        if request.absent:
            return super().process(request)
        return ImageResult(None, "excluded", "no file name")

    def _listings(self) -> list[Listing]:
        return [(PurePosixPath(), read_rows(self._file))]

    def _file_column(self, metadata: RowFile) -> str:
        return picture_column(metadata, option="file")

    def _entry(self, folder: PurePosixPath, row: Row, file: str, factors: Mapping[str, str]) -> ListedPicture:
        """The entry of a row; pictures of different models may have one name."""
        entry = super()._entry(folder, row, file, factors)
        return replace(entry, among=entry.generator)

    def _located(self, folder: PurePosixPath, listed: str) -> tuple[str, str | None, bool]:
        called = listed.strip()
        return called, None, bool(called)

    def _note_absent(self, entries: Sequence[ListedPicture]) -> None:
        absent = sum(entry.absent for entry in entries)
        self.notes.append(
            f"{self.name}: {absent} {'picture is' if absent == 1 else 'pictures are'} not at hand; labels "
            "made elsewhere count, and whatever looks at pictures leaves them out"
        )

    def _note_pictures(self, entries: Sequence[ListedPicture]) -> None:
        """Say nothing: there is no folder that pictures could lie in."""


@generator(
    LabelledOptions,
    summary="takes pictures that are not at hand, as a file lists them; labels made elsewhere count",
    example=EXAMPLE,
)
def labels(options: LabelledOptions, context: Context) -> LabelledGenerator:
    """Take what a file names."""
    return LabelledGenerator(context.folder / options.labels, **options.model_dump(exclude={"labels"}))
