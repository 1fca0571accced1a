"""Shares, differences and dominance as plain loops over labels and cells: what columns are held against."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, product
from math import comb
from typing import Any

import numpy as np
import polars as pl
from scipy import special

from stereotrope.measure import estimate_frame
from stereotrope.measure.cells import Cell, bound_columns, excluded_columns, tell_one_another
from stereotrope.measure.units import claim_of
from stereotrope.stats import (
    ICC_GRID,
    benjamini_hochberg,
    beta_binomial_test,
    beyond_exact,
    cluster_flip_test,
    cluster_permutation_test,
    effective_counts,
    even_clusters,
    fisher_exact,
    fisher_least,
    icc_beliefs,
    icc_by_group,
    icc_priors,
    newcombe,
    shared_correlation,
    wilson,
)


@dataclass
class KnownCell(Cell):
    """A cell, and those of its attribute and annotator."""

    family: list[Cell] = field(default_factory=list)


_LEFT = {"unclear", "unknown", "not applicable"}
Row = dict[str, Any]


def made_labels(seed: int, *, prompts: int, pictures: int, shared: bool = False) -> pl.DataFrame:
    """Labels of 2 models, 2 objects and 3 groups, by two annotators, some missing or left out.

    shared: Whether the groups have the same prompts.
    """
    rng = np.random.default_rng(seed)
    names = ["image_id", "prompt_id", "generator", "object", "group", "phrase", "attribute", "value"]
    rows = []
    words = {"gender": ["female", "male", "unclear"], "colour": ["red", "blue", "teal", None]}
    for g, o, c, p, (attribute, values) in product(
        "mk", ["car", "cup", "hat"], ["base", "women", "men"], range(prompts), words.items()
    ):
        if rng.random() < 0.04 or (g, o, c, attribute) == ("m", "cup", "women", "colour"):
            continue
        shares = rng.dirichlet(np.full(len(values), 0.7))
        phrase = None if (o, c) == ("car", "base") else "for"
        prompt = f"{o}-{'all' if shared else c}-{p}" if rng.random() > 0.02 * (seed % 2) else None
        for who in ("A", "B") if attribute == "gender" else ("A",):
            for i, at in enumerate(rng.choice(len(values), int(rng.integers(1, pictures + 1)), p=shares)):
                reason = rng.choice([None] * 12 + ["filtered", 'a "reason"'])
                image = f"{g}-{o}-{c}-{p}-{i}"
                rows.append((image, prompt, g, o, c, phrase, attribute, values[at], who, reason))
    schema = dict.fromkeys((*names, "annotator", "excluded"), pl.String)
    return pl.DataFrame(rows, schema=schema, orient="row")


def cells_of(labels: pl.DataFrame, by: Sequence[str], of: Sequence[str] | None = None) -> list[KnownCell]:
    """The cells of labels, counted label by label."""
    cells: dict[Any, KnownCell] = {}
    design: dict[Any, int] = {}
    for row in labels.to_dicts():
        key = tuple(row[name] for name in by)
        design.setdefault(key, len(design))
        cell = cells.setdefault((row["attribute"], key), KnownCell(key, row["attribute"]))
        value, times = row["value"], row.get("n_subjects", 1)
        why = row.get("excluded") or ("missing" if value is None else value if value in _LEFT else None)
        if why is None and of is not None and value not in of:
            why = f"labelled {value}"
        if why is not None:
            cell.excluded[why] += times
        else:
            cell.seen.setdefault(value, Counter())[row.get("prompt_id")] += times
    for attribute in {attribute for attribute, _ in cells}:
        known = [key for name, key in cells if name == attribute]
        for key in design:
            levels = all(any(k[i] == level for k in known) for i, level in enumerate(key))
            own = [i for i, name in enumerate(by) if name in ("generator", "object")]
            inside = any(all(k[i] == key[i] for i in own) for k in known)
            if levels and (inside or not 0 < len(own) < len(by)):
                cells.setdefault((attribute, key), KnownCell(key, attribute))
        families: dict[Any, list[KnownCell]] = {}
        for (name, key), cell in cells.items():
            if name == attribute:
                kin = key[by.index("annotator")] if "annotator" in by else None
                families.setdefault(kin, []).append(cell)
        for members in families.values():
            tell_one_another(members)
            for cell in members:
                cell.family = members
    return sorted(cells.values(), key=lambda cell: (cell.attribute, design[cell.key]))


def raised(**flags: bool) -> str | None:
    return ",".join(flag for flag, up in flags.items() if up) or None


def shares(cells: list[KnownCell], by: Sequence[str], level: float) -> pl.DataFrame:
    """``share`` of every value that is seen of an attribute."""
    totals: dict[str, Counter[str]] = {}
    for cell in cells:
        totals.setdefault(cell.attribute, Counter()).update({v: cell.count(v) for v in cell.seen})
    rows: list[Row] = []
    for cell in cells:
        for value in sorted(totals[cell.attribute], key=lambda v: (-totals[cell.attribute][v], v)):
            row = {**dict(zip(by, cell.key, strict=True)), "attribute": cell.attribute, "category": value}
            row |= {"n": cell.n, "undefined": None if cell.n else "no usable label"}
            rows.append(row | excluded_columns(cell))
            if cell.n:
                k, n = cell.effective(value, level=level)
                low, high = wilson(k, n, level=level)
                rows[-1] |= {"value": cell.count(value) / cell.n, "low": low, "high": high}
                rows[-1] |= {**bound_columns(value, cell), "flags": cell.flags}
                rows[-1]["holds_for"] = cell.claim.holds_for
    return estimate_frame(rows, factors=by)


def baseline_of(cell: KnownCell, cells: list[KnownCell], baseline: str) -> KnownCell | None:
    """The cell of the baseline; of those that fit the one with the fewest levels left open."""
    fitting = [
        one
        for one in cells
        if one.attribute == cell.attribute
        and one.key[-1] == baseline
        and all(a in (None, b) for a, b in zip(one.key[:-1], cell.key[:-1], strict=True))
    ]
    return min(fitting, key=lambda one: one.key.count(None), default=None)


def compared(
    cells: list[KnownCell], baseline: str | None, pairs: bool
) -> Iterator[tuple[KnownCell, KnownCell | None]]:
    others = [cell for cell in cells if cell.key[-1] != baseline]
    if baseline is not None:
        yield from ((cell, baseline_of(cell, cells, baseline)) for cell in others)
    if pairs:
        together: dict[Any, list[KnownCell]] = {}
        for cell in others:
            together.setdefault((cell.attribute, cell.key[:-1]), []).append(cell)
        for members in together.values():
            yield from combinations(members, 2)


def differences(
    cells: list[KnownCell], by: Sequence[str], *, baseline: str | None, pairs: bool, level: float, mid_p: bool
) -> pl.DataFrame:
    """``share_difference`` of every value that one of both sides shows."""
    rows: list[Row] = []
    tested = []
    for cell, other in compared(cells, baseline, pairs):
        shown = sorted({*cell.seen, *(other.seen if other else ())})
        for value in shown or [None]:
            row = {**dict(zip(by, cell.key, strict=True)), "attribute": cell.attribute, "category": value}
            row |= {"reference": other.key[-1] if other else baseline, **excluded_columns(cell, other)}
            row |= {"n": cell.n, "n_reference": other.n if other else 0}
            rows.append(row)
            if other is None or not cell.n or not other.n:
                nothing = "no usable label of the reference" if cell.n else "no usable label"
                row["undefined"] = nothing
                continue
            k, n, j, m = cell.count(value), cell.n, other.count(value), other.n
            row |= {"value": k / n - j / m, "numerator": k, "denominator": n, "numerator_reference": j}
            row |= {**_tested(value, cell, other, level, mid_p), **bound_columns(value, cell, other)}
            row["flags"] = {**claim_of(cell.prompts, other.prompts).flags, "small_n": min(n, m) < 10}
            tested.append(row)
    for row, q in zip(tested, benjamini_hochberg([row["p_value"] for row in tested]), strict=True):
        row["q_value"] = q
    return estimate_frame(rows, factors=by)


def _tested(value: str, cell: KnownCell, other: KnownCell, level: float, mid_p: bool) -> Row:
    both, claim = (cell, other), claim_of(cell.prompts, other.prompts)
    effective = [x for side in both for x in side.effective(value, level=level, claim=claim)]
    by_prompt = [x for side in both for x in (side.by_prompt(value), list(side.prompts.values()))]
    correlation = float(shared_correlation(*by_prompt)) if claim.matched else 0.0
    low, high = newcombe(*effective, level=level, correlation=correlation)
    row: Row = {"low": low, "high": high, "holds_for": claim.holds_for}
    if not (claim.clustered or claim.matched):
        counts = cell.count(value), cell.n, other.count(value), other.n
        tests = (float(test(*counts, mid=mid_p)) for test in (fisher_exact, fisher_least))
        return row | dict(zip(("p_value", "p_least"), tests, strict=True))
    flipped = claim.matched and len(cell.prompts) >= 6
    n = [list(side.prompts.values()) for side in both]
    averages = [(sum(side) / len(side), sum(x * x for x in side) / sum(side)) for side in n]
    unlike = any(max(pair) > 1.5 * min(pair) for pair in zip(*averages, strict=True))
    counts = by_prompt
    if unlike:
        counts = [x for k, m in (by_prompt[:2], by_prompt[2:]) for x in even_clusters(k, m)]
    exact = (cluster_flip_test if flipped else cluster_permutation_test)(*counts)
    evidence = [side.evidence(value) for side in both]
    peers = np.stack([_prior(side) for side in both])
    weights = icc_beliefs(sum(evidence, np.zeros(ICC_GRID.size)), peers.mean(axis=0))
    m = len(cell.prompts)
    ways = 2**m if flipped else comb(m + len(other.prompts), m)
    model = beta_binomial_test(*by_prompt, weights=weights)
    p, least = (max(exact[0], model), exact[1]) if unlike else beyond_exact(exact, model, ways)
    weights = [*icc_by_group(np.stack(evidence), peers)]
    p = max(p, _by_own_scatter(value, both, weights, correlation if flipped else 0.0))
    return row | {"p_value": p, "p_least": least}


def _prior(side: KnownCell) -> np.ndarray:
    """What other cells of the attribute and annotator say of the correlation of pictures of a prompt."""
    cells = [cell for cell in side.family if cell.claim.clustered]
    told = [sum(cell.evidence(v) for v in cell.seen) * (1 - 1 / len(cell.seen)) for cell in cells]
    factors = zip(*(map(str, cell.key) for cell in cells), strict=True)
    levels = [[sorted(set(of)).index(level) for level in of] for of in ([*one] for one in factors)]
    known = dict(zip((cell.key for cell in cells), icc_priors(told, levels), strict=True))
    return known.get(side.key, icc_priors([])[0])


def _by_own_scatter(
    value: str, sides: Sequence[Cell], weights: Sequence[np.ndarray], correlation: float
) -> float:
    """p of a normal difference whose variance is as the prompts of each side vary, quantile by quantile."""
    n = [float(side.n) for side in sides]
    alike = [sum(x * x for x in side.prompts.values()) / side.n - 1 for side in sides]
    share = [side.count(value) / side.n for side in sides]
    known = [m / (1 + a * float(w @ ICC_GRID)) for m, a, w in zip(n, alike, weights, strict=True)]
    apart = 1 - 2 * correlation / (math.sqrt(known[0] / known[1]) + math.sqrt(known[1] / known[0]))
    common = sum(s * k for s, k in zip(share, known, strict=True)) / sum(known)
    ends = sorted({0.0, 1.0, *(float(c) for w in weights for c in np.cumsum(w)[:-1])})
    p = 0.0
    for low, high in pairwise(ends):
        rho = [ICC_GRID[int((np.cumsum(w)[:-1] < (low + high) / 2).sum())] for w in weights]
        variance = sum(common * (1 - common) / m * (1 + a * r) for m, a, r in zip(n, alike, rho, strict=True))
        variance *= max(apart, 0.02)
        z = abs(share[0] - share[1]) / variance**0.5 if variance > 0 else 0.0
        p += (high - low) * math.erfc(z / 2**0.5)
    return p


def dominant(cell: Cell) -> tuple[str, float]:
    value = min(cell.seen, key=lambda v: (-cell.count(v), v))
    return value, cell.count(value) / cell.n


def shifts(
    cells: list[Cell], by: Sequence[str], *, baseline: str, threshold: float, min_n: int
) -> pl.DataFrame:
    """``dominance_shift``."""
    rows: list[Row] = []
    for cell, other in compared(cells, baseline, pairs=False):
        row = {**dict(zip(by, cell.key, strict=True)), "attribute": cell.attribute, "n": cell.n}
        rows.append(row | excluded_columns(cell, other) | {"n_reference": other.n if other else 0})
        if other is None or not other.n or not cell.n or min(cell.n, other.n) < min_n:
            continue
        (before, was), (after, now) = dominant(other), dominant(cell)
        rows[-1]["value"] = float(before != after and min(was, now) >= threshold)
        rows[-1]["category"] = f"{before} → {after}"
    return estimate_frame(rows, factors=by)


def one_look(
    cells: list[Cell], by: Sequence[str], *, n_within: int, places: Sequence[int], min_n: int, level: float
) -> pl.DataFrame:
    """``deterministic_share``: both kinds of rows, ``places`` being those of its ``by`` among the factors."""
    rows: list[Row] = []
    groups: dict[Any, list[Cell]] = {}
    for attribute in ("all", None):
        for cell in cells:
            key = tuple(cell.key[i] for i in places)
            groups.setdefault((attribute or cell.attribute, key), []).append(cell)
    for (attribute, key), members in groups.items():
        enough = [cell for cell in members if cell.n >= min_n]
        row: Row = {by[i]: level for i, level in zip(places, key, strict=True)}
        row |= {"measure": "deterministic_share", "attribute": attribute, "n": len(enough)}
        left = len(members) - len(enough)
        rows.append(row | {"excluded": {f"cell with fewer than {min_n} usable labels": left}})
        if enough:
            conditions = list(dict.fromkeys(cell.key for cell in enough))
            hits = [[len(c.seen) == 1 for c in enough if c.key == of] for of in conditions]
            k, n = effective_counts([sum(h) for h in hits], [len(h) for h in hits], level=level)
            low, high = wilson(k, n, level=level)
            floor = float(np.mean([_by_chance(cell, cells, n_within) for cell in enough]))
            rows[-1] |= {"value": sum(map(sum, hits)) / len(enough), "low": low, "high": high, "floor": floor}
    for cell in cells:
        row = {**dict(zip(by, cell.key, strict=True)), "attribute": cell.attribute, "n": cell.n}
        rows.append(row | excluded_columns(cell) | {"measure": "dominant_share"})
        if cell.n:
            value, share = dominant(cell)
            low, high = wilson(*cell.effective(value, level=level), level=level)
            counts = [cell.count(v) for v in cell.seen]
            told = {
                "deterministic": len(counts) == 1 and cell.n >= min_n,
                "tie": counts.count(max(counts)) > 1,
            }
            rows[-1] |= {"category": value, "value": share, "low": low, "high": high}
            rows[-1]["flags"] = raised(**told, **cell.flags)
    return estimate_frame(rows, factors=by)


def _by_chance(cell: Cell, cells: list[Cell], n_within: int) -> float:
    pool = Counter[str]()
    for one in cells:
        if (one.attribute, one.key[:n_within]) == (cell.attribute, cell.key[:n_within]):
            pool.update({value: one.count(value) for value in one.seen})
    ways = [special.binom(count, cell.n) for count in pool.values()]
    return float(np.sum(ways) / special.binom(pool.total(), cell.n))
