from __future__ import annotations

import errno
import io
import json
import os
import shutil
import unicodedata
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
from PIL import Image

from stereotrope.audit.drawing import stored_image
from stereotrope.errors import InputError, MetadataError, PictureUnavailable, UsageError
from stereotrope.generate import FolderGenerator, ImageResult, create, image_requests
from stereotrope.generate.containment import FolderIndex
from stereotrope.run.store import PictureStore


def png(red: int = 0) -> bytes:
    sink = io.BytesIO()
    Image.new("RGB", (12, 12), (red, 80, 90)).save(sink, "PNG")
    return sink.getvalue()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four pictures, and a secret one outside."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.png").write_bytes(png(255))
    folder = tmp_path / "pictures"
    folder.mkdir()
    for i, name in enumerate("abcd"):
        (folder / f"{name}.png").write_bytes(png(i))
    return folder


def listing(folder: Path, *names: str, **columns: list[Any]) -> None:
    rows = [{"file_name": n, **{c: v[i] for c, v in columns.items()}} for i, n in enumerate(names)]
    (folder / "metadata.jsonl").write_text("\n".join(json.dumps(row) for row in rows))


def results(generator: FolderGenerator) -> list[ImageResult]:
    return [generator.process(request) for request in image_requests(generator.requests()[1])]


def reasons(generator: FolderGenerator) -> list[str | None]:
    found = results(generator)
    assert all((r.status == "ok") == (r.data is not None) == (r.reason is None) for r in found)
    return [r.reason for r in found]


def test_rows_become_prompts_and_requests_in_their_order(folder: Path) -> None:
    listing(
        folder, "c.png", "a.png", "b.png",
        occupation=["nurse", "ceo", "nurse"], note=[1, 2, 3], who=["m1", "m2", "m1"], text=["t1", "t2", "t1"],
        seed=[7, None, 9],
    )  # fmt: skip
    generator = FolderGenerator(folder, name_from="who", factors=["occupation"], prompt="text", seed="seed")
    prompts, requests = generator.requests()
    assert prompts.drop("prompt_id").rows() == [("nurse", "t1", None), ("ceo", "t2", None)]
    assert prompts.columns == ["prompt_id", "occupation", "text", "negative"]
    assert requests["source"].to_list() == ["c.png", "a.png", "b.png"]
    assert requests["generator"].to_list() == ["m1", "m2", "m1"]
    assert requests["seed"].to_list() == [7, None, 9]
    nurse, ceo = prompts["prompt_id"]
    assert requests["prompt_id"].to_list() == [nurse, ceo, nurse]
    assert requests["image_id"].n_unique() == 3
    assert [r.data for r in results(generator)] == [png(2), png(0), png(1)]
    assert generator.notes == [
        f"{folder.name}: 1 pictures in the folder have no row in the metadata and are left out: 'd.png'"
    ]


def test_without_a_prompt_column_texts_are_null_and_factors_may_be_renamed(folder: Path) -> None:
    listing(folder, "a.png", "b.png", job=["nurse", ""])
    prompts, _ = FolderGenerator(folder, factors={"occupation": "job"}).requests()
    assert prompts.select("occupation", "text").rows() == [("nurse", None), (None, None)]


def test_columns_of_prompts_and_seeds_that_nobody_named_are_noted(folder: Path) -> None:
    listing(folder, "a.png", "b.png", thing=["cup", "cup"], prompt=["a cup", "one cup"], seed=[1, 2])
    unread = create({"folder": folder, "factors": ["thing"]})
    assert unread.requests()[0].height == 1
    assert [note for note in unread.notes if "not read" in note] == [
        "pictures: column 'prompt' is not read; `prompt: prompt` in the audit file says what it is",
        "pictures: column 'seed' is not read; `seed: seed` in the audit file says what it is",
    ]
    read = create({"folder": folder, "factors": ["thing"], "prompt": "prompt", "seed": "seed"})
    assert read.requests()[0].height == 2
    assert not any("not read" in note for note in read.notes)


def test_image_ids_do_not_depend_on_where_the_folder_lies_or_on_other_rows(
    folder: Path, tmp_path: Path
) -> None:
    listing(folder, "a.png", "b.png")
    first = FolderGenerator(folder, name="m").requests()[1]["image_id"].to_list()
    shutil.copytree(folder, tmp_path / "elsewhere")
    listing(tmp_path / "elsewhere", "d.png", "b.png", "a.png")
    again = FolderGenerator(tmp_path / "elsewhere", name="m").requests()[1]["image_id"].to_list()
    assert again[:0:-1] == first


def test_a_changed_file_is_another_image_and_a_changed_factor_is_not(folder: Path) -> None:
    listing(folder, "a.png", "b.png", group=["x", "x"])
    before = FolderGenerator(folder, factors=["group"]).requests()[1]["image_id"].to_list()
    (folder / "a.png").write_bytes(png(200))
    listing(folder, "a.png", "b.png", group=["x", "y"])
    after = FolderGenerator(folder, factors=["group"]).requests()[1]["image_id"].to_list()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_a_file_that_changes_after_it_was_listed_is_unavailable_until_it_is_back(folder: Path) -> None:
    listing(folder, "a.png")
    generator = FolderGenerator(folder)
    (request,) = image_requests(generator.requests()[1])
    before = (folder / "a.png").read_bytes()
    for other in (png(200), before[:40], b""):
        (folder / "a.png").write_bytes(other)
        with pytest.raises(PictureUnavailable, match=r"a\.png: file was changed while the audit ran"):
            generator.process(request)
    os.remove(folder / "a.png")
    with pytest.raises(PictureUnavailable, match=r"a\.png: file is missing, and was there before; put"):
        generator.process(request)
    (folder / "a.png").mkdir()
    with pytest.raises(PictureUnavailable, match=r"a\.png: is no regular file, and was there before"):
        generator.process(request)
    (folder / "a.png").rmdir()
    folder.rename(folder.with_name("away"))
    with pytest.raises(PictureUnavailable, match=r"folder .*: is not there any more; put it back"):
        generator.process(request)
    folder.with_name("away").rename(folder)
    (folder / "a.png").write_bytes(before)
    assert generator.process(request).status == "ok"


@pytest.mark.parametrize("trouble", [errno.EIO, errno.EMFILE, errno.EACCES, errno.ESTALE, errno.ENOMEM])
@pytest.mark.parametrize("call", ["open", "lstat"])
def test_a_file_that_cannot_be_read_just_now_is_unavailable(
    folder: Path, monkeypatch: pytest.MonkeyPatch, call: str, trouble: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise OSError(trouble, os.strerror(trouble))

    listing(folder, "a.png")
    for planned in (True, False):
        generator = FolderGenerator(folder)
        if planned:
            (request,) = image_requests(generator.requests()[1])
        generator._index = FolderIndex(folder)
        with monkeypatch.context() as patched:
            patched.setattr(f"stereotrope.generate.containment.os.{call}", fail)
            if not planned:
                source, sha256, absent = generator._located(PurePosixPath(), "a.png")
                assert (source, sha256, absent) == ("a.png", None, False)
            with pytest.raises(PictureUnavailable, match=os.strerror(trouble).lower()):
                generator.process(request)
        assert generator.process(request).status == "ok"


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("../outside/secret.png", "file name leads out of the folder (..)"),
        ("x/../../outside/secret.png", "file name leads out of the folder (..)"),
        ("OUTSIDE", "file name is absolute; it must be relative to the folder"),
        ("//server/share/secret.png", "file name is absolute; it must be relative to the folder"),
        ("..\\outside\\secret.png", "file name holds a backslash; separate folders by /"),
        ("C:/outside/secret.png", "file name has a drive letter; it must be relative to the folder"),
        ("a.png\0.jpg", "file name holds a control character"),
        ("a\x1b[2J.png", "file name holds a control character"),
        ("%2e%2e/outside/secret.png", "file is missing"),
        ("%252e%252e%252foutside%252fsecret.png", "file is missing"),
        ("..%2foutside%2fsecret.png", "file is missing"),
        ("linked.png", "link leads out of the folder"),
        ("linked/secret.png", "link leads out of the folder"),
        ("broken.png", "link leads nowhere"),
        ("loop.png", "link leads nowhere"),
        ("sub", "is no regular file"),
        (".", "is no regular file"),
        ("pipe.png", "is no regular file"),
        ("", "no file name"),
        ("  ", "no file name"),
        ("absent.png", "file is missing"),
        ("x" * 5000 + ".png", "file name is too long"),
        ("x" * 300 + ".png", "file is missing"),
        ("a.png/b.png", "file is missing"),
    ],
)
def test_a_name_that_leads_elsewhere_is_one_excluded_row(folder: Path, name: str, reason: str) -> None:
    outside = folder.parent / "outside"
    (folder / "linked.png").symlink_to(outside / "secret.png")
    (folder / "linked").symlink_to(outside)
    (folder / "broken.png").symlink_to("nowhere.png")
    (folder / "loop.png").symlink_to("loop.png")
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe.png")
    listing(folder, "a.png", str(outside / "secret.png") if name == "OUTSIDE" else name)
    assert reasons(FolderGenerator(folder)) == [None, reason]


def test_a_link_inside_the_folder_is_followed(folder: Path) -> None:
    (folder / "link.png").symlink_to("a.png")
    (folder / "real").mkdir()
    (folder / "real" / "e.png").write_bytes(png(9))
    (folder / "alias").symlink_to("real")
    listing(folder, "link.png", "alias/e.png", "./b.png")
    assert [r.data for r in results(FolderGenerator(folder))] == [png(0), png(9), png(1)]


def test_a_link_that_is_turned_outwards_after_listing_is_not_followed(folder: Path) -> None:
    (folder / "link.png").symlink_to("a.png")
    listing(folder, "link.png")
    generator = FolderGenerator(folder)
    (request,) = image_requests(generator.requests()[1])
    (folder / "link.png").unlink()
    (folder / "link.png").symlink_to(folder.parent / "outside" / "secret.png")
    with pytest.raises(PictureUnavailable, match="link leads out of the folder, and was there before"):
        generator.process(request)


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    listing(folder, "a.png")
    (tmp_path / "link").symlink_to(folder)
    assert reasons(FolderGenerator(tmp_path / "link")) == [None]


def test_names_in_the_other_unicode_form_are_found_and_twins_are_kept_apart(folder: Path) -> None:
    composed, apart = (unicodedata.normalize(form, "café.png") for form in ("NFC", "NFD"))
    (folder / composed).write_bytes(png(10))
    listing(folder, apart)
    assert [r.data for r in results(FolderGenerator(folder))] == [png(10)]
    (folder / apart).write_bytes(png(11))
    listing(folder, composed, apart)
    assert [r.data for r in results(FolderGenerator(folder))] == [png(10), png(11)]


def test_percent_signs_are_plain_characters(folder: Path) -> None:
    (folder / "100%25 a&b.png").write_bytes(png(12))
    listing(folder, "100%25 a&b.png")
    assert reasons(FolderGenerator(folder)) == [None]


def test_pictures_that_cannot_be_used_are_excluded_with_a_reason(folder: Path) -> None:
    (folder / "a.png").write_bytes(png()[:40])
    (folder / "b.png").write_bytes(b"")
    (folder / "c.png").write_text("<html><body>403</body></html>")
    listing(folder, "a.png", "b.png", "c.png", "d.png")
    *broken, fine = reasons(FolderGenerator(folder))
    assert all(broken)
    assert len(set(broken)) == 3
    assert fine is None


def test_a_file_over_the_limit_is_excluded_unread(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stereotrope.generate.containment.MAX_BYTES", 2**20)
    os.truncate(folder / "a.png", 2**20 + 1)
    listing(folder, "a.png")
    assert reasons(FolderGenerator(folder)) == ["file is larger than 1 MiB"]


def test_a_few_rows_that_leave_out_a_factor_are_noted_and_many_are_meant(folder: Path) -> None:
    names = [f"{at}.png" for at in range(20)]
    listing(folder, *names, group=["x"] * 19 + [""])
    generator = FolderGenerator(folder, factors=["group"])
    generator.requests()
    (note,) = [note for note in generator.notes if "group" in note]
    assert note.endswith("1 row leaves out 'group', a condition apart: 'metadata.jsonl:20'")
    listing(folder, *names, group=["x"] * 18 + [""] * 2)
    generator.requests()
    assert not [note for note in generator.notes if "group" in note]


def test_a_row_said_twice_counts_once_and_is_noted(folder: Path) -> None:
    listing(folder, "a.png", "absent.png", "a.png", "./a.png", "absent.png", group=["x"] * 5)
    generator = FolderGenerator(folder, factors=["group"])
    assert generator.requests()[1]["source"].to_list() == ["a.png", "absent.png"]
    assert (
        "3 rows say the same again and count once: 'metadata.jsonl:3', 'metadata.jsonl:4'"
        in generator.notes[0]
    )


def test_a_picture_listed_with_two_different_values_is_a_mistake(folder: Path) -> None:
    listing(folder, "a.png", "b.png", "a.png", group=["men", "men", "women"])
    with pytest.raises(
        MetadataError,
        match=r"metadata.jsonl:3: 'a.png' must be listed once, found again .*first at metadata.jsonl:1",
    ):
        FolderGenerator(folder, factors=["group"]).requests()


def test_pictures_without_a_row_are_noted_not_read(folder: Path) -> None:
    listing(folder, "a.png")
    for i in range(9):
        (folder / f"x{i}.png").write_bytes(b"")
    (folder / "notes.txt").write_text("no picture")
    (folder / ".hidden.png").write_bytes(b"")
    generator = FolderGenerator(folder)
    assert generator.requests()[1].height == 1
    assert "12 pictures in the folder have no row" in generator.notes[0]
    assert generator.notes[0].endswith("'b.png', 'c.png', 'd.png', 'x0.png', 'x1.png' and 7 more")


def test_file_names_that_are_not_utf8_are_noted(folder: Path) -> None:
    with open(os.fsencode(folder) + b"/caf\xe9.png", "wb") as file:
        file.write(png())
    generator = FolderGenerator(folder)
    assert generator.requests()[1].height == 4
    assert "1 file names are not UTF-8 and are left out: 'caf\\udce9.png'" in generator.notes[0]


def test_metadata_is_found_in_the_order_promised(folder: Path) -> None:
    (folder / "labels.csv").write_text("image,group\na.png,l\n")
    assert _first_factor(folder) == "l"
    (folder / "metadata.csv").write_text("filename,group\na.png,c\n")
    assert _first_factor(folder) == "c"
    listing(folder, "a.png", group=["j"])
    assert _first_factor(folder) == "j"
    generator = FolderGenerator(folder, metadata="labels.csv", factors=["group"])
    assert generator.requests()[0]["group"].to_list() == ["l"]
    assert not any("is read" in note for note in generator.notes)


def _first_factor(folder: Path) -> str:
    return str(FolderGenerator(folder, factors=["group"]).requests()[0]["group"][0])


@pytest.mark.parametrize("name", ["metadata.csv", "train/metadata.jsonl"])
def test_metadata_that_is_a_link_out_of_the_folder_is_not_read_unasked(folder: Path, name: str) -> None:
    outside = folder.parent / "outside" / Path(name).name
    outside.write_text("file_name\na.png\n" if name.endswith("csv") else '{"file_name": "../a.png"}')
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).symlink_to(outside)
    with pytest.raises(MetadataError, match=f"{name}: link leads out of the folder; name the file to read"):
        FolderGenerator(folder).requests()
    assert FolderGenerator(folder, metadata=name).requests()[1].height == 1


def test_a_hugging_face_imagefolder_with_splits_is_read(folder: Path) -> None:
    for split, number in (("train", 20), ("test", 21)):
        (folder / split / "deep").mkdir(parents=True)
        (folder / split / "deep" / "a.png").write_bytes(png(number))
        (folder / split / "metadata.csv").write_text(
            f"file_name,text\ndeep/a.png,{split} prompt\n../b.png,\n"
        )
    generator = FolderGenerator(folder, factors=["split"], prompt="text")
    prompts, requests = generator.requests()
    assert requests["source"].to_list()[::2] == ["test/deep/a.png", "train/deep/a.png"]
    assert prompts.select("split", "text").rows()[::2] == [("test", "test prompt"), ("train", "train prompt")]
    found = [generator.process(r) for r in image_requests(requests)]
    assert [r.data for r in found][::2] == [png(21), png(20)]
    assert {r.reason for r in found[1::2]} == {"file name leads out of the folder (..)"}


def test_a_mistake_in_a_splits_metadata_names_that_file(folder: Path) -> None:
    (folder / "train").mkdir()
    (folder / "train" / "metadata.csv").write_text("file_name,group\nx.png,a\nx.png,b\n")
    with pytest.raises(MetadataError, match=r"train/metadata.csv:3: .*first at train/metadata.csv:2"):
        FolderGenerator(folder, factors=["group"]).requests()


def test_class_named_sub_folders_become_the_label(folder: Path) -> None:
    for name, number in (("train/nurse", 30), ("train/ceo", 31), ("test/ceo", 32)):
        (folder / name).mkdir(parents=True)
        (folder / name / "1.png").write_bytes(png(number))
    generator = FolderGenerator(folder)
    prompts, requests = generator.requests()
    assert prompts["label"].to_list() == [None, "ceo", "nurse"]
    assert requests["source"].to_list()[-3:] == ["test/ceo/1.png", "train/ceo/1.png", "train/nurse/1.png"]
    both, _ = FolderGenerator(folder, factors=["split", "label"]).requests()
    assert both.height == 4
    assert reasons(generator) == [None] * 7


def test_a_folder_of_pictures_alone_is_one_prompt(folder: Path) -> None:
    prompts, requests = FolderGenerator(folder).requests()
    assert prompts.columns == ["prompt_id", "text", "negative"]
    assert (prompts.height, requests.height) == (1, 4)


def test_designed_prompts_are_matched_by_text_or_by_factors(folder: Path) -> None:
    designed = pl.DataFrame(
        {"prompt_id": ["p1", "p2"], "object": ["car", "cup"], "group": ["men", None], "text": ["T1", "T2"],
         "negative": [None, None]}
    )  # fmt: skip
    listing(
        folder, "a.png", "b.png", "c.png",
        object=["cup", "car", "car"], group=[None, "men", "women"], said=["T1", "T9", "T2"],
    )  # fmt: skip
    by_factors = FolderGenerator(folder, factors=["object", "group"])
    prompts, requests = by_factors.requests(designed)
    assert prompts is designed
    assert requests.select("prompt_id", "text").rows() == [("p2", "T2"), ("p1", "T1")]
    assert "1 of 3 pictures belong to no designed prompt and are left out; " in by_factors.notes[-1]
    assert by_factors.notes[-1].endswith("the first, metadata.jsonl:3, says object=car, group=women")
    _, by_text = FolderGenerator(folder, prompt="said").requests(designed)
    assert by_text.select("prompt_id", "source").rows() == [("p1", "a.png"), ("p2", "c.png")]


def test_pictures_of_one_prompt_may_not_differ_in_a_factor_that_the_design_lacks(folder: Path) -> None:
    designed = pl.DataFrame(
        {"prompt_id": ["p1", "p2"], "object": ["car", "cup"], "text": ["T1", "T2"], "negative": [None, None]}
    )
    listing(
        folder, "a.png", "b.png", "c.png",
        object=["cup", "car", "car"], phrasing=["for", "none", "none"], style=["", "plain", "wide"],
    )  # fmt: skip
    told = (
        r"jsonl:3: factor 'style' must be one of the design, which has object; .*'plain' \(.*:2\) and 'wide'"
    )
    with pytest.raises(MetadataError, match=told):
        FolderGenerator(folder, factors=["object", "phrasing", "style"]).requests(designed)
    FolderGenerator(folder, factors=["object", "phrasing"]).requests(designed)  # the same within a prompt
    FolderGenerator(folder).requests(designed)  # nobody called `style` a factor


DESIGNED = pl.DataFrame(
    {"prompt_id": ["p1", "p2", "p3"], "object": "car", "dimension": [None, "gender", "gender"],
     "group": ["base", "men", "women"], "text": ["a car", "a car for men", "a car for women"],
     "negative": None},
    schema_overrides={"negative": pl.String},
)  # fmt: skip


def test_columns_named_like_designed_factors_say_the_prompt(folder: Path) -> None:
    listing(folder, "a.png", "b.png", object=["car", "car"], group=["women", "base"])
    _, requests = FolderGenerator(folder).requests(DESIGNED)
    assert requests.select("prompt_id", "text").rows() == [("p3", "a car for women"), ("p1", "a car")]


def test_a_column_with_the_prompt_says_the_prompt(folder: Path) -> None:
    listing(folder, "a.png", "b.png", prompt=["a car for men", "a car"])
    _, requests = FolderGenerator(folder).requests(DESIGNED)
    assert requests["prompt_id"].to_list() == ["p2", "p1"]


def test_metadata_that_says_nothing_of_the_design_is_refused(folder: Path) -> None:
    listing(folder, "a.png", mood=["calm"])
    with pytest.raises(MetadataError, match=r"must say which designed prompt .* 'object', .* found .*'mood'"):
        FolderGenerator(folder).requests(DESIGNED)


def test_pictures_of_a_design_of_one_prompt_need_not_say_it_and_a_note_does(folder: Path) -> None:
    generator = FolderGenerator(folder, name="m")
    _, requests = generator.requests(DESIGNED.head(1))
    assert set(requests["prompt_id"]) == {"p1"}
    assert any("m: nothing says which prompt a picture belongs to" in note for note in generator.notes)


def test_metadata_that_fits_no_designed_prompt_is_refused_with_an_example(folder: Path) -> None:
    listing(folder, "a.png", group=["Women"])
    with pytest.raises(
        MetadataError, match=r"none of 1 does; this one says group=Women, the design has group=base"
    ):
        FolderGenerator(folder).requests(DESIGNED)


def test_metadata_that_fits_several_designed_prompts_is_refused(folder: Path) -> None:
    listing(folder, "a.png", object=["car"])
    with pytest.raises(MetadataError, match=r"object=car fits 3; add a column 'dimension' or 'group'"):
        FolderGenerator(folder).requests(DESIGNED)
    listing(folder, "a.png", mood=["glad"])
    with pytest.raises(MetadataError, match=r"one designed prompt, this one fits \d+; add a column 'object'"):
        FolderGenerator(folder, factors=["mood"]).requests(DESIGNED)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"factors": ["grup"]},
            r"metadata.jsonl:1: no column 'grup' \(factor 'grup'\); did you mean 'group'",
        ),
        ({"prompt": "text"}, r"no column 'text' \(prompt\)"),
        ({"file": "path"}, r"no column 'path' \(file\)"),
        (
            {"name_from": "model"},
            "metadata.jsonl:2: column 'model' must name the model, found nothing",
        ),
        (
            {"seed": "group"},
            "metadata.jsonl:1: column 'group' must hold a whole number .* found 'men'",
        ),
        ({"seed": "big"}, "must hold a whole number of 64 bits, found '9223372036854775808'"),
        ({"metadata": "absent.csv"}, "cannot be read"),
    ],
)
def test_metadata_that_does_not_fit_is_refused_with_its_line(
    folder: Path, options: dict[str, Any], message: str
) -> None:
    listing(folder, "a.png", "b.png", group=["men", "x"], model=["m", None], big=[2**63, 0])
    with pytest.raises(MetadataError, match=message):
        FolderGenerator(folder, **options).requests()


def test_metadata_may_be_separated_by_semicolons(folder: Path) -> None:
    (folder / "metadata.csv").write_text(
        '\ufefffile_name;group;prompt;seed\r\na.png;men;a nurse, at work;3\r\nb.png;women;"x; y";\r\n',
        encoding="utf-8",
    )
    generator = FolderGenerator(folder, factors=["group"], prompt="prompt", seed="seed")
    prompts, requests = generator.requests()
    assert prompts.select("group", "text").rows() == [("men", "a nurse, at work"), ("women", "x; y")]
    assert requests.select("source", "seed").rows() == [("a.png", 3), ("b.png", None)]


def test_metadata_without_a_file_column_says_which_one_is_needed(folder: Path) -> None:
    (folder / "metadata.csv").write_text("picture,group\na.png,x\n")
    with pytest.raises(MetadataError, match=r"no column 'file_name' .*There are 'picture', 'group'"):
        FolderGenerator(folder).requests()
    assert FolderGenerator(folder, file="picture").requests()[1].height == 1


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(MetadataError, match="holds no picture and no metadata file; check the path"):
        FolderGenerator(tmp_path).requests()


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"folder": "nowhere"}, "there is no such folder; check the path"),
        ({"folder": None}, r"folder is missing; add it: write \{folder: pictures"),
        ({"folder": "{}", "metdata": "m.csv"}, "unknown key 'metdata'; did you mean 'metadata'"),
        ({"folder": "{}", "name": [3]}, r"name must be a text, found \[3\]; put it in quotes"),
        ({"folder": "{}", "factors": "occupation"}, "factors must be a list of columns or a mapping"),
        ({"folder": "{}", "factors": [3]}, "factors must be a list of columns or a mapping"),
        ({"folder": "{}", "factors": ["seed"]}, "'seed': this name is reserved"),
        (
            {"folder": "{}", "name": "a", "name_from": "b"},
            "name_from cannot stand beside `name`, found 'b'; remove one",
        ),
    ],
)
def test_a_spec_that_does_not_fit_is_refused(folder: Path, spec: dict[str, Any], message: str) -> None:
    there = {key: str(folder) if value == "{}" else value for key, value in spec.items()}
    with pytest.raises((UsageError, InputError), match=message):
        create(there)


def test_a_spec_from_an_audit_file_makes_a_folder_generator(folder: Path) -> None:
    listing(folder, "a.png", condition=["plain"])
    generator = create({"folder": str(folder), "name": "imagen-4", "factors": ["condition"]})
    assert isinstance(generator, FolderGenerator)
    assert generator.requests()[1]["generator"][0] == generator.name == "imagen-4"


def made(base: Path, metadata: str) -> list[str | None]:
    """What a generator with this file says of the condition of its pictures."""
    spec = {"folder": "pictures", "metadata": metadata, "factors": ["condition"]}
    prompts, requests = create(spec, relative_to=base).requests()
    as_paths = create({**spec, "folder": Path("pictures"), "metadata": Path(metadata)}, relative_to=str(base))
    assert as_paths.requests()[1].equals(requests)
    assert requests["source"].to_list() == ["a.png"]
    return prompts["condition"].to_list()


def test_metadata_is_a_path_from_the_audit_file_or_inside_the_folder(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "inside.csv").write_text("file,condition\na.png,inside\n")
    (tmp_path / "beside.csv").write_text("file,condition\na.png,beside\n")
    assert made(tmp_path, "inside.csv") == made(tmp_path, "pictures/inside.csv") == ["inside"]
    assert made(tmp_path, "beside.csv") == ["beside"]
    monkeypatch.chdir(tmp_path.parent)
    assert made(Path(tmp_path.name), "beside.csv") == ["beside"]


def test_metadata_in_both_places_is_one_file_or_said_to_be_two(folder: Path, tmp_path: Path) -> None:
    for place in (folder, tmp_path):
        (place / "list.csv").write_text("file,condition\na.png,same\n")
    assert made(tmp_path, "list.csv") == ["same"]
    (folder / "list.csv").write_text("file,condition\na.png,inside\n")
    with pytest.raises(
        UsageError, match=r"list\.csv\) and another one in .*; write metadata: pictures/list\.csv"
    ):
        create({"folder": "pictures", "metadata": "list.csv"}, relative_to=tmp_path)
    assert made(tmp_path, "pictures/list.csv") == ["inside"]
    assert made(tmp_path, "../list.csv") == ["same"]


def test_metadata_that_is_nowhere_names_both_places(folder: Path, tmp_path: Path) -> None:
    there = rf"neither beside the audit file \({tmp_path}/no\.csv\) nor in the folder \({folder}/no\.csv\)"
    with pytest.raises(UsageError, match=there):
        create({"folder": "pictures", "metadata": "no.csv"}, relative_to=tmp_path)


def test_the_study_of_occupations_is_read_whole(shared: Path) -> None:
    generator = FolderGenerator(
        shared / "data" / "occupations",
        metadata="labels.csv",
        name_from="model",
        factors=["occupation", "condition"],
    )
    prompts, requests = generator.requests()
    assert (prompts.height, requests.height, generator.notes) == (10, 300, [])
    assert {r.status for r in map(generator.process, image_requests(requests))} == {"ok"}


def test_a_picture_taken_from_a_folder_brings_its_size_and_is_not_decoded_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing(folder, "a.png")
    (result,) = results(FolderGenerator(folder))
    assert result.size == (12, 12)
    monkeypatch.setattr("stereotrope.audit.drawing.inspect_picture", pytest.fail)
    kept = stored_image(SimpleNamespace(store=PictureStore(folder)), "key", None, result)
    assert (kept["width"], kept["height"]) == (12, 12)
    assert (folder / kept["path"]).read_bytes() == result.data
