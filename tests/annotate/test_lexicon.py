"""From captions to labels."""

import polars as pl
import pytest

from stereotrope.annotate.label import labels_frame
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.errors import InputError
from stereotrope.lexicon import lexicon_from, read_lexicon

LEXICON = lexicon_from(
    {
        "name": "small",
        "attributes": {"gender": {"groups": {"female": ["woman"], "male": ["man"]}, "of": ["doctor"]}},
        "prompts": {
            "doctor": {"lists": {"ppe": {"mask": ["mask", "masks"], "gloves": ["gloves"]}}},
            "nature": {"lists": {"keyword": ["bee"]}},
        },
    }
)
IMAGES = pl.DataFrame({"image_id": ["a", "b", "c", "d"], "prompt": ["doctor", "Doctor", "nature", "doctor"]})


def captions(*said, annotator="blip", status="ok"):
    return labels_frame(
        [
            {
                "subject_kind": "image",
                "subject_id": image,
                "attribute": "caption",
                "value": text if status == "ok" else None,
                "annotator": annotator,
                "status": status,
                "rationale": None if status == "ok" else text,
            }
            for image, text in said
        ]
    )


def rows(frame):
    return frame.select("subject_id", "attribute", "value").rows()


def test_a_caption_has_one_group_and_any_number_of_elements():
    annotator = LexiconAnnotator(LEXICON)
    said = captions(
        ("b", "A man"), ("a", "woman and man, gloves, a mask, masks"), ("c", "man: a bee"), ("x", "man")
    )
    made = annotator.derive(IMAGES, said)
    assert rows(made) == [
        ("a", "gender", "female and male"),
        ("a", "ppe", "mask"),
        ("a", "ppe", "gloves"),
        ("b", "gender", "male"),
        ("c", "keyword", "bee"),
    ]
    assert set(made["annotator"]) == {"small"}
    assert annotator.attributes == {
        "gender": ("female", "male", "female and male", "unknown"),
        "keyword": None,
        "ppe": None,
    }


def test_a_refused_caption_gives_a_refused_label():
    made = LexiconAnnotator(LEXICON).derive(IMAGES, captions(("a", "not allowed"), status="refused"))
    assert made.select("attribute", "value", "status", "rationale").rows() == [
        ("gender", None, "refused", "not allowed")
    ]


def test_captions_of_two_annotators_are_not_mixed():
    both = pl.concat([captions(("a", "man")), captions(("a", "woman"), annotator="people")])
    with pytest.raises(InputError, match=r"found those of blip, people; write \{lexicon: small, of: blip\}"):
        LexiconAnnotator(LEXICON).derive(IMAGES, both)
    made = LexiconAnnotator(LEXICON, of="people").derive(IMAGES, both)
    assert rows(made) == [("a", "gender", "female")]


def test_what_could_not_be_read_is_noted():
    annotator = LexiconAnnotator(LEXICON, of="nobody")
    annotator.derive(IMAGES, captions(("a", "man")))
    assert annotator.notes == ["lexicon 'small': no captions by 'nobody'; captions are by blip"]
    annotator = LexiconAnnotator(LEXICON, factor="scene")
    assert annotator.derive(IMAGES, captions(("a", "man"))).is_empty()
    assert "no factor 'scene'" in annotator.notes[0]
    annotator = LexiconAnnotator(LEXICON)
    annotator.derive(IMAGES.with_columns(prompt=pl.lit("kitchen")), captions(("a", "man")))
    assert "says nothing of the prompts kitchen" in annotator.notes[0]
    assert len(annotator.notes) == 1
    annotator.derive(IMAGES, captions())
    assert annotator.notes == ["lexicon 'small': there are no captions"]


def test_a_prompt_that_only_reads_like_one_of_the_lexicon_is_told_with_its_letters():
    annotator = LexiconAnnotator(LEXICON)
    known = next(iter(LEXICON.prompts))
    annotator.derive(IMAGES.with_columns(prompt=pl.lit(f"{known}\u200b")), captions(("a", "man")))
    assert "(1: has U+200B ZERO WIDTH SPACE)" in annotator.notes[1]


def test_captions_have_the_attributes_of_their_prompt():
    annotator = LexiconAnnotator(read_lexicon("biasbench"))
    assert annotator.asked({"prompt": " Doctor"}) == ("gender", "ethnicity", "skin_tone")
    assert annotator.asked({"prompt": "nature"}) == ("insect",)
    assert annotator.asked({"prompt": "nurse"}) == annotator.asked({}) == ()
