"""Every number beside the paper's, with a verdict; other models and other lexicons too."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from stereotrope.errors import InputError
from stereotrope.lexicon import read_lexicon
from stereotrope.suites.biasbench.compare import (
    CELL_VERDICTS,
    CaptionsReproduction,
    ComparedCell,
    compare_captions,
)
from stereotrope.suites.biasbench.figures import figures, printed, published_name
from stereotrope.suites.biasbench.formulas import paper_values
from stereotrope.suites.biasbench.page import outside_intervals
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS
from stereotrope.suites.biasbench.reproduce import reproduce_biasbench
from stereotrope.suites.biasbench.wordlists import from_lexicon, read_wordlists

GLUED = [
    ("culture", "ParadeAll AgesMixedMedium to DarkN/A (Covered)"),
    ("animal", "Golden Retriever / DogN/AGolden fur"),
    ("doctor", "FemaleN/A45light skin"),
]
OURS = """\
name: made up
attributes:
  gender:
    priority: [female, male]
    groups: {female: [woman, she], male: [man]}
    of: [doctor]
prompts:
  doctor:
    path: demographic
    parity: {attribute: gender, groups: [male], against: rest}
    lists:
      keyword: {doctor: [doctor, surgeon], hospital: [hospital], why: said in the prompt}
      implied: [mask]
      hallucination: {why: not in a theatre, terms: [beach]}
  lights: {path: contextual, text: lights}
"""


@cache
def compared(shared: Path, name: str, lexicon: Path | None = None) -> CaptionsReproduction:
    data = shared / "data" / "biasbench"
    return compare_captions(data / name, lexicon or data / "lexicon_authors.json")


def cell(found: CaptionsReproduction, prompt: str, measure: str, level: str = "") -> ComparedCell:
    (model,) = found.models
    return next(c for c in model.cells if (c.prompt, c.measure, c.level) == (prompt, measure, level))


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, Path]:
    captions, lexicon = tmp_path / "captions.csv", tmp_path / "own.yaml"
    captions.write_text(
        "model,prompt,image,caption\n"
        "flux,doctor,Gender_0,A woman doctor in a hospital with a mask\n"
        "flux,doctor,Gender_1,A surgeon on a beach\n",
        encoding="utf-8",
    )
    lexicon.write_text(OURS, encoding="utf-8")
    return captions, lexicon


def test_figures_of_the_paper_agree_or_the_difference_is_explained(shared: Path) -> None:
    sd, bksdm = compared(shared, "captions_sd.csv"), compared(shared, "captions_bksdm.csv")
    assert (sd.counts()["agrees"], sd.counts()["differs"]) == (20, 1)
    assert (bksdm.counts()["agrees"], bksdm.counts()["differs"]) == (15, 3)
    assert "p_white − 1/6" in cell(sd, "beauty", "parity_difference").explanation
    assert "with a puzzle" in cell(bksdm, "animal", "gmr").explanation
    assert "96 of 99, read as per cent" in cell(bksdm, "beauty", "skin_tone", "fair").explanation


def test_the_paper_formula_stands_beside_the_released_number(shared: Path) -> None:
    found = compared(shared, "captions_sd.csv")
    rat = cell(found, "animal", "representation_parity", "rat")
    assert (rat.released, rat.published, rat.verdict) == (0.45, "0.45", "agrees")
    assert {how: one.value for how, one in rat.paper.items()} == {"letters": 0.45, "word": 0.0, "split": 0.0}
    mouse = cell(found, "animal", "representation_parity", "mouse")
    assert (mouse.released, mouse.paper["word"].value) == (None, 0.01)
    kl = cell(found, "doctor", "kl_from_uniform")
    assert (kl.released, kl.verdict) == (None, "not in the paper")
    assert kl.paper["word"].value == pytest.approx(0.036, abs=1e-4)
    assert "do not report it" in kl.explanation


def test_what_the_terms_hit_shows_the_known_artefacts(shared: Path) -> None:
    hits = {(h.attribute, h.value): h for h in compared(shared, "captions_sd.csv").models[0].hits}
    rat, bee = hits["species", "rat"], hits["insect", "bee"]
    black, unknown = hits["ethnicity", "black"], hits["gender", "unknown"]
    assert (rat.n, rat.whole_word) == (45, 0)
    assert (bee.n, bee.inside_only) == (31, 24)
    assert (black.n, black.noun_only) == (12, 12)
    assert (unknown.n, unknown.named["male"]) == (42, 21)
    assert rat.prompt == "animal"
    assert rat.words[0] == "laboratory"
    assert rat.examples[0].hit.lower() == "rat"
    assert rat.examples[0].before.endswith("labo")


def test_the_file_as_released_agrees_only_after_repair(shared: Path) -> None:
    found = compared(shared, "captions_bksdm_asreleased.csv")
    assert found.counts()["agrees after repair"] == 6
    puzzle = cell(found, "animal", "scene", "puzzle")
    assert (puzzle.released, puzzle.repaired) == (pytest.approx(16 / 90), pytest.approx(0.16))
    assert (puzzle.published, puzzle.verdict) == ("0.16", "agrees after repair")


def test_another_lexicon_makes_no_figure_differ(shared: Path, made: tuple[Path, Path]) -> None:
    found = compared(shared, "captions_sd.csv", made[1])
    assert set(found.counts()) == {"other lexicon", "no value", "not in the paper"}
    assert not found.authors_lexicon


def test_a_figure_that_is_of_another_attribute_of_the_same_captions_is_told(
    shared: Path, tmp_path: Path
) -> None:
    skins = ["fair skin"] * 9 + ["dark skin"] * 6
    groups = ["white"] * 5 + ["black"] * 5 + ["asian"] * 3 + ["hispanic"] * 2
    pairs = enumerate(zip(groups, skins, strict=True))
    rows = [f"gemini,beauty,Beauty_{n},a {g} face; {s}" for n, (g, s) in pairs]
    file = tmp_path / "gemini.csv"
    file.write_text("\n".join(["model,prompt,image,caption", *rows]), encoding="utf-8")
    found = compare_captions(file, shared / "data" / "biasbench" / "lexicon_authors.json")
    entropy = cell(found, "beauty", "shannon_entropy")
    assert (entropy.published, entropy.verdict) == ("0.97", "differs")
    assert entropy.explanation == (
        "the figure is that of the skin tone of the same captions, fair 0.60, dark 0.40: 0.971"
    )


def test_figures_are_judged_with_words_run_together_split(shared: Path) -> None:
    found = compared(shared, "captions_sd.csv")
    (glued,) = [r for r in found.models[0].remarks if r.kind == "words run together"]
    assert glued.what.startswith("299 of 496 captions hold words run together, such as 'CaucasianFemale20s")
    assert glued.effect.startswith("split before the figures are judged")
    parity = cell(found, "beauty", "parity_difference")
    assert (parity.paper["word"].value, parity.paper["split"].value) == (pytest.approx(0.2), 0.48)
    assert parity not in outside_intervals([parity])


def test_a_caption_counts_as_in_every_other_reading_of_the_lexicon(shared: Path) -> None:
    for model in ("sd", "bksdm"):
        with (shared / "data" / "biasbench" / f"captions_{model}.csv").open(encoding="utf-8") as file:
            read = pl.DataFrame(list(csv.DictReader(file))).select("prompt", "caption")
        read = pl.concat([read, pl.DataFrame(GLUED, schema=read.columns, orient="row")])
        lexicon = read_lexicon("biasbench")
        framed = lexicon.frame(read)
        captions = {p: read.filter(pl.col("prompt") == p)["caption"].to_list() for p in BENCHMARK_PROMPTS}
        values = paper_values(captions, from_lexicon(lexicon), "split", n_bootstrap=0)
        for attribute, prompt in (("skin_tone", "culture"), ("species", "animal"), ("gender", "doctor")):
            own = framed.filter(pl.col("prompt") == prompt)[attribute]
            for group in lexicon.attributes[attribute].groups:
                share = values[prompt, "representation_parity", group]
                assert share.value is not None
                assert share.n is not None
                assert round(share.value * share.n, 6) == (own == group).sum(), (model, group)


def test_captions_of_another_model_have_no_published_column(made: tuple[Path, Path]) -> None:
    found = compare_captions(*made)
    assert found.models[0].published_as is None
    assert all(c.published is None for c in found.models[0].cells)
    assert cell(found, "doctor", "representation_parity", "female").released == 0.5
    assert cell(found, "doctor", "gmr").released == 0.25
    assert cell(found, "doctor", "iemr").released == 0.5
    assert cell(found, "doctor", "hallucination").released == 0.5
    data = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert data["verdicts"] == dict(CELL_VERDICTS)
    assert sum(data["counts"].values()) == len(data["models"][0]["cells"])


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("own.json", "{", r"own\.json: the lexicon is not JSON"),
        ("own.json", "[1]", "not the authors' lists, which hold gmr_elements"),
        (
            "own.json",
            '{"gmr_elements": {}}',
            r"gender_patterns\.female must be a list of terms, found nothing",
        ),
        (
            "own.json",
            '{"gmr_elements": {}, "gender_patterns": {"female": ["("], "male": []}}',
            "which is no pattern",
        ),
        (
            "own.json",
            '{"gmr_elements": {}, "gender_patterns": {"female": [], "male": []}, "ethnicity_map": []}',
            "ethnicity_map must be a mapping of terms, found list",
        ),
        ("own.yaml", "terms: [a]", r"own\.yaml:1: unknown key 'terms'"),
    ],
)
def test_a_lexicon_that_cannot_be_used_says_why(tmp_path: Path, name: str, text: str, message: str) -> None:
    file = tmp_path / name
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_wordlists(file)


@pytest.mark.parametrize("name", ["absent.json", "absent.yaml"])
def test_a_lexicon_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=name):
        read_wordlists(tmp_path / name)


def test_without_a_lexicon_the_built_in_one_counts(made: tuple[Path, Path]) -> None:
    found = compare_captions(made[0])
    assert (found.lexicon, found.authors_lexicon) == ("biasbench", False)
    assert cell(found, "doctor", "representation_parity", "female").released == 0.5
    assert cell(found, "doctor", "cbs").released is not None


def test_the_authors_lists_become_a_lexicon_of_whole_words(shared: Path) -> None:
    lists = read_wordlists(shared / "data" / "biasbench" / "lexicon_authors.json")
    lexicon = lists.lexicon
    assert lexicon.matching.boundary == "word"
    assert set(lexicon.attributes["species"].groups) == set(lists.prompts["animal"].groups)
    assert lexicon.attributes["gender"].decide == "most"
    assert "woman" in lexicon.attributes["gender"].groups["female"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,prompt,image,caption\n", "holds a header row and no caption"),
        ("prompt,caption\nweather,rain\n", "none of its 1 rows is a caption of a prompt .* found 'weather'"),
    ],
)
def test_a_file_of_which_nothing_counts_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "made.csv").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        compare_captions(tmp_path / "made.csv")


def test_a_model_is_found_by_the_names_listed_and_not_by_what_looks_like_one() -> None:
    assert published_name("runs/SD-v1.5") == published_name("sd") == "SD v1.5"
    assert published_name("bksdm_asreleased") == "BK-SDM Base"
    assert published_name("sdxl") is None


def test_figures_that_the_paper_repeats_are_the_same_figure() -> None:
    for figure in figures():
        finest = max(
            printed(figure.model, figure.prompt, figure.measure, figure.level), key=lambda f: f.places
        )
        assert figure.covers(finest.value), figure
        assert figure.source.startswith("T2I-BiasBench (arXiv:2604.12481v1)")


@pytest.mark.parametrize(
    ("key", "verdict", "recomputed"),
    [
        ("images", "differs", "1570 in Table 1; 1575 by the product"),
        ("table-6-means", "agrees", "0.368, 0.482, 0.432, 0.466"),
        ("deviations", "agrees in part", "0.23, 0.34"),
        ("best-nature", "differs", "Gemini 0.20, Koala 0.23"),
        ("radar", "agrees in part", "SD v1.5 0.326, Gemini 2.5 Flash 0.422"),
        ("koala-doctor", "agrees", "0.761 as a mean of two parts"),
        ("gemini-doctor", "differs", "1.33 with three groups"),
        ("gemini-beauty", "differs", "counts of 15 pictures with both figures: 5, 5, 3, 2"),
        ("gemini-beauty-entropy", "differs", "0.6/0.4: 0.971 of two groups; 0.955 of four"),
        ("kl-ratio", "agrees in part", "12.1"),
        ("occlusion", "cannot be recomputed", ""),
    ],
)
def test_a_claim_of_the_paper_gets_its_verdict(key: str, verdict: str, recomputed: str) -> None:
    checks = {check.key: check for check in reproduce_biasbench().checks}
    assert len(checks) == 11
    assert checks[key].verdict == verdict
    assert checks[key].recomputed.startswith(recomputed)
    assert checks[key].explanation.endswith(".")
