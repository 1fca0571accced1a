import json
import unicodedata

import pytest

from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError

OBJECTS = """\
suite: objects
objects: [cup, car]
dimensions: {gender: [men, women]}
images_per_prompt: 3
generators: [calibrated]
"""


def plan(text: str, base=None):
    return Audit.from_text(text, base=base).plan()


def test_the_objects_suite_asks_for_every_condition_of_every_object():
    asked = plan(OBJECTS)
    assert asked.prompts.height == 2 * 3
    assert asked.requests.height == 2 * 3 * 3
    assert asked.factors == ["object", "dimension", "group"]
    assert asked.dimensions == {"gender": ["men", "women"]}
    assert asked.baseline == {"group": "base"}
    assert {call.name for call in asked.measures} >= {"bds", "cds", "vac", "share", "refusal_rate"}


def test_the_full_soda_design_has_80_prompts_and_8000_images_for_five_models():
    asked = plan("suite: objects\ngenerators: [calibrated]\n")
    assert asked.prompts.height == 80
    assert asked.requests.height == 1600


def test_ids_depend_on_content_and_not_on_what_else_is_asked():
    few = set(plan(OBJECTS).requests["image_id"])
    more = set(plan(OBJECTS.replace("[cup, car]", "[car, sofa, cup]")).requests["image_id"])
    assert few < more
    other = set(plan(OBJECTS + "seed: 1\n").requests["image_id"])
    assert not few & other


def test_a_title_changes_no_id():
    before = plan(OBJECTS).requests["image_id"].to_list()
    after = plan(OBJECTS + "report: {title: other}\n").requests["image_id"].to_list()
    assert before == after


def test_prompts_of_ones_own_with_a_baseline():
    asked = plan(
        """
prompts:
  template: "a {thing}, {condition}"
  thing: [cup, car]
  condition: [plain, with a wide range of styles]
baseline: {condition: plain}
generators: [calibrated]
measures: [bds, {share: product_colour, value: pink, by: [generator, thing]}]
"""
    )
    bds, share = asked.measures
    assert bds.arguments["group"] == "condition"
    assert bds.arguments["baseline"] == "plain"
    assert bds.arguments["within"] == ["generator", "thing"]
    assert share.arguments["by"] == ["generator", "thing"]
    assert asked.prompts["text"].to_list()[:2] == ["a cup", "a cup, with a wide range of styles"]


@pytest.mark.parametrize(
    "rows",
    [
        "text,colour\na red cup,red\na blue cup,blue\n",
        "text;colour\na red cup;red\na blue cup;blue\n",
        "text\tcolour\na red cup\tred\na blue cup\tblue\n",
    ],
    ids=["commas", "semicolons", "tabs"],
)
def test_prompts_from_a_csv_file(tmp_path, rows):
    (tmp_path / "p.csv").write_text(rows)
    asked = plan("prompts: p.csv\ngenerators: [calibrated]\n", base=tmp_path)
    assert asked.prompts.select("colour", "text").rows() == [("red", "a red cup"), ("blue", "a blue cup")]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("suite: objects", "suite: object"), r":1: suite: no suite 'object'; did you mean 'objects'\?"),
        (("[calibrated]", "[calibrate]"), r":5: .*'calibrate' is unknown.*calibrated"),
        (("[calibrated]", "[calibrated, calibrated]"), r":5: generators: two have the name 'calibrated'"),
        (("[calibrated]", "[{folder: nowhere}]"), r":5: .*no such folder"),
        (("[cup, car]", "[cup, zeppelin]"), r":2: generator 'calibrated': .*zeppelin"),
        (("[men, women]", "[men, base]"), r":3: dimensions: .*'base' is the name of the baseline"),
        (("images_per_prompt: 3", "annotators: [color]"), r":4: .*'color'.*colour"),
        (
            ("images_per_prompt: 3", "annotators: [colour, colour]"),
            r":4: annotators: two have the name 'colour'",
        ),
        (("images_per_prompt: 3", "measures: [bsd]"), r":4: no measure 'bsd'; did you mean 'bds'\?"),
        (
            ("images_per_prompt: 3", "measures: [{bds: {groop: group}}]"),
            r"unknown key 'groop'; did you mean 'group'",
        ),
        (
            ("images_per_prompt: 3", "measures: [{share: {by: [objekt]}}]"),
            r"no factor 'objekt'; the prompts have object",
        ),
        (
            ("images_per_prompt: 3", "measures: [{share: gender}]"),
            r"no annotator labels 'gender'; labelled are",
        ),
        (("images_per_prompt: 3", "measures: [default_rank]"), r"reads the estimates of another measure"),
        (("images_per_prompt: 3", "baseline: {groop: base}"), r":4: baseline: no factor 'groop'"),
        (
            ("images_per_prompt: 3", "baseline: {group: basis}"),
            r":4: baseline: factor 'group' has no level 'basis'",
        ),
        (("images_per_prompt: 3", "mitigations: [calm]"), r":4: mitigations: 'calm' has no wording"),
        (("images_per_prompt: 3", "phrasings: []"), r":4: phrasings"),
        (("images_per_prompt: 3", "prompts: {template: x}"), r":4: prompts: give either"),
    ],
)
def test_what_does_not_fit_points_at_its_line(change, message):
    text = OBJECTS.replace(*change)
    assert text != OBJECTS
    with pytest.raises(AuditFileError, match=message):
        plan(text)


def test_objects_without_templates_are_refused():
    with pytest.raises(AuditFileError, match=r":1: objects: need `templates: .*` or `suite: objects`"):
        plan("objects: [cup]\ngenerators: [calibrated]\n")


def test_a_comparison_without_a_baseline_is_refused():
    with pytest.raises(AuditFileError, match=r"'bds': compares with a baseline; add `baseline:"):
        plan("prompts: [{text: a cup}]\ngenerators: [calibrated]\nmeasures: [bds]\n")


def test_a_drawing_generator_without_prompts_is_refused():
    with pytest.raises(AuditFileError, match=r"draws, and no prompt is asked for"):
        plan("generators: [calibrated]\n")


def test_two_annotators_of_one_attribute_are_kept_apart(tmp_path):
    (tmp_path / "a.csv").write_text("image_id,product_colour\nx,red\n")
    asked = plan(OBJECTS + "annotators: [colour, {labels: a.csv, name: people}]\n", base=tmp_path)
    bds = next(call for call in asked.measures if call.name == "bds")
    assert bds.arguments["within"] == ["generator", "annotator", "object"]
    refusals = next(call for call in asked.measures if call.name == "refusal_rate")
    assert "annotator" not in refusals.arguments["by"]


def test_a_measure_finds_an_attribute_however_its_letters_are_composed(tmp_path):
    composed, apart = (unicodedata.normalize(form, "café") for form in ("NFC", "NFD"))
    (tmp_path / "a.csv").write_text(f"image_id,{composed}\nx,open\n")
    measures = f"measures: [{{share: , attribute: {apart}}}, {{bds: , attributes: [{apart}]}}]\n"
    calls = plan(
        OBJECTS + f"annotators: [{{labels: a.csv, name: people}}]\n{measures}", base=tmp_path
    ).measures
    assert calls[0].arguments["attribute"] == composed
    assert calls[1].arguments["attributes"] == [composed]


def test_without_a_suite_what_is_compared_depends_on_a_baseline():
    own = "prompts: {template: 'a {thing}', thing: [cup, car]}\ngenerators: [calibrated]\n"
    assert [call.name for call in plan(own).measures] == ["refusal_rate", "share"]
    compared = [call.name for call in plan(own + "baseline: {thing: cup}\n").measures]
    assert compared == ["refusal_rate", "share", "share_difference", "bds"]


def test_another_factor_than_the_baselines_is_compared_with_all_others_held_equal():
    asked = plan(
        """
prompts:
  template: "a {thing}, {condition}, by {light}"
  thing: [cup, car]
  condition: [plain, red]
  light: [day, night]
baseline: {condition: plain}
generators: [calibrated]
measures:
  - {bds: {group: light, baseline: day}}
  - {refusal_rate: {group: light, baseline: day}}
  - {vac: {group: light}}
  - {cds: {group: light, baseline: null}}
"""
    )
    bds, refusals, vac, cds = asked.measures
    held = ["generator", "thing", "condition"]
    assert bds.arguments["within"] == vac.arguments["within"] == cds.arguments["within"] == held
    assert refusals.arguments["by"] == held
    assert cds.arguments["baseline"] is None


def test_a_plan_shows_itself_in_a_notebook_with_its_words_inert():
    asked = plan(OBJECTS + "report: {title: '<b>Cups</b>'}\n")
    shown = asked._repr_html_()
    assert "&lt;b&gt;Cups&lt;/b&gt;" in shown
    assert "<td>18</td>" in shown
    assert repr(asked).startswith(
        "<stereotrope plan '<b>Cups</b>': 6 prompts, 18 images, generators calibrated"
    )


def test_measures_of_a_suite_that_lack_a_baseline_are_named_with_what_to_write(tmp_path):
    rows = [f"{group}{i}.png,cup,{group},m,grey" for group in ("none", "women") for i in range(2)]
    text = "\n".join(["file_name,object,group,model,colour", *rows])
    (tmp_path / "labels.csv").write_text(text)
    asked = {
        "suite": "objects",
        "prompts": "listed",
        "generators": [{"labels": "labels.csv", "name_from": "model", "factors": ["object", "group"]}],
        "annotators": [{"labels": "labels.csv", "name": "people", "attributes": ["colour"]}],
    }
    (note,) = Audit.from_text(json.dumps(asked), base=tmp_path).plan().notes[-1:]
    assert note == (
        "left out without a baseline: bds, cds, dominance_shift, share_difference; name the level that "
        "others are compared with, as `baseline: {group: …}`"
    )
    named = Audit.from_text(json.dumps({**asked, "baseline": {"group": "none"}}), base=tmp_path).plan()
    assert not any("baseline" in each for each in named.notes)
    assert "bds" in {call.name for call in named.measures}


def test_a_suite_of_whose_measures_none_can_be_made_says_what_is_lacking(tmp_path):
    rows = [f"{model}-{job}.png,{model},{job},woman" for model in "ab" for job in ("nurse", "judge")]
    (tmp_path / "list.csv").write_text("\n".join(["file_name,model,occupation,who", *rows]) + "\n")
    text = """\
suite: everyday
prompts: listed
generators: [{folder: ., metadata: list.csv, name_from: model, factors: {scenario: occupation}}]
annotators: [{labels: list.csv, name: me, attributes: [who]}]
"""
    with pytest.raises(AuditFileError, match=r"audit.yaml:1: no measure of this suite .* 'prompt_group'"):
        plan(text, base=tmp_path)
