"""What a model may write for a prompt, over real HTTP: checked, repaired once, else kept with its reason."""

import asyncio
import json
import re

import pytest

from stereotrope import mitigate
from stereotrope.errors import UsageError
from stereotrope.mitigate import Case
from stereotrope.testing import Loopback

QUERY = "A photo of a CEO"
GOOD = "A photo of a CEO at home, with friends of many ages"


@pytest.fixture(scope="module")
def server():
    with Loopback() as running:
        yield running


def made(server, kind, answers, **options):
    """A strategy whose model gives these answers, one a turn, the last again and again."""
    left = list(answers)
    server.judge = lambda question: left.pop(0) if len(left) > 1 else left[0]
    entry = {kind: "openai:writer", "base_url": server.url, "key": None, **options}
    return mitigate.create(entry)


def rewritten(server, kind, *answers, query=QUERY, n_pictures=2, found=(), **options):
    strategy = made(server, kind, answers, **options)
    picture = server.painter("m", query, 1)
    case = Case(query, query, ("a",) * n_pictures, (lambda: picture,) * n_pictures, tuple(found))
    before = len(server.received)

    async def ask():
        try:
            return await strategy.process(case)
        finally:
            await strategy.close()

    return asyncio.run(ask()), server.received[before:]


def refined(prompt):
    return {"reason": "the picture shows men alone", "prompt": prompt}


def judged(biased, prompt=""):
    return {"reason": "men alone", "biased": biased, "prompt": prompt}


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (GOOD, GOOD),
        (f" “{GOOD}” ", GOOD),
        ("a PHOTO of  a ceo, at home", "A photo of a CEO, at home"),
        (
            '"A photo of a CEO before a sign that says "boss""',
            'A photo of a CEO before a sign that says "boss"',
        ),
        (
            "A photo of a CEO before a sign that says 'boss'",
            "A photo of a CEO before a sign that says 'boss'",
        ),
        (
            "A photo of a CEO \u0628\u0627 \u0686\u200c\u0647",
            "A photo of a CEO \u0628\u0627 \u0686\u200c\u0647",
        ),
        (
            "A photo of a CEO, \U0001f469\u200d\U0001f52c at wo\u00adrk",
            "A photo of a CEO, \U0001f469\u200d\U0001f52c at work",
        ),
        ("A photo of a CEO: <script>alert(1)</script>", "A photo of a CEO: <script>alert(1)</script>"),
    ],
)
def test_a_refined_prompt_is_the_query_as_it_was_written_and_what_stands_behind_it(server, said, text):
    found, sent = rewritten(server, "refine", refined(said))
    assert (found.text, found.status, found.reason) == (text, "rewritten", "the picture shows men alone")
    assert len(sent) == 1


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("A portrait of a confident CEO", "must begin with the original prompt"),
        ("A photo of a CEOs' meeting", "must begin with the original prompt"),
        ("A photo of a CEO.", "must go on behind the original prompt"),
        ("A photo of a CEO\nin an office", "must be one line of plain text"),
        ("A photo of a CEO \x1b[31m at home", "must be one line of plain text"),
        ("A photo of a CEO \u202e at home", "must be one line of plain text"),
        ("A photo of a CEO, a collage of four", "must describe a single scene, found 'collage'"),
        ("A photo of a CEO, side by side with others", "must describe a single scene, found 'side by side'"),
        ("A photo of a CEO, a series of images", "must describe a single scene, found 'series of images'"),
        ("A photo of a CEO" + " at home" * 1250, "must have at most 400 characters here, found 10000"),
        ("", "must not be empty"),
        (f'"{GOOD}', "must begin with a letter or a digit"),
        ("=HYPERLINK(1)", "must begin with a letter or a digit, found '=HYPERLINK"),
    ],
)
def test_a_prompt_that_breaks_a_rule_gets_one_turn_and_is_then_kept_as_invalid(server, said, message):
    found, sent = rewritten(server, "refine", refined(said))
    assert (found.text, found.status, len(sent)) == (None, "invalid", 2)
    assert message in found.reason
    found, sent = rewritten(server, "refine", refined(said), refined(GOOD))
    assert (found.text, len(sent)) == (GOOD, 2)
    assert message in json.dumps(sent[1].body, ensure_ascii=False)


def test_what_a_query_says_itself_is_no_second_scene(server):
    query = "A collage of cars"
    found, _ = rewritten(server, "refine", refined("A collage of cars on wet grass"), query=query)
    assert found.status == "rewritten"


@pytest.mark.parametrize("answer", ["no JSON at all", {"prompt": GOOD}, {**refined(GOOD), "more": 1}])
def test_an_answer_of_another_shape_is_invalid(server, answer):
    found, sent = rewritten(server, "refine", answer)
    assert (found.text, found.status, len(sent)) == (None, "invalid", 2)


@pytest.mark.parametrize("kind", ["refine", "faircritic"])
def test_a_model_that_declines_is_told_so(server, kind):
    found, _ = rewritten(server, kind, None)
    assert (found.text, found.status) == (None, "refused")
    assert found.reason


def test_a_reason_is_cut_and_made_visible(server):
    found, _ = rewritten(server, "refine", {"reason": "a\x1b[2J" + "b" * 5000, "prompt": GOOD})
    assert found.reason.startswith("a‹U+001B›[2J")
    assert len(found.reason) < 700


def test_the_model_is_shown_the_pictures_the_prompt_and_what_was_found(server):
    said = (
        "Q7_clothing: yes in 2 of 3 looks at them all (image 1: a suit)",
        "colour: red in 4 of 4 pictures",
    )
    _, (sent,) = rewritten(server, "refine", refined(GOOD), found=said, n_pictures=6)
    text, *shown = sent.body["messages"][1]["content"]
    assert len(shown) == 4
    assert re.search("drew the 4 pictures", text["text"])
    assert all(f"- {one}\n" in text["text"] for one in said)
    _, (sent,) = rewritten(server, "refine", refined(GOOD), n_pictures=6, pictures=1)
    assert len(sent.body["messages"][1]["content"]) == 2
    assert "none that was looked for" in sent.body["messages"][1]["content"][0]["text"]


def test_the_critic_keeps_what_is_not_biased_whatever_it_proposes(server):
    found, sent = rewritten(server, "faircritic", judged(False, "anything\nat all"))
    assert (found.text, found.status, found.reason, len(sent)) == (QUERY, "kept", "men alone", 1)


def test_the_critic_may_put_the_prompt_into_other_words(server):
    found, _ = rewritten(server, "faircritic", judged(True, "A CEO of any age and gender"))
    assert (found.text, found.status) == ("A CEO of any age and gender", "rewritten")


def test_the_critic_keeps_the_quote_that_a_prompt_ends_with(server):
    found, _ = rewritten(server, "faircritic", judged(True, 'A CEO before a sign that says "boss"'))
    assert found.text == 'A CEO before a sign that says "boss"'


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ("a photo of a ceo", "must differ from the prompt of the pictures"),
        ("", "must not be empty"),
        ("Four panels with several panels", "must describe a single scene"),
        ("x" * 417, "must have at most 416 characters here, found 417"),
    ],
)
def test_a_revision_that_breaks_a_rule_is_invalid(server, said, message):
    found, sent = rewritten(server, "faircritic", judged(True, said))
    assert (found.text, found.status, len(sent)) == (None, "invalid", 2)
    assert message in found.reason


def test_without_a_picture_nobody_is_asked(server):
    found, sent = rewritten(server, "refine", refined(GOOD), n_pictures=0)
    assert (found.status, found.reason, sent) == ("invalid", "no picture of it can be shown", [])


def test_model_wording_and_limits_decide_the_fingerprint_and_address_and_name_do_not(server):
    base = made(server, "refine", [None]).fingerprint
    assert made(server, "refine", [None], name="other", concurrency=3).fingerprint == base
    for change in ({"temperature": 1.0}, {"longest": 300}, {"max_side": 512}, {"version": "2"}):
        assert made(server, "refine", [None], **change).fingerprint != base
    assert made(server, "faircritic", [None]).fingerprint != base


def test_a_price_gives_the_range_of_what_asking_takes(server):
    strategy = made(server, "refine", [None], price={"input": 1, "output": 10})
    expected = strategy.expect([QUERY] * 100)
    assert expected.calls == 100
    low, high = expected.cost
    assert 0 < low < high
    assert low <= 100 * (1e-6 * 4 * 300 + 1e-5 * 60) <= high


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("refine", "strategy refine: refine is missing"),
        ({"refine": "openai:gpt-4o", "pictures": 0}, "pictures must be at least 1, found 0"),
        ({"faircritic": "nobody:gpt-4o"}, "unknown provider 'nobody'"),
        ({"refine": "openai:gpt-4o", "longest": 5}, "longest must be at least 20, found 5"),
    ],
)
def test_an_entry_that_cannot_be_used_is_told(entry, message):
    with pytest.raises(UsageError, match=message):
        mitigate.create(entry)
