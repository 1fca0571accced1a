"""Shares and differences where the prompts of a cell were drawn with the same seeds."""

from __future__ import annotations

from itertools import product

import numpy as np
import polars as pl
import pytest
from scipy import optimize, special, stats

from stereotrope import measure
from stereotrope.measure.cell_reading import read_cell_table
from stereotrope.measure.evidence import FindingEvidence, difference_of
from stereotrope.measure.seeds import pictures_by_seed, seeds_of_cells
from stereotrope.measure.tidy import count_alike


def latent(share: float, icc: float) -> float:
    """Correlation of normal variables that gives one of ``icc`` after they are cut at a share."""
    if not icc:
        return 0.0
    at, spread = special.ndtri(share), share * (1 - share)

    def over(r: float) -> float:
        both = stats.multivariate_normal.cdf([at, at], cov=[[1, r], [r, 1]])
        return float((both - share * share) / spread - icc)

    return optimize.brentq(over, 0, 0.999)


def made(
    rng: np.random.Generator,
    shape: tuple[int, int, int],
    share: float,
    icc: float,
    seeds: float,
    of_seed: np.ndarray,
) -> np.ndarray:
    """Whether pictures show a value, by study, prompt and seed; of_seed: what seeds do to it."""
    prompt, seed = latent(share, icc), latent(share, seeds)
    drawn = np.sqrt(1 - prompt - seed) * rng.normal(size=shape)
    drawn += np.sqrt(prompt) * rng.normal(size=(*shape[:2], 1)) + np.sqrt(seed) * of_seed[:, None]
    return drawn < special.ndtri(share)


def framed(**groups: np.ndarray) -> pl.DataFrame:
    """Labels of several studies, each an attribute of its own; groups have prompts of their own."""
    parts = []
    for group, shown in groups.items():
        study, prompt, seed = (of.ravel() for of in np.indices(shown.shape))
        parts.append(
            pl.DataFrame({"study": study, "prompt": prompt, "seed": seed, "shown": shown.ravel()}).select(
                attribute=pl.format("a{}", "study"),
                value=pl.when("shown").then(pl.lit("pink")).otherwise(pl.lit("grey")),
                prompt_id=pl.format("{}-{}", pl.lit(group), "prompt"),
                seed="seed",
                group=pl.lit(group),
            )
        )
    fixed = {"generator": pl.lit("m"), "object": pl.lit("cup"), "excluded": pl.lit(None, pl.String)}
    numbered = pl.concat(parts).with_row_index("image_id")
    return numbered.with_columns(pl.col("image_id").cast(pl.String), **fixed)


def study(
    seed: int, shape: tuple[int, int, int], icc: float, seeds: float, *, both: bool, shares=(0.3, 0.3)
) -> pl.DataFrame:
    """Two groups; both: whether seeds do the same to both."""
    rng = np.random.default_rng(seed)
    of_seeds = rng.normal(size=(2, shape[0], shape[2]))
    first, second = (
        made(rng, shape, s, icc, seeds, of_seeds[0 if both else i]) for i, s in enumerate(shares)
    )
    return framed(base=first, women=second)


def held(table: pl.DataFrame, true: float) -> float:
    return float(((table["low"] <= true) & (table["high"] >= true)).mean())


def test_seeds_of_its_own_for_each_prompt_change_nothing() -> None:
    labels = study(1, (3, 6, 5), 0.1, 0.0, both=True)
    own = labels.with_columns(seed=pl.int_range(labels.height))
    for name in ("share", "share_difference"):
        call = getattr(measure, name)
        assert call(own, value="pink").equals(call(labels.drop("seed"), value="pink"))


def divergences(labels: pl.DataFrame) -> pl.DataFrame:
    found = measure.bds(labels, "group", baseline="base", n_permutations=500, n_bootstrap=1)
    return found.filter(pl.col("attribute") != "all")


def test_seeds_of_its_own_for_each_prompt_change_no_divergence() -> None:
    labels = study(1, (3, 6, 5), 0.1, 0.0, both=True)
    own = labels.with_columns(seed=pl.int_range(labels.height))
    assert divergences(own).equals(divergences(labels.drop("seed")))


@pytest.mark.slow
def test_what_seeds_do_to_one_side_alone_is_no_divergence() -> None:
    labels = study(9, (60, 20, 10), 0.1, 0.15, both=False)
    told, blind = divergences(labels), divergences(labels.drop("seed"))
    rejected = [float((table["p_value"] <= 0.05).mean()) for table in (told, blind)]
    assert rejected[0] <= 0.1 < rejected[1]
    none = [float((table["low"] <= table["floor"]).mean()) for table in (told, blind)]
    assert none[0] >= 0.9 > none[1]
    same = study(9, (60, 20, 10), 0.1, 0.15, both=True)
    assert divergences(same)["floor"].mean() < 0.75 * told["floor"].mean()


def test_seeds_that_one_side_alone_shares_count() -> None:
    labels = study(11, (60, 20, 5), 0.1, 0.2, both=False)
    alone = labels.with_columns(
        seed=pl.when(pl.col("group") == "base").then("seed").otherwise(pl.int_range(pl.len()) + 99)
    )
    rejected = [float((divergences(of)["p_value"] <= 0.05).mean()) for of in (alone, alone.drop("seed"))]
    assert rejected[0] <= 0.1 < rejected[1]


@pytest.mark.parametrize(("prompts", "seeds"), [(20, 10), (8, 5)])
def test_sides_that_have_nothing_in_common_differ_whatever_seeds_may_do(prompts: int, seeds: int) -> None:
    shown = np.ones((1, prompts, seeds), bool)
    apart = framed(base=shown, women=~shown)
    told, blind = divergences(apart), divergences(apart.drop("seed"))
    assert [told["p_value"][0], told["p_least"][0]] == pytest.approx([blind["p_value"][0]] * 2)
    assert told["floor"][0] == pytest.approx(blind["floor"][0])
    assert 0.5 < told["low"][0] < blind["low"][0]
    alike = framed(base=shown, women=shown)
    assert divergences(alike.drop("seed"))["high"][0] < divergences(alike)["high"][0] < 0.4


def test_the_level_of_an_interval_is_no_matter_of_its_test() -> None:
    labels = study(12, (3, 10, 5), 0.1, 0.2, both=False)
    known = {"baseline": "base", "n_permutations": 200, "n_bootstrap": 1}
    one, other = (measure.bds(labels, level=level, **known) for level in (0.8, 0.999))
    assert one.select("p_value", "floor").equals(other.select("p_value", "floor"))
    assert (one["high"] < other["high"]).all()


def test_what_a_row_says_of_seeds_is_what_was_done() -> None:
    labels = study(13, (2, 8, 6), 0.1, 0.2, both=False)
    known = {"baseline": "base", "n_permutations": 100, "n_bootstrap": 1}
    assert measure.bds(labels, **known)["method"].str.contains("shared seeds").all()
    own = labels.with_columns(seed=pl.int_range(pl.len()))
    assert not measure.bds(own, **known)["method"].str.contains("shared seeds").any()


def test_seeds_may_be_texts_and_one_that_is_no_number_is_not_known() -> None:
    labels = study(14, (2, 8, 6), 0.1, 0.2, both=False)
    texts = labels.with_columns(seed=pl.format("s{}", "seed"))
    found = divergences(labels).select("low", "p_value").to_numpy()
    assert divergences(texts).select("low", "p_value").to_numpy() == pytest.approx(found, abs=1e-9)
    sides = [
        FindingEvidence(texts).cell("a0", {"generator": "m", "object": "cup", "group": g})
        for g in ("base", "women")
    ]
    assert difference_of(*sides, "pink", level=0.95)
    lost = pl.when(pl.int_range(pl.len()) % 5 > 0).then(pl.col("seed").cast(pl.Float64))
    none, nan = (labels.with_columns(seed=lost.otherwise(of)) for of in (None, float("nan")))
    assert divergences(none).equals(divergences(nan))


def test_what_seeds_are_called_changes_nothing() -> None:
    labels = study(9, (2, 8, 6), 0.1, 0.3, both=False)
    called = labels.with_columns(seed=(7 - pl.col("seed")) * 10**9)
    for call in (lambda of: measure.share_difference(of, value="pink"), divergences):
        one, other = (call(of).select("low", "high", "p_value").to_numpy() for of in (labels, called))
        assert one == pytest.approx(other, abs=1e-9)


def test_seeds_of_prompts_of_one_picture_each_count() -> None:
    rng = np.random.default_rng(21)
    sides = [made(rng, (60, 16, 5), 0.3, 0.0, 0.2, rng.normal(size=(60, 5))) for _ in range(2)]
    labels = framed(base=sides[0], women=sides[1]).with_columns(prompt_id=pl.format("p{}", "image_id"))
    told, blind = (measure.share_difference(of, value="pink") for of in (labels, labels.drop("seed")))
    assert (told["p_value"] <= 0.05).mean() <= 0.1 < (blind["p_value"] <= 0.05).mean()
    assert held(told, 0.0) >= 0.9 > held(blind, 0.0)
    rejected = [float((divergences(of)["p_value"] <= 0.05).mean()) for of in (labels, labels.drop("seed"))]
    assert rejected[0] <= 0.1 < rejected[1]
    shares = [measure.share(of, value="pink", by=["group"]) for of in (labels, labels.drop("seed"))]
    assert held(shares[0], 0.3) >= 0.85 > held(shares[1], 0.3)
    evidence, scope = FindingEvidence(labels), {"generator": "m", "object": "cup"}
    for row in told.head(3).iter_rows(named=True):
        cells = [evidence.cell(row["attribute"], {**scope, "group": g}) for g in ("women", "base")]
        found = difference_of(*cells, "pink", level=0.95)
        assert found == pytest.approx((row["value"], row["low"], row["high"]), abs=1e-9)


def test_shares_of_prompts_of_one_picture_each_are_as_wide_as_they_vary() -> None:
    rng = np.random.default_rng(22)
    shown = made(rng, (80, 20, 10), 0.3, 0.0, 0.1, rng.normal(size=(80, 10)))
    labels = framed(base=shown).with_columns(prompt_id=pl.format("p{}", "image_id"))
    found = measure.share(labels, value="pink", by=["group"])
    best = 3.92 * np.sqrt(0.21 / 200 * (1 + 19 * 0.1))
    assert 0.95 < (found["high"] - found["low"]).mean() / best < 1.1


def test_a_second_picture_of_few_prompts_is_no_matter() -> None:
    rng = np.random.default_rng(23)
    shown = made(rng, (20, 200, 10), 0.3, 0.0, 0.0, rng.normal(size=(20, 10)))
    number = pl.col("prompt_id").str.split("-").list.last().cast(pl.Int64)
    labels = framed(base=shown).filter((pl.col("seed") - number % 10).is_in([0, 1]))
    second = (pl.col("seed") != number % 10) & (number % 20 != 3)
    one, few = (
        measure.share(of, value="pink", by=["group"])
        for of in (labels.filter(number % 10 == pl.col("seed")), labels.filter(~second))
    )
    wide = [float((of["high"] - of["low"]).mean()) for of in (one, few)]
    assert wide[1] == pytest.approx(wide[0], rel=0.1)


@pytest.mark.parametrize("kept", [1, 4, 5])
def test_tables_read_seeds_of_a_part_of_prompts_as_cells_do(kept: int) -> None:
    part = pl.int_range(pl.len()) * 5 % 7 < kept
    labels = study(15, (1, 12, 8), 0.1, 0.3, both=True).filter(part)
    base = labels.filter(group="base").with_columns(picture=1)
    keys = ("value", "prompt_id", "seed")
    counts = dict(zip(base.select(keys).iter_rows(), base["picture"], strict=True))
    (told,), (across, value) = seeds_of_cells([counts]), pictures_by_seed(counts)
    assert told.weights == pytest.approx(across.crossed(value == "pink", value == "grey").weights)


def test_groups_without_a_baseline_count_what_seeds_do_to_one_alone() -> None:
    labels = study(9, (30, 20, 10), 0.1, 0.3, both=False).with_columns(pl.col("group").replace("base", "men"))
    told, blind = (
        measure.cds(of, dimension=None, n_permutations=500, n_bootstrap=1).filter(attribute="a0")
        for of in (labels, labels.drop("seed"))
    )
    assert (told["high"] - told["low"])[0] > 1.2 * (blind["high"] - blind["low"])[0]
    assert "shared seeds, correlation" in told["method"][0]


def test_a_seed_column_without_prompts_enough_changes_nothing() -> None:
    labels = study(1, (3, 3, 5), 0.1, 0.0, both=True)
    assert measure.share(labels, by=["group"]).equals(measure.share(labels.drop("seed"), by=["group"]))
    # Three seeds cannot tell how seeds differ: the claim is about these.
    few = study(2, (3, 8, 3), 0.1, 0.0, both=True)
    assert measure.share(few, by=["group"]).equals(measure.share(few.drop("seed"), by=["group"]))


def test_pictures_of_one_seed_that_are_alike_widen_a_share() -> None:
    labels = study(3, (1, 20, 10), 0.0, 0.0, both=True)
    of_seed = labels.with_columns(value=pl.when(pl.col("seed") < 4).then(pl.lit("pink")).otherwise("value"))
    plain, alike = (
        measure.share(of, value="pink", by=["group"]).with_columns(width=pl.col("high") - pl.col("low"))
        for of in (labels, of_seed)
    )
    without = measure.share(of_seed.drop("seed"), value="pink", by=["group"])
    assert (alike["width"] > 1.8 * (without["high"] - without["low"])).all()
    assert (plain["width"] < 0.2).all()
    assert "of shared seeds" in alike["method"][0]


def test_what_seeds_do_to_both_sides_cancels_and_to_one_does_not() -> None:
    tables = [
        measure.share_difference(study(4, (30, 20, 10), 0.0, 0.2, both=both), value="pink")
        for both in (True, False)
    ]
    widths = [float((t["high"] - t["low"]).mean()) for t in tables]
    assert widths[1] > 1.4 * widths[0]
    assert "shared seeds, correlation" in tables[0]["method"][0]


def test_findings_and_cells_one_by_one_say_what_the_table_says() -> None:
    labels = study(5, (2, 12, 8), 0.1, 0.2, both=False)
    rows = measure.share_difference(labels, value="pink")
    pictures = FindingEvidence(labels)
    scope = {"generator": "m", "object": "cup"}
    for row in rows.iter_rows(named=True):
        sides = [pictures.cell(row["attribute"], {**scope, "group": g}) for g in ("women", "base")]
        told = difference_of(*sides, "pink", level=0.95)
        assert told == pytest.approx((row["value"], row["low"], row["high"]), abs=1e-9)
    table = read_cell_table(count_alike(labels, factors=["group"]), by=["group"])
    each = [cell.effective("pink", level=0.95)[1] for cell in table.one_by_one()]
    assert each == pytest.approx(table.trials(0.95), rel=1e-9)


def test_findings_over_a_further_factor_learn_from_scopes_like_theirs() -> None:
    """Each scope spoke for itself: of five seeds that do nothing an interval was 2.6 times as wide."""
    rng = np.random.default_rng(31)
    frames = []
    for thing in ("cup", "car"):
        for group in ("base", *"abcdefgh"):
            shown = made(rng, (1, 20, 5), 0.6 if group == "a" else 0.3, 0.1, 0.0, rng.normal(size=(1, 5)))
            one = framed(**{group: shown}).with_columns(object=pl.lit(thing))
            frames.append(one.with_columns(pl.col("image_id", "prompt_id") + f"/{thing}"))
    labels = pl.concat(frames)
    row = measure.share_difference(labels, value="pink", within=("generator",)).filter(group="a")
    evidence, scope = FindingEvidence(labels), {"generator": "m"}
    cells = [evidence.cell("a0", {**scope, "group": g}) for g in ("a", "base")]
    for level, most in ((0.95, 1.2), (0.9999, 1.4)):
        _, low, high = difference_of(*cells, "pink", level=level)
        table = measure.share_difference(labels, value="pink", within=("generator",), level=level)
        told = table.filter(group="a").row(0, named=True)
        assert 1 / most < (high - low) / (told["high"] - told["low"]) < most
    assert row["p_value"].item() < 0.01


def test_missing_labels_leave_seeds_as_they_are() -> None:
    labels = study(6, (20, 12, 8), 0.1, 0.3, both=False)
    lost = labels.with_columns(
        excluded=pl.when(pl.int_range(pl.len()) % 11 == 0).then(pl.lit("unclear")).otherwise(None)
    )
    table = measure.share(lost, value="pink", by=["group"])
    whole = measure.share(labels, value="pink", by=["group"])
    width = [float((t["high"] - t["low"]).mean()) for t in (whole, table)]
    assert width[1] == pytest.approx(width[0], rel=0.06)


def test_shares_over_shared_seeds_cover() -> None:
    labels = study(7, (80, 20, 10), 0.1, 0.1, both=False)
    shares = measure.share(labels, value="pink", by=["group"])
    assert held(shares, 0.3) > 0.9
    assert held(measure.share(labels.drop("seed"), value="pink", by=["group"]), 0.3) < 0.86
    told = measure.share_difference(labels, value="pink")
    assert held(told, 0.0) > 0.88
    assert (told["p_value"] <= 0.05).mean() < 0.12


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 10), (10, 10), (20, 10), (40, 5), (40, 20)])
def test_shares_over_shared_seeds_cover_in_many_cases(shape: tuple[int, int], capsys) -> None:
    """Cells that stand alone, and differences of two; prompts, seeds: covered, and rejected where alike."""
    lines = []
    for seeds, icc in product((0.0, 0.05, 0.1, 0.2), (0.0, 0.1, 0.3)):
        found, widths = {}, {}
        for both in (True, False):
            labels = study(8, (250, *shape), icc, seeds, both=both)
            told = measure.share_difference(labels, value="pink")
            found["both" if both else "one"] = (held(told, 0.0), float((told["p_value"] <= 0.05).mean()))
            widths[both] = float((told["high"] - told["low"]).mean() / (3.92 * told["value"].std()))
        shares = measure.share(labels, value="pink", by=["group"])
        best = 3.92 * float(shares["value"].std())
        width = float((shares["high"] - shares["low"]).mean()) / best
        lines.append(
            f"{shape[0]} prompts, {shape[1]} seeds, correlation {icc}, seeds {seeds}: share "
            f"{held(shares, 0.3):.3f} ×{width:.2f}; difference, seeds alike {found['both'][0]:.3f} "
            f"×{widths[True]:.2f} rejects {found['both'][1]:.3f}; unlike {found['one'][0]:.3f} "
            f"×{widths[False]:.2f} rejects {found['one'][1]:.3f}"
        )
        with capsys.disabled():
            print(f"\n{lines[-1]}", end="", flush=True)
        assert held(shares, 0.3) > 0.88
        assert found["both"][0] > 0.9
        assert found["both"][1] < 0.09
        assert found["one"][1] < 0.12


def drawn(seeds_of_other: list[int | None]) -> pl.DataFrame:
    """Eight prompts with 12 seeds, of which half show the value; the other model as coins fall."""
    rng = np.random.default_rng(5)
    shows, rows = rng.random(12) < 0.5, []
    for prompt in range(8):
        for seed in range(12):
            one = shows[seed] if rng.random() < 0.7 else rng.random() < 0.5
            for model, value, known in (("a", one, seed), ("b", rng.random() < 0.5, seeds_of_other[seed])):
                of = known if known is None or model == "a" else known + 100 * prompt
                rows.append(
                    (f"{model}{prompt}-{seed}", f"p{prompt}", model, "x", ["no", "yes"][int(value)], of)
                )
    columns = ["image_id", "prompt_id", "generator", "attribute", "value"]
    frame = pl.DataFrame(rows, schema={**dict.fromkeys(columns, pl.String), "seed": pl.Int64}, orient="row")
    return frame.with_columns(excluded=pl.lit(None, pl.String))


def difference(labels: pl.DataFrame) -> dict[str, object]:
    asked = {"within": [], "attribute": "x", "group": "generator", "baseline": "a", "value": "yes"}
    return measure.share_difference(labels, **asked).filter(category="yes").row(0, named=True)


@pytest.mark.parametrize("others", [[None] * 12, list(range(12))], ids=["no seeds", "seeds of each prompt"])
def test_seeds_that_one_side_alone_shares_count_in_full(others: list[int | None]) -> None:
    labels = drawn(others)
    seen, blind = difference(labels), difference(labels.with_columns(seed=pl.lit(None, pl.Int64)))
    assert seen["high"] - seen["low"] > 1.4 * (blind["high"] - blind["low"])
    evidence = FindingEvidence(labels)
    cells = (evidence.cell("x", {"generator": model}) for model in "ba")
    assert difference_of(*cells, "yes", level=0.95)[1:] == pytest.approx(
        (seen["low"], seen["high"]), abs=0.005
    )


def test_the_same_labels_give_the_same_bytes_each_time() -> None:
    labels = drawn(list(range(12)))
    assert len({str(difference(labels)) for _ in range(6)}) == 1
    assert len({measure.share(labels).write_csv() for _ in range(6)}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(4, 10), (10, 10), (20, 10), (40, 5), (40, 20)])
def test_divergences_over_shared_seeds_cover_in_many_cases(shape: tuple[int, int], capsys) -> None:
    """Two values (0.3 against 0.3 and against 0.6): covered, width over the middle 95% of what is read."""
    true = float(entropy_gap(0.3, 0.6))
    for seeds, icc, both in product((0.0, 0.05, 0.1, 0.2), (0.0, 0.1, 0.3), (True, False)):
        of = {"both": both}
        null, moved = (
            divergences(study(8, (250, *shape), icc, seeds, **of, shares=shares))
            for shares in ((0.3, 0.3), (0.3, 0.6))
        )
        rejected = float((null["p_value"] <= 0.05).mean())
        covered = float(((moved["adjusted_low"] <= true) & (moved["adjusted_high"] >= true)).mean())
        middle = moved["value"].quantile(0.975) - moved["value"].quantile(0.025)
        width = float((moved["high"] - moved["low"]).mean() / middle)
        case = f"{shape[0]} prompts, {shape[1]} seeds, correlation {icc}, seeds {seeds}"
        with capsys.disabled():
            print(
                f"\n{case}, {both=}: rejects {rejected:.3f}, covered {covered:.3f} x{width:.2f}",
                end="",
                flush=True,
            )
        assert rejected < 0.1
        assert covered > 0.88


def entropy_gap(one: float, other: float) -> float:
    """Jensen–Shannon divergence of two shares, bits."""

    def entropy(p: float) -> float:
        return float(-(p * np.log2(p) + (1 - p) * np.log2(1 - p)))

    return entropy((one + other) / 2) - (entropy(one) + entropy(other)) / 2
