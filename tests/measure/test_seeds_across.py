"""Scores of one cell whose prompts were drawn with the same seeds: captions, agreement, concentration."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import special
from tests.measure.test_seeds import framed, latent

from stereotrope import measure
from stereotrope.measure import captions

SHARE = 0.3
Case = tuple[int, int, float, float]
"""Prompts, seeds, and how much of what varies each explains."""
Table = pl.DataFrame
"""``score, true, low, high, method`` of studies."""


def drawn(studies: int, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Whether pictures show a value, by study, prompt and seed; and the share of each study's prompts."""
    prompts, seeds, icc, of_seed = case
    rng = np.random.default_rng([prompts, seeds, round(100 * icc), round(100 * of_seed)])
    a, b, cut = latent(SHARE, icc), latent(SHARE, of_seed), special.ndtri(SHARE)
    prompt = np.sqrt(a) * rng.normal(size=(studies, prompts, 1))
    seed = np.sqrt(b) * rng.normal(size=(studies, 1, seeds))
    picture = np.sqrt(1 - a - b) * rng.normal(size=(studies, prompts, seeds))
    of_prompts = special.ndtr((cut - prompt) / np.sqrt(1 - a)).mean(axis=(1, 2))
    return prompt + seed + picture < cut, of_prompts


def bits(share: float) -> float:
    return float(special.entr([share, 1 - share]).sum() / np.log(2))


CAPTIONS: dict[str, float] = {
    "representation_parity": SHARE,
    "shannon_entropy": bits(SHARE),
    "bias_amplification": 1 - 2 * SHARE,
    "signed_parity": 2 * SHARE - 1,
    "cas": SHARE,
}


def of_captions(labels: pl.DataFrame, _: np.ndarray) -> Table:
    """Each study is a model that was captioned."""
    pink, none = pl.col("value") == "pink", pl.lit([], pl.List(pl.String))
    frame = labels.with_columns(
        generator="attribute",
        caption=pl.lit("a text"),
        stereotype=pl.when(pink).then(pl.lit(["a"])).otherwise(none),
        diversity=pl.when(pink).then(none).otherwise(pl.lit(["b"])),
    )
    parts = []
    for name, true in CAPTIONS.items():
        how = {"by": ["generator"], "n_bootstrap": 300}
        groups = {"attribute": "value", "groups": ["pink", "grey"], "unknown": False}
        rows = getattr(captions, name)(frame, **how, **({} if name == "cas" else groups))
        rows = rows.filter(pl.col("category").is_null() | (pl.col("category") == "pink"))
        parts.append(rows.select("low", "high", "method", score=pl.lit(name), true=pl.lit(true)))
    return pl.concat(parts)


def of_agreement(labels: pl.DataFrame, _: np.ndarray) -> Table:
    """One rater says yes or no as coins fall, the other something else where a picture shows the value."""
    coins = pl.Series(np.random.default_rng(0).random(1 << 18) < 0.5)[labels["image_id"].cast(pl.Int64)]
    wrong = labels["value"] == "pink"
    one, other = (
        labels.drop("group").with_columns(value=says.cast(pl.String), annotator=pl.lit(name))
        for name, says in (("a", coins), ("b", coins ^ wrong))
    )
    with_reference = measure.agreement(other, one)
    rows = pl.concat([with_reference, measure.agreement(pl.concat([one, other]))], how="diagonal")
    chance = rows["definition"].is_in(["accuracy", "observed"])
    true = pl.when(chance).then(1 - SHARE).otherwise(1 - 2 * SHARE)
    return rows.select("low", "high", "method", score="definition", true=true)


def of_concentration(labels: pl.DataFrame, _: np.ndarray) -> Table:
    names = labels["attribute"].unique().to_list()
    rows = measure.vac(labels, taxonomy={name: ["pink", "grey"] for name in names}, n_bootstrap=300)
    rows = rows.filter(pl.col("measure") == "vac_rarefied", pl.col("attribute") != "all")
    m = np.arange(11)
    even = np.array([bits(of / 10) for of in m])
    read, most = (float(special.binom(10, m) * p**m * (1 - p) ** (10 - m) @ even) for p in (SHARE, 0.5))
    return rows.select("low", "high", "method", score=pl.lit("vac_rarefied"), true=pl.lit(1 - read / most))


def embedded(labels: pl.DataFrame) -> pl.DataFrame:
    """Measures of vectors of two kinds."""
    pink = (labels["value"] == "pink").to_numpy()
    noise = np.random.default_rng(0).normal(size=(1 << 18, 6))[labels["image_id"].cast(pl.Int64)]
    vectors = pl.Series(np.eye(6)[np.where(pink, 0, 1)] + 0.3 * noise).cast(pl.List(pl.Float64))
    frame = labels.with_columns(generator="attribute", annotator=pl.lit("e"), vector=vectors)
    both = (measure.mean_similarity, measure.image_vendi)
    return pl.concat([of(frame, by=["generator"]) for of in both], how="diagonal")


def of_embeddings(labels: pl.DataFrame, _: np.ndarray) -> Table:
    """True is what such studies read on average."""
    rows = embedded(labels)
    return rows.select("low", "high", "method", score="measure", true=pl.col("value").mean().over("measure"))


def of_people(labels: pl.DataFrame, _: np.ndarray) -> Table:
    """An annotator is right nine times in ten, and people labelled three pictures in ten."""
    of_image = np.random.default_rng(0).random((1 << 18, 2))[labels["image_id"].cast(pl.Int64)]
    wrong, asked = of_image[:, 0] < 0.1, of_image[:, 1] < 0.3
    other = pl.when(pl.col("value") == "pink").then(pl.lit("grey")).otherwise(pl.lit("pink"))
    said = labels.with_columns(value=pl.when(pl.lit(pl.Series(wrong))).then(other).otherwise("value"))
    people = labels.filter(pl.Series(asked)).select("image_id", "attribute", "value")
    rows = measure.ppi_share(said, people, value="pink", by=[])
    rows = rows.filter(pl.col("measure") == "ppi_share")
    return rows.select("low", "high", "method", score="measure", true=pl.lit(SHARE))


SCORES: dict[str, Callable[[pl.DataFrame, np.ndarray], Table]] = {
    "captions": of_captions,
    "agreement": of_agreement,
    "concentration": of_concentration,
    "embeddings": of_embeddings,
    "people": of_people,
}


def held(table: Table) -> dict[str, float]:
    within = (pl.col("low") <= pl.col("true") + 1e-9) & (pl.col("high") >= pl.col("true") - 1e-9)
    return dict(table.group_by("score", maintain_order=True).agg(within.mean()).iter_rows())


def width(table: Table) -> dict[str, float]:
    wide = (pl.col("high") - pl.col("low")).mean()
    return dict(table.group_by("score", maintain_order=True).agg(wide).iter_rows())


@pytest.mark.slow
@pytest.mark.parametrize("kind", SCORES)
def test_intervals_over_shared_seeds_hold(kind: str) -> None:
    shown, of_prompts = drawn(40, (40, 5, 0.1, 0.2))
    labels = framed(base=shown)
    told, blind = (SCORES[kind](of, of_prompts) for of in (labels, labels.drop("seed")))
    assert min(held(told).values()) >= 0.8
    assert min(held(blind).values()) < 0.8
    assert told["method"].str.contains("shared seeds counted").all()
    assert not blind["method"].str.contains("seeds").any()


@pytest.mark.parametrize("kind", SCORES)
def test_seeds_of_its_own_for_each_prompt_change_nothing(kind: str) -> None:
    shown, of_prompts = drawn(1, (6, 5, 0.1, 0.0))
    labels = framed(base=shown)
    own = labels.with_columns(seed=pl.int_range(labels.height))
    few = labels.with_columns(pl.col("seed") % 3)
    lost = labels.with_columns(seed=pl.when(pl.int_range(pl.len()) > 0).then(pl.col("seed") * 1.0))
    plain = SCORES[kind](labels.drop("seed"), of_prompts)
    for of in (own, few, lost, lost.with_columns(pl.col("seed").fill_null(float("nan")))):
        assert SCORES[kind](of, of_prompts).equals(plain)


@pytest.mark.parametrize("kind", SCORES)
def test_what_seeds_are_called_changes_nothing(kind: str) -> None:
    shown, of_prompts = drawn(2, (8, 6, 0.1, 0.2))
    labels = framed(base=shown)
    called = labels.with_columns(seed=pl.format("s{}", 7 - pl.col("seed")))
    one, other = (SCORES[kind](of, of_prompts) for of in (labels, called))
    for end in ("low", "high"):
        assert one[end].to_numpy() == pytest.approx(other[end].to_numpy(), abs=1e-9)


def test_seeds_that_do_nothing_cost_little_where_there_are_many() -> None:
    shown, of_prompts = drawn(8, (20, 20, 0.1, 0.0))
    labels = framed(base=shown)
    for of in SCORES.values():
        told, blind = (width(of(one, of_prompts)) for one in (labels, labels.drop("seed")))
        assert all(1 <= told[score] / blind[score] < 1.15 for score in told)


@pytest.mark.parametrize("kind", ["embeddings", "concentration"])
def test_where_a_score_is_flat_it_reaches_to_what_half_of_the_seeds_read(kind: str) -> None:
    """Pictures are half of one kind, those of two seeds of four hardly."""
    of_seed = np.array([18, 15, 5, 2])
    shown = (np.arange(20)[:, None] * 7 % 20 < of_seed)[None]
    labels = framed(base=shown)
    if kind == "concentration":
        both = (measure.vac(of, n_bootstrap=300) for of in (labels, labels.filter(pl.col("seed") < 2)))
        rows = [of.filter(pl.col("attribute") == "a0", pl.col("low").is_not_null()) for of in both]
    else:
        rows = [embedded(of) for of in (labels, labels.filter(pl.col("seed") < 2))]
        rows = [of.filter(pl.col("measure") != "image_vendi_normalised") for of in rows]
    told, half = rows
    assert told.height == half.height == 2
    assert (told["low"] <= half["value"]).all()
    assert (told["high"] >= half["value"]).all()


def test_seeds_of_the_pictures_that_count_are_those_that_count() -> None:
    lost = pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit("unclear"))
    labels = framed(base=drawn(1, (12, 8, 0.1, 0.2))[0]).with_columns(excluded=lost)
    kept = labels.filter(pl.col("excluded").is_null())
    for of in (of_captions, of_agreement):
        one, other = (of(frame, np.array([SHARE])).select("low", "high") for frame in (labels, kept))
        assert one.equals(other)


@pytest.mark.parametrize("prompts", [4, 8])
def test_one_caption_that_shows_a_group_has_a_score_and_no_interval(prompts: int) -> None:
    frame = pl.DataFrame({"image_id": list("abcdefgh"), "caption": "text", "seed": [*range(4)] * 2})
    frame = frame.with_columns(gender=pl.Series(["f", *["unknown"] * 7]), prompt_id=pl.int_range(8) % prompts)
    for score in (captions.bias_amplification, captions.kl_from_uniform):
        rows = score(frame, "gender", groups=["f", "m"], unknown=False, by=(), n_bootstrap=99)
        assert rows.select("value", "n", "low", "high").rows() == [(1.0, 1, None, None)]


def test_similarity_over_shared_seeds_stays_on_its_scale() -> None:
    seed = np.tile(np.arange(4), 4)
    vectors = np.eye(2)[(seed == 0).astype(int)].tolist()
    frame = pl.DataFrame({"image_id": np.arange(16).astype(str), "prompt_id": np.repeat(list("abcd"), 4)})
    frame = frame.with_columns(seed=pl.Series(seed), annotator=pl.lit("e"), vector=pl.Series(vectors))
    row = measure.mean_similarity(frame.head(15), by=[], level=0.99999).row(0, named=True)
    assert -1 <= row["low"] <= row["value"] <= row["high"] <= 1
    assert "shared seeds counted" in row["method"]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 10), (10, 5), (20, 10), (40, 5), (40, 20)])
def test_intervals_over_shared_seeds_hold_in_many_cases(shape: tuple[int, int], capsys) -> None:
    """Prompts, seeds: covered, and before seeds counted; how many times as wide."""
    studies, every = 250, dict[str, list[float]]()
    for icc, of_seed in product((0.0, 0.1, 0.3), (0.0, 0.1, 0.2)):
        shown, of_prompts = drawn(studies, (*shape, icc, of_seed))
        labels = framed(base=shown)
        for kind, of in SCORES.items():
            told, blind = (of(one, of_prompts) for one in (labels, labels.drop("seed")))
            found, before, wide, narrow = held(told), held(blind), width(told), width(blind)
            every.setdefault(kind, []).extend(found.values())
            with capsys.disabled():
                for score, part in found.items():
                    grown = wide[score] / narrow[score]
                    print(f"\n{shape} {icc} {of_seed} {score}: {part:.3f} ({before[score]:.3f}) x{grown:.2f}")
    least = {kind: min(of) for kind, of in every.items()}
    assert min(least.values()) > 0.92 - 2.33 * np.sqrt(0.92 * 0.08 / studies), least
    assert min(np.mean(of) for of in every.values()) > 0.93
