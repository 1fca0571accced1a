"""What a run stores of the matching audit: known artefacts, bounds, and that it goes with the lexicon."""

import csv
import json
from pathlib import Path

import polars as pl
import pytest
from PIL import Image
from ruamel.yaml import YAML

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.errors import IncompleteError
from stereotrope.lexicon.summary import LEXICON_TERMS, MOST_NEVER, MOST_TERMS, MOST_VALUES_TOLD

AUDIT = """\
suite: biasbench
generators: [{generators}]
annotators: [{{captions: captions.csv, name: people}}, {lexicons}]
measures: [{{representation_parity: {{lexicon: {first}}}}}]
resamples: 100
"""
PETS = {
    "name": "pets",
    "matching": {"boundary": "substring"},
    "attributes": {"species": {"of": ["animal"], "groups": {"rat": ["rat"], "dog": ["dog"]}}},
    "prompts": {"animal": {"lists": {"keyword": ["pet"]}}},
}


def make(folder: Path, models: dict[str, list[tuple[str, str]]], **lexicons: dict) -> Audit:
    """An audit of tiny pictures: model → prompt and caption of each; lexicons by file name."""
    captions = []
    for number, (model, rows) in enumerate(models.items()):
        (folder / model).mkdir(exist_ok=True)
        names = [f"{model}-{at}.png" for at in range(len(rows))]
        for at, name in enumerate(names):
            Image.new("RGB", (8, 8), (at % 251, at // 251, number)).save(folder / model / name)
        with (folder / model / "metadata.csv").open("w", newline="") as file:
            prompts = (prompt for prompt, _ in rows)
            csv.writer(file).writerows([("file", "prompt"), *zip(names, prompts, strict=True)])
        captions += [(name, said) for name, (_, said) in zip(names, rows, strict=True)]
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image", "caption"), *captions])
    for name, tree in lexicons.items():
        with (folder / f"{name}.yaml").open("w") as file:
            YAML().dump(tree, file)
    text = AUDIT.format(
        generators=", ".join(f"{{folder: {m}, metadata: metadata.csv, name: {m}}}" for m in models),
        lexicons=", ".join(f"{{lexicon: {name}.yaml}}" for name in lexicons),
        first=next(iter(lexicons.values()))["name"],
    )
    return Audit.from_text(text, base=folder)


def value_of(lexicon: dict, attribute: str, value: str) -> dict:
    (row,) = [v for v in lexicon["values"] if (v["attribute"], v["value"]) == (attribute, value)]
    return row


def whole(example: dict) -> str:
    return "".join(example.get(name, "") for name in ("before", "term", "between", "other", "after"))


@pytest.fixture(scope="module")
def authors(shared) -> tuple[dict, dict]:
    """The authors' lists as lexicon files: letters anywhere, and gender as their expressions are."""
    lists = json.loads((shared / "data/biasbench/lexicon_authors.json").read_text(encoding="utf-8"))

    def attribute(groups, prompt):
        groups = {name: list(terms) for name, terms in groups.items()}
        return {"groups": groups, "priority": list(groups), "of": [prompt]}

    prompts = {name: {"lists": {}} for name in ("beauty", "doctor", "animal", "nature", "culture")}
    words = {
        side: [p.strip("^").replace("\\b", "") for p in patterns if p.startswith("\\b")]
        for side, patterns in lists["gender_patterns"].items()
        if side != "rule"
    }
    for side, own in words.items():
        own.remove(side)
        own.append({"female": "*female*", "male": "male*"}[side])
    attributes = {
        "ethnicity": attribute(lists["ethnicity_map"], "beauty"),
        "species": attribute({name: [name] for name in lists["animal_types"]}, "animal"),
        "insect": attribute({name: [name] for name in lists["insect_types"]}, "nature"),
    }
    return (
        {"name": "a", "matching": {"boundary": "substring"}, "attributes": attributes, "prompts": prompts},
        {"name": "b", "attributes": {"gender": attribute(words, "doctor")}, "prompts": prompts},
    )


@pytest.fixture(scope="module")
def published(shared, authors, tmp_path_factory) -> st.Run:
    """A run over the published captions of SD v1.5 with the authors' lexicon."""
    folder = tmp_path_factory.mktemp("published")
    table = pl.read_csv(shared / "data/biasbench/captions_sd.csv")
    rows = list(table.select("prompt", "caption").iter_rows())
    return make(folder, {"sd15": rows}, a=authors[0], b=authors[1]).run(folder / "run")


def test_the_artefacts_of_the_published_captions_are_stored(published):
    letters, gender = published.info["lexicons"]
    rat, bee = value_of(letters, "species", "rat"), value_of(letters, "insect", "bee")
    assert (rat["n"], rat["n_word"], rat["n_inside_only"]) == (45, 0, 44)
    assert rat["words"][0] == "laboratory"
    assert (bee["n"], bee["n_inside_only"], bee["words"][0]) == (31, 24, "beetle")
    black = value_of(letters, "ethnicity", "black")
    assert (black["n"], black["n_noun_only"]) == (12, 12)
    unknown = value_of(gender, "gender", "unknown")
    assert (unknown["n"], unknown["n_named"], unknown["named"]["male"]) == (42, 21, 21)
    assert gender["second"] == letters["second"] == "biasbench"


def test_the_artefacts_stand_on_the_first_screen_with_their_pictures(published):
    told = published.findings.filter(kind="instrument")
    for value in ("“rat”", "“bee”", "“black”", "“unknown”"):
        (row,) = told.filter(pl.col("sentence").str.contains(value, literal=True)).to_dicts()
        assert json.loads(row["image_ids"])


def test_the_table_has_a_row_a_term_that_says_the_same(published, authors):
    table = published.table("lexicon_terms")
    assert table.columns == [column.name for column in LEXICON_TERMS]
    rat = table.row(by_predicate=pl.col("term") == "rat", named=True)
    assert (rat["n_inside"], rat["n_hits"]) == (67, 68)
    assert json.loads(rat["inside_words"])[0] == "laboratory"
    assert json.loads(rat["by_generator"]) == {"sd15": {"n_captions": 100, "n_hits": 68, "n_doubtful": 67}}
    captions = dict(published.labels.filter(attribute="caption").select("subject_id", "value").iter_rows())
    assert all("rat" in captions[image].casefold() for image in json.loads(rat["image_ids"]))
    n = sum(len(ts) for one in authors for a in one["attributes"].values() for ts in a["groups"].values())
    assert table.height == n


def test_every_example_is_a_part_of_its_caption_and_marks_the_term(published):
    captions = dict(published.labels.filter(attribute="caption").select("subject_id", "value").iter_rows())
    for lexicon in published.info["lexicons"]:
        told = [row for key in ("inside", "before_nouns", "starred", "double") for row in lexicon[key]]
        assert told
        for row in told:
            assert 1 <= len(row["examples"]) <= 2
            for example in row["examples"]:
                assert whole(example).strip("…") in captions[example["image_id"]]
                if "term" in row:
                    assert example["term"].casefold() == row["term"].strip("*").casefold()


def test_doubts_are_told_by_model_since_one_that_hits_one_model_biases_the_comparison(tmp_path):
    models = {
        "one": [("animal", "a laboratory"), ("animal", "a decorated wall"), ("animal", "a rat")],
        "other": [("animal", "a rat"), ("animal", "two rats"), ("animal", "a dog")],
    }
    run = make(tmp_path, models, pets=PETS).run(tmp_path / "run")
    rat = value_of(run.info["lexicons"][0], "species", "rat")
    assert (rat["n"], rat["n_doubtful"]) == (5, 2)
    assert [(one["generator"], one["n"], one["n_doubtful"]) for one in rat["by_generator"]] == [
        ("one", 3, 2),
        ("other", 2, 0),
    ]
    assert set(rat["image_ids"]) == set(
        run.labels.filter(pl.col("value").is_in(["a laboratory", "a decorated wall"]))["subject_id"]
    )


def test_images_of_doubtful_captions_are_of_each_model_in_turn(tmp_path):
    models = {name: [("animal", "a laboratory")] * 8 for name in ("one", "other")}
    run = make(tmp_path, models, pets=PETS).run(tmp_path / "run")
    images = value_of(run.info["lexicons"][0], "species", "rat")["image_ids"]
    drawn_by = dict(run.images.select("image_id", "generator").iter_rows())
    assert [drawn_by[image] for image in images] == ["one", "other"] * 6


def test_the_audit_goes_with_its_lexicon_and_measuring_again_gives_the_same(tmp_path, reported):
    audit = make(tmp_path, {"one": [("animal", "a laboratory"), ("animal", "a dog")]}, pets=PETS)
    run = audit.run(tmp_path / "run")
    before = run.table("lexicon_terms"), run.info["lexicons"]
    again = audit.measure(tmp_path / "run")
    assert again.table("lexicon_terms").equals(before[0])
    assert again.info["lexicons"] == before[1]
    without = audit.source.text.replace(", {lexicon: pets.yaml}", "").replace(
        "{representation_parity: {lexicon: pets}}", "refusal_rate"
    )
    gone = Audit.from_text(without, base=tmp_path).run(tmp_path / "run")
    assert not (tmp_path / "run" / "lexicon_terms.parquet").exists()
    assert "lexicons" not in gone.info
    assert gone.table("lexicon_terms").is_empty()
    assert not (tmp_path / "run" / "report" / "tables" / "lexicon_terms.csv").exists()


def test_captions_that_are_missing_make_an_audit_of_nothing(tmp_path, reported):
    audit = make(tmp_path, {"one": [("animal", "x")]}, pets=PETS)
    (tmp_path / "captions.csv").write_text("image,caption\nother.png,a rat\n")
    with pytest.raises(IncompleteError, match=r"none of its rows \(1\) matches a picture"):
        audit.run(tmp_path / "run")
    run = st.open(tmp_path / "run")
    (told,) = run.info["lexicons"]
    assert (told["n_captions"], told["n_hits"], told["values"]) == (0, 0, [])
    assert "There are no captions" in (run.path / "report" / "index.html").read_text()


def test_very_long_captions_and_very_many_terms_stay_bounded(tmp_path):
    groups = {f"g{at}": [f"w{at}x"] for at in range(64)}
    many = {
        "name": "many",
        "matching": {"boundary": "substring"},
        "attributes": {"kind": {"priority": list(groups), "groups": groups}},
        "prompts": {"animal": {"lists": {"keyword": [f"never{at}" for at in range(200)]}}},
    }
    rows = [("animal", f"{'y' * 40_000}w{at}x{'z' * 40_000}") for at in range(64)]
    run = make(tmp_path, {"one": rows}, many=many).run(tmp_path / "run")
    (told,) = run.info["lexicons"]
    assert (len(told["values"]), told["n_values"]) == (MOST_VALUES_TOLD, 64)
    assert len(told["inside"]) == MOST_TERMS
    assert (len(told["never"]), told["n_never"]) == (MOST_NEVER, 200)
    assert max(len(whole(e)) for row in told["inside"] for e in row["examples"]) < 310
    assert max(len(word) for row in told["inside"] for word in row["words"]) < 100
    assert len(json.dumps(told)) < 200_000
