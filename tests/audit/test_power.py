"""What ``stereotrope power`` predicts, held against whole audits that are made up elsewhere."""

from __future__ import annotations

import json
import math
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.measure.made_audits import Made, listed, made_labels
from typer.testing import CliRunner

import stereotrope as st
from stereotrope import measure
from stereotrope.audit.made_shares import drawn_shares, spread_out
from stereotrope.audit.plan import Plan
from stereotrope.audit.power import Power
from stereotrope.audit.representatives import representatives
from stereotrope.audit.simulated import Simulated
from stereotrope.cli.app import app
from stereotrope.errors import AuditFileError, UsageError
from stereotrope.suites.reading import audit_template

AUDIT = """\
suite: objects
objects: [{objects}]
dimensions: {{kind: [{groups}]}}
images_per_prompt: {n}
permutations: 999
generators: [calibrated]
annotators: [colour]
"""
MODELS = "[{images: openai:one, base_url: 'http://localhost:1/v1'}, {images: openai:two, base_url: 'http://localhost:1/v1'}]"
ATTRIBUTES = {"a0": "product_colour", "a1": "background_colour"}
THINGS = ["car", "laptop", "backpack", "cup", "teddy bear", "sofa", "toaster", "clock"]


def audit(n: int = 20, objects: int = 8, groups: int = 9) -> str:
    named = ", ".join(f"g{i}" for i in range(1, groups + 1))
    return AUDIT.format(objects=", ".join(THINGS[:objects]), groups=named, n=n)


@pytest.fixture
def few(monkeypatch) -> None:
    """Few comparisons are made up: what is told is rougher, and told sooner."""
    monkeypatch.setattr("stereotrope.audit.power._PLACES", 80)


QUICK = "measures: [share_difference]\n"
"""Of the measures of the suite, the one that takes least."""


def power_of(text: str, **options) -> Power:
    return Power(st.Audit.from_text(text).plan(), **options)


def simulated_power(power: Power, made: Made, n_audits: int) -> tuple[float, int]:
    """Part of what is planted in whole audits that the list of differences tells, and how much is planted."""
    found = planted = 0
    names = ("bds", "share_difference", "dominance_shift")
    calls = [call for call in power.plan.measures if call.name in names]
    for seed in range(n_audits):
        labels, truth = made_labels(made, seed)
        named = labels.with_columns(
            dimension=pl.when(pl.col("group") != "base").then(pl.lit("kind")),
            annotator=pl.lit("colour"),
            attribute=pl.col("attribute").replace(ATTRIBUTES),
        )
        tables = []
        for call in calls:
            quick = {"n_bootstrap": 0} if "n_bootstrap" in call.arguments else {}
            tables.append(call.info.function(named, **{**call.arguments, **quick}))
        truth = {(*place, ATTRIBUTES[attribute]) for *place, attribute in truth}
        table = pl.concat(tables, how="diagonal")
        told = listed(measure.findings(table, named, limit=100_000, alpha=power.level))
        found, planted = found + len(told & truth), planted + len(truth)
    return found / planted, planted


def simulated(p: list[float] | np.ndarray, least: float = 0.0) -> Simulated:
    return Simulated(np.asarray(p, float), np.full(len(p), least), alike=0.0)


def test_a_comparison_alone_is_found_where_its_p_reaches_the_level() -> None:
    four, nothing = [0.001, 0.01, 0.2, 1.0], [1.0, 1.0]
    assert simulated(four).found(simulated(nothing), 1, 0.0, 0.05) == 0.5
    # Of a hundred, one alone must reach 0.0005; where the others cannot matter, it is 0.05 again.
    assert simulated(four).found(simulated(nothing), 100, 0.0, 0.05) == 0.0
    assert simulated(four).found(simulated(nothing, least=0.9), 100, 0.0, 0.05) == 0.5
    assert simulated(four, least=0.2).found(simulated(nothing), 100, 0.0, 0.05) == 0.0


def test_what_differs_beside_it_makes_a_comparison_easier_to_find() -> None:
    some, nothing = simulated(np.geomspace(1e-8, 0.5, 400)), simulated(np.linspace(0, 1, 1001)[1:])
    found = [some.found(nothing, 2_000, spread, 0.05) for spread in (0.0, 0.01, 0.1, 1.0)]
    assert found == sorted(found)
    # Where all differ, k of m are found at the threshold 0.05·k/m.
    assert found[-1] == pytest.approx(float((some.p <= 0.05 * found[-1]).mean()), abs=0.01)


@pytest.mark.slow
def test_power_is_that_of_whole_audits(monkeypatch) -> None:
    monkeypatch.setattr("stereotrope.audit.power._PLACES", 200)
    n, shift = 20, 0.6
    made = Made(n=n, models=1, objects=8, groups=10, attributes=2, values=(4, 4), planted=0.1, shift=shift)
    power = power_of(audit(n))
    told, planted = simulated_power(power, made, 4)
    sampling = 2.6 * math.sqrt(told * (1 - told) / planted)
    assert power.power(shift, 0.1) == pytest.approx(told, abs=0.05 + sampling)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "shift", "planted"),
    [(20, 0.5, 0.1), (20, 0.6, 0.02), (50, 0.3, 0.1), (50, 0.4, 0.02), (40, 0.5, 0.1)],
)
def test_power_is_that_of_many_whole_audits(n: int, shift: float, planted: float, capsys) -> None:
    made = Made(
        n=n, models=1, objects=8, groups=10, attributes=2, values=(4, 4), planted=planted, shift=shift
    )
    told, differing = simulated_power(power_of(audit(n)), made, 60 if planted > 0.05 else 200)
    predicted = power_of(audit(n)).power(shift, planted)
    sampling = 1.65 * math.sqrt(told * (1 - told) / differing)
    with capsys.disabled():
        print(
            f"\n{n} pictures, shift {shift}, {planted:.0%} differ: predicted {predicted:.2f}, is {told:.2f}"
        )
    assert predicted == pytest.approx(told, abs=0.05 + sampling)


def of_prompts(base: Path, prompts: int, each: int) -> Plan:
    """An audit of eight things and nine groups, with several prompts a condition."""
    rows = [
        f"a {k} {thing} for {group},{thing},{group}"
        for thing in THINGS
        for group in ("base", *(f"g{i}" for i in range(1, 10)))
        for k in range(prompts)
    ]
    (base / "prompts.csv").write_text("\n".join(["text,object,group", *rows]), encoding="utf-8")
    text = f"""\
prompts: prompts.csv
baseline: {{group: base}}
images_per_prompt: {each}
permutations: 9999
generators: [calibrated]
annotators: [colour]
measures: [bds, share_difference, dominance_shift]
"""
    return st.Audit.from_text(text, base=base).plan()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("prompts", "each", "icc", "shift", "planted"),
    [(5, 10, 0.1, 0.6, 0.1), (10, 4, 0.3, 0.6, 0.1), (10, 10, 0.1, 0.4, 0.1), (3, 10, 0.1, 0.6, 0.1)],
)
def test_power_over_prompts_is_that_of_whole_audits(
    tmp_path, capsys, prompts: int, each: int, icc: float, shift: float, planted: float
) -> None:
    power = Power(of_prompts(tmp_path, prompts, each), icc=icc)
    made = Made(
        n=prompts * each,
        prompts=prompts,
        icc=icc,
        models=1,
        objects=8,
        groups=10,
        attributes=2,
        values=(4, 4),
        planted=planted,
        shift=shift,
    )
    told, differing = simulated_power(power, made, 24)
    predicted = power.power(shift, planted)
    sampling = 1.65 * math.sqrt(told * (1 - told) / differing)
    with capsys.disabled():
        said = f"{prompts} prompts of {each}, correlation {icc}, shift {shift}"
        print(f"\n{said}: predicted {predicted:.2f}, is {told:.2f}")
    assert predicted == pytest.approx(told, abs=0.05 + sampling)


def test_shares_that_are_made_up_lie_evenly() -> None:
    """One of each column in every part of the scale: chance differs less between two simulations."""
    rng = np.random.default_rng(0)
    parts = np.sort((spread_out(rng, 50, 3) * 50).astype(int), axis=0)
    assert (parts == np.arange(50)[:, None]).all()
    shares = drawn_shares(rng, 400, 4)
    assert shares.sum(axis=1) == pytest.approx(1.0)
    assert shares.mean(axis=0) == pytest.approx(0.25, abs=0.01)
    # Even over all that is possible: three others are below u with probability 1 - (1 - u)**3.
    assert (shares < 0.2).mean() == pytest.approx(1 - 0.8**3, abs=0.03)
    assert drawn_shares(rng, 10, 1_000).sum(axis=1) == pytest.approx(1.0)


def test_more_pictures_find_smaller_shifts(few) -> None:
    power = power_of(audit(20, objects=2, groups=2) + QUICK)
    assert power.n_comparisons == 8
    few, many = (power.power(0.5, n=n) for n in (10, 60))
    assert few < many
    smallest = power.smallest()
    assert smallest is not None
    # Of 80 comparisons that are made up, to 0.045.
    assert power.power(smallest) == pytest.approx(0.8, abs=0.09)
    wanted = power.pictures(smallest)
    assert wanted is not None
    assert wanted == pytest.approx(20, abs=7)
    assert power.pictures(0.9) < wanted


def test_the_more_differs_beside_it_the_smaller_a_shift_is_found_and_with_fewer_pictures(
    few, tmp_path
) -> None:
    """Ten prompts a condition: read off places of its own, each, they were 0.90, 0.87 and 0.89."""
    prompts = [f"a {size} {thing}" for size in ("small", "big") for thing in THINGS[:5]]
    rows = [
        "text,group",
        *(f"{prompt} for {group},{group}" for prompt in prompts for group in ("base", "us", "them")),
    ]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = "prompts: prompts.csv\nbaseline: {group: base}\nimages_per_prompt: 2\n"
    text += "generators: [calibrated]\nannotators: [colour]\nmeasures: [share_difference]\n"
    power = Power(st.Audit.from_text(text, base=tmp_path).plan())
    shifts = [power.smallest(spread) for spread in (0.0, 0.3, 0.5)]
    pictures = [power.pictures(0.7, spread) for spread in (0.0, 0.3, 0.5)]
    assert shifts == sorted(shifts, reverse=True)
    assert pictures == sorted(pictures, reverse=True)


@cache
def planned(n: int) -> Plan:
    return st.Audit.from_text(audit(n)).plan()


@pytest.mark.parametrize("needed", [*range(5, 300, 7), 2_000, 6_000])
def test_few_numbers_of_pictures_are_tried(monkeypatch, needed: int) -> None:
    tried = []

    def chance(_: Power, shift: float, spread: float = 0.0, n: int | None = None) -> float:
        tried.append(n)
        return 0.9 if n >= needed else 0.1

    monkeypatch.setattr(Power, "n_comparisons", 100)
    monkeypatch.setattr(Power, "power", chance)
    told = Power(planned(20)).pictures(0.5)
    assert len(set(tried)) <= 10
    if needed > 5_000:
        assert told is None
    else:
        assert needed * 3 / 4 - 1 < told < needed * 4 / 3 + 1


def test_shuffles_that_no_p_rests_on_are_left_out(tmp_path) -> None:
    rows = ["text,group", *(f"a {thing} for {g},{g}" for thing in THINGS[:4] for g in ("base", "us"))]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = "prompts: prompts.csv\nbaseline: {group: base}\nimages_per_prompt: 5\npermutations: 999\n"
    text += "generators: [calibrated]\nannotators: [colour]\nmeasures: [bds]\n"
    powers = power_of(audit(20, objects=2, groups=2)), Power(st.Audit.from_text(text, base=tmp_path).plan())
    shuffles = [{c.name: c.arguments.get("n_permutations") for c in p._testing}["bds"] for p in powers]
    assert shuffles == [1, 999]


def test_an_audit_that_is_too_small_finds_nothing(few) -> None:
    power = power_of(audit(2, objects=2, groups=2) + QUICK)
    assert power.smallest() is None
    assert power.power(1.0) == 0.0


@pytest.mark.slow
def test_pictures_of_several_prompts_tell_less_the_more_they_are_alike(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("stereotrope.audit.power._PLACES", 200)
    rows = [
        "text,group",
        *(f"a {thing} for {group},{group}" for thing in THINGS for group in ("base", "us")),
    ]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = """\
prompts: prompts.csv
baseline: {group: base}
images_per_prompt: 5
permutations: 999
generators: [calibrated]
annotators: [colour]
measures: [share_difference]
"""
    plan = st.Audit.from_text(text, base=tmp_path).plan()
    alone, alike = (Power(plan, icc=icc) for icc in (0.0, 0.5))
    assert (alone.n, alone.most_prompts) == (40, 8)
    assert alike.power(0.6) < alone.power(0.6) - 0.1


def test_models_that_one_file_lists_are_several(tmp_path) -> None:
    rows = [
        f"{model}-{group}-{k}.png,{model},{group},A cup for {group},{'red' if k % 2 else 'blue'}"
        for model in ("a", "b", "c")
        for group in ("base", "us")
        for k in range(6)
    ]
    (tmp_path / "labels.csv").write_text("\n".join(["file_name,model,group,prompt,colour", *rows]))
    text = """\
generators: [{labels: labels.csv, name_from: model, factors: [group], prompt: prompt}]
annotators: [{labels: labels.csv, name: judge, attributes: [colour]}]
baseline: {group: base}
measures: [share_difference]
"""
    power = Power(st.Audit.from_text(text, base=tmp_path).plan())
    assert (power.n, power.n_comparisons) == (6, 3)


def _whole(power: Power) -> int:
    """Comparisons of all conditions of an audit, none of which stands for another."""
    labels = power._labels(power._conditions, 4, 0.0, np.random.default_rng(1))
    return power._compared(labels, power._comparing).height


UNEQUAL = """\
text,thing,style,group
a cup,cup,,base
a cup for us,cup,plain,us
a fine cup for us,cup,fine,us
a cup for them,cup,plain,them
a car,car,,base
a car for us,car,plain,us
a fine car for us,car,fine,us
a clock,clock,plain,base
a clock for them,clock,plain,them
a sofa for us,sofa,plain,us
"""


@pytest.mark.parametrize(
    ("rows", "measures"),
    [
        (UNEQUAL, "baseline: {group: base}\nmeasures: [share_difference]\n"),
        (UNEQUAL, "baseline: {group: base}\nmeasures: [bds, share_difference]\n"),
        # Two factors are compared, each with the levels of the other.
        (
            UNEQUAL,
            "measures: [{share_difference: {group: thing, baseline: cup}}, {bds: {baseline: base}}]\n",
        ),
        (
            "text,thing\na cup,cup\na car,car\n",
            "measures: [{share_difference: {group: thing, baseline: cup}}]\n",
        ),
    ],
)
def test_comparisons_are_counted_as_if_none_stood_for_others(tmp_path, rows: str, measures: str) -> None:
    (tmp_path / "prompts.csv").write_text(rows)
    text = "prompts: prompts.csv\nimages_per_prompt: 4\ngenerators: [calibrated]\nannotators: [colour]\n"
    text += measures
    power = Power(st.Audit.from_text(text, base=tmp_path).plan())
    assert power.n_comparisons == _whole(power) > 0


def test_a_thousand_conditions_that_are_compared_alike_are_counted_on_a_few() -> None:
    """Of 60 things, 8 groups and two models all were compared, in minutes."""
    things = ", ".join(f"thing {i}" for i in range(60))
    power = power_of(audit(groups=8).replace(", ".join(THINGS), things).replace("[calibrated]", MODELS))
    sample, n_parts = representatives(power._conditions, power._others)
    assert (sample.height, list(n_parts.values())) == (9, [120])
    assert power.n_comparisons == 60 * 8 * 2 * len(power._values)


def test_a_factor_may_have_any_name(few, tmp_path) -> None:
    rows = ["text,condition,n_prompts", "a cup,plain,one", "a new cup,new,one"]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = "prompts: prompts.csv\nbaseline: {condition: plain}\nimages_per_prompt: 10\n"
    text += "generators: [calibrated]\nannotators: [colour]\nmeasures: [share_difference]\n"
    assert Power(st.Audit.from_text(text, base=tmp_path).plan()).power(1.0) > 0.9


def test_what_compares_nothing_is_refused() -> None:
    text = audit().replace(
        "annotators: [colour]", "annotators: [colour]\nmeasures: [{share: product_colour}]"
    )
    told = r"audit.yaml:8: power: no measure of this audit compares labels of pictures; add `baseline"
    with pytest.raises(AuditFileError, match=told):
        power_of(text)
    described = audit().replace("[colour]", "[colour]\nmeasures: [vac]")
    told = r"audit.yaml:8: power: no measure of this audit tests a difference of labels; add `baseline"
    with pytest.raises(AuditFileError, match=told):
        power_of(described).power(0.5)
    captions = audit_template("biasbench")
    told = r"power: the measures of this audit take images and captions, and only labels of whole pictures"
    with pytest.raises(AuditFileError, match=told):
        power_of(captions)
    with pytest.raises(UsageError, match=r"power: chance must lie in \[0, 1\), found 1\.2"):
        power_of(audit(), chance=1.2)


def test_conditions_that_differ_in_all_factors_are_compared_by_nothing(tmp_path) -> None:
    """There was a division by the number of comparisons."""
    rows = ["text,thing,group", "a cup,cup,base", "a car for us,car,us", "a sofa for them,sofa,them"]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = "prompts: prompts.csv\nbaseline: {group: base}\nimages_per_prompt: 10\n"
    text += "generators: [calibrated]\nannotators: [colour]\n"
    text += (
        "measures: [{share: {attribute: product_colour, by: [thing]}}, {share_difference: {group: group}}]\n"
    )
    power = Power(st.Audit.from_text(text, base=tmp_path).plan())
    with pytest.raises(AuditFileError, match="power: no measure of this audit tests a difference of labels"):
        power.smallest()
    (tmp_path / "audit.yaml").write_text(text)
    words = CliRunner().invoke(app, ["power", str(tmp_path / "audit.yaml")])
    assert words.exit_code == 0, words.output
    assert "Intervals of 10 pictures a prompt" in words.output


def test_the_command_says_it_in_words_and_for_scripts(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("stereotrope.audit.power._PLACES", 24)
    file = tmp_path / "audit.yaml"
    file.write_text(audit(20, objects=2, groups=2) + QUICK, encoding="utf-8")
    words = CliRunner().invoke(app, ["power", str(file), "--shift", "0.6"])
    assert words.exit_code == 0
    assert "8 comparisons of 20 pictures a condition" in words.output
    assert "one alone" in words.output
    assert "1 in 100" not in words.output, "of eight comparisons one is more"
    told = json.loads(CliRunner().invoke(app, ["power", str(file), "--shift", "0.6", "--json"]).output)
    assert told["comparisons"] == 8
    one = told["found"][0]
    assert 0 <= one["power"] <= 1
    assert one["cost"] == [0, 0]
    assert one["smallest_shift"] <= 0.8


def test_that_more_pictures_of_few_prompts_tell_no_more_is_said(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("stereotrope.audit.power._PLACES", 24)
    monkeypatch.chdir(tmp_path)
    of_prompts(tmp_path, 4, 5)
    text = (
        "prompts: prompts.csv\nbaseline: {group: base}\nimages_per_prompt: 5\ngenerators: [calibrated]\n"
        "annotators: [colour]\n"
    )
    (tmp_path / "audit.yaml").write_text(text + QUICK, encoding="utf-8")
    words = CliRunner().invoke(app, ["power", "audit.yaml"])
    assert words.exit_code == 0, words.output
    said = " ".join(words.output.split())
    assert "more than 5000 – " in said
    assert "More pictures of 4 prompts tell no more beside" in said
    assert "add prompts" in said


def test_shuffles_of_many_prompts_are_as_many_as_p_needs(tmp_path) -> None:
    """With eight pictures of eight prompts, pictures would be the units."""
    rows = ["text,group", *(f"a {thing} for {g},{g}" for thing in THINGS for g in ("base", "us"))]
    (tmp_path / "prompts.csv").write_text("\n".join(rows))
    text = "prompts: prompts.csv\nbaseline: {group: base}\nimages_per_prompt: 5\n"
    text += "generators: [calibrated]\nannotators: [colour]\nmeasures: [bds]\n"
    power = Power(st.Audit.from_text(text, base=tmp_path).plan())
    whole, enough = (calls[0].arguments["n_permutations"] for calls in (power._testing, power._simulating))
    assert whole > enough == 500
    assert power.n_comparisons * 5 / power.level < 500
