"""The suite: its queries and rubrics, and planted stereotypes from the prompt to the index."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

import stereotrope as st
from stereotrope.audit.mitigating import Mitigation
from stereotrope.errors import AuditFileError
from stereotrope.inputs.rubric import rubric_named
from stereotrope.suites.reading import audit_template
from stereotrope.testing import Declined, Loopback, Plant, SetJudge
from stereotrope.testing.chat import take_apart

PAPER = (
    "Bangladeshi",
    "French",
    "Nigerian",
    "Vietnamese",
    "Indian",
    "Iraqi",
    "baker",
    "CEO",
    "fashion designer",
)
PAPER += (
    "manager",
    "dietitian",
    "scientist",
    "musician",
    "felon",
    "librarian",
    "secretary",
    "rude",
    "beautiful",
)
PAPER += ("smart", "healthy", "awkward", "furious", "emotional")
FAMILIES = ["geocultural", "occupational", "adjectival"]


def test_the_suite_alone_is_the_papers_design() -> None:
    plan = st.Audit.from_text("suite: ssi\ngenerators: ['openai:x']\n").plan()
    assert plan.prompts.height == 100
    assert plan.images_per_prompt == 4
    counts = plan.prompts.group_by("family", maintain_order=True).len().rows()
    assert counts == [("geocultural", 34), ("occupational", 33), ("adjectival", 33)]
    texts = plan.prompts["text"].to_list()
    for name in PAPER:
        assert any(f" {name}" in text for text in texts), name
    assert plan.prompts["text"].equals(plan.prompts["query"].rename("text"))


def test_what_the_template_shows_behind_a_hash_can_be_asked_for() -> None:
    lines = audit_template("ssi").splitlines()
    shown = "\n".join(
        line.replace("# ", "", 1)
        if line.startswith(("  # - judge", "  #   ", "  # - {judge", "  # - {ssi"))
        else line
        for line in lines
    )
    plan = st.Audit.from_text(shown).plan()
    names = [(one.name, one.control_of) for one in plan.annotators if one.subject == "set"]
    assert names == [
        ("gpt-4o", None),
        ("gpt-4o (neutral)", "gpt-4o"),
        ("gpt-4o (blind)", "gpt-4o"),
        ("gpt-4o (painted)", "gpt-4o"),
        ("gemini-2.5-flash", None),
    ]
    raters = [call.arguments["raters"] for call in plan.measures if call.name == "ssi"]
    assert raters == [["gpt-4o", "gemini-2.5-flash"]] * 2


def test_measures_of_ones_own_are_those_that_the_template_shows() -> None:
    text = audit_template("ssi")
    assert text.count("\n# measures: [") == 1
    plan = st.Audit.from_text(text.replace("\n# measures: [", "\nmeasures: [")).plan()
    assert [call.arguments["by"] for call in plan.measures] == [
        ["generator", "family"],
        ["generator", "family", "query"],
    ]


def test_each_query_has_an_index_before_and_after_a_mitigation() -> None:
    def told(more: str) -> list[list[str]]:
        judge = "{judge: 'openai:judge', rubric: [geocultural, occupational, adjectival], query: query}"
        head = f"suite: ssi\ngenerators: ['openai:x']\nannotators: [{judge}]\n{more}"
        calls = st.Audit.from_text(head).plan().measures
        return [call.arguments["by"] for call in calls if call.name == "ssi"]

    by = ["generator", "family", "query"]
    assert told("") == [["generator", "family"], by]
    assert told("mitigations: [none, ethical]") == [
        ["generator", "family", "mitigation"],
        [*by, "mitigation"],
    ]


@pytest.mark.slow
def test_several_judges_and_controls_are_told_apart_before_and_after_a_mitigation(tmp_path: Path) -> None:
    with Loopback(judge=SetJudge(share)) as server:
        entry = {"base_url": server.url, "rubric": FAMILIES, "query": "query", "repetitions": 1}
        asked = [{"judge": "openai:a", **entry}, {"judge": "openai:b", **entry}]
        of_neutral = {key: value for key, value in entry.items() if key != "query"}
        asked.append({"judge": "openai:a", "control": "neutral", **of_neutral})
        made = json.loads(audit(server.url, 1, annotators=asked))
        del made["measures"]
        (tmp_path / "audit.yaml").write_text(json.dumps(made))
        st.Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "run")
        run = Mitigation(tmp_path / "run", ["ethical"]).run()
    index = run.scores.filter(pl.col("query").is_not_null(), measure="ssi")
    assert index.group_by("annotator", "mitigation").len()["len"].to_list() == [6] * 4
    assert set(run.scores.filter(measure="paired_difference", definition="ssi")["annotator"]) == {"a", "b"}


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        (
            ["ssi", {"paired_difference": "ssi"}],
            "compares levels of 'mitigation', and the prompts have none",
        ),
        (
            ["ssi", {"paired_difference": "ssi", "over": "family", "original": "occupational"}],
            r"scores of 'ssi' are not told apart by 'query'; list it before with `by: \[generator, fam",
        ),
    ],
)
def test_comparisons_that_cannot_be_made_are_refused_before_anything_is_drawn(listed, message) -> None:
    with pytest.raises(AuditFileError, match=message):
        st.Audit.from_text(audit("http://127.0.0.1:1", 2, measures=listed)).plan()


def share(model: str, prompt: str, item: str) -> float:
    """More is planted in one model, and of some items nothing."""
    return 0.0 if "food" in item else (0.7 if model == "strong" else 0.2)


def audit(url: str, queries: int, judge: str = "", **more: str) -> str:
    chosen = pl.read_csv(Path(st.__file__).parent / "suites/ssi/queries.csv")
    rows = chosen.group_by("family", maintain_order=True).head(queries).drop("named_in_paper").to_dicts()
    one = (
        f"{{judge: 'openai:judge', base_url: '{url}', rubric: {FAMILIES}, query: query, name: judge{judge}}}"
    )
    return json.dumps(
        {
            "suite": "ssi",
            "prompts": rows,
            "generators": [{"images": f"openai:{name}", "base_url": url} for name in ("strong", "weak")],
            "annotators": [],
            "measures": [{"ssi": {"by": ["generator", "family"]}}],
            "images_per_prompt": 4,
            "resamples": 100,
            **more,
        }
    ).replace("[]", f"[{one}]", 1)


def test_the_index_of_planted_stereotypes_is_found_and_shown_with_what_the_judge_said(
    tmp_path: Path, reported: None
) -> None:
    judge = SetJudge(share)

    def hostile(question):
        said = judge(question)
        for item in said.values():
            item["reasoning"] = "<script>alert(7)</script> {{7*7}} =HYPERLINK(1)"
        return said

    listed = [{"ssi": {"by": ["generator", "family"]}}, {"item_correlation": {"by": ["family"]}}]
    with Loopback(judge=hostile) as server:
        run = st.Audit.from_text(audit(server.url, 4, measures=listed)).run(tmp_path / "run")
    found = run.estimates.filter(measure="ssi")
    assert found.height == 6
    images = run.images.join(run.prompts, on="prompt_id")
    for row in found.iter_rows(named=True):
        items = rubric_named([row["family"]]).items
        sets = images.filter(generator=row["generator"], family=row["family"])
        truth = [
            sum(judge.truth(row["generator"], text, part["seed"].to_list(), item.id) for item in items)
            / len(items)
            for (text,), part in sets.group_by(["text"], maintain_order=True)
        ]
        assert row["value"] == pytest.approx(sum(truth) / len(truth))
        assert (row["n"], row["n_excluded"]) == (4, 0)
        assert row["instrument"] == "judge"
    sizes = run.labels.filter(subject_kind="set").group_by("subject_id").len()["len"]
    assert sizes.unique().sort().to_list() == [9, 10, 12]
    assert run.subjects.group_by("subject_id").len()["len"].unique().to_list() == [4]
    shares = run.estimates.filter(measure="item_share", attribute="Q9_food")
    assert shares["value"].to_list() == [0.0, 0.0]
    # Grey where an item was found in no set: no correlation, and no 0.
    together = run.estimates.filter(measure="item_correlation")
    food = together.filter((pl.col("attribute") == "Q9_food") | (pl.col("category") == "Q9_food"))
    assert food.height == food["value"].null_count() == 11
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "In which share of the sets a judge finds each item: geocultural" in page
    assert "Which items of the rubric are found in the same sets: occupational" in page
    assert "&lt;script&gt;alert(7)&lt;/script&gt; {{7*7}} =HYPERLINK(1)" in page
    assert "<script>alert(7)" not in page
    assert page.count("images are numbered from the left") == 6


def test_a_judge_that_answers_by_order_or_without_looking_is_caught_by_its_check(tmp_path: Path) -> None:
    judges = {
        "honest": SetJudge(share),
        "ordered": SetJudge(share, by_order=0.6),
        "blindfold": SetJudge(share, without_looking=1.0),
        "obedient": SetJudge(share, obeys_text=0.9),
    }
    controls = {"honest": ("neutral", "blind", "painted"), "ordered": ("blind",), "blindfold": ("blind",)}
    names = [(model, c) for model in judges for c in (None, *controls.get(model, ("painted",)))]
    with Loopback(judge=judges) as server:
        entry = {"base_url": server.url, "rubric": FAMILIES, "query": "query"}
        asked = [
            {"judge": f"openai:{m}", **entry, **({"control": c, "repetitions": 1} if c else {})}
            for m, c in names
        ]
        listed = ["ssi", "item_flip_rate", "control_difference"]
        text = audit(server.url, 2, annotators=asked, measures=listed)
        run = st.Audit.from_text(text).run(tmp_path / "run")
    flips = dict(
        run.estimates.filter(measure="item_flip_rate", attribute="all")
        .select("annotator", "value")
        .iter_rows()
    )
    assert flips["honest"] == flips["blindfold"] == flips["obedient"] == 0
    assert flips["ordered"] > 0.15
    blind = run.estimates.filter(measure="control_share", definition="blind", attribute="all")
    found = dict(blind.select("annotator", "value").iter_rows())
    assert found["honest"] == found["ordered"] == 0
    assert found["blindfold"] > 0.3
    away = run.estimates.filter(measure="control_difference", attribute="all")
    of = {(row["annotator"], row["definition"]): row["value"] for row in away.iter_rows(named=True)}
    assert of["honest", "neutral"] == of["honest", "painted"] == 0
    assert of["obedient", "painted"] < -0.3
    told = run.findings.filter(list="instrument")["sentence"].to_list()
    by_order = [one for one in told if "in another order, the judge" in one]
    blindly = [one for one in told if "Without any picture the judge" in one]
    obeying = [one for one in told if "painted into the same pictures the judge" in one]
    assert len(by_order) == len(blindly) == len(obeying) == 1
    assert "obedient" in obeying[0]
    assert "ordered" in by_order[0]
    assert "blindfold" in blindly[0]
    # Controls say nothing of pictures: no index is theirs.
    assert set(run.estimates.filter(measure="ssi")["annotator"]) == set(judges)


def test_sets_with_a_refused_picture_are_counted_as_left_out_and_bound_the_index(tmp_path: Path) -> None:
    plant = Plant()

    def painter(model: str, prompt: str, number: int, size: str | None = None) -> bytes:
        if model == "weak" and "American" in prompt and number % 4 == 2:
            raise Declined
        return plant(model, prompt, number, size)

    with Loopback(judge=SetJudge(share), painter=painter) as server:
        text = audit(server.url, 2, measures=[{"ssi": {"by": ["generator", "family"]}}])
        run = st.Audit.from_text(text).run(tmp_path / "run")
        n = len(server.received)
        again = st.Audit.from_text(text).run(tmp_path / "run")
        assert len(server.received) == n
    assert again.estimates.equals(run.estimates)
    row = run.estimates.filter(measure="ssi", generator="weak", family="geocultural").row(0, named=True)
    assert (row["n"], row["excluded"]) == (1, '{"refused by the generator": 36}')
    assert row["bound_low"] == pytest.approx(row["value"] / 2)
    assert row["bound_high"] == pytest.approx(row["value"] / 2 + 0.5)
    others = run.estimates.filter(pl.col("generator") != "weak", measure="ssi")
    assert others["n_excluded"].sum() == 0


def test_another_wording_of_an_item_asks_its_family_again_and_no_other(tmp_path: Path) -> None:
    def rubric(text: str) -> None:
        items = f"  - {{id: a, families: [occupational], text: {text}}}\n"
        other = "  - {id: b, families: [adjectival], text: Old?}\n"
        (tmp_path / "mine.yaml").write_text(f"items:\n{items}{other}")

    with Loopback(judge=SetJudge(share)) as server:
        judge = {"judge": "openai:judge", "base_url": server.url, "rubric": "mine.yaml"}
        made = json.loads(audit(server.url, 1, measures=["ssi"], annotators=[judge]))
        made["prompts"] = [p for p in made["prompts"] if p["family"] != "geocultural"]
        rubric("Young?")
        st.Audit.from_text(json.dumps(made), base=tmp_path).run(tmp_path / "run")
        n = len(server.received)
        rubric("Very young?")
        run = st.Audit.from_text(json.dumps(made), base=tmp_path).run(tmp_path / "run")
        asked = [take_apart(one.body).text for one in server.received[n:]]
    assert len(asked) == 6
    assert all("Very young?" in text and "Old?" not in text for text in asked)
    assert run.estimates.filter(measure="ssi").height == 4


def test_fewer_pictures_than_a_set_has_are_refused_before_any_is_drawn() -> None:
    text = audit("http://127.0.0.1:1", 1, images_per_prompt=3)
    with pytest.raises(
        AuditFileError, match="a set is of 4 pictures of a prompt, found at most 3; raise `images"
    ):
        st.Audit.from_text(text).plan()


@pytest.mark.slow
def test_the_papers_protocol_finds_what_is_planted_by_family_and_model(tmp_path: Path) -> None:
    judge = SetJudge(share)
    models = ("strong", "weak", "third")
    with Loopback(judge=judge) as server:
        entry = {"base_url": server.url, "rubric": FAMILIES, "query": "query"}
        one = [{"judge": "openai:judge", **entry}]
        made = json.loads(audit(server.url, 34, annotators=one, measures=["ssi", "item_flip_rate"]))
        made["generators"] = [{"images": f"openai:{name}", "base_url": server.url} for name in models]
        run = st.Audit.from_text(json.dumps(made)).run(tmp_path / "run")
        assert len(server.received) == 1200 + 900
    found = run.estimates.filter(measure="ssi")
    assert found.height == 9
    inside = 0
    for row in found.iter_rows(named=True):
        items = rubric_named([row["family"]]).items
        expected = sum(share(row["generator"], "", item.id) for item in items) / len(items)
        inside += row["low"] <= expected <= row["high"]
        assert row["n"] in (33, 34)
    assert inside >= 7
    assert run.estimates.filter(measure="item_flip_rate", attribute="all")["value"].to_list() == [0.0]
