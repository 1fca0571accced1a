"""BDS, CDS and VAC held to the same written again in plain Python and SciPy, and to their own null."""

from __future__ import annotations

import math
from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy

from stereotrope import measure

NOT_VALUES = {"unclear", "refused", "invalid"}
Frame = pl.DataFrame
NONE = {"n_permutations": 0, "n_bootstrap": 0}


def labels(
    seed: int,
    *,
    sizes: dict[str, int] | None = None,
    cells: tuple[tuple[str, str], ...] = (("m1", "car"), ("m1", "cup"), ("m2", "car")),
    missing: float = 0.15,
) -> Frame:
    """Random labels of three attributes; shares differ between cells and groups, some are unusable."""
    rng = np.random.default_rng(seed)
    sizes = sizes or {"base": 14, "women": 11, "men": 12, "elderly": 9}
    dimension = {"base": None, "women": "gender", "men": "gender", "elderly": "age", "young": "age"}
    rows = []
    for generator, thing in cells:
        for group, n in sizes.items():
            shares = {a: rng.dirichlet([0.6] * k) for a, k in (("colour", 6), ("style", 3), ("text", 2))}
            for i in range(n):
                for attribute, p in shares.items():
                    value: str | None = f"{attribute}-{rng.choice(len(p), p=p)}"
                    if rng.random() < missing:
                        value = ("unclear", None, "invalid")[rng.integers(3)]
                    image = f"{generator}/{thing}/{group}/{i}"
                    rows.append((image, attribute, value, generator, thing, dimension[group], group))
    names = ("image_id", "attribute", "value", "generator", "object", "dimension", "group")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def counts(frame: Frame, **levels: str) -> dict[str, Counter[str]]:
    """attribute → value → number of images, of the rows with these levels."""
    found: dict[str, Counter[str]] = {}
    for row in frame.iter_rows(named=True):
        if all(row[name] == level for name, level in levels.items()):
            counter = found.setdefault(row["attribute"], Counter())
            if row["value"] is not None and row["value"] not in NOT_VALUES:
                counter[row["value"]] += 1
    return found


def distance(one: Counter[str], other: Counter[str]) -> float:
    values = sorted({*one, *other})
    p, q = ([c[v] / c.total() for v in values] for c in (one, other))
    return float(jensenshannon(p, q))


def divergence(one: Counter[str], other: Counter[str]) -> float:
    return distance(one, other) ** 2 / math.log(2)


def bds(frame: Frame, generator: str, thing: str, group: str, *, released: bool) -> dict[str, float]:
    score = distance if released else divergence
    base = counts(frame, generator=generator, object=thing, group="base")
    mine = counts(frame, generator=generator, object=thing, group=group)
    single = {a: score(base[a], mine[a]) for a in base if base[a] and mine[a]}
    return {**single, "all": sum(single.values()) / len(single)}


def cds(frame: Frame, generator: str, thing: str, groups: list[str]) -> dict[str, float]:
    found = {g: counts(frame, generator=generator, object=thing, group=g) for g in groups}
    single = {}
    for attribute in sorted({a for c in found.values() for a in c}):
        pairs = [
            divergence(found[g][attribute], found[h][attribute])
            for g, h in combinations(groups, 2)
            if found[g][attribute] and found[h][attribute]
        ]
        if pairs:
            single[attribute] = sum(pairs) / len(pairs)
    return {**single, "all": sum(single.values()) / len(single)}


def vac(
    frame: Frame,
    generator: str,
    thing: str,
    group: str,
    *,
    released: bool,
    taxonomy: dict[str, list[str]],
) -> dict[str, float]:
    mine = counts(frame, generator=generator, object=thing, group=group)
    everyone = counts(frame, generator=generator, object=thing)
    single = {}
    for attribute, counter in mine.items():
        n = counter.total()
        if released:
            k = len(counter)
            score = 1.0 if k == 1 else 1 - float(entropy(list(counter.values()), base=2)) / math.log2(k)
            if score >= 0.05:
                single[attribute] = score
        else:
            k = len(taxonomy.get(attribute, everyone[attribute]))
            single[attribute] = 1 - float(entropy(list(counter.values()), base=2)) / math.log2(min(k, n))
    return {**single, "all": sum(single.values()) / len(single)}


def by_attribute(found: Frame, **levels: str) -> dict[str, float]:
    rows = found.filter(**levels).filter(pl.col("value").is_not_null())
    return dict(rows.select("attribute", "value").iter_rows())


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_bds_agrees_with_the_independent_implementation(seed: int, definition: str) -> None:
    frame = labels(seed)
    quick = NONE if definition == "paper" else {"n_permutations": 20, "n_bootstrap": 0}
    found = measure.bds(frame, definition=definition, **quick)
    for generator, thing in (("m1", "car"), ("m1", "cup"), ("m2", "car")):
        for group in ("women", "men", "elderly"):
            expected = bds(frame, generator, thing, group, released=definition == "released")
            mine = by_attribute(found, generator=generator, object=thing, group=group)
            assert mine == pytest.approx(expected, abs=1e-12)
    assert found.height == 9 * 4


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_cds_agrees_with_the_independent_implementation(seed: int, definition: str) -> None:
    frame = labels(seed, sizes={"base": 9, "women": 11, "men": 12, "elderly": 9, "young": 15})
    found = measure.cds(frame, definition=definition, **NONE)
    joint = measure.cds(frame, dimension=None, definition=definition, **NONE)
    for generator, thing in (("m1", "car"), ("m1", "cup"), ("m2", "car")):
        scope = {"generator": generator, "object": thing}
        for dimension, groups in (("gender", ["men", "women"]), ("age", ["elderly", "young"])):
            mine = by_attribute(found, dimension=dimension, **scope)
            assert mine == pytest.approx(cds(frame, generator, thing, groups), abs=1e-12)
        everyone = cds(frame, generator, thing, ["elderly", "men", "women", "young"])
        assert by_attribute(joint, **scope) == pytest.approx(everyone, abs=1e-12)


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_vac_agrees_with_the_independent_implementation(seed: int, definition: str) -> None:
    frame = labels(seed)
    taxonomy = {"style": ["style-0", "style-1", "style-2", "style-never"]}
    found = measure.vac(frame, taxonomy=taxonomy, definition=definition, n_bootstrap=0)
    for generator, thing in (("m1", "car"), ("m1", "cup"), ("m2", "car")):
        for group in ("base", "women", "men", "elderly"):
            expected = vac(
                frame, generator, thing, group, released=definition == "released", taxonomy=taxonomy
            )
            mine = by_attribute(found, measure="vac", generator=generator, object=thing, group=group)
            assert mine == pytest.approx(expected, abs=1e-12)


def null_design(seed: int, n_cells: int) -> Frame:
    """Many cells in which base and group are drawn from one distribution, attributes of an image tied."""
    rng = np.random.default_rng(seed)
    rows = []
    for cell in range(n_cells):
        shares = [rng.dirichlet([0.7] * k) for k in (2, 4, 5)]
        for group in ("base", "women"):
            for i in range(20):
                first = rng.choice(2, p=shares[0])
                values = (first, rng.choice(4, p=shares[1]), first + 2 * rng.choice(5, p=shares[2]))
                rows += [
                    (f"{cell}/{group}/{i}", f"a{a}", f"v{v}", f"c{cell}", group) for a, v in enumerate(values)
                ]
    return pl.DataFrame(rows, schema=["image_id", "attribute", "value", "cell", "group"], orient="row")


@pytest.mark.slow
@pytest.mark.parametrize("definition", ["paper", "released"])
def test_a_cue_that_does_nothing_is_found_no_more_often_than_chance(definition: str) -> None:
    n = 300
    found = measure.bds(
        null_design(5, n), within=["cell"], definition=definition, n_permutations=499, n_bootstrap=200
    ).filter(attribute="all")
    error = math.sqrt(0.05 * 0.95 / n)
    assert (found["p_value"] <= 0.05).mean() <= 0.05 + 3 * error
    assert (found["q_value"] <= 0.05).sum() <= 1
    held = (found["low"] <= found["floor"]) & (found["floor"] <= found["high"])
    assert held.mean() >= 0.95 - 3 * error
    zero = (found["adjusted_low"] <= 0) & (found["adjusted_high"] >= 0)
    assert (held == zero).all()
    spread = found["adjusted"].std() / math.sqrt(n)
    assert abs(found["adjusted"].mean()) < 4 * spread


@pytest.mark.parametrize(
    ("n", "base", "group"),
    [
        (10, 1.0, 0.8),
        (20, 0.98, 0.83),
        *(pytest.param(*of, marks=pytest.mark.slow) for of in ((20, 1.0, 0.9), (50, 1, 0.95))),
    ],
)
def test_intervals_cover_where_one_value_is_nearly_always_seen(n: int, base: float, group: float) -> None:
    repetitions = 200
    rng = np.random.default_rng(8)
    seen = {"base": rng.random((repetitions, n)) < base, "women": rng.random((repetitions, n)) < group}
    frame = pl.concat(
        pl.DataFrame(
            {
                "image_id": [f"{name}-{i}" for i in range(repetitions * n)],
                "attribute": "text",
                "value": np.where(one, "absent", "present").ravel(),
                "run": np.repeat(np.arange(repetitions), n).astype(str),
                "group": name,
            }
        )
        for name, one in seen.items()
    )
    found = measure.bds(frame, within=["run"], n_permutations=99, n_bootstrap=200)
    truth = jensenshannon([base, 1 - base], [group, 1 - group], base=2) ** 2
    for attribute in ("text", "all"):
        rows = found.filter(attribute=attribute)
        inside = (rows["adjusted_low"] <= truth + 1e-9) & (rows["adjusted_high"] >= truth - 1e-9)
        assert inside.mean() > 0.92
        assert ((rows["low"] <= rows["value"]) & (rows["value"] <= rows["high"])).all()
