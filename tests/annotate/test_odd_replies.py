"""No reply of a judge does worse than fail one picture, and nothing of it upsets a table."""

from __future__ import annotations

import asyncio
import hashlib
import json

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.annotate.conftest import cup, encoded
from tests.annotate.test_discovery import GOOD as ATTRIBUTES
from tests.clients.odd import KEY, bodies, changed, derandomized

from stereotrope import annotate
from stereotrope.annotate import Picture
from stereotrope.clients import ChatClient
from stereotrope.clients.reply import read_chat_reply
from stereotrope.errors import ModelError

LOOKS = {"silhouette": "boxy", "colour": "red"}
ITEMS = ("Q22_gender", "Q23_race", "Q24_age")
JUDGED = {name: {"reasoning": "a suit", "images": [2, 1], "score": 1} for name in ITEMS}
SPECS = {
    "judge": ({"rubric": "three.yaml", "size": 2, "repetitions": 1}, JUDGED),
    "questions": ({"attributes": {"silhouette": ["boxy", "rounded"], "colour": "open"}}, LOOKS),
    "caption": ({}, {"caption": "A red cup on a white ground."}),
    "discovery": ({"discover": True}, ATTRIBUTES),
}
BYTES = encoded(cup("red", "white", side=64))
PICTURES = tuple(Picture(f"image-{i}", hashlib.sha256(BYTES).hexdigest(), BYTES) for i in range(2))


def completion(content):
    message = {"role": "assistant", "content": content, "refusal": None}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 9}}


@pytest.fixture(scope="module", autouse=True)
def three(tmp_path_factory):
    """A folder with a rubric of three items."""
    folder = tmp_path_factory.mktemp("rubric")
    items = "".join(f"  - {{id: {name}, text: Is it there?}}\n" for name in ITEMS)
    (folder / "three.yaml").write_text(f"items:\n{items}")
    return folder


def worker(kind, folder):
    """The annotator of a kind and what it looks at."""
    entry, _ = SPECS[kind]
    named = "questions" if kind == "discovery" else kind
    quick = {"base_url": "http://localhost:9/v1", "tries": 1, "longest_wait": 0.001}
    made = annotate.create({named: "openai:judge", **quick, **entry}, relative_to=folder)
    if kind == "judge":
        return made, PICTURES
    return (made.discoverer, PICTURES) if kind == "discovery" else (made, PICTURES[0])


@pytest.mark.parametrize("examples", [60, pytest.param(400, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", SPECS)
def test_one_reply_fails_one_subject_at_most(kind, examples, three):
    @settings(derandomized, max_examples=examples)
    @given(data=st.data())
    def holds(data):
        good = SPECS[kind][1]
        odd = bodies(completion(json.dumps(data.draw(changed(good)))))
        said = [data.draw(odd | bodies(completion(json.dumps(good)))) for _ in range(2)]
        read_or_failed(kind, three, said)

    holds()


def read_or_failed(kind, three, said):
    """What an annotator makes of two replies is sound, or fails."""

    async def send(self, body):
        return read_chat_reply(said.pop(0), KEY)

    asked, item = worker(kind, three)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ChatClient, "_send", send)
        try:
            found = asyncio.run(asked.process(item))
        except ModelError:
            return
    if kind == "discovery":
        json.dumps({**found.product, **found.background}, ensure_ascii=False).encode()
        return
    assert [label.attribute for label in found] == list(asked.attributes)
    for label in found:
        assert label.status in ("ok", "unclear", "refused", "invalid")
        assert (label.value is not None) == (label.status == "ok")
        assert bool(label.rationale) or label.status in ("ok", "unclear")
        assert kind == "judge" or not label.rationale or label.status in ("refused", "invalid")
        assert label.confidence is None or 0.0 <= label.confidence <= 1.0
    pl.DataFrame({"value": [label.value for label in found], "why": [label.rationale for label in found]})
