"""Regions of pictures and sets of them as subjects: looked at, stored, resumed, measured."""

import json
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from PIL import Image

import stereotrope as st
from stereotrope import annotate
from stereotrope.annotate import Annotator, Label
from stereotrope.audit.outstanding import reserve_in
from stereotrope.clients import Expectation
from stereotrope.errors import AuditFileError, IncompleteError, PictureUnavailable
from stereotrope.generate import folder
from stereotrope.measure import contract, estimate_frame

AUDIT = """\
generators: [{folder: made, metadata: metadata.csv, factors: [scene]}]
annotators: [%s]
measures: [refusal_rate]
"""
SEEN = []
"""What annotators were shown: name, and size of the picture or hashes of the set."""


HALVES = {"half": ("left", "right", "outside")}
SHADES = {"shade": ("dark", "light")}
YES_NO = {"alike": ("yes", "no")}


class Halves(Annotator):
    """Says where the left and the right half of a picture are, and a region that is outside."""

    name, fingerprint, gives = "halves", "halves-1", ("regions",)
    attributes, several = HALVES, ("half",)

    def process(self, picture):
        SEEN.append((self.name, picture.size))
        boxes = {"left": [0, 0, 8, 8], "right": [8, 0, 16, 8], "outside": [20, 20, 30, 30]}
        return [Label("half", name, region=json.dumps(box)) for name, box in boxes.items()]


class Shade(Annotator):
    """Says whether a region is dark."""

    name, fingerprint, subject, needs = "shade", "shade-1", "region", ("regions",)
    attributes = SHADES

    def process(self, picture):
        SEEN.append((self.name, picture.size))
        return [Label("shade", "dark" if picture.pixels().mean() < 128 else "light")]


class Alike(Annotator):
    """Says whether the pictures of a set are alike, behind a server."""

    name, fingerprint, subject, size = "alike", "alike-1", "set", 2
    attributes = YES_NO

    async def process(self, pictures):
        SEEN.append((self.name, tuple(picture.sha256 for picture in pictures)))
        levels = {int(picture.pixels().mean()) for picture in pictures}
        return [Label("alike", "yes" if len(levels) == 1 else "no")]


class Triples(Alike):
    """Says whether three pictures are the same."""

    name, fingerprint, size, attributes = "triples", "triples-1", 3, {"same": ("yes", "no")}


class Tones(Annotator):
    """Says which tone a picture has; which tones there are is found in the run."""

    name, fingerprint, discovers, attributes = "tones", "tones-1", True, {"tone": None}

    def process(self, picture):
        return [Label("tone", str(int(picture.pixels()[0, -1, 0])))]


class Models(Alike):
    """Says whether the first pictures of two models are alike, and the second ones, and so on."""

    async def process(self, pictures):
        said = await super().process(pictures)
        return said if pictures[0].pixels().mean() < 10 else [Label("alike", None, status="unclear")]

    def sets(self, images):
        parts = images.partition_by("generator", maintain_order=True)
        return list(zip(*(part["image_id"] for part in parts), strict=True))


@pytest.fixture
def study(tmp_path, monkeypatch):
    ours = {"halves": Halves, "shade": Shade, "alike": Alike, "triples": Triples, "models": Models}
    ours["tones"] = Tones
    make = annotate.create
    monkeypatch.setattr(
        annotate, "create", lambda item, **more: ours[item]() if item in ours else make(item, **more)
    )
    SEEN.clear()
    (tmp_path / "made").mkdir()
    rows = ["file,prompt,scene"]
    for i in range(5):
        pixels = np.full((8, 16, 3), 40 * i, np.uint8)
        pixels[:, :8] = 0
        Image.fromarray(pixels).save(tmp_path / "made" / f"{i}.png")
        rows.append(f"{i}.png,a thing,{'a' if i < 3 else 'b'}")
    (tmp_path / "made" / "metadata.csv").write_text("\n".join(rows))
    return tmp_path


def audit(study, annotators="halves, shade, alike", measures="[refusal_rate]"):
    text = (AUDIT % annotators).replace("[refusal_rate]", measures)
    return st.Audit.from_text(text, base=study)


def test_without_measures_listed_what_has_several_labels_a_picture_is_looked_at_and_not_counted(study):
    text = (AUDIT % "halves").replace("measures: [refusal_rate]\n", "")
    run = st.Audit.from_text(text, base=study).run(study / "run")
    assert run.labels.filter(attribute="half").height == 15
    assert set(run.estimates["measure"]) == {"refusal_rate"}


def test_what_looks_at_regions_is_shown_each_box_and_its_labels_say_which(study):
    run = audit(study, "shade, halves").run(study / "run")  # what is needed may stand behind
    shades = run.labels.filter(annotator="shade")
    assert shades["subject_kind"].unique().to_list() == ["region"]
    assert shades["subject_id"].n_unique() == shades.height == 15
    outside = shades.filter(pl.col("region") == "[20, 20, 30, 30]")
    assert outside["status"].unique().to_list() == ["invalid"]
    assert outside["rationale"].unique().to_list() == ["region outside the picture"]
    assert shades.filter(pl.col("region") == "[0, 0, 8, 8]")["value"].to_list() == ["dark"] * 5
    assert shades.filter(pl.col("region") == "[8, 0, 16, 8]")["value"].to_list() == ["dark"] * 4 + ["light"]
    assert {size for name, size in SEEN if name == "shade"} == {(8, 8)}
    regions = run.subjects
    assert regions["subject_id"].to_list() == shades["subject_id"].to_list()
    assert set(regions["image_id"]) == set(run.images["image_id"])
    assert run.labels.filter(annotator="halves")["subject_kind"].unique().to_list() == ["image"]


def test_what_looks_at_sets_is_shown_pictures_of_one_prompt_in_their_order(study):
    run = audit(study, "alike").run(study / "run")
    sets = run.subjects.filter(subject_kind="set")
    ids = run.images["image_id"].to_list()
    assert sets["image_id"].to_list() == [ids[0], ids[1], ids[3], ids[4]]
    assert sets["position"].to_list() == [0, 1, 0, 1]
    said = run.labels.filter(annotator="alike")
    assert said.select("subject_kind", "value").rows() == [("set", "no")] * 2
    assert said["subject_id"].to_list() == sets["subject_id"].unique(maintain_order=True).to_list()


def test_regions_and_sets_are_looked_at_once_and_measured_again_without_a_look(study):
    run = audit(study).run(study / "run")
    n = len(SEEN)
    assert n == 5 + 10 + 2
    again = audit(study).run(study / "run")
    assert len(SEEN) == n
    assert again.labels.equals(run.labels)
    assert again.subjects.equals(run.subjects)
    measured = st.Audit.from_run(study / "run").measure(study / "run")
    assert len(SEEN) == n
    assert measured.labels.equals(run.labels)
    gone = audit(study, "halves").run(study / "run")
    assert gone.subjects.is_empty()
    assert len(SEEN) == n


def _reading(frames, monkeypatch, name, **facts):
    """Register a measure that keeps what it reads."""

    def function(labels: pl.DataFrame, *, by: tuple[str, ...] = ("generator",)) -> pl.DataFrame:
        frames[name] = labels
        return estimate_frame([], factors=("generator",))

    function.__name__ = name
    contract.REGISTRY["share"]
    info = contract.MeasureInfo(
        name, function, "reads", "general", (0, 1), "none", "made up", needs="labels", **facts
    )
    monkeypatch.setitem(contract.REGISTRY._plugins, name, info)
    monkeypatch.setitem(contract.REGISTRY._origins, name, "stereotrope")


def test_a_measure_of_regions_reads_regions_and_one_of_images_reads_none(study, monkeypatch):
    frames = {}
    _reading(frames, monkeypatch, "of_regions", subject="region")
    _reading(frames, monkeypatch, "of_sets", subject="set")
    _reading(frames, monkeypatch, "of_images")
    run = audit(study, measures="[of_regions, of_sets, of_images]").run(study / "run")
    assert set(frames["of_images"]["attribute"]) == {"half"}
    regions, sets = frames["of_regions"], frames["of_sets"]
    assert set(regions["attribute"]) == {"shade"}
    assert regions["image_id"].to_list() == run.labels.filter(annotator="shade")["subject_id"].to_list()
    assert regions["excluded"].drop_nulls().to_list() == ["invalid"] * 5
    assert sorted(regions["scene"].unique()) == ["a", "b"]
    assert sets.select("scene", "attribute", "value").rows() == [("a", "alike", "no"), ("b", "alike", "no")]


def test_a_region_or_set_without_an_answer_is_stored_and_counted_as_not_labelled(study, monkeypatch):
    frames = {}
    silent = {"shade": Shade.process, "alike": Alike.process}

    def mute(self, picture):
        said = silent["shade"](self, picture)
        return said if picture.pixels().mean() < 100 else []

    async def mute_of_sets(self, pictures):
        said = await silent["alike"](self, pictures)
        return said if pictures[0].pixels().mean() < 30 else []

    monkeypatch.setattr(Shade, "process", mute)
    monkeypatch.setattr(Alike, "process", mute_of_sets)
    _reading(frames, monkeypatch, "of_regions", subject="region")
    _reading(frames, monkeypatch, "of_sets", subject="set")
    run = audit(study, measures="[of_regions, of_sets]").run(study / "run")
    kinds = run.subjects.unique("subject_id", maintain_order=True)["subject_kind"].to_list()
    assert (kinds.count("region"), kinds.count("set")) == (15, 2)
    left = {name: frame["excluded"].drop_nulls().to_list() for name, frame in frames.items()}
    assert left["of_regions"].count("not labelled") == 2
    assert left["of_sets"] == ["not labelled"]


def test_a_set_that_nobody_answered_is_owed_by_those_that_look_at_it(study, monkeypatch):
    async def mute(self, pictures):
        return []

    frames = {}
    monkeypatch.setattr(Alike, "process", mute)
    monkeypatch.setattr(Triples, "process", mute)
    _reading(frames, monkeypatch, "of_sets", subject="set")
    asked = audit(study, "alike, triples", "[of_sets]")
    subjects = asked.run(study / "run").subjects
    assert subjects["annotators"].to_list() == ['["alike"]'] * 4 + ['["triples"]'] * 3
    owed = frames["of_sets"].select("image_id", "annotator", "excluded")
    assert owed["annotator"].to_list() == ["alike", "alike", "triples"]
    again = st.Audit.from_run(study / "run").measure(study / "run")
    assert frames["of_sets"].select("image_id", "annotator", "excluded").equals(owed)
    assert again.subjects.equals(subjects)
    subjects.drop("annotators").write_parquet(study / "run" / "subjects.parquet")
    assert st.open(study / "run").subjects["annotators"].null_count() == subjects.height


@pytest.mark.parametrize(
    ("annotators", "message"),
    [
        ("shade", "audit.yaml:2: annotator 'shade' needs 'regions', and no other gives that; add one"),
        ("blank, shade", "annotator 'shade' needs 'regions'"),
    ],
)
def test_a_need_that_nobody_meets_is_told_with_its_line(study, annotators, message):
    with pytest.raises(AuditFileError, match=message):
        audit(study, annotators).plan()


@pytest.mark.parametrize(
    ("attribute", "message"),
    [
        ("half", "'half' is labelled on each image, several times, and share reads one label of each image"),
        ("shade", "'shade' is labelled on each region, and share reads one .* registered with subject="),
        ("alike", "'alike' is labelled on each set, and share reads one label of each image"),
    ],
)
def test_a_share_of_what_is_labelled_on_others_than_pictures_is_refused(study, attribute, message):
    with pytest.raises(AuditFileError, match=f"audit.yaml:3: measure 'share': {message}"):
        audit(study, measures=f"[{{share: {attribute}}}]").plan()
    with pytest.raises(AuditFileError, match="'half' is labelled on each image, several times"):
        audit(study, "halves", "[share]").plan()


@pytest.mark.parametrize("attribute", ["half", "shade", "alike"])
def test_such_a_share_is_refused_beside_an_annotator_that_discovers(study, attribute):
    with pytest.raises(AuditFileError, match=f"'{attribute}' is labelled on each"):
        audit(study, "halves, shade, alike, tones", f"[{{share: {attribute}}}]").plan()


def test_beside_an_annotator_that_discovers_measures_leave_out_what_has_several_labels(study):
    text = audit(study, "halves, tones", "[share, bds]").source.text + "baseline: {scene: a}\n"
    run = st.Audit.from_text(text, base=study).run(study / "run")
    assert {(row["measure"], row["attribute"]) for row in run.estimates.to_dicts()} == {
        ("share", "tone"),
        ("bds", "tone"),
        ("bds", "all"),
    }


def test_annotators_that_wait_for_one_another_are_told(study, monkeypatch):
    monkeypatch.setattr(Halves, "needs", ("shade",))
    with pytest.raises(AuditFileError, match="'halves', 'shade': each needs what another gives"):
        audit(study).plan()


def test_a_set_with_a_picture_that_cannot_be_used_is_known_left_out_and_not_waited_for(study):
    (study / "made" / "1.png").write_bytes(b"no picture")
    text = audit(study, "alike").source.text + "max_excluded: 1\n"
    run = st.Audit.from_text(text, base=study).run(study / "run")
    # It is known, so that measures count it, and nobody was asked about it.
    images = run.images["image_id"].to_list()
    assert sorted(run.subjects["image_id"]) == sorted([*images[:2], *images[3:]])
    whole = run.subjects.filter(pl.col("subject_id").is_in(run.labels["subject_id"].implode()))
    assert whole["image_id"].to_list() == images[3:]


def test_a_set_of_pictures_of_several_models_and_levels_is_of_none_of_them(study, monkeypatch, reported):
    rows = [f"{i}.png,a thing,{'a' if i in (0, 2) else 'b'},{'ab'[i // 2]}" for i in range(4)]
    metadata = "\n".join(["file,prompt,scene,model", *rows])
    (study / "made" / "metadata.csv").write_text(metadata)

    def of_sets(call, data):
        shares = call.info.function(data, **call.arguments)
        return shares.with_columns(measure=pl.lit("share_of_sets"))

    info = replace(contract.REGISTRY["share"], name="share_of_sets", subject="set", compute=of_sets)
    monkeypatch.setitem(contract.REGISTRY._plugins, "share_of_sets", info)
    monkeypatch.setitem(contract.REGISTRY._origins, "share_of_sets", "stereotrope")
    text = audit(study, "models", "[share_of_sets]").source.text
    text = text.replace("factors: [scene]", "factors: [scene], name_from: model")
    run = st.Audit.from_text(text, base=study).run(study / "run")
    shares = run.estimates.filter(category="no")
    assert shares.select("generator", "scene", "value", "n", "n_excluded").rows() == [
        (None, "a", 1.0, 1, 0),
        (None, "b", None, 0, 1),
    ]
    missing = pl.read_csv(run.path / "report" / "tables" / "missing.csv")
    assert missing.select("generator", "scene", "asked for", "labels", "labels unclear").rows() == [
        *((model, scene, 1, 0, 0) for model in "ab" for scene in "ab"),
        ("–", "a", 0, 1, 0),
        ("–", "b", 0, 1, 1),
    ]


def test_measured_again_a_run_has_the_sets_that_were_looked_at(study, monkeypatch, reported):
    draw = folder.FolderGenerator.process

    def process(self, request):
        if request.source.endswith("0.png"):
            raise PictureUnavailable("not now")
        return draw(self, request)

    monkeypatch.setattr(folder.FolderGenerator, "process", process)
    rows = [f"{i}.png,a thing,a" for i in range(5)]
    (study / "made" / "metadata.csv").write_text("\n".join(["file,prompt,scene", *rows]))
    with pytest.raises(IncompleteError, match="waits for pictures that are still to be drawn"):
        audit(study, "alike").run(study / "run")
    run = st.open(study / "run")
    page = (run.path / "report" / "index.html").read_text()
    assert "alike: 1 of 2 sets were not looked at: waits for pictures that are still to be drawn." in page
    assert run.subjects["image_id"].to_list() == run.images["image_id"].to_list()[1:3]
    assert st.Audit.from_run(study / "run").measure(study / "run").subjects.equals(run.subjects)


def test_a_cap_keeps_back_for_as_many_regions_as_a_picture_has_so_far(study, monkeypatch):
    def expect(self, n):
        return Expectation(n, None, None, (0.0, 0.01 * n), None)

    monkeypatch.setattr(Shade, "expect", expect)
    plan = audit(study, "halves, shade").plan()
    assert reserve_in(plan, study / "run").each == pytest.approx(0.01)
    audit(study, "halves, shade").run(study / "run")
    assert reserve_in(plan, study / "run").each == pytest.approx(0.03)
