"""The mitigations of the objects suite through the calibrated generator, whose truth is written down."""

from __future__ import annotations

import json

import polars as pl
import pytest
from tests.measure.listed import findings

from stereotrope.design import cued_prompts
from stereotrope.generate import CalibratedGenerator
from stereotrope.measure import cds, change, paired_difference, vac
from stereotrope.suites.reading import load_suite

N = 20
OBJECTS = ("car", "cup", "sofa", "clock", "backpack", "toaster", "laptop", "teddy bear")
WITHIN = ("generator", "object", "mitigation")


def planted_labels() -> pl.DataFrame:
    """What is drawn in every picture, as a perfect annotator would label it."""
    suite = load_suite("objects")
    suffixes, templates = suite["known_mitigations"], suite["templates"]
    dimensions = {"gender": suite["dimensions"]["gender"]}
    prompts = cued_prompts(OBJECTS, dimensions, **templates, mitigations=suffixes)
    generator = CalibratedGenerator()
    rows = [
        (
            f"{row['prompt_id']}-{seed}",
            name,
            value,
            row["prompt_id"],
            *(row[f] for f in ("object", "mitigation", "group", "dimension")),
        )
        for row in prompts.to_dicts()
        for seed in range(N)
        for name, value in generator.values(row["text"], seed).items()
        if name in ("product_colour", "background_colour")
    ]
    names = ["image_id", "attribute", "value", "prompt_id", "object", "mitigation", "group", "dimension"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).with_columns(
        generator=pl.lit("calibrated")
    )


@pytest.fixture(scope="module")
def labels() -> pl.DataFrame:
    return planted_labels()


@pytest.fixture(scope="module")
def estimates(labels: pl.DataFrame) -> pl.DataFrame:
    scores = [
        cds(labels, within=WITHIN, n_permutations=99, n_bootstrap=200),
        vac(labels, within=WITHIN, n_bootstrap=200),
    ]
    changes = [change(one, "mitigation") for one in scores]
    return pl.concat(
        [
            *changes,
            *(
                paired_difference(one.filter(measure=name), within=["object"])
                for one, name in zip(scores, ("cds", "vac"), strict=True)
            ),
        ],
        how="diagonal",
    )


def test_the_planted_homogenisation_is_found_and_the_genuine_diversification_is_not(
    labels: pl.DataFrame, estimates: pl.DataFrame
) -> None:
    found = findings(estimates, labels)
    told = [(row["kind"], json.loads(row["scope"])["mitigation"]) for row in found.iter_rows(named=True)]
    assert told[0] == ("homogenisation", "no stereotypes")
    assert sorted(told[1:]) == [
        ("stereotype_change", "no stereotypes"),
        ("stereotype_change", "range of styles"),
        ("variety_change", "no stereotypes"),
        ("variety_change", "range of styles"),
    ]
    alone = found.filter(kind="stereotype_change")["sentence"]
    assert alone.str.contains("the groups differ less: CDS").all()


def test_both_mitigations_bring_groups_together_and_one_makes_pictures_more_varied(
    estimates: pl.DataFrame,
) -> None:
    paired = estimates.filter(pl.col("generator") == "calibrated", measure="paired_difference")
    told = {(row["definition"], row["mitigation"]): row for row in paired.iter_rows(named=True)}
    for mitigation, more in (("no stereotypes", 1), ("range of styles", -1)):
        assert told["cds", mitigation]["value"] < 0
        assert told["cds", mitigation]["p_value"] < 0.01
        assert told["vac", mitigation]["value"] * more > 0
        assert told["vac", mitigation]["n"] == len(OBJECTS)
