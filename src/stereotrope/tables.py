"""The schemas of the tables that the five verbs meet in.

``prompts → images → labels → estimates``, and ``findings`` beside the estimates. Every grouping a
measure needs is a *factor*: a string column under its own name in ``prompts`` (``object``,
``group`` …), carried into the estimates. A number that cannot be given is null with a reason.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from stereotrope.errors import TableError

ALL_ATTRIBUTES = "all"
"""``attribute`` of an estimate that averages over attributes."""

NOT_VALUES = ("unclear", "refused", "invalid")
"""Labels with a meaning of their own that are no value of the attribute: kept, counted, not shared out."""


NOTHING_FOUND, NOTHING_CLEAR, SEVERAL_VALUES = "nothing found", "nothing clear", "several values"
FILTERED = (NOTHING_FOUND, NOTHING_CLEAR, SEVERAL_VALUES)
"""Rationales of derived labels that are `unclear` because of what the picture's regions show: no region, none
with a clear value, or some that differ. Measures count such pictures out for that reason."""


@dataclass(frozen=True)
class Band:
    """A range of a composite score: above the band before it, and up to ``most``."""

    name: str
    most: float


BANDS = (Band("low", 0.30), Band("moderate", 0.55), Band("high", 1.0))
"""Bands that composite scores of captions are shown in; ``band`` names a row's.

They are those of T2I-BiasBench, Table 4: a reader's aid of its authors, no test.
"""

KEPT_FROM = "kept_from"
"""Parameter of an image that was not drawn: that of another prompt, which a mitigation left as it was."""

CONSTRAINTS = ("people_present", "several_products")
"""Attributes that say whether a picture breaks its prompt's constraints: `yes` where it does, else `no`."""

CAPTION = "caption"
"""Attribute whose value is what somebody wrote of a picture, whole sentences."""

UNKNOWN = "unknown"
"""Value of what a caption is read for where it names no group of it."""

PROMPT_FOLLOWING = "follows_prompt"
"""Attribute whose value says whether a picture shows what was asked for."""

CAPTION_LISTS = (
    "stereotype",
    "diversity",
    "keyword",
    "implied",
    "hallucination",
    "reference",
    "alignment",
    "ppe",
)
"""Attributes of a caption's term lists: one label an element found, any number of them a picture."""

_OF_FILES = ("blank", "perceptual_hash", "exact_duplicate_of", "near_duplicate_of", "seen_in_discovery")
_OF_WRITING = ("text_words", "background_text_words", "text_mark")
QUALITY_ATTRIBUTES = (*_OF_FILES, *_OF_WRITING, *CONSTRAINTS, CAPTION, *CAPTION_LISTS)
"""Attributes that say whether a picture can be used, or hold its caption, what was found in that and what OCR
read, not how it looks: no measure of looks takes them in, and their values are not folded."""


@dataclass(frozen=True)
class Column:
    """One column of a table: its name, Arrow type and meaning."""

    name: str
    type: pa.DataType
    doc: str


TEXT, NUMBER, WHOLE = pa.string(), pa.float64(), pa.int64()
"""Types of columns."""
_S, _F, _I = TEXT, NUMBER, WHOLE
_V = pa.list_(pa.float32())

SCENARIO = "scenario"
"""Factor that says which prompts are wordings of one thing: these are alike, and are one unit of a number
that spans several."""
MITIGATION = "mitigation"
"""Factor that says how a prompt was rewritten."""

THESE_PROMPTS, LIKE_THESE = "these prompts", "prompts like these"
"""What an estimate speaks of (column ``holds_for``): what it was made of alone, or others like it as well."""

PROMPTS = (
    Column("prompt_id", _S, "short hash of text, negative prompt and factors"),
    Column("text", _S, "what is sent to the model; null where pictures made elsewhere came without it"),
    Column("negative", _S, "negative prompt, null where none is sent"),
)
"""Columns of ``prompts``; the factors stand between ``prompt_id`` and ``text``."""

IMAGES = (
    Column("image_id", _S, "short hash of the work item: generator fingerprint, prompt, seed, parameters"),
    Column("prompt_id", _S, "the prompt it was asked for with"),
    Column("generator", _S, "name of the text-to-image model"),
    Column("seed", _I, "seed given to the generator, null where it takes none"),
    Column("params", _S, "further parameters as JSON with sorted keys"),
    Column(
        "status",
        _S,
        "ok | refused (by the model) | excluded (cannot be used) | absent (it was made and is not at hand: "
        "what others said of it counts, nothing here looked at it)",
    ),
    Column("reason", _S, "why it was refused or excluded, or is absent"),
    Column("sha256", _S, "of the original bytes"),
    Column("width", _I, "pixels, upright"),
    Column("height", _I, "pixels, upright"),
    Column("path", _S, "of the original bytes, relative to the run folder"),
    Column("source", _S, "file it was taken from, relative to its folder; null where it was generated"),
    Column("revised_prompt", _S, "what the endpoint made of the prompt, where it says so"),
    Column("latency", _F, "seconds, null where nothing was requested"),
    Column("cost", _F, "US dollars, null where unknown"),
)
"""Columns of ``images``. A refusal is a row without a picture, never a missing row."""

ABSENT = "absent"
"""Status of an image whose picture is not at hand."""

MADE = "picture was made and is not at hand"
"""Reason of an absent image of which it is known that the request was not refused."""

LABELLED = ("ok", ABSENT)
"""Statuses of an image that labels count of."""

LABELS = (
    Column("subject_kind", _S, "image | region | set | text (of a prompt)"),
    Column("subject_id", _S, "image_id, the id of the region or set in `subjects`, or prompt_id of a text"),
    Column("region", _S, "box as JSON [x0, y0, x1, y1] in upright pixels, null for a whole image"),
    Column("attribute", _S, "what was looked at"),
    Column("value", _S, "what was seen, as it is counted: open values folded; null unless status is ok"),
    Column("confidence", _F, "in [0, 1], null where the annotator gives none"),
    Column("annotator", _S, "name of the instrument"),
    Column("status", _S, "ok | unclear | refused | invalid"),
    Column("rationale", _S, "in the annotator's words, or the reason of a status that is not ok"),
    Column("written", _S, "value as the annotator wrote it, where folding or a mark changed it; else null"),
    Column("derived_from", _S, "annotator whose labels it follows from; null where somebody looked"),
)
"""Columns of ``labels``."""

SUBJECTS = (
    Column("subject_kind", _S, "region | set"),
    Column("subject_id", _S, "as in labels: a short hash of image and box, or of the images in their order"),
    Column("image_id", _S, "an image of the subject"),
    Column("position", _I, "its place in the set, from 0"),
    Column("region", _S, "box as JSON [x0, y0, x1, y1] in upright pixels, null for a set"),
    Column("annotators", _S, "JSON list of those that look at it; null in runs that did not record it"),
)
"""Columns of ``subjects``, in runs with annotators of regions or sets: a row an image of each."""

EMBEDDINGS = (
    Column("subject_kind", _S, "image | text (of a prompt) | sentence (that a measure or annotator reads)"),
    Column("subject_id", _S, "image_id; of a text, prompt_id; of a sentence, the sentence itself"),
    Column("encoder", _S, "name of the encoder"),
    Column("vector", _V, "what the encoder gives, at unit length"),
)
"""Columns of ``embeddings``, a file an encoder: vectors of two encoders cannot be compared."""

ESTIMATES = (
    Column("measure", _S, "name of the measure, such as bds"),
    Column("definition", _S, "which definition of the score: paper | released | …"),
    Column("contrast", _S, "name of the factor whose levels are compared, null where none is"),
    Column("reference", _S, "level of the contrast factor compared with (the baseline, or a pair's other)"),
    Column("attribute", _S, f"attribute, or {ALL_ATTRIBUTES!r} for their mean, null where none"),
    Column("category", _S, "value of the attribute that is counted, null where none"),
    Column("sides", _S, "JSON: groups on each side of a parity | pair: reference is no baseline | null"),
    Column("aggregate", _S, "factors that the value is a mean over, such as object; null where it is none"),
    Column("subset", _S, "pictures it is computed on, such as without_violations; null for all"),
    Column("baseline", _S, "level of the contrast factor whose score was taken off; null where none was"),
    Column("value", _F, "the score; null where undefined"),
    Column("band", _S, "low | moderate | high: where a composite score lies; else null"),
    Column("low", _F, "lower end of the interval"),
    Column("high", _F, "upper end of the interval"),
    Column("level", _F, "nominal coverage of the interval"),
    Column("holds_for", _S, "these prompts | prompts like these: what interval and p speak of; else null"),
    Column("p_value", _F, "of the null hypothesis that the measure names"),
    Column("p_least", _F, "least p that the counts could have given; null where p can be as small as any"),
    Column("q_value", _F, "p after Benjamini–Hochberg over the measure's own tests; findings have their own"),
    Column("floor", _F, "mean of the score under the null: what it would read if nothing differed"),
    Column("excess", _F, "value − floor"),
    Column("z", _F, "excess in standard deviations of the null"),
    Column("adjusted", _F, "(value − floor) / (max − floor), unclipped"),
    Column("adjusted_low", _F, "lower end of the interval of adjusted"),
    Column("adjusted_high", _F, "upper end of the interval of adjusted"),
    Column("bound_low", _F, "least value the missing labels allow, where over 5% are missing"),
    Column("bound_high", _F, "greatest value the missing labels allow, where over 5% are missing"),
    Column("n", _I, "images that entered (for 'all': with a label of any attribute); of an average, levels"),
    Column("n_reference", _I, "images of the reference that entered"),
    Column("numerator", _I, "what value counts, where it is a share or a difference of shares; else null"),
    Column("denominator", _I, "of how many, likewise"),
    Column("numerator_reference", _I, "of a difference of shares: what the reference counts; else null"),
    Column("n_categories", _I, "k: groups or elements counted, where the score depends on it; else null"),
    Column("by_seed", _S, "JSON: [seed, sum, number] of pictures that value is a mean of; null if not known"),
    Column(
        "n_excluded",
        _I,
        "images left out (for 'all' of a divergence or a concentration: their labels; else what n counts)",
    ),
    Column("excluded", _S, "JSON object: reason → count"),
    Column("undefined", _S, "why value is null"),
    Column("flags", _S, "comma-separated warnings: small_n, few_attributes …"),
    Column("instrument", _S, "annotator, lexicon or encoder it rests on; null where several"),
    Column("method", _S, "how interval and p were made: resamples, shuffles, seed"),
    Column("source", _S, "reference with equation number"),
)
"""Columns of ``estimates``; the factors that scope a row stand between ``definition`` and ``contrast``."""

ESTIMATE_COLUMNS = frozenset(column.name for column in ESTIMATES)
"""Their names: every other column of a frame of estimates is a factor."""

MARKS = ("aggregate", "subset", "baseline")
"""Columns of ``estimates`` that are null in a measure's own scores; else the row is made from such."""

FINDINGS = (
    Column("finding_id", _S, "short hash of kind and scope"),
    Column("list", _S, "summary | difference (tested) | common (described) | instrument (a warning)"),
    Column("kind", _S, "as its finder names it: divergence, share_difference …"),
    Column("rank", _I, "1 is the most worth a look, lists behind one another; 0 the summary"),
    Column("scope", _S, "JSON object: factor → level"),
    Column("contrast", _S, "name of the factor whose levels are compared, null where nothing is"),
    Column("reference", _S, "level compared with"),
    Column("attribute", _S, "attribute it is about, null where none"),
    Column("sentence", _S, "the finding in one full sentence with its numbers"),
    Column("measure", _S, "measure of the estimate behind it"),
    Column("category", _S, "value of the attribute that is named, null where none"),
    Column("numerator", _I, "pictures of the condition that show it; of what is told otherwise null"),
    Column("n", _I, "pictures of the condition"),
    Column("numerator_reference", _I, "pictures of the reference that show it"),
    Column("n_reference", _I, "pictures of the reference"),
    Column(
        "value",
        _F,
        "size of a difference; of a description its distance from others, or the score that it tells",
    ),
    Column("low", _F, "lower end of its interval, which is widened for its being selected"),
    Column("high", _F, "upper end"),
    Column(
        "level",
        _F,
        "coverage of that interval: 1 − error × told / all, of differences the error of this look; where "
        "a value is named, that part of the error is divided by how many values are there",
    ),
    Column("p_value", _F, "of the comparison, all its tests together"),
    Column("q_value", _F, "p after Benjamini–Hochberg over all comparisons, at the look that told it"),
    Column("image_ids", _S, "JSON list of the images that show it"),
    Column("pattern_id", _S, "the pattern of differences that say the same elsewhere; null where none does"),
    Column("pattern_sentence", _S, "in how many places, of those where it was tested, the pattern is told"),
    Column(
        "pattern_extent",
        _S,
        "JSON object: varies (factors), n_same, n_tested and n_opposite (places told, tested, told the other "
        "way)",
    ),
)
"""Columns of ``findings``."""

COMPARISONS = (
    Column("kind", _S, "as the finder that tests it names it"),
    Column("scope", _S, "JSON object: factor → level"),
    Column("contrast", _S, "name of the factor whose levels are compared"),
    Column("reference", _S, "level compared with"),
    Column("attribute", _S, "attribute it is about, null where none"),
    Column("measure", _S, "measure whose rows test it; several joined by a comma"),
    Column("scores", _S, "scores that it compares, joined so, where the measure's name does not say"),
    Column(
        "verdict",
        _S,
        "differs | alike | not enough (pictures, prompts or scenarios, or a scale without margin)",
    ),
    Column("margin", _F, "difference of shares within which sides are called alike; null of all else"),
    Column("category", _S, "value of the attribute whose difference may be largest"),
    Column("value", _F, "its difference; null where no test has a size"),
    Column("low", _F, "lower end of its interval"),
    Column("high", _F, "upper end"),
    Column(
        "bound_low",
        _F,
        "least that any value's difference may be if labels that are missing count, with its error; null "
        "where few are",
    ),
    Column("bound_high", _F, "greatest that any may be so"),
    Column(
        "level",
        _F,
        "coverage of that interval, 1 − 1.7α for two one-sided tests, of a comparison named before looking; "
        "of what differs the table findings has the one that is widened for its being selected",
    ),
    Column("p_value", _F, "of the comparison, all its tests together"),
    Column("p_least", _F, "least p that its counts could have given, whichever of them each side had"),
    Column("q_value", _F, "p after Benjamini–Hochberg over all that could have given as small a p"),
    Column("finding_id", _S, "the finding that tells it; null where it is not told"),
)
"""Columns of ``comparisons``: every comparison that was tested, and how it ends."""

ROBUSTNESS = (
    Column("finding_id", _S, "the finding"),
    Column("way", _S, "as told | annotator | as written | without violations | a factor"),
    Column("level_of", _S, "the annotator, the word, or the level of the factor; null where none"),
    Column("numerator", _I, "pictures of the condition that show the value"),
    Column("n", _I, "pictures of the condition"),
    Column("numerator_reference", _I, "pictures of the reference that show it"),
    Column("n_reference", _I, "pictures of the reference"),
    Column("value", _F, "difference of the shares"),
    Column("low", _F, "lower end of its interval, not widened for having been selected"),
    Column("high", _F, "upper end"),
    Column("level", _F, "nominal coverage"),
)
"""Columns of ``robustness``: each finding of a difference looked at in other ways; nothing is tested."""

REFERENCE = (
    Column("image_id", _S, "the image"),
    Column("attribute", _S, "what is known of it"),
    Column("value", _S, "the value known to be true"),
)
"""Columns of ``reference``: labels known to be true, in runs that have them (calibrations)."""

N_SUBJECTS = "n_subjects"
"""Column of a frame whose rows stand for so many labels or images that are alike."""

COUNTS = (
    Column("subject_kind", _S, "image | region"),
    Column("generator", _S, "name of the text-to-image model"),
    Column("prompt_id", _S, "the prompt that the images were asked for with"),
    Column("image_status", _S, "status of the images, as in `images`"),
    Column("reason", _S, "why they were refused or excluded, or are absent"),
    Column("annotator", _S, "name of the instrument; null in rows that count the images themselves"),
    Column("attribute", _S, "what was looked at; null likewise"),
    Column("value", _S, "as in labels"),
    Column("status", _S, "as in labels; null where nothing was said"),
    Column("rationale", _S, "of derived labels the filter that the image fell to; else null"),
    Column("written", _S, "as in labels"),
    Column("derived_from", _S, "as in labels"),
    Column(N_SUBJECTS, _I, "images or regions of which all this is so"),
)
"""Columns of ``counts``, in runs that count label files: there is no row an image or label in these."""

RUN_TABLES = {
    "prompts": PROMPTS,
    "images": IMAGES,
    "labels": LABELS,
    "counts": COUNTS,
    "subjects": SUBJECTS,
    "embeddings": EMBEDDINGS,
    "estimates": ESTIMATES,
    "comparisons": COMPARISONS,
    "findings": FINDINGS,
    "robustness": ROBUSTNESS,
    "reference": REFERENCE,
}
"""Columns of every table above by its name in a run folder."""

RESERVED = frozenset(
    column.name for table in (PROMPTS, IMAGES, LABELS, COUNTS, ESTIMATES, FINDINGS) for column in table
) | {"file_name", "all"}
"""Names that no factor may take."""

SCOPES = frozenset({"generator", "annotator"})
"""Reserved columns that scope an estimate the way a factor does."""


def check_factors(names: Iterable[str]) -> tuple[str, ...]:
    """Return the factor names, or raise.

    Raises TableError: A name is reserved, empty or given twice.
    """
    seen: list[str] = []
    for name in names:
        if not name or not name.strip():
            raise TableError("a factor has no name; give every factor a name such as 'object'")
        if name in RESERVED and name not in SCOPES:
            raise TableError(
                f"factor {name!r}: this name is reserved for a column of every run; rename the factor, for "
                f"example 'given_{name}'"
            )
        if name in seen:
            raise TableError(f"factor {name!r} is given twice; factor names must differ")
        seen.append(name)
    return tuple(seen)


def factors_of(columns: Iterable[str]) -> list[str]:
    """Return the factors among the columns of a ``prompts`` table, in their order."""
    fixed = {column.name for column in PROMPTS}
    return [name for name in columns if name not in fixed]


def prompt_id(text: str | None, negative: str | None, factors: Mapping[str, str | None]) -> str:
    """Short content hash of a prompt: the first 16 hex digits of SHA-256 over its canonical JSON."""
    content = json.dumps([text, negative, dict(sorted(factors.items()))], ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def fingerprint_of(name: str, version: int, parameters: Mapping[str, Any], *data: bytes) -> str:
    """Short hash of an annotator: its name, version, parameters and the bytes of its data files."""
    head = json.dumps([name, version, parameters], sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(head.encode())
    for part in data:
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def whole_problem(name: str) -> str | None:
    """Return what is wrong with the name that stands for all attributes together, None for another."""
    if name == ALL_ATTRIBUTES:
        return (
            f"{name!r}: this name is taken: in the estimates it stands for all attributes together; rename "
            "the attribute"
        )
    return None


def warnings_of(flags: str | None) -> list[str]:
    """The single warnings of the column ``flags``."""
    return flags.split(",") if flags else []


def plain_scores(estimates: pl.DataFrame) -> pl.DataFrame:
    """The measures' own scores among estimates: no mean, no score of a subset and no difference of two."""
    marks = [c for c in MARKS if c in estimates.columns]
    return estimates.filter(pl.all_horizontal(pl.col(marks).is_null())) if marks else estimates


def levels_of_subjects(subjects: pl.DataFrame, images: pl.DataFrame, levels: Sequence[str]) -> pl.DataFrame:
    """Each region and set with its first image and what it is of: null where the images of a set differ."""
    listed = subjects.sort("position", maintain_order=True).select("subject_id", "image_id")
    known = listed.join(images.select("image_id", *levels), on="image_id", maintain_order="left")
    alike = [pl.when(pl.col(c).n_unique() == 1).then(pl.col(c).first()).alias(c) for c in levels]
    return known.group_by("subject_id", maintain_order=True).agg(pl.col("image_id").first(), *alike)


def kept_images(images: pl.DataFrame) -> dict[str, str]:
    """Image → the one whose picture it has (:data:`KEPT_FROM`); nothing where the frame has no ``params``."""
    if "params" not in images.columns:
        return {}
    told = images.select("image_id", pl.col("params").cast(pl.String))
    told = told.filter(pl.col("params").str.contains(KEPT_FROM, literal=True))
    return dict(told.with_columns(pl.col("params").str.json_path_match(f"$.{KEPT_FROM}")).drop_nulls().rows())


def number_in(rows: pl.DataFrame) -> int:
    """How many images or labels the rows of a frame stand for."""
    return int(rows[N_SUBJECTS].sum()) if N_SUBJECTS in rows.columns else rows.height


def compact(frame: pl.DataFrame) -> pl.DataFrame:
    """The same rows, with each column whose values are all alike held as that one value.

    Polars holds a text in 16 bytes a row, whether it is missing, and however often it stands there.
    """
    alike = []
    for name, kind in frame.schema.items() if frame.height else ():
        column = frame.get_column(name)
        first, n_missing = column[0], column.null_count()
        if n_missing == frame.height or (not n_missing and not kind.is_nested() and (column == first).all()):
            alike.append(pl.lit(first, kind).alias(name))
    return frame.with_columns(alike)


def polars_types(columns: Sequence[Column]) -> dict[str, Any]:
    """Column → Polars type of a table in memory."""
    types = {_S: pl.String, _F: pl.Float64, _I: pl.Int64, _V: pl.List(pl.Float32)}
    return {column.name: types[column.type] for column in columns}


def schema(columns: Sequence[Column], factors: Sequence[str] = ()) -> pa.Schema:
    """Arrow schema of a table, its factors placed after the first columns.

    ``prompts``: after ``prompt_id``; ``estimates``: after ``definition``. Column docs travel as field
    metadata.
    """
    if factors and columns not in (PROMPTS, ESTIMATES):
        raise TableError("only prompts and estimates carry factor columns")
    at = 1 if columns is PROMPTS else 2
    fields = [pa.field(c.name, c.type, metadata={"doc": c.doc}) for c in columns]
    fields[at:at] = [pa.field(f, _S, metadata={"doc": "factor"}) for f in check_factors(factors)]
    return pa.schema(fields)
