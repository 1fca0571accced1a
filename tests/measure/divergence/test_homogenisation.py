"""Groups drawn alike because each is drawn with less variety."""

from __future__ import annotations

import itertools
import json

import polars as pl
import pytest
from tests.measure import listed

from stereotrope.measure import cds, change, vac

WITHIN = ("generator", "object", "mitigation")


def findings(estimates: pl.DataFrame, labels: pl.DataFrame) -> pl.DataFrame:
    """Findings but what the change of CDS, or of VAC, alone is told as."""
    alone = pl.col("kind").is_in(["stereotype_change", "variety_change"])
    return listed.findings(estimates, labels).filter(~alone)


def labels_of(after: dict[str, dict[str, int]], generator: str = "m") -> pl.DataFrame:
    """Pictures of two groups that differ without mitigation, and with it are as ``after`` says."""
    before = {"men": {"blue": 10, "grey": 6, "red": 4}, "women": {"pink": 10, "grey": 6, "red": 4}}
    rows = [
        (f"{thing}{level}{group}{value}{i}", "product_colour", value, thing, level, group)
        for thing, (level, shown) in itertools.product(
            ("car", "sofa", "cup", "clock", "toaster", "laptop"), (("none", before), ("avoiding", after))
        )
        for group, counts in shown.items()
        for value, n in counts.items()
        # Objects differ a little, so that there is something to tell the change from.
        for i in range(
            n + (thing in ("car", "clock") and value == "grey") + 2 * (thing == "cup" and value == "red")
        )
    ]
    names = ["image_id", "attribute", "value", "object", "mitigation", "group"]
    return pl.DataFrame(rows, schema=names, orient="row").with_columns(
        image_id=pl.concat_str(pl.lit(generator), "image_id"),
        generator=pl.lit(generator),
        dimension=pl.lit("gender"),
    )


def changes(labels: pl.DataFrame) -> pl.DataFrame:
    scores = [
        cds(labels, within=WITHIN, n_permutations=99, n_bootstrap=99),
        vac(labels, within=WITHIN, n_bootstrap=99),
    ]
    return pl.concat([change(x, "mitigation") for x in scores], how="diagonal")


SAME = {"men": {"grey": 18, "red": 2}, "women": {"grey": 14, "red": 6}}
VARIED = {g: {"blue": 4, "pink": 4, "grey": 4, "red": 4, "green": 4} for g in ("men", "women")}


def test_falling_cds_with_rising_vac_is_found_with_its_numbers() -> None:
    labels = labels_of(SAME)
    table = changes(labels)
    found = findings(table, labels)
    assert found["kind"].to_list() == ["homogenisation"]
    assert json.loads(found["scope"][0]) == {"generator": "m", "mitigation": "avoiding"}
    assert found["sentence"][0].startswith(
        "With mitigation “avoiding” the groups differ less and the pictures of each repeat each other more: "
        "CDS beyond its noise floor changes by −"
    )
    row = table.filter(measure="vac_change", generator="m").row(0, named=True)
    assert (
        f"and VAC, corrected for few pictures, by {row['value']:.2f} [{row['low']:.2f}–{row['high']:.2f}]"
        in found["sentence"][0]
    )
    assert "of its mean with “none” over 6 pairs; the smaller of both is 0." in found["sentence"][0]
    shown = labels.filter(pl.col("image_id").is_in(json.loads(found["image_ids"][0])))
    assert shown["mitigation"].unique().to_list() == ["avoiding"]
    assert shown.height == labels.filter(mitigation="avoiding").height


def test_a_model_that_improves_both_is_none() -> None:
    labels = labels_of(VARIED)
    table = changes(labels)
    signs = table.filter(generator="m").filter(pl.col("measure").str.ends_with("_change"))
    assert (signs["value"] < 0).all()
    assert findings(table, labels).height == 0
    both = {row["kind"]: row for row in listed.findings(table, labels).to_dicts()}
    assert {json.loads(row["scope"])["mitigation"] for row in both.values()} == {"avoiding"}
    assert both.keys() == {"stereotype_change", "variety_change"}
    told, varied = both["stereotype_change"], both["variety_change"]
    assert varied["sentence"].startswith(
        "With mitigation “avoiding” the pictures of each group repeat each other less: VAC, corrected for "
        "few pictures, changes by −"
    )
    row = (
        table.filter(measure="cds_change", generator="m")
        .filter(pl.col("dimension").is_null())
        .row(0, named=True)
    )
    assert told["value"] == row["value"]
    assert told["sentence"].startswith(
        "With mitigation “avoiding” the groups differ less: CDS beyond its noise floor changes by −"
    )
    assert "of its mean with “none” over 6 pairs; the change is −" in told["sentence"]


def test_a_mitigation_with_which_groups_differ_more_is_told_as_such() -> None:
    apart = {"men": {"blue": 20}, "women": {"pink": 20}}
    labels = labels_of(apart)
    (told,) = listed.findings(changes(labels), labels).filter(kind="stereotype_change").to_dicts()
    assert told["value"] > 0.2
    assert "the groups differ more" in told["sentence"]


def test_each_model_is_found_by_itself_and_named() -> None:
    labels = pl.concat([labels_of(SAME), labels_of(VARIED, "n")])
    sentences = findings(changes(labels), labels)["sentence"].to_list()
    assert len(sentences) == 1
    assert sentences[0].startswith("m: with mitigation “avoiding”")


@pytest.mark.parametrize(
    ("values", "p", "found"),
    [
        ((-0.2, 0.2), (0.001, 0.01), 1),
        ((-0.2, 0.2), (0.2, 0.01), 0),
        ((-0.2, 0.2), (0.001, None), 0),
        ((-0.2, 0.2), (0.001, 0.2), 0),
        ((0.2, -0.2), (0.001, 0.001), 0),
        ((-0.2, -0.2), (0.001, 0.001), 0),
    ],
)
def test_both_must_change_and_each_be_tested(values, p, found: int) -> None:
    table = pl.DataFrame(
        {
            "measure": ["cds_change", "vac_change"],
            "definition": "paper",
            "generator": "m",
            "mitigation": "avoiding",
            "contrast": "mitigation",
            "reference": "none",
            "attribute": "all",
            "value": values,
            "low": [value - 0.1 for value in values],
            "high": [value + 0.1 for value in values],
            "level": 0.95,
            "p_value": p,
            "n": 6,
        }
    )
    sentences = findings(table, labels_of(SAME))["sentence"].to_list()
    assert len(sentences) == found
    assert all("CDS changes by −0.20 [−0.30 to −0.10] and VAC by 0.20" in text for text in sentences)


def test_two_pairs_make_a_finding_where_their_pictures_tell_it() -> None:
    labels = labels_of(SAME).filter(pl.col("object").is_in(["car", "sofa"]))
    table = changes(labels).filter(generator="m", measure="cds_change")
    assert (table["high"][0] < 0, table["holds_for"][0]) == (True, "these prompts")
    assert "over 2 pairs" in findings(changes(labels), labels)["sentence"][0]
    few = labels.filter(pl.col("image_id").str.ends_with("0"))
    assert findings(changes(few), few).height == 0


def test_a_phrasing_is_no_mitigation_and_one_dimension_is_not_all() -> None:
    table = changes(labels_of(SAME))
    renamed = table.rename({"mitigation": "phrasing"}).with_columns(contrast=pl.lit("phrasing"))
    assert findings(renamed, labels_of(SAME)).height == 0
    of_one = table.filter(pl.col("dimension").is_not_null() | pl.col("measure").str.starts_with("vac"))
    assert findings(of_one, labels_of(SAME)).height == 0


@pytest.mark.parametrize(("by_b", "aside"), [(0.3, "which differs, +0.30"), (-0.25, "−0.25"), (None, "")])
def test_another_annotator_is_told_by_its_number(by_b: float | None, aside: str) -> None:
    """One that sees groups differ more is not “alike”, and one whose change is undefined was not asked."""
    rows = [
        {
            "measure": measure,
            "definition": "excess",
            "generator": "m",
            "mitigation": "avoiding",
            "annotator": annotator,
            "contrast": "mitigation",
            "reference": "none",
            "attribute": "all",
            "value": value,
            "low": None if value is None else value - 0.1,
            "high": None if value is None else value + 0.1,
            "level": 0.95,
            "p_value": None if value is None else 1e-4,
            "n": 6,
        }
        for measure, annotator, value in (
            *(("cds_change", "a", -0.4), ("vac_change", "a", 0.4)),
            *(("cds_change", "b", by_b), ("vac_change", "b", 0.4)),
        )
    ]
    labels = labels_of(SAME)
    both = pl.concat([labels.with_columns(annotator=pl.lit(name)) for name in ("a", "b")])
    found = listed.findings(pl.DataFrame(rows, infer_schema_length=None), both)
    said = dict(found.select("kind", "sentence").iter_rows())
    assert "the groups differ less: CDS" in said["stereotype_change"]
    assert ("by “b”" in said["stereotype_change"]) == bool(aside)
    assert aside in said["stereotype_change"]
    together = said["homogenisation"]
    assert "the change is" not in together
    assert "the groups differ less and" in together
    # The smaller of both is what homogenisation goes by.
    assert ("by “b”, which differs, −0.30" in together) == (by_b == 0.3)
