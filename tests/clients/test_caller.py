from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.clients.clock import failed, fast
from tests.clients.conftest import completion, failure

from stereotrope.clients import Account, Caller, Endpoint, HttpClient, Price, Refusal, Usage
from stereotrope.errors import BudgetError, Interrupted, ModelError, ModelUnusable, UsageError
from stereotrope.run import Ledger
from stereotrope.testing import Response

GOOD = completion("yes")


def test_a_failure_that_may_pass_is_tried_again(script):
    script.says(failure(500), failure(429, headers={"retry-after": "0"}), GOOD)
    (found,) = script.exchange(script.caller())
    assert found["choices"]
    assert script.outcomes == ["server_error", "rate_limited", "ok"]


@pytest.mark.parametrize("status", [429, 500, 503, 408])
def test_after_every_try_the_item_fails(script, status):
    script.says(failure(status, "busy"))
    (found,) = script.exchange(script.caller())
    assert isinstance(found, ModelError)
    assert not isinstance(found, ModelUnusable)
    assert "openai:m: no answer after 3 tries; the last one: " in str(found)
    assert len(script.bodies) == 3


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (failure(401, "bad key"), "the key is not accepted"),
        (failure(403, "no access"), "the key is not accepted"),
        (failure(404, "what model?"), "no such model or address"),
        (failure(429, "pay", code="insufficient_quota"), "the quota is used up"),
    ],
)
def test_an_end_is_met_once_and_nothing_is_sent_after(script, reply, words):
    script.says(reply)
    first, second, third = script.exchange(script.caller(), times=3)
    assert isinstance(first, ModelUnusable)
    assert words in str(first)
    assert str(first) == str(second) == str(third)
    assert len(script.bodies) == 1


def test_who_sent_no_key_is_told_how_to_name_one(script):
    script.says(failure(401, "key?"))
    (found,) = script.exchange(script.caller())
    assert "no key was sent to http://127.0.0.1" in str(found)


def test_a_rejected_request_is_not_repeated_and_the_next_is_sent(script):
    script.says(failure(400, "Invalid size"), GOOD)
    first, second = script.exchange(script.caller(), times=2)
    assert isinstance(first, ModelError)
    assert "openai:m: rejected the request (400: Invalid size)" in str(first)
    assert second["choices"]


def test_a_moderated_request_is_a_refusal_and_no_error(script):
    script.says(failure(400, "blocked by our safety system", code="moderation_blocked"))
    (found,) = script.exchange(script.caller())
    assert found == Refusal("blocked by our safety system")
    assert script.account.totals()[0].refused == 1


def test_after_twenty_items_without_one_success_it_gives_up(script):
    script.says(failure(500, "down"))
    found = script.exchange(script.caller(tries=1), times=25)
    assert [type(each) for each in found] == [ModelError] * 19 + [ModelUnusable] * 6
    assert "gave up after 20 requests in a row" in str(found[-1])
    assert len(script.bodies) == 20


@pytest.mark.parametrize(
    "reply",
    [
        failure(400, "Invalid prompt"),
        failure(422, "no"),
        failure(413, "too large"),
        failure(405),
        lambda request: failure(400, f"rejected, request id req_{id(request):016x}"),
        failure(500, "no kernel image"),
        Response(501, b"", {}, "text/plain"),
        Response(200, b"<html>no", {}, "text/html"),
    ],
)
def test_the_same_rejection_twenty_times_is_the_last_word(script, reply):
    script.says(reply)
    caller = script.caller(tries=2)
    found = script.exchange(caller, times=40)
    assert isinstance(found[-1], ModelUnusable)
    assert "gave up after 2" in str(found[-1])
    assert "requests in a row that were answered alike, and none otherwise: " in str(found[-1])
    assert f"; at {caller.endpoint.base_url}" in str(found[-1])
    assert 20 <= len(script.bodies) <= 22


def test_rejections_in_other_words_or_with_an_answer_between_go_on(script):
    numbers = iter(range(100))
    script.says(lambda _: failure(400, f"prompt {next(numbers)} is too long"))
    assert not any(isinstance(each, ModelUnusable) for each in script.exchange(script.caller(), times=30))
    script.says(*([failure(400, "Invalid size")] * 19 + [GOOD]) * 2)
    assert not any(isinstance(each, ModelUnusable) for each in script.exchange(script.caller(), times=40))


def test_a_refusal_between_is_an_answer(script):
    refusal = failure(400, "blocked by our safety system", code="moderation_blocked")
    script.says(*([failure(400, "Invalid size")] * 19 + [refusal]) * 2)
    found = script.exchange(script.caller(), times=40)
    assert sum(isinstance(each, Refusal) for each in found) == 2
    assert not any(isinstance(each, ModelUnusable) for each in found)


def test_a_bare_500_names_the_address_the_model_and_that_no_key_was_sent(script, monkeypatch):
    monkeypatch.setenv("SOME_KEY", "sk-some")
    script.says(Response(500, b"Internal Server Error", {}, "text/plain"))
    caller = script.caller(tries=1)
    (found,) = script.exchange(caller)
    assert (
        f"; at {caller.endpoint.base_url}; some servers say so of a model they do not have: is 'm' its name "
        f"there?; no key was sent to {caller.endpoint.base_url}"
    ) in str(found)
    (found,) = script.exchange(script.caller(tries=1, key="SOME_KEY"))
    assert "is 'm' its name there?" in str(found)
    assert "no key was sent" not in str(found)
    script.says(failure(500, "CUDA error"))
    (found,) = script.exchange(script.caller(tries=1))
    assert "no key was sent" in str(found)
    assert "its name there" not in str(found)


@pytest.mark.parametrize("price", [Price(call=0.0), Price(input=0.0, output=0.0), Price(image=0.0)])
def test_where_nothing_is_charged_a_failed_call_costs_nothing(script, price):
    script.server.misbehave("reset")
    script.says(Response(200, b"<html>", {}, "text/html"), failure(500), GOOD)
    script.exchange(script.caller(price=price, tries=4))
    script.says(failure(400, "blocked by our safety system", code="moderation_blocked"))
    script.exchange(script.caller(price=price))
    (total,) = script.account.totals()
    assert (total.failed, total.ok, total.refused) == (3, 1, 1)
    assert (total.cost, total.unpriced) == (0.0, 0)


def test_where_calls_are_charged_one_that_broke_off_has_no_known_cost(script):
    script.says(Response(200, b"<html>", {}, "text/html"), GOOD)
    script.exchange(script.caller(price=Price(call=0.1)))
    assert script.account.totals()[0].unpriced == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/event-stream", b'data: {"choices": []}\n\n'),
        ("text/event-stream; charset=utf-8", b""),
        ("application/x-ndjson", b'{"message": {}}\n{"done": true}\n'),
        ("application/json", b'data: {"choices": []}\n\ndata: [DONE]\n\n'),
        ("text/plain", b"event: message\ndata: {}\n\n"),
    ],
)
def test_a_stream_of_events_is_said_and_not_asked_for_again(script, kind, body):
    script.says(Response(200, body, {}, kind))
    first, second = script.exchange(script.caller(), times=2)
    assert isinstance(first, ModelUnusable)
    assert f"answers with a stream of events ({kind.partition(';')[0]})" in str(first)
    assert "turn streaming off at the server or gateway; at http://127.0.0.1" in str(first)
    assert str(second) == str(first)
    assert len(script.bodies) == 1
    with pytest.raises(ModelUnusable, match="answers with a stream of events"):
        script.ask()


def test_an_error_told_as_an_event_is_an_error(script):
    script.says(Response(503, b"data: busy\n\n", {}, "text/event-stream"), GOOD)
    (found,) = script.exchange(script.caller())
    assert found["choices"]


def test_one_success_starts_the_count_again(script):
    script.says(*[failure(500)] * 15, GOOD, *[failure(500)] * 15, GOOD)
    found = script.exchange(script.caller(tries=1), times=32)
    assert not any(isinstance(each, ModelUnusable) for each in found)


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"retry-after": "7"}, 7.0, 7.7),
        ({"retry-after": "86400"}, 20.0, 20.0),
        ({"retry-after": "-3"}, 0.3, 2.6),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.3, 2.6),
        ({"retry-after": "Wed, 21 Oct 2099 07:28:00 GMT"}, 20.0, 20.0),
        ({"retry-after": "rubbish"}, 0.3, 2.6),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_waits_are_what_the_server_asks_and_bounded(status, headers, low, high):
    replies = [failed(status, headers)]
    endpoint = Endpoint("vllm", "http://localhost/waits/v1", None, longest_wait=20.0)
    caller = Caller(endpoint, f"m {status} {headers}", kind="chat", account=Account(), price=None)

    async def send():
        if replies:
            raise replies.pop()
        return "answer"

    async def work():
        began = asyncio.get_running_loop().time()
        assert await caller.exchange(send, usage=lambda _: Usage()) == "answer"
        return asyncio.get_running_loop().time() - began

    assert low <= fast(work()) <= high


def test_waits_double_and_are_jittered():
    caller = Caller(
        Endpoint("vllm", "http://localhost/v1", None), "m", kind="chat", account=Account(), price=None
    )
    failed = type("F", (), {"outcome": "server_error", "wait": None})
    waits = [[caller._wait(failed, attempt) for _ in range(50)] for attempt in (1, 2, 3, 20)]
    assert 0.37 < min(waits[0]) < max(waits[0]) < 0.63
    assert 0.75 < min(waits[1]) < max(waits[1]) < 1.26
    assert len(set(waits[2])) > 40
    assert set(waits[3]) == {60.0}


@pytest.mark.parametrize("kind", ["silent", "drip"])
def test_a_server_that_never_ends_is_cut_off(script, kind):
    script.server.misbehave(kind, times=None)
    (found,) = script.exchange(script.caller(timeout=0.2, tries=2))
    assert isinstance(found, ModelError)
    assert "did not answer in time" in str(found)
    assert script.outcomes == ["timeout", "timeout"]


@pytest.mark.parametrize(
    ("kind", "outcome"), [("reset", "connection"), ("truncate", "connection"), ("html", "invalid")]
)
def test_what_is_no_answer_is_never_data(script, kind, outcome):
    script.server.misbehave(kind)
    (found,) = script.exchange(script.caller())
    assert found["choices"]
    assert script.outcomes == [outcome, "ok"]


def test_a_server_that_is_not_there(script):
    caller = script.caller(base_url="http://127.0.0.1:9/v1", tries=2)
    (found,) = script.exchange(caller)
    assert "cannot be reached" in str(found)
    assert script.outcomes == ["connection", "connection"]


def test_a_missing_key_ends_it_before_anything_is_begun(script, monkeypatch):
    monkeypatch.delenv("NOT_SET_KEY", raising=False)
    (found,) = script.exchange(script.caller(key="NOT_SET_KEY"))
    assert isinstance(found, ModelUnusable)
    assert "NOT_SET_KEY" in str(found)
    assert script.account.totals() == []


def test_an_endless_body_is_capped(script):
    script.says(Response(200, b"[" + b"1," * 200_000 + b"1]"), GOOD)
    caller = script.caller()
    http = HttpClient(caller.endpoint, most_bytes=100_000)

    async def work():
        try:
            return await script.once(caller, http)
        finally:
            await http.close()

    assert asyncio.run(work())["choices"]
    assert script.outcomes == ["invalid", "ok"]


def test_calls_are_priced_by_their_usage(script):
    script.says(failure(500), completion("yes", usage=(1_000_000, 100_000)))
    caller = script.caller(price=Price(input=2.5, output=10))
    script.exchange(caller)
    (total,) = script.account.totals()
    assert (total.cost, total.unpriced, total.failed, total.ok) == (3.5, 0, 1, 1)
    assert (total.input_tokens, total.output_tokens) == (1_000_000, 100_000)


def test_an_unknown_price_or_usage_is_unknown(script):
    script.exchange(script.caller())
    assert (script.account.totals()[0].cost, script.account.totals()[0].unpriced) == (None, 1)
    script.says(completion("yes", usage=None))
    account = Account()
    script.exchange(script.caller(price=Price(input=1), account=account))
    assert (account.totals()[0].cost, account.totals()[0].unpriced) == (None, 1)


def test_what_may_have_been_billed_is_of_unknown_cost(script):
    script.server.misbehave("silent")
    script.exchange(script.caller(price=Price(call=1.0), timeout=0.2))
    (total,) = script.account.totals()
    assert (total.cost, total.unpriced) == (1.0, 1)


def test_a_cap_without_a_price_is_refused_before_anything_is_asked(script):
    with pytest.raises(UsageError, match="openai:m: a cap needs the price of every model"):
        script.caller(account=Account(max_cost=1))
    assert script.caller(account=Account(max_cost=1), price=Price.from_option(0))


@pytest.mark.parametrize("lanes", [1, 8])
def test_the_cap_is_passed_by_what_is_in_flight_at_most(script, lanes):
    account = Account(max_cost=20)
    caller = script.caller(account=account, price=Price(call=1.0), concurrency=lanes)
    http = HttpClient(caller.endpoint)

    async def work():
        try:
            return await asyncio.gather(
                *(script.once(caller, http) for _ in range(60)), return_exceptions=True
            )
        finally:
            await http.close()

    found = asyncio.run(work())
    paid = sum(isinstance(each, dict) for each in found)
    assert sum(isinstance(each, BudgetError) for each in found) == 60 - paid
    assert 20 - lanes <= paid <= 20 + lanes
    assert account.spent == paid == len(script.bodies)


def test_the_books_equal_the_server_after_trouble(script, tmp_path):
    for kind in ("rate_limit", "server_error", "reset", "html", "truncate"):
        script.server.misbehave(kind, times=4, share=0.5)
    with Ledger(tmp_path / "ledger.db") as ledger:
        script.account.attach(ledger)
        caller = script.caller(price=Price(call=1.0), tries=12)
        http = HttpClient(caller.endpoint)

        async def work():
            try:
                return await asyncio.gather(*(script.once(caller, http) for _ in range(60)))
            finally:
                await http.close()

        assert len(asyncio.run(work())) == 60
        (total,) = script.account.totals()
        assert total.begun == len(script.server.received) == len(ledger.get_all("calls:begun"))
        assert (total.ok, total.failed, total.unanswered) == (60, 20, 0)
        assert len(ledger.get_all("calls:answered")) == 80


def test_every_call_is_in_the_book_before_the_server_sees_it(script, tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        seen = []

        def reply(request):
            seen.append((len(ledger.get_all("calls:begun")), len(ledger.get_all("calls:answered"))))
            return GOOD

        script.says(reply)
        script.account.attach(ledger)
        script.exchange(script.caller(), times=3)
    assert seen == [(1, 0), (2, 1), (3, 2)]


def test_a_call_is_in_the_book_while_all_threads_of_the_loop_are_busy(script, tmp_path):
    free = threading.Event()
    with Ledger(tmp_path / "ledger.db") as ledger:
        script.account.attach(ledger)
        caller = script.caller()
        http = HttpClient(caller.endpoint)

        async def work():
            with ThreadPoolExecutor(1) as threads:
                asyncio.get_running_loop().set_default_executor(threads)
                threads.submit(free.wait)
                try:
                    return await asyncio.wait_for(script.once(caller, http), 30)
                finally:
                    free.set()
                    await http.close()

        asyncio.run(work())
        assert len(ledger.get_all("calls:begun")) == len(ledger.get_all("calls:answered")) == 1


def test_a_cancelled_call_stays_unanswered(script):
    script.server.misbehave("silent")
    caller = script.caller()
    http = HttpClient(caller.endpoint)

    async def work():
        task = asyncio.create_task(script.once(caller, http))
        while not script.bodies:
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await script.once(caller, http)
        await http.close()

    asyncio.run(work())
    (total,) = script.account.totals()
    assert (total.begun, total.ok, total.unanswered) == (2, 1, 1)


def test_an_error_of_ours_is_not_swallowed(script):
    async def send():
        raise KeyError("a slip in an adapter")

    with pytest.raises(KeyError):
        asyncio.run(script.caller().exchange(send, usage=lambda _: Usage()))


def test_a_reply_that_declines_is_counted_as_refused(script):
    async def send():
        return "filtered"

    caller = script.caller(price=Price(image=0.04))
    found = asyncio.run(caller.exchange(send, usage=lambda _: Usage(images=0, refusal="filtered")))
    assert found == "filtered"
    (total,) = script.account.totals()
    assert (total.refused, total.cost) == (1, 0.0)


def test_two_threads_with_a_loop_each_use_one_caller(script):
    caller = script.caller(concurrency=4)
    http, found = HttpClient(caller.endpoint), []

    async def work():
        try:
            return await asyncio.gather(*(script.once(caller, http) for _ in range(20)))
        finally:
            await http.close()

    threads = [threading.Thread(target=lambda: found.extend(asyncio.run(work()))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 40
    assert script.account.totals()[0].ok == 40


def test_while_one_endpoint_waits_another_goes_on(script):
    script.says(failure(429, headers={"retry-after": "600"}))
    busy = script.caller(longest_wait=600, tries=2)
    other = Caller(
        script.endpoint(base_url=f"{script.server.root}/script/other"),
        "m",
        kind="chat",
        account=script.account,
        price=None,
    )
    http, other_http = HttpClient(busy.endpoint), HttpClient(other.endpoint)

    async def work():
        waiting = asyncio.create_task(script.once(busy, http))
        while not script.bodies:
            await asyncio.sleep(0.01)
        script.says(GOOD)
        assert await script.once(other, other_http)
        assert not waiting.done()
        waiting.cancel()
        await http.close()
        await other_http.close()

    asyncio.run(work())


def test_who_waits_for_a_slow_rate_gives_up_when_stopped_and_nothing_more_is_sent(script, monkeypatch):
    # A key of its own: a later server may get the port of this one, and with it its limits.
    monkeypatch.setenv("KEY_OF_THE_SLOW", "key-of-the-slow-0123456789")
    account = Account()
    account.stop = threading.Event()
    caller = script.caller(account=account, requests_per_minute=0.01, concurrency=4, key="KEY_OF_THE_SLOW")
    http = HttpClient(caller.endpoint)

    async def work():
        stopping = asyncio.create_task(stop_once_asked(script, account))
        try:
            return await asyncio.gather(
                *(script.once(caller, http) for _ in range(4)), return_exceptions=True
            )
        finally:
            await stopping
            await http.close()

    found = asyncio.run(work())  # the next request would leave in 100 minutes
    assert sum(isinstance(each, Interrupted) for each in found) == 3
    assert len(script.bodies) == 1
    assert account.totals()[0].begun == 1


async def stop_once_asked(script, account):
    while not account.totals() or not account.totals()[0].ok + account.totals()[0].failed:
        await asyncio.sleep(0.01)
    account.stop.set()


def test_a_stop_after_a_429_does_not_wait_for_its_time(script):
    account = Account()
    account.stop = threading.Event()
    script.says(failure(429, headers={"retry-after": "6000"}))
    caller = script.caller(account=account, longest_wait=6000)
    http = HttpClient(caller.endpoint)

    async def work():
        stopping = asyncio.create_task(stop_once_asked(script, account))
        try:
            return await asyncio.gather(script.once(caller, http), return_exceptions=True)
        finally:
            await stopping
            await http.close()

    (found,) = asyncio.run(work())
    assert isinstance(found, Interrupted)


def test_a_model_that_is_tried_again_is_told_of_once_in_a_while(script):
    account = Account()
    said: list[str] = []
    account.say = said.append
    script.says(failure(503, "busy"))
    found = script.exchange(script.caller(account=account), times=3)
    assert all(isinstance(each, ModelError) for each in found)
    assert said == ["openai:m: server error (503: busy); trying again"]


@pytest.mark.parametrize(
    ("asked", "longest", "told"),
    [
        ("5", 60, r"openai:m: too many requests \(429.*\); trying again$"),
        ("55", 60, r"trying again at (\d{4}-\d\d-\d\d )?\d\d:\d\d$"),
        ("100000", 200_000, r"trying again at \d{4}-\d\d-\d\d \d\d:\d\d$"),
        (
            "Thu, 01 Jan 2099 12:00:00 GMT",
            60,
            r"again at (\d{4}-\d\d-\d\d )?\d\d:\d\d, though the server asks to wait until 2099-01-0\d \d\d:",
        ),
        ("9" * 30, 60, "the server asks to wait until a time beyond the year 9999$"),
    ],
)
def test_a_long_wait_is_told_with_when_it_ends(script, asked, longest, told):
    account = Account()
    said: list[str] = []
    account.say = said.append
    account.stop = threading.Event()
    script.says(failure(429, headers={"retry-after": asked}))
    caller = script.caller(account=account, longest_wait=longest, tries=2)
    http = HttpClient(caller.endpoint)

    async def work():
        asking = asyncio.create_task(script.once(caller, http))
        while not said:
            await asyncio.sleep(0.01)
        account.stop.set()
        with contextlib.suppress(Interrupted, ModelError):
            await asking
        await http.close()

    asyncio.run(work())
    assert re.search(told, said[0])
