"""Looking at data that grow: how much of the error each look is given."""

from stereotrope.errors import UsageError

_ROUNDING = 1e-12
_FIRST = 0.8
"""Part of α that the first of any number of looks is given: most data are looked at once."""
_POWER = 3
"""Power of the part of the data at which error is spent before they are complete (Kim and DeMets's ρ)."""


def look_alpha(
    spent: float = 0.0, *, planned: int | None = None, alpha: float = 0.05, complete: float = 1.0
) -> float:
    r"""Error that the next look at growing data is given, so that all looks together err in α at most.

    Of ``planned`` looks :math:`K` each is given :math:`α/K`, as far as it is left. Of any number of looks the
    first is given :math:`0.8·α` and each later one half of what is left (:math:`0.1·α, 0.05·α …`). A look at
    a part :math:`t` of the data that were asked for is given :math:`t^3` of that, so that one at a run that
    was cut short leaves nearly all to the whole. Always :math:`Σ_k α_k ≤ α`.

    Where the list :math:`L_k` of look :math:`k`, of which :math:`V_k` are false, has a false discovery rate
    of :math:`α_k`, the union of the lists has one of :math:`α` at most: its part of false ones is
    :math:`|∪V_k| / |∪L_k| ≤ Σ_k |V_k| / |L_k|`, whatever the looks have in common. This uses nothing of their
    dependence, so it asks for nothing of it either: no shared statistic, no known end, no rule of stopping.

    Whether a look follows may depend on those before. How many data are added should not: where the second
    sample's size is the worst that can be chosen from the first result, one z-test at 0.04 and 0.005 errs in
    0.047 of cases, at 0.025 twice in 0.065.

    spent: Sum of what the looks before were given.
    planned: Number of looks planned beforehand; None for any number.
    alpha: Error of all looks together.
    complete: Part of the data asked for that is there.
    Returns: In [0, α]; 0 where nothing is left.
    Source: Bonferroni over looks; a power of the information: Kim and DeMets (1987), Biometrika 74; the worst
        size: Proschan and Hunsberger (1995), Biometrics 51.
    """
    if planned is not None and planned < 1:
        raise UsageError(f"look_alpha: planned must be at least 1, found {planned}; pass None for any number")
    left = alpha - spent
    if left <= _ROUNDING:
        return 0.0
    whole = max(_FIRST * alpha - spent, left / 2) if planned is None else min(left, alpha / planned)
    return whole * min(1.0, max(0.0, complete)) ** _POWER
