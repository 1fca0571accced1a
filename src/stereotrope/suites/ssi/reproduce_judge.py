"""What the paper says of its judge, its prompts and its people, checked from its tables."""

from collections.abc import Iterator

import polars as pl

from stereotrope.stats import sign_test, wilson
from stereotrope.suites.check import NOT_GIVEN, PARTLY, Recomputed, agreed
from stereotrope.suites.ssi.printed import (
    ALL,
    HUNDREDTH,
    INITIAL,
    OURS,
    WHOLE,
    per_cent,
    printed_table,
    printed_text,
)

_SETS = 5
"""Sets that were labelled of each family, model and condition: 90 of 18 cells."""
_REFINED = "Refined"


def judge_and_people(index: pl.DataFrame, families: pl.DataFrame) -> Iterator[Recomputed]:
    """Every check of Table 4, of prompts and of the people's comparisons."""
    accuracy = printed_table("table04")
    yield from _accuracies(accuracy)
    yield from _labelled(accuracy, families)
    yield _always_no(accuracy, index)
    yield from _prompts()
    yield from _people(families)


def _accuracies(accuracy: pl.DataFrame) -> Iterator[Recomputed]:
    single = accuracy.filter(pl.col("model") != ALL)
    means = single.group_by("family", "condition", maintain_order=True).agg(pl.mean("accuracy"))
    both = accuracy.filter(model=ALL).join(means, on=["family", "condition"], maintain_order="left")
    same = int((both["accuracy"] - both["accuracy_right"]).abs().le(HUNDREDTH).sum())
    yield Recomputed("table-4-means", agreed(same == both.height), f"{same} of {both.height}")
    told, mean = printed_text(), float(single["accuracy"].to_numpy().mean())
    holds = abs(mean - told["mean_accuracy"]) <= HUNDREDTH
    rounded = abs(mean - told["accuracy_in_words"]) <= WHOLE
    yield Recomputed(
        "mean-accuracy",
        agreed(holds),
        per_cent(mean, 2),
        words={"words": "agrees" if rounded else "does not"},
    )


def _labelled(accuracy: pl.DataFrame, families: pl.DataFrame) -> Iterator[Recomputed]:
    """Of how many answers each accuracy is a share, if five sets of each cell were labelled."""
    cells = accuracy.filter(pl.col("model") != ALL).join(families, on="family", maintain_order="left")
    details, right, of = [], 0, 0
    for f, m, c, told, items in cells.select("family", "model", "condition", "accuracy", "items").iter_rows():
        n = next(
            n for n in range(_SETS * items, 0, -1) if abs(100 * round(told * n / 100) / n - told) <= HUNDREDTH
        )
        k = round(told * n / 100)
        low, high = (100 * float(end) for end in wilson(k, n))
        right, of = right + k, of + n
        shown = f"{per_cent(low)} to {per_cent(high)}"
        details.append({"family": f, "model": m, "condition": c, "right": f"{k} of {n}", "95%": shown})
    sets, whole = _SETS * cells.height, int(cells["items"].sum()) * _SETS
    yield Recomputed(
        "sets", agreed(sets == printed_text()["labelled_sets"]), f"{_SETS} × {cells.height} = {sets}"
    )
    pooled = f"{right} of {of} = {per_cent(100 * right / of, 2)}"
    yield Recomputed("answers", NOT_GIVEN, pooled, details, {"missing": whole - of, "whole": whole})


def _always_no(accuracy: pl.DataFrame, index: pl.DataFrame) -> Recomputed:
    """What a judge that never sees a stereotype would get right, given the share the judge sees."""
    shares = index.filter(pl.col("approach").is_in([INITIAL, OURS]), model=ALL).select(
        "family", "SSI", condition=pl.col("approach").replace({OURS: _REFINED})
    )
    both = accuracy.filter(model=ALL).join(shares, on=["family", "condition"], maintain_order="left")
    details, rivals = [], 0
    for f, c, told, share in both.select("family", "condition", "accuracy", "SSI").iter_rows():
        wrong = 100 - told
        low, high = max(0.0, 100 * share - wrong), min(100.0, 100 * share + wrong)
        rivals += 100 - low >= told
        details.append(
            {
                "family": f,
                "condition": c,
                "accuracy": per_cent(told, 2),
                "SSI by the judge": f"{share:.2f}",
                "SSI by people": f"{low / 100:.2f} to {high / 100:.2f}",
                "always “no” is right": f"{per_cent(100 - high)} to {per_cent(100 - low)}",
            }
        )
    return Recomputed("always-no", NOT_GIVEN, f"as good in {rivals} of {both.height} cells, at best", details)


def _prompts() -> Iterator[Recomputed]:
    """Which refined prompts keep their query, as the paper's own instruction demands."""
    prompts = printed_table("table03")
    begins = [new.startswith(query) for query, new in prompts.iter_rows()]
    details = [
        {"query": q, "refined prompt": new}
        for (q, new), so in zip(prompts.iter_rows(), begins, strict=True)
        if not so
    ]
    verdict = PARTLY if any(begins) and details else agreed(not details)
    yield Recomputed("begins", verdict, f"{sum(begins)} of {prompts.height}", details)
    example = printed_text()["example"]
    in_table = dict(prompts.iter_rows())[example["query"]]
    details = [
        {"where": "section 4.2.1", "refined prompt": example["refined"]},
        {"where": "Table 3", "refined prompt": in_table},
    ]
    starts = "begins" if example["refined"].startswith(example["query"]) else "does not begin"
    holds = in_table == example["refined"]
    yield Recomputed("example", agreed(holds), f"the text's {starts} with the query", details)


def _people(families: pl.DataFrame) -> Iterator[Recomputed]:
    told = printed_text()
    queries = families["queries"].to_list()
    images = sum(queries) * told["models"] * told["images_per_set"]
    counted = f"{' + '.join(map(str, queries))} = {sum(queries)} queries; {images} images"
    yield Recomputed("images", agreed(images == told["images"]), counted)
    n, shares = told["comparisons"], told["preferred"]
    counts = {name: round(share * n / 100) for name, share in shares.items()}
    exact = all(abs(100 * k / n - shares[name]) <= HUNDREDTH for name, k in counts.items())
    whole = told["participants"] * told["queries_compared"] == n == sum(counts.values())
    shown = f"{', '.join(f'{k} {name}' for name, k in counts.items())}; {sum(counts.values())} in all"
    yield Recomputed("rapid-fire", agreed(exact and whole), shown)
    details = []
    for name, k in counts.items():
        low, high = (100 * float(end) for end in wilson(k, n, level=1 - 0.05 / len(counts)))
        details.append({"preferred": name, "of 153": k, "95%": f"{per_cent(low, 1)} to {per_cent(high, 1)}"})
    p = sign_test(counts["refined"], counts["refined"] + counts["initial"])
    yield Recomputed(
        "rapid-fire-chance", NOT_GIVEN, f"sign test of refined against initial: p = {p:.2f}", details
    )
