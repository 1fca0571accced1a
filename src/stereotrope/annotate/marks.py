"""Marks: text that a model puts at one place of its pictures whatever it was asked for."""

import difflib
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.tables import IMAGES

MARK = "text_mark"
"""Attribute of a reading that is a mark; its value is how the mark is mostly read."""
WORDS = {"text_presence": "text_words", "background_text_presence": "background_text_words"}
"""Attribute that says whether there is text → attribute of its readings, one label each."""

FEWEST_READ = 5
"""Pictures that a mark must be read in, and that a level of a factor must have to be asked about it."""
REACH = (0.08, 0.04)
"""How far, as a share of width and height, the middle of a reading may lie from its mark's."""
AT_EDGE, TALLEST = 0.15, 0.2
"""A reading lies at an edge where its middle is so near to it, and is no taller than that."""
CORNER = 0.3
"""It lies in a corner where it is at the upper or lower edge and so near to a side."""
ALIKE = 0.6
"""Similarity of two readings (difflib) from which they are of one text: OCR errs on faint marks."""
SHARES = {"same text at an edge": 0.2, "any text in a corner": 0.3, "same text anywhere": 0.8}
"""Least share of a model's pictures."""
EVEN = {"edge": 0.25, "anywhere": 0.5}
"""Least rate under each level of a factor, as a share of the highest: a mark asks for no cue. Low, since a
mark is read the worse the less it stands out from what is drawn."""

MOST_COMPARED, LONGEST = 60, 80
"""Readings of one place among which the one is sought that most are like, and their characters that count."""
FEW_LEVELS = 12
"""Levels up to which every one counts; of more, the nine tenths between, since a few are read badly."""
BY_CHANCE = 0.01
"""p from which rates under the levels of a factor may as well be the same."""

THING = "object"
"""Factor that says what is drawn: text in the middle of pictures of one thing may be the thing's own."""

_STEP = 0.05
_WORD = re.compile(r"\w+")
_IMAGE = {*(column.name for column in IMAGES), "text"}

Boxes = NDArray[np.float64]


def mark_parameters() -> dict[str, object]:
    """What decides on marks, for a fingerprint."""
    return {
        "marks": [
            *(FEWEST_READ, REACH, AT_EDGE, TALLEST, CORNER, ALIKE, MOST_COMPARED),
            *(LONGEST, SHARES, EVEN, FEW_LEVELS, BY_CHANCE, THING),
        ]
    }


@dataclass(frozen=True)
class _Reading:
    image: str
    words: str
    region: str


@dataclass(frozen=True)
class _Pictures:
    """Pictures of one model that were read, each with its levels of every factor."""

    levels: dict[str, tuple[str | None, ...]]
    prompts: dict[str, str]
    of_one_thing: bool
    """Whether the design names what is drawn, and only one thing often enough to be asked about."""

    def is_spread(self, marked: set[str], even: float) -> bool:
        """Whether pictures of every part of the design have it, none far less often than another."""
        asked = False
        for at in range(len(next(iter(self.levels.values())))):
            n = Counter(levels[at] for levels in self.levels.values())
            k = Counter(self.levels[image][at] for image in marked)
            known = [level for level in n if n[level] >= FEWEST_READ]
            if len(known) < 2:
                continue
            asked = True
            rates = np.array([k[level] / n[level] for level in known])
            ends = (0.0, 1.0) if len(known) <= FEW_LEVELS else (0.1, 0.9)
            least, most = np.quantile(rates, ends)
            if least < even * most and _differ([k[x] for x in known], [n[x] for x in known]):
                return False
        return asked or self._over_prompts(marked)

    def _over_prompts(self, marked: set[str]) -> bool:
        """Where no level has enough pictures: in most of the prompts that chance would spread it over."""
        share = len(marked) / len(self.levels)
        sizes = Counter(self.prompts.values())
        expected = sum(1 - (1 - share) ** n for n in sizes.values())
        return len(sizes) > 1 and len({self.prompts[image] for image in marked}) >= 0.75 * expected


def _differ(k: Sequence[int], n: Sequence[int]) -> bool:
    """Whether rates differ by more than chance gives (χ²)."""
    table = np.array([k, np.subtract(n, k)], np.float64)
    if not table.sum(axis=1).all():
        return False
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    statistic = ((table - expected) ** 2 / expected).sum()
    from scipy import special  # noqa: PLC0415

    return bool(special.chdtrc(table.shape[1] - 1, statistic) < BY_CHANCE)


def find_marks(readings: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Return the readings that are marks.

    Text at one place of a model's pictures is a mark where it is the same at an edge in a fifth of them, or
    whatever it reads as in a corner in three of ten (signatures, dates), or the same anywhere in four of five
    (stock pictures' names; not where all pictures are of one ``object``); and where it is about as frequent
    under every level of each factor. Text that a cue brings is none, wherever it stands, nor are words that
    the picture's own prompt has: they were asked for.

    readings: ``image_id, words, region``, one row a reading.
    images: Pictures that were read: ``image_id, generator, prompt_id, width, height``, the factors, and the
        ``text`` of the prompt, where it is known.

    Returns ``image_id, region, words, mark, place``: ``mark`` is how it is mostly read, ``place`` where it
    is, such as ``bottom right``.
    """
    factors = [c for c in images.columns if c not in _IMAGE]
    readings = _not_asked_for(readings, images)
    sized = images.filter(pl.col("width").is_not_null(), pl.col("height").is_not_null())
    rows: list[tuple[str, str, str, str, str]] = []
    for _, own in sized.group_by(["generator"], maintain_order=True):
        levels = {image: tuple(rest) for image, *rest in own.select("image_id", *factors).iter_rows()}
        things = own[THING].drop_nulls().value_counts() if THING in factors else None
        alone = things is not None and things.filter(pl.col("count") >= FEWEST_READ).height == 1
        pictures = _Pictures(levels, dict(own.select("image_id", "prompt_id").iter_rows()), alone)
        if own["prompt_id"].n_unique() < 2:
            continue
        part = readings.join(own.select("image_id", "width", "height"), on="image_id", how="inner")
        part = part.sort("image_id", "region", "words")
        listed = [_Reading(*row) for row in part.select("image_id", "words", "region").iter_rows()]
        corners = np.array([json.loads(reading.region) for reading in listed], np.float64).reshape(-1, 4)
        boxes = corners / np.tile(part.select("width", "height").to_numpy().astype(np.float64), 2)
        for members, mark in _marks(listed, boxes, pictures):
            place = _place(np.median(boxes[members], axis=0))
            rows += [(listed[i].image, listed[i].region, listed[i].words, mark, place) for i in members]
    names = ("image_id", "region", "words", "mark", "place")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def _not_asked_for(readings: pl.DataFrame, images: pl.DataFrame) -> pl.DataFrame:
    """Return the readings but for words that stand in the prompt of their picture, one after the other."""
    if "text" not in images.columns:
        return readings
    prompts = dict(images.select("image_id", "text").iter_rows())
    pairs = readings.select("image_id", "words").iter_rows()
    asked = [
        bool(words.strip()) and words in _spaced(prompts.get(image))
        for image, words in ((image, _spaced(words)) for image, words in pairs)
    ]
    return readings.filter(~pl.Series(asked, dtype=pl.Boolean))


def _spaced(text: str | None) -> str:
    """The words of a text, each between spaces."""
    return f" {' '.join(_WORD.findall((text or '').casefold()))} "


def _marks(listed: Sequence[_Reading], boxes: Boxes, pictures: _Pictures) -> Iterator[tuple[list[int], str]]:
    """Members and name of each mark, the most frequent place first."""
    middles = (boxes[:, :2] + boxes[:, 2:]) / 2
    left = list(range(len(listed)))
    enough = max(FEWEST_READ, min(SHARES.values()) * len(pictures.levels))
    while left:
        members = _densest(listed, middles, left)
        if len({listed[i].image for i in members}) < enough:
            return
        found = _mark(listed, boxes, members, pictures)
        if found is not None:
            yield found
        gone = set(members)
        left = [i for i in left if i not in gone]


def _densest(listed: Sequence[_Reading], middles: Boxes, left: Sequence[int]) -> list[int]:
    """Readings about the place that most pictures have one at."""
    cells: dict[tuple[int, int], list[int]] = {}
    for i in left:
        x, y = (middles[i] / _STEP).astype(int).tolist()
        cells.setdefault((x, y), []).append(i)

    def around(cell: tuple[int, int]) -> list[int]:
        x, y = cell
        return [i for dx in (-1, 0, 1) for dy in (-1, 0, 1) for i in cells.get((x + dx, y + dy), ())]

    best = max(sorted(cells), key=lambda cell: len({listed[i].image for i in around(cell)}))
    near = around(best)
    middle = np.median(middles[near], axis=0)
    return [i for i in left if (np.abs(middles[i] - middle) <= REACH).all()] or near


def _mark(
    listed: Sequence[_Reading], boxes: Boxes, members: list[int], pictures: _Pictures
) -> tuple[list[int], str] | None:
    """The readings of one place that are a mark, and how it is mostly read; None where they are none."""
    words = {i: listed[i].words for i in members}
    plain = {i: "".join(c for c in text.casefold() if c.isalnum()) or text for i, text in words.items()}
    counted = Counter(plain.values()).most_common(MOST_COMPARED)
    # Of readings that differ a little, the one that most others are like.
    core = max(counted, key=lambda c: sum(n for text, n in counted if _alike(text, c[0])))[0]
    like = {text for text in set(plain.values()) if _alike(text, core)}
    same = [i for i in members if plain[i] in like]
    for chosen, of_one_text in ((members, False), (same, True)):
        box = np.median(boxes[chosen], axis=0)
        corner, edge = _in_corner(box), _at_edge(box)
        if not of_one_text and not corner:
            continue
        kind = (
            "any text in a corner" if not of_one_text else f"same text {'at an edge' if edge else 'anywhere'}"
        )
        if pictures.of_one_thing and not edge:
            continue
        marked = {listed[i].image for i in chosen}
        often = len(marked) >= max(FEWEST_READ, SHARES[kind] * len(pictures.levels))
        if often and pictures.is_spread(marked, EVEN["edge" if edge else "anywhere"]):
            return chosen, Counter(listed[i].words for i in chosen).most_common(1)[0][0]
    return None


def _alike(one: str, other: str) -> bool:
    if one == other:
        return True
    both = difflib.SequenceMatcher(None, one[:LONGEST], other[:LONGEST], autojunk=False)
    return both.real_quick_ratio() >= ALIKE and both.quick_ratio() >= ALIKE and both.ratio() >= ALIKE


def _at_edge(box: Boxes) -> bool:
    middle, tall = (box[:2] + box[2:]) / 2, box[3] - box[1]
    return bool(tall <= TALLEST and (np.minimum(middle, 1 - middle) <= AT_EDGE).any())


def _in_corner(box: Boxes) -> bool:
    x, y = (box[:2] + box[2:]) / 2
    return _at_edge(box) and bool(min(y, 1 - y) <= AT_EDGE and min(x, 1 - x) <= CORNER)


def _place(box: Boxes) -> str:
    """``bottom right``, ``top``, ``middle`` …: the third of the picture that the middle of a box is in."""
    x, y = (box[:2] + box[2:]) / 2
    across = ("left", "", "right")[min(int(x * 3), 2)]
    down = ("top", "", "bottom")[min(int(y * 3), 2)]
    return " ".join(part for part in (down, across) if part) or "middle"


def discount_marks(labels: pl.DataFrame) -> pl.DataFrame:
    """Count no text where all that was read is a mark.

    labels: The columns of :data:`stereotrope.tables.LABELS`, readings and marks among them.

    Returns the labels, in their order: ``present`` became ``absent``, without a confidence and with
    ``present`` in ``written``, where each reading that it rests on is a mark.
    """
    keys = ["subject_id", "annotator"]
    marks = labels.filter(pl.col("attribute") == MARK).select(*keys, "region").unique()
    if not marks.height:
        return labels
    told = {words: presence for presence, words in WORDS.items()}
    readings = labels.filter(pl.col("attribute").is_in(list(told)), pl.col("status") == "ok")
    readings = readings.select(*keys, pl.col("attribute").replace_strict(told), "region")
    places = [*keys, "attribute"]
    rest = readings.join(marks, on=[*keys, "region"], how="anti").select(places).unique()
    only = readings.select(places).unique().join(rest, on=places, how="anti").with_columns(_only=True)
    out = pl.col("_only").fill_null(False) & (pl.col("value") == "present")
    return (
        labels.join(only, on=places, how="left", maintain_order="left")
        .with_columns(
            written=pl.when(out).then("value").otherwise("written"),
            confidence=pl.when(~out.fill_null(False)).then("confidence"),
            value=pl.when(out).then(pl.lit("absent")).otherwise("value"),
        )
        .drop("_only")
    )
