"""Shares and their kin of made-up labels: two a picture, 200 pictures a cell, a baseline and nine groups.

``python -m bench.shares [WORDINGS]`` takes
3.2 million pictures in 16,100 cells, in a process of its own that reads their labels from a Parquet file, and
says what each measure takes and the most memory that the process held. It fails where ours and a reference
disagree, or where the whole takes more than 30 CPU seconds or 2 GB. A reference is what a careful user would
write over columns in Polars and NumPy: the values and p-values alone, without missing labels by reason,
flags, effective numbers or checks.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from bench.rows import Found, Row, by_name, in_turns
from bench.study import most_held, spent
from stereotrope.measure import deterministic_share, dominance_shift, share, share_difference
from stereotrope.stats import fisher_exact, newcombe, wilson

SIZES = (10_000, 100_000, 1_000_000)
MODELS, GROUPS, PICTURES = 5, 10, 200
BY = ["generator", "object", "group"]
MOST_SECONDS, MOST_MB, CLOSE = 30.0, 2_000.0, 1e-9
MEASURES = {
    "share": lambda labels: share(labels, by=BY),
    "share_difference": share_difference,
    "deterministic_share": deterministic_share,
    "dominance_shift": dominance_shift,
}


def made_labels(pictures: int, wordings: int = 1, seed: int = 0) -> pl.DataFrame:
    """Labels of 2 and of 4 values, one in thirty missing; every third group is unlike its baseline."""
    rng = np.random.default_rng(seed)
    objects = max(1, pictures // (MODELS * GROUPS * PICTURES))
    shape = (MODELS, objects, GROUPS, wordings, PICTURES // wordings)
    model, thing, group, wording, _ = (at.ravel() for at in np.indices(shape, dtype=np.int32))
    n = model.size
    image = pl.Series(np.arange(n)).cast(pl.String)
    groups = pl.Series(["base", *(f"group-{at}" for at in range(1, GROUPS))])
    parts = []
    for name, k in (("present", 2), ("colour", 4)):
        shares = rng.dirichlet(np.ones(k), MODELS * objects).cumsum(axis=1)[:, :-1]
        code = (rng.random((n, 1)) > shares[model * objects + thing]).sum(axis=1)
        code = np.where(group % 3 == 2, k - 1 - code, code)
        missing = pl.Series(rng.random(n) < 1 / 30)
        parts.append(
            pl.DataFrame(
                {
                    "image_id": image,
                    "attribute": pl.repeat(name, n, eager=True),
                    "value": pl.Series([f"value-{at}" for at in range(k)])[code],
                    "generator": pl.Series([f"model-{at}" for at in range(MODELS)])[model],
                    "object": pl.Series([f"object-{at}" for at in range(objects)])[thing],
                    "group": groups[group],
                    "prompt_id": pl.Series((thing * GROUPS + group) * wordings + wording).cast(pl.String),
                }
            ).with_columns(excluded=pl.when(missing).then(pl.lit("unclear")))
        )
    return pl.concat(parts)


def counted(labels: pl.DataFrame) -> pl.DataFrame:
    """The limit: how many labels are alike."""
    return labels.group_by([*BY, "attribute", "value", "excluded", "prompt_id"]).agg(pl.len())


def counts_of(labels: pl.DataFrame) -> pl.DataFrame:
    """Cells × values with their counts."""
    keys = [*BY, "attribute"]
    usable = labels.filter(pl.col("excluded").is_null()).group_by(*keys, "value").agg(k=pl.len())
    return usable.with_columns(pl.col("k").cast(pl.Int64), n=pl.col("k").sum().over(keys).cast(pl.Int64))


def plain_shares(labels: pl.DataFrame) -> pl.DataFrame:
    """Share and Wilson's interval."""
    counts = counts_of(labels)
    low, high = wilson(counts["k"], counts["n"])
    return counts.with_columns(share=pl.col("k") / pl.col("n"), low=pl.Series(low), high=pl.Series(high))


def plain_differences(labels: pl.DataFrame) -> pl.DataFrame:
    """Difference from the baseline, Newcombe's interval and Fisher's p."""
    counts = counts_of(labels)
    base = counts.filter(group="base").drop("group")
    every = counts.select(*BY, "attribute", "n").unique().filter(pl.col("group") != "base")
    values = counts.select("generator", "object", "attribute", "value").unique()
    keys = ["generator", "object", "attribute", "value"]
    rows = every.join(values, on=keys[:-1]).join(counts.drop("n"), on=[*BY, *keys[2:]], how="left")
    rows = rows.join(base, on=keys, how="inner", suffix="_base").with_columns(pl.col("k").fill_null(0))
    tables = [rows[name].to_numpy() for name in ("k", "n", "k_base", "n_base")]
    low, high = newcombe(*tables)
    return rows.with_columns(p=pl.Series(plain_fisher(*tables)), low=pl.Series(low), high=pl.Series(high))


def plain_fisher(*columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """Fisher's two-sided p with SciPy's functions over padded arrays, some tables at a time."""
    found = []
    for k, n, j, m in zip(*(np.array_split(x, max(1, x.size // 5_000)) for x in columns), strict=True):
        x = np.arange(int((k + j).max()) + 1)[None, :]
        both, n1, n2 = (k + j)[:, None], n[:, None], m[:, None]
        possible = (x <= n1) & (both - x <= n2) & (x <= both)
        ways = [
            special.gammaln(np.where(possible, of, 0) + 1.0) for of in (x, n1 - x, both - x, n2 - both + x)
        ]
        weight = np.where(possible, -sum(ways), -np.inf)
        seen = np.take_along_axis(weight, k[:, None], axis=1)
        parts = np.exp(weight - weight.max(axis=1, keepdims=True))
        found.append(np.where(weight <= seen + 1e-7, parts, 0.0).sum(axis=1) / parts.sum(axis=1))
    return np.concatenate(found)


def plain_dominance(labels: pl.DataFrame) -> pl.DataFrame:
    """The dominant value of each cell beside its baseline's."""
    counts = counts_of(labels).sort("k", "value", descending=[True, False])
    best = counts.group_by(*BY, "attribute").agg(pl.all().first())
    base = best.filter(group="base")
    return best.join(base, on=["generator", "object", "attribute"], suffix="_base").with_columns(
        shifted=(pl.col("value") != pl.col("value_base"))
        & (pl.min_horizontal(pl.col("k") / pl.col("n"), pl.col("k_base") / pl.col("n_base")) >= 0.7)
    )


def plain_deterministic(labels: pl.DataFrame) -> pl.DataFrame:
    """The share of cells with one value."""
    cells = counts_of(labels).group_by(*BY, "attribute").agg(one=pl.len() == 1)
    return cells.group_by("generator").agg(pl.col("one").mean())


PLAIN = {
    "share": plain_shares,
    "share_difference": plain_differences,
    "deterministic_share": plain_deterministic,
    "dominance_shift": plain_dominance,
}


def disagreements(labels: pl.DataFrame) -> Iterator[str]:
    """What ours and the references say otherwise of the same labels."""
    ours = MEASURES["share_difference"](labels).filter(pl.col("value").is_not_null())
    keys = [*BY, "attribute", "category"]
    both = ours.join(plain_differences(labels).rename({"value": "category"}), on=keys, suffix="_plain")
    if both.select((pl.col("p_value") / pl.col("p") - 1).abs().max()).item() > CLOSE:
        yield "share_difference: p-values"
    shares = MEASURES["share"](labels).join(plain_shares(labels).rename({"value": "category"}), on=keys)
    if not shares.height or shares.select((pl.col("value") - pl.col("share")).abs().max()).item() > CLOSE:
        yield "share: values"
    shifted = MEASURES["dominance_shift"](labels)["value"].sum()
    if shifted != plain_dominance(labels)["shifted"].sum():
        yield "dominance_shift: how many"


def share_rows(n: int) -> Iterator[Row]:
    """Rows of one number of pictures."""
    labels = made_labels(n)
    rounds = 3 if n < SIZES[-1] else 1
    for name, of in MEASURES.items():
        plain = PLAIN[name]
        yield in_turns(
            name,
            n,
            ours=lambda of=of: of(labels),
            reference=lambda plain=plain: plain(labels),
            limit=lambda: counted(labels),
            rounds=rounds,
        )
    rng = np.random.default_rng(n)
    sizes = rng.integers(180, 201, (2, n // 20))
    k, j = rng.binomial(sizes, 0.4)
    yield in_turns(
        "Fisher's exact test, a table for 20 pictures",
        n,
        ours=lambda: fisher_exact(k, sizes[0], j, sizes[1]),
        reference=lambda: plain_fisher(k, sizes[0], j, sizes[1]),
        rounds=rounds,
    )


def whole(path: Path) -> int:
    """The measures of a file of labels, one after the other."""
    start = spent()
    labels = pl.read_parquet(path)
    told = [("reading the labels", spent() - start)]
    for name, of in MEASURES.items():
        before = spent()
        of(labels)
        told.append((name, spent() - before))
    told.append(("together", spent() - start))
    told.append(("imports", start))
    for name, seconds in told:
        print(f"{name:24}{seconds:8.2f} s")
    print(f"{'most memory':24}{most_held():8.0f} MB")
    slow = spent() - start > MOST_SECONDS or most_held() > MOST_MB
    if slow:
        print(f"TOO SLOW  at most {MOST_SECONDS:g} s and {MOST_MB:g} MB")
    return int(slow)


def bench() -> Found:
    """Measures of each size beside their references."""
    odd = [f"DISAGREES  {line}" for line in disagreements(made_labels(SIZES[0]))]
    return by_name(row for n in SIZES for row in share_rows(n)), odd


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["--file"]:
        return whole(Path(arguments[1]))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "labels.parquet"
        made_labels(3_220_000, int(arguments[0]) if arguments else 1).write_parquet(path)
        command = [sys.executable, "-m", "bench.shares", "--file", str(path)]
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
