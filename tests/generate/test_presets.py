from __future__ import annotations

import re

import pytest

from stereotrope.errors import UsageError
from stereotrope.generate import GENERATORS, PRESETS, ImagesApiGenerator, ReplicateGenerator, create

APPENDIX = (
    "For GPT Image-1, we use high-quality mode with 1024×1024 resolution via OpenAI API. The remaining "
    "models are accessed via the Replicate API: Imagen 4 and SDXL with 1024×1024 resolution, 30 inference "
    "steps, guidance scale 7.5, and randomized seeds; Qwen-Image with default resolution (1664×928); "
    "Flux.2 Pro with 1024×1024 resolution, 50 inference steps, and guidance scale 3.5."
)
"""SODA, Appendix 0.A, in full."""


def test_there_is_a_preset_for_every_model_of_the_paper():
    assert set(PRESETS) == {
        "soda/gpt-image-1", "soda/imagen-4", "soda/sdxl", "soda/qwen-image", "soda/flux-2-pro"
    }  # fmt: skip


@pytest.mark.parametrize("name", PRESETS)
def test_each_quotes_the_paper_and_makes_a_generator(name):
    preset = PRESETS[name]
    assert re.sub(r"\s+", " ", preset.says) in APPENDIX
    generator = create({"preset": name})
    assert f"soda/{generator.name}" == name
    assert not preset.spec.keys() & preset.unsent.keys()


def test_what_the_paper_says_is_what_is_sent():
    image1 = create({"preset": "soda/gpt-image-1"})
    assert isinstance(image1, ImagesApiGenerator)
    assert image1.parameters == {"quality": "high", "size": "1024x1024"}
    sdxl = create({"preset": "soda/sdxl"})
    assert isinstance(sdxl, ReplicateGenerator)
    assert sdxl.seeded
    assert sdxl.parameters == {
        "width": 1024, "height": 1024, "num_inference_steps": 30, "guidance_scale": 7.5
    }  # fmt: skip
    assert PRESETS["soda/flux-2-pro"].unsent == {"num_inference_steps": 50, "guidance": 3.5}
    assert PRESETS["soda/imagen-4"].unsent == {"num_inference_steps": 30, "guidance_scale": 7.5}


def test_a_preset_is_overridden_key_by_key_and_null_removes_one():
    changed = create(
        {"preset": "soda/gpt-image-1", "images": "openai:gpt-image-2", "quality": None, "name": "two"}
    )
    assert (changed.model, changed.name) == ("gpt-image-2", "two")
    assert changed.parameters == {"size": "1024x1024"}
    flux = create({"preset": "soda/flux-2-pro", **PRESETS["soda/flux-2-pro"].unsent})
    assert flux.parameters["num_inference_steps"] == 50


def test_an_endpoints_null_key_stays_null():
    assert create({"preset": "soda/gpt-image-1", "key": None}).endpoint.key is None


@pytest.mark.parametrize("name", ["soda/gpt-image1", "gpt-image-1", 7])
def test_an_unknown_preset_names_the_nearest(name):
    with pytest.raises(UsageError, match=r"there is no such preset; (did you mean 'soda/|there are)"):
        create({"preset": name})


@pytest.mark.parametrize(("name", "rule"), [(None, "is missing; add it"), (["soda/sdxl"], "must be a text")])
def test_an_entry_names_one_preset(name, rule):
    with pytest.raises(UsageError, match=f"generator preset: preset {rule}"):
        create({"preset": name})


def test_two_kinds_in_one_entry_are_refused():
    with pytest.raises(UsageError, match="an entry is one of them, found calibrated and images; give each"):
        create({"calibrated": None, "images": "openai:x"})


def test_every_kind_is_listed():
    assert set(GENERATORS) >= {"calibrated", "folder", "images", "labels", "preset"}
