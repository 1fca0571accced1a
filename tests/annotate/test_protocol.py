from __future__ import annotations

import hashlib
from collections import Counter

import pytest

from stereotrope.annotate.protocol import ORDERS, permuted

HASHES = [hashlib.sha256(str(i).encode()).hexdigest() for i in range(1200)]


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6, 7, 12])
def test_each_value_stands_in_each_place_about_equally_often(k):
    values = [f"v{i}" for i in range(k)]
    orders = {permuted(values, seed=0, sha256=sha, attribute="a") for sha in HASHES}
    assert all(sorted(order) == sorted(values) for order in orders)
    assert len(orders) <= ORDERS
    by_picture = Counter(permuted(values, seed=0, sha256=sha, attribute="a")[0] for sha in HASHES)
    assert min(by_picture.values()) > 0.5 * len(HASHES) / k
    assert max(by_picture.values()) < 2.0 * len(HASHES) / k


def test_more_values_than_orders_begin_at_different_places():
    values = [f"v{i}" for i in range(100)]
    firsts = {permuted(values, seed=0, sha256=sha, attribute="a")[0] for sha in HASHES}
    assert len(firsts) == ORDERS


def test_attributes_and_seeds_have_orders_of_their_own():
    values = list("abcdef")
    sha = HASHES[0]
    assert permuted(values, seed=0, sha256=sha, attribute="a") == permuted(
        values, seed=0, sha256=sha, attribute="a"
    )
    by_attribute = {permuted(values, seed=0, sha256=sha, attribute=f"a{i}") for i in range(20)}
    by_seed = {permuted(values, seed=i, sha256=sha, attribute="a") for i in range(20)}
    assert len(by_attribute) > 10
    assert len(by_seed) > 10
