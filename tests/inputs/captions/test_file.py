"""Files of captions as they come: everything odd is noted."""

import pytest

from stereotrope.errors import MetadataError
from stereotrope.inputs.captions import read_captions


@pytest.fixture
def read(tmp_path):
    def from_text(text, suffix=".csv", **options):
        path = tmp_path / f"captions{suffix}"
        path.write_text(text, encoding="utf-8")
        return read_captions(path, name="captions.csv", **options)

    return from_text


def said(found):
    return dict(found.frame.select("image", "caption").iter_rows())


def test_a_plain_file_gives_no_note(read):
    found = read("image_id,caption,prompt\na_1,A cat,animal\na_2,A dog,animal\n")
    assert said(found) == {"a_1": "A cat", "a_2": "A dog"}
    assert found.frame["prompt"].to_list() == ["animal", "animal"]
    assert (found.notes, found.by_hash) == ((), False)


def test_json_lines_and_a_hash_are_read_too(read):
    found = read('{"sha256": "ab", "caption": "x, y"}\n\n', ".jsonl")
    assert (said(found), found.by_hash) == ({"ab": "x, y"}, True)


def test_messy_headers_are_found_and_noted(read):
    found = read("\ufeff\n Image Name ;  CAPTION ; Prompt;\n\na.jpg;A cat;x;\n;;;\n")
    assert said(found) == {"a.jpg": "A cat"}
    assert found.notes == (
        "captions.csv: column 'Image Name' is taken as the picture",
        "captions.csv: column 'CAPTION' is taken as the caption",
        "captions.csv: 1 column without a name left out",
    )


def test_columns_are_found_by_their_values(read):
    found = read(f"thing,said,n\na_1.png,{'A cat on a mat ' * 4},1\na_2.png,{'A dog on a log ' * 4},2\n")
    assert set(said(found)) == {"a_1.png", "a_2.png"}
    assert found.notes == (
        "captions.csv: column 1 is taken as the picture by its values",
        "captions.csv: column 2 is taken as the caption by its values",
    )


def test_a_first_row_that_is_data_counts(read):
    text = "A long caption of a cat that sits upon a mat and sleeps"
    found = read(f"Beauty_0.jpg,{text}\nBeauty_1.jpg,{text} too\n")
    assert said(found) == {"Beauty_0.jpg": text, "Beauty_1.jpg": f"{text} too"}
    assert found.notes[0] == "captions.csv: the first row is data and no header; it counts as a row (line 1)"


def test_stray_headers_gaps_and_duplicates_are_left_out_and_noted(read):
    found = read(
        "image,caption\na_1,one\nimage,caption\nimage_name,clothing\na_1,one\na_1,other\na_2,\n,three\na_3,3\n"
    )
    assert said(found) == {"a_1": "one", "a_3": "3"}
    assert found.notes == (
        "captions.csv: 2 header rows among the data left out (line 3, 4)",
        "captions.csv: 1 row without image left out (line 8)",
        "captions.csv: 1 row without caption left out (line 7)",
        "captions.csv: 1 row given twice counted once (line 5)",
        "captions.csv: 1 further caption of images left out; the first of each counts (line 6)",
    )


def test_images_of_another_prompts_series_are_noted_and_kept(read):
    rows = "".join(f"nature,Nature_{n}.jpg,insect\n" for n in range(5))
    found = read(f"prompt,file_name,caption\n{rows}animal,Nature_5.jpg,insect\nanimal,Neutral_1.jpg,dog\n")
    assert found.frame.height == 7
    assert found.notes == (
        "captions.csv: 1 image named Nature said to be of 'animal', the others of 'nature'; kept as the rows "
        "say (line 7)",
    )


def test_a_file_without_captions_is_refused(read):
    with pytest.raises(
        MetadataError, match=r"captions.csv:1: a column must give the caption .*found 'image', 'n'"
    ):
        read("image,n\na,1\n")
    with pytest.raises(MetadataError, match=r"captions.csv:1: no column 'said' \(the caption\)"):
        read("image,caption\na,1\n", caption="said")


def test_the_oddities_of_the_published_files_are_noted(shared):
    folder = shared / "data/biasbench"
    released = read_captions(folder / "captions_bksdm_asreleased.csv", name="released")
    assert released.notes == (
        "released: 1 header row among the data left out (line 172)",
        "released: 10 rows named Nature a second time among those named Neutral, whose rows of the same "
        "numbers are missing: likely mislabelled (line 443, 444, 445, 446, 447 …)",
        "released: 10 further captions of images left out; the first of each counts (line 443, 444, 445, "
        "446, 447 …)",
    )
    repaired = read_captions(folder / "captions_bksdm.csv", name="repaired")
    assert repaired.frame.height == 499
    assert repaired.notes[0].startswith("repaired: 10 images named Nature said to be of 'animal'")
    plain = read_captions(folder / "captions_sd.csv", name="sd")
    assert plain.frame.height == 496
    assert plain.notes == ()


def test_the_same_image_name_of_two_models_is_two_captions(read):
    found = read("model,image,caption\na,x_1,A cat\nb,x_1,A dog\nb,x_1,A cow\n")
    assert found.frame["caption"].to_list() == ["A cat", "A dog"]
    assert found.notes == (
        "captions.csv: 1 further caption of images left out; the first of each counts (line 4)",
    )


def test_captions_without_images_are_read_only_where_images_are_not_needed(read):
    found = read("caption\nA cat\nA cat\n", need_images=False)
    assert found.frame.select("image", "caption").rows() == [(None, "A cat"), (None, "A cat")]
    assert found.notes == ()
    with pytest.raises(MetadataError, match="a column must give the picture"):
        read("caption\nA cat\n")
