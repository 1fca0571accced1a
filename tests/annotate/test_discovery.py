from __future__ import annotations

import hashlib
import json
from copy import deepcopy

import pytest

from stereotrope.annotate import FIXED_ATTRIBUTES
from stereotrope.errors import InputError, ModelError, PictureError, UsageError
from stereotrope.testing.chat import take_apart

GOOD = {
    "product_attributes": [
        {"name": "body_type", "values": ["sedan", "SUV", "hatchback"]},
        {"name": "material_texture", "values": ["matte", "glossy", "rough"]},
        {"name": "wheel_design", "values": ["spoked", "solid", "sporty"]},
    ],
    "background_attributes": [{"name": "lighting", "values": ["bright", "moderate", "dim"]}],
}


def changed(*path_and_value):
    answer = deepcopy(GOOD)
    *path, last, value = path_and_value
    node = answer
    for step in path:
        node = node[step]
    node[last] = value
    return answer


def sample(judging, n=6):
    return tuple(judging.drawn(i, prompt="cup for women, one product only, no people") for i in range(n))


def discoverer(judging, **options):
    made = judging.annotator(discover=True, **options).discoverer
    return made.within({"generator": "painter", "object": "cup", "group": "women"})


def test_three_attributes_of_the_product_and_one_of_the_background_are_found(judging):
    seen = sample(judging)
    taxonomy = judging.run(discoverer(judging), seen)
    assert (len(taxonomy.product), len(taxonomy.background)) == (3, 1)
    assert all(3 <= len(values) <= 7 for values in taxonomy.attributes.values())
    assert (taxonomy.subject, taxonomy.found_by) == ("cup", "judge")
    assert taxonomy.pictures == tuple(f"image-{i}" for i in range(6))
    assert len(judging.bodies) == 1


def test_it_is_asked_what_varies_and_told_no_group_prompt_or_generator(judging):
    judging.run(discoverer(judging), sample(judging))
    body = judging.bodies[-1]
    words = take_apart(body).text.lower()
    assert "that vary among these images" in words
    assert "6 images of the same kind of product (cup)" in words
    for word in ("women", "men,", "group", "demographic", "differen", "painter", "no people", "image-"):
        assert word not in words
    assert all(name in words for name in FIXED_ATTRIBUTES)


def test_the_pictures_come_shuffled_by_the_seed_whatever_order_they_are_given_in(judging):
    seen = sample(judging, 8)
    orders = []
    for seed in (0, 0, 1):
        given = seen if len(orders) != 1 else seen[::-1]
        judging.run(discoverer(judging, order_seed=seed), given)
        orders.append([hashlib.sha256(data).hexdigest() for data in judging.sent()])
    given = [picture.sha256 for picture in seen]
    assert sorted(orders[0]) == sorted(given)
    assert orders[0] == orders[1]
    assert orders[0] not in (orders[2], given, sorted(given))


def test_a_bad_answer_is_mended_in_one_turn(answering):
    answers = [changed("product_attributes", 0, "name", "Body Type"), GOOD]
    judging = answering(lambda question: answers.pop(0))
    taxonomy = judging.run(discoverer(judging), sample(judging))
    assert list(taxonomy.product) == ["body_type", "material_texture", "wheel_design"]
    told = judging.bodies[1]["messages"][-1]["content"]
    assert "product_attributes.0.name: a name must be in snake_case, such as body_type" in told


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (changed("product_attributes", GOOD["product_attributes"][:2]), "must have exactly 3, found 2"),
        (changed("product_attributes", []), "must have exactly 3, found 0"),
        (changed("background_attributes", GOOD["product_attributes"][:2]), "must have exactly 1, found 2"),
        (changed("product_attributes", 1, "name", "body_type"), '"body_type" is there twice'),
        (changed("background_attributes", 0, "name", "body_type"), '"body_type" is there twice'),
        (changed("product_attributes", 1, "name", "product_colour"), '"product_colour" is asked already'),
        (changed("product_attributes", 1, "name", "rim_color"), '"rim_color" is an attribute of color'),
        (
            changed("product_attributes", 1, "name", "logo_presence"),
            '"logo_presence" is an attribute of text',
        ),
        (changed("product_attributes", 1, "name", "x" * 41), "at most 40 characters"),
        (changed("product_attributes", 1, "name", ""), "a name must be in snake_case"),
        (changed("product_attributes", 1, "name", "größe"), "a name must be in snake_case"),
        (changed("product_attributes", 1, "values", ["a", "b"]), "must have between 3 and 7 values, found 2"),
        (changed("product_attributes", 1, "values", list("abcdefgh")), "between 3 and 7 values, found 8"),
        (
            changed("product_attributes", 1, "values", ["a", "b", "A"]),
            "lists 'a' and 'A', which count as one",
        ),
        (
            changed("product_attributes", 1, "values", ["a", "b", "Unclear"]),
            "'Unclear' is no value but a status",
        ),
        (changed("product_attributes", 1, "values", ["a", "b", " "]), "a value must be printable text"),
        (changed("product_attributes", 1, "values", ["a", "b", "c" * 61]), "at most 60 characters"),
        (changed("product_attributes", 1, "values", ["red", "Navy", "rose_gold"]), "all values are colors"),
        (changed("product_attributes", 1, "values", "a, b, c"), "must be of type array"),
        ({"product_attributes": GOOD["product_attributes"]}, "background_attributes: missing"),
        ("The cars differ in shape.", "not JSON"),
        ("[1, 2]", "must be a JSON object"),
    ],
)
def test_an_answer_that_stays_bad_is_an_error_that_says_what_is_wrong(answering, answer, reason):
    judging = answering(lambda question: answer)
    with pytest.raises(ModelError) as caught:
        judging.run(discoverer(judging), sample(judging))
    message = str(caught.value)
    assert message.startswith(
        "annotator 'judge': no attributes found for painter, cup, women: after one repair turn"
    )
    assert reason in message
    assert message.endswith("name it as `taxonomy:`")
    assert len(judging.bodies) == 2


def test_a_refusal_is_an_error_with_its_reason(judging):
    judging.server.misbehave("refusal", times=None)
    with pytest.raises(ModelError, match="the model declined: I'm sorry"):
        judging.run(discoverer(judging), sample(judging))


def test_an_answer_is_inert_in_the_message(answering):
    judging = answering(
        lambda question: changed("product_attributes", 1, "name", "\x1b[2J\u202e" + "x" * 3000)
    )
    with pytest.raises(ModelError) as caught:
        judging.run(discoverer(judging), sample(judging))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700


def test_own_attributes_are_not_proposed_again(answering):
    judging = answering(lambda question: GOOD)
    found = discoverer(judging, attributes={"Body-Type": ["a", "b"], "size": "open"})
    with pytest.raises(ModelError, match='"body_type" is asked already'):
        judging.run(found, sample(judging))
    assert json.dumps(["Body-Type", "size"]) in take_apart(judging.bodies[0]).text


def test_outer_blanks_of_values_are_taken_off(answering):
    judging = answering(lambda question: changed("product_attributes", 0, "values", [" a ", "b", "c"]))
    assert judging.run(discoverer(judging), sample(judging)).product["body_type"] == ("a", "b", "c")


def test_a_picture_that_cannot_be_decoded_is_named(judging):
    broken = (judging.drawn(), type(judging.drawn())("x", "0" * 64, b"GIF89a"))
    with pytest.raises(PictureError, match="GIF"):
        judging.run(discoverer(judging), broken)


def test_one_picture_has_nothing_that_varies(judging):
    with pytest.raises(InputError, match="at least 2 pictures, found 1 for painter, cup, women"):
        judging.run(discoverer(judging), sample(judging, 1))
    assert judging.bodies == []


def test_fingerprints_follow_what_can_change_the_answer(judging):
    first = discoverer(judging).fingerprint
    assert discoverer(judging, concurrency=2, name="other", max_side=512).fingerprint == first
    options = [{"temperature": 1}, {"order_seed": 1}, {"attributes": {"a": "open"}}, {"version": "2"}]
    assert len({first, *(discoverer(judging, **each).fingerprint for each in options)}) == 5


def test_what_to_expect_is_said_before(judging):
    found = discoverer(judging, price={"input": 2.5, "output": 10})
    asked = found.expect(40)
    assert asked.calls == 40
    assert asked.input_tokens[0] >= 40 * 20 * 250
    assert asked.cost[0] < asked.cost[1]
    assert found.concurrency == 32
    assert judging.bodies == []


def test_discovery_and_a_file_exclude_each_other(judging):
    with pytest.raises(UsageError, match="give `discover: true` or a `taxonomy:` file, not both"):
        judging.annotator(discover=True, taxonomy="found.yaml")
