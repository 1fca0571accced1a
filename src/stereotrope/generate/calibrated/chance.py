"""Numbers that depend on what they are for, on text and seed, and on nothing else."""

import hashlib
from collections.abc import Mapping


def seed_of_purpose(purpose: str, text: str, seed: int | None) -> int:
    """A whole number of 128 bits."""
    return int.from_bytes(hashlib.sha256(f"{purpose}\0{seed}\0{text}".encode()).digest()[:16], "big")


def chance(purpose: str, text: str, seed: int | None) -> float:
    """A number in [0, 1), uniform over texts and seeds."""
    return (seed_of_purpose(purpose, text, seed) >> 75) / 2.0**53


def pick(shares: Mapping[str, float], at: float) -> str:
    """The value whose part of [0, 1) holds ``at``, the parts laid end to end in their order."""
    total = 0.0
    for value, part in shares.items():
        total += part
        if at < total:
            return value
    return value
