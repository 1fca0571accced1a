"""Images are found by column as they are one by one."""

import polars as pl
import pytest

from stereotrope.inputs.lookup import Lookup, PictureMatching, found_images, normal_path, normal_paths

IMAGES = pl.DataFrame(
    {
        "image_id": ["i1", "i2", "i3", "i4", "i5"],
        "generator": ["m", "m", "n", "n", "n"],
        "source": ["a/b/x.png", "a/y.png", "b/x.png", "caf\u00e9/z.png", None],
        "path": ["pictures/aa/1.png", "pictures/bb/2.png", "pictures/aa/1.png", None, None],
        "sha256": ["aa", "bb", "aa", "cc", None],
        "status": ["ok", "ok", "ok", "excluded", "ok"],
        "reason": [None, None, None, "file is missing", None],
    }
)


def named(column: str, *keys: str, bare: bool = False) -> dict[str, list[str]]:
    found = found_images(IMAGES, pl.Series(keys), column, bare=bare)
    return dict(found.group_by("called", maintain_order=True).agg("image_id").iter_rows())


@pytest.mark.parametrize(
    ("column", "key", "ids"),
    [
        ("file_name", "a/b/x.png", ["i1"]),
        ("file_name", "b/x.png", ["i3"]),  # the whole path before a part of another
        ("file_name", "far/away/a/y.png", ["i2"]),
        ("file_name", "x.png", ["i1", "i3"]),
        ("file_name", "./a//y.png", ["i2"]),
        ("file_name", "a\\y.png", ["i2"]),
        ("file_name", "cafe\u0301/z.png", ["i4"]),
        ("file_name", "aa", None),
        ("sha256", "AA", ["i1", "i3"]),
        ("sha256", "i1", None),
        ("image", "i5", ["i5"]),
        ("image", "cc", ["i4"]),
        ("image", "pictures/aa/1.png", ["i1", "i3"]),
        ("image", "nothing", None),
    ],
)
def test_a_key_names_its_images(column, key, ids):
    key = key if column != "file_name" else normal_path(key)
    assert named(column, key, "of none") == ({} if ids is None else {key: ids})


def test_a_name_may_lack_its_ending():
    assert named("image", "y", "z.jpeg", bare=True) == {"y": ["i2"], "z.jpeg": ["i4"]}
    assert named("image", "y", "z.jpeg") == {}


def test_paths_are_made_plain_by_column_as_they_are_one_by_one():
    paths = ["a/b", "/a", "a/", "a//b", "./a", "a/./b", ".", "a\\b", "e\u0301", ".hidden", "a/.b", "a.", ""]
    assert normal_paths(pl.Series(paths)).to_list() == list(map(normal_path, paths))


def test_rows_are_told_from_one_another():
    rows = pl.DataFrame(
        {"at": [2, 3, 4, 5, 5], "called": ["a/y.png", "x.png", "caf\u00e9/z.png", "no", "no"]}
    )
    made = PictureMatching(IMAGES, rows, file="f.csv", column="file_name")
    assert made.found.rows() == [(0, "i2"), (1, "i1"), (1, "i3")]
    assert made.several.to_list() == [False, True, False, False, False]
    assert (made.n_rows, made.trouble) == (4, None)
    assert made.notes[0] == (
        "f.csv: 1 row is of a picture that cannot be used (line 4): 1 \u00d7 file is missing"
    )
    assert made.notes[1].startswith("f.csv: 1 row matches no image (line 5)")
    of_one = PictureMatching(
        IMAGES, rows, file="f.csv", column="file_name", models=pl.Series(["m", "n", "n", "m", "m"])
    )
    assert of_one.found.rows() == [(0, "i2"), (1, "i3")]
    assert not of_one.several.any()


def test_pictures_of_the_same_bytes_share_what_is_said_of_them():
    rows = pl.DataFrame({"at": [1], "called": ["aa"]})
    made = PictureMatching(IMAGES, rows, file="f.csv", column="sha256")
    assert made.found["image_id"].to_list() == ["i1", "i3"]
    assert not made.several.any()


def test_a_lookup_finds_most_by_a_part_of_a_path():
    found = Lookup(IMAGES, "source").find(pl.Series(["y.png", "b/x.png"]))
    assert found.rows() == [("b/x.png", "i3"), ("y.png", "i2")]
