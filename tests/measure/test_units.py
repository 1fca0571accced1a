import numpy as np
import polars as pl
import pytest

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
