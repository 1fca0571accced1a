"""Audits with an encoder, or with vectors made elsewhere, from pictures to the report."""

import contextlib
import importlib.util
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.run import kill

from stereotrope.annotate import Encoder
from stereotrope.audit import Audit
from stereotrope.audit.outstanding import outstanding
from stereotrope.errors import AuditFileError, IncompleteError, RunDamaged

HERE = Path(__file__).resolve().parent
PROMPTS = "prompts: [{prompt: cup, text: a red cup on a table}, {prompt: doctor, text: a doctor}]"
AUDIT = """\
%s
generators: [{folder: pictures, metadata: metadata.csv, name: painter}]
annotators: [%s]
measures: [image_vendi, prompt_alignment]
"""


def pictures(folder: Path, n: int = 12) -> None:
    """Small pictures that differ, every third of a doctor."""
    (folder / "pictures").mkdir(exist_ok=True)
    lines = ["file,prompt"]
    for i in range(n):
        noise = np.random.default_rng(i).integers(0, 255, (40, 40, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / "pictures" / f"{i}.png")
        lines.append(f"{i}.png,{'doctor' if i % 3 == 0 else 'cup'}")
    (folder / "pictures" / "metadata.csv").write_text("\n".join(lines))


def audit(folder: Path, annotators: str, prompts: str = PROMPTS) -> Audit:
    return Audit.from_text(AUDIT % (prompts, annotators), base=folder)


def encoder_entry(model: Path, **options) -> str:
    more = "".join(f", {key}: {value}" for key, value in options.items())
    return f'{{encoder: "clip:{model}", name: clip, batch: 5{more}}}'


def plain_vendi(x) -> float:
    values = np.linalg.eigvalsh(x @ x.T / len(x))
    values = values[values > 1e-12]
    return float(np.exp(-(values * np.log(values)).sum()))


@pytest.fixture
def counted(monkeypatch):
    """How many pictures and texts were encoded, call by call."""
    calls = []
    for name in ("encode_pictures", "encode_texts"):
        encode = getattr(Encoder, name)
        monkeypatch.setattr(
            Encoder, name, lambda self, items, encode=encode: calls.append(len(items)) or encode(self, items)
        )
    return calls


def test_pictures_and_prompts_are_encoded_measured_and_reported(tmp_path, tiny_clip, counted, drawn):
    pictures(tmp_path)
    run = audit(tmp_path, encoder_entry(tiny_clip)).run(tmp_path / "run")
    assert sorted(counted) == [2, 2, 5, 5]
    assert run.embeddings["subject_kind"].value_counts().sort("count").rows() == [("text", 2), ("image", 12)]
    assert (run.path / "embeddings" / "clip.parquet").is_file()
    texts = dict(run.embeddings.filter(subject_kind="text").select("subject_id", "vector").iter_rows())
    of = dict(run.prompts.select("prompt", "prompt_id").iter_rows())
    shown = run.images.join(run.embeddings.rename({"subject_id": "image_id"}), on="image_id")
    for prompt, n in (("doctor", 4), ("cup", 8)):
        x = np.array(shown.filter(prompt_id=of[prompt])["vector"].to_list())
        rows = {r["measure"]: r for r in run.estimates.filter(prompt=prompt).iter_rows(named=True)}
        vendi = rows["image_vendi"]
        assert (vendi["annotator"], vendi["generator"], vendi["n"]) == ("clip", "painter", n)
        assert vendi["value"] == pytest.approx(plain_vendi(x), abs=1e-5)
        assert rows["prompt_alignment"]["value"] == pytest.approx(np.mean(x @ texts[of[prompt]]), abs=1e-6)
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "pictures in effect, 1 to n" in page
    assert "Prompt alignment of pictures" in page
    assert "torch" in run.info["versions"]
    assert not re.search(r"\bnan\b|\bNone\b", re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL))


def test_running_again_encodes_nothing_and_more_pictures_only_the_new_ones(tmp_path, tiny_clip, counted):
    pictures(tmp_path)
    asked = audit(tmp_path, encoder_entry(tiny_clip))
    before = asked.run(tmp_path / "run")
    (work,) = [w for w in outstanding(asked.plan(), tmp_path / "run") if w.verb == "embed"]
    assert (work.name, work.total, work.done) == ("clip", 12, 12)
    del counted[:]
    assert asked.run(tmp_path / "run").embeddings.equals(before.embeddings)
    assert asked.measure(tmp_path / "run").estimates.equals(before.estimates)
    assert counted == []
    pictures(tmp_path, 14)
    (work,) = [w for w in outstanding(asked.plan(), tmp_path / "run") if w.verb == "embed"]
    assert (work.total, work.done) == (14, 12)
    assert asked.run(tmp_path / "run").embeddings.height == 16
    assert counted == [2]


def test_copies_of_a_picture_are_encoded_once(tmp_path, tiny_clip, counted):
    pictures(tmp_path, 4)
    for i in (1, 2, 3):
        shutil.copy(tmp_path / "pictures" / "0.png", tmp_path / "pictures" / f"{i}.png")
    run = audit(tmp_path, encoder_entry(tiny_clip)).run(tmp_path / "run")
    assert counted == [1, 2]
    assert run.embeddings.filter(subject_kind="image").height == 4
    alike = run.estimates.filter(measure="image_vendi")
    assert alike["value"].to_list() == pytest.approx([1.0, 1.0], abs=1e-6)
    assert alike["low"].null_count() == 2


@pytest.mark.slow
def test_a_run_killed_while_it_encodes_ends_in_the_same_bytes(tmp_path, tiny_clip, counted):
    pictures(tmp_path)
    text = AUDIT % (PROMPTS, encoder_entry(tiny_clip))
    (tmp_path / "audit.yaml").write_text(f"{text}report: {{figures: false}}\n")

    def start(batch: int) -> int:
        arguments = ["killed.log", str(batch), "--quiet", "run", "audit.yaml", "-o", "killed"]
        script = [sys.executable, str(HERE / "killed_batches.py"), *arguments]
        return subprocess.run(script, cwd=tmp_path, check=False, capture_output=True).returncode

    Audit.from_yaml(tmp_path / "audit.yaml").run(tmp_path / "calm")
    assert sorted(counted) == [2, 2, 5, 5]
    assert start(2) == -9
    assert start(0) == 0
    assert kill.tables(tmp_path / "killed") == kill.tables(tmp_path / "calm")
    n = len((tmp_path / "killed.log").read_text().split())
    assert n in (len(counted) + 1, len(counted) + 2)  # the two batches in flight may be encoded again


def test_an_encoder_that_is_left_out_takes_its_vectors_with_it(tmp_path, tiny_clip):
    pictures(tmp_path)
    audit(tmp_path, encoder_entry(tiny_clip)).run(tmp_path / "run")
    text = AUDIT % (PROMPTS, "colour")
    run = Audit.from_text(text.replace("image_vendi, prompt_alignment", "share"), base=tmp_path).run(
        tmp_path / "run"
    )
    assert run.embeddings.height == 0
    assert not (run.path / "embeddings").exists()


def test_a_run_is_measured_again_where_the_model_is_not(tmp_path, tiny_clip):
    model = shutil.copytree(tiny_clip, tmp_path / "model")
    pictures(tmp_path)
    asked = audit(tmp_path, encoder_entry(Path("./model")).replace("clip:model", "clip:./model"))
    before = asked.run(tmp_path / "run")
    shutil.rmtree(model)
    assert Audit.from_run(tmp_path / "run").measure(tmp_path / "run").estimates.equals(before.estimates)
    with pytest.raises(AuditFileError, match=r"no model is there \(config.json is missing\)"):
        asked.run(tmp_path / "run")


def test_vectors_that_the_ledger_lost_stay_in_the_table(tmp_path, tiny_clip):
    pictures(tmp_path)
    asked = audit(tmp_path, encoder_entry(tiny_clip))
    asked.run(tmp_path / "run")
    with contextlib.closing(sqlite3.connect(tmp_path / "run" / "ledger.db")) as ledger, ledger:
        ledger.execute("DELETE FROM items WHERE stage = ?", ["embed"])
    with pytest.raises(RunDamaged, match="lacks 14 of 14 vectors that the embeddings have"):
        asked.measure(tmp_path / "run")
    assert (tmp_path / "run" / "embeddings" / "clip.parquet").is_file()


def test_a_model_that_cannot_be_loaded_leaves_the_rest_of_the_run(tmp_path, tiny_clip, reported):
    model = shutil.copytree(tiny_clip, tmp_path / "model")
    (model / "model.safetensors").write_bytes(b"torn")
    pictures(tmp_path)
    asked = audit(tmp_path, encoder_entry(model))
    with pytest.raises(IncompleteError, match=r"embed: clip: 12 of 12 missing: encoder .* cannot be loaded"):
        asked.run(tmp_path / "run")
    estimates = pl.read_parquet(tmp_path / "run" / "estimates.parquet")
    assert estimates["undefined"].unique().to_list() == ["no picture with an embedding"]
    assert (tmp_path / "run" / "report" / "index.html").is_file()
    shutil.copy(tiny_clip / "model.safetensors", model)
    assert asked.run(tmp_path / "run").embeddings.height == 14


def test_a_picture_that_cannot_be_decoded_has_no_vector_and_a_note(tmp_path, tiny_clip, monkeypatch):
    from stereotrope import pictures as decoding
    from stereotrope.errors import PictureError

    pictures(tmp_path)
    decode, seen = decoding.decode, []

    def torn_once(data, *, max_side=None):
        seen.append(1)
        if len(seen) == 1:
            raise PictureError("is cut short")
        return decode(data, max_side=max_side)

    monkeypatch.setattr(decoding, "decode", torn_once)
    run = audit(tmp_path, encoder_entry(tiny_clip)).run(tmp_path / "run")
    assert run.embeddings.filter(subject_kind="image").height == 11
    assert "clip: 1 of 12 pictures have no vector (is cut short)" in run.info["notes"]
    assert run.estimates.filter(measure="image_vendi")["n_excluded"].sum() == 1


def test_a_prompt_that_is_too_long_or_has_no_text_is_noted(tmp_path, tiny_clip):
    pictures(tmp_path)
    longer = PROMPTS.replace("a doctor", "a doctor in a hospital " * 4)
    run = audit(tmp_path, encoder_entry(tiny_clip), longer).run(tmp_path / "run")
    assert any("1 of 2 prompts are longer than the 16 tokens" in note for note in run.info["notes"])
    metadata = tmp_path / "pictures" / "metadata.csv"
    metadata.write_text(metadata.read_text().replace("prompt", "thing"))
    run = audit(tmp_path, encoder_entry(tiny_clip), "seed: 1").run(tmp_path / "other")
    assert "clip: 1 of 1 prompts have no text to encode" in run.info["notes"]
    reasons = run.estimates.filter(measure="prompt_alignment")["undefined"].to_list()
    assert reasons == ["no vector of the prompt's text"]
    assert run.estimates.filter(measure="image_vendi")["value"].null_count() == 0


def test_a_missing_extra_is_told_before_anything_is_done(tmp_path, tiny_clip, monkeypatch):
    find = importlib.util.find_spec
    pictures(tmp_path)
    asked = audit(tmp_path, encoder_entry(tiny_clip))
    done = asked.run(tmp_path / "run")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "torch" else find(name))
    with pytest.raises(
        AuditFileError, match=r"audit.yaml:3: .*needs torch, .* pip install 'stereotrope\[local\]'"
    ):
        asked.plan()
    assert Audit.from_run(done.path).measure(done.path).estimates.equals(done.estimates)


def test_measures_of_vectors_without_any_are_told_and_a_suite_leaves_them_out(tmp_path):
    pictures(tmp_path)
    with pytest.raises(AuditFileError, match="'image_vendi': needs vectors of the pictures, and no"):
        audit(tmp_path, "colour").plan()


def test_given_vectors_end_in_the_report_and_two_encoders_stand_apart(tmp_path, tiny_clip, drawn):
    pictures(tmp_path)
    x = np.random.default_rng(8).normal(size=(14, 4))
    rows = {
        "image": [*(f"{i}.png" for i in range(12)), None, None],
        "prompt": [None] * 12 + ["a doctor", "a red cup on a table"],
        "vector": x.tolist(),
    }
    pl.DataFrame(rows).write_parquet(tmp_path / "vectors.parquet")
    both = f"{{embeddings: vectors.parquet, name: mine}}, {encoder_entry(tiny_clip)}"
    run = audit(tmp_path, both).run(tmp_path / "run")
    assert sorted(file.name for file in (run.path / "embeddings").iterdir()) == [
        "clip.parquet",
        "mine.parquet",
    ]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    doctors = unit[[0, 3, 6, 9]]
    row = run.estimates.filter(measure="prompt_alignment", prompt="doctor", annotator="mine")
    assert row["value"].item() == pytest.approx(float(np.mean(doctors @ unit[12])), abs=1e-6)
    values = np.linalg.eigvalsh(doctors @ doctors.T / 4)
    values = values[values > 1e-12]
    vendi = run.estimates.filter(measure="image_vendi", prompt="doctor").select("annotator", "value")
    assert dict(vendi.iter_rows())["mine"] == pytest.approx(
        np.exp(-(values * np.log(values)).sum()), abs=1e-6
    )
    assert run.estimates.group_by("measure", "prompt").len()["len"].unique().to_list() == [2]
    page = (run.path / "report" / "index.html").read_text(encoding="utf-8")
    assert "mine" in page
    assert Audit.from_run(run.path).measure(run.path).estimates.equals(run.estimates)


def test_the_suite_measures_pictures_beside_captions_where_there_are_vectors(tmp_path):
    pictures(tmp_path, 6)
    lines = ["image,caption", *(f"{i}.png,a woman number {i} in scrubs" for i in range(6))]
    (tmp_path / "captions.csv").write_text("\n".join(lines))
    x = np.random.default_rng(8).normal(size=(6, 4)).tolist()
    pl.DataFrame({"image": [f"{i}.png" for i in range(6)], "vector": x}).write_parquet(tmp_path / "v.parquet")
    text = """\
suite: biasbench
prompts: [{prompt: doctor, text: A doctor performing surgery in a hospital.}]
generators: [{folder: pictures, name: painter}]
resamples: 100
annotators: [{captions: captions.csv, name: people}, {lexicon: biasbench}]
"""
    plain = Audit.from_text(text, base=tmp_path).plan()
    assert not {"image_vendi", "prompt_alignment"} & {call.name for call in plain.measures}
    with_vectors = text.replace("[{captions", "[{embeddings: v.parquet, name: clip}, {captions")
    (tmp_path / "pictures" / "metadata.csv").unlink()
    run = Audit.from_text(with_vectors, base=tmp_path).run(tmp_path / "run")
    found = dict(
        run.estimates.filter(pl.col("annotator") == "clip").select("measure", "undefined").iter_rows()
    )
    assert found == {
        "image_vendi": None,
        "image_vendi_normalised": None,
        "prompt_alignment": "no vector of the prompt's text",
    }
    assert run.estimates.filter(measure="vendi")["value"].null_count() == 0
