"""Strategies of models over the loopback server: planted effects, what was flagged alone, rounds, money."""

import json
import re
import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.audit.cases import Target
from stereotrope.audit.foreseen import foreseen
from stereotrope.audit.mitigating import Mitigation
from stereotrope.cli import app
from stereotrope.errors import BudgetError, IncompleteError, MetadataError, UsageError
from stereotrope.testing import Judge, Loopback

MODELS = ("alpha", "beta")
PINK = ["white", "black", "grey", "red", "blue", "pink"]
AUDIT = """\
prompts:
  - {{text: "cup for men", thing: cup, group: men}}
  - {{text: "cup for women", thing: cup, group: women}}
images_per_prompt: {images}
report: {{figures: false}}
resamples: 100
measures: [share]
generators:
  - {{images: 'openai:alpha', base_url: {url}, key: null, seed: true, price: {{image: 0.01}}}}
  - {{images: 'openai:beta', base_url: {url}, key: null, seed: true, price: {{image: 0.01}}}}
annotators:
  - {{questions: openai:judge, base_url: {url}, key: null, price: {{call: 0.001}}, name: judge,
     attributes: {{product_colour: [white, black, grey, red, blue, pink]}}}}
"""


def said(question, what):
    return json.loads(re.search(what + r': (".*")', question.text)[1])


def writer(question):
    """Adds words that take most of a cue away, as it is planted."""
    query = said(question, "Original prompt")
    return {"reason": "less pink", "prompt": f"{query}, avoiding stereotypical styles"}


def critic(question):
    """Flags prompts for women alone."""
    prompt = said(question, "Prompt")
    biased = "women" in prompt
    text = f"{prompt}, with a wide range of styles" if biased else ""
    return {"reason": "pink" if biased else "nothing", "biased": biased, "prompt": text}


@pytest.fixture(scope="module")
def running():
    with Loopback() as server:
        yield server


@pytest.fixture
def server(running):
    running.judge = {"judge": Judge(), "writer": writer, "critic": critic}
    running.behave()
    return running


@pytest.fixture(scope="module")
def small(running, tmp_path_factory):
    """A run of two pictures a prompt, to be copied."""
    running.judge = {"judge": Judge()}
    return first(running, tmp_path_factory.mktemp("small"))


@pytest.fixture
def folder(small, tmp_path):
    return Path(shutil.copytree(small, tmp_path / "run"))


def entry(server, kind, model, **options):
    return {kind: f"openai:{model}", "base_url": server.url, "key": None, "price": {"call": 0.002}, **options}


def first(server, folder, images=2, text=AUDIT):
    (folder / "audit.yaml").write_text(text.format(url=server.url, images=images))
    st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    return folder / "run"


def asked(server, after=0):
    return Counter((one.kind, one.model) for one in server.received[after:])


def test_planted_effects_are_recovered_and_only_what_was_flagged_is_drawn_and_judged_again(server, tmp_path):
    folder = first(server, tmp_path, images=24)
    before, spent = len(server.received), st.open(folder).spending["cost"].sum()
    strategies = [entry(server, "refine", "writer"), entry(server, "faircritic", "critic")]
    asking = Mitigation(folder, strategies)
    work = foreseen(asking)
    run = asking.run()
    # 2 models × 2 prompts refined, and of each model the one that was flagged.
    assert asked(server, before) == {
        ("chat", "writer"): 4,
        ("chat", "critic"): 4,
        ("images", "alpha"): 24 * 3,
        ("images", "beta"): 24 * 3,
        ("chat", "judge"): 24 * 6,
    }
    low, high = (sum(row.expected.cost[end] for row in work if row.expected) for end in (0, 1))
    # What is kept is the least, and what every flag would cost the most.
    assert (round(low, 6), round(high, 6)) == (0.016 + 96 * 0.011, 0.016 + 192 * 0.011)
    cost = run.spending["cost"].sum() - spent
    assert cost == pytest.approx(0.016 + 144 * 0.011)
    assert low <= cost <= high
    assert any(note.startswith("faircritic: 2 of 4 prompts were kept") for note in run.info["notes"])
    status = run.path / "mitigated.csv"
    rows = pl.read_csv(status).filter(mitigation="faircritic").sort("generator", "query")
    assert rows["status"].to_list() == ["kept", "rewritten"] * 2
    shares = run.scores.filter(measure="share", attribute="product_colour", category="pink")
    for model in MODELS:
        found = {
            (row["mitigation"], row["group"]): (row["value"], row["n"])
            for row in shares.filter(generator=model).to_dicts()
        }
        for row in run.prompts.filter(group="women").to_dicts():
            share, n = found[row["mitigation"], "women"]
            planted = server.plant.shares(model, row["text"])["product_colour"]["pink"]
            assert abs(share - planted) < 3.3 * (planted * (1 - planted) / n) ** 0.5 + 1e-9
        assert found["refine", "women"][0] < found["none", "women"][0]
        assert found.get(("faircritic", "men")) == found.get(("none", "men"))


def test_what_a_critic_chose_is_drawn_again_with_its_own_words_as_a_control(server, folder):
    strategies = [entry(server, "faircritic", "critic"), "redraw:faircritic"]
    asking = Mitigation(folder, strategies)
    work = {(row.verb, row.name): row for row in foreseen(asking)}
    assert work["mitigate", "redraw"].total == 4
    assert work["generate", "alpha"].expected.cost == (0.0, 8 * 0.01)
    n = len(server.received)
    run = asking.run()
    assert asked(server, n)["images", "alpha"] == 4
    rows = pl.read_csv(folder / "mitigated.csv").sort("mitigation", "generator", "query")
    assert rows["status"].to_list() == ["kept", "rewritten"] * 2 + ["kept", "redrawn"] * 2
    images = run.images.join(run.prompts, on="prompt_id")
    alike = images.filter(mitigation="redraw", group="women", generator="alpha")
    assert set(alike["text"]) == {"cup for women"}
    assert alike["seed"].to_list() == [50_000, 50_001]
    assert alike["params"].to_list() == ["{}", "{}"]
    kept = images.filter(mitigation="redraw", group="men", generator="alpha")
    own = images.filter(mitigation="none", group="men", generator="alpha")
    assert kept["sha256"].to_list() == own["sha256"].to_list()
    assert not run.findings["sentence"].str.contains("byte-for-byte").any()
    notes = " ".join(run.info["notes"])
    assert "falls by being drawn again alone: see faircritic beside redraw" in notes
    assert "redraw: 2 of 4" not in notes
    assert not any(row.expected and row.expected.calls for row in foreseen(asking))


def test_rounds_end_where_every_prompt_comes_back_as_it_was(server, folder):
    n = len(server.received)
    Mitigation(folder, [entry(server, "refine", "writer")], rounds=3).run()
    rows = pl.read_csv(folder / "mitigated.csv")
    assert rows.select("mitigation", "status").rows() == [("refine", "rewritten")] * 4
    assert asked(server, n)["chat", "writer"] == 8


def test_without_its_control_a_strategy_that_chooses_is_told_to_have_one(server, folder):
    run = Mitigation(folder, [entry(server, "faircritic", "critic")]).run()
    assert any(note.endswith("compare with redraw:faircritic") for note in run.info["notes"])


def test_two_prompts_that_become_one_text_are_one_picture_each(server, folder):
    def same(question):
        return {"reason": "", "biased": True, "prompt": "a cup for all"}

    server.judge = {"judge": Judge(), "critic": same}
    run = Mitigation(folder, [entry(server, "faircritic", "critic", version="same")]).run()
    images = run.images.join(run.prompts, on="prompt_id").filter(mitigation="faircritic", generator="alpha")
    assert run.images["image_id"].is_unique().all()
    pairs = {group: images.filter(group=group)["sha256"].to_list() for group in ("men", "women")}
    assert len(pairs["men"]) == 2
    assert pairs["men"] == pairs["women"]


def test_rounds_end_where_the_target_is_reached_or_nothing_is_rewritten(server, tmp_path):
    text = AUDIT.replace("measures: [share]", "measures: [{{share: {{value: pink}}}}]")
    folder = first(server, tmp_path, images=6, text=text)
    turns = Counter()

    def slow(question):
        query, prompt = said(question, "Original prompt"), said(question, "Prompt of these pictures")
        turns[prompt] += 1
        words = ", with a wide range of styles" if prompt == query else ", avoiding stereotypical styles"
        # What is given back as it was is kept.
        return {"reason": "less pink", "prompt": query + words + " alone" * prompt.endswith(words)}

    server.judge = {"judge": Judge(), "writer": slow}
    target = Target("share", 0.0)
    asking = Mitigation(folder, [entry(server, "refine", "writer")], target=target, rounds=3)
    run = asking.run()
    rows = pl.read_csv(folder / "mitigated.csv")
    assert rows["round"].max() >= 2
    pink = run.scores.filter(measure="share", category="pink")
    before = {1: "none", 2: "refine", 3: "refine, round 2"}
    for row in rows.to_dicts():
        prompt = run.prompts.filter(prompt_id=row["prompt_id"]).row(0, named=True)
        had = pink.filter(generator=row["generator"], group=prompt["group"], mitigation=before[row["round"]])
        assert row["status"] == ("kept" if had["value"].item() <= 0 else "rewritten")
        assert row["reason"] == ("share at most 0" if row["status"] == "kept" else "less pink")
    # A prompt is asked about once a round and model, and the writer saw what it had made itself.
    assert turns.total() == rows.filter(status="rewritten").height
    n = len(server.received)
    again = Mitigation(folder, [entry(server, "refine", "writer")], target=target, rounds=3).run()
    assert len(server.received) == n
    assert again.estimates.equals(run.estimates)


def test_a_critic_that_keeps_all_in_a_further_round_ends_the_rounds(server, folder):
    Mitigation(folder, [entry(server, "faircritic", "critic")], rounds=3).run()
    rows = pl.read_csv(folder / "mitigated.csv")
    assert Counter(rows["mitigation"]) == {
        "faircritic": 4,
        **{f"faircritic, round {i}": 4 for i in range(2, 4)},
    }
    server.judge = {
        "judge": Judge(),
        "critic": lambda question: {"reason": "", "biased": False, "prompt": ""},
    }
    n = len(server.received)
    calm = Mitigation(folder, [entry(server, "faircritic", "critic", name="calm", version="2")], rounds=3)
    run = calm.run()
    assert asked(server, n) == {("chat", "critic"): 4}
    assert "calm" in set(run.prompts["mitigation"])
    assert "calm, round 2" not in set(run.prompts["mitigation"])


@pytest.mark.parametrize(
    "prompt",
    [
        "{query}: <script>alert(1)</script> =HYPERLINK(1) {{{{7*7}}}} \\input{{x}}",
        "{query} in\nan office",
        "{query}" + ", x" * 3400,
        "{query} \x1b[31m red",
    ],
)
def test_hostile_text_of_a_model_is_inert(server, folder, prompt, reported):

    def hostile(question):
        return {
            "reason": "=HYPERLINK(1)<script>alert(2)</script>",
            "prompt": prompt.format(query="cup for men"),
        }

    server.judge = {"judge": Judge(), "writer": hostile}
    told = CliRunner().invoke(
        app, ["mitigate", str(folder), "--with", json.dumps(entry(server, "refine", "writer"))]
    )
    sound = prompt.startswith("{query}: <script>")
    assert type(told.exception) is (type(None) if sound else IncompleteError)
    page = (folder / "report" / "index.html").read_text()
    assert "<script>alert(" not in page
    assert "\x1b[31m" not in told.stdout + page
    written = (folder / "mitigated.csv").read_text()
    assert "\n=HYPERLINK" not in written
    assert ",=HYPERLINK" not in written
    rows = pl.read_csv(folder / "mitigated.csv")
    # Of the query of the other prompt it is no refinement.
    assert rows.filter(query="cup for women")["status"].to_list() == ["invalid"] * 2
    assert rows.filter(query="cup for men")["status"].to_list() == ["rewritten" if sound else "invalid"] * 2
    notes = " ".join(st.open(folder).info["notes"])
    assert f"refine: {2 if sound else 4} of 4 prompts have no mitigated one" in notes


def test_a_cap_and_a_server_that_fails_keep_what_was_answered(server, folder):
    spent = float(st.open(folder).spending["cost"].sum())
    capped = Mitigation(folder, [entry(server, "refine", "writer", concurrency=1)], max_cost=spent + 0.005)
    with pytest.raises(BudgetError, match="mitigate: refine: 2 of 4 missing"):
        capped.rewrite()
    assert not (folder / "mitigated.csv").exists()
    server.misbehave("unauthorized", times=None, model="writer")
    with pytest.raises(IncompleteError, match="mitigate: refine: 2 of 4 missing"):
        Mitigation(folder, [entry(server, "refine", "writer")]).rewrite()
    server.behave()
    n = len(server.received)
    Mitigation(folder, [entry(server, "refine", "writer")]).run()
    assert asked(server, n)["chat", "writer"] == 2


def test_the_plan_says_the_range_and_does_nothing(server, folder):
    n = len(server.received)
    options = ["--with", json.dumps(entry(server, "faircritic", "critic")), "--rounds", "2", "--plan"]
    told = CliRunner().invoke(app, ["mitigate", str(folder), *options])
    shown = " ".join(told.stdout.split())
    assert told.exit_code == 0
    assert "Price: $0.008–$0.19 " in shown, told.stdout
    assert "draws only what the model finds biased" in shown
    assert len(server.received) == n
    assert not (folder / "mitigated.csv").exists()


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("0.1", "--target must be a measure and a number, found '0.1'"),
        ("ssi=low", "found 'ssi=low'"),
        ("=0.1", "found '=0.1'"),
        ("shares=0.1", "the run has no estimate of 'shares'; did you mean 'share'"),
    ],
)
def test_a_target_that_cannot_be_read_is_told(server, folder, target, message):
    with pytest.raises(UsageError, match=message):
        Mitigation(folder, ["ethical"], target=Target.read(target)).run()


def read(folder):
    return pl.read_csv(folder / "mitigated.csv")


@pytest.mark.parametrize("model", [None, "beta"])
def test_a_prompt_made_to_hold_for_all_models_stays_the_only_one(server, folder, model):
    refine = entry(server, "refine", "writer")
    Mitigation(folder, [refine]).rewrite()
    edited = read(folder)
    own = pl.col("query") == "cup for men"
    if model is None:  # one row for all models
        edited = edited.filter(~own | (pl.col("generator") == "alpha"))
        edited = edited.with_columns(generator=pl.when(~own).then("generator"))
    else:  # one row of a model alone
        edited = edited.filter(~own | (pl.col("generator") == model))
    edited.write_csv(folder / "mitigated.csv")
    foreseen(Mitigation(folder, [refine]))
    run = Mitigation(folder, [refine], rounds=2).run()
    prompts = run.prompts.filter(mitigation="refine", group="men")
    drawn = run.images.join(prompts, on="prompt_id", how="semi")
    assert drawn.group_by("generator").len().sort("generator").rows() == [("alpha", 2), ("beta", 2)]
    if model is None:
        assert read(folder).filter(own, mitigation="refine")["generator"].to_list() == [None]


def test_a_row_for_all_models_is_made_for_those_alone_that_have_none(server, folder):
    Mitigation(folder, ["suffix:in many styles"]).rewrite()
    one = read(folder).filter(query="cup for men").with_columns(generator=pl.lit("beta"), prompt=pl.lit("x"))
    one.write_csv(folder / "mitigated.csv")
    Mitigation(folder, ["suffix:in many styles"]).rewrite()
    assert read(folder).select("generator", "query", "prompt").rows() == [
        ("beta", "cup for men", "x"),
        ("alpha", "cup for men", "cup for men, in many styles"),
        (None, "cup for women", "cup for women, in many styles"),
    ]


def test_what_was_invalid_is_asked_again_where_its_row_is_deleted(server, folder):
    refine = entry(server, "refine", "writer")
    server.judge["writer"] = lambda question: {"reason": "r", "prompt": "Another thing"}
    with pytest.raises(IncompleteError, match="refine: none of 4 prompts has a mitigated one, the first bec"):
        Mitigation(folder, [refine]).run()
    before = len(server.received)
    with pytest.raises(IncompleteError, match=r"Delete its rows from mitigated\.csv, and the same command"):
        Mitigation(folder, [refine]).run()
    assert len(server.received) == before
    server.judge["writer"] = writer
    made = read(folder)
    made.filter(pl.col("generator") == "beta").write_csv(folder / "mitigated.csv")
    Mitigation(folder, [refine]).rewrite()
    assert asked(server, before) == {("chat", "writer"): 2}
    assert dict(read(folder)["status"].value_counts().rows()) == {"invalid": 2, "rewritten": 2}
    read(folder).head(0).write_csv(folder / "mitigated.csv")
    Mitigation(folder, [refine]).rewrite()
    assert asked(server, before) == {("chat", "writer"): 4}  # what was usable comes back as it was


def test_a_strategy_without_any_usable_prompt_ends_with_exit_code_3(server, folder):
    server.judge["writer"] = lambda question: {"reason": "r", "prompt": ""}
    spec = json.dumps(entry(server, "refine", "writer"))
    for more in (["--prompts-only"], []):
        done = CliRunner().invoke(app, ["--quiet", "mitigate", str(folder), "--with", spec, *more])
        assert isinstance(done.exception, IncompleteError)
        assert done.exception.exit_code == 3


def test_the_model_or_the_pictures_of_another_strategy_are_another_strategy(server, folder):
    Mitigation(folder, [entry(server, "refine", "writer")]).rewrite()
    for other in (entry(server, "refine", "critic"), entry(server, "refine", "writer", pictures=2)):
        with pytest.raises(UsageError, match=r"4 of 4 prompts of 'refine' .* are of another strategy"):
            Mitigation(folder, [other])


def test_a_prompt_that_is_kept_is_that_of_the_query_or_of_another_round_of_the_model(server, folder):
    Mitigation(folder, [entry(server, "refine", "writer")]).rewrite()
    edited = read(folder).with_row_index()
    edited = edited.with_columns(status=pl.when(index=0).then(pl.lit("kept")).otherwise("status"))
    edited.drop("index").write_csv(folder / "mitigated.csv")
    with pytest.raises(
        MetadataError, match=r"mitigated\.csv:2: column 'status' says kept, and the prompt is"
    ):
        st.Audit.from_run(folder).run(folder)
