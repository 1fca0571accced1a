from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from PIL import Image

from stereotrope.annotate import DuplicatesAnnotator
from stereotrope.annotate.duplicates import MAX_DISTANCE, close_pairs
from stereotrope.annotate.label import labels_frame

ANNOTATOR = DuplicatesAnnotator()


def images(rows: list[tuple[str, str, str]], *, prompt: list[str] | None = None) -> pl.DataFrame:
    ids, shas, status = zip(*rows, strict=True)
    return pl.DataFrame(
        {
            "image_id": ids,
            "prompt_id": prompt or ["p"] * len(rows),
            "generator": ["g"] * len(rows),
            "sha256": shas,
            "status": status,
        }
    )


def hashes(pairs: dict[str, str]) -> pl.DataFrame:
    return labels_frame(
        [
            {
                "subject_id": i,
                "attribute": "perceptual_hash",
                "value": h,
                "status": "ok",
                "annotator": "duplicates",
            }
            for i, h in pairs.items()
        ]
    )


def found(frame: pl.DataFrame, attribute: str) -> dict[str, str]:
    rows = frame.filter(pl.col("attribute") == attribute)
    return dict(zip(rows["subject_id"], rows["value"], strict=True))


def hash_of(picture) -> str:
    (label,) = ANNOTATOR.process(picture)
    assert label.status == "ok"
    return label.value


def bits_apart(a: str, b: str) -> int:
    return (int(a, 16) ^ int(b, 16)).bit_count()


def test_a_hash_survives_recompression_and_resizing_and_tells_pictures_apart(shared):
    files = sorted((shared / "data" / "occupations" / "images").iterdir())[::30]
    import io

    from stereotrope.annotate import Picture

    own = []
    for file in files:
        data = file.read_bytes()
        with Image.open(io.BytesIO(data)) as image:
            image.load()
        original = hash_of(Picture("a", "0" * 64, data))
        own.append(original)
        for copy in (image, image.resize((image.width // 2, image.height // 2))):
            out = io.BytesIO()
            copy.save(out, "JPEG", quality=60)
            assert bits_apart(original, hash_of(Picture("a", "0" * 64, out.getvalue()))) <= 3
    others = [bits_apart(a, b) for k, a in enumerate(own) for b in own[:k]]
    assert min(others) > 3


def test_a_flat_picture_has_no_hash(drawing):
    (label,) = ANNOTATOR.process(drawing.picture(Image.new("RGB", (50, 50), (9, 9, 9))))
    assert (label.value, label.status, label.rationale) == (None, "unclear", "hardly any variation")


def test_exact_copies_name_the_first_in_the_table_across_prompts():
    table = images(
        [("a", "x", "ok"), ("b", "y", "ok"), ("c", "x", "ok"), ("d", "x", "ok")], prompt=["p", "p", "q", "r"]
    )
    frame = ANNOTATOR.derive(table, hashes({}))
    assert found(frame, "exact_duplicate_of") == {"c": "a", "d": "a"}
    assert frame["annotator"].unique().to_list() == ["duplicates"]


def test_refused_images_are_no_copies_of_each_other():
    table = images([("a", None, "refused"), ("b", None, "refused"), ("c", "x", "excluded"), ("d", "x", "ok")])
    assert ANNOTATOR.derive(table, hashes({})).is_empty()


def test_near_copies_are_sought_within_a_prompt_and_are_never_chained():
    table = images([(i, i, "ok") for i in "abcde"], prompt=["p", "p", "p", "p", "q"])
    near = {"a": "0" * 16, "b": "0" * 15 + "7", "c": "0" * 14 + "3f", "d": "f" * 16, "e": "0" * 16}
    frame = ANNOTATOR.derive(table, hashes(near))
    assert found(frame, "near_duplicate_of") == {"b": "a"}
    row = frame.filter(pl.col("attribute") == "near_duplicate_of").row(0, named=True)
    assert row["confidence"] == pytest.approx(1 - 3 / 64)


def test_generators_are_searched_apart():
    table = images([("a", "x", "ok"), ("b", "y", "ok")]).with_columns(generator=pl.Series(["g", "h"]))
    assert found(ANNOTATOR.derive(table, hashes({"a": "0" * 16, "b": "0" * 16})), "near_duplicate_of") == {}


def exhaustive(words: np.ndarray) -> list[tuple[int, int, int]]:
    """Each word against all earlier originals, as it was done before there were keys."""
    found, originals = [], []
    for at, word in enumerate(words):
        bits = np.bitwise_count(words[originals] ^ word)
        near = np.flatnonzero(bits <= MAX_DISTANCE)
        if near.size:
            found.append((at, originals[near[0]], int(bits[near[0]])))
        else:
            originals.append(at)
    return found


@pytest.mark.parametrize("n", [0, 1, 2, 400, 1500])
def test_near_copies_are_those_of_an_exhaustive_search_in_any_order(n):
    rng = np.random.default_rng(n)
    apart = rng.integers(0, 2**64, n, dtype=np.uint64)
    for _ in range(n // 2):
        of, to = rng.integers(0, n, 2)
        flips = rng.choice(64, rng.integers(0, 6), replace=False)
        apart[to] = apart[of] ^ np.bitwise_or.reduce(np.uint64(1) << flips.astype(np.uint64), initial=0)
    dense = rng.integers(0, 2**12, n, dtype=np.uint64) << np.uint64(20)
    for words in (apart, rng.permutation(apart), dense, rng.permutation(dense)):
        assert list(close_pairs(words)) == exhaustive(words)


@pytest.mark.slow
def test_copies_among_a_hundred_thousand_pictures_are_found():
    n = 100_000
    table = pl.DataFrame(
        {
            "image_id": [f"i{k}" for k in range(n)],
            "prompt_id": [f"p{k // 20}" for k in range(n)],
            "generator": ["g"] * n,
            "sha256": [f"s{k % (n - 10)}" for k in range(n)],
            "status": ["ok"] * n,
        }
    )
    words = np.random.default_rng(0).integers(0, 2**63, n)
    own = pl.DataFrame({"subject_id": table["image_id"], "value": [f"{w:016x}" for w in words]}).with_columns(
        attribute=pl.lit("perceptual_hash"), status=pl.lit("ok")
    )
    frame = ANNOTATOR.derive(table, own)
    assert len(found(frame, "exact_duplicate_of")) == 10
