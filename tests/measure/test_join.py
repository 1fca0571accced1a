from __future__ import annotations

import polars as pl
import pytest

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import effective_n, tidy_labels, with_factors


@pytest.fixture
def prompts() -> pl.DataFrame:
    return pl.DataFrame(
        {"prompt_id": ["p", "q"], "object": ["car", "cup"], "group": ["base", None], "text": ["a", "b"]}
    )


@pytest.fixture
def images() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "image_id": ["a", "b", "c", "d", "e"],
            "prompt_id": ["p", "p", "q", "q", "q"],
            "generator": "m",
            "status": ["ok", "ok", "ok", "refused", "excluded"],
            "sha256": ["1", "1", "2", None, "3"],
        }
    )


def label(image: str, attribute: str, value: str | None, status: str = "ok", annotator: str = "x") -> dict:
    return {
        "subject_kind": "image",
        "subject_id": image,
        "attribute": attribute,
        "value": value,
        "annotator": annotator,
        "status": status,
    }


def table(*rows: dict) -> pl.DataFrame:
    schema = dict.fromkeys(
        ("subject_kind", "subject_id", "attribute", "value", "annotator", "status"), pl.String
    )
    return pl.DataFrame(list(rows), schema=schema)


def said(tidy: pl.DataFrame, attribute: str) -> dict[str, tuple[str | None, str | None]]:
    rows = tidy.filter(attribute=attribute).select("image_id", "value", "excluded").iter_rows()
    return {image: (value, excluded) for image, value, excluded in rows}


def test_every_image_has_a_row_with_its_reason(prompts, images) -> None:
    labels = table(label("a", "colour", "pink"), label("b", "colour", None, "invalid"))
    tidy = tidy_labels(prompts, images, labels)
    assert tidy.columns == [
        "image_id",
        "prompt_id",
        "generator",
        "object",
        "group",
        "attribute",
        "value",
        "annotator",
        "excluded",
    ]
    assert said(tidy, "colour") == {
        "a": ("pink", None),
        "b": (None, "invalid"),
        "c": (None, "not labelled"),
        "d": (None, "refused by the generator"),
        "e": (None, "picture excluded"),
    }


def test_a_blank_picture_counts_for_no_other_attribute(prompts, images) -> None:
    labels = table(
        label("a", "colour", "white"),
        label("a", "blank", "yes"),
        label("b", "colour", "pink"),
        label("b", "blank", "no"),
    )
    tidy = tidy_labels(prompts, images, labels)
    assert said(tidy, "colour")["a"] == (None, "blank picture")
    assert said(tidy, "blank")["a"] == ("yes", None)
    assert said(tidy, "colour")["b"] == ("pink", None)


def test_pictures_without_a_duplicate_are_not_missing_that_label(prompts, images) -> None:
    labels = table(label("b", "exact_duplicate_of", "a"), label("a", "colour", "pink"))
    assert said(tidy_labels(prompts, images, labels), "exact_duplicate_of") == {"b": ("a", None)}


def test_two_annotators_are_kept_apart(prompts, images) -> None:
    labels = table(label("a", "colour", "pink"), label("a", "colour", "red", annotator="y"))
    tidy = tidy_labels(prompts, images, labels).filter(image_id="a")
    assert tidy.select("annotator", "value").rows() == [("x", "pink"), ("y", "red")]


def test_labels_of_regions_stay_out(prompts, images) -> None:
    labels = table(
        label("a", "colour", "pink"), {**label("r1", "gender", "female"), "subject_kind": "region"}
    )
    assert tidy_labels(prompts, images, labels)["attribute"].unique().to_list() == ["colour"]


def test_no_label_at_all_is_an_empty_frame(prompts, images) -> None:
    assert tidy_labels(prompts, images, table()).height == 0


def test_what_was_asked_and_never_answered_is_missing_with_its_reason(prompts, images) -> None:
    names = pl.DataFrame({"annotator": "x", "attribute": ["colour", "text"]})
    asked = images.select("image_id").join(names, how="cross")
    tidy = tidy_labels(prompts, images, table(label("a", "colour", "pink")), asked=asked)
    assert said(tidy, "text") == {
        "a": (None, "not labelled"),
        "b": (None, "not labelled"),
        "c": (None, "not labelled"),
        "d": (None, "refused by the generator"),
        "e": (None, "picture excluded"),
    }
    assert said(tidy, "colour")["a"] == ("pink", None)
    assert tidy.height == 10


def test_a_frame_says_what_was_asked_of_each_image(prompts, images) -> None:
    labels = table(
        label("a", "colour", "pink"),
        label("c", "rim", "thin"),
        label("c", "extra", "x"),
        label("a", "own", "v", annotator="y"),
    )
    asked = pl.DataFrame(
        {
            "image_id": ["a", "b", "c", "d", "a", "b", "c"],
            "annotator": "x",
            "attribute": ["colour"] * 4 + ["body", "body", "rim"],
        }
    )
    tidy = tidy_labels(prompts, images, labels, asked=asked)
    assert said(tidy, "colour") == {
        "a": ("pink", None),
        "b": (None, "not labelled"),
        "c": (None, "not labelled"),
        "d": (None, "refused by the generator"),
    }
    assert said(tidy, "body") == {"a": (None, "not labelled"), "b": (None, "not labelled")}
    assert said(tidy, "rim") == {"c": ("thin", None)}
    # An answer that was not asked for counts; an annotator not named in the frame is known by its labels.
    assert said(tidy, "extra") == {"c": ("x", None)}
    assert set(said(tidy, "own")) == {"a", "b", "c", "d", "e"}
    assert tidy_labels(prompts, images, labels, asked=asked.to_pandas()).equals(tidy)
    assert tidy_labels(prompts, images, labels, asked=pl.concat([asked, asked])).equals(tidy)


def test_pictures_that_were_not_checked_for_constraints_are_missing_them(prompts, images) -> None:
    tidy = tidy_labels(prompts, images, table(label("a", "people_present", "yes")))
    assert said(tidy, "people_present")["b"] == (None, "not labelled")
    assert said(tidy, "people_present")["d"] == (None, "refused by the generator")


def test_order_of_the_tables_does_not_matter(prompts, images) -> None:
    labels = table(*[label(i, a, "v") for i in "abc" for a in ("colour", "text")])
    shuffled = tidy_labels(prompts.reverse(), images, labels.reverse())
    assert shuffled.equals(tidy_labels(prompts, images, labels))


def test_what_does_not_fit_together_is_refused(prompts, images) -> None:
    with pytest.raises(TableError, match="subject 'zz' is no image of this run"):
        tidy_labels(prompts, images, table(label("zz", "colour", "pink")))
    with pytest.raises(TableError, match="image 'c' has prompt 'q', unknown to prompts"):
        with_factors(prompts.head(1), images)
    with pytest.raises(TableError, match="prompts: prompt_id 'p' stands there twice"):
        with_factors(pl.concat([prompts, prompts]), images)
    with pytest.raises(TableError, match="images: no column 'generator'"):
        with_factors(prompts, images.drop("generator"))
    asked = pl.DataFrame({"image_id": ["zz"], "annotator": ["x"], "attribute": ["colour"]})
    with pytest.raises(TableError, match="asked: 'zz' is no image of this run"):
        tidy_labels(prompts, images, table(), asked=asked)
    with pytest.raises(TableError, match="asked: no column 'annotator'"):
        tidy_labels(prompts, images, table(), asked=asked.drop("annotator"))


def test_effective_n_counts_distinct_pictures(images) -> None:
    assert effective_n(images).rows() == [("m", "p", 2, 1), ("m", "q", 1, 1)]


def test_ids_may_be_numbers_and_are_texts() -> None:
    prompts = pl.DataFrame({"prompt_id": [1, 2], "object": ["car", "cup"], "text": "", "negative": None})
    images = pl.DataFrame({"image_id": [1, 2], "prompt_id": [1, 2], "generator": "m", "status": "ok"})
    labels = pl.DataFrame([label("1", "a", "x"), label("2", "a", "y")])
    expected = [("1", "1", "car", "x"), ("2", "2", "cup", "y")]
    for kind in (pl.Int64, pl.Float64, pl.String):
        made = images.with_columns(pl.col("image_id", "prompt_id").cast(kind))
        tidy = tidy_labels(prompts, made, labels)
        assert tidy.select("image_id", "prompt_id", "object", "value").rows() == expected
    assert with_factors(prompts, images.to_pandas())["prompt_id"].to_list() == ["1", "2"]


def test_pictures_without_a_hash_are_taken_to_differ() -> None:
    images = pl.DataFrame({"sha256": ["a", "a", None, None], "status": "ok", "generator": "m"})
    assert effective_n(images, by=["generator"]).rows() == [("m", 4, 3)]
    with pytest.raises(UsageError, match="effective_n: by must be a list of factors, found the string"):
        effective_n(images, by="generator")
