import numpy as np
import polars as pl
import pytest

from stereotrope.measure import female_ratio, refusal_rate, share_difference
from stereotrope.measure.units import claim_of, prompt_codes, units_of


@pytest.mark.parametrize(
    ("sides", "prompts"),
    [([4], True), ([3], False), ([1], False), ([4, 4], True), ([40, 3], False), ([40, 40, 1], False)],
)
def test_prompts_are_the_units_where_every_side_spans_four(sides: list[int], prompts: bool) -> None:
    claim = claim_of(*(dict.fromkeys(range(n), 5) for n in sides))
    assert claim.prompts is prompts
    assert claim.holds_for == ("prompts like these" if prompts else "these prompts")
    assert claim.flags == {"clustered": prompts, "no_prompt_id": False}


def test_prompts_of_one_picture_each_are_no_clusters() -> None:
    claim = claim_of(dict.fromkeys("abcd", 1))
    assert (claim.holds_for, claim.clustered) == ("prompts like these", False)


def test_sides_of_the_same_known_prompts_are_matched() -> None:
    one, other, three = (dict.fromkeys(prompts, 2) for prompts in ("abcd", "abce", "abc"))
    assert claim_of(one, {**one, "a": 5}).matched
    for sides in ((one, other), (one,), (three, three), ({**one, None: 1},) * 2):
        assert not claim_of(*sides).matched


def test_units_are_numbered_over_all_sides() -> None:
    claim, (first, second) = units_of([7, 7, 3, 1, 2], [1, 2, 3, 9])
    assert claim.prompts
    assert (first.tolist(), second.tolist()) == ([3, 3, 2, 0, 1], [0, 1, 2, 4])
    claim, (first, second) = units_of([7, 7], [7, 1])
    assert not claim.prompts
    assert (first.tolist(), second.tolist()) == ([0, 1], [2, 3])


def test_a_frame_that_cannot_tell_is_flagged() -> None:
    frame = pl.DataFrame({"image_id": list("abcde"), "prompt_id": ["q", "p", None, "q", "r"]})
    assert prompt_codes(frame).tolist() == [1, 0, -1, 1, 2]
    assert prompt_codes(frame.drop("prompt_id")).tolist() == [-1] * 5
    for codes in (prompt_codes(frame), prompt_codes(frame.drop("prompt_id"))):
        claim, _ = units_of(codes)
        assert claim.flags == {"clustered": False, "no_prompt_id": True}
        assert claim.holds_for == "these prompts"


def test_pictures_without_a_prompt_are_taken_as_of_one() -> None:
    claim, (units,) = units_of([-1, -1, 0, 1, 2, 3])
    assert claim.prompts
    assert not claim.known
    assert units.tolist() == [0, 0, 1, 2, 3, 4]


def test_nothing_is_no_claim_on_prompts() -> None:
    claim, units = units_of(np.zeros(0))
    assert not claim.prompts
    assert [side.tolist() for side in units] == [[]]
    assert not claim_of().prompts


def drawn(rng: np.random.Generator, scenarios: int, share: float) -> pl.DataFrame:
    """Five wordings of each scenario, four pictures each; scenarios differ, and wordings of one hardly do."""
    shown = rng.beta(2 * share, 2 * (1 - share), scenarios)
    of = np.arange(scenarios).repeat(20)
    return pl.DataFrame(
        {"female": rng.random(of.size) < shown[of], "scenario": of, "picture": np.arange(of.size)}
    ).select(
        image_id=pl.format("i{}", "picture"),
        prompt_id=pl.format("p{}", pl.col("picture") // 4),
        scenario=pl.format("s{}", "scenario"),
        generator=pl.lit("m"),
        attribute=pl.lit("gender"),
        value=pl.when("female").then(pl.lit("female")).otherwise(pl.lit("male")),
        status=pl.when("female").then(pl.lit("refused")).otherwise(pl.lit("ok")),
    )


@pytest.mark.slow
def test_what_spans_scenarios_is_held_as_it_is_of_other_scenarios() -> None:
    rng, held, by_prompt = np.random.default_rng(6), [], []
    for _ in range(25):
        frame = drawn(rng, 12, 0.4)
        ratio, alone = (female_ratio(one).row(0, named=True) for one in (frame, frame.drop("scenario")))
        refusals = refusal_rate(frame.drop("attribute", "value")).row(0, named=True)
        assert [refusals[name] for name in ("low", "high")] == [ratio[name] for name in ("low", "high")]
        assert ratio["method"] == "Beta-binomial; likelihood over 12 units"
        held.append(ratio["low"] <= 0.4 <= ratio["high"])
        by_prompt.append(alone["low"] <= 0.4 <= alone["high"])
    assert np.mean(held) >= 0.9
    assert np.mean(by_prompt) < 0.8


def test_two_models_asked_for_the_same_scenarios_are_matched_by_them() -> None:
    rng = np.random.default_rng(3)
    one = drawn(rng, 12, 0.4)
    again = pl.format("{} again", "image_id"), pl.format("{} again", "prompt_id")
    other = one.with_columns(image_id=again[0], prompt_id=again[1], generator=pl.lit("n"))
    both = pl.concat([one, other]).drop("status")
    table = share_difference(both, group="generator", baseline="m", value="female", within=())
    row = table.row(0, named=True)
    assert "correlation" in row["method"]
    assert (row["value"], row["p_value"]) == (0, 1)
    # A scenario that is asked for alone is one of its wordings.
    alone = female_ratio(one, by=["scenario"]).row(0, named=True)
    assert "over 5 units" in alone["method"]


def test_too_few_scenarios_leave_prompts_the_units() -> None:
    row = female_ratio(drawn(np.random.default_rng(3), 3, 0.4)).row(0, named=True)
    assert "over 15 units" in row["method"]
