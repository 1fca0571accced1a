"""What must hold of every measure, whatever it measures.

The table of properties names every measure of the registry; `test_no_measure_is_forgotten` holds it to that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import polars as pl
import pytest

from stereotrope import measure
from stereotrope.measure import REGISTRY
from stereotrope.measure.contract import bounds_of

GROUPS = ("base", "women", "men")
QUICK = {"n_permutations": 60, "n_bootstrap": 40}
SCOPE = ("generator", "object", "group")

Measure = Callable[[pl.DataFrame], pl.DataFrame]


@cache
def design(seed: int, *, n: int = 12, missing: float = 0.15) -> pl.DataFrame:
    """Random labels of two attributes over 2 models × 2 objects × 3 groups, some unusable."""
    rng = np.random.default_rng(seed)
    rows = []
    for generator in ("m1", "m2"):
        for thing in ("car", "cup"):
            for group in GROUPS:
                shares = rng.dirichlet([0.5] * 3)
                for i in range(n):
                    image = f"{generator}-{thing}-{group}-{i}"
                    gone = rng.uniform() < missing
                    colour = None if gone else ("pink", "grey", "red")[rng.choice(3, p=shares)]
                    gender = ("female", "male", "unclear")[rng.integers(3)]
                    for attribute, value in (("product_colour", colour), ("gender", gender)):
                        rows.append((image, attribute, value, generator, thing, "looks", group))
    names = ("image_id", "attribute", "value", "generator", "object", "dimension", "group")
    frame = pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")
    return frame.with_columns(pl.when(pl.col("group") != "base").then("dimension").alias("dimension"))


def requests(labels: pl.DataFrame) -> pl.DataFrame:
    """Requests whose fate follows from the labels, so that relabelling and copying carry over."""
    colour = labels.filter(attribute="product_colour")
    return colour.with_columns(
        status=pl.when(pl.col("value").is_null()).then(pl.lit("refused")).otherwise(pl.lit("ok"))
    ).drop("attribute", "value")


def reference(labels: pl.DataFrame) -> pl.DataFrame:
    """A second annotator who calls every third image by another value."""
    flipped = pl.col("image_id").str.extract(r"(\d+)").cast(pl.Int64) % 3 == 0
    values = labels.group_by("attribute").agg(pl.col("value").drop_nulls().min().alias("first"))
    return labels.join(values, on="attribute", maintain_order="left").select(
        "image_id", "attribute", value=pl.when(flipped).then("first").otherwise("value")
    )


def checked(labels: pl.DataFrame) -> pl.DataFrame:
    """What the second annotator says of every second image."""
    every_second = pl.col("image_id").str.extract(r"(\d+)").cast(pl.Int64) % 2 == 0
    return reference(labels).filter(every_second)


def raters(labels: pl.DataFrame) -> pl.DataFrame:
    """The annotator beside the second one."""
    named = {name: pl.lit(name).alias("annotator") for name in ("one", "two")}
    both = reference(labels).rename({"value": "second"})
    second = labels.join(both, on=["image_id", "attribute"], maintain_order="left")
    return pl.concat(
        [
            labels.with_columns(named["one"]),
            second.with_columns(named["two"], value=pl.col("second")).drop("second"),
        ]
    )


def claims(labels: pl.DataFrame) -> pl.DataFrame:
    """A text in every image that names one value of each attribute."""
    named = pl.col("attribute").replace_strict({"product_colour": "pink", "gender": "female"})
    return labels.select("image_id", "attribute", named.alias("value"))


def constraints(labels: pl.DataFrame) -> pl.DataFrame:
    """Labels of constraints that follow from the others."""
    names = {"product_colour": "people_present", "gender": "several_products"}
    yes = pl.col("value").is_in(["pink", "female"])
    unknown = pl.col("value").is_null() | (pl.col("value") == "unclear")
    return labels.with_columns(
        pl.col("attribute").replace(names),
        pl.when(unknown).then("value").when(yes).then(pl.lit("yes")).otherwise(pl.lit("no")).alias("value"),
    )


def phrased(labels: pl.DataFrame) -> pl.DataFrame:
    """Every other image of another phrasing."""
    odd = pl.col("image_id").str.extract(r"-(\d+)").cast(pl.Int64) % 2 == 1
    return labels.with_columns(phrasing=pl.when(odd).then(pl.lit("designed for")).otherwise(pl.lit("for")))


def judged(labels: pl.DataFrame) -> pl.DataFrame:
    """The labels of two annotators."""
    keys = ["image_id", "attribute"]
    second = labels.drop("value").join(reference(labels), on=keys, maintain_order="left")
    both = [labels.with_columns(annotator=pl.lit("a")), second.with_columns(annotator=pl.lit("b"))]
    return pl.concat(both, how="diagonal")


def again(labels: pl.DataFrame) -> pl.DataFrame:
    """Labels of constraints, and those of a second look at the same images."""
    both = [constraints(labels), constraints(judged(labels).filter(annotator="b").drop("annotator"))]
    named = [one.with_columns(images="image_id") for one in both]
    second = named[1].with_columns(pl.concat_str("image_id", pl.lit("-again")).alias("image_id"))
    return pl.concat([named[0], second.select(named[0].columns)])


WORDS = {"pink": "a pink dress in a garden", "grey": "grey stones and rain", "red": "a red fire engine"}


def captioned(labels: pl.DataFrame) -> pl.DataFrame:
    """A captions frame that follows from the labels."""
    colours, genders = (labels.filter(attribute=name) for name in ("product_colour", "gender"))
    said, colour = pl.col("value"), pl.col("colour")
    named = pl.when(said == "unclear").then(pl.lit("unknown")).otherwise(said)
    frame = colours.rename({"value": "colour"}).drop("attribute")
    frame = frame.join(genders.select("image_id", "value"), on="image_id", maintain_order="left")
    none = pl.lit([], pl.List(pl.String))
    return frame.with_columns(
        caption=pl.when(said.is_not_null() & colour.is_not_null()).then(
            pl.format("{} {}", colour.replace(WORDS), said)
        ),
        gender=named,
        stereotype=pl.when(colour == "pink").then(pl.lit(["dress"])).otherwise(none),
        diversity=pl.when(colour != "pink").then(pl.lit(["work"])).otherwise(none),
        keyword=pl.when(colour == "grey").then(pl.lit(["stones", "rain"])).otherwise(pl.lit(["stones"])),
    ).drop("value", "colour")


def encoded(labels: pl.DataFrame) -> pl.DataFrame:
    """An embeddings frame that follows from the labels; unusable ones leave a picture without a vector."""
    colour = labels.filter(attribute="product_colour")
    number = pl.col("image_id").str.extract(r"-(\d+)").cast(pl.Float64) / 10.0
    axes = [(pl.col("value") == name).cast(pl.Float64) for name in ("pink", "grey", "red")]
    return colour.with_columns(
        annotator=pl.lit("clip"),
        vector=pl.when(pl.col("value").is_not_null()).then(pl.concat_list(*axes, number)),
        cosine=pl.when(pl.col("value") != "red").then(number / 2.0),
    ).drop("attribute", "value")


def ratios_by(labels: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """Shares of one value by these factors."""
    return measure.share(labels, value="pink", attribute="product_colour", by=by)


def scenario_ratios(labels: pl.DataFrame) -> pl.DataFrame:
    """Shares over six scenarios, the combinations of object and group."""
    scenario = pl.concat_str("object", pl.lit(" "), "group").alias("scenario")
    return ratios_by(labels, SCOPE).with_columns(scenario).drop("object", "group")


SHARES = [
    (f"{thing} {group}", share, "a survey", 2022)
    for thing, shares in (("car", (0.2, 0.7, 0.5)), ("cup", (0.9, 0.4, 0.25)))
    for group, share in zip(GROUPS, shares, strict=True)
]


TRUE_SHARES = pl.DataFrame(
    [
        ("women", "product_colour", "pink", 0.2, 0.1, 0.4, False),
        ("men", "product_colour", "pink", 0.5, None, None, True),
        ("women", "gender", "female", 0.5, 0.5, 0.5, False),
        ("base", "gender", "female", 0.9, 0.8, 0.95, False),
    ],
    schema=["group", "attribute", "category", "reference", "low", "high", "assumed"],
    orient="row",
).with_columns(source=pl.lit("a survey"))


CAPTIONS = {"by": SCOPE, "n_bootstrap": 60}
PEOPLE = {"groups": ("female", "male"), **CAPTIONS}
GARDEN = "pink stones in the rain"


CHECKED = pl.DataFrame(
    [
        ("product_colour", truth, label, 40 if truth == label else 5)
        for truth in ("pink", "grey", "red")
        for label in ("pink", "grey", "red")
    ]
    + [("gender", t, v, 45 if t == v else 5) for t in ("female", "male") for v in ("female", "male")],
    schema=["attribute", "reference_value", "value", "n"],
    orient="row",
)


MEASURES: dict[str, Measure] = {
    "agreement": lambda x: pl.concat(
        [
            measure.agreement(x, reference(x), by=("attribute", "generator")),
            measure.agreement(raters(x), by=("attribute", "generator")),
        ],
        how="diagonal",
    ),
    "amplification": lambda x: measure.amplification(
        scenario_ratios(x),
        pl.DataFrame(SHARES, schema=["scenario", "reference", "source", "year"], orient="row"),
    ),
    "answer_probability": lambda x: measure.answer_probability(
        x.with_columns(confidence=pl.when(pl.col("value") == "pink").then(0.9).otherwise(0.7)),
        "product_colour",
        value="pink",
        other="grey",
        by=SCOPE,
    ),
    "average": lambda x: measure.average(
        measure.share(x, value="pink", attribute="product_colour", by=SCOPE)
    ),
    "bds": partial(measure.bds, **QUICK),
    "bias_amplification": lambda x: measure.bias_amplification(captioned(x), "gender", **PEOPLE),
    "car": lambda x: measure.car(captioned(x), elements=("rain",), column="keyword", by=SCOPE),
    "cas": lambda x: measure.cas(captioned(x), **CAPTIONS),
    "cbs": lambda x: measure.cbs(captioned(x), "gender", **PEOPLE),
    "class_agreement": lambda x: measure.class_agreement(x, reference(x), by=("attribute", "generator")),
    "clip_proxy": lambda x: measure.clip_proxy(captioned(x), GARDEN, **CAPTIONS),
    "cluster_ratio": lambda x: measure.cluster_ratio(
        scenario_ratios(x),
        pl.DataFrame({"scenario": [row[0] for row in SHARES], "cluster": ["a", "a", "b", "b", "b", "c"]}),
        kept=0.2,
    ),
    "contextual_diversity": lambda x: measure.contextual_diversity(
        captioned(x), "gender", keywords=("stones", "rain"), text=GARDEN, **PEOPLE
    ),
    "cds": partial(measure.cds, **QUICK),
    "change": lambda x: measure.change(
        # The excess over a floor, and whether there is any, are of this n.
        measure.cds(phrased(x), within=("generator", "object", "phrasing"), **QUICK).drop("excess"),
        score="value",
    ),
    "corrected_share": lambda x: measure.corrected_share(x, CHECKED, by=SCOPE, n_bootstrap=200),
    "default_rank": lambda x: measure.default_rank(
        # The excess over the floor is of this n.
        measure.bds(x, **QUICK),
        score="value",
        n_permutations=60,
    ),
    "delta": lambda x: measure.delta(
        measure.cbs(captioned(x), "gender", association=False, **PEOPLE), "base", factor="group"
    ),
    "deterministic_share": partial(measure.deterministic_share, min_n=3),
    "dominated": lambda x: measure.dominated(scenario_ratios(x), kept=0.2),
    "dominance_shift": partial(measure.dominance_shift, min_n=3, threshold=0.5),
    "female_ratio": partial(measure.female_ratio, by=SCOPE),
    "gmr": lambda x: measure.gmr(captioned(x), ("stones", "rain"), **CAPTIONS),
    "hallucination": lambda x: measure.hallucination(
        captioned(x), terms=("rain",), column="keyword", by=SCOPE
    ),
    "iemr": lambda x: measure.iemr(captioned(x), ("stones", "rain"), column="keyword", **CAPTIONS),
    "image_vendi": lambda x: measure.image_vendi(encoded(x), by=SCOPE),
    "injection_rate": lambda x: measure.injection_rate(
        x, reference(x), claims(x), by=("attribute", "generator")
    ),
    "mean_ratio": lambda x: measure.mean_ratio(scenario_ratios(x), kept=0.2),
    "mean_similarity": lambda x: measure.mean_similarity(encoded(x), by=SCOPE),
    "model_agreement": lambda x: measure.model_agreement(scenario_ratios(x), kept=0.0),
    "model_deviation": lambda x: measure.model_deviation(scenario_ratios(x), kept=0.2),
    "nonanswer_rate": partial(measure.nonanswer_rate, by=("attribute", "generator")),
    "order_flip_rate": lambda x: measure.order_flip_rate(x, reference(x), by=("attribute", "generator")),
    "judge_correlation": lambda x: measure.judge_correlation(
        measure.bds(judged(x), within=("generator", "object", "annotator"), **QUICK), within=("generator",)
    ),
    "kl_from_uniform": lambda x: measure.kl_from_uniform(captioned(x), "gender", **PEOPLE),
    "parity_difference": lambda x: measure.parity_difference(captioned(x), "gender", **PEOPLE),
    "representation_difference": lambda x: measure.representation_difference(
        # Which group comes first decides which is the reference.
        captioned(x.sort("group")),
        "gender",
        of=("female",),
        groups=("female", "male"),
        group="group",
        prompt="object",
    ),
    "representation_parity": lambda x: measure.representation_parity(
        captioned(x), "gender", groups=("female", "male"), by=SCOPE
    ),
    "shannon_entropy": lambda x: measure.shannon_entropy(captioned(x), "gender", **PEOPLE),
    "signed_parity": lambda x: measure.signed_parity(captioned(x), "gender", **PEOPLE),
    "vendi": lambda x: measure.vendi(captioned(x), **CAPTIONS),
    "paired_difference": lambda x: measure.paired_difference(
        measure.share(phrased(x), value="pink", attribute="product_colour", by=(*SCOPE, "phrasing")),
        "phrasing",
        original="for",
    ),
    "query_alignment": lambda x: measure.query_alignment(encoded(x), by=SCOPE),
    "ppi_difference": lambda x: measure.ppi_difference(x, checked(x), within=("generator", "object")),
    "ppi_share": lambda x: measure.ppi_share(x, checked(x), by=SCOPE),
    "ppi_stereotype_score": lambda x: measure.ppi_stereotype_score(
        x, checked(x), "product_colour", reference=TRUE_SHARES, over="group", within=("generator", "object")
    ),
    "profile": lambda x: measure.profile(
        measure.cbs(captioned(x), "gender", association=False, **PEOPLE), "group"
    ),
    "prompt_alignment": lambda x: measure.prompt_alignment(encoded(x), by=SCOPE),
    "ratio_change": lambda x: measure.ratio_change(scenario_ratios(x), kept=0.2),
    "ratio_entropy": lambda x: measure.ratio_entropy(
        ratios_by(x, SCOPE),
        "object",
        within=("generator", "group"),
    ),
    "refusal_rate": lambda x: measure.refusal_rate(requests(x), "group", by=("generator", "object")),
    "share": partial(measure.share, by=SCOPE),
    "share_difference": measure.share_difference,
    "ssi": lambda x: measure.ssi(constraints(x), by=SCOPE),
    "item_correlation": lambda x: measure.item_correlation(constraints(x), by=SCOPE, n_permutations=60),
    "item_flip_rate": lambda x: measure.item_flip_rate(again(x), by=SCOPE),
    "control_difference": lambda x: measure.control_difference(
        judged(constraints(x)), {"b": "a"}, by=("generator", "object")
    ),
    "ppi_ssi": lambda x: measure.ppi_ssi(judged(constraints(x)), "b", by=("generator", "object")),
    "set_agreement": lambda x: measure.set_agreement(
        judged(constraints(x)), "b", by=("attribute", "generator")
    ),
    "stability": lambda x: measure.stability(
        ratios_by(x, SCOPE),
        "object",
        within=("generator", "group"),
    ),
    "stereotype_score": lambda x: measure.stereotype_score(
        x, TRUE_SHARES, over="group", within=("generator", "object")
    ),
    "stereotype_trend": lambda x: measure.stereotype_trend(
        measure.stereotype_score(
            x, TRUE_SHARES.vstack(TRUE_SHARES.with_columns(group=pl.lit("base")).head(1)), over="group"
        ),
        pl.DataFrame({"group": GROUPS, "covariate": [3.0, 1.0, 2.0]}),
        over="group",
        n_permutations=50,
    ),
    "unfounded_rate": partial(measure.unfounded_rate, known=None, by=("attribute", "generator")),
    "variation_effect": lambda x: measure.variation_effect(ratios_by(x, SCOPE), "object", among="group"),
    "vac": partial(measure.vac, n_bootstrap=40),
    "wals": lambda x: measure.wals(
        encoded(x),
        pl.DataFrame(
            {"attribute": ["hue", "none"], "annotator": "clip", "vector": [[1.0, -1.0, 0.0, 0.5], [0.0] * 4]}
        ),
        over="group",
        within=("generator", "object"),
    ),
    "violation_rate": lambda x: measure.violation_rate(constraints(x), "group", by=("generator", "object")),
}

COUNTS_ONLY = {*("n", "n_reference", "numerator", "denominator", "n_excluded", "excluded", "flags", "method")}
"""Columns that say how much was seen; they change when images are copied, the value does not."""

SIGNED = {"delta": None, "share_difference": "pink", "refusal_rate": None, "violation_rate": None}
"""Measures whose value changes sign when group and baseline change places."""


BY_DOCUMENTS = {"clip_proxy", "contextual_diversity", "vendi", "mean_similarity"}
"""Measures whose TF-IDF weights depend on how many captions there are; or of pairs, to which a copy adds one
that is alike."""

OF_N_TOO = {"default_rank", "dominated", "image_vendi", "vac"}
"""Measures with a further one that depends on n: normalised, corrected or of the ends of intervals."""


@cache
def found_of(name: str, seed: int = 1, *, n: int = 12, missing: float = 0.15) -> pl.DataFrame:
    """What a measure says of a design; several properties are read off the same."""
    return MEASURES[name](design(seed, n=n, missing=missing))


FEW = [(1, 0), *(pytest.param(*more, marks=pytest.mark.slow) for more in [(2, 1), (12, 3)]), (4, 2)]
"""Pictures a cell, and seed, of designs of which much is unusable."""


def found_of_few(name: str, n: int, seed: int) -> pl.DataFrame:
    return found_of(name, seed, n=n, missing=0.5 if n > 1 else 0.1)


def key_columns(found: pl.DataFrame) -> list[str]:
    named = ("generator", "object", "dimension", "phrasing", "annotator", "group", "scenario", "cluster")
    factors = [c for c in named if c in found.columns]
    return ["measure", "definition", *factors, "contrast", "reference", "attribute", "category"]


def tidy(found: pl.DataFrame) -> pl.DataFrame:
    keys = key_columns(found)
    return found.sort(keys, nulls_last=True)


def assert_same(one: pl.DataFrame, two: pl.DataFrame, columns: list[str] | None = None) -> None:
    one, two = tidy(one), tidy(two)
    keys = key_columns(one)
    assert one.select(keys).equals(two.select(keys))
    for name in columns or [
        "value",
        "low",
        "high",
        "p_value",
        "q_value",
        "floor",
        "adjusted",
        "n",
        "n_excluded",
    ]:
        a, b = (x[name].cast(pl.Float64).fill_null(-9.0).to_numpy() for x in (one, two))
        assert a == pytest.approx(b, abs=1e-9), name


every = pytest.mark.parametrize("name", sorted(MEASURES))


def test_no_measure_is_forgotten() -> None:
    assert set(MEASURES) == set(REGISTRY)


@every
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_order_of_the_rows_does_not_matter(name: str, seed: int) -> None:
    shuffled = design(seed).sample(fraction=1, shuffle=True, seed=seed)
    assert_same(found_of(name, seed), MEASURES[name](shuffled))


@every
def test_splitting_and_merging_a_run_does_not_matter(name: str) -> None:
    parts = [design(1).filter(generator=g) for g in ("m2", "m1")]
    assert_same(found_of(name), MEASURES[name](pl.concat(parts)))


@every
def test_other_names_of_images_factors_and_objects_do_not_matter(name: str) -> None:
    renamed = design(1).with_columns(pl.col("generator").replace({"m1": "a model", "m2": "b <script>"}))
    found = MEASURES[name](renamed)
    back = found.with_columns(
        pl.col(c).replace({"a model": "m1", "b <script>": "m2"})
        for c in ["generator", "reference"]
        if c in found.columns
    )
    assert_same(found_of(name), back)


@pytest.mark.parametrize("name", sorted(set(MEASURES) - BY_DOCUMENTS))
def test_copying_every_image_leaves_the_value(name: str) -> None:
    labels = design(1)
    copies = labels.with_columns(pl.concat_str("image_id", pl.lit("-copy")).alias("image_id"))
    twice = MEASURES[name](pl.concat([labels, copies]))
    once = found_of(name)
    if name in OF_N_TOO:
        once, twice = (x.filter(pl.col("measure") == name) for x in (once, twice))
    assert_same(once, twice, ["value"])


def averaged(found: pl.DataFrame) -> pl.DataFrame:
    """Means of these scores over objects, or over groups where they have no object."""
    over = "object" if "object" in found.columns else "group"
    if over not in found.columns:
        return found.clear()
    factors = [c for c in key_columns(found) if c in found.columns]
    found = found.filter(pl.col(over).is_not_null()).unique(factors, keep="first", maintain_order=True)
    return pl.concat([measure.average(one, over) for one in found.partition_by("measure", "definition")])


def outside(found: pl.DataFrame) -> list[tuple]:
    """Numbers of a score that its scale does not have."""
    wrong = []
    for row in found.iter_rows(named=True):
        low, high = bounds_of(row["measure"], row["definition"], difference=row["baseline"] is not None)
        adjusted = (None, 1.0 if row["floor"] is not None else None)
        ends = {**dict.fromkeys(("value", "low", "high", "bound_low", "bound_high"), (low, high))}
        for name, (least, most) in {**ends, "adjusted_low": adjusted, "adjusted_high": adjusted}.items():
            x = row[name]
            if x is not None and (
                (least is not None and x < least - 1e-12) or (most is not None and x > most + 1e-12)
            ):
                wrong.append((row["measure"], row["attribute"], name, x))
    return wrong


@every
@pytest.mark.parametrize(("n", "seed"), FEW)
def test_no_number_of_a_score_lies_beyond_its_scale(name: str, n: int, seed: int) -> None:
    found = found_of_few(name, n, seed)
    assert outside(found) == []
    if name not in ("average", "change", "delta"):
        assert outside(averaged(found)) == []


@pytest.mark.parametrize("definition", ["paper", "released"])
@pytest.mark.parametrize("seed", range(4))
def test_no_number_lies_beyond_the_scale_of_its_definition(definition: str, seed: int) -> None:
    labels = design(seed, n=2, missing=0.1)
    for one in (measure.bds, partial(measure.cds, dimension=None)):
        found = one(labels, definition=definition, **QUICK)
        assert outside(found) == []
        assert outside(averaged(found)) == []


def test_the_names_of_all_rows_have_a_scale_of_the_registry() -> None:
    endless = {"cds_change", "cds_change_t", "cds_change_wilcoxon", "paired_difference", "paired_change"}
    endless |= {"paired_effect", "paired_mean"}
    for name in MEASURES:
        for row in found_of(name)["measure"].unique():
            assert bounds_of(row) != (None, None) or row in endless, row


@every
@pytest.mark.parametrize(("n", "seed"), FEW)
def test_intervals_hold_their_values(name: str, n: int, seed: int) -> None:
    main = found_of_few(name, n, seed).filter(pl.col("measure") != "vac_chao_shen")
    held = main.drop_nulls(["value", "low", "high"])
    assert (held["low"] <= held["high"]).all()
    assert (held["high"] - held["low"] > 0).all()
    if name not in {"bds", "cds", "vac", "default_rank"}:
        assert (held["low"] <= held["value"] + 1e-12).all()
        assert (held["value"] <= held["high"] + 1e-12).all()


@every
def test_what_has_an_interval_or_a_p_says_what_these_hold_for(name: str) -> None:
    # What a true share is known by is no matter of pictures.
    found = found_of(name).filter(pl.col("measure") != "true_share")
    sure = pl.any_horizontal(pl.col(column).is_not_null() for column in ("low", "high", "p_value"))
    scopes = found.filter(sure)["holds_for"]
    assert set(scopes) <= {"these prompts", "prompts like these"}
    assert found.filter(~sure)["holds_for"].null_count() == found.filter(~sure).height


def of_pictures(found: pl.DataFrame, reference: bool) -> pl.DataFrame:
    """What a row is about, in factors of the pictures; of its reference where asked."""
    scope = [c for c in ("generator", "object", "group", "annotator") if c in found.columns]
    rows = found.select(
        *scope, "attribute", "contrast", "reference", "n", "n_reference", "undefined", "value"
    )
    if not reference:
        return rows
    told = pl.col("contrast") == "group"
    return rows.filter(told).with_columns(group=pl.col("reference"), n=pl.col("n_reference"))


COUNT_OTHERS = {
    **dict.fromkeys(("model_agreement", "model_deviation", "variation_effect"), "scenarios"),
    **dict.fromkeys(("amplification", "cluster_ratio", "dominated", "mean_ratio"), "scenarios"),
    "ratio_change": "scenarios",
    "stereotype_trend": "concepts",
    "average": "levels",
    "change": "pairs",
    "paired_difference": "pairs",
    "default_rank": "levels",
    "delta": "as the score",
    "deterministic_share": "cells",
    "judge_correlation": "points",
    "profile": "prompts",
    "ppi_ssi": "answers",
    "corrected_share": "its reference is the checked sample",
}
"""Measures whose n counts something else than pictures."""


@pytest.mark.parametrize("name", sorted(set(MEASURES) - set(COUNT_OTHERS)))
@pytest.mark.parametrize(
    "case",
    [
        "one picture",
        *(pytest.param(of, marks=pytest.mark.slow) for of in ("whole", "no baseline", "one attribute each")),
    ],
)
def test_n_is_never_more_than_the_pictures_there_are(name: str, case: str) -> None:
    labels = design(7, n=3, missing=0.2)
    single = pl.col("image_id").str.ends_with("-0")
    colour = pl.col("attribute") == "product_colour"
    lost = {
        "whole": pl.lit(False),
        "one picture": ~single,
        "no baseline": ~single | (pl.col("group") == "base"),
        "one attribute each": colour == (pl.col("group") == "base"),
    }[case]
    labels = labels.with_columns(pl.when(~lost).then("value").alias("value"))
    found = MEASURES[name](labels)
    assert found["value"].is_null().equals(found["undefined"].is_not_null())
    for reference in (False, True):
        for row in of_pictures(found, reference).iter_rows(named=True):
            inside = [pl.col(c) == row[c] for c in ("generator", "object", "group") if row.get(c) is not None]
            there = labels.filter(*inside)["image_id"].n_unique()
            assert (row["n"] or 0) <= there, (reference, row)
            usable = labels.filter(pl.col("value").is_not_null(), *inside)["image_id"].n_unique()
            if row["undefined"] is not None and name in ("bds", "cds", "vac"):
                assert (row["n"] or 0) <= usable, (reference, row)


@every
@pytest.mark.parametrize(
    "gone",
    [
        "everything",
        "one group",
        *(pytest.param(of, marks=pytest.mark.slow) for of in ("one attribute", "one image a cell")),
    ],
)
def test_a_value_is_null_exactly_where_a_reason_is_given(name: str, gone: str) -> None:
    labels = design(6)
    lost = {
        "everything": pl.lit(True),
        "one group": pl.col("group") == "women",
        "one attribute": pl.col("attribute") == "product_colour",
        "one image a cell": ~pl.col("image_id").str.ends_with("-0"),
    }[gone]
    found = MEASURES[name](labels.with_columns(pl.when(~lost).then("value").alias("value")))
    assert found.height > 0
    assert found["value"].is_null().equals(found["undefined"].is_not_null())
    undefined = found.filter(pl.col("value").is_null())
    for column in ("low", "high", "p_value", "q_value", "floor", "adjusted"):
        assert undefined[column].null_count() == undefined.height, column
    assert not found.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)


@pytest.mark.parametrize("name", sorted(SIGNED))
def test_swapping_group_and_baseline_flips_the_sign(name: str) -> None:
    labels = design(7).filter(pl.col("group") != "men")
    swapped = labels.with_columns(pl.col("group").replace({"base": "women", "women": "base"}))
    one, two = (tidy(MEASURES[name](x)).filter(pl.col("contrast").is_not_null()) for x in (labels, swapped))
    assert one.height > 0
    assert one["value"].to_list() == pytest.approx([-v for v in two["value"]])
    assert one["low"].to_list() == pytest.approx([-v for v in two["high"]])
    assert one["p_value"].to_list() == pytest.approx(two["p_value"].to_list())


@pytest.mark.parametrize("name", ["bds", "cds", "vac", "deterministic_share"])
def test_other_names_of_values_do_not_matter(name: str) -> None:
    labels = design(8)
    other = labels.with_columns(pl.col("value").replace({"pink": "zz", "grey": "aa", "red": "mm"}))
    one, two = MEASURES[name](labels), MEASURES[name](other)
    if name == "deterministic_share":
        one, two = (x.filter(measure="deterministic_share") for x in (one, two))
    assert_same(one, two, ["value", "n", "floor"])


@pytest.mark.parametrize(
    "name",
    sorted(
        set(MEASURES)
        - {"agreement", "average", "change", "default_rank", "delta", "injection_rate", "judge_correlation"}
        - {"paired_difference"}
        - {
            "answer_probability",
            "class_agreement",
            "order_flip_rate",
            "ppi_difference",
            "ppi_share",
            "ppi_stereotype_score",
            "profile",
            "control_difference",
            "item_correlation",
            "item_flip_rate",
            "ppi_ssi",
            "refusal_rate",
            "set_agreement",
            "ssi",
            "violation_rate",
        }
        - {name for name, info in REGISTRY.items() if info.needs.startswith(("captions", "embeddings"))}
    ),
)
def test_pandas_and_arrow_frames_give_the_same(name: str) -> None:
    labels, found = design(1), found_of(name)
    assert_same(found, MEASURES[name](labels.to_pandas()))
    assert_same(found, MEASURES[name](labels.to_arrow()))
