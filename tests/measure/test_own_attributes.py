"""Models and objects that have attributes of their own, as after discovery."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from stereotrope.measure import (
    average,
    bds,
    cds,
    default_rank,
    deterministic_share,
    dominance_shift,
    share,
    share_difference,
    vac,
)
from stereotrope.tables import warnings_of

OWN = {
    ("m1", "car"): ("product_colour", "body_type", "lighting_condition"),
    ("m1", "cup"): ("product_colour", "rim_style", "material_finish"),
    ("m2", "car"): ("product_colour", "body_type", "material_finish"),
    ("m2", "cup"): ("product_colour", "rim_style", "lighting_condition"),
}
GROUPS = {"base": None, "women": "gender", "men": "gender"}
QUICK = {"n_permutations": 40, "n_bootstrap": 40}
N = 12


def values_of(generator: str, attribute: str) -> tuple[str, ...]:
    if attribute == "lighting_condition":
        return ("bright", "dim") if generator == "m1" else ("warm", "cold", "dramatic", "flat")
    return ("x", "y", "z")


@pytest.fixture
def labels() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        (
            f"{generator}{thing}{group}{i}",
            attribute,
            str(rng.choice(values_of(generator, attribute))),
            generator,
            thing,
            dimension,
            group,
        )
        for (generator, thing), attributes in OWN.items()
        for group, dimension in GROUPS.items()
        for i in range(N)
        for attribute in attributes
    ]
    names = ["image_id", "attribute", "value", "generator", "object", "dimension", "group"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.fixture
def taxonomy() -> pl.DataFrame:
    rows = [
        (generator, thing, attribute, value)
        for (generator, thing), attributes in OWN.items()
        for attribute in attributes
        if attribute != "product_colour"
        for value in (*values_of(generator, attribute), "never seen")
    ]
    return pl.DataFrame(rows, schema=["generator", "object", "attribute", "value"], orient="row")


def assert_whole(found: pl.DataFrame, flags: set[str]) -> None:
    assert found["undefined"].null_count() == found.height
    assert {flag for flags in found["flags"] for flag in warnings_of(flags)} - {"no_prompt_id"} <= flags
    assert found["excluded"].null_count() == found.height
    assert found["n_excluded"].fill_null(0).sum() == 0


def test_each_cell_averages_over_the_attributes_that_it_has(labels: pl.DataFrame, taxonomy) -> None:
    for found in (
        bds(labels, **QUICK),
        cds(labels, **QUICK),
        vac(labels, taxonomy=taxonomy, n_bootstrap=40).filter(measure="vac"),
    ):
        assert_whole(found, set())
        factors = [c for c in ("generator", "object", "dimension", "group") if c in found.columns]
        for key, part in found.group_by(factors):
            single = part.filter(pl.col("attribute") != "all")
            assert set(single["attribute"]) == set(OWN[str(key[0]), str(key[1])])
            mean = part.filter(attribute="all").row(0, named=True)
            assert mean["value"] == pytest.approx(single["value"].mean())


def test_a_cell_scores_as_it_does_alone(labels: pl.DataFrame, taxonomy) -> None:
    for measure in (
        lambda x: bds(x, **QUICK),
        lambda x: cds(x, **QUICK),
        lambda x: vac(x, taxonomy=taxonomy, n_bootstrap=40),
        lambda x: deterministic_share(x).filter(measure="dominant_share"),
        dominance_shift,
        lambda x: share_difference(x),
    ):
        whole = measure(labels)
        for generator, thing in OWN:
            alone = measure(labels.filter(generator=generator, object=thing))
            mine = whole.filter(generator=generator, object=thing)
            keys = [c for c in ("measure", "group", "attribute", "category") if c in mine.columns]
            columns = [*keys, "value", "low", "high", "n", "n_excluded", "undefined", "flags"]
            assert mine.select(columns).sort(keys).equals(alone.select(columns).sort(keys))


def test_lists_of_one_attribute_may_differ_between_models(labels: pl.DataFrame, taxonomy) -> None:
    found = vac(labels, taxonomy=taxonomy, n_bootstrap=0).filter(
        measure="vac", attribute="lighting_condition", group="base"
    )
    said = dict(found.select("generator", "method").iter_rows())
    assert said["m1"].startswith("H_max = log2 3: 3 values listed, of which 12 images could show 3")
    assert said["m2"].startswith("H_max = log2 5: 5 values listed, of which 12 images could show 5")
    strict = taxonomy.filter(pl.col("value") != "dim")
    row = vac(labels, taxonomy=strict, n_bootstrap=0).filter(
        measure="vac", attribute="lighting_condition", group="base", generator="m1"
    )
    dim = labels.filter(attribute="lighting_condition", generator="m1", group="base", value="dim").height
    assert row["excluded"].to_list() == [f'{{"invalid": {dim}}}']


def test_no_cell_misses_what_it_was_not_asked(labels: pl.DataFrame) -> None:
    cells = 4 * 3 * 3
    found = deterministic_share(labels)
    assert_whole(found, {"tie"})
    assert found.filter(measure="dominant_share").height == cells
    overall = found.filter(measure="deterministic_share", attribute="all")
    assert overall["n"].to_list() == [cells / 2] * 2
    assert dominance_shift(labels).height == 4 * 2 * 3
    shares = share(labels, by=("generator", "object", "group"))
    assert_whole(shares, set())
    assert_whole(share_difference(labels), set())


def test_a_group_without_an_attribute_of_its_cell_is_still_missed(labels: pl.DataFrame) -> None:
    gone = (pl.col("attribute") == "rim_style") & (pl.col("group") == "women") & (pl.col("generator") == "m1")
    found = share(labels.filter(~gone), by=("generator", "object", "group"))
    undefined = found.filter(pl.col("undefined").is_not_null())
    assert undefined.select("generator", "object", "group", "attribute").unique().rows() == [
        ("m1", "cup", "women", "rim_style")
    ]


def test_ranks_and_means_over_objects_miss_nothing(labels: pl.DataFrame) -> None:
    scores = bds(labels, **QUICK)
    ranks = default_rank(scores, n_permutations=40)
    assert set(ranks["n"]) == {2}
    assert ranks["n_excluded"].sum() == 0
    means = average(scores)
    assert means["n_excluded"].sum() == 0
    n = dict(means.select("attribute", "n").iter_rows())
    assert (n["all"], n["product_colour"], n["body_type"]) == (2, 2, 1)


def test_a_mean_still_misses_a_combination_without_any_score(labels: pl.DataFrame) -> None:
    without = bds(labels.filter((pl.col("generator") != "m2") | (pl.col("object") != "cup")), **QUICK)
    means = average(without).filter(generator="m2", group="women")
    said = dict(means.select("attribute", "excluded").iter_rows())
    assert said["all"] == said["product_colour"] == '{"combination missing": 1}'
