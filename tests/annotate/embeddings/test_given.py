"""Vectors made elsewhere: read from files, matched to pictures and prompts, everything odd told."""

import json

import numpy as np
import polars as pl
import pytest

from stereotrope import annotate
from stereotrope.annotate.embeddings.given import GivenEmbeddings
from stereotrope.errors import MetadataError, UsageError
from stereotrope.stats.vectors import pack, unit_vector, unpack

IMAGES = pl.DataFrame(
    {
        "image_id": ["i1", "i2", "i3", "i4"],
        "source": ["a/one.png", "a/two.png", None, "a/bad.png"],
        "sha256": ["aa", "bb", "cc", "dd"],
        "status": ["ok", "ok", "ok", "excluded"],
    }
)
PROMPTS = pl.DataFrame({"prompt_id": ["p1", "p2"], "text": ["a red cup", None], "prompt": ["cup", "car"]})


def parquet(folder, rows):
    pl.DataFrame(rows, strict=False).write_parquet(folder / "e.parquet")
    return annotate.create({"embeddings": "e.parquet", "name": "clip"}, relative_to=folder)


def vectors(given):
    table = given.embed(IMAGES, PROMPTS, {})
    assert set(table["encoder"]) <= {"clip"}
    return {(kind, one): vector for kind, one, _, vector in table.rows()}


def test_pictures_are_found_by_id_path_and_name_and_texts_by_their_words(tmp_path):
    given = parquet(
        tmp_path,
        {
            "image": ["i3", "one", "a/two.png", None, None],
            "text": [None, None, "ignored beside an image", "a red cup", "p2"],
            "vector": [[3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [0.0, 1.0]],
        },
    )
    found = vectors(given)
    assert list(found) == [("image", "i1"), ("image", "i2"), ("image", "i3"), ("text", "p1"), ("text", "p2")]
    assert found["image", "i3"] == pytest.approx([0.6, 0.8])
    assert found["text", "p1"] == pytest.approx([0.5**0.5, 0.5**0.5])
    assert given.notes == []


@pytest.mark.parametrize("odd", [" {} ", "{}e\u0301"])
def test_columns_of_parquet_are_named_as_they_stand(tmp_path, odd):
    image, vector = odd.format("image"), odd.format("vec")
    pl.DataFrame({image: ["i1"], vector: [[3.0, 4.0]]}).write_parquet(tmp_path / "e.parquet")
    given = GivenEmbeddings(tmp_path / "e.parquet", name="clip", image=image, vector=vector)
    assert vectors(given)["image", "i1"] == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("kind", ["jsonl", "csv", "array", "integers"])
def test_every_form_of_a_file_gives_the_same(tmp_path, kind):
    rows = {"image_id": ["i1", "i2"], "vector": [[3, 4], [0, 2]]}
    if kind in ("array", "integers"):
        form = pl.Array(pl.Float32, 2) if kind == "array" else pl.List(pl.Int64)
        pl.DataFrame(rows, schema_overrides={"vector": form}).write_parquet(tmp_path / "e.parquet")
        file = tmp_path / "e.parquet"
    elif kind == "jsonl":
        file = tmp_path / "e.jsonl"
        lines = [json.dumps(dict(zip(rows, pair, strict=True))) for pair in zip(*rows.values(), strict=True)]
        file.write_text("\n".join(lines))
    else:
        file = tmp_path / "e.csv"
        file.write_text('image_id,vector\ni1,"[3, 4]"\ni2,"[0, 2]"\n')
    given = annotate.create({"embeddings": file.name, "name": "clip"}, relative_to=tmp_path)
    assert vectors(given) == {("image", "i1"): pytest.approx([0.6, 0.8]), ("image", "i2"): [0.0, 1.0]}


def test_hashes_find_every_copy(tmp_path):
    given = parquet(tmp_path, {"sha256": ["AA"], "vector": [[1.0, 0.0]]})
    table = given.embed(IMAGES.with_columns(sha256=pl.lit("aa")), PROMPTS, {})
    assert table["subject_id"].to_list() == ["i1", "i2", "i3"]


def test_what_is_odd_about_a_file_is_noted(tmp_path):
    given = parquet(
        tmp_path,
        {
            "image": ["i1", "one.png", "ghost", "i2", "i3", None, None, "i2"],
            "text": [None, None, None, None, None, "a blue cup", None, None],
            "vector": [[1.0, 0], [0, 1.0], [1.0, 1], [0.0, 0], None, [1.0, 0], [1.0, 0], [np.nan, 1]],
        },
    )
    assert list(vectors(given)) == [("image", "i1")]
    assert given.notes == [
        "e.parquet: 2 rows (row 4, 8) whose vector is not finite or all 0 left out",
        "e.parquet: 1 row (row 5) without a vector left out",
        "e.parquet: 1 row (row 7) that name neither a picture nor a prompt left out",
        "e.parquet: 1 row matches no image (row 3)",
        "e.parquet: 1 row (row 2) of images that have a vector already; the first counts",
        "e.parquet: 2 of 3 images have no vector",
        "e.parquet: 1 row (row 6) of texts that are no prompt of the run, word for word; left out",
        "e.parquet: 2 of 2 prompts have no vector of their text",
    ]
    assert vectors(given) == vectors(given)
    assert len(given.notes) == 8


def test_a_name_that_several_pictures_have_is_left_out(tmp_path):
    images = IMAGES.with_columns(source=pl.Series(["a/x.png", "b/x.png", None, None]))
    given = parquet(tmp_path, {"image": ["x.png"], "vector": [[1.0]]})
    assert given.embed(images, PROMPTS, {}).height == 0
    assert "e.parquet: 1 row (row 1) whose name several images have; left out" in given.notes
    assert given.trouble == "e.parquet: none of its rows (1) names one picture alone"


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ({"vector": [[1.0]]}, r"a column must give the picture \(image_id, image, .*found 'vector'"),
        ({"image": ["i1"]}, r"a column must give the vector \(vector, embedding, .*name it with `vector:`"),
        (
            {"image": ["i1", "i2"], "vector": [[1.0, 2.0], [1.0]]},
            "row 2: vectors must have one length, found 1 numbers and 2 in row 1",
        ),
        ({"image": ["i1"], "vector": ["1, 2"]}, "row 1: a vector must be a list of numbers, found str"),
        ({"image": ["i1"], "vector": [["a"]]}, "row 1: .* found a list of something else"),
        ({"image": ["i1"], "vector": [[True]]}, "found a list of something else"),
        ({"image": ["i1"], "vector": [[]]}, "found an empty list"),
        ({"image": ["i1"], "vector": [[[1.0]]]}, "found a list of something else"),
        ({"image": [], "vector": []}, "must have at least one row, found none"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(tmp_path, rows, match):
    with pytest.raises(MetadataError, match=match):
        parquet(tmp_path, rows)


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("e.parquet", "no parquet", "e.parquet: is no Parquet file"),
        ("e.npz", "", "must be Parquet, JSON Lines or CSV, found .npz; write a table"),
        ("e.jsonl", '{"image": "i1", "vector": [NaN]}', "NaN is no JSON number"),
        ("e.csv", "image,vector\ni1,0.5\n", "line 2: a vector must be a list of numbers, found str"),
        ("e.csv", f"image,vector\ni1,{'[' * 100_000}\n", "a vector must be a list of numbers, found str"),
    ],
)
def test_other_files_are_refused_with_what_to_write(tmp_path, name, content, match):
    (tmp_path / name).write_text(content)
    with pytest.raises(MetadataError, match=match):
        annotate.create({"embeddings": name, "name": "clip"}, relative_to=tmp_path)


def test_a_number_larger_than_any_is_not_finite(tmp_path):
    (tmp_path / "e.jsonl").write_text(f'{{"image": "i1", "vector": [1, {"9" * 400}]}}')
    given = annotate.create({"embeddings": "e.jsonl", "name": "clip"}, relative_to=tmp_path)
    assert given.notes == ["e.jsonl: 1 row (line 1) whose vector is not finite or all 0 left out"]


def test_a_torn_file_that_the_reader_gives_up_on_is_told(tmp_path, monkeypatch):
    (tmp_path / "e.parquet").write_bytes(b"PAR1")

    def give_up(_):
        raise pl.exceptions.PanicException("range end index 9 out of range")

    monkeypatch.setattr(pl, "read_parquet", give_up)
    with pytest.raises(MetadataError, match=r"e.parquet: is no Parquet file \(range end index 9"):
        annotate.create({"embeddings": "e.parquet", "name": "clip"}, relative_to=tmp_path)


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        ({"embeddings": "none.parquet", "name": "x"}, MetadataError, "none.parquet: cannot be read"),
        (
            {"embeddings": "e.parquet"},
            UsageError,
            "name is missing; add it: write {embeddings: clip.parquet, name: clip}",
        ),
        ({"embeddings": "e.parquet", "name": "x", "vectr": "y"}, UsageError, "did you mean 'vector'"),
        ({"embeddings": "e.parquet", "name": "x", "vector": "vec"}, MetadataError, "no column 'vec'"),
        (
            "embeddings",
            UsageError,
            "embeddings is missing; add it: write {embeddings: clip.parquet, name: clip}",
        ),
    ],
)
def test_mistakes_in_an_entry_are_named(tmp_path, spec, error, match):
    pl.DataFrame({"image": ["i1"], "vector": [[1.0]]}).write_parquet(tmp_path / "e.parquet")
    with pytest.raises(error, match=match):
        annotate.create(spec, relative_to=tmp_path)


def test_the_fingerprint_follows_the_bytes_of_the_file(tmp_path):
    one = parquet(tmp_path, {"image": ["i1"], "vector": [[1.0]]}).fingerprint
    assert parquet(tmp_path, {"image": ["i1"], "vector": [[1.0]]}).fingerprint == one
    assert parquet(tmp_path, {"image": ["i1"], "vector": [[2.0]]}).fingerprint != one


def test_vectors_survive_the_ledger_exactly_and_are_never_scaled_away():
    vector = np.random.default_rng(2).normal(size=512).astype(np.float32)
    assert unpack(pack(vector)).tobytes() == vector.tobytes()
    assert len(pack(vector)) < 4 * 512 * 1.4
    assert unit_vector([1e300, 1e300]) == pytest.approx([0.5**0.5] * 2)
    assert unit_vector([5e-324, 0]) == pytest.approx([1.0, 0.0])
    assert unit_vector([1.0, float("inf")]) is None
    assert unit_vector([]) is None
