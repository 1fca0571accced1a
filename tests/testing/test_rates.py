import pytest

from stereotrope.testing.rates import SlidingWindow, most_within


def test_a_window_lets_its_number_through_and_says_when_the_next_fits():
    window = SlidingWindow(2, 10.0)
    assert [window.wait(at) for at in (0.0, 1.0)] == [0.0, 0.0]
    assert window.wait(4.0) == pytest.approx(6.0)
    assert window.wait(10.0) == 0.0
    assert window.wait(10.5) == pytest.approx(0.5)


def test_a_request_that_was_turned_away_takes_no_room():
    window = SlidingWindow(1, 10.0)
    assert window.wait(0.0) == 0.0
    assert all(window.wait(at) > 0 for at in (2.0, 5.0, 9.9))
    assert window.wait(10.0) == 0.0


def test_the_fullest_window_is_found():
    assert most_within([], 10) == 0
    assert most_within([0, 1, 9.9, 10, 10.5, 30], 10) == 4
    assert most_within([5, 0], 10) == 2
