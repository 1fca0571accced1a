from __future__ import annotations

import asyncio
import base64
import json

import pytest
from tests.clients.conftest import GOOD, PRICE, SCHEMA, completion, failure

from stereotrope.clients import Account, ChatClient, Price, Problem
from stereotrope.errors import ModelError, ModelMisconfigured, UsageError
from stereotrope.testing import Response

TEXT = json.dumps(GOOD)
PNG = b"\x89PNG\r\n\x1a\n" + b"0" * 20
ENOUGH = '{"colour": "red"}'


def test_one_structured_call_answers(script):
    answer = script.ask(images=[PNG], system="Look.", name="labels")
    assert (answer.status, answer.content, answer.calls, answer.repaired) == ("ok", GOOD, 1, False)
    assert answer.cost == pytest.approx((10 + 2 * 5) / 1e6)
    (body,) = script.bodies
    assert body["model"] == "m"
    assert body["temperature"] == 0
    assert body["max_tokens"] == 1000
    assert body["response_format"]["json_schema"] == {"name": "labels", "schema": SCHEMA, "strict": True}
    system, user = body["messages"]
    assert system == {"role": "system", "content": "Look."}
    text, picture = user["content"]
    assert text == {"type": "text", "text": "What is seen?"}
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert picture == {"type": "image_url", "image_url": {"url": url}}


def test_without_pictures_the_content_is_text(script):
    script.ask(text="Name a colour.")
    assert script.bodies[0]["messages"] == [{"role": "user", "content": "Name a colour."}]


@pytest.mark.parametrize(
    ("data", "kind"),
    [(b"\xff\xd8\xff\xe0", "jpeg"), (b"GIF89a", "gif"), (b"RIFF\0\0\0\0WEBPVP8 ", "webp"), (PNG, "png")],
)
def test_pictures_say_what_they_are(script, data, kind):
    script.ask(images=[data])
    part = script.bodies[0]["messages"][0]["content"][1]
    assert part["image_url"]["url"].startswith(f"data:image/{kind};base64,")


def test_other_bytes_are_no_picture(script):
    with pytest.raises(UsageError, match="must be PNG, JPEG, WebP or GIF"):
        script.ask(images=[b"<svg>"])


def test_options_are_sent_and_what_is_none_is_not(script):
    script.ask(script.chat(temperature=None, seed=7, max_tokens=50, logprobs=True, extra={"top_p": 0.5}))
    body = script.bodies[0]
    assert "temperature" not in body
    assert (body["seed"], body["max_tokens"], body["logprobs"], body["top_p"]) == (7, 50, True, 0.5)


def test_the_fingerprint_leaves_out_address_limits_and_key(script):
    client = script.chat(seed=7, extra={"top_p": 0.5})
    assert client.parameters == {
        "provider": "openai",
        "model": "m",
        "temperature": 0.0,
        "max_tokens": 1000,
        "seed": 7,
        "extra": {"top_p": 0.5},
    }


def test_what_is_ours_cannot_be_a_further_parameter(script):
    with pytest.raises(UsageError, match="response_format cannot be among the further parameters"):
        script.chat(extra={"response_format": {}})


def test_one_repair_turn_shows_the_problems(script):
    script.says('{"colour": "mauve"}', TEXT)
    answer = script.ask(images=[PNG])
    assert (answer.status, answer.content, answer.calls, answer.repaired) == ("ok", GOOD, 2, True)
    assert answer.cost == pytest.approx(2 * 20 / 1e6)
    question, said, again = script.bodies[1]["messages"]
    assert question == script.bodies[0]["messages"][0]
    assert said == {"role": "assistant", "content": '{"colour": "mauve"}'}
    assert 'colour: must be one of "red", "blue", "unclear"; found "mauve"' in again["content"]
    assert "text: missing" in again["content"]


@pytest.mark.parametrize(
    ("said", "content", "reason"),
    [
        ("I cannot say.", None, "not JSON"),
        ("", None, "empty"),
        (ENOUGH, {"colour": "red"}, "text: missing"),
        ('{"colour": "mauve", "text": "absent"}', {"colour": "mauve", "text": "absent"}, "must be one of"),
        ('{"colour": "red", "text": "absent", "x": 1}', {**GOOD, "x": 1}, "x: not asked for"),
        ('{"colour": "red", "colour": "blue", "text": "absent"}', GOOD, "given more than once"),
        ("[]", None, "must be a JSON object, found a list"),
    ],
)
def test_after_the_repair_turn_it_is_invalid_with_its_reason(script, said, content, reason):
    script.says(completion(said))
    answer = script.ask()
    assert (answer.status, answer.content, answer.calls, answer.repaired) == ("invalid", content, 2, False)
    assert reason in answer.reason
    assert answer.problems
    assert len(script.bodies) == 2


def test_a_cut_answer_is_repaired_or_invalid(script):
    script.says(completion(TEXT[:12], finish="length"), completion(TEXT))
    assert script.ask().repaired
    script.says(completion(TEXT[:12], finish="length"))
    answer = script.ask()
    assert answer.status == "invalid"
    assert Problem((), "cut at max_tokens") in answer.problems


@pytest.mark.parametrize(("by_part", "found"), [(True, ["text", "colour"]), (False, ["text"])])
def test_an_answer_whose_parts_count_is_checked_though_others_break_the_schema(script, by_part, found):
    def check(content):
        return [Problem(("colour",), f"{content['colour']} is not for here")]

    script.says(ENOUGH)
    answer = script.ask(check=check, by_part=by_part)
    assert [problem.path[0] for problem in answer.problems] == found
    again = script.bodies[1]["messages"][-1]["content"]
    assert ("red is not for here" in again) == by_part


def test_a_repair_turn_that_says_nothing_leaves_the_first_answer(script):
    script.says(ENOUGH, "Sorry.")
    answer = script.ask()
    assert (answer.status, answer.content, answer.calls) == ("invalid", {"colour": "red"}, 2)
    assert answer.problems == (Problem(("text",), "missing"),)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (
            completion(None, refusal="I'm sorry, I can't help with that."),
            "I'm sorry, I can't help with that.",
        ),
        (completion("", finish="content_filter"), "content filter"),
        (
            failure(400, "blocked by our safety system", code="moderation_blocked"),
            "blocked by our safety system",
        ),
    ],
)
def test_a_refusal_is_an_answer_and_not_repaired(script, reply, reason):
    script.says(reply)
    answer = script.ask()
    assert (answer.status, answer.reason, answer.content, answer.calls) == ("refused", reason, None, 1)
    assert len(script.bodies) == 1
    assert script.account.totals()[0].refused == 1


def test_a_refusal_in_the_repair_turn_is_a_refusal(script):
    script.says(ENOUGH, completion(None, refusal="No."))
    answer = script.ask()
    assert (answer.status, answer.reason, answer.calls) == ("refused", "No.", 2)


def test_an_endpoint_without_schemas_gets_words_and_is_remembered(script):
    def reply(request):
        kind = (request.body.get("response_format") or {}).get("type")
        if kind:
            return failure(400, f"response_format {kind} is not supported")
        return completion(TEXT)

    script.says(reply)
    client = script.chat()

    async def work():
        try:
            return [await client.ask("q", schema=SCHEMA, system="Look.") for _ in range(2)]
        finally:
            await client.close()

    assert [answer.status for answer in asyncio.run(work())] == ["ok", "ok"]
    kinds = [(body.get("response_format") or {}).get("type") for body in script.bodies]
    assert kinds == ["json_schema", "json_object", None, None]
    system = script.bodies[-1]["messages"][0]
    assert system["role"] == "system"
    assert system["content"].startswith("Look.\n\nAnswer with one JSON object")
    assert json.dumps(SCHEMA) in system["content"]


def of_llama_cpp(format):
    """As llama-cpp-python 0.3.36 says it, with status 500."""
    said = f"[{{'type': 'literal_error', 'loc': ('body', 'response_format', 'type'), 'input': '{format}'}}]"
    return failure(500, said, type="internal_server_error", param=None, code=None)


@pytest.mark.parametrize(
    "rejected",
    [
        of_llama_cpp("json_schema"),
        failure(501, "Structured outputs are not implemented"),
        failure(404, "No endpoints found that can handle the parameters: response_format"),
        failure(503, "json_schema decoding is unavailable"),
        failure(409, "JSON mode is off"),
        failure(500, "failed to parse grammar"),
        Response(200, {"error": {"message": "response_format json_schema is not supported"}}),
        Response(500, {"detail": "unexpected keyword argument 'response_format'"}),
        Response(422, {"detail": [{"loc": ["body", "response_format", "type"], "msg": "Input should be x"}]}),
    ],
)
def test_a_format_is_dropped_whatever_the_status_that_rejects_it(script, rejected):
    def reply(request):
        kind = (request.body.get("response_format") or {}).get("type")
        return rejected if kind == "json_schema" else completion(TEXT)

    script.says(reply)
    assert script.ask(script.chat(price=PRICE)).status == "ok"
    assert formats(script) == ["json_schema", "json_object"]


def formats(script):
    return [(body.get("response_format") or {}).get("type") for body in script.bodies]


@pytest.mark.parametrize("status", [401, 403, 429])
def test_who_is_turned_away_is_not_asked_in_another_format(script, status):
    script.says(failure(status, "no response_format for this key"))
    with pytest.raises(ModelError):
        script.ask()
    assert set(formats(script)) == {"json_schema"}


def test_many_at_once_learn_what_an_endpoint_takes_and_none_is_lost(script):
    script.says(
        lambda request: failure(400, "schema") if "response_format" in request.body else completion(TEXT)
    )
    client = script.chat(endpoint=script.endpoint(concurrency=64))

    async def work():
        try:
            return await asyncio.gather(*(client.ask("q", schema=SCHEMA) for _ in range(40)))
        finally:
            await client.close()

    assert {answer.status for answer in asyncio.run(work())} == {"ok"}


@pytest.mark.parametrize("mode", ["json_schema", "json_object", "text"])
def test_a_format_that_is_set_is_the_one_that_is_asked_for(script, mode):
    client = script.chat(response_format=mode)
    assert script.ask(client).status == "ok"
    assert formats(script) == [None if mode == "text" else mode]
    assert ("JSON schema" in json.dumps(script.bodies)) is (mode != "json_schema")
    assert client.parameters["response_format"] == mode


def test_a_format_that_is_set_and_rejected_ends_it_and_says_what_to_write(script):
    script.says(of_llama_cpp("json_schema"))
    client = script.chat(response_format="json_schema")
    for _ in range(2):
        with pytest.raises(
            ModelMisconfigured, match="does not take `response_format: json_schema`, which its entry"
        ):
            script.ask(client)
    assert len(script.bodies) == 1


def test_a_repair_turn_says_the_schema_and_who_ignores_it_gets_it_in_words_from_then_on(script):
    script.says("It is red.", TEXT, TEXT)
    client = script.chat()
    assert script.ask(client).repaired
    assert not script.ask(client, system="Look.").repaired
    first, repair, later = (body["messages"] for body in script.bodies)
    assert json.dumps(SCHEMA) not in json.dumps(first)
    assert json.dumps(SCHEMA) in repair[-1]["content"]
    assert later[0]["content"].startswith("Look.\n\nAnswer with one JSON object")
    assert json.dumps(SCHEMA) in later[0]["content"]
    assert formats(script) == ["json_schema"] * 3


@pytest.mark.parametrize(
    "reply",
    [
        completion(TEXT[:12], finish="length"),
        completion(""),
        completion(None, refusal="No."),
    ],
)
def test_an_answer_that_is_cut_empty_or_a_refusal_does_not_show_that_the_schema_is_ignored(script, reply):
    script.says(reply, TEXT, TEXT)
    client = script.chat()
    script.ask(client)
    script.ask(client)
    assert json.dumps(SCHEMA) not in json.dumps(script.bodies[-1]["messages"])


def test_words_without_a_system_message_become_one(script):
    script.says(failure(422, "json_schema: unknown"), TEXT)
    script.ask()
    assert [message["role"] for message in script.bodies[1]["messages"]] == ["system", "user"]


def test_a_model_that_counts_completion_tokens_gets_them(script):
    script.says(
        failure(
            400,
            "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
            param="max_tokens",
        ),
        TEXT,
    )
    assert script.ask(script.chat(max_tokens=70)).status == "ok"
    assert "max_tokens" not in script.bodies[1]
    assert script.bodies[1]["max_completion_tokens"] == 70


def test_a_model_without_log_probabilities_answers_without(script):
    script.says(failure(400, "logprobs are not supported"), TEXT)
    answer = script.ask(script.chat(logprobs=True))
    assert (answer.status, answer.confidences) == ("ok", {})
    assert "logprobs" not in script.bodies[1]


def test_a_rejection_that_nothing_changes_is_an_error(script):
    script.says(failure(400, "temperature does not support 0.0 with this model", param="temperature"))
    with pytest.raises(ModelError, match="temperature does not support"):
        script.ask()
    assert len(script.bodies) == 1


def test_a_rejected_schema_ends_where_there_is_no_other_way(script):
    script.says(failure(400, "schema"))
    with pytest.raises(ModelError, match="rejected the request"):
        script.ask()
    assert len(script.bodies) == 3


def test_confidences_come_from_log_probabilities(script):
    pieces = [('{"colour": "', -1), ("red", -0.105), ('", "text": "', -1), ("absent", -0.7), ('"}', -1)]
    logprobs = {"content": [{"token": token, "logprob": p} for token, p in pieces]}
    script.says(completion(TEXT, logprobs=logprobs))
    answer = script.ask(script.chat(logprobs=True))
    assert answer.confidences == pytest.approx({"colour": 0.9, "text": 0.4966}, abs=1e-3)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [1]},
        {"choices": [{}]},
        {"choices": [{"message": None, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": None, "refusal": True}, "finish_reason": "stop"}]},
        {"choices": [{"message": {"content": ""}, "finish_reason": "error"}]},
        {"choices": [{"message": {"content": [{"text": {}}]}}]},
        [1],
        None,
    ],
)
def test_json_that_is_no_completion_is_asked_for_again(script, body):
    script.says(Response(200, body), TEXT)
    assert script.ask().status == "ok"
    assert script.outcomes == ["invalid", "ok"]


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ({"error": "x"}, "server_error"),
        ({"choices": [], "error": {"message": "overloaded", "code": 503}}, "server_error"),
        (
            {"choices": [{"message": {"content": ""}, "error": {"code": 429, "message": "slow"}}]},
            "rate_limited",
        ),
    ],
)
def test_an_error_with_the_status_of_a_success_is_that_error(script, body, outcome):
    script.says(Response(200, body), TEXT)
    assert script.ask().status == "ok"
    assert script.outcomes == [outcome, "ok"]


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "no", "code": "content_policy_violation"}},
        {"choices": [{"finish_reason": "content_filter"}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "content_filter: PROHIBITED_CONTENT"}]},
        {"choices": [{"message": {"content": None}, "finish_reason": "SAFETY"}]},
    ],
)
def test_what_has_the_form_of_a_refusal_is_one(script, body):
    script.says(Response(200, body))
    assert script.ask().status == "refused"
    assert script.outcomes == ["refused"]


def test_a_page_with_status_200_is_no_answer(script):
    script.server.misbehave("html", times=None)
    with pytest.raises(ModelError, match="answered no JSON: <!doctype") as caught:
        script.ask()
    assert "tries" in str(caught.value)


def test_content_in_parts_is_joined(script):
    parts = [{"type": "text", "text": TEXT[:5]}, {"type": "text", "text": TEXT[5:]}]
    script.says(completion(parts))
    assert script.ask().content == GOOD


@pytest.mark.parametrize("count", ["many", -1, True, 10**400])
def test_usage_that_makes_no_sense_is_unknown(script, count):
    reply = completion(TEXT)
    reply.body["usage"] = {"prompt_tokens": count, "completion_tokens": count}
    script.says(reply)
    answer = script.ask()
    assert (answer.status, answer.cost) == ("ok", None)
    assert script.account.totals()[0].unpriced == 1


def test_without_a_price_the_cost_is_unknown(script):
    assert script.ask(script.chat(price=None)).cost is None


def test_a_client_works_in_one_loop_after_another(script):
    client = script.chat()
    assert [script.ask(client).status for _ in range(3)] == ["ok"] * 3


def test_a_loopback_judge_is_asked_as_any_endpoint(local):
    from stereotrope.testing import Loopback

    with Loopback(judge=lambda question: GOOD) as server:
        client = ChatClient(local(server), "judge", account=Account(), price=Price.from_option(0))

        async def work():
            try:
                return await client.ask("What is seen?", schema=SCHEMA)
            finally:
                await client.close()

        answer = asyncio.run(work())
        assert (answer.status, answer.content, answer.cost) == ("ok", GOOD, 0.0)
        assert server.counts() == {("chat", "judge", 200): 1}


def test_what_is_said_in_prose_is_kept_with_its_reason(script):
    """Such as why a model declines, which no field of the protocol tells."""
    script.says("I'm sorry, but I can't\nidentify people.", "I'm sorry, but I can't\nidentify people.")
    answer = script.ask()
    assert answer.status == "invalid"
    assert answer.reason == "not JSON (Expecting value); said: I'm sorry, but I can't identify people."


def test_an_answer_that_is_no_text_or_endless_can_be_repaired(script):
    script.says("half a pair: \ud800 " + "x" * 1_000_000, TEXT)
    answer = script.ask()
    assert (answer.status, answer.calls, answer.repaired) == ("ok", 2, True)
    repeated = script.bodies[1]["messages"][1]["content"]
    assert repeated.startswith("half a pair: ? xxx")
    assert len(repeated) == 20_000
