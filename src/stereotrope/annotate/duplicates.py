"""Exact and near duplicates, so that one picture is not counted twice."""

from collections.abc import Iterator, Sequence
from itertools import combinations, pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray
from PIL import Image

from stereotrope.annotate.label import Attributes, Label, image_labels
from stereotrope.annotate.offline import OfflineAnnotator, offline
from stereotrope.annotate.picture import Picture
from stereotrope.tables import fingerprint_of, kept_images

HASH_COLUMNS, HASH_ROWS = 9, 8
"""A difference hash compares 8 × 8 pairs of neighbours on a 9 × 8 grey copy: 64 bits."""
MAX_DISTANCE = 3
"""Bits by which near duplicates may differ: recompressed and resized copies of a picture differ by 0 to 3
of 64, other pictures of one prompt by 10 or more (docs/explanation/offline-annotators.md)."""
FLAT_DEVIATION = 2.0
"""Grey levels by which the copy must vary (standard deviation); a flat picture has no hash."""


@offline("exact and near duplicates", whole=True)
class DuplicatesAnnotator(OfflineAnnotator):
    """Finds pictures that are in a run twice.

    It looks at every picture once, for its hash, and derives the rest from the tables.

    ``perceptual_hash``
        64-bit difference hash as 16 hexadecimal digits: bit (r, c) is 1 where the grey copy grows lighter
        from column c to c + 1. ``unclear`` on a picture with hardly any variation: its hash is noise.
    ``exact_duplicate_of``
        image_id of the first picture in the table with the same bytes (SHA-256), in the whole run. A picture
        that a mitigation left as it was is no copy.
    ``near_duplicate_of``
        image_id of the first picture of the same prompt and generator whose hash differs by at most 3
        of 64 bits; ``confidence`` = 1 − bits / 64. Only there: the same hash under different prompts says
        something about the prompts and is no picture counted twice.

    Pictures that are no copy, and the first of each set, get no label of the last two.
    """

    name = "duplicates"
    attributes: Attributes = dict.fromkeys(("perceptual_hash", "exact_duplicate_of", "near_duplicate_of"))

    @property
    def fingerprint(self) -> str:
        """Name, version and thresholds."""
        parameters = {"size": [HASH_COLUMNS, HASH_ROWS], "flat": FLAT_DEVIATION, "distance": MAX_DISTANCE}
        return fingerprint_of(self.name, self.version, parameters)

    def process(self, picture: Picture) -> list[Label]:
        """Hash one picture."""
        grey = Image.fromarray(picture.pixels(256)).convert("L")
        small = np.asarray(grey.resize((HASH_COLUMNS, HASH_ROWS), Image.Resampling.BOX), dtype=float)
        if small.std() < FLAT_DEVIATION:
            return [Label("perceptual_hash", None, status="unclear", rationale="hardly any variation")]
        return [Label("perceptual_hash", np.packbits(small[:, 1:] > small[:, :-1]).tobytes().hex())]

    def derive(self, images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
        """Return the labels of all copies, in the order of ``images``, exact ones first."""
        usable = images.filter((pl.col("status") == "ok") & pl.col("sha256").is_not_null())
        own = usable.filter(~pl.col("image_id").is_in(list(kept_images(images))))
        rows = pl.concat([_exact(own), _near(usable, labels)])
        return image_labels(rows, annotator=self.name, derived_from=self.name)


def _exact(images: pl.DataFrame) -> pl.DataFrame:
    first = pl.col("image_id").first().over("sha256")
    copies = images.select(subject_id="image_id", value=first, confidence=pl.lit(1.0))
    return copies.filter(pl.col("subject_id") != pl.col("value")).with_columns(
        attribute=pl.lit("exact_duplicate_of")
    )


def _near(images: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    hashes = labels.filter(pl.col("attribute") == "perceptual_hash", pl.col("status") == "ok")
    hashed = images.select("image_id", "prompt_id", "generator").join(
        hashes.select(image_id="subject_id", hash="value").unique("image_id", keep="first"),
        on="image_id",
        how="inner",
        maintain_order="left",
    )
    pairs: list[tuple[str, str, float]] = []
    for _, group in hashed.group_by("prompt_id", "generator", maintain_order=True):
        ids, words = group["image_id"], np.array([int(each, 16) for each in group["hash"]], np.uint64)
        pairs += [(ids[copy], ids[first], 1 - bits / 64) for copy, first, bits in close_pairs(words)]
    types = {"subject_id": pl.String, "value": pl.String, "confidence": pl.Float64}
    near = pl.DataFrame(pairs, types, orient="row").with_columns(attribute=pl.lit("near_duplicate_of"))
    order = hashed.select(subject_id="image_id")
    return order.join(near, on="subject_id", how="inner", maintain_order="left")


def close_pairs(words: NDArray[np.uint64]) -> Iterator[tuple[int, int, int]]:
    """(copy, first earlier one within the distance, distance); an original is never itself a copy.

    Equal words are copies of one original, so each word is sought once. Of what is left only those are held
    against each other that share a key (multi-index hashing; Norouzi, Punjani, Fleet 2012, "Fast search in
    Hamming space with multi-index hashing", CVPR): words of which at most so many bands differ as bits may
    have all others in common.
    """
    distinct, firsts, which = np.unique(words, return_index=True, return_inverse=True)
    keys = _keys(distinct)
    shared = np.zeros(len(distinct), dtype=bool)
    for key in keys:
        _, inverse, n = np.unique(key, return_inverse=True, return_counts=True)
        shared |= n[inverse] > 1
    origin = firsts.copy()
    at = np.flatnonzero(shared)
    at = at[np.argsort(firsts[at])]
    originals: list[dict[int, list[tuple[int, int]]]] = [{} for _ in keys]
    columns = (distinct[at], firsts[at], *(key[at] for key in keys))
    for index, word, first, *own in zip(at.tolist(), *(column.tolist() for column in columns), strict=True):
        held = [kept.setdefault(key, []) for kept, key in zip(originals, own, strict=True)]
        source = _first_near(word, first, held)
        if source < first:
            origin[index] = source
            continue
        for some in held:
            some.append((first, word))
    sources = origin[which]
    for copy in np.flatnonzero(sources != np.arange(len(words))).tolist():
        source = int(sources[copy])
        yield copy, source, int(words[copy] ^ words[source]).bit_count()


def _first_near(word: int, place: int, held: Sequence[Sequence[tuple[int, int]]]) -> int:
    """Place of the first of some originals within the distance; that of the word where there is none."""
    for some in held:
        for at, original in some:
            if at >= place:
                break
            if (original ^ word).bit_count() <= MAX_DISTANCE:
                place = at
                break
    return place


def _keys(words: NDArray[np.uint64]) -> list[NDArray[np.uint64]]:
    """All choices of two of five bands: words that differ by at most three bits have one in common."""
    edges = np.linspace(0, 64, MAX_DISTANCE + 3).astype(int).tolist()
    masks = [(1 << high) - (1 << low) for low, high in pairwise(edges)]
    return [words & np.uint64(one | other) for one, other in combinations(masks, 2)]
