from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stereotrope.annotate.answers import LONGEST_RATIONALE, inert, labels_of, schema_of
from stereotrope.clients import Answer, Problem
from stereotrope.escape import is_plain_line

ASKED = {"shape": ("round", "square", "no shape"), "tone": None}
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
SAID = st.sampled_from(["round", "unclear", "Unclear", " square ", "ROUND", "circle", ""]) | ANYTHING
CONTENT = ANYTHING | st.fixed_dictionaries({}, optional={"shape": SAID, "tone": SAID, "other": SAID})


@given(
    CONTENT,
    st.sampled_from(["ok", "invalid", "refused"]),
    st.none() | st.text(max_size=400),
    st.lists(st.builds(Problem, st.tuples(st.sampled_from(["shape", "tone", "x"])), st.text()), max_size=3),
)
def test_whatever_is_said_gives_one_sound_label_an_attribute(content, status, reason, problems):
    answer = Answer(status, content, reason, tuple(problems), {"shape": 2.0, "tone": -1.0})
    labels = labels_of(answer, ASKED)
    assert [label.attribute for label in labels] == list(ASKED)
    for label in labels:
        if label.status == "ok":
            said = content[label.attribute]
            assert isinstance(said, str)
            assert label.value.encode()
            assert len(label.value) <= 60
            assert label.attribute == "tone" or label.value == said.strip()
            assert label.attribute == "tone" or label.value in ASKED["shape"]
            assert label.confidence in (0, 1)
        else:
            assert label.value is None
        assert label.rationale is None or (
            is_plain_line(label.rationale) and len(label.rationale) <= LONGEST_RATIONALE
        )
    if status == "refused":
        assert {label.status for label in labels} == {"refused"}


def test_the_schema_asks_for_every_attribute_and_nothing_else():
    schema = schema_of({"shape": ("round", "unclear"), "tone": None})
    assert schema["properties"] == {
        "shape": {"type": "string", "enum": ["round", "unclear"]},
        "tone": {"type": "string"},
    }
    assert schema["required"] == ["shape", "tone"]
    assert schema["additionalProperties"] is False


@given(st.text(st.characters()), st.integers(1, 300))
def test_inert_text_is_plain_and_short(text, limit):
    assert is_plain_line(inert(text, limit))
    assert len(inert(text, limit)) <= limit


def test_an_open_value_is_one_whatever_invisible_letters_it_has():
    said = {"shape": "round", "tone": "wo\u00adman\u200c\u200b\u202eof"}
    assert labels_of(Answer("ok", said), ASKED)[1].value == "woman\u200c of"
