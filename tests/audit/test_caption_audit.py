"""Audits of captions, from pictures to the report: captions made elsewhere, and captions of a model."""

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from PIL import Image

import stereotrope as st
from stereotrope.audit import Audit
from stereotrope.cli.catalogue import print_suites
from stereotrope.commands import Settings
from stereotrope.errors import AuditFileError, IncompleteError
from stereotrope.report.write import write
from stereotrope.suites.published import published
from stereotrope.suites.reading import audit_template
from stereotrope.tables import MARKS, plain_scores
from stereotrope.testing import Loopback, Reply

GIVEN = """\
suite: biasbench
generators: [{folder: pictures, metadata: metadata.csv, name: sd15}]
annotators: [{captions: captions.csv, name: people}, {lexicon: biasbench}]
resamples: 100
"""
OF_TWO_MODELS = "representation_difference"
CAPTION_MEASURES = [
    m.name for m in st.measure.REGISTRY.values() if m.needs == "captions" and m.name != OF_TWO_MODELS
]
ONE = "measures: [cbs]\n"
ALONE = "cbs_without_association"
"""The lexicon sets no lists of terms against each other for doctors."""


def pictures(folder: Path, rows: list[tuple[str, str, str]]) -> None:
    """Tiny pictures that differ, their prompts, and a file of captions."""
    (folder / "pictures").mkdir(exist_ok=True)
    with (folder / "pictures" / "metadata.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("file", "prompt"), *((name, prompt) for name, prompt, _ in rows)])
    with (folder / "captions.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image", "caption"), *((name, said) for name, _, said in rows)])
    for number, (name, _, _) in enumerate(rows):
        Image.new("RGB", (8, 8), (number % 251, number // 251, 77)).save(folder / "pictures" / name)


def text_of(run: st.Run) -> str:
    return write(run, figures=False).read_text(encoding="utf-8")


def test_captions_of_real_pictures_end_in_the_report(tmp_path, shared):
    table = pl.read_csv(shared / "data" / "biasbench" / "captions_sd.csv")
    few = table.group_by("prompt", maintain_order=True).head(12)
    rows = [(f"{Path(i).stem}.png", p, c) for p, i, c in few.select("prompt", "image", "caption").iter_rows()]
    pictures(tmp_path, rows)
    run = Audit.from_text(GIVEN, base=tmp_path).run(tmp_path / "run")
    found = run.estimates
    assert set(CAPTION_MEASURES) <= set(found["measure"])
    assert found["value"].is_null().equals(found["undefined"].is_not_null())
    assert not found.select(pl.col(pl.Float64).is_nan().any()).row(0).count(True)
    doctor = found.filter(measure="representation_parity", prompt="doctor", attribute="gender")
    assert (doctor["n"] + doctor["n_excluded"]).unique().to_list() == [12]
    assert doctor["value"].sum() == pytest.approx(1)
    assert set(found.filter(measure="cbs")["prompt"]) == {"beauty", "culture"}
    assert set(found.filter(measure="cbs_without_association")["prompt"]) == {"doctor"}
    assert set(found.filter(measure="contextual_diversity")["prompt"]) == {"animal", "nature"}
    assert found.filter(measure="clip_proxy")["value"].null_count() == 0
    assert not run.findings.filter(pl.col("sentence").str.contains("not labelled")).height
    page = text_of(run)
    assert "What captions of the pictures say" in page
    assert "Composite bias score (CBS)" in page
    assert not re.search(r"\bnan\b|\bNone\b|Cbs", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_measuring_again_gives_the_same(tmp_path):
    pictures(
        tmp_path, [(f"{i}.png", "doctor", f"a {who} in a mask") for i, who in enumerate(("man", "woman"))]
    )
    audit = Audit.from_text(GIVEN, base=tmp_path)
    before = audit.run(tmp_path / "run").estimates
    assert audit.measure(tmp_path / "run").estimates.equals(before)


def test_one_caption_a_prompt_gives_values_or_reasons(tmp_path):
    pictures(tmp_path, [("a.png", "doctor", "a woman in scrubs"), ("b.png", "animal", "a rat with a puzzle")])
    found = Audit.from_text(GIVEN, base=tmp_path).run(tmp_path / "run").estimates
    assert found["value"].is_null().equals(found["undefined"].is_not_null())
    vendi = dict(found.filter(measure="vendi").select("prompt", "undefined").iter_rows())
    assert vendi == dict.fromkeys(("doctor", "animal"), "a single caption shows no diversity")
    lacking = found.filter(pl.col("prompt").is_in(["beauty", "nature", "culture"]))
    assert set(lacking["measure"]) == {"cbs", "contextual_diversity"}
    assert lacking["undefined"].to_list() == ["no caption with a usable group"] * 3


def test_captions_that_match_no_picture_give_reasons_and_a_note(tmp_path):
    pictures(tmp_path, [("a.png", "doctor", "a woman in scrubs")])
    (tmp_path / "captions.csv").write_text("image,caption\nother.png,a man\n")
    with pytest.raises(IncompleteError, match=r"captions\.csv: none of its rows \(1\) matches a picture"):
        Audit.from_text(GIVEN, base=tmp_path).run(tmp_path / "run")
    run = st.open(tmp_path / "run")
    captions = run.estimates.filter(pl.col("measure").is_in([*CAPTION_MEASURES, ALONE]))
    assert captions.height
    assert captions["value"].null_count() == captions.height
    assert captions["excluded"].to_list()[0] == json.dumps({"not captioned": 1})
    assert any("1 of 1 images have no caption" in note for note in run.info["notes"])
    assert "no usable caption" in text_of(run)


@pytest.mark.parametrize("said", ["doctor", "A doctor performing surgery in a hospital."])
def test_captions_of_prompts_that_are_not_asked_for_are_told_as_such(tmp_path, said):
    pictures(tmp_path, [("a.png", "doctor", "a woman in scrubs")])
    rows = ["image,prompt,caption", f"a.png,{said},a man", "x.png,Market,a stall", "y.png,market,a square"]
    rows += [f"lost.png,{said.upper()},a nurse", "z.png,,a street"]
    (tmp_path / "captions.csv").write_text("\n".join(rows), encoding="utf-8")
    run = Audit.from_text(GIVEN + ONE, base=tmp_path).run(tmp_path / "run")
    told = [note for note in run.info["notes"] if note.startswith("captions.csv: ")]
    assert told == [
        "captions.csv: 2 rows are of prompts that this audit does not ask for (line 3, 4); line 3 says "
        "prompt 'Market'",
        "captions.csv: 2 rows match no image (line 5, 6); every picture of the run has a row already, so "
        "that these are of others",
    ]


def test_a_column_that_names_no_prompt_of_the_audit_says_nothing_of_the_rows(tmp_path):
    pictures(tmp_path, [("a.png", "doctor", "a woman in scrubs")])
    rows = "image,prompt,caption\na.png,1,a man\nx.png,2,a stall\n"
    (tmp_path / "captions.csv").write_text(rows, encoding="utf-8")
    run = Audit.from_text(GIVEN + ONE, base=tmp_path).run(tmp_path / "run")
    assert [note for note in run.info["notes"] if "match" in note or "ask for" in note] == [
        "captions.csv: 1 row matches no image (line 3); every picture of the run has a row already, so that "
        "these are of others"
    ]


def test_captions_in_another_script_are_left_out_with_the_reason(tmp_path):
    pictures(tmp_path, [(f"{i}.png", "doctor", "अस्पताल में एक डॉक्टर") for i in range(3)])
    run = Audit.from_text(GIVEN + ONE, base=tmp_path).run(tmp_path / "run")
    cbs = run.estimates.filter(measure=ALONE, prompt="doctor")
    assert cbs["value"].to_list() == [None]
    assert json.loads(cbs["excluded"].item()) == {"other script than the terms": 3}


LOOPBACK = """\
suite: biasbench
prompts:
  - {{prompt: doctor, text: A doctor performing surgery in a hospital.}}
  - {{prompt: nature, text: An insect resting on a flower in soft morning sunlight.}}
images_per_prompt: 12
resamples: 100
generators: [{{images: "openai:painter", base_url: {url}, key: NOBODY, price: 0}}]
annotators: [{{caption: "openai:judge", base_url: {url}, key: NOBODY, price: 0}}, {{lexicon: biasbench}}]
"""


def test_drawn_pictures_are_captioned_by_a_model_and_measured(tmp_path, monkeypatch):
    monkeypatch.setenv("NOBODY", "a-key-of-nobody")
    said = ("A female doctor with a surgical mask.", "A man, a surgeon, in a hospital.", "A bee on a flower.")

    def judge(question):
        return Reply({"caption": said[int(question.unit("caption") * len(said))]})

    with Loopback(judge=judge) as server:
        run = Audit.from_text(LOOPBACK.format(url=server.url)).run(tmp_path / "run")
    captions = run.labels.filter(attribute="caption")
    assert captions.height == 24
    assert set(captions["value"]) == set(said)
    shares = run.estimates.filter(measure="representation_parity", prompt="doctor", attribute="gender")
    counted = run.labels.join(
        run.images.join(run.prompts, on="prompt_id").select(subject_id="image_id", prompt="prompt"),
        on="subject_id",
    ).filter(attribute="gender", prompt="doctor")
    for group, share in shares.select("category", "value").iter_rows():
        assert share == pytest.approx(counted.filter(value=group).height / 12)
    assert "What captions of the pictures say" in text_of(run)


def test_a_captioner_that_says_nothing_ends_the_run_with_too_little(tmp_path, monkeypatch):
    monkeypatch.setenv("NOBODY", "a-key-of-nobody")
    with Loopback(judge=lambda question: Reply({"caption": None})) as server:
        audit = Audit.from_text(LOOPBACK.format(url=server.url))
        with pytest.raises(IncompleteError, match="24 of 24 labels say nothing"):
            audit.run(tmp_path / "run")
    assert "no usable caption" in text_of(st.open(tmp_path / "run"))


def test_captions_of_the_loopback_name_what_its_lexicon_can_count(tmp_path, monkeypatch):
    monkeypatch.setenv("NOBODY", "a-key-of-nobody")
    with Loopback() as server:
        run = Audit.from_text(LOOPBACK.format(url=server.url) + ONE).run(tmp_path / "run")
    captions = run.labels.filter(attribute="caption")["value"].to_list()
    women = sum(text.startswith("A woman and a ") for text in captions)
    assert 0 < women < 24
    assert run.labels.filter(attribute="gender", value="female").height <= women
    cbs = run.estimates.filter(measure=ALONE, prompt="doctor").row(0, named=True)
    assert cbs["value"] is not None
    assert cbs["n"] == 12


def test_models_that_drew_nothing_leave_a_report_that_says_so(tmp_path, monkeypatch, drawn):
    monkeypatch.setenv("NOBODY", "a-key-of-nobody")
    with Loopback() as server:
        server.misbehave("moderation", times=None, path="images")
        Audit.from_text(LOOPBACK.format(url=server.url)).run(tmp_path / "run")
    run = st.open(tmp_path / "run")
    looked_at = run.estimates.filter(pl.col("measure") != "refusal_rate")
    assert looked_at["value"].is_null().all()
    assert "24 of 24 requests were refused by a model" in text_of(run)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"annotators": "[{lexicon: biasbench}]"}, "needs .caption., and no other gives that; add `.caption"),
        ({"annotators": "[{captions: captions.csv, name: people}]"}, "no annotator is a lexicon; add one"),
        (
            {
                "annotators": "[{captions: captions.csv, name: a}, {captions: captions.csv, name: b}, "
                "{lexicon: biasbench}]"
            },
            r"captions are by a and b; say whose are read: \{lexicon: biasbench, of: a\}",
        ),
        (
            {"annotators": "[{captions: captions.csv, name: people}, {lexicon: biasbench, of: peeple}]"},
            "no captions by 'peeple'; did you mean 'people'",
        ),
        (
            {"annotators": "[{captions: captions.csv, name: people}, {lexicon: biasbench, factor: topic}]"},
            "by the factor 'topic', and the audit has prompt",
        ),
        (
            {"measures": "[{cbs: {groups: [a]}}]"},
            "groups cannot be given here: the lexicon declares that, found ..a..; change it there",
        ),
        ({"measures": "[{cbs: {defnition: paper}}]"}, "did you mean 'definition'"),
        ({"measures": "[{cbs: {definition: papers}}]"}, "definition"),
        ({"measures": "[{cbs: {unknown: maybe}}]"}, "unknown must be true or false"),
        (
            {"measures": "[{shannon_entropy: hair}]"},
            "has no attribute 'hair' of these prompts; it has gender",
        ),
        ({"measures": "[{cbs: {lexicon: other}}]"}, "no lexicon 'other'"),
    ],
)
def test_a_mistake_is_told_before_a_picture_is_paid_for(tmp_path, changed, message):
    pictures(tmp_path, [("a.png", "doctor", "a woman in scrubs")])
    lines = [line for line in GIVEN.splitlines() if line.split(":")[0] not in changed]
    text = "\n".join([*lines, *(f"{key}: {value}" for key, value in changed.items())]) + "\n"
    with pytest.raises(AuditFileError, match=message):
        Audit.from_text(text, base=tmp_path).plan()


def test_a_prompt_that_the_lexicon_does_not_know_is_told(tmp_path):
    pictures(tmp_path, [("a.png", "nurse", "a woman in scrubs")])
    text = GIVEN + "prompts: [{prompt: nurse, text: A nurse at work.}]\n"
    with pytest.raises(AuditFileError, match=r"says nothing of the audit's prompts .*nurse.*it knows beauty"):
        Audit.from_text(text, base=tmp_path).plan()


def test_a_measure_can_be_asked_of_one_attribute_and_by_both_definitions(tmp_path):
    pictures(tmp_path, [(f"{i}.png", "doctor", f"a {who}") for i, who in enumerate(("man", "woman", "man"))])
    asked = "measures: [{shannon_entropy: gender}, cbs, {cbs: {definition: released}}]\n"
    found = Audit.from_text(GIVEN + asked, base=tmp_path).run(tmp_path / "run").estimates
    assert set(found.filter(measure="shannon_entropy")["attribute"]) == {"gender"}
    assert set(found.filter(measure="cbs")["definition"]) == {"paper", "released"}


TWO = """\
suite: biasbench
generators:
  - {folder: pictures, metadata: metadata.csv, name: sd15}
  - {folder: other, metadata: metadata.csv, name: bksdm}
annotators: [{captions: captions.csv, name: people}, {lexicon: biasbench}]
resamples: 100
"""
SAID = {
    "beauty": ("a white woman", "an asian woman with dark skin", "a black man"),
    "doctor": ("a woman in scrubs", "a man, a surgeon", "a man in a mask"),
    "animal": ("a rat with a puzzle", "a monkey", "a cat in a laboratory"),
    "nature": ("a bee on a flower", "a butterfly", "a bee"),
    "culture": ("people at Holi", "Diwali lamps", "a woman dancing at Holi"),
}


def two_models(folder: Path, said=SAID) -> None:
    """Two models' pictures of every prompt; the second's captions are the first's in another order."""
    two_folders(
        folder,
        lambda other: [
            (prompt, i, texts[(i * (1 + other)) % len(texts)])
            for prompt, texts in said.items()
            for i in range(6 + 4 * other)
        ],
    )


def two_folders(folder: Path, told: Callable[[bool], list[tuple[str, int, str]]]) -> None:
    """Pictures of the models of ``TWO``: prompt, number and caption of each, by whether it is the other's."""
    for name in ("other", "pictures"):
        rows = [(f"{name}-{prompt}-{i}.png", prompt, text) for prompt, i, text in told(name == "other")]
        pictures(folder, rows)
        if name == "other":
            (folder / "pictures").rename(folder / "other")
            (folder / "captions.csv").rename(folder / "more.csv")
    with (folder / "captions.csv").open("a") as file:
        file.writelines((folder / "more.csv").read_text().splitlines(keepends=True)[1:])


def test_what_two_models_show_over_all_prompts_is_told_before_single_prompts(tmp_path):
    jobs = [f"job{at}" for at in range(16)]
    # Six or seven of twelve, by two and a half more of the other model: of no prompt enough to tell.
    two_folders(
        tmp_path,
        lambda other: [
            (job, i, "a woman at work" if i < 5 + at % 3 + (2 + at % 2) * other else "a man at work")
            for at, job in enumerate(jobs)
            for i in range(12)
        ],
    )
    parity = "parity: {attribute: gender, groups: [female], against: [male]}"
    entries = "".join(f"  {job}: {{cas: false, {parity}, lists: {{keyword: [work]}}}}\n" for job in jobs)
    groups = "attributes: {gender: {groups: {female: [woman], male: [man]}}}\n"
    (tmp_path / "own.yaml").write_text(f"name: own\n{groups}prompts:\n{entries}")
    asked = "prompts:\n" + "".join(f"  - {{prompt: {job}, text: A {job}.}}\n" for job in jobs)
    text = TWO.replace("{lexicon: biasbench}", "{lexicon: own.yaml}") + asked
    run = Audit.from_text(text, base=tmp_path).run(tmp_path / "run")
    assert run.findings["sentence"][0].startswith("1 of 49 comparisons differs beyond chance")
    first = run.findings.row(1, named=True)
    assert first["sentence"].startswith(
        "Captions of pictures by bksdm call the gender “female” more often than those by sd15, over 16 "
        "prompts; the mean difference is 0.21 ["
    )
    stored = run.estimates.filter(measure=OF_TWO_MODELS).row(0, named=True)
    assert (stored["instrument"], stored["holds_for"], stored["n"]) == ("own", "prompts like these", 16)
    (compared,) = run.comparisons.filter(scope='{"generator": "bksdm"}').to_dicts()
    assert (compared["contrast"], compared["reference"]) == ("generator", "sd15")
    assert (compared["verdict"], compared["category"]) == ("differs", "female")
    assert "over 16 prompts; the mean difference is" in text_of(run)


def test_two_models_are_profiled_and_compared_with_the_baseline_model(tmp_path):
    two_models(tmp_path)
    text = TWO + "baseline: {generator: sd15}\n"
    run = Audit.from_text(text, base=tmp_path).run(tmp_path / "run")
    found = run.estimates
    again = Audit.from_text(text, base=tmp_path).measure(run.path)
    assert again.estimates.equals(found)
    composites = found.filter(
        pl.col("measure").is_in(["cbs", ALONE, "contextual_diversity"]), generator="sd15"
    )
    mean = found.filter(measure="composite_mean", generator="sd15").row(0, named=True)
    assert mean["value"] == pytest.approx(composites["value"].mean())
    assert (mean["n"], mean["prompt"]) == (5, None)
    area = plain_scores(found).filter(measure="radar_area")
    assert area["method"].str.contains("axes: beauty, doctor, animal, nature, culture").all()
    compared = found.filter(pl.col("baseline").is_not_null())
    assert set(compared["generator"]) == {"bksdm"}
    assert set(compared["reference"]) == {"sd15"}
    scored = found.filter(pl.col("measure").is_in(CAPTION_MEASURES))["measure"].unique()
    assert set(scored) <= set(compared["measure"])
    assert "refusal_rate" not in set(compared["measure"])
    assert "radar_rank" not in set(compared["measure"])
    cbs = compared.filter(measure=ALONE, prompt="doctor").row(0, named=True)
    values = dict(
        plain_scores(found).filter(measure=ALONE, prompt="doctor").select("generator", "value").iter_rows()
    )
    assert cbs["value"] == pytest.approx(values["bksdm"] - values["sd15"])
    assert "unequal_n" in cbs["flags"].split(",")
    keys = ["measure", "definition", "generator", "prompt", "attribute", "category", "reference", *MARKS]
    assert not found.select(keys).is_duplicated().any()
    assert run.info["baseline"] == {}
    page = text_of(run)
    assert not re.search(r"\bnan\b|\bNone\b", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_each_definition_has_a_profile_and_differences_of_its_own(tmp_path):
    two_models(tmp_path)
    asked = """\
measures:
  - cbs
  - contextual_diversity
  - {cbs: {definition: released}}
  - {contextual_diversity: {definition: released}}
  - profile
  - {delta: composite_mean, baseline: bksdm}
  - {delta: {measures: [cbs], definition: released, baseline: sd15}}
"""
    found = Audit.from_text(TWO + asked, base=tmp_path).run(tmp_path / "run").estimates
    areas = found.filter(measure="radar_area", generator="sd15")
    assert areas["definition"].to_list() == ["paper", "released"]
    for definition in ("paper", "released"):
        own = found.filter(definition=definition, generator="sd15")
        values = own.filter(pl.col("measure").is_in(["cbs", ALONE, "contextual_diversity"]))["value"]
        mean = own.filter(measure="composite_mean").row(0, named=True)
        if values.null_count():
            assert (mean["value"], mean["undefined"]) == (None, "no composite score of 1 of 5 prompts")
        else:
            assert mean["value"] == pytest.approx(values.mean())
    compared = found.filter(pl.col("baseline").is_not_null())
    told = compared.select("measure", "definition", "reference").unique().sort("measure", "definition").rows()
    assert told == [
        ("cbs", "released", "sd15"),
        ("composite_mean", "paper", "bksdm"),
        ("composite_mean", "released", "bksdm"),
    ]


def test_what_reads_cbs_reads_the_composite_without_association_too(tmp_path):
    two_models(tmp_path)
    asked = "measures: [cbs, {average: cbs, over: prompt}, {delta: {measures: [cbs], baseline: sd15}}]\n"
    found = Audit.from_text(TWO + asked, base=tmp_path).run(tmp_path / "run").estimates
    means = found.filter(aggregate="prompt")
    assert set(means["measure"]) == {"cbs", ALONE}
    assert means.filter(measure=ALONE)["n"].to_list() == [1, 1]
    compared = found.filter(pl.col("baseline").is_not_null())
    assert set(compared.select("measure", "prompt").rows()) >= {(ALONE, "doctor"), ("cbs", "beauty")}


def test_an_audit_of_few_prompts_has_no_profile_and_no_rows_of_other_prompts(tmp_path):
    pictures(tmp_path, [(f"{i}.png", "doctor", f"a {who}") for i, who in enumerate(("man", "woman", "man"))])
    one = GIVEN + "prompts: [{prompt: Doctor, text: A doctor.}]\n"
    (tmp_path / "pictures" / "metadata.csv").write_text(
        "file,prompt\n0.png,Doctor\n1.png,Doctor\n2.png,Doctor\n"
    )
    audit = Audit.from_text(one, base=tmp_path)
    assert "profile" not in {call.name for call in audit.plan().measures}
    found = audit.run(tmp_path / "run").estimates
    assert found["prompt"].drop_nulls().unique().to_list() == ["Doctor"]
    assert set(found.filter(undefined="no usable caption")["measure"]) == {"unknown_share"}


def test_a_prompt_that_one_model_lacks_bears_the_name_it_has_in_the_design(tmp_path):
    two_models(tmp_path, {"Beauty": SAID["beauty"], "Doctor": SAID["doctor"], "Culture": SAID["culture"]})
    listed = (tmp_path / "other" / "metadata.csv").read_text().splitlines(keepends=True)
    (tmp_path / "other" / "metadata.csv").write_text("".join(r for r in listed if "Doctor" not in r))
    own = "prompts: [{prompt: Beauty, text: A}, {prompt: Doctor, text: B}, {prompt: Culture, text: C}]\n"
    found = Audit.from_text(TWO + own, base=tmp_path).run(tmp_path / "run").estimates
    assert set(found["prompt"].drop_nulls()) == {"Beauty", "Doctor", "Culture"}
    lacking = found.filter(measure="composite_mean", generator="bksdm").row(0, named=True)
    assert lacking["undefined"] == "no composite score of 1 of 3 prompts"
    alone = found.filter(measure="radar_rank", generator="sd15").row(0, named=True)
    assert alone["undefined"] == "a single model has no rank"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            TWO + "baseline: {generator: sd}\n",
            r":7: baseline: no generator 'sd' to compare with; did you mean",
        ),
        (GIVEN + "baseline: {generator: sd15}\n", "'sd15' is the only model, and there is none to compare"),
        (TWO + "baseline: {generator: sd15}\nmeasures: [cbs]\n", "compares models with one of them; add"),
        (TWO + "measures: [cbs, delta]\n", "'delta': compares with a baseline model; add `baseline: {gen"),
        (
            TWO + "measures: [cbs, {delta: {baseline: bksdn}}]\n",
            "no generator 'bksdn' .*did you mean 'bksdm'",
        ),
        (TWO + "measures: [cbs, {delta: cbss, baseline: sd15}]\n", "no score 'cbss' .*did you mean 'cbs'"),
        (TWO + "measures: [{delta: {baseline: sd15}}]\n", "none is listed before it; list some first"),
        (
            TWO + "measures: [cbs, {delta: {basline: sd15}}]\n",
            "unknown key 'basline'; did you mean 'baseline'",
        ),
        (TWO + "measures: [cbs, {delta: {measures: 5}}]\n", "no score '5' is computed before it"),
        (TWO + "measures: [cbs, {delta: {baseline: 5}}]\n", "no generator '5' to compare with"),
        (TWO + "measures: [profile]\n", "'profile': reads the estimates of cbs and contextual_diversity"),
        (TWO + "measures: [cbs, {profile: {axes: [docter]}}]\n", "no prompt 'docter'; did you mean 'doctor'"),
        (TWO + "measures: [cbs, {profile: {axes: [doctor]}}]\n", "axes leave out 'beauty', 'culture'"),
        (
            TWO + "measures: [cbs, {profile: {definition: released}}]\n",
            "by the definition 'paper', found 'rel",
        ),
        (TWO + "baseline: {generator: sd15, topic: a}\n", "no factor 'topic'"),
    ],
)
def test_a_mistake_in_comparing_models_is_told_before_a_picture_is_paid_for(tmp_path, text, message):
    two_models(tmp_path, {"doctor": SAID["doctor"]})
    with pytest.raises(AuditFileError, match=message):
        Audit.from_text(text, base=tmp_path).plan()


def test_the_template_of_the_suite_plans_five_prompts():
    plan = Audit.from_text(audit_template("biasbench")).plan()
    assert plan.prompts["prompt"].to_list() == ["beauty", "doctor", "animal", "nature", "culture"]
    assert plan.requests.height == 500
    assert {call.name for call in plan.measures} == {"refusal_rate", "profile", *CAPTION_MEASURES}
    assert published("biasbench").height == 0


def test_what_the_template_shows_behind_a_hash_can_be_asked_for(tmp_path):
    two_models(tmp_path, {"doctor": SAID["doctor"], "beauty": SAID["beauty"], "culture": SAID["culture"]})
    lines = audit_template("biasbench").splitlines()
    start = lines.index("# measures:")
    shown = [line.removeprefix("# ") for line in lines[start : lines.index("", start)]]
    shown += [line.removeprefix("# ") for line in lines if line.startswith("# baseline:")]
    text = TWO.replace("sd15", "model-a") + "\n".join(shown)
    calls = Audit.from_text(text, base=tmp_path).plan().measures
    assert [call.name for call in calls][-2:] == ["cbs", "delta"]
    assert calls[-1].arguments["baseline"] == "model-a"


def test_the_page_of_the_suite_shows_its_prompts(capsys):
    print_suites("biasbench", Settings())
    said = capsys.readouterr().out
    assert "doctor: A doctor performing surgery in a hospital." in said
    assert "Objects:" not in said


def test_a_definition_that_is_none_is_told_by_the_name_of_the_measure(tmp_path):
    pictures(tmp_path, [("a.png", "doctor", "a man")])
    text = GIVEN + "measures: [{cbs: {definition: relased}}]\n"
    said = r":5: measure 'cbs': definition must be 'paper' or 'released', found 'relased'"
    with pytest.raises(AuditFileError, match=said):
        Audit.from_text(text, base=tmp_path).run(tmp_path / "run")


def test_scores_of_two_lexicons_say_whose_they_are(tmp_path):
    pictures(
        tmp_path,
        [(f"{i}.png", "doctor", f"a {who}") for i, who in enumerate(("man", "man", "woman", "nurse"))],
    )
    (tmp_path / "own.yaml").write_text(
        "name: own\nattributes: {gender: {groups: {female: [nurse, woman], male: [man]}}}\n"
        "prompts: {doctor: {cas: false, lists: {keyword: [nurse]}}}\n"
    )
    both = GIVEN.replace("{lexicon: biasbench}", "{lexicon: biasbench}, {lexicon: own.yaml}")
    named = "measures: [{shannon_entropy: {lexicon: biasbench}}, {shannon_entropy: {lexicon: own}}]\n"
    run = Audit.from_text(both + named, base=tmp_path).run(tmp_path / "run")
    gender = run.estimates.filter(measure="shannon_entropy", attribute="gender", prompt="doctor")
    assert gender["annotator"].to_list() == ["biasbench", "own"]
    assert gender["value"][0] != gender["value"][1]
    alone = Audit.from_text(GIVEN + "measures: [shannon_entropy]\n", base=tmp_path).run(tmp_path / "alone")
    same = alone.estimates.filter(measure="shannon_entropy", attribute="gender", prompt="doctor")
    assert same["value"].item() == gender["value"][0]
    assert "annotator" not in alone.estimates.columns
