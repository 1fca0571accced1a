"""The index and the shares of items: by hand, against numpy, and where something is missing."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from stereotrope import measure
from stereotrope.errors import TableError, UsageError

ITEMS = ("Q1_gender", "Q2_age", "Q3_props", "Q4_food")


def answers(seed: int, n: int = 9, *, repetitions: int = 3, sets: int = 2, lost: float = 0.0) -> pl.DataFrame:
    """Random answers of two models, some of them lost."""
    rng = np.random.default_rng(seed)
    rows = []
    for model in ("a", "b"):
        for query in range(n):
            for one in range(sets):
                shares = rng.uniform(0, 1, len(ITEMS))
                for repetition in range(repetitions):
                    for item, share in zip(ITEMS, shares, strict=True):
                        value = "yes" if rng.uniform() < share else "no"
                        value = "invalid" if rng.uniform() < lost else value
                        images = f"{model}{query}{one}"
                        rows.append((f"{images}-{repetition}", images, item, value, model, f"q{query}"))
    schema = ["image_id", "images", "attribute", "value", "generator", "query"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def by_hand(labels: pl.DataFrame, items: tuple[str, ...] = ITEMS) -> np.ndarray:
    """SSI of each query, by loops over the rows."""
    found: dict[str, dict[str, dict[str, list[float]]]] = {}
    for row in labels.iter_rows(named=True):
        if row["value"] in ("yes", "no") and row["attribute"] in items:
            of = found.setdefault(row["query"], {}).setdefault(row["images"], {})
            of.setdefault(row["attribute"], []).append(float(row["value"] == "yes"))
    return np.array(
        [
            np.mean([np.mean([np.mean(said) for said in one.values()]) for one in sets.values()])
            for sets in found.values()
        ]
    )


@pytest.mark.parametrize("lost", [0.0, 0.2])
def test_it_is_the_mean_over_queries_of_sets_of_items_of_repetitions(lost: float) -> None:
    labels = answers(1, lost=lost)
    found = measure.ssi(labels, query="query").filter(measure="ssi")
    for model in ("a", "b"):
        queries = by_hand(labels.filter(generator=model))
        row = found.filter(generator=model).row(0, named=True)
        assert row["value"] == pytest.approx(queries.mean(), abs=1e-12)
        assert (row["n"], row["n_categories"], row["attribute"]) == (18, 4, "all")
        # Student's interval on the scale of the logit, by the delta method.
        at = np.log(queries.mean() / (1 - queries.mean()))
        spread = stats.sem(queries) / (queries.mean() * (1 - queries.mean()))
        reach = stats.t.ppf(0.975, len(queries) - 1) * spread
        ends = 1 / (1 + np.exp(-np.array([at - reach, at + reach])))
        if "Gaffke" in row["method"]:
            # Queries lie unevenly: the wider of both.
            assert row["low"] < ends[0] + 1e-9
            assert row["high"] > ends[1] - 1e-9
        else:
            assert (row["low"], row["high"]) == pytest.approx(tuple(ends), abs=1e-9)
        assert row["holds_for"] == "prompts like these"


def test_the_share_of_an_item_is_wilsons_over_queries() -> None:
    labels = answers(2, sets=1, repetitions=1)
    found = measure.ssi(labels, query="query", by=["generator"]).filter(measure="item_share")
    assert found["attribute"].to_list() == [*ITEMS, *ITEMS]
    z = NormalDist().inv_cdf(0.975)
    for row in found.iter_rows(named=True):
        said = labels.filter(generator=row["generator"], attribute=row["attribute"])["value"].to_list()
        k, n = said.count("yes"), len(said)
        middle, reach = k + z**2 / 2, z * np.sqrt(k * (n - k) / n + z**2 / 4)
        assert row["value"] == pytest.approx(k / n)
        ends = ((middle - reach) / (n + z**2), (middle + reach) / (n + z**2))
        assert (row["low"], row["high"]) == pytest.approx(ends)


def test_an_item_that_no_set_reinforces_has_a_share_of_0_and_an_interval() -> None:
    labels = answers(3).with_columns(
        pl.when(pl.col("attribute") == "Q4_food").then(pl.lit("no")).otherwise("value").alias("value")
    )
    row = (
        measure.ssi(labels, query="query")
        .filter(measure="item_share", attribute="Q4_food")
        .row(0, named=True)
    )
    assert row["value"] == 0
    assert row["low"] == 0 < row["high"] < 0.35


def test_below_four_queries_the_index_has_no_interval_and_says_so() -> None:
    for n in (1, 3):
        found = measure.ssi(answers(4, n), query="query").filter(measure="ssi")
        assert found["value"].null_count() == found["low"].count() == 0
        assert found["flags"].str.contains("few_queries").all()
        shares = measure.ssi(answers(4, n), query="query").filter(measure="item_share")
        assert set(shares["holds_for"]) == {"these prompts"}
        assert shares["method"].to_list() == [f"Wilson over {2 * n} sets"] * 8


def test_queries_that_are_all_alike_have_no_interval_of_no_width() -> None:
    labels = answers(5).with_columns(value=pl.lit("no"))
    row = measure.ssi(labels, query="query").row(0, named=True)
    assert (row["value"], row["low"], row["high"]) == (0.0, None, None)
    assert "no_variation" in row["flags"]


def test_answers_that_are_missing_are_counted_by_reason_and_bound_the_index() -> None:
    labels = answers(6, lost=0.3, repetitions=1).with_columns(
        pl.when((pl.col("query") == "q0") & (pl.col("value") == "invalid")).then(pl.lit("refused"))
        .otherwise("value").alias("value")
    )  # fmt: skip
    row = measure.ssi(labels, query="query").row(0, named=True)
    own = labels.filter(generator="a")
    lost = {r: own.filter(value=r).height for r in ("invalid", "refused")}
    assert row["excluded"] == f'{{"invalid": {lost["invalid"]}, "refused": {lost["refused"]}}}'
    for end, value in (("bound_low", "no"), ("bound_high", "yes")):
        filled = own.with_columns(pl.col("value").replace({"invalid": value, "refused": value}))
        assert row[end] == pytest.approx(by_hand(filled).mean())
    assert row["bound_low"] < row["value"] < row["bound_high"]


def test_an_item_never_answered_is_undefined_and_leaves_the_index_to_the_others() -> None:
    gone = pl.col("attribute") == "Q2_age"
    labels = answers(7).with_columns(pl.when(gone).then(pl.lit("refused")).otherwise("value").alias("value"))
    found = measure.ssi(labels, query="query").filter(generator="a")
    assert found.filter(attribute="Q2_age")["undefined"].to_list() == ["no usable answer"]
    others = tuple(item for item in ITEMS if item != "Q2_age")
    assert found["value"][0] == pytest.approx(by_hand(labels.filter(generator="a"), others).mean())
    nothing = measure.ssi(labels.filter(gone), query="query")
    assert set(nothing["undefined"]) == {"no usable answer"}


def test_words_other_than_yes_and_no_do_not_count_and_capitals_do_not_matter() -> None:
    rows = [("s", "a", "Yes"), ("t", "a", " NO "), ("u", "a", "maybe")]
    labels = pl.DataFrame(rows, schema=["image_id", "attribute", "value"], orient="row")
    row = measure.ssi(labels, by=[]).row(0, named=True)
    assert (row["value"], row["n"], row["excluded"]) == (0.5, 2, '{"neither yes nor no": 1}')


def test_only_the_items_and_raters_that_are_named_count() -> None:
    labels = answers(8).with_columns(annotator=pl.lit("j"))
    both = pl.concat([labels, labels.with_columns(annotator=pl.lit("control"), value=pl.lit("yes"))])
    found = measure.ssi(both, items=["Q1_gender"], raters=["j"], query="query")
    assert found["value"][0] == pytest.approx(by_hand(labels.filter(generator="a"), ("Q1_gender",)).mean())
    with pytest.raises(TableError, match="two annotators label it"):
        measure.ssi(both, query="query")
    with pytest.raises(UsageError, match="no item 'Q9'; found Q1_gender"):
        measure.ssi(labels, items="Q9")
    with pytest.raises(UsageError, match="query: no column 'asked'"):
        measure.ssi(labels, query="asked")


@pytest.mark.parametrize("name", ["query", "set"])
def test_a_factor_keeps_its_levels_whatever_it_is_called(name: str) -> None:
    labels = answers(7)
    levels = (
        pl.when(pl.col("query").is_in(["q0", "q1", "q2"])).then(pl.lit("early")).otherwise(pl.lit("late"))
    )
    labels = labels.with_columns(levels.alias("part"), asked="query")
    plain = measure.ssi(labels, by=("generator", "part"), query="asked")
    named = labels.drop("query").rename({"part": name})
    found = measure.ssi(named, by=("generator", name), query="asked")
    assert found.rename({name: "part"}).equals(plain)
    assert set(found[name]) == {"early", "late"}


def test_cells_are_grouped_together_however_many_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    group_by = pl.DataFrame.group_by

    def counting(*args: object, **kwargs: object) -> object:
        made.append(1)
        return group_by(*args, **kwargs)

    monkeypatch.setattr(pl.DataFrame, "group_by", counting)
    counts = []
    for n in (3, 30):
        made.clear()
        rows = measure.ssi(answers(5, n, lost=0.2), by=["generator", "query"], query="query")
        assert rows["query"].n_unique() == n
        counts.append(len(made))
    assert counts[0] == counts[1]


def test_a_cell_among_many_is_what_it_is_alone() -> None:
    labels = answers(6, 5, lost=0.3)
    rows = measure.ssi(labels, by=["generator", "query"], query="query")
    for model, query in labels.select("generator", "query").unique().iter_rows():
        alone = measure.ssi(
            labels.filter(generator=model, query=query), by=["generator", "query"], query="query"
        )
        assert_frame_equal(rows.filter(generator=model, query=query), alone)


def of_seeds(rng: np.random.Generator, queries: int, sets: int, of_seed: float) -> pl.DataFrame:
    """Answers of which queries explain 0.1 of what varies, and seeds that set i of each query shares more."""
    query, seed = rng.normal(size=(queries, 1, 1)), rng.normal(size=(1, sets, 1))
    own = np.sqrt(0.9 - of_seed) * rng.normal(size=(queries, sets, len(ITEMS)))
    latent = np.sqrt(0.1) * query + np.sqrt(of_seed) * seed + own
    yes = pl.Series((latent < NormalDist().inv_cdf(0.3)).ravel())
    at = pl.DataFrame(np.stack([of.ravel() for of in np.indices(latent.shape)]).T, ["query", "seed", "item"])
    return at.select(
        image_id=pl.format("{}-{}", "query", "seed"),
        query=pl.format("q{}", "query"),
        attribute=pl.col("item").cast(pl.String).replace_strict(dict(zip("0123", ITEMS, strict=True))),
        value=pl.when(yes).then(pl.lit("yes")).otherwise(pl.lit("no")),
        generator=pl.lit("m"),
        seed="seed",
    )


def test_seeds_that_queries_share_count() -> None:
    rng, held = np.random.default_rng(4), []
    for _ in range(30):
        labels = of_seeds(rng, 40, 5, 0.2)
        rows = [measure.ssi(of, query="query").row(0, named=True) for of in (labels, labels.drop("seed"))]
        held.append([row["low"] <= 0.3 <= row["high"] for row in rows])
    told, blind = np.mean(held, axis=0)
    assert told >= 0.9
    assert blind < 0.7
    methods = [row["method"] for row in rows]
    assert methods[0] == "over 40 queries, shared seeds counted, between 0 and 1: t on the logit scale"
    assert "seeds" not in methods[1]
    shares = measure.ssi(labels, query="query").filter(measure="item_share")
    assert shares["method"].unique().to_list() == ["Wilson over 40 queries, shared seeds counted"]


@pytest.mark.parametrize(
    ("n_seeds", "words"), [(3, ", with 3 shared seeds alone"), (1, ", with 1 shared seed alone")]
)
def test_of_few_seeds_an_interval_says_that_it_is_of_these(n_seeds: int, words: str) -> None:
    labels = of_seeds(np.random.default_rng(5), 8, n_seeds, 0.2)
    told, blind = (measure.ssi(of, query="query") for of in (labels, labels.drop("seed")))
    assert told.drop("method").equals(blind.drop("method"))
    assert told["method"].str.contains(words, literal=True).all()


def test_seeds_of_its_own_for_each_query_change_nothing() -> None:
    labels = of_seeds(np.random.default_rng(6), 8, 5, 0.2)
    own = labels.with_columns(seed=pl.struct("query", "seed").rank("dense"))
    lost = labels.with_columns(seed=pl.when(pl.int_range(pl.len()) > 3).then(pl.col("seed") * 1.0))
    blind = measure.ssi(labels.drop("seed"), query="query")
    for of in (own, lost, labels.filter(pl.col("query") < "q3")):
        plain = blind if of.height == labels.height else measure.ssi(of.drop("seed"), query="query")
        assert measure.ssi(of, query="query").equals(plain)


@pytest.mark.parametrize("kind", ["set_agreement", "ppi_ssi"])
def test_judges_beside_people_count_shared_seeds_too(kind: str) -> None:
    labels = of_seeds(np.random.default_rng(7), 12, 6, 0.3)
    coin = pl.Series(np.random.default_rng(8).random(labels.height) < 0.2)
    other = pl.when(pl.lit(coin)).then(pl.lit("no")).otherwise("value")
    both = [
        labels.with_columns(annotator=pl.lit("j")),
        labels.with_columns(value=other, annotator=pl.lit("p")),
    ]
    frame = pl.concat(both)
    told, blind = (getattr(measure, kind)(of, "p", query="query") for of in (frame, frame.drop("seed")))
    some = told["low"].is_not_null()
    assert told.filter(some)["method"].str.contains("shared seeds counted").any()
    assert (told["high"] - told["low"]).sum() > (blind["high"] - blind["low"]).sum()
