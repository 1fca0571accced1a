"""Audits that cluster pictures and search the texts nearest to each: by tiny models, through real loading."""

import io
import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.conftest import DEVICE
from tests.run import kill

import stereotrope as st
from stereotrope.annotate import ClusterPrompts, create
from stereotrope.audit import Audit
from stereotrope.audit.outstanding import outstanding
from stereotrope.errors import AuditFileError, Interrupted
from stereotrope.probe import causal_lm, stop_prompts
from stereotrope.run import Run

AUDIT = """\
generators: [{folder: pictures, metadata: metadata.csv, prompt: prompt, factors: [thing]}]
annotators:
  - blank
  - {encoder: "clip:CLIP", name: tiny-clip, device: DEVICE}
  - {cluster_prompts: GPT, encoder: tiny-clip, clusters: 2, prefix: a photo of, device: DEVICE, proposals: 6,
     beam: 6, keep: 3}
measures: [refusal_rate]
report: {figures: false}
""".replace("DEVICE", DEVICE)
COLOURS = {"cup": [(200, 30, 30), (30, 30, 200)], "doctor": [(240, 240, 240), (40, 120, 60)]}


@pytest.fixture
def study(tmp_path, tiny_clip, gpt):
    """Folder of a study of two things, twelve pictures each in two colours, and its audit file."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    rng, rows = np.random.default_rng(0), ["file,prompt,thing"]
    for thing, colours in COLOURS.items():
        for i in range(12):
            pixels = rng.integers(0, 40, (40, 48, 3)) + np.array(colours[i % 2]) * 0.8
            Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{thing}{i}.png")
            rows.append(f"{thing}{i}.png,a photo of a {thing},{thing}")
    (folder / "metadata.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "audit.yaml").write_text(AUDIT.replace("CLIP", str(tiny_clip)).replace("GPT", str(gpt)))
    return tmp_path


@pytest.fixture
def looks(monkeypatch):
    """How many pictures were clustered at each look, and what is called after one."""
    sizes, after, work = [], [], ClusterPrompts.process

    def noted(self, shown):
        result = work(self, shown)
        sizes.append(len(shown))
        for each in after:
            each()
        return result

    monkeypatch.setattr(ClusterPrompts, "process", noted)
    return sizes, after


def run(study, name="run", **changed):
    text = (study / "audit.yaml").read_text()
    for old, new in changed.items():
        text = text.replace(old, new)
    return Audit.from_text(text, base=study).run(study / name)


def tables(run: Run):
    return run.table("picture_clusters"), run.table("cluster_texts")


def test_clusters_their_means_and_texts_stand_in_tables_and_in_the_report(study, looks, gpt, tiny_clip):
    sizes, _ = looks
    made = run(study)
    assert sizes == [12, 12]
    clusters, texts = tables(made)
    assert clusters["cluster"].to_list() == [1, 2, 1, 2]
    assert clusters["n"].sum() == 24
    names = dict(made.images.select("image_id", "source").iter_rows())
    for ids in clusters["image_ids"]:
        assert len({int(names[one].rstrip(".png").lstrip("cupdotr")) % 2 for one in json.loads(ids)}) == 1
    vectors = dict(made.embeddings.filter(subject_kind="image").select("subject_id", "vector").iter_rows())
    encoder = create({"encoder": f"clip:{tiny_clip}", "device": DEVICE})
    for row in clusters.iter_rows(named=True):
        ids = json.loads(row["image_ids"])
        mine = np.array([vectors[one] for one in ids])
        asked = {"prefix": "a photo of", "beam": 6, "keep": 3}
        expected = stop_prompts(
            mine, lambda each: [e.vector for e in encoder.encode_texts(each)], causal_lm(gpt, most=6), **asked
        )
        found = texts.filter(prompt_id=row["prompt_id"], cluster=row["cluster"])
        assert found.select("rank", "prompt", "continuation").equals(
            expected.select("rank", "prompt", "continuation")
        )
        assert found["score"].to_list() == pytest.approx(expected["score"].to_list(), abs=1e-6)
        (other,) = clusters.filter(prompt_id=row["prompt_id"]).filter(pl.col("cluster") != row["cluster"])[
            "image_ids"
        ]
        rest = np.array([vectors[one] for one in json.loads(other)])
        (best,) = encoder.encode_texts([found["prompt"][0]])
        assert found["score_others"][0] == pytest.approx(float(np.mean(rest @ best.vector)), abs=1e-6)
        mean = np.mean([np.asarray(Image.open(io.BytesIO(made.picture(one)))) for one in ids], axis=0)
        shown = np.asarray(Image.open(made.path / row["path"]))
        assert shown == pytest.approx(mean, abs=0.51)
    assert made.info["annotators"][-1]["kind"] == "ClusterPrompts"


def assert_survives(study, kills):
    """Kill the command in the batches that ``kills`` picks among those that there are, and let it go on."""

    def start(name, batch=0):
        script = [sys.executable, str(Path(__file__).parent / "killed_batches.py"), f"{name}.log", str(batch)]
        command = [*script, "--quiet", "run", "audit.yaml", "-o", name]
        return subprocess.run(command, cwd=study, check=False, capture_output=True).returncode

    def noted(name):
        return (study / f"{name}.log").read_text().split()

    assert start("calm") == 0
    batches = noted("calm")
    hit = [batch for batch in kills(len(batches)) if start("killed", batch) == -signal.SIGKILL]
    assert hit
    assert start("killed") == 0
    assert kill.tables(study / "killed") == kill.tables(study / "calm")
    # A group that was done is not done again; the one that a kill hit may be.
    assert noted("killed").count("12") <= batches.count("12") + len(hit)


@pytest.mark.slow
def test_a_run_that_is_killed_while_it_searches_texts_ends_in_the_same_tables(study):
    assert_survives(study, lambda n: [n - 2])


@pytest.mark.slow
def test_a_run_that_is_killed_in_many_batches_ends_in_the_same_tables(study):
    assert_survives(study, lambda n: [*range(1, n, max(1, n // 6)), 1, 2, 1])


def drawing_audit(pipelines, tiny_clip, gpt, kinds, images):
    """An audit of pictures that tiny pipelines draw: read inside, encoded, and clustered."""
    probe = "{candidates: {hat: {positive: [a man], negative: [a woman]}}, previews: [0]}"
    models = "".join(
        f"  - {{diffusers: {pipelines(kind)}, name: {kind}, steps: 2, width: 32, height: 32, "
        f"device: {DEVICE}, safety_checker: false, probe: {probe}}}\n"
        for kind in kinds
    )
    prompts = f"prompts: [{{concept: doctor, text: a photo of a doctor}}]\nimages_per_prompt: {images}\n"
    return f"{prompts}generators:\n{models}" + AUDIT.partition("\n")[2].replace(
        "CLIP", str(tiny_clip)
    ).replace("GPT", str(gpt))


@pytest.mark.slow
def test_a_run_that_is_killed_at_random_moments_of_drawing_reading_and_searching_ends_in_the_same_tables(
    tmp_path, pipelines, tiny_clip, gpt
):
    (tmp_path / "audit.yaml").write_text(drawing_audit(pipelines, tiny_clip, gpt, ["sd3"], 8))

    def command(name):
        script = str(Path(__file__).parent / "killed_batches.py")
        return [sys.executable, script, f"{name}.log", "0", "--quiet", "run", "audit.yaml", "-o", name]

    kill.run_through(command("calm"), folder=tmp_path)
    calls = len((tmp_path / "calm.log").read_text().split())
    log, points = tmp_path / "killed.log", kill.random_points(20, calls, seed=5)
    report = kill.kill_and_continue(command("killed"), log=log, points=points, folder=tmp_path)
    assert report.killed >= 15
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "calm")


def test_pictures_that_pipelines_draw_are_read_inside_and_clustered_in_one_run(
    tmp_path, pipelines, tiny_clip, gpt, reported
):
    """Generation, SPI, previews and StOP of three kinds of pipelines, each loaded from its folder."""
    text = drawing_audit(pipelines, tiny_clip, gpt, ["sd3", "flux", "sd1"], 3)
    made = Audit.from_text(text).run(tmp_path / "run")
    assert set(made.images["status"]) == {"ok"}
    clusters, texts = tables(made)
    assert clusters.select("generator", "cluster", "n").rows() == [
        ("sd3", 1, 3),
        ("flux", 1, 3),
        ("sd1", 1, 3),
    ]
    assert texts.height == 9
    assert texts["score"].is_between(-1, 1).all()
    assert set(made.table("probes")["same_picture"]) == {"yes"}
    page = (made.path / "report" / "index.html").read_text("utf-8")
    assert page.count("mean of the pictures of cluster 1") == 3
    assert "What the models do while they draw" in page
    again = Audit.from_text(text).run(tmp_path / "run")
    assert all(one.equals(other) for one, other in zip((clusters, texts), tables(again), strict=True))


def test_nothing_is_searched_twice_and_measuring_again_loads_nothing(study, looks):
    sizes, _ = looks
    before = tables(run(study))
    del sizes[:]
    again = run(study)
    assert all(one.equals(other) for one, other in zip(before, tables(again), strict=True))
    measured = Audit.from_run(study / "run").measure(study / "run")
    assert all(one.equals(other) for one, other in zip(before, tables(measured), strict=True))
    assert sizes == []
    fewer = run(study, **{"clusters: 2": "clusters: 1"})
    assert sizes == [12, 12]
    clusters, texts = tables(fewer)
    assert clusters["n"].to_list() == [12, 12]
    assert texts["score_others"].null_count() == texts.height


def test_a_plan_counts_the_groups_and_what_is_done(study):
    plan = Audit.from_yaml(study / "audit.yaml").plan()
    told = {one.verb: (one.total, one.done) for one in outstanding(plan, study / "run")}
    assert told["stop"] == (2, 0)
    run(study)
    told = {one.verb: (one.total, one.done) for one in outstanding(plan, study / "run")}
    assert told["stop"] == (2, 2)


def test_a_run_that_was_stopped_searches_the_rest(study, looks):
    sizes, after = looks
    calm = tables(run(study, "calm"))
    del sizes[:]
    stop = threading.Event()
    after.append(stop.set)
    audit = Audit.from_yaml(study / "audit.yaml")
    with pytest.raises(Interrupted, match="stop: stopped after 1 of 2"):
        audit.run(study / "run", stop=stop)
    after.clear()
    ended = tables(run(study))
    assert sizes == [12, 12]
    assert all(one.equals(other) for one, other in zip(calm, ended, strict=True))


def test_the_mean_may_be_of_the_largest_region_of_each_picture(study, reported):
    boxes = ["file,box"]
    for i in range(12):
        boxes += [f'cup{i}.png,"[1, 1, 5, 5]"', f'cup{i}.png,"[8, 4, 40, 36]"'] * (i != 3)
    (study / "boxes.csv").write_text("\n".join(boxes) + "\n")
    finder = "  - {boxes: boxes.csv, name: faces, attribute: face}\n  - {cluster_prompts:"
    made = run(study, **{"  - {cluster_prompts:": finder, "clusters: 2": "clusters: 1, crop: faces"})
    clusters, _ = tables(made)
    assert clusters.select("n", "n_mean").rows() == [(12, 11), (12, 0)]
    assert clusters["path"].null_count() == 1
    names = dict(made.images.select("image_id", "source").iter_rows())
    ids = [one for one in json.loads(clusters["image_ids"][0]) if names[one] != "cup3.png"]
    cut = [np.asarray(Image.open(io.BytesIO(made.picture(one))))[4:36, 8:40] for one in ids]
    expected = np.mean([np.asarray(Image.fromarray(one).resize((256, 256))) for one in cut], axis=0)
    assert np.asarray(Image.open(made.path / clusters["path"][0])) == pytest.approx(expected, abs=0.51)
    page = (made.path / "report" / "index.html").read_text("utf-8")
    assert "The mean of 11 of them, and pictures of the cluster" in page


def test_pictures_of_a_level_are_taken_together(study, looks):
    sizes, _ = looks
    made = run(study, **{"clusters: 2": "clusters: 2, of: thing"})
    clusters, texts = tables(made)
    assert sizes == [12, 12]
    assert clusters["level"].unique(maintain_order=True).to_list() == ["cup", "doctor"]
    assert clusters["prompt_id"].null_count() == clusters.height
    assert set(texts["factor"]) == {"thing"}


@pytest.mark.parametrize(
    ("old", "new", "match"),
    [
        (
            "clusters: 2",
            "clusters: 2, of: colour",
            r"annotator 'stop': of: the prompts have no factor 'colour'; they have thing",
        ),
        (
            "encoder: tiny-clip, clusters",
            "encoder: tiny, clusters",
            "annotator 'stop': reads 'tiny', which is no annotator; did you mean 'tiny-clip'",
        ),
        (
            "encoder: tiny-clip, clusters",
            "encoder: blank, clusters",
            "annotator 'stop': encoder: 'blank' encodes no texts; name an encoder",
        ),
        (
            "{cluster_prompts: ",
            "{name: tiny-clip, cluster_prompts: ",
            "must have a name of its own, and reads 'tiny-clip'; rename it",
        ),
        ("encoder: tiny-clip, clusters", "clusters", r"encoder is missing"),
        ("clusters: 2", "clusters: 2, crop: blank", "crop: 'blank' finds no regions; name one that does"),
        (
            "{cluster_prompts: ",
            "{revision: main, cluster_prompts: ",
            "a folder has no revision; remove `revision:`",
        ),
    ],
)
def test_mistakes_are_named_before_anything_is_done(study, old, new, match):
    text = (study / "audit.yaml").read_text().replace(old, new)
    with pytest.raises(AuditFileError, match=match):
        Audit.from_text(text, base=study).plan()


def test_a_language_model_that_is_not_there_is_told(study, gpt):
    text = (study / "audit.yaml").read_text().replace(str(gpt), "./nothing")
    with pytest.raises(
        AuditFileError, match=r"language model .*no model is there \(config.json is missing\)"
    ):
        Audit.from_text(text, base=study).plan()


def test_pictures_without_a_vector_are_told_and_a_cluster_without_texts_says_why(study, monkeypatch):
    from stereotrope.annotate import Encoder

    with monkeypatch.context() as patched:
        patched.setattr(Encoder, "encode_pictures", lambda self, pixels: [None] * len(pixels))
        clusters, texts = tables(run(study, "none"))
    assert clusters["undefined"].to_list() == ["no picture has a vector"] * 2
    assert clusters["n_without"].to_list() == [12, 12]
    assert texts.height == 0
    monkeypatch.setattr(ClusterPrompts, "_encode", lambda self, texts: [None] * len(texts))
    clusters, texts = tables(run(study, "mute"))
    assert clusters.height == 4
    assert set(texts["undefined"]) == {"the encoder gives no proposed text a vector"}
    assert st.open(study / "mute").table("cluster_texts")["rank"].null_count() == 4
