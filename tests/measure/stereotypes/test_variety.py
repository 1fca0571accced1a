"""WALS from a frame of vectors: directions given, between sentences and between pictures."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import stereotrope as st
from stereotrope import measure
from stereotrope.errors import AuditFileError, TableError, UsageError
from stereotrope.measure.stereotypes import variety
from stereotrope.stats import alignment_floor, alignment_of_vectors, class_direction, kernel_alignment

D = 8


def vectors(
    n: int, concept: str, rng: np.random.Generator, shift: np.ndarray | float = 0.0, **columns
) -> pl.DataFrame:
    x = rng.normal(size=(n, D)) * np.arange(1, D + 1.0) ** -0.5 + np.eye(D)[0] + shift
    frame = pl.DataFrame(
        {
            "image_id": [f"{concept}-{i:04d}" for i in range(n)],
            "vector": x.tolist(),
            "annotator": "clip",
            "generator": "m",
            "concept": concept,
        }
    )
    return frame.with_columns(
        (pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name))
        for name, value in columns.items()
    )


def unit(frame: pl.DataFrame) -> np.ndarray:
    x = np.array(frame["vector"].to_list())
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def along(name: str, vector: list[float], annotator: str = "clip") -> pl.DataFrame:
    return pl.DataFrame({"attribute": [name], "annotator": annotator, "vector": [vector]})


def part(found: pl.DataFrame, definition: str, **where) -> dict:
    return found.filter(definition=definition, **where).row(0, named=True)


@pytest.mark.parametrize("n", [5, 60])
def test_both_definitions_are_those_of_the_vectors(n: int) -> None:
    rng = np.random.default_rng(1)
    frame, direction = vectors(n, "doctor", rng), rng.normal(size=D)
    found = measure.wals(frame, along("man", direction.tolist()))
    for definition, centre in (("paper", False), ("centred", True)):
        expected = alignment_of_vectors(unit(frame), direction[:, None], centre=centre)[0]
        row = part(found, definition)
        assert row["value"] == pytest.approx(expected, abs=1e-6)
        assert row["low"] < row["value"] < row["high"]
        assert (row["floor"], row["n"]) == (pytest.approx(alignment_floor(D)), n)
        assert row["excess"] == pytest.approx(row["value"] - row["floor"])


def test_with_a_kernel_scores_along_the_direction_that_bends_stand_beside() -> None:
    rng = np.random.default_rng(4)
    sides = [vectors(20, "man", rng, np.eye(D)[2]), vectors(20, "woman", rng, -np.eye(D)[2])]
    doctor = vectors(30, "doctor", rng)
    frame, axes = pl.concat([doctor, *sides]), {"man": ["man", "woman"]}
    found = measure.wals(frame, axes=axes, kernel=True)
    z, shows = unit(pl.concat(sides)), np.arange(40) < 20
    for definition, centre in (("kernel", False), ("kernel_centred", True)):
        row = part(found, definition)
        expected = kernel_alignment(unit(doctor), z, shows, centre=centre)
        assert row["value"] == pytest.approx(expected, abs=1e-9)
        assert row["low"] < row["value"] < row["high"]
        assert row["floor"] is row["excess"] is None
        assert "bent by a Gaussian kernel" in row["method"]
    alone = measure.wals(frame, axes=axes)
    assert alone.drop("method").equals(
        found.filter(~pl.col("definition").str.starts_with("kernel")).select(alone.columns).drop("method")
    )


def test_a_kernel_needs_pictures_of_two_levels_and_not_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    frame = pl.concat([vectors(20, one, rng) for one in ("doctor", "man", "woman")])
    with pytest.raises(UsageError, match=r"kernel needs pictures of two levels .*; give axes"):
        measure.wals(frame, along("man", [1.0] * D), kernel=True)
    one = measure.wals(
        frame.filter(pl.col("concept") != "woman"), axes={"man": ["man", "woman"]}, kernel=True
    )
    assert set(one["undefined"]) == {"pictures of both have the same mean, or one has none"}
    monkeypatch.setattr(variety, "_MOST_BENT", 39)
    many = measure.wals(frame, axes={"man": ["man", "woman"]}, kernel=True)
    assert "more than 2,000 pictures" in part(many, "kernel")["undefined"]
    assert part(many, "paper")["value"] is not None


def test_many_pictures_in_pieces_give_what_they_give_at_once() -> None:
    rng = np.random.default_rng(2)
    frame, direction = vectors(9_000, "doctor", rng), np.eye(D)[1]
    found = measure.wals(frame, along("man", direction.tolist()))
    expected = alignment_of_vectors(unit(frame), direction[:, None], centre=True)[0]
    assert part(found, "centred")["value"] == pytest.approx(expected, abs=1e-6)


def test_sentences_give_the_difference_of_their_means_at_unit_length() -> None:
    rng = np.random.default_rng(3)
    frame = vectors(40, "doctor", rng)
    said = {
        "a man": rng.normal(size=D) * 3,
        "a bearded man": rng.normal(size=D),
        "a woman": rng.normal(size=D),
    }
    rows = pl.DataFrame(
        {"sentence": list(said), "vector": [v.tolist() for v in said.values()], "annotator": "clip"}
    )
    units = {name: v / np.linalg.norm(v) for name, v in said.items()}
    present = (units["a man"] + units["a bearded man"]) / 2
    direction = present / np.linalg.norm(present) - units["a woman"]
    sides = {
        "man": [["a man", "a bearded man"], ["a woman"]],
        "same": [["a woman"], ["a woman"]],
        "unsaid": [["a man"], ["a robot"]],
    }
    found = measure.wals(pl.concat([frame, rows], how="diagonal"), sides=sides)
    assert found["generator"].unique().to_list() == ["m"]
    expected = alignment_of_vectors(unit(frame), direction[:, None], centre=False)[0]
    assert part(found, "paper", attribute="man")["value"] == pytest.approx(expected, abs=1e-9)
    assert part(found, "paper", attribute="same")["undefined"] == "both descriptions have the same vector"
    assert part(found, "centred", attribute="unsaid")["undefined"] == "a sentence has no vector"


def test_axes_lie_between_pictures_of_the_same_model_and_have_no_score() -> None:
    rng = np.random.default_rng(4)
    shift = 0.4 * rng.normal(size=D)
    frame = pl.concat(
        [vectors(30, "doctor", rng), vectors(25, "man", rng, shift), vectors(20, "woman", rng, -shift)]
    )
    other = frame.with_columns(generator=pl.lit("other"), vector=pl.col("vector").list.reverse())
    found = measure.wals(pl.concat([frame, other]), axes={"man": ["man", "woman"], "lost": ["man", "robot"]})
    assert found["concept"].unique().to_list() == ["doctor"]
    aware = frame.filter(pl.col("concept") != "doctor")
    direction = class_direction(unit(aware), (aware["concept"] == "man").to_numpy())
    doctors = unit(frame.filter(concept="doctor"))
    expected = alignment_of_vectors(doctors, direction[:, None], centre=True)[0]
    for model in ("m", "other"):
        row = part(found, "centred", generator=model, attribute="man")
        assert row["value"] == pytest.approx(expected, abs=1e-6)
        assert "between 45 pictures of 'man' and 'woman'" in row["method"]
    lost = part(found, "paper", generator="m", attribute="lost")
    assert lost["undefined"] == "pictures of both have the same mean, or one has none"


def test_what_has_no_score_says_why() -> None:
    rng = np.random.default_rng(5)
    one, same = (
        vectors(1, "one", rng),
        vectors(6, "same", rng).with_columns(vector=pl.lit([1.0] + [0.0] * (D - 1))),
    )
    none = vectors(3, "none", rng).with_columns(vector=pl.lit(None, pl.List(pl.Float64)))
    found = measure.wals(pl.concat([one, same, none]), along("man", [0.6, 0.8] + [0.0] * (D - 2)))
    assert part(found, "centred", concept="one")["undefined"] == "pictures do not vary"
    single = part(found, "paper", concept="one")
    assert (single["low"], single["undefined"]) == (None, None)
    assert part(found, "paper", concept="same")["value"] == pytest.approx(0.6)
    assert part(found, "centred", concept="same")["undefined"] == "pictures do not vary"
    assert part(found, "paper", concept="none")["undefined"] == "no picture with an embedding"
    assert part(found, "paper", concept="none")["excluded"] == '{"no picture with an embedding": 3}'


def test_the_units_are_prompts_where_there_are_four() -> None:
    rng = np.random.default_rng(6)
    frame = vectors(80, "doctor", rng, prompt_id=[f"p{i % 5}" for i in range(80)])
    row = part(measure.wals(frame, along("man", np.eye(D)[2].tolist())), "centred")
    assert (row["holds_for"], row["method"][-15:]) == ("prompts like these", "arts of prompts")


def test_a_call_that_does_not_fit_is_one_message() -> None:
    frame = vectors(5, "doctor", np.random.default_rng(7))
    direction = along("man", [1.0] * D)
    with pytest.raises(UsageError, match="give one of directions, axes and sides; found none or several"):
        measure.wals(frame)
    with pytest.raises(UsageError, match="give one of directions, axes and sides"):
        measure.wals(frame, direction, axes={"man": ["man", "woman"]})
    with pytest.raises(
        UsageError, match=r"axes: 'man' must name two levels, .* found \['man'\]; write man: \["
    ):
        measure.wals(frame, axes={"man": ["man"]})
    with pytest.raises(TableError, match="directions: 'man' stands twice for one encoder; keep one row each"):
        measure.wals(frame, pl.concat([direction, direction]))
    with pytest.raises(
        TableError, match="those by 'clip' must have as many numbers as its vectors, found 2 and 8"
    ):
        measure.wals(frame, along("man", [1.0, 0.0]))


HEAD = """\
prompts: {template: "A photo of a/an {concept}", concept: [doctor, man, woman]}
generators: ['openai:x']
"""
VECTORS = "annotators: [{embeddings: vectors.csv, name: clip}"


ROWS = 'image,text,vector\nx.png,,"[1, 0]"\n,a man,"[1, 0]"\n,a woman,"[0, 1]"\n'


def planned(tmp_path, annotators: str, measures: str):
    (tmp_path / "vectors.csv").write_text(ROWS)
    return st.Audit.from_text(f"{HEAD}{annotators}\nmeasures: [{measures}]\n", base=tmp_path).plan()


def test_an_audit_takes_axes_from_its_prompts(tmp_path) -> None:
    call = planned(tmp_path, f"{VECTORS}]", "{wals: {axes: {man: [man, woman]}}}").measures[-1]
    assert call.arguments["axes"] == {"man": ["man", "woman"]}
    assert call.arguments["within"] == ["generator"]
    bent = planned(tmp_path, f"{VECTORS}]", "{wals: {axes: {man: [man, woman]}, kernel: true}}").measures[-1]
    assert bent.arguments["kernel"] is True
    shot = "{zero_shot: , encoder: clip, candidates: {man: {positive: [a man], negative: [a woman]}}}"
    with pytest.raises(
        AuditFileError, match=r"measure 'wals': kernel needs pictures of two levels .* give axes"
    ):
        planned(tmp_path, f"{VECTORS}, {shot}]", "{wals: {kernel: true}}")


@pytest.mark.parametrize(
    ("measures", "message"),
    [
        (
            "wals",
            r":4: measure 'wals': needs directions: list an annotator with candidates \(zero_shot\)",
        ),
        (
            "{wals: {axes: {man: [man, robot]}}}",
            r"axes: 'man' is between levels of 'concept', and no .* 'robot'; add",
        ),
        (
            "{wals: {axes: {man: [man, woman]}, over: job}}",
            r"no factor 'job' of concepts; the prompts have concept",
        ),
        (
            "{wals: {sides: {man: [a, b]}}}",
            r"sides cannot be given here: sentences are those of the candidates",
        ),
    ],
)
def test_what_an_audit_cannot_ask_is_told_with_its_line(tmp_path, measures, message) -> None:
    with pytest.raises(AuditFileError, match=message):
        planned(tmp_path, f"{VECTORS}]", measures)
