"""In which order the options of a closed attribute are offered."""

import hashlib
from collections.abc import Sequence

import numpy as np

ORDERS = 12
"""Orders in use. Endpoints compile an answer's schema the first time they meet it, so that a schema of
its own for every picture would make every request a first one. Twelve are few enough to be compiled
once, and 2, 3, 4 and 6 divide them: each option then stands in each place equally often."""


def permuted(values: Sequence[str], *, seed: int, sha256: str, attribute: str) -> tuple[str, ...]:
    """Return the values in the order in which one picture's question offers them.

    The picture's hash and the seed choose one of :data:`ORDERS` orders; an order is a shuffle drawn from
    seed and attribute, rotated. Of k ≤ 12 values each stands in each place ⌊12/k⌋ or ⌈12/k⌉ times; of more
    than twelve the rotations are spread evenly.

    values: The value list.
    seed: Seed of the orders.
    sha256: Of the picture.
    attribute: Name of the attribute.
    """
    k = len(values)
    number = _number(f"{seed}\n{sha256}") % ORDERS
    block, shift = divmod(number, k) if k <= ORDERS else (0, number * k // ORDERS)
    rng = np.random.default_rng(_number(f"{seed}\n{attribute}\n{block}"))
    shuffled = [values[i] for i in rng.permutation(k)]
    return tuple(shuffled[shift:] + shuffled[:shift])


def _number(text: str) -> int:
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big")
