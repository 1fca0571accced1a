"""Pictures that are not at hand, known by a file that says things of them, as a generator like any other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path, PurePosixPath

from stereotrope.generate.contract import ImageRequest, ImageResult
from stereotrope.generate.folder import FolderGenerator
from stereotrope.generate.listing import ListedPicture, Listing
from stereotrope.inputs.rows import Row, RowFile, picture_column, read_rows

__all__ = ["LabelledGenerator"]


class LabelledGenerator(FolderGenerator):
    """A study that exists as files alone: pictures were made and labelled, and are not at hand.

    Every picture that the file names is a row of ``images`` with status ``absent``: labels, captions and
    vectors made elsewhere count of it, whatever looks at pictures leaves it out with that reason.

    Parameters
    ----------
    labels
        CSV or JSON lines: a row a picture, or several that agree in all that is said of the design, as where
        each is one label.
    name
        Name of the model that made the pictures; the file's name without its ending by default.
    name_from, factors, prompt, negative, seed
        As of :class:`FolderGenerator`.
    file
        Column that names the picture; by default the one that a file of labels names it with:
        ``image_id``, ``file_name``, ``source``, ``sha256``, ``image``, ``path``, ``id`` …

    Raises
    ------
    UsageError
        The arguments contradict each other.
    """

    note = "pictures that are not at hand, known by what others said of them"
    kind = "labels"
    _keys = ("labels", "name", "name_from", "factors", "prompt", "negative", "seed", "file")
    _needs = "a file; write {labels: labels.csv, name_from: model, factors: [occupation]}"
    _once = False

    def __init__(
        self,
        labels: Path | str,
        *,
        name: str | None = None,
        name_from: str | None = None,
        factors: Sequence[str] | Mapping[str, str] | None = None,
        prompt: str | None = None,
        negative: str | None = None,
        seed: str | None = None,
        file: str | None = None,
    ) -> None:
        path = Path(labels)
        super().__init__(
            path.parent,
            metadata=path.name,
            name=name,
            name_from=name_from,
            factors=factors,
            prompt=prompt,
            negative=negative,
            seed=seed,
            file=file,
            absent="allowed",
        )
        self.name = name or path.stem
        self.fingerprint = f"labels:{self.name}"

    def process(self, request: ImageRequest) -> ImageResult:
        """Look for nothing: the picture is absent, or a row that names none is ``excluded``."""
        if request.absent:
            return super().process(request)
        return ImageResult(None, "excluded", "no file name")

    def _listings(self) -> list[Listing]:
        return [(PurePosixPath(), read_rows(self.folder / str(self.metadata)))]

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
