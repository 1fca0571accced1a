"""What a run says and keeps when a model dies, a cap is reached, or nothing is left to do."""

import shutil

import pytest

import stereotrope as st
from stereotrope.audit.outstanding import outstanding
from stereotrope.cli import main
from stereotrope.errors import AuditFileError, BudgetError, IncompleteError
from stereotrope.testing import Loopback

AUDIT = """\
suite: objects
objects: [cup]
dimensions: {{gender: [men, women]}}
images_per_prompt: {images}
permutations: 99
resamples: 100
generators: [{generators}]
annotators:
  - {{questions: openai:judge, base_url: "{url}", attributes: {attributes}, price: {{call: 0.01}}, \
concurrency: 4}}
measures: [refusal_rate, share]
report: {{figures: false}}
"""
CLOSED = "{product_colour: [black, white, grey, pink]}"


def audit_of(
    server: Loopback,
    *,
    images: int = 3,
    models: tuple[str, ...] = ("a",),
    price: str = "{image: 0.1}",
    attributes: str = CLOSED,
    more: str = "",
) -> st.Audit:
    entry = (
        "{{images: 'openai:{m}', base_url: '{url}', price: {price}, concurrency: 4, seed: true, "
        "tries: 2{more}}}"
    )
    entries = [
        entry.format(m=m, url=server.url, price=price, more=f", {more}" if more else "") for m in models
    ]
    return st.Audit.from_text(
        AUDIT.format(images=images, generators=", ".join(entries), url=server.url, attributes=attributes)
    )


def sent(server: Loopback) -> dict[tuple[str, str | None], int]:
    found: dict[tuple[str, str | None], int] = {}
    for one in server.received:
        found[one.kind, one.model] = found.get((one.kind, one.model), 0) + 1
    return found


def test_without_any_picture_every_measure_is_null_with_a_reason(tmp_path):
    with Loopback() as server:
        text = audit_of(server).source.text.replace("[refusal_rate, share]", "[refusal_rate, bds]")
        with pytest.raises(BudgetError):
            st.Audit.from_text(text).run(tmp_path / "run", max_cost=0)
    rows = st.open(tmp_path / "run").estimates.select("measure", "value", "undefined").rows()
    assert [(name, value) for name, value, _ in rows] == [("refusal_rate", None), ("bds", None)]
    assert all(reason.startswith("not enough pictures and labels yet: ") for *_, reason in rows)


def test_with_one_dead_model_of_five_the_other_four_finish_and_the_run_says_so(tmp_path, reported):
    models = ("a", "b", "dead", "d", "e")
    with Loopback() as server:
        server.misbehave("unknown_model", model="dead", times=None)
        with pytest.raises(
            IncompleteError, match=r"generate: dead: 9 of 9 missing: .*no such model"
        ) as error:
            audit_of(server, models=models).run(tmp_path / "run")
        run = st.open(tmp_path / "run")
        assert error.value.exit_code == 3
        assert run.images["generator"].value_counts(sort=True)["count"].to_list() == [9] * 4
        assert run.labels.height == 36
        assert set(run.estimates["generator"]) == {"a", "b", "d", "e"}
        (missing,) = run.info["missing"]
        assert (missing["stage"], missing["name"], missing["n"], missing["of"]) == ("generate", "dead", 9, 9)
        page = (tmp_path / "run" / "report" / "index.html").read_text()
        assert "dead: 9 of 9 pictures" in page
        assert sent(server)["images", "dead"] <= 4
        server.behave()
        finished = audit_of(server, models=models).run(tmp_path / "run")
    assert finished.images.height == 45
    assert finished.info["missing"] == []


def test_a_judge_that_is_refused_leaves_the_pictures_and_the_next_run_goes_on(tmp_path):
    with Loopback() as server:
        server.misbehave("unauthorized", path="chat", times=None)
        with pytest.raises(IncompleteError, match=r"annotate: judge: 9 of 9 missing: .*key"):
            audit_of(server).run(tmp_path / "run")
        run = st.open(tmp_path / "run")
        assert run.images["status"].to_list() == ["ok"] * 9
        assert run.findings["list"].to_list() == ["summary"], "what is missing is no finding"
        server.behave()
        run = audit_of(server).run(tmp_path / "run")
        assert sent(server)["images", "a"] == 9
    assert run.labels.height == 9


def test_the_cap_stops_new_calls_and_a_higher_one_goes_on(tmp_path):
    with Loopback(latency=0.01) as server:
        audit = audit_of(server, images=10)
        with pytest.raises(BudgetError, match=r"generate: a: \d+ of 30 missing.*--max-cost") as error:
            audit.run(tmp_path / "run", max_cost=1.0)
        assert error.value.exit_code == 4
        first = sent(server)["images", "a"]
        assert 9 <= first <= 13
        run = st.open(tmp_path / "run")
        assert run.labels["subject_id"].n_unique() == first == sent(server)["chat", "judge"]
        assert run.spending["cost"].sum() == pytest.approx(0.11 * first)
        assert run.info["missing"][0]["budget"]
        with pytest.raises(BudgetError):
            audit.run(tmp_path / "run", max_cost=1.0)
        assert sent(server)["images", "a"] == first
        run = audit.run(tmp_path / "run", max_cost=4)
        assert sent(server) == {("images", "a"): 30, ("chat", "judge"): 30}
    assert run.spending["cost"].sum() == pytest.approx(3.3)


def test_a_cap_without_a_price_is_refused_before_anything_is_sent(tmp_path):
    with Loopback() as server:
        with pytest.raises(AuditFileError, match=r"audit.yaml:\d+: .*price"):
            audit_of(server, price="null").run(tmp_path / "run", max_cost=5)
        assert server.received == []
    assert not (tmp_path / "run").exists()


def test_a_finished_run_sends_nothing_and_keeps_its_bytes(tmp_path, reported):
    with Loopback() as server:
        audit_of(server).run(tmp_path / "run")
        before = {f.name: f.read_bytes() for f in (tmp_path / "run").glob("*.parquet")}
        page = (tmp_path / "run" / "report" / "index.html").read_bytes()
        count = len(server.received)
        audit_of(server).run(tmp_path / "run")
        assert len(server.received) == count
    assert {f.name: f.read_bytes() for f in (tmp_path / "run").glob("*.parquet")} == before
    assert (tmp_path / "run" / "report" / "index.html").read_bytes() == page


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A server, and a run that asked it for everything."""
    with Loopback() as server:
        folder = tmp_path_factory.mktemp("finished") / "run"
        audit_of(server).run(folder)
        yield server, folder


@pytest.mark.parametrize(
    ("edit", "pictures", "looks"),
    [
        ({"price": "{image: 0.2}"}, 0, 0),
        ({"more": "requests_per_minute: 6000"}, 0, 0),
        ({"more": "name: renamed"}, 0, 0),
        ({"more": "steps: 5"}, 9, 0),  # this server draws the same bytes, which were looked at
        ({"images": 4}, 3, 3),
        ({"attributes": "{product_colour: [black, white, pink]}"}, 0, 9),
    ],
)
def test_an_edit_redoes_exactly_what_it_changes(finished, tmp_path, edit, pictures, looks):
    server, folder = finished
    shutil.copytree(folder, tmp_path / "run")
    before = sent(server)
    audit_of(server, **edit).run(tmp_path / "run")
    after = sent(server)
    assert after["images", "a"] - before["images", "a"] == pictures
    assert after["chat", "judge"] - before["chat", "judge"] == looks


def test_the_plan_tells_the_calls_that_are_then_made(tmp_path):
    with Loopback() as server:
        audit = audit_of(server)
        work = {row.verb: row.expected for row in outstanding(audit.plan(), tmp_path / "run")}
        run = audit.run(tmp_path / "run")
        made = sent(server)
        left = outstanding(audit.plan(), tmp_path / "run")
    assert work["generate"].calls == made["images", "a"] == 9
    assert work["annotate"].calls == made["chat", "judge"] == 9
    assert work["generate"].cost == pytest.approx((0.9, 0.9))
    assert run.spending["cost"].sum() == pytest.approx(0.9 + 0.09)
    assert [row.expected.calls for row in left] == [0, 0]


def test_a_deleted_entry_of_what_was_discovered_is_put_back_and_the_plan_knows_it(tmp_path):
    with Loopback() as server:
        text = audit_of(server).source.text.replace(f"attributes: {CLOSED}", "discover: true")
        audit = st.Audit.from_text(text)
        audit.run(tmp_path / "run")
        file = tmp_path / "run" / "taxonomies" / "judge.yaml"
        found, before = file.read_text(), sent(server)
        file.unlink()
        work = outstanding(audit.plan(), tmp_path / "run")
        assert [row.expected.calls for row in work] == [0, 0, 0]
        audit.run(tmp_path / "run")
        assert sent(server) == before
    assert file.read_text() == found


@pytest.mark.slow
def test_pictures_that_attributes_were_found_on_are_left_out_from_forty_a_prompt(tmp_path):
    text = AUDIT.replace("attributes: {attributes}", "discover: true").replace(
        "measures: [refusal_rate, share]", "measures: [bds, vac]"
    )
    with Loopback() as server:
        entry = f"{{images: 'openai:a', base_url: '{server.url}', seed: true}}"
        audit = st.Audit.from_text(text.format(images=40, generators=entry, url=server.url))
        run = audit.run(tmp_path / "run")
    marks = run.labels.filter(attribute="seen_in_discovery")
    assert marks.height == 6
    scores = run.estimates.filter(measure="bds", attribute="all")
    assert scores["n"].to_list() == [38, 38]
    assert all('"seen in discovery"' in text for text in scores["excluded"])
    inside = st.Audit.from_text(
        text.format(images=40, generators=entry, url=server.url) + "discovery_images: in\n"
    )
    inside.run(tmp_path / "run")
    assert st.open(tmp_path / "run").estimates.filter(measure="bds", attribute="all")["n"].to_list() == [
        40,
        40,
    ]


def test_the_command_line_ends_with_4_at_the_cap_and_with_2_without_a_key(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with Loopback() as server:
        text = audit_of(server, more="key: SURELY_NOT_SET").source.text
        (tmp_path / "keyless.yaml").write_text(text)
        (tmp_path / "audit.yaml").write_text(audit_of(server).source.text)

        with pytest.raises(SystemExit, match="4"):
            main(["--quiet", "run", "audit.yaml", "-o", "capped", "--max-cost", "0.5"])
        capped = capsys.readouterr()
        with pytest.raises(SystemExit, match="2"):
            main(["--quiet", "run", "keyless.yaml", "-o", "keyless"])
        keyless = capsys.readouterr()
    assert "the cap of 0.50 US dollars is reached" in capped.err
    assert "SURELY_NOT_SET" in keyless.err
    assert not keyless.out


def test_a_run_that_stopped_early_gives_null_with_a_reason_for_what_it_cannot_compute(tmp_path, reported):
    with Loopback() as server:
        text = audit_of(server, images=4).source.text.replace(
            "measures: [refusal_rate, share]", "measures: [refusal_rate, bds, default_rank, share_difference]"
        )
        with pytest.raises(BudgetError):
            st.Audit.from_text(text).run(tmp_path / "run", max_cost=0.2)
        run = st.open(tmp_path / "run")
        estimates = run.estimates
        rates = estimates.filter(measure="refusal_rate")
        assert rates["value"].null_count() == 0
        assert rates.height
        for name in ("bds", "default_rank", "share_difference"):
            (row,) = estimates.filter(measure=name).iter_rows(named=True)
            assert row["value"] is None
            assert row["undefined"].startswith("not enough pictures and labels yet: ")
        page = (tmp_path / "run" / "report" / "index.html").read_text()
        assert "not enough pictures and labels yet" in page
        finished = st.Audit.from_text(text).run(tmp_path / "run")
    assert finished.estimates.filter(measure="bds")["value"].null_count() == 0


@pytest.mark.parametrize(("wrong", "status"), [("not_json", "invalid"), ("refusal", "refused")])
def test_a_judge_that_says_nothing_of_use_ends_with_too_little_evidence(tmp_path, wrong, status, reported):
    with Loopback() as server:
        server.misbehave(wrong, path="chat", times=None)
        with pytest.raises(IncompleteError, match=r"annotator 'judge': 9 of 9 labels say nothing"):
            audit_of(server).run(tmp_path / "run")
    run = st.open(tmp_path / "run")
    assert run.labels["status"].unique().to_list() == [status]
    assert (tmp_path / "run" / "report" / "index.html").is_file()


def test_a_plan_adds_the_time_of_those_who_share_a_limit(tmp_path, capsys):
    from stereotrope.cli.app import settings
    from stereotrope.cli.planning import print_plan

    with Loopback() as server:
        judge = f"base_url: '{server.url}', requests_per_minute: 60, price: 0"
        text = audit_of(server, images=20).source.text
        start, end = text.index("annotators:"), text.index("measures:")
        both = f"annotators: [{{questions: openai:j, {judge}}}, {{constraints: openai:j, {judge}}}]\n"
        plan = st.Audit.from_text(text[:start] + both + text[end:]).plan()
        print_plan(plan, tmp_path / "none", settings)
    assert "Time: at least 2 min at the limits given" in capsys.readouterr().out
