"""Captions as annotators: imported ones, and those of a chat model."""

import asyncio
from unittest.mock import AsyncMock

import polars as pl
import pytest

from stereotrope import annotate
from stereotrope.annotate import CaptionAnnotator, ImportedCaptions, LexiconAnnotator
from stereotrope.annotate.label import labels_frame
from stereotrope.clients import Answer
from stereotrope.errors import InputError, MetadataError, UsageError

IMAGES = pl.DataFrame(
    {
        "image_id": ["i1", "i2", "i3", "i4"],
        "source": ["sd/Beauty_0.jpg", "sd/Beauty_1.png", None, "sd/x.jpg"],
        "sha256": ["aa", "bb", "cc", "dd"],
        "status": ["ok", "ok", "ok", "excluded"],
        "prompt": ["beauty"] * 4,
    }
)


def imported(folder, text, **options):
    (folder / "c.csv").write_text(text, encoding="utf-8")
    return annotate.create({"captions": "c.csv", "name": "blip", **options}, relative_to=folder)


def test_images_are_found_by_id_by_path_and_by_bare_name(tmp_path):
    annotator = imported(
        tmp_path, "image,caption\ni3,three\nBeauty_0,zero\n./sd/Beauty_1.png,one\nghost,none\n"
    )
    assert isinstance(annotator, ImportedCaptions)
    made = annotator.derive(IMAGES, labels_frame([]))
    assert made.select("subject_id", "attribute", "value", "annotator", "status").rows() == [
        ("i1", "caption", "zero", "blip", "ok"),
        ("i2", "caption", "one", "blip", "ok"),
        ("i3", "caption", "three", "blip", "ok"),
    ]
    assert annotator.notes[-1] == "c.csv: 1 row matches no image (line 5)"


def test_a_second_name_of_an_image_and_images_without_captions_are_noted(tmp_path):
    annotator = imported(tmp_path, "image_id,caption\ni1,first\nBeauty_0.jpg,second\n")
    made = annotator.derive(IMAGES, labels_frame([]))
    assert made["value"].to_list() == ["first"]
    assert annotator.notes == [
        "c.csv: 1 row (line 3) of images that have a caption already; the first counts",
        "c.csv: 2 of 3 images have no caption",
    ]


def test_hashes_find_every_copy(tmp_path):
    made = imported(tmp_path, "sha256,caption\nAA,same\n").derive(
        IMAGES.with_columns(sha256=pl.lit("aa")), labels_frame([])
    )
    assert made["subject_id"].to_list() == ["i1", "i2", "i3"]


def test_captions_and_a_lexicon_work_together(tmp_path):
    said = imported(tmp_path, "image_id,caption\ni1,A young woman\n").derive(IMAGES, labels_frame([]))
    lexicon = annotate.create({"lexicon": "biasbench", "of": "blip"})
    assert isinstance(lexicon, LexiconAnnotator)
    made = lexicon.derive(IMAGES, said)
    assert made.filter(pl.col("attribute") == "gender")["value"].to_list() == ["female"]
    assert made.filter(pl.col("attribute") == "stereotype")["value"].to_list() == ["young"]


@pytest.mark.parametrize(
    ("spec", "error", "match"),
    [
        (
            {"captions": "c.csv"},
            UsageError,
            "name is missing; add it: write {captions: captions.csv, name: blip-2}",
        ),
        ({"captions": "c.csv", "name": "x", "kaption": "y"}, UsageError, "did you mean 'caption'"),
        ({"captions": "none.csv", "name": "x"}, MetadataError, "none.csv: cannot be read"),
        ({"lexicon": "biasbench", "off": "x"}, UsageError, "unknown key 'off'; did you mean 'of'"),
        ({"lexicon": [3]}, UsageError, r"lexicon must be a text, found \[3\]; put it in quotes"),
        ({"lexicon": "mine.yaml"}, InputError, "mine.yaml: no such file"),
        ("lexicon", UsageError, "lexicon is missing; add it: write {lexicon: biasbench}"),
        ({"caption": "openai:gpt-4o", "subject": "car"}, UsageError, "`caption` does not take it"),
    ],
)
def test_mistakes_in_an_entry_are_named(tmp_path, spec, error, match):
    with pytest.raises(error, match=match):
        annotate.create(spec, relative_to=tmp_path)


def label(judging, annotator, picture):
    (found,) = judging.run(annotator, picture)
    return found


def test_a_chat_model_writes_a_caption_and_sees_no_prompt(answering):
    judging = answering(lambda question: {"caption": " A woman\n in a coat. "})
    annotator = judging.annotator("caption")
    assert isinstance(annotator, CaptionAnnotator)
    assert (annotator.name, dict(annotator.attributes)) == ("judge captions", {"caption": None})
    found = label(judging, annotator, judging.drawn())
    assert (found.attribute, found.value, found.status) == ("caption", "A woman in a coat.", "ok")
    assert len(judging.sent()) == 1
    assert "cup for women" not in str(judging.bodies[-1]["messages"])


@pytest.mark.parametrize(
    ("said", "status", "reason"),
    [
        ("   ", "invalid", "answered nothing"),
        ("x" * 4001, "invalid", "longer than 4,000 characters"),
        ("\u200d \u2060", "invalid", "answered nothing"),
        ("a\ud800", "invalid", "half a surrogate pair"),
        ("Unclear.", "unclear", None),
    ],
)
def test_what_is_no_caption_is_not_taken_for_one(answering, said, status, reason):
    judging = answering(lambda question: {"caption": said})
    found = label(judging, judging.annotator("caption"), judging.drawn())
    assert (found.value, found.status) == (None, status)
    assert found.rationale is None if reason is None else reason in found.rationale


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("a wo\u00adman who\u200b smiles", "a woman who smiles"),
        ("خانه\u200cها و زن", "خانه\u200cها و زن"),
        ("क्\u200dष, \U0001f469\u200d\U0001f52c", "क्\u200dष, \U0001f469\u200d\U0001f52c"),
        ("\ufeffa man\u202e\x00who\u00a0sits", "a man who sits"),
    ],
)
def test_invisible_letters_part_no_word_of_a_caption(answering, said, text):
    judging = answering(lambda question: {"caption": said})
    assert label(judging, judging.annotator("caption"), judging.drawn()).value == text


def test_a_caption_given_twice_is_none(answering):
    judging = answering(lambda question: '{"caption": "a woman", "caption": "a man"}')
    found = label(judging, judging.annotator("caption"), judging.drawn())
    assert (found.value, found.status, found.rationale) == (None, "invalid", "given more than once")


def test_a_further_key_does_a_caption_no_harm(answering):
    judging = answering(lambda question: {"caption": "a woman", "more": 1})
    assert label(judging, judging.annotator("caption"), judging.drawn()).value == "a woman"


def test_an_answer_under_another_key_says_what_is_wrong(answering):
    judging = answering(lambda question: {"description": "A cup."})
    found = label(judging, judging.annotator("caption"), judging.drawn())
    assert found.status == "invalid"
    assert "caption: missing" in found.rationale
    assert "description: not asked for" in found.rationale


def test_a_refusal_that_holds_a_text_is_refused(judging, monkeypatch):
    answer = Answer("refused", {"caption": "I cannot."}, reason="declined")
    monkeypatch.setattr(CaptionAnnotator, "_asked", AsyncMock(return_value=answer))
    found = label(judging, judging.annotator("caption"), judging.drawn())
    assert (found.status, found.value, found.rationale) == ("refused", None, "declined")


def test_a_refusal_is_a_refused_caption(judging):
    judging.server.misbehave("refusal", times=None)
    assert label(judging, judging.annotator("caption"), judging.drawn()).status == "refused"


def test_blind_sends_no_picture_and_costs_can_be_foreseen(answering):
    judging = answering(lambda question: {"caption": "nothing"})
    annotator = judging.annotator("caption").variant("blind")
    asyncio.run(_once(annotator, judging.drawn()))
    assert judging.sent() == []
    assert annotator.expect(10).calls == 10
    assert annotator.fingerprint != judging.annotator("caption").fingerprint


async def _once(annotator, picture):
    try:
        await annotator.process(picture)
    finally:
        await annotator.close()
