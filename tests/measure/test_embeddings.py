"""Measures of vectors beside plain NumPy, and every case in which they are not defined."""

import json

import numpy as np
import polars as pl
import pytest
from scipy import stats as reference

from stereotrope.errors import TableError, UsageError
from stereotrope.measure import embeddings_frame, image_vendi, mean_similarity, prompt_alignment
from stereotrope.stats import jackknife_interval, mean_cosine, vendi_score


def unit(n, d=6, seed=1):
    x = np.random.default_rng(seed).normal(size=(n, d)) + 1.0
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def frame(vectors, *, cosines=None, **columns):
    n = len(vectors)
    made = {
        "image_id": [f"i{i}" for i in range(n)],
        "annotator": "clip",
        "generator": "m",
        "prompt": "cup",
        "vector": np.asarray(vectors, float).tolist(),
        "cosine": list(cosines if cosines is not None else np.linspace(0.1, 0.3, n)),
        **columns,
    }
    return pl.DataFrame(made)


def plain_vendi(x):
    values = np.linalg.eigvalsh(x @ x.T / len(x))
    values = values[values > 1e-15]
    return np.exp(-(values * np.log(values)).sum())


@pytest.mark.parametrize(("n", "d"), [(2, 6), (5, 6), (40, 6), (12, 64)])
def test_vendi_and_its_interval_are_those_of_plain_numpy(n, d):
    x = unit(n, d)
    raw, share = image_vendi(frame(x)).iter_rows(named=True)
    value = plain_vendi(x)
    without = np.array([plain_vendi(np.delete(x, i, axis=0)) for i in range(n)])
    half = reference.t.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    assert (raw["measure"], share["measure"]) == ("image_vendi", "image_vendi_normalised")
    assert raw["value"] == pytest.approx(value)
    assert share["value"] == pytest.approx((value - 1) / (n - 1))
    if n > 2:
        assert raw["low"] == pytest.approx(max(1.0, value - half))
        assert raw["high"] == pytest.approx(min(n, value + half))
        assert share["high"] == pytest.approx((raw["high"] - 1) / (n - 1))
    assert raw["method"] == "interval: Student's t, jackknife by picture"


def test_many_pictures_have_the_interval_of_the_infinitesimal_jackknife():
    row = image_vendi(frame(unit(1001))).row(0, named=True)
    assert row["method"] == "interval: normal, infinitesimal jackknife"
    fewer = image_vendi(frame(unit(1001)[:1000])).row(0, named=True)
    assert fewer["method"] == "interval: Student's t, jackknife by picture"
    assert row["high"] - row["low"] == pytest.approx(fewer["high"] - fewer["low"], rel=0.03)


def test_pictures_of_several_prompts_vary_by_prompt():
    x = np.repeat(unit(4), 3, axis=0)
    given = frame(x, prompt_id=[f"p{i // 3}" for i in range(12)])
    raw, _ = image_vendi(given, by=["generator"]).iter_rows(named=True)
    without = [plain_vendi(np.delete(x, slice(3 * i, 3 * i + 3), axis=0)) for i in range(4)]
    half = reference.t.ppf(0.975, 3) * np.sqrt(3 / 4 * ((without - np.mean(without)) ** 2).sum())
    assert raw["value"] == pytest.approx(plain_vendi(unit(4)))
    assert raw["low"] == pytest.approx(max(1.0, raw["value"] - half))
    assert "clustered" in raw["flags"]
    assert raw["method"].endswith("jackknife by prompt")
    assert raw["holds_for"] == "prompts like these"


def test_alignment_is_the_mean_cosine_with_students_interval():
    cosines = np.random.default_rng(3).normal(0.25, 0.03, 15)
    row = prompt_alignment(frame(unit(15), cosines=cosines)).row(0, named=True)
    low, high = reference.t.interval(0.95, 14, cosines.mean(), reference.sem(cosines))
    assert (row["value"], row["low"], row["high"]) == pytest.approx((cosines.mean(), low, high), abs=2e-4)
    assert (row["n"], row["annotator"], row["definition"]) == (15, "clip", "paper")


def test_intervals_of_alignment_cover():
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(300):
        row = prompt_alignment(frame(np.ones((10, 1)), cosines=0.25 + 0.05 * rng.standard_t(6, 10)))
        held += row["low"][0] <= 0.25 <= row["high"][0]
    assert 0.92 <= held / 300 <= 0.985


def test_two_encoders_are_never_in_one_number():
    both = pl.concat([frame(unit(5)), frame(unit(5, seed=2), annotator="siglip")])
    for measure in (image_vendi, prompt_alignment):
        rows = measure(both)
        assert set(rows["annotator"]) == {"clip", "siglip"}
        assert rows["n"].unique().to_list() == [5]
        with pytest.raises(UsageError, match="'annotator' is compared and cannot be in by as well"):
            measure(both, by=["annotator"])


@pytest.mark.parametrize(
    ("rows", "vendi", "alignment"),
    [
        (0, "no picture with an embedding", "no picture with an embedding"),
        (1, "a single picture shows no diversity", None),
    ],
)
def test_too_few_pictures_have_reasons(rows, vendi, alignment):
    given = frame(unit(3)).with_columns(
        excluded=pl.Series([None] * rows + ["refused by the generator"] * (3 - rows), dtype=pl.String)
    )
    found = image_vendi(given)
    assert found["undefined"].to_list() == [vendi, vendi]
    assert found["value"].null_count() == 2
    assert json.loads(found["excluded"][0]) == {"refused by the generator": 3 - rows}
    row = prompt_alignment(given).row(0, named=True)
    assert (row["undefined"], row["low"]) == (alignment, None)
    assert (row["value"] is None) == (alignment is not None)


def test_prompts_without_a_vector_leave_alignment_undefined_and_vendi_alone():
    given = frame(unit(4), cosines=[None] * 4).with_columns(pl.col("cosine").cast(pl.Float64))
    row = prompt_alignment(given).row(0, named=True)
    assert row["undefined"] == "no vector of the prompt's text"
    assert json.loads(row["excluded"]) == {"no vector of the prompt's text": 4}
    assert image_vendi(given)["value"].null_count() == 0


def test_pictures_that_are_all_alike_have_a_value_and_no_interval():
    same = frame(np.repeat(unit(1), 5, axis=0), cosines=[0.25] * 5)
    raw, share = image_vendi(same).iter_rows(named=True)
    assert (raw["value"], share["value"]) == pytest.approx((1.0, 0.0), abs=1e-6)
    row = prompt_alignment(same).row(0, named=True)
    assert row["value"] == 0.25
    assert (raw["low"], share["high"], row["low"]) == (None, None, None)


PROMPTS = pl.DataFrame({"prompt_id": ["p", "q"], "prompt": ["cup", "car"], "text": ["a cup", "a car"]})
IMAGES = pl.DataFrame(
    {
        "image_id": list("abcde"),
        "prompt_id": ["p", "p", "q", "q", "q"],
        "generator": "m",
        "status": ["ok", "ok", "ok", "refused", "excluded"],
    }
)


def table(*rows):
    names = ("subject_kind", "subject_id", "encoder", "vector")
    return pl.DataFrame([dict(zip(names, row, strict=True)) for row in rows])


def test_the_frame_sets_each_picture_beside_its_own_prompt():
    made = embeddings_frame(
        PROMPTS,
        IMAGES,
        table(
            ("image", "a", "clip", [2.0, 0.0]),
            ("image", "c", "clip", [0.0, 1.0]),
            ("text", "p", "clip", [3.0, 4.0]),
            ("text", "q", "clip", [3.0, 4.0]),
            ("image", "b", "other", [1.0, 0.0, 0.0]),
        ),
    )
    assert made.select("image_id", "annotator", "cosine", "excluded").rows() == [
        ("a", "clip", pytest.approx(0.6), None),
        ("b", "clip", None, "no embedding"),
        ("c", "clip", pytest.approx(0.8), None),
        ("d", "clip", None, "refused by the generator"),
        ("e", "clip", None, "picture excluded"),
        ("a", "other", None, "no embedding"),
        ("b", "other", None, None),
        ("c", "other", None, "no embedding"),
        ("d", "other", None, "refused by the generator"),
        ("e", "other", None, "picture excluded"),
    ]


def test_an_encoder_that_gave_nothing_has_rows_with_reasons():
    empty = table(("image", "a", "x", [1.0])).clear()
    made = embeddings_frame(PROMPTS, IMAGES, empty, encoders=["clip"])
    assert made["excluded"].null_count() == 0
    found = image_vendi(made)
    assert found["undefined"].unique().to_list() == ["no picture with an embedding"]
    assert embeddings_frame(PROMPTS, IMAGES, empty).height == 0
    assert image_vendi(embeddings_frame(PROMPTS, IMAGES, empty)).height == 0


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        (
            [("image", "a", "clip", [1.0]), ("image", "a", "clip", [2.0])],
            "image 'a' has two vectors by 'clip'",
        ),
        (
            [("image", "a", "clip", [1.0]), ("image", "b", "clip", [2.0, 1.0])],
            "by 'clip' must have one length, found 1 and 2; keep those of one model",
        ),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(rows, match):
    with pytest.raises(TableError, match=match):
        embeddings_frame(PROMPTS, IMAGES, table(*rows))


def test_frames_that_do_not_fit_are_refused():
    with pytest.raises(TableError, match="no column 'vector'"):
        image_vendi(frame(unit(3)).drop("vector"))
    with pytest.raises(TableError, match="image 'i0' stands there twice; keep one vector"):
        image_vendi(pl.concat([frame(unit(3))] * 2))
    with pytest.raises(UsageError, match="by must be a list of factors"):
        prompt_alignment(frame(unit(3)), by="generator")
    with pytest.raises(TableError, match="no column 'encoder'"):
        embeddings_frame(PROMPTS, IMAGES, table(("image", "a", "x", [1.0])).drop("encoder"))


def plain_similarity(x):
    cosines = x @ x.T
    return (cosines.sum() - np.trace(cosines)) / (len(x) * (len(x) - 1))


@pytest.mark.parametrize(("n", "d"), [(3, 6), (12, 64), (4100, 3)])
def test_mean_similarity_is_that_of_every_two_pictures(n, d):
    x = unit(n, d)
    row = mean_similarity(frame(3.0 * x)).row(0, named=True)
    assert row["value"] == pytest.approx(plain_similarity(x), abs=1e-12)
    if n < 100:
        without = np.array([plain_similarity(np.delete(x, i, axis=0)) for i in range(n)])
        half = reference.t.ppf(0.975, n - 1) * np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
        assert row["low"] == pytest.approx(max(-1.0, row["value"] - half))
        spread, nu = np.cov(x.T) / n, n - 1
        squares = nu**2 / ((nu - 1) * (nu + 2)) * ((spread**2).sum() - np.trace(spread) ** 2 / nu)
        further = np.hypot(half, reference.t.ppf(0.975, n - 1) * 2 * np.sqrt(max(squares, 0.0)))
        assert row["high"] == pytest.approx(min(1.0, row["value"] + further))


def test_mean_similarity_varies_by_prompt_or_by_scenario():
    rng = np.random.default_rng(5)
    middles = np.repeat(rng.normal(size=(8, 5)) + 1.0, 6, axis=0)
    x = middles + 0.3 * rng.normal(size=(48, 5))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    scenario, prompt = ([f"{kind}{i // each}" for i in range(48)] for kind, each in (("s", 6), ("p", 2)))
    given = frame(x, prompt_id=prompt, scenario=scenario).sample(fraction=1, shuffle=True, seed=1)
    for of, each in ((given.drop("scenario"), 2), (given, 6)):
        row = mean_similarity(of).row(0, named=True)
        units = 48 // each
        without = [
            plain_similarity(np.delete(x, slice(each * i, each * i + each), axis=0)) for i in range(units)
        ]
        half = reference.t.ppf(0.975, units - 1) * np.sqrt((units - 1) * np.var(without))
        assert row["value"] - row["low"] == pytest.approx(half)
        assert row["holds_for"] == "prompts like these"


def test_the_similarity_of_little_is_null_and_of_one_vector_has_no_interval():
    one = mean_similarity(frame(unit(1))).row(0, named=True)
    assert (one["value"], one["undefined"]) == (None, "a single picture shows no diversity")
    none = mean_similarity(frame(unit(2)).with_columns(excluded=pl.lit("no embedding"))).row(0, named=True)
    assert (none["undefined"], none["n"]) == ("no picture with an embedding", 0)
    same = mean_similarity(frame(np.tile([0.6, 0.8], (4, 1)))).row(0, named=True)
    assert (same["value"], same["low"], same["holds_for"]) == (pytest.approx(1), None, None)


def test_the_interval_of_the_similarity_covers_over_prompts():
    rng = np.random.default_rng(6)

    def drawn():
        x = np.repeat(1.0 + 0.8 * rng.normal(size=(12, 8)), 5, axis=0) + 0.4 * rng.normal(size=(60, 8))
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    true = np.mean([plain_similarity(drawn()) for _ in range(4000)])
    prompts = [f"p{i // 5}" for i in range(60)]
    rows = [mean_similarity(frame(drawn(), prompt_id=prompts)).row(0, named=True) for _ in range(250)]
    assert 0.91 < np.mean([row["low"] <= true <= row["high"] for row in rows]) <= 1.0


@pytest.mark.parametrize("prompts", [4, pytest.param(8, marks=pytest.mark.slow)])
def test_the_upper_end_of_the_similarity_of_two_kinds_is_held_where_they_look_balanced(prompts):
    rng = np.random.default_rng(11)

    def drawn(cells):
        kinds = np.sqrt(0.3) * rng.normal(size=(cells, prompts, 1))
        rare = kinds + np.sqrt(0.7) * rng.normal(size=(cells, prompts, 10)) < -0.524
        x = np.eye(8)[rare.astype(int)] + 0.3 * rng.normal(size=(*rare.shape, 8))
        return (x / np.linalg.norm(x, axis=-1, keepdims=True)).sum(axis=2)

    sizes = np.full(prompts, 10)
    true = np.mean([mean_cosine(sums, sizes)[0] for sums in drawn(3000)])
    ends = np.array([mean_cosine(sums, sizes)[1:] for sums in drawn(1000)])
    assert np.mean(ends[:, 1] < true) < 0.04  # 0.055 with the jackknife's error alone
    assert 0.93 < np.mean((ends[:, 0] <= true) & (true <= ends[:, 1])) < 0.98


def test_many_prompts_are_left_out_in_a_hundred_parts() -> None:
    rng = np.random.default_rng(5)
    vectors = rng.normal(size=(250, 1, 6)) + 0.5 * rng.normal(size=(250, 2, 6)) + 1
    frame = pl.DataFrame(
        {
            "image_id": [str(i) for i in range(500)],
            "prompt_id": [f"p{i // 2:03}" for i in range(500)],
            "generator": "m",
            "annotator": "e",
            "vector": vectors.reshape(500, 6).tolist(),
        }
    )
    row = image_vendi(frame, by=["generator"]).row(0, named=True)
    x = vectors.reshape(500, 6) / np.linalg.norm(vectors.reshape(500, 6), axis=1, keepdims=True)
    each = [vendi_score(x[np.arange(500) // 2 != prompt]) for prompt in range(250)]
    low, high = jackknife_interval(vendi_score(x), each)
    assert row["high"] - row["low"] == pytest.approx(high - low, rel=0.2)
    assert row["low"] < vendi_score(x) < row["high"]


def pictures(*vectors: object) -> pl.DataFrame:
    column = pl.Series("vector", list(vectors), dtype=pl.List(pl.Float64))
    ids = [f"i{at}" for at in range(len(vectors))]
    return pl.DataFrame({"image_id": ids, "annotator": "clip", "generator": "m", "prompt": "p"}).with_columns(
        column
    )


@pytest.mark.parametrize("measure", [image_vendi, mean_similarity])
def test_a_vector_of_zeros_has_no_direction_and_is_left_out(measure) -> None:
    known = [[1.0, 0.0], [0.0, 1.0]]
    without, found = (measure(pictures(*known, *more)) for more in ([], [[0.0, 0.0]]))
    assert found["value"].to_list() == without["value"].to_list()
    assert found.row(0, named=True)["excluded"] == '{"a vector of zeros": 1}'
    none = measure(pictures([0.0, 0.0], [0.0, 0.0])).row(0, named=True)
    assert (none["value"], none["undefined"]) == (None, "no picture with an embedding")


@pytest.mark.parametrize(
    ("vector", "message"),
    [
        ([1.0, None], "vector of image 'i1' holds a number that is missing or not finite; make it again"),
        ([1.0, float("nan")], "vector of image 'i1' holds a number that is missing or not finite"),
        ([1.0], "vector of image 'i1' has 1 numbers, and others by 'clip' have not; name each encoder"),
    ],
)
def test_vectors_that_are_none_are_refused(vector: list[float | None], message: str) -> None:
    with pytest.raises(TableError, match=message):
        image_vendi(pictures([1.0, 0.0], vector))
    with pytest.raises(TableError, match="column 'vector' must hold a list of numbers a row, found String"):
        image_vendi(pictures([1.0, 0.0]).with_columns(vector=pl.lit("[1, 0]")))


def test_cosines_are_numbers_on_their_scale() -> None:
    frame = pictures([1.0, 0.0], [1.0, 0.0])
    found = prompt_alignment(frame.with_columns(cosine=pl.Series([0.5, float("nan")])))
    assert found.select("value", "n").row(0) == (0.5, 1)
    for wrong, message in ((2.0, "from -1 to 1, found 2"), ("near", ", found 'near'; correct it")):
        with pytest.raises(TableError, match=f"embeddings: column 'cosine' must hold numbers.*{message}"):
            prompt_alignment(frame.with_columns(cosine=pl.lit(wrong)))
