"""Cases 5 to 10 of the reliability specification: a real server that misbehaves, asked by the clients."""

import asyncio
import email.utils
import time
from concurrent.futures import Future

import pytest
from tests.clients.asking import COLOURS, FREE, ask, asked, client_of, endpoint_of, schema_of

from stereotrope.clients import Account, Caller, HttpClient, Price, Refusal, Usage, expectation
from stereotrope.clients.limiter import limiter_of
from stereotrope.errors import BudgetError, ModelError, ModelUnusable, UsageError
from stereotrope.run import Ledger
from stereotrope.testing import Loopback

SENTINEL = "sk-sentinel-0123456789"


@pytest.fixture
def server():
    with Loopback(judge=lambda question: {"colour": "red", "lid": "on"}) as running:
        yield running


def sent(server, status=None):
    return sum(n for (_, _, found), n in server.counts().items() if status in (None, found))


# 5. Budget


def test_a_cap_stops_new_calls_and_is_passed_by_no_more_than_what_is_in_flight(server):
    server.latency = 0.05
    account = Account(max_cost=1.0)
    client = client_of(server, account=account, price=Price(call=0.1), concurrency=4)
    found = asked(client, times=40)
    over = [each for each in found if isinstance(each, BudgetError)]
    assert len(found) - len(over) == sent(server) == round(account.spent / 0.1)
    assert 0.9 <= account.spent <= 1.0 + 4 * 0.1
    assert over
    assert over[0].exit_code == 4
    assert "the cap of 1.00 US dollars is reached" in str(over[0])


def test_an_unknown_price_is_unknown_and_takes_no_cap(server):
    with pytest.raises(UsageError, match="a cap needs the price of every model"):
        client_of(server, account=Account(max_cost=1.0), price=None)
    account = Account()
    ask(client_of(server, account=account, price=None))
    (total,) = account.totals()
    assert (total.ok, total.cost, total.unpriced) == (1, None, 1)
    assert expectation(endpoint_of(server), None, calls=8000).cost is None


def test_totals_survive_a_restart_and_equal_the_count_of_the_server(server, tmp_path):
    price = Price(call=0.25)
    for _ in range(2):
        account = Account(max_cost=1.0)
        with Ledger(tmp_path / "ledger.db") as ledger:
            account.attach(ledger)
            server.misbehave("server_error")
            ask(client_of(server, account=account, price=price))
    (total,) = account.totals()
    assert (total.begun, total.ok, total.failed, total.unanswered) == (4, 2, 2, 0)
    assert total.begun == sent(server)
    assert total.ok == sent(server, 200)
    assert account.spent == 0.5


def test_what_was_spent_before_a_restart_counts_towards_the_cap(server, tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = Account()
        account.attach(ledger)
        asked(client_of(server, account=account, price=Price(call=0.25)), times=4)
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = Account(max_cost=1.0)
        account.attach(ledger)
        before = sent(server)
        with pytest.raises(BudgetError, match=r"is reached: 1\.00 spent"):
            ask(client_of(server, account=account, price=Price(call=0.25)))
    assert sent(server) == before


# 6. Rate limits

FUTURE = pytest.param(email.utils.formatdate(time.time() + 3600, usegmt=True), id="in an hour")
PAST = "Wed, 21 Oct 2015 07:28:00 GMT"


@pytest.mark.parametrize("header", ["3600", "-5", "1e308", "nan", "inf", "soon", "", FUTURE, PAST, None])
def test_no_retry_after_makes_it_wait_longer_than_the_bound(server, header):
    server.misbehave("rate_limit", times=2, **({} if header is None else {"retry_after": header}))
    began = time.monotonic()
    assert ask(client_of(server, longest_wait=0.05)).status == "ok"
    assert time.monotonic() - began < 600  # 3600 are asked for
    assert server.counts() == {("chat", "judge", 429): 2, ("chat", "judge", 200): 1}


def test_a_retry_after_within_the_bound_is_kept(server):
    server.misbehave("rate_limit", retry_after="0.4")
    assert ask(client_of(server, longest_wait=5.0)).status == "ok"
    first, second = (each.at for each in server.received)
    assert second - first >= 0.4


def test_a_storm_halves_what_is_in_flight_and_answers_bring_it_back(server):
    client = client_of(server, concurrency=16, tries=8)
    limiter = limiter_of(client.endpoint, client._caller)
    assert limiter.concurrency("judge") == 16
    server.latency = 0.02
    server.misbehave("rate_limit", times=16)
    assert all(each.status == "ok" for each in asked(client, times=16))
    fallen = limiter.concurrency("judge")
    assert fallen <= 10
    for _ in range(3):
        asked(client, times=100)
    assert limiter.concurrency("judge") == 16


def test_other_models_go_on_while_one_is_limited(server):
    server.misbehave("rate_limit", model="limited", times=None, retry_after="600")
    limited = client_of(server, model="limited", longest_wait=600.0, tries=2)
    free = client_of(server, model="free")

    async def both():
        waiting = asyncio.create_task(limited.ask("?", schema=schema_of(colour=COLOURS)))
        while not sent(server):
            await asyncio.sleep(0.01)
        await asyncio.gather(*(free.ask("?", schema={"type": "object"}) for _ in range(20)))
        assert not waiting.done()
        waiting.cancel()
        await asyncio.gather(limited.close(), free.close())

    asyncio.run(both())
    server.behave()
    server.misbehave("rate_limit", model="busy", times=None, retry_after="0.01")
    with pytest.raises(ModelError, match="no answer after 2 tries; the last one: too many requests"):
        ask(client_of(server, model="busy", tries=2))


def test_a_server_that_asks_for_a_longer_wait_than_there_may_be_is_told(server):
    server.misbehave("rate_limit", times=None, retry_after="3600")
    said = (
        "after 2 tries; .*; the server asks for 3,600 s without requests, and longest_wait is 0.02: run the"
    )
    with pytest.raises(ModelError, match=said):
        ask(client_of(server, tries=2))


def test_there_is_one_limiter_a_key_and_address(server, monkeypatch):
    monkeypatch.setenv("KEY_A", SENTINEL)
    monkeypatch.setenv("KEY_B", "another")
    owners = [client_of(server) for _ in range(4)]
    a, again, b, none = (
        limiter_of(endpoint_of(server, key=key), owner)
        for key, owner in zip(("KEY_A", "KEY_A", "KEY_B", None), owners, strict=True)
    )
    assert a is again
    assert len({id(each) for each in (a, b, none)}) == 3


# 7. Terminal errors


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("quota", "the quota is used up"),
        ("unauthorized", "the key is not accepted .*the key sent to .* was that of SENTINEL_KEY"),
        ("forbidden", "the key is not accepted"),
        ("unknown_model", "there is no such model or address"),
    ],
)
def test_what_cannot_succeed_is_said_once_and_not_tried_again(server, monkeypatch, kind, message):
    monkeypatch.setenv("SENTINEL_KEY", SENTINEL)
    server.misbehave(kind, times=None)
    client = client_of(server, key="SENTINEL_KEY")
    with pytest.raises(ModelUnusable, match=message) as raised:
        ask(client)
    assert SENTINEL not in str(raised.value)
    assert sent(server) == 1
    later = asked(client, times=30)
    assert {str(each) for each in later} == {str(raised.value)}
    assert sent(server) == 1


def test_requests_in_flight_when_a_key_is_refused_are_not_tried_again(server):
    server.latency = 0.05
    server.misbehave("quota", times=None)
    found = asked(client_of(server, concurrency=8), times=50)
    assert all(isinstance(each, ModelUnusable) for each in found)
    assert sent(server) <= 8


def test_a_key_that_is_not_set_is_named_and_nothing_is_sent(server, monkeypatch):
    monkeypatch.delenv("SENTINEL_KEY", raising=False)
    with pytest.raises(ModelUnusable, match="environment variable SENTINEL_KEY must hold the key"):
        ask(client_of(server, key="SENTINEL_KEY"))
    assert sent(server) == 0


# 8. Servers that break


BROKEN = {
    "server_error": ({}, "server_error", "server error .500: The server had an error"),
    "overloaded": ({"status": 529}, "server_error", "server error .529"),
    "reset": ({}, "connection", "connection"),
    "truncate": ({}, "connection", ""),
    "html": ({}, "invalid", "answered no JSON"),
    "empty_choices": ({}, "invalid", "no choice with a message"),
    "silent": ({}, "timeout", "did not answer in time"),
    "drip": ({"every": 0.02}, "timeout", "did not answer in time"),
}


def kind_of(name):
    return "server_error" if name == "overloaded" else name


def deadline_of(name, seconds):
    """A short one where nothing else ends it: the others must not meet it on a busy computer."""
    return seconds if BROKEN[name][1] == "timeout" else 60.0


@pytest.mark.parametrize("name", BROKEN)
def test_what_breaks_once_is_tried_again(server, name):
    options = BROKEN[name][0]
    server.misbehave(kind_of(name), **options)
    answer = ask(client_of(server, timeout=deadline_of(name, 3.0)))
    assert answer.content == {"colour": "red", "lid": "on"}
    assert (answer.calls, sent(server)) == (1, 2)


@pytest.mark.parametrize("name", BROKEN)
def test_what_always_breaks_is_classified_and_ends_within_its_deadlines(server, name):
    options, outcome, message = BROKEN[name]
    server.misbehave(kind_of(name), times=None, **options)
    account, ledger = Account(), {}
    account.attach(_Pages(ledger))
    client = client_of(server, account=account, timeout=deadline_of(name, 0.2), tries=3)
    with pytest.raises(ModelError, match=f"no answer after 3 tries; the last one: .*({message})") as raised:
        ask(client)
    assert not isinstance(raised.value, ModelUnusable)
    assert len(ledger["calls:begun"]) == 3
    assert {entry["outcome"] for entry in ledger["calls:answered"].values()} == {outcome}


def test_a_model_that_fails_twenty_times_in_a_row_is_given_up(server):
    server.misbehave("server_error", times=None, status=503)
    client = client_of(server, tries=2, concurrency=1, longest_wait=0.001)
    found = asked(client, times=30)
    assert sum(type(each) is ModelError for each in found) == 19
    assert "gave up after 20 requests in a row that failed at every try" in str(found[-1])
    before = sent(server)
    assert before <= 60
    assert isinstance(asked(client)[0], ModelUnusable)
    assert sent(server) == before


def test_the_same_500_is_asked_about_twenty_times_and_then_by_one_request_only(server):
    server.misbehave("server_error", times=None)
    found = asked(client_of(server, tries=6, concurrency=8, longest_wait=0.001), times=30)
    assert {type(each) for each in found} == {ModelUnusable}
    assert "requests in a row that were answered alike, and none otherwise: server error (500" in str(
        found[0]
    )
    assert 20 <= sent(server) <= 20 + 8 + 6


def test_one_answer_ends_the_doubt_and_all_go_on(server):
    server.misbehave("server_error", times=22)
    found = asked(client_of(server, tries=6, concurrency=8, longest_wait=0.001), times=30)
    assert {each.status for each in found} == {"ok"}
    assert sent(server) == 22 + 30


# 9. Moderation


@pytest.mark.parametrize("kind", ["refusal", "content_filter", "moderation"])
def test_a_refusal_in_chat_is_an_answer(server, kind):
    server.misbehave(kind, times=None)
    account = Account()
    answer = ask(client_of(server, account=account))
    assert answer.status == "refused"
    assert answer.content is None
    assert answer.reason
    assert sent(server) == 1
    (total,) = account.totals()
    assert (total.refused, total.ok, total.failed) == (1, 0, 0)


@pytest.mark.parametrize("code", ["moderation_blocked", "content_policy_violation", "content_filter"])
def test_moderation_of_a_picture_is_a_refusal_with_its_reason(server, code):
    server.misbehave("moderation", code=code, times=None)
    account = Account()
    endpoint = endpoint_of(server)
    http = HttpClient(endpoint)
    caller = Caller(endpoint, "painter", kind="image", account=account, price=FREE)

    async def draw():
        body = {"model": "painter", "prompt": "cup"}
        try:
            return await caller.exchange(
                lambda: http.post("images/generations", body), usage=lambda _: Usage(images=1)
            )
        finally:
            await http.close()

    found = asyncio.run(draw())
    assert isinstance(found, Refusal)
    assert "safety system" in found.reason
    assert sent(server) == 1
    assert account.totals()[0].refused == 1


# 10. Answers of models

WRONG = {
    "not_json": "not JSON",
    "cut": "cut at max_tokens",
    "extra_keys": "thoughts: not asked for",
    "outside_list": 'colour: must be one of "blue", "red", "unclear"; found "something else entirely"',
    "missing_item": "colour: missing",
    "duplicate_keys": "colour: given more than once",
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_answer_gets_one_repair_turn_that_shows_what_is_wrong(server, kind):
    server.misbehave(kind)
    answer = ask(client_of(server), schema=schema_of(colour=COLOURS, lid=("on", "off")))
    assert (answer.status, answer.repaired, answer.calls) == ("ok", True, 2)
    assert answer.content == {"colour": "red", "lid": "on"}
    shown = server.received[1].body["messages"][-1]["content"]
    assert WRONG[kind] in shown


@pytest.mark.parametrize("kind", WRONG)
def test_an_answer_that_stays_wrong_is_invalid_with_its_reason_and_nothing_made_up(server, kind):
    server.misbehave(kind, times=None)
    answer = ask(client_of(server), schema=schema_of(colour=COLOURS, lid=("on", "off")))
    assert (answer.status, answer.calls, sent(server)) == ("invalid", 2, 2)
    assert WRONG[kind].replace('"', "") in answer.reason.replace('"', "")
    assert answer.problems
    if kind in {"not_json", "cut"}:
        assert answer.content is None
    elif kind == "missing_item":
        assert answer.content == {"lid": "on"}
    else:
        assert answer.content["lid"] == "on"
        assert any(problem.path[:1] in {("colour",), ("thoughts",)} for problem in answer.problems)


def test_fenced_json_is_unwrapped_without_a_repair(server):
    server.misbehave("fenced")
    answer = ask(client_of(server))
    assert (answer.status, answer.calls, answer.content["colour"]) == ("ok", 1, "red")


def test_thirty_of_thirty_one_items_are_kept_and_the_missing_one_is_named():
    names = [f"item_{i:02}" for i in range(31)]
    with Loopback(judge=lambda question: dict.fromkeys(names, "red")) as server:
        server.misbehave("missing_item", times=None, property="item_17")
        answer = ask(client_of(server), schema=schema_of(**dict.fromkeys(names, COLOURS)))
    assert answer.status == "invalid"
    assert len(answer.content) == 30
    assert [problem.path for problem in answer.problems] == [("item_17",)]


def test_an_answer_without_usage_is_counted_and_its_cost_unknown(server):
    server.misbehave("no_usage", times=None)
    account = Account()
    answer = ask(client_of(server, account=account, price=Price(input=1.0, output=2.0)))
    assert answer.cost is None
    (total,) = account.totals()
    assert (total.ok, total.cost, total.unpriced) == (1, None, 1)


def test_an_endpoint_that_takes_no_schema_is_asked_in_words_and_remembered(server):
    server.misbehave("unsupported_schema", times=None, json_object=True)
    client = client_of(server)
    assert [each.status for each in asked(client)] == ["ok"]
    assert server.counts() == {("chat", "judge", 400): 2, ("chat", "judge", 200): 1}
    assert '"properties"' in str(server.received[-1].body["messages"][0]["content"])
    assert [each.status for each in asked(client, times=3)] == ["ok"] * 3
    assert sent(server, 400) == 2


def test_confidences_are_those_of_the_values(server):
    with Loopback(error=0.0) as judging:
        answer = ask(
            client_of(judging, client={"logprobs": True}), schema=schema_of(colour=("red", "unclear"))
        )
    assert answer.content == {"colour": "unclear"}
    assert answer.confidences == {"colour": pytest.approx(0.95)}


class _Pages:
    """A book in memory."""

    def __init__(self, pages):
        self.pages = pages

    def put_soon(self, stage, payloads):
        page = self.pages.setdefault(stage, {})
        page.update({key: payload for key, payload in payloads.items() if key not in page})
        kept = Future()
        kept.set_result(None)
        return kept

    def get_all(self, stage):
        return dict(self.pages.get(stage, {}))
