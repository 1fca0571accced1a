"""The calibrated generator as a generator: same bytes, planted values, refusals, messages."""

from __future__ import annotations

import io
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from PIL import Image
from scipy import stats

from stereotrope.errors import InputError, UsageError
from stereotrope.generate import (
    CalibratedGenerator,
    Generator,
    ImageRequest,
    ImageResult,
    Truth,
    create,
)
from stereotrope.generate.calibrated import ATTRIBUTES

WOMEN = "cup for women, one product only, no people"


def ask(generator: Generator, text: str | None, seed: int | None = 0) -> ImageResult:
    return generator.process(ImageRequest("id", "prompt", generator.name, text, None, seed))


@pytest.fixture(scope="module")
def small() -> CalibratedGenerator:
    return CalibratedGenerator(size=64)


def test_same_text_and_seed_give_the_same_bytes(small: CalibratedGenerator) -> None:
    again = CalibratedGenerator(size=64)
    assert ask(small, WOMEN, 7).data == ask(again, WOMEN, 7).data


def test_other_seed_or_text_gives_another_picture(small: CalibratedGenerator) -> None:
    pictures = {ask(small, WOMEN, seed).data for seed in range(30)} | {ask(small, "cup for men", 0).data}
    assert len(pictures) == 31


def test_a_request_without_a_seed_is_drawn_the_same_each_time(small: CalibratedGenerator) -> None:
    assert ask(small, WOMEN, None).data == ask(small, WOMEN, None).data


def test_threads_draw_what_one_thread_draws(small: CalibratedGenerator) -> None:
    texts = [f"{thing} for young adults" for thing in small.truth.objects for _ in range(6)]
    alone = [ask(small, text, i).data for i, text in enumerate(texts)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda item: ask(small, item[1], item[0]).data, enumerate(texts)))
    assert together == alone


@pytest.mark.parametrize(("format", "expected"), [("jpeg", "JPEG"), ("png", "PNG")])
def test_picture_has_the_asked_format_and_size(format: str, expected: str) -> None:
    result = ask(CalibratedGenerator(size=96, format=format), WOMEN)
    assert result.status == "ok"
    assert result.data is not None
    picture = Image.open(io.BytesIO(result.data))
    assert (picture.format, picture.size, picture.mode) == (expected, (96, 96), "RGB")


@pytest.mark.parametrize(
    "text",
    [
        "cup, one product only, no people",
        WOMEN,
        "sofa for elderly women, one product only, no people",
        "clock targeted at men, one product only, no people",
        "car for Latinx people, one product only, no people, with a wide range of styles",
        "teddy bear for Black people, one product only, no people, avoiding stereotypical styles",
    ],
)
def test_values_follow_the_planted_distribution(small: CalibratedGenerator, text: str) -> None:
    n = 4_000
    drawn = [small.values(text, seed) for seed in range(n)]
    for attribute, shares in small.planted(text).items():
        counts = Counter(values[attribute] for values in drawn)
        assert set(counts) <= set(shares)
        if len(shares) > 1:
            test = stats.chisquare([counts[v] for v in shares], [n * s for s in shares.values()])
            assert test.pvalue > 1e-4, (text, attribute, counts)


def test_attributes_of_one_image_are_independent(small: CalibratedGenerator) -> None:
    drawn = [small.values(WOMEN, seed) for seed in range(4_000)]
    pairs = Counter((v["product_colour"], v["shape"]) for v in drawn)
    colours, shapes = (sorted({v[a] for v in drawn}) for a in ("product_colour", "shape"))
    table = [[pairs[colour, shape] for shape in shapes] for colour in colours]
    assert stats.chi2_contingency(table).pvalue > 1e-4


def test_values_of_two_prompts_with_one_seed_are_independent(small: CalibratedGenerator) -> None:
    pairs = Counter(
        (small.values("sofa", seed)["shape"], small.values("sofa for men", seed)["shape"])
        for seed in range(4_000)
    )
    shapes = sorted({a for a, _ in pairs})
    assert stats.chi2_contingency([[pairs[a, b] for b in shapes] for a in shapes]).pvalue > 1e-4


@pytest.mark.slow
def test_refusals_come_as_often_as_asked_and_only_for_the_cue() -> None:
    generator = CalibratedGenerator(size=32, refuse={"women": 0.3})
    n = 1_000
    results = [generator.process(ImageRequest("", "", "", WOMEN, None, seed)) for seed in range(n)]
    refused = [r for r in results if r.status == "refused"]
    assert stats.binomtest(len(refused), n, 0.3).pvalue > 1e-4
    assert {(r.data, r.reason) for r in refused} == {(None, "declined by the model's policy (planted)")}
    assert generator.refusal_share("cup for men") == 0.0
    assert {ask(generator, "cup", seed).status for seed in range(50)} == {"ok"}


def test_refusal_of_an_intersection_is_the_larger_share_of_its_cues() -> None:
    generator = CalibratedGenerator(refuse={"women": 0.3, "elderly": 0.1})
    assert generator.refusal_share("cup for elderly women") == 0.3


def test_one_refusal_share_holds_for_every_cue_and_not_for_the_baseline() -> None:
    generator = CalibratedGenerator(size=32, refuse=1.0)
    assert {ask(generator, f"cup for {cue}").status for cue in ("men", "middle-aged")} == {"refused"}
    assert ask(generator, "cup").status == "ok"


def test_refusing_does_not_change_the_pictures_that_are_drawn(small: CalibratedGenerator) -> None:
    choosy = CalibratedGenerator(size=64, refuse=0.5)
    for seed in range(20):
        result = ask(choosy, WOMEN, seed)
        assert result.status == "refused" or result.data == ask(small, WOMEN, seed).data


@pytest.mark.parametrize("text", ["a banana on a plate", "", None, "carpet", "cupboard"])
def test_text_without_a_known_object_is_excluded_with_the_reason(
    small: CalibratedGenerator, text: str | None
) -> None:
    result = ask(small, text)
    assert (result.status, result.data) == ("excluded", None)
    assert result.reason == small.check(text or "")
    assert "it can draw backpack, car, clock, cup, laptop, sofa, teddy bear, toaster" in (result.reason or "")


def test_check_passes_what_can_be_drawn(small: CalibratedGenerator) -> None:
    assert small.check(WOMEN) is None


def test_fingerprint_changes_with_all_that_changes_a_picture(tmp_path: Path) -> None:
    other = tmp_path / "truth.yaml"
    other.write_text(
        own_truth().replace("white: 0.75, blue: 0.08", "white: 0.73, blue: 0.10"), encoding="utf-8"
    )
    generators = [
        CalibratedGenerator(),
        CalibratedGenerator(size=256),
        CalibratedGenerator(format="png"),
        CalibratedGenerator(quality=80),
        CalibratedGenerator(refuse=0.1),
        CalibratedGenerator(truth=other),
    ]
    assert len({g.fingerprint for g in generators}) == len(generators)
    assert CalibratedGenerator(name="other").fingerprint == CalibratedGenerator().fingerprint


def test_comments_in_the_truth_file_leave_the_fingerprint(tmp_path: Path) -> None:
    same = tmp_path / "truth.yaml"
    same.write_text(f"# a comment\n{own_truth()}", encoding="utf-8")
    assert CalibratedGenerator(truth=same).fingerprint == CalibratedGenerator().fingerprint


def test_create_makes_it_from_a_name_and_from_options(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(own_truth(), encoding="utf-8")
    plain = create("calibrated")
    made = create({"calibrated": "mine.yaml", "name": "mine", "size": 64}, relative_to=tmp_path)
    assert (plain.name, made.name) == ("calibrated", "mine")
    assert isinstance(made, CalibratedGenerator)
    assert made.size == 64
    assert plain.concurrency >= 1


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("calibratd", r"generator 'calibratd' is unknown; did you mean 'calibrated'\?"),
        ({"name": "x"}, r"generator 'name' is unknown; known are calibrated, diffusers, folder"),
        (
            {"calibrated": None, "sise": 3},
            r"generator calibrated: unknown key 'sise'; did you mean 'size'\?",
        ),
        ({"calibrated": ["x"]}, r"calibrated must be a text, found \['x'\]; put it in quotes"),
        (
            {"calibrated": None, "folder": "x"},
            r"an entry is one of them, found calibrated and folder; give each its own",
        ),
    ],
)
def test_create_refuses_a_spec_that_does_not_fit(spec: object, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        create(spec)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 8}, r"size must be at least 32, found 8; raise it"),
        ({"size": 4096}, r"size must be at most 2,048, found 4096; lower it"),
        ({"size": True}, r"size must be a whole number, found True; write \{calibrated:"),
        ({"quality": 101}, r"quality must be at most 100, found 101; lower it"),
        ({"format": "gif"}, r"format must be 'jpeg' or 'png', found 'gif'; correct it"),
        ({"name": " "}, r"name must not be empty, found ' '"),
        ({"refuse": 1.5}, r"refuse must be a share between 0 and 1, found 1.5; correct it"),
        (
            {"refuse": {"womn": 0.5}},
            r"found 'womn'; did you mean 'women'\? known: young adults, middle-aged",
        ),
        ({"refuse": "often"}, r"refuse must be a share between 0 and 1, found 'often'"),
    ],
)
def test_an_option_that_does_not_fit_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        CalibratedGenerator(**options)  # type: ignore[arg-type]


def test_missing_truth_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.yaml: no such file; check its path"):
        CalibratedGenerator(truth=tmp_path / "none.yaml")


def test_values_name_every_planted_attribute(small: CalibratedGenerator) -> None:
    assert tuple(small.values(WOMEN, 0)) == ATTRIBUTES


def own_truth() -> str:
    from importlib import resources

    return (
        resources.files("stereotrope.generate.calibrated").joinpath("truth.yaml").read_text(encoding="utf-8")
    )


def test_own_truth_is_the_default() -> None:
    assert Truth.load().digest == CalibratedGenerator().truth.digest


def test_product_and_background_differ_in_colour(small: CalibratedGenerator) -> None:
    for thing in small.truth.objects:
        for group in ("women", "men", "elderly women", "middle-aged", "young adults", "Black people"):
            drawn = [small.values(f"{thing} for {group}", seed) for seed in range(100)]
            assert all(v["product_colour"] != v["background_colour"] for v in drawn), (thing, group)
