"""Encoders through transformers, with a tiny model of random weights in a folder."""

import importlib.util
import json
import shutil
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.conftest import DEVICE, require

from stereotrope import annotate
from stereotrope.errors import ModelUnusable, UsageError
from stereotrope.stats.vectors import pack

NEAR = 1e-5 if DEVICE == "cpu" else 1e-4


def made(folder, **options):
    return annotate.create({"encoder": f"clip:{folder}", "device": DEVICE, **options})


def noise(n, size=(32, 32)):
    rng = np.random.default_rng(5)
    return [rng.integers(0, 255, (*size, 3), dtype=np.uint8) for _ in range(n)]


def test_vectors_of_pictures_are_those_of_the_model_at_unit_length(tiny_clip):
    import torch
    from transformers import CLIPModel

    pictures = noise(3)
    found = made(tiny_clip).encode_pictures(pictures)
    mean, spread = (
        np.array(numbers)
        for numbers in ((0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711))
    )
    prepared = [((one / 255.0 - mean) / spread).transpose(2, 0, 1) for one in pictures]
    with torch.no_grad():
        model = CLIPModel.from_pretrained(tiny_clip)
        pooled = model.vision_model(torch.tensor(np.array(prepared), dtype=torch.float32)).pooler_output
        expected = model.visual_projection(pooled).numpy()
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert np.array(found) == pytest.approx(expected, abs=NEAR)
    assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)
    assert found[0].dtype == np.float32


def test_vectors_of_texts_hang_on_no_other_text(tiny_clip):
    encoder = made(tiny_clip)
    alone = encoder.encode_texts(["a red cup"])[0]
    beside = encoder.encode_texts(["a doctor in a hospital on a table", "a red cup"])[1]
    assert alone.vector == pytest.approx(beside.vector, abs=1e-6)
    assert (alone.tokens, alone.most) == (5, 16)
    assert encoder.encode_texts(["a doctor"])[0].vector != pytest.approx(alone.vector, abs=1e-3)


def test_a_text_longer_than_the_model_reads_is_cut_and_counted(tiny_clip):
    words = "a red cup on a table "
    cut, longer = made(tiny_clip).encode_texts([words * 5, words * 9])
    assert cut.tokens == 32
    assert cut.most == 16
    assert cut.vector == pytest.approx(longer.vector, abs=1e-6)


def test_the_edges_of_a_wide_picture_are_not_seen(tiny_clip):
    middle = noise(1)[0]
    wide = np.concatenate(
        [np.zeros((32, 20, 3), np.uint8), middle, np.full((32, 20, 3), 255, np.uint8)], axis=1
    )
    one, two = made(tiny_clip).encode_pictures([middle, wide])
    assert one == pytest.approx(two, abs=1e-6)


def test_nothing_asked_gives_nothing_and_loads_nothing(tiny_clip):
    encoder = made(tiny_clip)
    assert encoder.encode_pictures([]) == encoder.encode_texts([]) == []
    assert encoder._loaded is None


def test_a_siglip_model_encodes_too(tmp_path, tiny_clip):
    from transformers import SiglipConfig, SiglipImageProcessorPil, SiglipModel

    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(tiny_clip / name, tmp_path)
    layers = {"hidden_size": 8, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    config = SiglipConfig(
        text_config={**layers, "vocab_size": 200, "max_position_embeddings": 16, "projection_size": 8},
        vision_config={**layers, "image_size": 32, "patch_size": 8},
    )
    SiglipModel(config).save_pretrained(tmp_path)
    SiglipImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path)
    encoder = annotate.create({"encoder": f"siglip:{tmp_path}"})
    assert np.linalg.norm(encoder.encode_pictures(noise(2)), axis=1) == pytest.approx(1.0)
    assert np.linalg.norm(encoder.encode_texts(["a red cup"])[0].vector) == pytest.approx(1.0)
    with pytest.raises(ModelUnusable, match="is a model of the kind 'siglip'; name a clip model"):
        made(tmp_path).setup()


def test_a_dinov2_model_encodes_pictures_and_no_texts(tmp_path):
    there = all(map(importlib.util.find_spec, ("torch", "transformers")))
    require(there, "torch and transformers are not installed")
    import torch
    from transformers import BitImageProcessorPil, Dinov2Config, Dinov2Model

    torch.manual_seed(1)
    shape = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    model = Dinov2Model(Dinov2Config(**shape, image_size=28, patch_size=14)).eval()
    size = {"shortest_edge": 28}
    processor = BitImageProcessorPil(size=size, crop_size={"height": 28, "width": 28})
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    one = annotate.create({"encoder": f"dinov2:{tmp_path}", "device": DEVICE})
    assert one.parts == ()
    pixels = [np.random.default_rng(i).integers(0, 255, (30, 44, 3), dtype=np.uint8) for i in range(3)]
    for given, vector in zip(pixels, one.encode_pictures(pixels), strict=True):
        prepared = processor(images=Image.fromarray(given), return_tensors="pt")["pixel_values"]
        with torch.no_grad():
            raw = model(pixel_values=prepared).last_hidden_state[0, 0].numpy()
        assert vector == pytest.approx(raw / np.linalg.norm(raw), abs=NEAR)
    images = pl.DataFrame({"image_id": ["a"], "sha256": ["0"], "status": ["ok"]})
    prompts = pl.DataFrame({"prompt_id": ["p"], "text": ["a cup"]})
    looked = {
        one.key_of(annotate.Subject("image", "a", ({"image_id": "a", "sha256": "0"},))): {
            "vector": pack(one.encode_pictures(pixels)[0])
        }
    }
    assert one.embed(images, prompts, lambda keys: looked)["subject_kind"].to_list() == ["image"]
    assert one.notes == []


def test_weights_that_are_missing_are_told_and_not_made_up(tmp_path, tiny_clip):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    del weights["visual_projection.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnusable, match=r"1 of its weights are missing \(visual_projection.weight"):
        made(folder).setup()


def test_a_torn_model_cannot_be_loaded(tmp_path, tiny_clip):
    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(ModelUnusable, match=r"cannot be loaded .*; files are missing or torn; fetch"):
        made(folder).setup()


def test_code_beside_a_model_is_never_run_and_nobody_is_asked(tmp_path, tiny_clip, monkeypatch):
    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    mark = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(mark)!r}, 'w').close()\nclass Own: model_type = 'own'\n")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "own.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    monkeypatch.setattr("builtins.input", lambda *_: pytest.fail("asked"))
    with pytest.raises(
        ModelUnusable, match=r"cannot be loaded: it needs code of its own, which is never run"
    ):
        made(folder).setup()
    assert not mark.exists()


@pytest.mark.parametrize(
    ("file", "change", "match"),
    [
        (
            "preprocessor_config.json",
            {"do_center_crop": False},
            "cannot encode pictures",
        ),
        ("preprocessor_config.json", {"image_mean": [0]}, "cannot encode pictures .*mean must have 3"),
        ("config.json", {"text_config": {"hidden_size": "x"}}, "cannot be loaded .*hidden_size"),
        ("tokenizer_config.json", [], "cannot be loaded"),
    ],
)
def test_a_model_that_cannot_encode_is_told_when_it_is_loaded(tmp_path, tiny_clip, file, change, match):
    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    held = json.loads((folder / file).read_text())
    for key, value in change.items() if isinstance(change, dict) else ():
        held[key] = {**held[key], **value} if isinstance(value, dict) else value
    (folder / file).write_text(json.dumps(held if isinstance(change, dict) else change))
    with pytest.raises(ModelUnusable, match=match):
        made(folder).setup()


def test_a_tokenizer_without_its_words_is_told_and_not_made_up(tmp_path, tiny_clip):
    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelUnusable, match=r"its tokenizer knows \d+ of 7\d words.*tokenizer.json"):
        made(folder).setup()


def test_a_device_that_is_not_here_is_told(tiny_clip):
    with pytest.raises(ModelUnusable, match="there is no device 'cuda:99' here; write device: auto"):
        made(tiny_clip, device="cuda:99").setup()


def test_the_fingerprint_follows_the_model_and_not_its_name_or_place(tmp_path, tiny_clip):
    folder = shutil.copytree(tiny_clip, tmp_path / "m")
    one = made(tiny_clip).fingerprint
    assert made(folder, name="other", batch=3).fingerprint == one
    config = json.loads((folder / "preprocessor_config.json").read_text())
    (folder / "preprocessor_config.json").write_text(json.dumps({**config, "do_center_crop": False}))
    assert made(folder).fingerprint != one
    specs = [("clip:a/b", {}), ("clip:a/b", {"revision": "x"}), ("clip:a/c", {}), ("siglip:a/b", {})]
    hub = [annotate.create({"encoder": spec, **more}).fingerprint for spec, more in specs]
    assert len({one, *hub}) == 5


def test_the_name_is_that_of_the_model_unless_given(tmp_path):
    assert annotate.create({"encoder": "clip:openai/clip-vit-base-patch32"}).name == "clip-vit-base-patch32"
    assert annotate.create({"encoder": "clip:./m"}, relative_to=tmp_path).model == tmp_path / "m"
    assert annotate.create({"encoder": "clip:a/b", "name": "mine"}).name == "mine"


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ({"encoder": None}, "encoder is missing; add it: write {encoder: clip:openai/clip-vit-base-patch32}"),
        (
            {"encoder": "clip"},
            "encoder must name a kind of encoder and a model, found 'clip'; write {encoder: clip:",
        ),
        ({"encoder": "clib:a/b"}, "no kind of encoder, found 'clib:a/b'; did you mean 'clip'"),
        ({"encoder": "dino:a/b"}, "no kind of encoder, found 'dino:a/b'; did you mean 'dinov2'"),
        ({"encoder": "clip:a/b", "bach": 3}, "unknown key 'bach'; did you mean 'batch'"),
        ({"encoder": "clip:a/b", "batch": 0}, "batch must be at least 1, found 0"),
        ({"encoder": "clip:a/b", "batch": True}, "batch must be a whole number"),
        (
            {"encoder": "clip:a/b", "device": "gpu"},
            "device must be auto, cpu, cuda or cuda:0 …, found",
        ),
        ({"encoder": "clip:a/b", "revision": [7]}, r"revision must be a text, found \[7\]; put it in quotes"),
        ({"encoder": "clip:./b", "revision": "v1"}, "a folder has no revision; remove"),
        ({"encoder": "clip:a/b", "name": "a\nb"}, "name must be printable"),
        ("encoder", "encoder is missing; add it: write {encoder: clip:openai/clip-vit-base-patch32}"),
        ({"encodr": "clip:a/b"}, "annotator 'encodr' is unknown; did you mean 'encoder'"),
    ],
)
def test_mistakes_in_an_entry_are_named(spec, match):
    with pytest.raises(UsageError, match=match):
        annotate.create(spec)


def test_a_folder_without_a_model_is_refused_before_anything_is_spent(tmp_path):
    with pytest.raises(UsageError, match=r"no model is there \(config.json is missing\)"):
        made(tmp_path).require()


def test_a_missing_extra_is_told_with_how_to_install_it(tiny_clip, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "transformers" else find(name)
    )
    with pytest.raises(UsageError, match=r"needs transformers, not installed here; .*stereotrope\[local\]"):
        made(tiny_clip).require()


def test_nothing_heavy_is_imported_before_a_model_is_loaded(tiny_clip):
    code = (
        "import sys, stereotrope.annotate as a, stereotrope.audit\n"
        f"encoder = a.create({{'encoder': 'clip:{tiny_clip}'}}); encoder.require(); encoder.fingerprint\n"
        "print([m for m in ('torch', 'transformers', 'tokenizers', 'huggingface_hub') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


def test_vectors_are_taken_from_the_ledger_some_at_a_time(monkeypatch):
    from stereotrope.annotate.embeddings import encoder

    monkeypatch.setattr(encoder, "_AT_ONCE", 2)
    ids = [f"i{n}" for n in range(5)]
    images = pl.DataFrame({"image_id": ids, "sha256": ids, "status": "ok"})
    asked = []

    def kept(keys):
        asked.append(len(keys))
        return {key: {"vector": pack(np.full(3, sum(asked), np.float32))} for key in keys}

    table = annotate.create("encoder:dinov2:a/b").embed(images, pl.DataFrame({"text": []}), kept)
    assert asked == [2, 2, 1]
    assert table["subject_id"].to_list() == ids
    assert table["vector"].list.first().to_list() == [2, 2, 4, 4, 5]
