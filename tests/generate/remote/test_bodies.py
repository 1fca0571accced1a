"""What every adapter makes of answers with status 200 that bring no picture."""

from __future__ import annotations

import pytest
from tests.generate.remote.asking import made, one, request, several
from tests.generate.remote.bodies import DECLINES, FAILURES, cases, entry, path, picture

from stereotrope.clients import Account
from stereotrope.errors import ModelError
from stereotrope.generate import ImageResult


@pytest.mark.parametrize(("adapter", "name"), cases(FAILURES))
def test_what_is_no_answer_is_a_failed_call_that_is_made_again(server, adapter, name):
    account = Account()
    spec = entry(adapter, server, tries=2, seed=False)
    server.misbehave("answer", times=None, body=FAILURES[adapter][name], path=path(adapter))
    with pytest.raises(ModelError) as raised:
        one(made(spec, account))
    assert str(raised.value).startswith(("openai:", "google:", "replicate:", "x: "))
    assert sum(total.refused for total in account.totals()) == 0
    server.behave()
    assert one(made(spec)).status == "ok"


@pytest.mark.parametrize(("adapter", "name"), cases(DECLINES))
def test_what_has_a_refusals_form_is_a_refusal_with_its_reason(server, adapter, name):
    account = Account()
    spec = entry(adapter, server, tries=2, seed=False)
    server.misbehave("answer", times=None, body=DECLINES[adapter][name], path=path(adapter))
    result = one(made(spec, account))
    assert (result.status, result.data) == ("refused", None)
    assert result.reason
    assert sum(total.refused for total in account.totals()) == 1


def test_an_error_is_tried_as_often_as_the_same_error_with_its_own_status(server):
    spec = entry("openai", server, tries=3, seed=False)
    server.misbehave("answer", times=2, body={"error": {"message": "overloaded"}})
    assert one(made(spec)).status == "ok"
    assert len(server.received) == 3


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"error": {"message": "No", "code": "insufficient_quota"}}, "the quota is used up"),
        ({"error": {"message": "No", "code": "invalid_api_key"}}, "the key is not accepted"),
        ({"error": {"message": "No", "code": "model_not_found"}}, "no such model"),
        ({"error": {"message": "No", "code": 400}}, "rejected the request"),
    ],
)
def test_an_error_that_no_try_gets_past_is_not_tried_again(server, body, message):
    server.misbehave("answer", times=None, body=body)
    with pytest.raises(ModelError, match=rf"{message}.* \(status 200: No\)"):
        one(made(entry("openai", server, seed=False)))
    assert len(server.received) == 1


@pytest.mark.parametrize("empty", [None, {}, {"b64_json": None}, {"b64_json": ""}, {"url": None}])
def test_an_empty_place_beside_pictures_is_a_refusal(server, empty):
    full = {"b64_json": picture()}
    server.misbehave("answer", body={"created": 1, "data": [full, empty, full]})
    results = several(
        made(entry("openai", server, seed=False, batch=3)), [request(number=i) for i in range(3)]
    )
    assert [result.status for result in results] == ["ok", "refused", "ok"]
    assert len(server.received) == 1


@pytest.mark.parametrize("odd", ["é", 7, {"x": 1}, True])
def test_a_broken_place_beside_pictures_is_asked_for_once_more(server, odd):
    full = {"b64_json": picture()}
    server.misbehave("answer", body={"created": 1, "data": [full, {"b64_json": odd}]})
    results = several(
        made(entry("openai", server, seed=False, batch=2)), [request(number=i) for i in range(2)]
    )
    assert [result.status for result in results if isinstance(result, ImageResult)] == ["ok", "ok"]
    assert len(server.received) == 2
