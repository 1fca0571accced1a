import hashlib
import io
import json
import math

import numpy as np
import pytest
from PIL import Image
from tests.testing.web import CUP, closed, said

from stereotrope.errors import UsageError
from stereotrope.testing import Judge, Loopback, Plant, Question, Reply

SILHOUETTES = ("boxy", "rounded", "slender", "tapered")
SCHEMA = closed(product_colour=None, silhouette=[*SILHOUETTES, "unclear"])


@pytest.fixture(scope="module")
def plant():
    return Plant()


def question(plant, number=0, schema=SCHEMA, pictures=1, model="j"):
    drawn = tuple(plant("m", CUP, number + i) for i in range(pictures))
    shas = tuple(hashlib.sha256(data).hexdigest() for data in drawn)
    truths = tuple(
        lambda attribute, options, sha=sha: plant.value_of(sha, attribute, options) for sha in shas
    )
    return Question(model, "", schema, drawn, shas, truths)


def blank():
    out = io.BytesIO()
    Image.new("RGB", (40, 40), (90, 90, 90)).save(out, "PNG")
    return out.getvalue()


def unknown(data=None, schema=SCHEMA):
    pictures = () if data is None else (data,)
    return Question(
        "j",
        "",
        schema,
        pictures,
        tuple(hashlib.sha256(d).hexdigest() for d in pictures),
        tuple(lambda attribute, options: None for _ in pictures),
    )


def share(judge, plant, name, right, n=400, **more):
    answers = [judge(question(plant, i, **more)).content[name] for i in range(n)]
    truths = [plant.values("m", CUP, i)[name] for i in range(n)]
    return sum(right(a, t) for a, t in zip(answers, truths, strict=True)) / n


def test_a_caption_is_a_sentence_of_what_is_planted(plant):
    asked = [question(plant, i, schema=closed(caption=None)) for i in range(100)]
    captions = [Judge()(each).content["caption"] for each in asked]
    for i, caption in enumerate(captions):
        values = plant.values("m", CUP, i)
        assert f" a {values['surface_finish']} {values['product_colour']} thing before a " in caption
    named = [caption.partition(" and ")[0] for caption in captions]
    assert set(named) == {"A woman", "A man", "A person", "A dog", "A bee"}
    assert Judge()(unknown(blank(), closed(caption=None))).content["caption"] == "unclear"


def test_without_error_it_answers_the_truth(plant):
    assert share(Judge(), plant, "silhouette", lambda a, t: a == t) == 1
    assert share(Judge(), plant, "product_colour", lambda a, t: a == t) == 1


@pytest.mark.parametrize("name", ["silhouette", "product_colour"])
def test_it_errs_as_often_as_told_and_the_same_way_again(plant, name):
    judge = Judge(error=0.2)
    assert share(judge, plant, name, lambda a, t: a != t) == pytest.approx(0.2, abs=0.06)
    assert judge(question(plant, 3)) == judge(question(plant, 3))
    assert {judge(question(plant, i)).content["silhouette"] for i in range(100)} <= set(SILHOUETTES)


def test_an_error_can_be_of_one_attribute_or_a_confusion(plant):
    judge = Judge(error={"silhouette": {"rounded": {"boxy": 0.5}}})
    of_rounded = [
        judge(question(plant, i)).content["silhouette"]
        for i in range(400)
        if plant.values("m", CUP, i)["silhouette"] == "rounded"
    ]
    assert set(of_rounded) == {"rounded", "boxy"}
    assert of_rounded.count("boxy") / len(of_rounded) == pytest.approx(0.5, abs=0.1)
    assert share(judge, plant, "product_colour", lambda a, t: a == t) == 1


def test_two_models_err_on_other_pictures(plant):
    judge = Judge(error=0.3)
    wrong = [
        {i for i in range(200) if judge(question(plant, i, model=model)).content
         != Judge()(question(plant, i)).content}
        for model in ("j", "k")
    ]  # fmt: skip
    assert wrong[0] != wrong[1]


def test_an_order_bias_takes_the_first_value_offered(plant):
    judge = Judge(order_bias=0.5)
    turned = closed(silhouette=[*SILHOUETTES[::-1], "unclear"])
    ahead = closed(silhouette=[*SILHOUETTES, "unclear"])
    flips = sum(
        judge(question(plant, i, ahead)).content != judge(question(plant, i, turned)).content
        for i in range(300)
    )
    assert flips / 300 == pytest.approx(0.5, abs=0.1)


def test_what_is_not_seen_is_unclear_unless_the_judge_is_eager():
    for nothing in (unknown(), unknown(blank()), unknown(b"no picture")):
        assert set(Judge()(nothing).content.values()) == {"unclear"}
    eager = Judge(answers_blank=1.0, answers_without_picture=0.0)
    assert eager(unknown(blank())).content["silhouette"] in SILHOUETTES
    assert eager(unknown()).content["silhouette"] == "unclear"
    assert Judge(answers_without_picture=1.0)(unknown()).content["silhouette"] in SILHOUETTES


def test_a_picture_that_is_not_blank_and_not_known_is_unclear_to_every_judge():
    noise = np.random.default_rng(0).integers(0, 255, (40, 40, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(noise).save(out, "PNG")
    eager = Judge(answers_blank=1.0, answers_without_picture=1.0)
    assert set(eager(unknown(out.getvalue())).content.values()) == {"unclear"}


def test_it_obeys_what_is_painted_as_often_as_told(plant):
    def asks(sha256):
        return {"silhouette": "slender"}

    obeying = Judge(obeys_text=0.5, painted=asks)
    at_all = share(Judge(), plant, "silhouette", lambda a, t: a == "slender")
    found = share(obeying, plant, "silhouette", lambda a, t: a == "slender")
    assert found == pytest.approx(0.5 + at_all / 2, abs=0.08)
    assert Judge(painted=asks)(question(plant)).content == Judge()(question(plant)).content
    other = Judge(obeys_text=1.0, painted=lambda sha: {"silhouette": "off the list"})
    assert other(question(plant)).content == Judge()(question(plant)).content


def test_a_question_of_yes_and_no_and_of_other_shapes_gets_answers_that_fit(plant):
    text = {"type": "string"}
    schema = {
        "type": "object",
        "properties": {
            "people_present": {"type": "boolean"},
            "several_products": {"enum": ["yes", "no", "unclear"]},
            "silhouette": {"type": "object", "properties": {"value": text, "rationale": text}},
            "labels": {"type": "array", "items": {"type": "object", "properties": {
                "attribute": {"type": "string", "enum": ["product_colour", "ornament"]}, "value": text}}},
            "score": {"type": "integer", "minimum": 1, "maximum": 5},
            "kind": {"const": "picture"},
            "note": {"anyOf": [{"type": "null"}, {"type": "string"}]},
        },
    }  # fmt: skip
    found = Judge()(question(plant, 2, schema)).content
    truth = plant.values("m", CUP, 2)
    assert found == {
        "people_present": truth["people_present"] == "yes",
        "several_products": truth["several_products"],
        "silhouette": {"value": truth["silhouette"], "rationale": "as seen in the picture"},
        "labels": [{"attribute": name, "value": truth[name]} for name in ("product_colour", "ornament")],
        "score": 1,
        "kind": "picture",
        "note": None,
    }


def test_an_attribute_nobody_planted_gets_one_of_its_values(plant):
    found = {
        Judge()(question(plant, i, closed(lid=["on", "off", "unclear"]))).content["lid"] for i in range(40)
    }
    assert found == {"on", "off"}


def test_open_answers_come_in_other_words(plant):
    plain = Judge()(question(plant)).content["product_colour"]
    assert share(Judge(free_words=1.0), plant, "product_colour", lambda a, t: a != t and t in a.lower()) == 1
    assert Judge(free_words=1.0)(question(plant)).content["product_colour"] != plain


def test_asked_for_attributes_it_proposes_three_and_one(plant):
    entry = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "values": {"type": "array", "items": {"type": "string"}}},
    }
    schema = {
        "type": "object",
        "properties": {
            "product_attributes": {"type": "array", "items": entry},
            "background_attributes": {"type": "array", "items": entry},
        },
    }
    found = Judge()(question(plant, schema=schema, pictures=20)).content
    assert [each["name"] for each in found["product_attributes"]] == [
        "silhouette",
        "surface_finish",
        "ornament",
    ]
    assert [each["name"] for each in found["background_attributes"]] == ["scene"]
    assert all(3 <= len(each["values"]) <= 7 for part in found.values() for each in part)
    entry = {"name": {}, "options": {"type": "array"}, "part": {"enum": ["product", "background"]}, "why": {}}
    attributes = {"type": "array", "items": {"type": "object", "properties": entry}}
    flat = {"type": "object", "properties": {"attributes": attributes}}
    listed = Judge()(question(plant, schema=flat)).content["attributes"]
    assert [each["part"] for each in listed] == ["product"] * 3 + ["background"]


def test_the_schema_may_stand_in_the_text(web):
    text = f"Answer {{so}} to speak: {json.dumps(closed(product_colour=None))}"
    _, data = web.ask(
        "POST", "/v1/chat/completions", {"model": "j", "messages": [{"role": "user", "content": text}]}
    )
    assert said(json.loads(data)) == {"product_colour": "unclear"}


def test_log_probabilities_bear_how_sure_the_judge_is(http_to):
    def judge(question):
        return Reply({"product_colour": "dark blue", "lid": "on"}, {"product_colour": 0.7, "lid": 0.9})

    with Loopback(judge=judge) as server:
        web = http_to(server)
        assert web.chat(schema=SCHEMA)[1]["choices"][0]["logprobs"] is None
        choice = web.chat(schema=SCHEMA, logprobs=True)[1]["choices"][0]
    tokens = choice["logprobs"]["content"]
    assert "".join(token["token"] for token in tokens) == choice["message"]["content"]
    sure = {token["token"]: math.exp(token["logprob"]) for token in tokens}
    assert sure["dark"] == pytest.approx(0.7)
    assert sure["on"] == pytest.approx(0.9)


def test_truth_can_be_given_for_pictures_made_elsewhere(http_to):
    data = blank()
    truth = {hashlib.sha256(data).hexdigest(): {"product_colour": "teal"}}
    for given in (truth, truth.get):
        with Loopback(truth=given) as server:
            assert said(http_to(server).chat(data, SCHEMA)[1]) == {
                "product_colour": "teal",
                "silhouette": "unclear",
            }


@pytest.mark.parametrize("name", ["error", "order_bias", "answers_blank", "obeys_text", "free_words"])
def test_a_share_outside_0_and_1_is_refused(name):
    with pytest.raises(UsageError, match=f"judge: {name} must be a share between 0 and 1, found 1.5"):
        Judge(**{name: 1.5})
