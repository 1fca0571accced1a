"""Captions by a chat model, and captions made elsewhere."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import polars as pl

from stereotrope.annotate.answers import labels_of
from stereotrope.annotate.asking import ChatOptions, ModelAnnotator
from stereotrope.annotate.attributes import UNCLEAR
from stereotrope.annotate.file_annotator import FileAnnotator
from stereotrope.annotate.label import Attributes, Label, image_labels
from stereotrope.annotate.picture import Picture
from stereotrope.annotate.protocol import question_wording
from stereotrope.annotate.questionnaire import MAX_SIDE_SENT
from stereotrope.annotate.registry import annotator
from stereotrope.clients import ChatClient, Expectation
from stereotrope.inputs.captions.file import read_captions
from stereotrope.inputs.entries import Context
from stereotrope.inputs.lookup import HASH, SAMPLE, outside_design
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.tables import CAPTION

LONGEST_CAPTION = 4000
"""Characters a caption may have; a longer one is invalid, never cut."""
_ANSWERED = 40, 250
"""Tokens a caption of the asked length may count as."""


class CaptionAnnotator(ModelAnnotator):
    """Asks a chat model for a caption of each picture.

    The model sees the picture and no prompt, so that it cannot repeat what was asked for. A refusal is
    ``refused``, an answer without text or longer than 4,000 characters ``invalid``.

    client, name, max_side, version: As of :class:`~stereotrope.annotate.QuestionAnnotator`.
    """

    kind = "caption"
    attributes: Attributes = dict.fromkeys([CAPTION])

    def __init__(
        self, client: ChatClient, *, name: str, max_side: int = MAX_SIDE_SENT, version: str | None = None
    ) -> None:
        super().__init__(client, name=name, max_side=max_side, version=version)

    async def process(self, picture: Picture) -> list[Label]:
        """Caption one picture; raises as a question does."""
        answer = await self._asked(picture, self.attributes)
        said = answer.content.get(CAPTION) if isinstance(answer.content, Mapping) else None
        if answer.status != "refused" and isinstance(said, str):
            (label,) = labels_of(answer, self.attributes, longest=LONGEST_CAPTION)
            is_unclear = label.value is not None and label.value.casefold().rstrip(".") == UNCLEAR
            return [Label(CAPTION, None, status="unclear") if is_unclear else replace(label, confidence=None)]
        return labels_of(replace(answer, content=None) if answer.reason else answer, self.attributes)

    def text(self, offered: Mapping[str, tuple[str, ...] | None], prompt: str | None = None) -> str:
        """Return the question in words."""
        return str(question_wording(self.kind).texts["opening_without_subject"])

    def expect(self, n: int) -> Expectation:
        """Say what captions of ``n`` pictures take: calls, tokens, price and seconds."""
        asked = question_wording(self.kind).system + self.text(self.attributes)
        return self.expected(n, asked, self.seen, _ANSWERED)


class CaptionOptions(ChatOptions):
    """As of :class:`CaptionAnnotator`."""

    slips: ClassVar[Mapping[str, str]] = dict.fromkeys(
        ("attributes", "subject", "discover", "taxonomy", "order_seed"), "`caption` does not take it."
    )

    caption: Text


@annotator(
    CaptionOptions, summary="a caption of each picture, by a chat model", example="{caption: openai:gpt-4o}"
)
def caption(options: CaptionOptions, context: Context) -> CaptionAnnotator:
    """Ask for captions."""
    return CaptionAnnotator(**options.asking(options.caption, context, "{model} captions"))


class ImportedCaptions(FileAnnotator):
    """Captions from a CSV or JSON Lines file.

    image, caption: Columns; found by their usual names when None (see :func:`read_captions`).

    Raises MetadataError: The file cannot be used.
    """

    def __init__(
        self,
        file: Path | str,
        *,
        name: str,
        image: str | None = None,
        caption: str | None = None,
        folder: Path | str | None = None,
    ) -> None:
        super().__init__(file, name=name, folder=folder)
        self.attributes: Attributes = {CAPTION: None}
        self._read = read_captions(self.path, image=image, caption=caption, name=self.file)
        self.notes += self._read.notes
        self._column = HASH if self._read.by_hash else image or "image"
        parameters = {"image": image, "caption": caption}
        self.identify("captions", parameters, self._read.data)

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the captions of the images in the table, in the table's order."""
        self.notes = list(self._read.notes)
        read = self._read.frame
        others = read.drop("line", "image", "caption").select(pl.col(pl.String)).head(SAMPLE)
        rows = self.first_rows(
            images,
            read.select(at="line", called="image"),
            "caption",
            column=self._column,
            others={name: others[name].drop_nulls().to_list() for name in others.columns},
            outside=outside_design(read, self.design),
        )
        said = rows.select(subject_id="image_id", value=read["caption"].gather(rows["row"]))
        return image_labels(said, attribute=CAPTION, annotator=self.name)


class ImportedCaptionOptions(Options):
    """As of :class:`ImportedCaptions`."""

    captions: File
    name: Name
    image: Text | None = None
    caption: Text | None = None


@annotator(
    ImportedCaptionOptions,
    summary="captions made elsewhere, from a CSV or JSONL file",
    example="{captions: captions.csv, name: blip-2}",
)
def captions(options: ImportedCaptionOptions, context: Context) -> ImportedCaptions:
    """Read the file."""
    given = options.model_dump(exclude={"captions"})
    return ImportedCaptions(options.captions, folder=context.folder, **given)
