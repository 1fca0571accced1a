"""How images are drawn is chosen by what it costs, which nowhere jumps up."""

from __future__ import annotations

from itertools import pairwise

import pytest

from stereotrope.stats.draw_costs import ONE_BY_ONE, few, redrawing, share_digits, shuffling

ROWS = {"two": lambda n: 2, "up to 1,296": lambda n: min(n, 1296), "as many as images": lambda n: n}


@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("columns", [2, 48])
def test_no_further_picture_makes_drawing_cost_a_fifth_more(rows, columns):
    costs = [shuffling((n // 2, n - n // 2), rows(n), columns)[1] for n in range(20, 3_000)]
    assert max(after / before for before, after in pairwise(costs)) < 1.2
    for groups in (1, 10):
        again = [redrawing(n, rows(n), columns, groups=groups)[1] for n in range(20, 3_000)]
        assert max(after / before for before, after in pairwise(again)) < 1.2


@pytest.mark.parametrize("n_rows", [2, 36, 400])
def test_208_and_210_pictures_a_group_are_drawn_alike_with_missing_labels_or_without(n_rows):
    every = [shuffling(sizes, n_rows, 48) for sizes in ((208, 208), (210, 210), (197, 208), (190, 201))]
    assert len({way for way, _ in every}) == 1
    assert max(cost for _, cost in every) < 1.2 * min(cost for _, cost in every)


def test_few_images_are_drawn_one_by_one_and_many_alike_ones_by_rows():
    assert few((ONE_BY_ONE, ONE_BY_ONE))
    assert not few((ONE_BY_ONE, ONE_BY_ONE + 1))
    assert shuffling((20, 20), 40, 48)[0] == "one by one"
    assert shuffling((200, 200), 400, 48)[0] == "bits"
    assert shuffling((200_000, 200_000), 2, 2)[0] == "rows"
    assert redrawing(200_000, 36, 12)[0] == "rows"
    assert redrawing(200, 200, 48)[0] == "images"
    assert redrawing(200, 2, 2)[0] == "rows"
    assert redrawing(200, 2, 2, groups=10)[0] == "images"


def test_rows_cost_the_same_whatever_the_number_of_pictures():
    assert len({shuffling((n, n), 2, 2)[1] for n in (2_000, 20_000, 2_000_000)}) == 1


@pytest.mark.parametrize(("size", "of"), [(200, 400), (1_000, 400_000), (197, 405), (3, 903)])
def test_a_share_has_as_few_digits_as_pay(size, of):
    numerator, digits, cost = share_digits(size, of, of)
    assert 0 <= numerator <= 2**digits
    assert abs(size / of - numerator / 2**digits) <= size / of
    # Setting every one of them by itself is what no digit at all costs.
    assert cost <= 80 * size / (1 - size / of) + 1e-9
