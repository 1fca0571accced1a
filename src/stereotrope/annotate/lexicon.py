"""Labels derived from captions by a lexicon: no picture is read, no model is asked."""

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path

import polars as pl

from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes, image_labels
from stereotrope.annotate.registry import annotator
from stereotrope.confusables import lookalikes
from stereotrope.errors import InputError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Name, Options, Text
from stereotrope.lexicon import built_in_lexicons, read_lexicon
from stereotrope.lexicon.model import AND, Lexicon, Reading
from stereotrope.lexicon.parts import Grouped
from stereotrope.tables import CAPTION, UNKNOWN, fingerprint_of

_FEW = 5
"""Groups up to which every double mention is a value of the list; above it those of two groups."""


class LexiconAnnotator(Annotator):
    """Finds the terms of a lexicon in captions.

    Each caption gets one label a grouped attribute - the group, ``unknown``, or the groups it names joined
    by `` and `` - and one label for each element of a term list that it names. A caption that was refused
    or is invalid gives grouped labels of that status.

    lexicon: The lexicon.
    name: Name in the ``annotator`` column; the lexicon's when None.
    of: Annotator whose captions are read; needed where several write captions.
    factor: Factor that names the lexicon's prompts.

    notes: What the last derivation could not read, one sentence each.
    reading: The captions as the last derivation read them, with the column ``image_id``; None before.
    """

    version = 1
    needs = (CAPTION,)
    gives = ("lexicon",)
    remedies: Mapping[str, str] = {
        CAPTION: "`{caption: openai:gpt-4o}`, or `{captions: FILE, name: NAME}` for captions made elsewhere"
    }

    def __init__(
        self, lexicon: Lexicon, *, name: str | None = None, of: str | None = None, factor: str = "prompt"
    ) -> None:
        self.lexicon = lexicon
        self.name: str = name or lexicon.name
        self.of = of
        self.factor = factor
        self.notes: list[str] = []
        self.reading: Reading | None = None
        self.attributes: Attributes = {
            **{attribute: _values(grouped) for attribute, grouped in lexicon.attributes.items()},
            **dict.fromkeys(lexicon.lists),
        }

    @property
    def fingerprint(self) -> str:
        """The lexicon, whose captions, and the factor."""
        parameters = {"lexicon": self.lexicon.fingerprint, "of": self.of, "factor": self.factor}
        return fingerprint_of("lexicon", self.version, parameters)

    def asked(self, levels: Mapping[str, str | None]) -> tuple[str, ...]:
        """Return the grouped attributes that captions of a prompt with these levels have."""
        own = str(levels.get(self.factor)).strip().casefold()
        known = own in {name.casefold() for name in self.lexicon.prompts}
        return tuple(
            name
            for name, one in self.lexicon.attributes.items()
            if one.of is None or (known and own in {each.casefold() for each in one.of})
        )

    def elements(self, levels: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
        """Return the elements of the lists that the prompt with these levels has."""
        own = str(levels.get(self.factor)).strip().casefold()
        entries = (entry for name, entry in self.lexicon.prompts.items() if name.casefold() == own)
        return {name: tuple(one.elements) for entry in entries for name, one in entry.lists.items()}

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the labels of the captions, in the order of the images.

        Raises InputError: Several annotators wrote captions, and ``of`` names none of them.
        """
        self.notes = []
        captions = self._captions(labels)
        shown = images.select("image_id", *([self.factor] if self.factor in images.columns else [])).join(
            captions, on="image_id", how="inner", maintain_order="left"
        )
        if self.lexicon.prompts and self.factor not in images.columns:
            self.notes.append(
                f"lexicon {self.lexicon.name!r}: no factor {self.factor!r}, so no caption belongs to any of "
                "its prompts; name the factor that does with `factor:`"
            )
            shown = shown.with_columns(pl.lit(None, pl.String).alias(self.factor))
        elif self.lexicon.prompts:
            self._note_strangers(shown)
        self.reading = Reading(self.lexicon, shown, self.factor)
        said = pl.concat([self._said(self.reading.framed, name) for name in self.attributes])
        order = shown.select(subject_id="image_id")
        said = order.join(said, on="subject_id", how="inner", maintain_order="left_right")
        return image_labels(said, annotator=self.name)

    def _said(self, framed: pl.DataFrame, attribute: str) -> pl.DataFrame:
        """What captions say of an attribute: of a list each element, of a group also why there is none."""
        is_ok = pl.col("status") == "ok"
        if attribute in self.lexicon.attributes:
            said = framed.filter(pl.col(attribute).is_not_null() | ~is_ok)
        else:
            said = framed.explode(attribute).drop_nulls(attribute)
        return said.select(
            "status",
            subject_id="image_id",
            attribute=pl.lit(attribute),
            value=attribute,
            rationale=pl.when(~is_ok).then("rationale"),
            derived_from="annotator",
        )

    def _captions(self, labels: pl.DataFrame) -> pl.DataFrame:
        captions = labels.filter(pl.col("attribute") == CAPTION, pl.col("subject_kind") == "image")
        writers = captions["annotator"].unique(maintain_order=True).to_list()
        if self.of is not None:
            captions = captions.filter(pl.col("annotator") == self.of)
            if captions.is_empty():
                there = f"captions are by {', '.join(writers)}" if writers else "there are no captions"
                self.notes.append(f"lexicon {self.lexicon.name!r}: no captions by {self.of!r}; {there}")
        elif len(writers) > 1:
            raise InputError(
                f"lexicon {self.lexicon.name!r}: reads one annotator's captions, found those of "
                f"{', '.join(writers)}; write {{lexicon: {self.lexicon.name}, of: {writers[0]}}}"
            )
        elif not writers:
            self.notes.append(f"lexicon {self.lexicon.name!r}: there are no captions")
        return captions.select(
            "status", "rationale", "annotator", image_id="subject_id", caption="value"
        ).unique("image_id", keep="first", maintain_order=True)

    def _note_strangers(self, shown: pl.DataFrame) -> None:
        known = {name.casefold() for name in self.lexicon.prompts}
        named = shown[self.factor].unique(maintain_order=True).to_list()
        strange = [str(one) for one in named if str(one).strip().casefold() not in known]
        if strange:
            self.notes.append(
                f"lexicon {self.lexicon.name!r}: says nothing of the prompts {', '.join(strange)}; it knows "
                f"{', '.join(self.lexicon.prompts)}"
            )
            alike = lookalikes(dict.fromkeys(strange, 1), self.lexicon.prompts)
            self.notes += [one.sentence("prompts of captions") for one in alike]


def _values(grouped: Grouped) -> tuple[str, ...]:
    """Return the values a caption can have of an attribute, double mentions included."""
    groups = list(grouped.groups)
    undecided = groups if set(groups) - set(grouped.priority) else []
    most = len(undecided) if len(undecided) <= _FEW else 2
    double = [AND.join(each) for n in range(2, most + 1) for each in combinations(undecided, n)]
    return (*groups, *double, UNKNOWN)


class LexiconOptions(Options):
    """As of :class:`LexiconAnnotator`; ``lexicon`` is a built-in one or a file."""

    lexicon: File
    name: Name | None = None
    of: Text | None = None
    factor: Text = "prompt"


@annotator(
    LexiconOptions,
    summary="what captions say, by lists of terms: a built-in one, or a YAML file of your own",
    example="{lexicon: biasbench}",
)
def lexicon(options: LexiconOptions, context: Context) -> LexiconAnnotator:
    """Read the lexicon."""
    file = options.lexicon
    if file not in built_in_lexicons() and Path(file).suffix:
        file = str(context.folder / file)
    return LexiconAnnotator(read_lexicon(file), **options.model_dump(exclude={"lexicon"}))
