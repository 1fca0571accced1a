"""Pairs of colours: the shares asked for, and equal colours as rarely as those allow."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stereotrope.generate.calibrated.chance import partners

COLOURS = "abcde"


def joint(p: dict[str, float], q: dict[str, float]) -> dict[tuple[str, str], float]:
    given = partners(tuple(p.items()), tuple(q.items()))
    return {(i, j): p[i] * share for i in p for j, share in given[i].items()}


def column(pairs: dict[tuple[str, str], float], colour: str) -> float:
    return sum(share for (_, j), share in pairs.items() if j == colour)


def test_shares_without_a_common_colour_are_independent() -> None:
    pairs = joint({"a": 0.3, "b": 0.7}, {"c": 0.4, "d": 0.6})
    assert pairs == pytest.approx({("a", "c"): 0.12, ("a", "d"): 0.18, ("b", "c"): 0.28, ("b", "d"): 0.42})


def test_two_colours_with_shares_of_a_half_swap() -> None:
    assert joint({"a": 0.5, "b": 0.5}, {"a": 0.5, "b": 0.5}) == pytest.approx(
        {("a", "b"): 0.5, ("b", "a"): 0.5}
    )


def test_equal_colours_come_only_as_often_as_the_shares_force() -> None:
    pairs = joint({"a": 0.8, "b": 0.2}, {"a": 0.6, "b": 0.4})
    assert pairs == pytest.approx({("a", "a"): 0.4, ("a", "b"): 0.4, ("b", "a"): 0.2})


def test_one_colour_alone_can_only_meet_itself() -> None:
    assert joint({"a": 1.0}, {"a": 1.0}) == {("a", "a"): 1.0}


weights = st.lists(st.integers(0, 20), min_size=5, max_size=5).filter(any)


@settings(max_examples=150, deadline=None)
@given(weights, weights)
def test_any_shares_are_kept(a: list[int], b: list[int]) -> None:
    p = {c: w / sum(a) for c, w in zip(COLOURS, a, strict=True) if w}
    q = {c: w / sum(b) for c, w in zip(COLOURS, b, strict=True) if w}
    pairs = joint(p, q)
    for colour in q:
        assert column(pairs, colour) == pytest.approx(q[colour], abs=1e-3)
    equal = sum(share for (i, j), share in pairs.items() if i == j)
    assert equal == pytest.approx(max(0.0, *(p.get(c, 0) + q.get(c, 0) - 1 for c in COLOURS)), abs=1e-3)
