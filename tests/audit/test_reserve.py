"""The cap holds back pictures whose labels it could not pay for."""

import pytest

import stereotrope as st
from stereotrope.audit.outstanding import Reserve, reserve_of
from stereotrope.clients import Account, Call
from stereotrope.errors import BudgetError
from stereotrope.testing import Loopback

LANES = 4
AUDIT = """\
suite: objects
objects: [cup]
dimensions: {{gender: [men, women]}}
images_per_prompt: 20
permutations: 99
resamples: 100
generators:
  - {{images: openai:painter, base_url: "{url}", price: {image}, concurrency: 4, seed: {seed}{more}}}
annotators:
  - {{questions: openai:judge, base_url: "{url}", attributes: {attributes}, price: {label}, concurrency: 4}}
measures: [refusal_rate, share]
"""
CLOSED = "{product_colour: [black, white, grey, pink]}"


def audit(url, image="{image: 0.02}", label="{call: 0.03}", attributes=CLOSED, more="", seed="true"):
    text = AUDIT.format(url=url, image=image, label=label, attributes=attributes, more=more, seed=seed)
    return st.Audit.from_text(text)


def counts(folder):
    run = st.open(folder)
    drawn = run.images.filter(status="ok").height
    judged = run.labels["subject_id"].n_unique()
    return drawn, judged, float(run.spending["cost"].sum())


@pytest.mark.parametrize("cap", [0.5, 1.0, 2.0])
def test_no_picture_is_drawn_that_the_cap_does_not_let_be_judged(tmp_path, cap):
    with Loopback() as server, pytest.raises(BudgetError, match=r"kept back for the labels") as error:
        audit(server.url).run(tmp_path / "run", max_cost=cap)
    assert error.value.exit_code == 4
    drawn, judged, spent = counts(tmp_path / "run")
    assert drawn == judged == pytest.approx(cap / 0.05, abs=LANES)
    assert spent <= cap + 0.02 * LANES


def test_the_same_cap_again_draws_nothing_and_a_higher_one_goes_on(tmp_path):
    with Loopback() as server:
        for _ in range(2):
            with pytest.raises(BudgetError):
                audit(server.url).run(tmp_path / "run", max_cost=1.0)
            assert counts(tmp_path / "run")[:2] == (20, 20)
        run = audit(server.url).run(tmp_path / "run", max_cost=3.0)
    assert run.images.height == 60
    assert counts(tmp_path / "run")[2] == pytest.approx(3.0)


def test_labels_that_cost_less_than_was_kept_back_let_drawing_go_on(tmp_path):
    told = []

    class Watcher:
        def stage(self, name, total, done):
            told.append((name, total, done))

        def advance(self, name, done):
            pass

        def doing(self, name, what):
            pass

        def say(self, message):
            told.append(message)

    label = "{input: 5, output: 15}"
    with Loopback() as server:
        plan = audit(server.url, label=label).plan()
        first = reserve_of(plan, tmp_path / "none", None).each
        with pytest.raises(BudgetError):
            audit(server.url, label=label).run(tmp_path / "run", watcher=Watcher(), max_cost=0.5)
    drawn, judged, spent = counts(tmp_path / "run")
    assert [line for line in told if "drawing goes on with the rest" in line]
    assert drawn == judged
    assert drawn > 0.5 / (0.02 + first) + LANES
    assert spent <= 0.5 + 0.05


def test_pictures_of_a_server_that_charges_nothing_wait_for_their_labels_too(tmp_path):
    with Loopback() as server, pytest.raises(BudgetError, match=r"0\.33 kept back for the labels"):
        audit(server.url, image="0").run(tmp_path / "run", max_cost=0.3)
    assert counts(tmp_path / "run")[:2] == (10, 10)


def test_pictures_that_need_no_server_are_all_drawn(tmp_path):
    with Loopback() as server:
        text = audit(server.url).source.text
        entry = text.partition("generators:\n")[2].partition("annotators:")[0]
        offline = text.replace(entry, "  - calibrated\n")
        with pytest.raises(BudgetError, match=r"annotate: judge: \d+ of \d+ missing"):
            st.Audit.from_text(offline).run(tmp_path / "run", max_cost=0.3)
    assert counts(tmp_path / "run")[0] == 60


def test_a_batch_of_pictures_keeps_back_for_each_of_them(tmp_path):
    with Loopback() as server, pytest.raises(BudgetError):
        audit(server.url, more=", batch: 4", seed="false").run(tmp_path / "run", max_cost=1.0)
    drawn, judged, spent = counts(tmp_path / "run")
    assert drawn == judged > 0
    assert spent <= 1.0 + 0.08 * LANES


def test_the_attributes_that_are_still_to_be_discovered_are_kept_back_for_too(tmp_path):
    with Loopback() as server:
        closed = reserve_of(audit(server.url).plan(), tmp_path, None)
        text = audit(server.url).source.text.replace(f"attributes: {CLOSED}", "discover: true")
        found = reserve_of(st.Audit.from_text(text).plan(), tmp_path, None)
    assert closed == Reserve(pytest.approx(0.03), 0.0)
    assert found.pending == pytest.approx(0.03)


def test_what_did_not_come_keeps_nothing_back():
    who = ("openai", "m", "image")
    account = Account(max_cost=1.0)
    account.hold(0.4)
    keys = [account.begin(*who, expected=0.1, pictures=1) for _ in range(2)]
    message = r"0\.20 more for calls .*, and 1\.20 kept back for the labels of these pictures and of the next"
    with pytest.raises(BudgetError, match=message):
        account.begin(*who, expected=0.1, pictures=1)
    account.finish(keys[0], Call(*who, "refused", cost=0.0))
    account.begin(*who, expected=0.1, pictures=1)
    account.hold(0.0)
    account.begin(*who, expected=0.1, pictures=1)
