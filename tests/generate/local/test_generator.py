"""Pipelines of diffusers with tiny models of random weights, loaded from a folder as any other."""

import importlib.util
import io
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from tests.conftest import DEVICE

from stereotrope import generate
from stereotrope.errors import ModelMisconfigured, ModelUnusable, UsageError
from stereotrope.generate import ImageRequest
from stereotrope.generate.local.generator import HIDDEN

SMALL = {"steps": 2, "width": 32, "height": 32, "device": DEVICE}


def made(folder, **options):
    return generate.create({"diffusers": str(folder), **SMALL, **options})


def asked(seed, text="a photo of a doctor", negative=None):
    return ImageRequest(f"{seed}{text}{negative}", "p", "m", text, negative, seed)


def pixels(result):
    assert result.status == "ok", result.reason
    return np.asarray(Image.open(io.BytesIO(result.data)))


def are_alike(first, second):
    """Whether two pictures differ by last digits alone."""
    return np.abs(pixels(first).astype(int) - pixels(second)).max() <= 1


def changed(folder, tmp_path, file, change):
    """A copy of a pipeline with something else in a JSON file."""
    copy = shutil.copytree(folder, tmp_path / "changed")
    held = json.loads((copy / file).read_text())
    (copy / file).write_text(json.dumps({**held, **change}))
    return copy


@pytest.mark.parametrize(
    "kind", ["sd1", "flux", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("sdxl", "sd3"))]
)
def test_pictures_are_those_of_the_pipeline_for_text_seed_and_parameters(pipelines, kind):
    import torch
    from diffusers import DiffusionPipeline

    pipe = DiffusionPipeline.from_pretrained(pipelines(kind)).to(DEVICE)
    pipe.set_progress_bar_config(disable=True)
    given = {"num_inference_steps": 2, "width": 32, "height": 32, "guidance_scale": 4.0}
    expected = pipe("a red cup", generator=torch.Generator().manual_seed(7), **given).images[0]
    found = made(pipelines(kind), guidance=4.0).process(asked(7, "a red cup"))
    assert pixels(found).shape == (32, 32, 3)
    assert np.array_equal(pixels(found), np.asarray(expected))
    assert found.latency is found.cost is None


@pytest.mark.parametrize("kind", ["sd1", pytest.param("sd3", marks=pytest.mark.slow), "flux"])
def test_what_else_is_in_a_batch_changes_no_picture(pipelines, kind):
    drawing = made(pipelines(kind), batch=3)
    texts = ("a red cup", "a doctor", "a man", "a")
    requests = [asked(seed, text) for seed, text in enumerate(texts)]
    together = drawing.process_batch(requests)
    others = [asked(9), asked(8), requests[3]]
    assert drawing.process(requests[0]).data == together[0].data
    assert drawing.process_batch(others[::-1])[0].data == together[3].data
    assert are_alike(drawing.process(requests[1]), together[1])
    assert len({one.data for one in together}) == 4


@pytest.mark.parametrize("kind", ["sd1", *(pytest.param(k, marks=pytest.mark.slow) for k in ("sd3", "flux"))])
def test_a_batch_and_slices_change_last_digits_only(pipelines, kind):
    alone = made(pipelines(kind)).process(asked(1))
    for options in ({"batch": 3}, {"slicing": True}):
        assert are_alike(alone, made(pipelines(kind), **options).process(asked(1)))


def test_a_negative_prompt_counts_and_one_that_would_not_is_refused(pipelines):
    drawing = made(pipelines("sd3"), batch=2)
    negatives = (None, "a woman", "")
    plain, other, empty = drawing.process_batch([asked(1, negative=one) for one in negatives])
    assert plain.data != other.data
    assert plain.data == empty.data
    with pytest.raises(ModelMisconfigured, match=r"guidance_scale is above 1, it is 1; write `guidance: 7`"):
        made(pipelines("sd3"), guidance=1.0).process(asked(1, negative="a woman"))
    with pytest.raises(ModelMisconfigured, match=r"true_cfg_scale is above 1, .*parameters: {true_cfg"):
        made(pipelines("flux")).process(asked(1, negative="a woman"))
    guided = made(pipelines("flux"), parameters={"true_cfg_scale": 4.0})
    assert guided.process(asked(1, negative="a woman")).data != guided.process(asked(1)).data


def test_what_the_safety_checker_hides_is_a_refusal_with_a_reason(pipelines, monkeypatch):
    from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker

    def second(self, clip_input, images):
        return images * 0, [False, True, False]

    monkeypatch.setattr(StableDiffusionSafetyChecker, "forward", second)
    results = made(pipelines("sd1"), batch=3).process_batch([asked(seed) for seed in (1, 2, 3)])
    assert [(one.status, one.reason) for one in results] == [("ok", None), ("refused", HIDDEN), ("ok", None)]
    unchecked = made(pipelines("sd1"), safety_checker=False, batch=3)
    assert [one.status for one in unchecked.process_batch([asked(2)])] == ["ok"]
    assert unchecked.pipeline().pipe.safety_checker is None
    assert unchecked.fingerprint != made(pipelines("sd1"), batch=3).fingerprint


def test_numbers_that_are_not_finite_are_no_picture(pipelines, monkeypatch):
    from stereotrope.clients import _pipeline

    def draw(self, texts, negatives, seeds):
        return [_pipeline.Drawn(np.full((4, 4, 3), np.nan, np.float32)) for _ in texts]

    monkeypatch.setattr(_pipeline.Pipeline, "draw", draw)
    with pytest.raises(ModelUnusable, match="not finite; write `precision: float32`"):
        made(pipelines("sd3")).process(asked(1))


def test_the_precision_is_that_of_the_files_unless_said(pipelines, tmp_path):
    import torch
    from diffusers import DiffusionPipeline

    DiffusionPipeline.from_pretrained(pipelines("sd3"), dtype=torch.bfloat16).save_pretrained(tmp_path)
    for options, kind in (({}, torch.bfloat16), ({"precision": "float32"}, torch.float32)):
        pipe = made(tmp_path, **options).pipeline().pipe
        assert {pipe.transformer.dtype, pipe.text_encoder_3.dtype, pipe.vae.dtype} == {kind}
    assert made(tmp_path).process(asked(1)).status == "ok"
    assert made(pipelines("sd3")).pipeline().dtype == torch.float32


def test_the_fingerprint_follows_files_and_settings_and_neither_name_nor_place(pipelines, tmp_path):
    one = made(pipelines("sd3")).fingerprint
    same = made(pipelines("sd3"), name="other", device="cuda", offload="model").fingerprint
    assert same == one == made(shutil.copytree(pipelines("sd3"), tmp_path / "copy")).fingerprint
    options = [{"steps": 3}, {"guidance": 2.0}, {"width": 64}, {"batch": 2}, {"parameters": {"shift": 1}}]
    others = [made(pipelines("sd3"), **each).fingerprint for each in (*options, {"precision": "bfloat16"})]
    edited = changed(pipelines("sd3"), tmp_path, "scheduler/scheduler_config.json", {"shift": 1.0})
    others.append(made(edited).fingerprint)
    hub = [made("a/b", revision=revision).fingerprint for revision in (None, "1", "2")]
    assert len({one, *others, *hub}) == 1 + len(others) + len(hub)
    assert "no `revision:` is named" in made("a/b").note
    assert made("a/b", revision="1").note is None


def test_a_bare_spec_names_model_and_generator(pipelines):
    drawing = generate.create("diffusers:stabilityai/stable-diffusion-3.5-medium")
    assert (drawing.name, drawing.kind, drawing.batch) == ("stable-diffusion-3.5-medium", "diffusers", 1)
    assert generate.create(f"diffusers:{pipelines('sd3')}").fingerprint


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"num_inference_steps": 4}, "unknown key 'num_inference_steps'; did you mean 'steps'"),
        ({"seed": 4}, "unknown key 'seed'; seeds are numbered"),
        ({"steps": 0}, "steps must be at least 1, found 0"),
        ({"width": 100}, "width must be a multiple of 8, found 100; write 96"),
        ({"device": "gpu"}, "device must be auto, cpu, cuda or cuda:0"),
        ({"offload": "all"}, "offload must be 'none', 'model' or 'sequential'"),
        ({"diffusers": "./no"}, r"no pipeline is there \(model_index.json is missing\)"),
        ({"diffusers": "./no", "revision": "1"}, "a folder has no revision"),
    ],
)
def test_mistakes_in_an_entry_are_named(options, match):
    with pytest.raises(UsageError, match=match):
        generate.create({"diffusers": "a/b", **options})


def test_a_missing_extra_is_told_with_how_to_install_it(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "diffusers" else find(name))
    with pytest.raises(UsageError, match=r"needs diffusers, not installed here; .*stereotrope\[local\]"):
        generate.create("diffusers:a/b")


def test_parameters_that_the_pipeline_does_not_take_are_told(pipelines):
    for given, match in (
        ({"skip_guidance_layer": [1]}, "did you mean 'skip_guidance_layers'"),
        ({"prompt": "x"}, "the texts come from the design"),
        ({"num_inference_steps": 3}, "write `steps:`"),
        ({"output_type": "pil"}, "it is ours to say"),
    ):
        with pytest.raises(ModelMisconfigured, match=match):
            made(pipelines("sd3"), parameters=given).pipeline()


@pytest.mark.parametrize("part", ["transformer", "text_encoder"])
def test_weights_that_are_missing_are_told_and_not_made_up(pipelines, tmp_path, part):
    from safetensors.numpy import load_file, save_file

    copy = shutil.copytree(pipelines("sd3"), tmp_path / "m")
    (file,) = (copy / part).glob("*.safetensors")
    weights = load_file(file)
    gone = next(name for name in sorted(weights) if "norm" in name)
    del weights[gone]
    save_file(weights, file, metadata={"format": "pt"})
    with pytest.raises(ModelUnusable, match=f"{part}: 1 of its weights are missing"):
        made(copy).pipeline()


@pytest.mark.parametrize(
    ("file", "kept", "match"),
    [
        ("model_index.json", 9, "model_index.json: cannot be loaded .*; files are missing or torn; fetch"),
        ("transformer/config.json", 9, "transformer: cannot be loaded .* missing or torn"),
        ("transformer/diffusion_pytorch_model.safetensors", 99, "weights: cannot be loaded .* or torn"),
        ("vae/diffusion_pytorch_model.safetensors", 0, "vae: cannot be loaded .* missing or torn"),
        ("vae/config.json", None, "vae: cannot be loaded .* missing or torn"),
        ("scheduler/scheduler_config.json", None, "cannot be loaded .* missing or torn"),
        ("tokenizer/tokenizer.json", 99, "cannot be loaded .* missing or torn"),
        ("tokenizer/tokenizer.json", None, "tokenizer: its tokenizer knows 2 of .* would be chance; fetch"),
    ],
)
def test_a_folder_that_was_fetched_in_part_is_told_and_nothing_is_drawn(
    pipelines, tmp_path, file, kept, match
):
    torn = shutil.copytree(pipelines("sd3"), tmp_path / "m") / file
    data = torn.read_bytes()
    torn.unlink()
    if kept is not None:
        torn.write_bytes(data[:kept])
    with pytest.raises(ModelUnusable, match=match):
        made(tmp_path / "m").process(asked(1))


def test_weights_in_pickles_are_not_read(pipelines, tmp_path):
    copy = shutil.copytree(pipelines("sd3"), tmp_path / "m")
    (file,) = (copy / "transformer").glob("*.safetensors")
    file.rename(file.with_suffix(".bin"))
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        made(copy).pipeline()


def test_code_beside_a_pipeline_is_not_run(pipelines, tmp_path):
    named = {"_class_name": ["own", "Own"]}
    copy = changed(pipelines("sd3"), tmp_path, "model_index.json", named)
    mark = tmp_path / "ran"
    (copy / "own.py").write_text(f"open({str(mark)!r}, 'w').close()")
    with pytest.raises(ModelUnusable, match="code beside a model is not run"):
        made(copy).pipeline()
    assert not mark.exists()


def test_an_unknown_pipeline_and_one_that_draws_no_texts_are_told(pipelines, tmp_path):
    copy = changed(pipelines("sd3"), tmp_path, "model_index.json", {"_class_name": "NoPipeline"})
    with pytest.raises(ModelUnusable, match=r"the pipeline 'NoPipeline', which diffusers [\d.]+ has not"):
        made(copy).pipeline()
    from diffusers import DDPMPipeline, DDPMScheduler, UNet2DModel

    shape = {"down_block_types": ("DownBlock2D",), "up_block_types": ("UpBlock2D",)}
    unet = UNet2DModel(sample_size=8, block_out_channels=(32,), layers_per_block=1, **shape)
    DDPMPipeline(unet, DDPMScheduler()).save_pretrained(tmp_path / "ddpm")
    with pytest.raises(ModelUnusable, match="is a DDPMPipeline, which draws no pictures of texts"):
        made(tmp_path / "ddpm").pipeline()


def test_a_device_that_is_not_here_is_told(pipelines):
    with pytest.raises(ModelUnusable, match="there is no device 'cuda:99' here; write device: auto"):
        made(pipelines("sd3"), device="cuda:99").pipeline()


def test_parts_that_should_wait_for_a_gpu_that_is_not_used_are_told(pipelines):
    for offload in ("model", "sequential"):
        with pytest.raises(ModelMisconfigured, match=rf"offload: {offload} .* on the CPU here; remove `off"):
            made(pipelines("sd3"), device="cpu", offload=offload).pipeline()


def test_nothing_heavy_is_imported_before_a_pipeline_is_loaded(pipelines):
    code = (
        "import sys, stereotrope.generate as g, stereotrope.audit\n"
        f"made = g.create('diffusers:{pipelines('sd3')}'); made.fingerprint\n"
        "print([m for m in ('torch', 'transformers', 'diffusers', 'accelerate') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
