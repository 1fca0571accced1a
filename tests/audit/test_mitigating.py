"""Strategies carried out on a run, offline: conditions of the same run, edited prompts, nothing twice."""

import csv
import shutil
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import stereotrope as st
from stereotrope.audit.mitigated import MITIGATED_FILE
from stereotrope.audit.mitigating import Mitigation
from stereotrope.cli import app
from stereotrope.errors import AuditFileError, MetadataError, UsageError
from stereotrope.run import Ledger

AUDIT = """\
prompts:
  - {text: "a cup", thing: cup}
  - {text: "a sofa", thing: sofa}
generators: [calibrated]
annotators: [colour, duplicates]
images_per_prompt: 2
measures: [share, {refusal_rate: {by: [generator]}}]
report: {figures: false}
"""
WITH = ["ethical", "suffix:in many styles"]


@pytest.fixture(scope="module")
def mitigated(tmp_path_factory) -> Path:
    """The folder of an audit file and of its run, with two mitigations."""
    folder = tmp_path_factory.mktemp("mitigated")
    (folder / "audit.yaml").write_text(AUDIT)
    st.Audit.from_yaml(folder / "audit.yaml").run(folder / "run")
    Mitigation(folder / "run", WITH).run()
    return folder


@pytest.fixture
def folder(mitigated, tmp_path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copytree(mitigated, tmp_path / "copy"))


def rows(folder):
    with (folder / "run" / MITIGATED_FILE).open(newline="") as file:
        return list(csv.DictReader(file))


def write(folder, changed):
    with (folder / "run" / MITIGATED_FILE).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(changed[0]))
        writer.writeheader()
        writer.writerows(changed)


def drawn(folder):
    with Ledger(folder / "run" / "ledger.db", readonly=True) as ledger:
        return ledger.totals()


def test_every_strategy_is_a_condition_of_the_same_run(mitigated):
    run = st.open(mitigated / "run")
    texts = run.prompts.select("mitigation", "thing", "text").rows()
    said = "Ensure the image avoids harmful stereotypes and is fair and inclusive."
    assert texts == [
        ("none", "cup", "a cup"),
        ("none", "sofa", "a sofa"),
        ("ethical", "cup", f"a cup. {said}"),
        ("ethical", "sofa", f"a sofa. {said}"),
        ("suffix", "cup", "a cup, in many styles"),
        ("suffix", "sofa", "a sofa, in many styles"),
    ]
    levels = run.images.join(run.prompts, on="prompt_id").group_by("mitigation").agg(pl.len(), "seed")
    assert set(levels["len"]) == {4}
    assert {tuple(seeds) for seeds in levels["seed"]} == {(0, 1, 0, 1)}
    shares = run.scores.filter(measure="share")
    assert set(shares["mitigation"]) == {"none", "ethical", "suffix"}
    assert run.images["image_id"].is_unique().all()


def test_no_measure_pools_the_conditions_whatever_it_is_told_to_be_by(mitigated):
    rates = st.open(mitigated / "run").scores.filter(measure="refusal_rate")
    assert rates.select("mitigation", "n").sort("mitigation").rows() == [
        ("ethical", 4),
        ("none", 4),
        ("suffix", 4),
    ]


def test_pictures_that_were_there_keep_their_ids_and_are_not_drawn_again(mitigated, tmp_path):
    before = st.Audit.from_text(AUDIT).run(tmp_path / "before")
    run = st.open(mitigated / "run")
    own = run.prompts.filter(mitigation="none")["prompt_id"]
    assert own.to_list() == before.prompts["prompt_id"].to_list()
    assert run.images.filter(pl.col("prompt_id").is_in(own.implode())).equals(before.images)
    assert drawn(mitigated)["generate"] == 12


@pytest.mark.parametrize("again", ["mitigate", "run", "measure"])
def test_doing_it_again_does_nothing_and_ends_in_the_same_tables(folder, again):
    before = st.open(folder / "run")
    had = before.prompts, before.images, before.labels, before.estimates, drawn(folder)
    if again == "mitigate":
        Mitigation(folder / "run", WITH).run()
    else:
        getattr(st.Audit.from_run(folder / "run"), again)(folder / "run")
    after = st.open(folder / "run")
    for table, was in zip((after.prompts, after.images, after.labels, after.estimates), had, strict=False):
        assert table.equals(was)
    assert drawn(folder) == had[-1]


def test_prompts_can_be_edited_before_anything_is_drawn(tmp_path):
    (tmp_path / "audit.yaml").write_text(AUDIT)
    st.Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "run")
    command = ["mitigate", str(tmp_path / "run"), "--with", "suffix:in many styles"]
    told = CliRunner().invoke(app, ["--quiet", *command, "--prompts-only"])
    assert told.exit_code == 0
    assert "mitigated.csv: edit it, then run this command without --prompts-only" in " ".join(
        told.stdout.split()
    )
    assert drawn(tmp_path)["generate"] == 4
    changed = rows(tmp_path)
    changed[0]["prompt"], changed[1]["prompt"] = "a cup, blue", ""
    write(tmp_path, changed)
    assert CliRunner().invoke(app, ["--quiet", *command]).exit_code == 0
    run = st.open(tmp_path / "run")
    assert run.prompts.filter(mitigation="suffix")["text"].to_list() == ["a cup, blue"]
    assert drawn(tmp_path)["generate"] == 6
    assert "suffix: 1 of 2 prompts have no mitigated one" in run.info["notes"]


def test_a_prompt_with_the_text_of_another_level_has_its_pictures_at_no_cost(folder):
    changed = rows(folder)
    changed[0]["prompt"] = "a cup"
    write(folder, changed)
    had = drawn(folder)
    run = st.Audit.from_run(folder / "run").run(folder / "run")
    images = run.images.join(run.prompts.select("prompt_id", "mitigation", "thing"), on="prompt_id")
    cups = images.filter(thing="cup").select("mitigation", "image_id", "sha256", "cost", "params")
    pairs = {
        level: cups.filter(mitigation=level)["sha256"].to_list() for level in ("none", "ethical", "suffix")
    }
    assert pairs["ethical"] == pairs["none"] != pairs["suffix"]
    assert images["image_id"].is_unique().all()
    assert cups.filter(mitigation="ethical")["params"].str.contains("kept_from").all()
    now = drawn(folder)
    assert now["generate"] == had["generate"] + 2  # under their own prompt
    assert now["annotate"] == had["annotate"]
    labels = run.labels.join(cups.select("mitigation", subject_id="image_id"), on="subject_id")
    seen = {level: labels.filter(mitigation=level, attribute="product_colour")["value"] for level in pairs}
    assert seen["ethical"].to_list() == seen["none"].to_list()
    assert run.labels.filter(attribute="exact_duplicate_of").is_empty()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"mitigation": "none"}, r"mitigated\.csv:2: columns 'mitigation' and 'prompt_id'"),
        ({"prompt_id": ""}, r"mitigated\.csv:2: columns 'mitigation' and 'prompt_id'"),
        ({"round": "0"}, r"mitigated\.csv:2: column 'round' must be a whole number from 1 to 20, found '0'"),
        ({"round": "1" + "0" * 5000}, "column 'round' must be a whole number from 1 to 20, found '1000"),
        ({"status": "banana"}, r":2: column 'status' must be one of rewritten, kept, .*, found 'banana'"),
        ({"status": "Kept"}, r":2: column 'status' must be one of rewritten, kept, .*, found 'Kept'"),
        ({"status": "kept"}, r":2: column 'status' says kept, and the prompt is another than before, found"),
        ({"mitigation": "suffix", "prompt_id": None}, r"mitigated\.csv:4: 'suffix' of this prompt and gen"),
    ],
)
def test_a_mistake_in_the_file_is_told_by_its_line(folder, change, message):
    changed = rows(folder)
    changed[0] |= {key: changed[2][key] if value is None else value for key, value in change.items()}
    write(folder, changed)
    with pytest.raises(MetadataError, match=message):
        st.Audit.from_run(folder / "run").run(folder / "run")


@pytest.mark.parametrize("first", [None, "calibrated"])
def test_a_row_for_all_models_and_one_for_a_model_cannot_stand_side_by_side(folder, first):
    changed = rows(folder)
    twin = {**changed[0], "generator": "calibrated" if first is None else ""}
    changed[0]["generator"] = first or ""
    write(folder, [*changed, twin])
    with pytest.raises(MetadataError, match=r":6: 'ethical' of this prompt has a row for all models .*'cali"):
        st.Audit.from_run(folder / "run").run(folder / "run")


def test_a_prompt_that_was_invalid_may_be_written_by_hand(folder):
    changed = rows(folder)
    changed[0] |= {"status": "invalid", "reason": "x", "prompt": "a red cup"}
    write(folder, changed)
    run = st.Audit.from_run(folder / "run").run(folder / "run")
    assert "a red cup" in run.prompts["text"].to_list()


@pytest.mark.parametrize("command", ["run", "mitigate"])
def test_a_file_whose_rows_are_all_deleted_is_one_without_levels(folder, command):
    file = folder / "run" / MITIGATED_FILE
    before = file.read_text()
    file.write_text(before.splitlines()[0] + "\n")
    if command == "run":
        run = st.Audit.from_run(folder / "run").run(folder / "run")
        assert set(run.prompts["mitigation"] if "mitigation" in run.prompts.columns else ["none"]) == {"none"}
    else:
        Mitigation(folder / "run", WITH).run()
        assert file.read_text() == before


def test_another_strategy_under_the_name_of_one_is_refused_and_says_what_to_do(folder):
    match = (
        r"mitigated\.csv: 2 of 2 prompts of 'suffix' \(the first: 'a cup, in many styles'\) are of another "
        r"strategy, or of this one with other options; give this one a level of its own \(`name: suffix-2`\)"
    )
    with pytest.raises(UsageError, match=match):
        Mitigation(folder / "run", ["suffix:in many colours"])
    with pytest.raises(UsageError, match="of another strategy"):
        Mitigation(folder / "run", [{"redraw": None, "name": "ethical"}])
    write(folder, [row for row in rows(folder) if row["mitigation"] != "suffix"])
    Mitigation(folder / "run", ["suffix:in many colours"]).rewrite()
    assert [row["prompt"] for row in rows(folder)][2:] == [
        "a cup, in many colours",
        "a sofa, in many colours",
    ]


def test_a_file_that_does_not_say_by_which_strategy_is_read_as_before(folder):
    write(folder, [{k: v for k, v in row.items() if k != "strategy"} for row in rows(folder)])
    Mitigation(folder / "run", ["suffix:in many colours"]).rewrite()
    assert [row["prompt"] for row in rows(folder)][2:] == ["a cup, in many styles", "a sofa, in many styles"]


def test_a_prompt_that_nobody_can_draw_and_one_that_is_gone_are_told(folder):
    changed = rows(folder)
    changed[0]["prompt"] = "a thought"
    write(folder, changed)
    with pytest.raises(UsageError, match="generator 'calibrated' cannot draw 'a thought'"):
        st.Audit.from_run(folder / "run").run(folder / "run")
    changed[0]["prompt_id"] = "0123456789abcdef"
    write(folder, changed)
    run = st.Audit.from_run(folder / "run").run(folder / "run")
    assert "ethical: 1 of 2 mitigated prompts are of no prompt or model of this audit" in run.info["notes"]


def test_a_level_that_is_another_misspelt_is_told(folder):
    changed = rows(folder)
    changed[1]["mitigation"] = "ethicl"
    write(folder, changed)
    run = st.Audit.from_run(folder / "run").run(folder / "run")
    assert [note for note in run.info["notes"] if "level of its own" in note] == [
        "mitigated.csv: 'ethicl' is a level of its own, of 1 prompt that 'ethical' lacks (the first: "
        "'a sofa'); did you mean 'ethical'? If so, write it so in the file"
    ]


def test_levels_of_the_same_prompts_may_have_like_names(folder):
    write(folder, [*rows(folder), *({**row, "mitigation": "ethical2"} for row in rows(folder)[:2])])
    run = st.Audit.from_run(folder / "run").run(folder / "run")
    assert not [note for note in run.info["notes"] if "level of its own" in note]


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (["suffix", "suffix:in many styles"], "two strategies would be the level 'suffix' of mitigation"),
        ([{"suffix": "x", "name": "none"}], "would be the level 'none'"),
        (["redraw:faircritic"], "'redraw' follows 'faircritic', which is no strategy before it"),
    ],
)
def test_levels_have_names_of_their_own(mitigated, specs, message):
    with pytest.raises(UsageError, match=message):
        Mitigation(mitigated / "run", specs)


def test_a_level_of_the_design_cannot_be_a_strategys_and_one_without_must_be_there(tmp_path):
    text = "suite: objects\nobjects: [cup]\ndimensions: {gender: [women]}\nimages_per_prompt: 1\n"
    text += "generators: [calibrated]\nannotators: [blank]\nmeasures: []\nreport: {figures: false}\n"
    named = st.Audit.from_text(text + "mitigations: {none: '', suffix: in blue}\n")
    named.run(tmp_path / "named")
    with pytest.raises(UsageError, match="'suffix' is a level of `mitigations` of the design"):
        Mitigation(tmp_path / "named", ["suffix"]).run()
    st.Audit.from_text(text + "mitigations: {a: in red, b: in blue}\n").run(tmp_path / "without")
    with pytest.raises(UsageError, match="no level 'none' to begin from"):
        Mitigation(tmp_path / "without", ["suffix"]).run()


def test_pictures_made_elsewhere_cannot_be_drawn_again(tmp_path, mitigated):
    pictures = tmp_path / "pictures"
    shutil.copytree(mitigated / "run" / "pictures", pictures)
    (tmp_path / "audit.yaml").write_text(
        "generators: [{folder: pictures, name: m}]\nannotators: [blank]\nreport: {figures: false}\n"
    )
    st.Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "run")
    with pytest.raises(UsageError, match="its pictures were made elsewhere, and no generator"):
        Mitigation(tmp_path / "run", ["ethical"])


def test_the_command_names_what_it_was_asked(mitigated):
    told = CliRunner().invoke(app, ["mitigate", str(mitigated / "run"), "--with", "{suffix: [}"])
    assert isinstance(told.exception, UsageError)
    assert "--with: is no YAML mapping" in str(told.exception)
    listed = CliRunner().invoke(app, ["strategies"]).stdout
    assert "ethical" in listed
    assert "suffix" in listed


OBJECTS = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
generators: [calibrated]
annotators: [colour]
mitigations: MITIGATIONS
"""


def test_an_audit_file_names_strategies_that_see_no_picture_by_the_same_words():
    text = OBJECTS.replace("MITIGATIONS", "[none, ethical, 'suffix:in many styles', range of styles]")
    prompts = st.Audit.from_text(text).plan().prompts.filter(group="women")
    cue = "cup for women, one product only, no people"
    assert dict(prompts.select("mitigation", "text").rows()) == {
        "none": cue,
        "ethical": f"{cue}. Ensure the image avoids harmful stereotypes and is fair and inclusive.",
        "suffix": f"{cue}, in many styles",
        "range of styles": f"{cue}, with a wide range of styles",
    }


def test_a_suite_compares_every_score_before_and_after_a_mitigation():
    measures = st.Audit.from_text(OBJECTS.replace("MITIGATIONS", "[none, ethical]")).plan().measures
    scores = {
        "average": {"bds", "cds", "vac"},
        "change": {"cds", "vac"},
        "paired_difference": {"cds", "vac", "refusal_rate"},
    }
    assert {name: {call.on for call in measures if call.name == name} for name in scores} == scores
    assert sum(call.name in scores for call in measures) == 8


def test_prompts_of_any_design_take_the_mitigations_of_an_audit_file():
    prompts = st.Audit.from_text(AUDIT + "mitigations: {none: '', blue: in blue}\n").plan().prompts
    assert prompts.select("mitigation", "text").rows() == [
        ("none", "a cup"),
        ("none", "a sofa"),
        ("blue", "a cup, in blue"),
        ("blue", "a sofa, in blue"),
    ]
    with pytest.raises(AuditFileError, match="the prompts have a factor 'mitigation' already"):
        st.Audit.from_text(
            AUDIT.replace("thing:", "mitigation:") + "mitigations: {none: '', blue: in blue}\n"
        ).plan()


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("[none, calm]", "'calm' has no wording; known are none, .*ethical, .*; write `calm: suffix`"),
        (
            "[none, 'refine:openai:x']",
            "looks at pictures, .* `stereotrope mitigate RUN --with refine:openai:x`",
        ),
        ("[none, ethical:now]", "mitigations: strategy ethical: ethical must be left empty|be left empty"),
        ("['suffix:a', 'suffix:b']", "two would be the level 'suffix'; write a mapping"),
    ],
)
def test_a_mitigation_of_an_audit_file_that_cannot_be_is_told(listed, message):
    with pytest.raises(AuditFileError, match=rf"audit.yaml:6: mitigations: .*({message})|{message}"):
        st.Audit.from_text(OBJECTS.replace("MITIGATIONS", listed)).plan()
