"""How wide ``stereotrope power`` says that intervals will be, held against formulas and other simulations."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.annotate.lexicon import LexiconAnnotator
from stereotrope.audit.made_run import Making, made_scores
from stereotrope.audit.power import Power
from stereotrope.audit.precision import AuditPrecision, Width
from stereotrope.cli.app import app
from stereotrope.cli.power import _interval
from stereotrope.errors import AuditFileError, UsageError
from stereotrope.lexicon import read_lexicon
from stereotrope.stats import wilson
from stereotrope.suites.reading import audit_template

MODEL = "{{images: 'openai:{name}', base_url: 'http://localhost:1/v1', price: {{image: 0.01}}}}"
YES_NO = """\
prompts: {{template: "a photo of {{thing}}", thing: [{things}]}}
images_per_prompt: {n}
generators: [{models}]
annotators: [{{questions: openai:gpt-4o, attributes: {{shown: ["yes", "no"]}}}}]
measures: [{{share: {{attribute: shown, by: [generator{by}]}}}}]
"""


def yes_no(n: int = 40, things: int = 6, *, by: str = ", thing", models: tuple[str, ...] = ("a",)) -> str:
    """An audit that asks one question of every picture."""
    return YES_NO.format(
        n=n,
        by=by,
        things=", ".join(f"thing {i}" for i in range(things)),
        models=", ".join(MODEL.format(name=name) for name in models),
    )


def precision_of(text: str, half: float = 0.1, icc: float = 0.1) -> AuditPrecision:
    return AuditPrecision(st.Audit.from_text(text).plan(), half, icc)


@pytest.fixture(autouse=True)
def key(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none is used")


def wilson_half(n: int) -> float:
    """Mean of half of Wilson's interval where shares lie evenly: every count is as likely as any."""
    low, high = wilson(np.arange(n + 1), n)
    return float((high - low).mean() / 2)


@pytest.mark.parametrize("n", [10, 40])
def test_intervals_of_shares_are_as_wide_as_wilsons(n: int) -> None:
    (width,) = precision_of(yes_no(n, things=40)).widths
    assert (width.measure, width.by, width.n) == ("share", ("thing",), n)
    assert width.half == pytest.approx(wilson_half(n), rel=0.05)


@pytest.mark.parametrize("half", [0.16, 0.08, 0.04])
def test_as_many_pictures_as_are_named_give_the_interval_that_is_wanted(half: float) -> None:
    precision = precision_of(yes_no(40, things=40), half)
    (width,) = precision.widths
    n = precision.pictures(width)
    assert n is not None
    assert wilson_half(n) == pytest.approx(half, rel=0.06)
    once, twice = precision.price(40), precision.price(80)
    assert once is not None
    assert twice == pytest.approx([2 * cost for cost in once])


def test_where_prompts_are_the_units_more_prompts_are_asked_for_and_not_more_pictures() -> None:
    """Six prompts of 50 pictures that correlate by 0.3: pictures without end leave what prompts differ by."""
    text = yes_no(50, things=6, by="")
    precision = precision_of(text, 0.1, icc=0.3)
    (width,) = precision.widths
    assert precision.pictures(width) is None
    times = precision.prompts(width)
    assert times > 2
    more = precision_of(yes_no(50, things=round(6 * times), by=""), 0.1, icc=0.3)
    # A little less: Student's quantile of few prompts is larger.
    assert 0.07 < more.widths[0].half < 0.11


def test_prompts_of_one_condition_are_alike_by_the_correlation_that_is_given() -> None:
    plan = st.Audit.from_text(yes_no(30, things=40, by="")).plan()
    for icc in (0.0, 0.5):
        made = [made_scores(plan, 1.0, Making([seed], icc)).looks for seed in range(8)]
        shares = [one.group_by("prompt_id").agg((pl.col("value") == "yes").mean())["value"] for one in made]
        spread = np.mean([share.var() / (share.mean() * (1 - share.mean())) for share in shares])
        # Of 30 pictures alone 1/30; of values cut from what correlates by one half, about a third.
        assert spread == pytest.approx(1 / 30 if icc == 0 else 1 / 3, rel=0.3)


def test_models_are_alike_in_what_is_made_up() -> None:
    plan = st.Audit.from_text(yes_no(200, things=30, models=("a", "b"))).plan()
    made = made_scores(plan, 1.0, Making([1], 0.1)).estimates.filter(category="yes")
    one, other = (made.filter(generator=name).sort("thing")["value"] for name in ("a", "b"))
    assert np.corrcoef(one, other)[0, 1] > 0.98


@pytest.mark.parametrize(
    ("suite", "named"),
    [
        ("objects", {"bds", "cds", "vac", "share_difference"}),
        ("everyday", {"female_ratio", "amplification", "stability", "mean_ratio"}),
        ("biasbench", {"cbs", "contextual_diversity", "representation_parity", "gmr", "cas", "vendi"}),
        ("oasis", {"stereotype_score", "stereotype_difference"}),
        ("ssi", {"ssi", "item_share"}),
    ],
)
def test_every_suite_has_intervals_of_its_scores(monkeypatch, suite: str, named: set[str]) -> None:
    monkeypatch.setattr("stereotrope.audit.precision._TOGETHER", 1)
    monkeypatch.setattr("stereotrope.audit.precision._PICTURES", 1)
    precision = precision_of(audit_template(suite))
    widths = precision.widths
    assert named <= {width.measure for width in widths}
    assert all(np.isfinite(half) and half >= 0 for width in widths for half in width.halves.values())
    assert "refusal_rate" not in {width.measure for width in widths}, "nothing is refused in what is made up"


def test_set_scores_are_of_as_many_sets_as_pictures_make() -> None:
    made = made_scores(st.Audit.from_text(audit_template("ssi")).plan(), 3.0, Making([0], 0.1))
    index = made.estimates.filter(measure="ssi", attribute="all").drop_nulls("query")
    assert index["n"].unique().to_list() == [3]


def test_no_picture_breaks_its_prompt_and_all_that_is_asked_is_answered() -> None:
    text = audit_template("objects").replace(
        "  - text\n", "  - {questions: openai:gpt-4o}\n  - {constraints: openai:gpt-4o}\n"
    )
    plan = st.Audit.from_text(text).plan()
    made = made_scores(plan, 1.0, Making([0], 0.1))
    assert made.looks["excluded"].null_count() == made.looks.height
    rates = made.estimates.filter(measure="violation_rate")
    assert rates.height
    assert rates["value"].unique().to_list() == [0.0]


@pytest.mark.parametrize(
    ("halves", "half", "times"),
    [
        ({1.0: 0.2, 2.0: 0.1}, 0.1, 2.0),
        # In between a power: here the width falls as 1/n.
        ({1.0: 0.2, 2.0: 0.1}, 0.2 / 1.5, 1.5),
        # Beyond, as one over the root, where it has come to fall so.
        ({1.0: 0.2, 2.0: 0.2 / 2**0.5}, 0.05, 16.0),
        ({0.5: 0.3, 1.0: 0.2, 2.0: 0.19}, 0.1, None),
        # What is enough already needs no more than the fewest that are known.
        ({0.5: 0.05, 1.0: 0.04, 2.0: 0.03}, 0.1, 0.5),
        # One that is shorter with fewer pictures is so by chance.
        ({0.5: 0.09, 1.0: 0.12, 2.0: 0.12}, 0.1, None),
        ({1.0: 0.2}, 0.1, None),
    ],
)
def test_pictures_are_read_off_the_widths_that_are_known(halves, half: float, times: float | None) -> None:
    found = Width("share", "share", (), None, False, 10, halves).times(half)
    assert found == (None if times is None else pytest.approx(times))


def test_a_lexicon_says_what_may_stand_in_its_lists() -> None:
    lexicon = LexiconAnnotator(read_lexicon("biasbench"))
    of_doctor = lexicon.elements({"prompt": "Doctor"})
    assert set(of_doctor) == set(lexicon.lexicon.prompts["doctor"].lists)
    assert all(of_doctor.values())
    assert lexicon.elements({"prompt": "nobody knows it"}) == {}


def test_people_who_label_a_part_are_left_out(tmp_path) -> None:
    """As if they labelled all, what is corrected by them would seem as sure as they are."""
    rows = [f"{k}.png,a,A cup,{'red' if k % 2 else 'blue'}" for k in range(40)]
    (tmp_path / "labels.csv").write_text("\n".join(["file_name,model,prompt,colour", *rows]))
    (tmp_path / "people.csv").write_text("\n".join(["file_name,colour", *(f"{k}.png,red" for k in range(9))]))
    text = """\
generators: [{labels: labels.csv, name_from: model, prompt: prompt}]
annotators:
  - {labels: labels.csv, name: judge, attributes: [colour]}
  - {labels: people.csv, name: people, attributes: [colour], reference: true}
measures: [{share: {attribute: colour, by: [generator, annotator]}}]
"""
    precision = AuditPrecision(st.Audit.from_text(text, base=tmp_path).plan())
    assert {width.measure for width in precision.widths} == {"share"}


def test_what_cannot_be_made_up_is_refused_in_words(tmp_path) -> None:
    for half, icc, told in (
        (0.0, 0.1, "half must be above 0, found 0.0"),
        (0.1, 1.0, r"icc must lie in \[0, 1\)"),
    ):
        with pytest.raises(UsageError, match=f"precision: {told}"):
            precision_of(yes_no(), half, icc)
    (tmp_path / "labels.csv").write_text(
        "file_name,model,prompt,colour\n1.png,a,A cup,red\n2.png,a,A cup,blue\n"
    )
    text = """\
counted: true
generators: [{labels: labels.csv, name_from: model, prompt: prompt}]
annotators: [{labels: labels.csv, name: judge, attributes: [colour]}]
measures: [{share: colour}]
"""
    plan = st.Audit.from_text(text, base=tmp_path).plan()
    told = r"audit.yaml:1: power: label files are counted, and not read picture by picture; take out `counted"
    for made in (AuditPrecision, Power):
        with pytest.raises(AuditFileError, match=told):
            made(plan)


@pytest.mark.parametrize(
    ("halves", "half", "told"),
    [
        ({1.0: 0.2, 2.0: 0.17}, 0.1, 80),  # still shrinks, by too little to say how far
        ({1.0: 0.2, 2.0: 0.195}, 0.1, None),  # stands: more prompts are asked for
        ({1.0: 0.2, 2.0: 0.141}, 0.1, None),  # 160 are enough
        ({1.0: 0.2, 2.0: 0.141}, 0.001, 5_000),  # they would be, beyond what is told
    ],
)
def test_what_more_pictures_may_bring_is_not_said_to_take_prompts(
    halves: dict[float, float], half: float, told: int | None
) -> None:
    precision = precision_of(yes_no(40, things=2), half)
    width = Width("share", "share", (), None, False, 40, halves)
    assert precision.more_than(width) == told


def test_the_command_says_intervals_where_nothing_is_compared(tmp_path) -> None:
    file = tmp_path / "audit.yaml"
    file.write_text(yes_no(20, things=12), encoding="utf-8")
    words = CliRunner().invoke(app, ["power", str(file), "--within", "0.15"])
    assert words.exit_code == 0, words.output
    assert "Differences: nothing is tested that pictures can be made up for" in words.output
    assert "Intervals of 20 pictures a prompt" in words.output
    told = json.loads(CliRunner().invoke(app, ["power", str(file), "--within", "0.15", "--json"]).output)
    assert "compares labels of pictures" in told["refused"]
    (one,) = told["intervals"]
    assert (one["measure"], one["by"], one["n"]) == ("share", ["thing"], 20)
    assert one["half_width"] == pytest.approx(wilson_half(20), rel=0.1)
    assert wilson_half(one["pictures"]) == pytest.approx(0.15, rel=0.1)
    low, high = one["cost"]
    # Pictures of twelve things at a cent, and what the judge takes.
    assert 0 < one["pictures"] * 12 * 0.01 < low < high


def test_lines_of_two_definitions_say_which_and_prompts_are_never_fewer() -> None:
    made = AuditPrecision(st.Audit.from_text(yes_no()).plan(), 0.1)
    width = Width("share", "share", (), None, False, 10, {0.5: 0.09, 1.0: 0.09, 2.0: 0.12})
    assert made.pictures(width) is None
    assert made.prompts(width) == pytest.approx(1.44)
    one = {"measure": "cbs", "definition": "paper", "all_attributes": False, "mean_over": None, "by": []}
    rest = {"half_width": 0.1, "pictures": 3, "more_than": None, "times_prompts": None, "cost": [0.0, 0.0]}
    assert _interval({**one, **rest}, defined=True)[0] == "cbs, paper"
    assert _interval({**one, **rest}, defined=False)[0] == "cbs"


def test_no_pictures_are_asked_for_where_the_scale_goes_beyond_one() -> None:
    made = AuditPrecision(st.Audit.from_text(yes_no()).plan(), 0.1)
    halves = {1.0: 0.2, 2.0: 0.14}
    share, vendi = (Width(name, name, (), None, False, 10, halves) for name in ("share", "vendi"))
    assert made.pictures(share) == 157
    assert made.pictures(vendi) is made.more_than(vendi) is made.prompts(vendi) is None


def test_intervals_are_the_same_each_time() -> None:
    first, second = (precision_of(yes_no(10)).widths for _ in range(2))
    assert first == second
