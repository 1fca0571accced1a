from __future__ import annotations

import math
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from stereotrope.clients import Account, Call, totals_of
from stereotrope.errors import BudgetError, UsageError
from stereotrope.run import Ledger

WHO = ("openai", "m", "chat")


def call(outcome="ok", cost=1.0, who=WHO, **more):
    return Call(*who, outcome, cost=cost, **more)


def spend(account, times, **more):
    for _ in range(times):
        account.finish(account.begin(*WHO), call(**more))


def test_totals_count_every_outcome():
    account = Account()
    spend(account, 2, input_tokens=10, output_tokens=3)
    spend(account, 1, outcome="refused", cost=0.5)
    spend(account, 1, outcome="rate_limited", cost=0.0)
    spend(account, 1, outcome="timeout", cost=None)
    account.begin(*WHO)
    (total,) = account.totals()
    assert (total.begun, total.ok, total.refused, total.failed, total.unanswered) == (6, 2, 1, 2, 1)
    assert (total.input_tokens, total.output_tokens) == (20, 6)
    assert (total.cost, total.unpriced) == (2.5, 1)
    assert account.spent == 2.5


def test_an_unknown_cost_is_not_zero():
    account = Account()
    spend(account, 3, cost=None)
    (total,) = account.totals()
    assert total.cost is None
    assert total.unpriced == 3


def test_models_are_added_up_apart_and_in_order():
    account = Account()
    for who in (("vllm", "b", "image"), ("openai", "z", "chat"), ("openai", "a", "chat")):
        account.finish(account.begin(*who), call(who=who))
    assert [(t.provider, t.model, t.kind) for t in account.totals()] == [
        ("openai", "a", "chat"),
        ("openai", "z", "chat"),
        ("vllm", "b", "image"),
    ]
    assert totals_of({}, {}) == []


def test_every_call_is_in_the_ledger_before_it_is_sent_and_after(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = Account()
        account.attach(ledger)
        key = account.begin(*WHO)
        assert ledger.get_all("calls:begun") == {key: {"provider": "openai", "model": "m", "kind": "chat"}}
        assert ledger.get_all("calls:answered") == {}
        account.finish(key, call(input_tokens=7, seconds=0.25))
        assert ledger.get_all("calls:answered")[key]["input_tokens"] == 7
        begun, answered = ledger.get_all("calls:begun"), ledger.get_all("calls:answered")
        assert totals_of(begun, answered) == account.totals()


def test_totals_and_cap_survive_a_restart(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        first = Account(max_cost=5)
        first.attach(ledger)
        spend(first, 3)
    with Ledger(tmp_path / "ledger.db") as ledger:
        second = Account(max_cost=5)
        second.attach(ledger)
        assert second.spent == 3.0
        assert second.totals() == first.totals()
        spend(second, 2)
        with pytest.raises(BudgetError, match=r"cap of 5\.00 US dollars is reached: 5\.00 spent$"):
            second.begin(*WHO)
        assert len(ledger.get_all("calls:begun")) == 5


def test_the_message_of_the_cap_says_what_is_open_and_what_a_call_may_cost():
    account = Account(max_cost=5.5)
    spend(account, 4)
    account.begin(*WHO)
    with pytest.raises(
        BudgetError,
        match=r"is reached: 4\.00 spent, about 1\.00 more for calls whose cost is not known yet, "
        r"and the next call may cost 1\.00$",
    ):
        account.begin(*WHO)


def test_a_call_cut_off_by_a_kill_counts_towards_the_cap(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        killed = Account(max_cost=3)
        killed.attach(ledger)
        spend(killed, 1)
        killed.begin(*WHO)
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = Account(max_cost=3)
        account.attach(ledger)
        assert account.totals()[0].unanswered == 1
        spend(account, 1)
        with pytest.raises(BudgetError):
            account.begin(*WHO)


def test_another_run_has_totals_of_its_own(tmp_path):
    account = Account()
    spend(account, 1)
    with Ledger(tmp_path / "a.db") as one, Ledger(tmp_path / "b.db") as two:
        account.attach(one)
        spend(account, 2)
        assert account.totals()[0].ok == 3
        account.attach(two)
        assert account.totals()[0].ok == 1
        account.attach(one)
        assert account.totals()[0].ok == 3
        account.attach(None)
        assert account.totals()[0].ok == 3


def test_calls_up_to_the_cap_are_begun():
    account = Account(max_cost=0.3)
    spend(account, 3, cost=0.1)
    with pytest.raises(BudgetError, match="is reached: "):
        account.begin(*WHO)
    with pytest.raises(BudgetError):
        account.check(*WHO)


def test_what_is_in_flight_is_reserved_at_the_mean_cost():
    account = Account(max_cost=4)
    spend(account, 1)
    for _ in range(3):
        account.begin(*WHO)
    with pytest.raises(BudgetError, match=r"1\.00 spent, about 3\.00 more"):
        account.begin(*WHO)


def test_a_free_model_has_no_cap():
    account = Account(max_cost=0)
    spend(account, 5, cost=0.0)
    assert account.totals()[0].ok == 5


def test_failed_calls_do_not_lower_the_mean():
    account = Account(max_cost=2.5)
    spend(account, 1, cost=1.0)
    spend(account, 1, outcome="rate_limited", cost=0.0)
    spend(account, 1, cost=1.0)
    with pytest.raises(BudgetError):
        account.begin(*WHO)


def test_a_cap_that_cannot_be_kept_stops_after_the_first_answer():
    account = Account(max_cost=5)
    spend(account, 1, cost=None)
    with pytest.raises(BudgetError, match="without saying what it used"):
        account.begin(*WHO)


def test_the_cap_holds_under_many_threads():
    in_flight, cap, cost = 16, 40, 1.0
    account = Account(max_cost=cap)
    barrier = threading.Barrier(in_flight)

    def work(_):
        barrier.wait()
        done = 0
        while True:
            try:
                key = account.begin(*WHO)
            except BudgetError:
                return done
            account.finish(key, call(cost=cost))
            done += 1

    with ThreadPoolExecutor(in_flight) as pool:
        done = sum(pool.map(work, range(in_flight)))
    assert account.spent == done * cost
    assert cap - in_flight <= done <= cap + in_flight


def test_totals_equal_what_threads_did(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        account = Account()
        account.attach(ledger)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: spend(account, 20), range(8)))
        assert account.totals()[0].ok == 160
        assert len(ledger.get_all("calls:answered")) == 160


def test_before_the_first_answer_a_call_costs_what_is_expected():
    account = Account(max_cost=0.1)
    for _ in range(2):
        account.begin(*WHO, expected=0.05)
    with pytest.raises(BudgetError, match=r"0\.00 spent, about 0\.10 more"):
        account.begin(*WHO, expected=0.05)


def test_nothing_that_costs_is_begun_under_a_cap_of_nothing():
    with pytest.raises(BudgetError, match=r"cap of 0\.00 US dollars is reached: 0\.00 spent"):
        Account(max_cost=0).begin(*WHO, expected=0.01)


def test_requests_that_were_not_answered_say_nothing_against_the_cap_being_kept():
    account = Account(max_cost=1)
    spend(account, 2, outcome="timeout", cost=None)
    spend(account, 1, cost=0.2)
    assert account.spent == 0.2


def test_refusals_that_cost_nothing_do_not_make_the_next_call_free():
    account = Account(max_cost=0.01)
    account.finish(account.begin(*WHO, expected=0.01), call(outcome="refused", cost=0.0))
    account.begin(*WHO, expected=0.01)
    with pytest.raises(BudgetError):
        account.begin(*WHO, expected=0.01)


@pytest.mark.parametrize("cap", [-1, float("nan")])
def test_a_cap_that_is_no_amount_is_refused(cap):
    with pytest.raises(UsageError, match="a cap must be an amount of US dollars from 0, found"):
        Account(max_cost=cap)


def test_what_was_called_before_a_book_was_attached_is_counted_with_every_book(tmp_path):
    account = Account()
    spend(account, 1, cost=1.0)
    early = account.begin("openai", "m", "chat")
    with Ledger(tmp_path / "one.db") as one, Ledger(tmp_path / "two.db") as two:
        account.attach(one)
        spend(account, 1, cost=2.0)
        late = account.begin("openai", "m", "chat")
        account.attach(two)
        assert (account.spent, account.totals()[0].begun) == (1.0, 2)
        account.finish(early, call(cost=4.0))
        assert (account.spent, account.totals()[0].unanswered) == (5.0, 0)
        account.finish(late, call(cost=8.0))
        assert (account.spent, account.totals()[0].begun) == (13.0, 3)
        account.attach(None)


def test_a_call_in_flight_is_counted_once_where_its_book_is_attached_again(tmp_path):
    account = Account()
    with Ledger(tmp_path / "one.db") as book:
        account.attach(book)
        key = account.begin("openai", "m", "chat")
        account.attach(book)
        account.finish(key, call(cost=1.0))
        (total,) = account.totals()
        assert (total.begun, total.ok, total.unanswered, account.spent) == (1, 1, 0, 1.0)
        account.attach(None)


def test_memory_does_not_grow_with_calls():
    def size(n: int) -> int:
        account = Account()
        for _ in range(n):
            spend(account, 1, cost=0.1)
        return len(pickle.dumps({k: v for k, v in vars(account).items() if k != "_guard"}))

    assert size(300) <= size(30) + 100


def test_costs_add_up_the_same_in_any_order():
    costs = [0.1, 1e16, 0.3, -1e16 + 2e16, 1e-9] * 3
    spent = []
    for order in (costs, costs[::-1]):
        account = Account()
        for cost in order:
            spend(account, 1, cost=cost)
        spent.append(account.spent)
    assert spent[0] == spent[1] == math.fsum(costs)
