"""What model annotators are asked: its wording, from ``questions.yaml``, and the order of the options."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from stereotrope.shipped import shipped

ORDERS = 12
"""Orders in use. Endpoints compile an answer's schema the first time they meet it, so that a schema of
its own for every picture would make every request a first one. Twelve are few enough to be compiled
once, and 2, 3, 4 and 6 divide them: each option then stands in each place equally often."""
_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class QuestionWording:
    """The texts of one kind of question; ``data`` are all of them as bytes, for fingerprints."""

    system: str
    texts: Mapping[str, Any]
    data: bytes

    def opening(self, subject: str | None, **more: str) -> str:
        """Return the first line, with or without the thing that the picture shows."""
        key = "opening" if subject else "opening_without_subject"
        return filled(self.texts[key], subject=subject or "", **more)


def filled(template: str, **values: str) -> str:
    """Fill ``{name}`` places once: what is filled in is never read as a template."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template)


@cache
def question_wording(kind: str) -> QuestionWording:
    """Return the wording of a kind of question: ``questions``, ``caption``, ``discovery`` …"""
    whole = shipped("annotate", "questions.yaml")
    used = json.dumps([whole["system"], whole[kind]], sort_keys=True, ensure_ascii=False).encode()
    return QuestionWording(whole["system"], whole[kind], used)


def permuted(values: Sequence[str], *, seed: int, sha256: str, attribute: str) -> tuple[str, ...]:
    """Return the values in the order in which one picture's question offers them.

    The picture's hash and the seed choose one of :data:`ORDERS` orders; an order is a shuffle drawn from
    seed and attribute, rotated. Of k ≤ 12 values each stands in each place ⌊12/k⌋ or ⌈12/k⌉ times; of more
    than twelve the rotations are spread evenly.
    """
    k = len(values)
    number = _number(f"{seed}\n{sha256}") % ORDERS
    block, shift = divmod(number, k) if k <= ORDERS else (0, number * k // ORDERS)
    rng = np.random.default_rng(_number(f"{seed}\n{attribute}\n{block}"))
    shuffled = [values[i] for i in rng.permutation(k)]
    return tuple(shuffled[shift:] + shuffled[:shift])


def _number(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:8], "big")
