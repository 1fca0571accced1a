"""Vectors as tables of a run folder: a file an encoder."""

import numpy as np
import polars as pl
import pytest

from stereotrope.errors import RunDamaged, TableError
from stereotrope.run import RunFolder, file_stem
from stereotrope.run import open as open_run
from stereotrope.tables import EMBEDDINGS, polars_types


def vectors(*encoders):
    rng = np.random.default_rng(3)
    rows = [
        {"subject_kind": "image", "subject_id": f"i{i}", "encoder": e, "vector": rng.normal(size=4).tolist()}
        for e in encoders
        for i in range(3)
    ]
    return pl.DataFrame(rows, schema=polars_types(EMBEDDINGS))


def files(folder):
    return sorted(file.name for file in (folder / "embeddings").glob("*"))


def test_vectors_are_read_as_they_were_written(tmp_path):
    frame = vectors("clip", "a b/c")
    with RunFolder(tmp_path / "run") as into:
        into.write_embeddings(frame)
    run = open_run(tmp_path / "run")
    assert files(run.path) == sorted([f"{file_stem('a b/c')}.parquet", "clip.parquet"])
    keys = ["encoder", "subject_id"]
    assert run.embeddings.sort(keys).equals(frame.sort(keys))


def test_a_run_without_vectors_has_an_empty_table(tmp_path):
    with RunFolder(tmp_path / "run") as into:
        into.write_embeddings(vectors())
    run = open_run(tmp_path / "run")
    assert not (run.path / "embeddings").exists()
    assert run.embeddings.height == 0
    assert run.embeddings.schema == vectors("clip").schema


def test_files_of_encoders_that_are_gone_go(tmp_path):
    with RunFolder(tmp_path / "run") as into:
        into.write_embeddings(vectors("one", "two"))
        into.write_embeddings(vectors("two"))
        assert files(into.path) == ["two.parquet"]
        into.write_embeddings(vectors())
        assert not (into.path / "embeddings").exists()


def test_the_same_vectors_are_the_same_bytes(tmp_path):
    with RunFolder(tmp_path / "run") as into:
        into.write_embeddings(vectors("clip"))
        before = (into.path / "embeddings" / "clip.parquet").read_bytes()
        into.write_embeddings(vectors("clip"))
        assert (into.path / "embeddings" / "clip.parquet").read_bytes() == before


def test_a_torn_or_foreign_file_is_told(tmp_path):
    with RunFolder(tmp_path / "run") as into:
        into.write_embeddings(vectors("clip"))
    file = tmp_path / "run" / "embeddings" / "clip.parquet"
    file.write_bytes(file.read_bytes()[:40])
    with pytest.raises(RunDamaged, match=r"clip\.parquet: is torn or was changed"):
        _ = open_run(tmp_path / "run").embeddings
    pl.DataFrame({"subject_kind": ["image"], "vector": ["x"]}).write_parquet(file)
    with pytest.raises(RunDamaged, match="column 'subject_id' is not as it was written"):
        _ = open_run(tmp_path / "run").embeddings


def test_vectors_of_another_kind_are_refused(tmp_path):
    with RunFolder(tmp_path / "run") as into, pytest.raises(TableError, match="does not fit its schema"):
        into.write_embeddings(vectors("clip").with_columns(vector=pl.lit("x")))


def test_no_file_of_a_name_is_hidden_or_shared():
    assert not file_stem(".tmp-x").startswith(".")
    assert len({file_stem(name) for name in ("a b", "a-b", "a/b", "a.b")}) == 4
