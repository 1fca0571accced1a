"""From a line of an audit file to an annotator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from stereotrope.annotate.blank import BlankAnnotator
from stereotrope.annotate.chosen import Chosen
from stereotrope.annotate.colour import ColourAnnotator
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.duplicates import DuplicatesAnnotator
from stereotrope.annotate.embeddings import GivenEmbeddings, encoder_of
from stereotrope.annotate.entry import caption_annotator, constraint_annotator, question_annotator
from stereotrope.annotate.imported import ImportedLabels
from stereotrope.annotate.imported_captions import ImportedCaptions
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.annotate.text import TextAnnotator
from stereotrope.clients import Account, is_model, split_model
from stereotrope.errors import UsageError, did_you_mean
from stereotrope.lexicon import BUILT_IN, read_lexicon

__all__ = ["KINDS", "create"]

_MAKERS: Mapping[str, Callable[[], Annotator]] = {
    "blank": BlankAnnotator,
    "colour": ColourAnnotator,
    "duplicates": DuplicatesAnnotator,
    "text": TextAnnotator,
}
KINDS: Mapping[str, str] = {
    "blank": "is the picture blank, or near one colour",
    "colour": "product colour and background colour, named on a documented palette",
    "duplicates": "exact and near duplicates",
    "text": "text on the product and on the background, by OCR",
    "questions": "attributes of your own choice, by a chat model: {questions: openai:gpt-4o, …}",
    "constraints": "people or several products in the picture, by a chat model: {constraints: openai:gpt-4o}",
    "labels": "labels made elsewhere, from a CSV or JSONL file",
    "caption": "a caption of each picture, by a chat model: {caption: openai:gpt-4o}",
    "captions": "captions made elsewhere, from a CSV or JSONL file: {captions: FILE, name: NAME}",
    "lexicon": "what captions say, by lists of terms: {lexicon: biasbench}, or a YAML file of your own",
    "encoder": "vectors of pictures and prompts, by CLIP on this computer: {encoder: clip:MODEL, …}",
    "embeddings": "vectors made elsewhere, from a Parquet, JSONL or CSV file: {embeddings: FILE, name: NAME}",
}
"""Name → what it looks at, one line."""
_CAPTIONS_KEYS = ("captions", "name", "image", "caption")
_EMBEDDINGS_KEYS = ("embeddings", "name", "image", "vector")
_LEXICON_KEYS = ("lexicon", "name", "of", "factor")
_LABELS_KEYS = ("labels", "name", "attributes", "key", "layout", "model")


_WRITE = {
    "labels": "write {labels: FILE, name: NAME}",
    "questions": "write {questions: PROVIDER:MODEL}",
    "constraints": "write {constraints: PROVIDER:MODEL}",
    "caption": "write {caption: PROVIDER:MODEL}",
    "captions": "write {captions: FILE, name: NAME}",
    "lexicon": "write {lexicon: biasbench}, or {lexicon: FILE}",
    "encoder": "write {encoder: clip:openai/clip-vit-base-patch32}, or {encoder: clip:./FOLDER}",
    "embeddings": "write {embeddings: FILE, name: NAME}",
}


def create(
    spec: str | Mapping[str, Any],
    *,
    relative_to: Path | str | None = None,
    account: Account | None = None,
) -> Annotator:
    """Make an annotator.

    Parameters
    ----------
    spec
        A name (``"colour"``, ``"text"``, ``"blank"``, ``"duplicates"``), or a name with some of its
        attributes (``{"colour": ["background_colour"]}``); a chat model (``"openai:gpt-4o"``), with its
        options (``{"questions": "openai:gpt-4o", "attributes": …, "discover": True, "taxonomy": …,
        "temperature": 0, …}``, see :class:`QuestionAnnotator`) or for constraints
        (``{"constraints": "openai:gpt-4o"}``, see :class:`ConstraintAnnotator`); or a mapping for labels
        made elsewhere: ``{"labels": "human.csv", "name": "rater-1", "key": …, "attributes": […],
        "layout": …}`` (see :class:`ImportedLabels`).
        Captions come from a chat model (``{"caption": "openai:gpt-4o"}``, see :class:`CaptionAnnotator`) or
        a file (``{"captions": "captions.csv", "name": "blip-2", "image": …, "caption": …}``, see
        :class:`ImportedCaptions`); a lexicon reads them (``{"lexicon": "biasbench", "of": "blip-2",
        "factor": "prompt"}``, see :class:`LexiconAnnotator`).
        Vectors come from a model on this computer (``{"encoder": "clip:openai/clip-vit-base-patch32",
        "batch": 16, "device": "auto", "revision": …}``, see :class:`Encoder`) or a file (``{"embeddings":
        "clip.parquet", "name": "clip", "image": …, "vector": …}``, see :class:`GivenEmbeddings`).
    relative_to
        Folder that relative paths start from; the working directory when None.
    account
        What calls to models are booked on; an own one, without a cap, when None.

    Raises
    ------
    UsageError
        The name or a key is unknown; the nearest known one is named.
    MetadataError
        The file of labels cannot be used.
    InputError
        The file of taxonomies or the lexicon cannot be used.
    """
    if isinstance(spec, str) and is_model(spec):
        spec = {"questions": spec}
    if isinstance(spec, Mapping):
        if "questions" in spec:
            return question_annotator(spec, relative_to=relative_to, account=account)
        if "constraints" in spec:
            return constraint_annotator(spec, account=account)
        if "lexicon" in spec:
            return _lexicon(spec, relative_to)
        if "captions" in spec:
            return _captions(spec, relative_to)
        if "encoder" in spec:
            return encoder_of(spec, relative_to=relative_to)
        if "embeddings" in spec:
            return _embeddings(spec, relative_to)
        if "caption" in spec:
            return caption_annotator(spec, account=account)
        known = [key for key in spec if key in _MAKERS]
        return _chosen(known[0], spec) if known else _imported(spec, relative_to)
    if spec in _MAKERS:
        return _MAKERS[spec]()
    if ":" in spec:
        split_model(spec)
    hint = _WRITE.get(spec) or _hint(spec, KINDS)
    raise UsageError(f"annotator {spec!r}: no such annotator; {hint}")


def _chosen(name: str, spec: Mapping[str, Any]) -> Chosen:
    attributes = spec[name]
    if len(spec) > 1 or not _are_names(attributes) or name == "duplicates":
        raise UsageError(
            f"annotator {name!r}: takes nothing but a list of its attributes, found {dict(spec)!r}; "
            f"write {name}, or {{colour: [background_colour]}}"
        )
    return Chosen(_MAKERS[name](), attributes)


def _are_names(value: Any) -> bool:
    listed = isinstance(value, Sequence) and not isinstance(value, str)
    return listed and len(value) > 0 and all(isinstance(name, str) for name in value)


def _texts(spec: Mapping[str, Any], keys: Sequence[str], needed: Sequence[str]) -> dict[str, str | None]:
    """Return the options of an entry whose options are all texts."""
    for key in spec:
        if key not in keys:
            raise UsageError(f"annotator: unknown key {key!r}; {_hint(str(key), keys)}")
    for key in keys:
        value = spec.get(key)
        if (value is None and key in needed) or (
            value is not None and (not isinstance(value, str) or not value)
        ):
            raise UsageError(f"annotator: {key!r} must be given as text, found {value!r}; {_WRITE[keys[0]]}")
    name = spec.get("name") or ""
    if not name.isprintable():
        raise UsageError(f"annotator: 'name' must be printable, found {name!r}; rename it")
    return {key: spec.get(key) for key in keys}


def _captions(spec: Mapping[str, Any], relative_to: Path | str | None) -> ImportedCaptions:
    given = _texts(spec, _CAPTIONS_KEYS, ("captions", "name"))
    return ImportedCaptions(
        given["captions"] or "",
        name=given["name"] or "",
        image=given["image"],
        caption=given["caption"],
        folder=relative_to,
    )


def _embeddings(spec: Mapping[str, Any], relative_to: Path | str | None) -> GivenEmbeddings:
    given = _texts(spec, _EMBEDDINGS_KEYS, ("embeddings", "name"))
    return GivenEmbeddings(
        given["embeddings"] or "",
        name=given["name"] or "",
        image=given["image"],
        vector=given["vector"],
        folder=relative_to,
    )


def _lexicon(spec: Mapping[str, Any], relative_to: Path | str | None) -> LexiconAnnotator:
    given = _texts(spec, _LEXICON_KEYS, ("lexicon",))
    file = given["lexicon"] or ""
    if file not in BUILT_IN and relative_to is not None and Path(file).suffix:
        file = str(Path(relative_to) / file)
    return LexiconAnnotator(
        read_lexicon(file), name=given["name"], of=given["of"], factor=given["factor"] or "prompt"
    )


def _imported(spec: Mapping[str, Any], relative_to: Path | str | None) -> ImportedLabels:
    for key in spec:
        if key not in _LABELS_KEYS and not (set(spec) & {"labels", "name"}):
            raise UsageError(f"annotator: unknown key {key!r}; {_hint(str(key), (*_WRITE, *_MAKERS))}")
        if key not in _LABELS_KEYS:
            raise UsageError(f"annotator: unknown key {key!r}; {_hint(str(key), _LABELS_KEYS)}")
    for key in ("labels", "name"):
        if not isinstance(spec.get(key), str) or not spec[key]:
            raise UsageError(
                f"annotator: {key!r} must be given as text, found {spec.get(key)!r}; "
                "write {labels: human.csv, name: rater-1}"
            )
    for key in ("key", "layout", "model"):
        if not isinstance(spec.get(key), str | None):
            raise UsageError(f"annotator {spec['name']!r}: {key!r} must be a text, found {spec[key]!r}")
    attributes = spec.get("attributes")
    if attributes is not None and not _are_names(attributes):
        raise UsageError(
            f"annotator {spec['name']!r}: 'attributes' must be a list of names, found {attributes!r}"
        )
    return ImportedLabels(
        spec["labels"],
        name=spec["name"],
        key=spec.get("key"),
        attributes=attributes,
        layout=spec.get("layout"),
        model=spec.get("model"),
        folder=relative_to,
    )


def _hint(found: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    return did_you_mean(found, known, otherwise=f"known are {', '.join(known)}")
