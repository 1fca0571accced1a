"""Detectors through transformers: tiny models of random weights, loaded by the real loading code."""

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
from PIL import Image
from tests.conftest import require

from stereotrope import annotate
from stereotrope.annotate import Picture
from stereotrope.errors import ModelUnusable, PictureError, UsageError

NAMES = {0: "person", 1: "cat"}


@pytest.fixture(scope="session")
def detectors(tmp_path_factory):
    """Folders of a tiny YOLOS and a tiny RT-DETR."""
    require(all(map(find_spec, ("torch", "transformers"))), "torch and transformers are not installed")
    import torch
    from transformers import (
        RTDetrConfig,
        RTDetrForObjectDetection,
        RTDetrImageProcessorPil,
        RTDetrResNetConfig,
        YolosConfig,
        YolosForObjectDetection,
        YolosImageProcessorPil,
    )

    torch.manual_seed(3)
    named = {"id2label": NAMES, "label2id": {name: at for at, name in NAMES.items()}}
    folder = tmp_path_factory.mktemp("detectors")
    layers = {"num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    yolos = YolosConfig(
        hidden_size=16, image_size=[32, 32], patch_size=8, num_detection_tokens=7, **layers, **named
    )
    resnet = RTDetrResNetConfig(
        embedding_size=8,
        hidden_sizes=[8, 8, 16, 16],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    rt_detr = RTDetrConfig(
        backbone_config=resnet,
        encoder_in_channels=[8, 16, 16],
        feat_strides=[8, 16, 32],
        encoder_hidden_dim=16,
        encoder_ffn_dim=16,
        encoder_attention_heads=2,
        encode_proj_layers=[2],
        d_model=16,
        decoder_in_channels=[16, 16, 16],
        decoder_ffn_dim=16,
        decoder_attention_heads=2,
        decoder_layers=1,
        num_queries=9,
        num_denoising=0,
        **named,
    )
    for name, model, processor in (
        ("yolos", YolosForObjectDetection(yolos), YolosImageProcessorPil(size={"height": 32, "width": 32})),
        (
            "rt-detr",
            RTDetrForObjectDetection(rt_detr),
            RTDetrImageProcessorPil(size={"height": 64, "width": 64}),
        ),
    ):
        for called, weights in model.named_parameters():  # as first drawn, all scores and boxes are alike
            if name == "yolos" and weights.dim() > 1:
                torch.nn.init.normal_(weights, 0, 0.4)
            if name == "rt-detr" and re.search("class|score", called):
                torch.nn.init.normal_(weights, 0, 50 * (weights.dim() - 1))
        model.save_pretrained(folder / name)
        processor.save_pretrained(folder / name)
    return folder


def noise(at, size=(23, 37)):
    import io

    pixels = np.random.default_rng(at).integers(0, 255, (*size, 3), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return Picture(f"p{at}", f"{at}", out.getvalue())


def made(folder, **more):
    return annotate.create({"detect": str(folder), "device": "cpu", "confidence": 0.01, **more})


def raw(folder, picture):
    """Logits and boxes as (centre, size) in shares, the picture prepared by hand."""
    import torch
    from transformers import AutoModelForObjectDetection

    side = 32 if folder.name == "yolos" else 64
    pixels = Image.fromarray(picture.pixels()).resize((side, side), Image.Resampling.BILINEAR)
    made = np.asarray(pixels, np.float32) / 255
    if folder.name == "yolos":
        made = (made - np.float32([0.485, 0.456, 0.406])) / np.float32([0.229, 0.224, 0.225])
    with torch.no_grad():
        model = AutoModelForObjectDetection.from_pretrained(folder)
        out = model(torch.tensor(made.transpose(2, 0, 1)[None], dtype=torch.float32))
    return out.logits[0].numpy().astype(float), out.pred_boxes[0].numpy().astype(float)


def expected(folder, picture, confidence):
    """Corners in whole pixels → class and score, decoded without transformers."""
    logits, boxes = raw(folder, picture)
    width, height = picture.size
    if folder.name == "yolos":  # softmax over classes and "nothing"; a box is of its likeliest class
        shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
        pairs = [(at, int(share[:2].argmax())) for at, share in enumerate(shares)]
    else:  # sigmoid of each class alone; as many pairs of box and class as there are boxes
        shares = 1 / (1 + np.exp(-logits))
        pairs = sorted(np.ndindex(*shares.shape), key=lambda pair: -shares[pair])[: len(boxes)]
    told = {}
    for at, which in sorted(pairs, key=lambda pair: -shares[pair]):
        x, y, w, h = boxes[at]
        corners = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2]) * [width, height, width, height]
        corners = np.clip(corners, 0, [width, height, width, height])
        if shares[at, which] >= confidence and min(corners[2:] - corners[:2]) >= 1:
            told.setdefault(json.dumps([int(side) for side in np.rint(corners)]), (which, shares[at, which]))
    return told


@pytest.mark.parametrize("which", ["yolos", "rt-detr"])
def test_boxes_are_those_of_an_independent_decoding(detectors, which):
    classes, seen = ["cat", "person"], set()
    for picture in map(noise, range(6)):
        *boxes, number = made(detectors / which, classes=classes, attribute="thing").process(picture)
        wanted = expected(detectors / which, picture, 0.01)
        assert len(wanted) >= 2
        assert [one.region for one in boxes] == list(wanted)
        assert [one.value for one in boxes] == [NAMES[at] for at, _ in wanted.values()]
        scores = [score for _, score in wanted.values()]
        assert [one.confidence for one in boxes] == pytest.approx(scores, abs=2e-3)
        assert number == annotate.Label("n_thing", str(len(boxes)))
        people = made(detectors / which).process(picture)[:-1]
        assert [one.region for one in people] == [k for k, (at, _) in wanted.items() if NAMES[at] == "person"]
        seen |= {one.value for one in boxes}
    assert seen == set(classes)


@pytest.mark.parametrize("which", ["yolos", "rt-detr"])
def test_what_is_found_hangs_on_no_other_picture_of_the_batch(detectors, which):
    shown = [noise(1), noise(2, (60, 20)), noise(3)]
    detector = made(detectors / which, batch=3)
    together = detector.process_batch(shown)
    for alone, beside in zip((detector.process(one) for one in shown), together, strict=True):
        assert [one.region for one in alone] == [one.region for one in beside]
        assert [one.confidence for one in alone[:-1]] == pytest.approx(
            [one.confidence for one in beside[:-1]], abs=2e-4
        )


def test_a_threshold_above_all_scores_leaves_the_number_0(detectors):
    detector = made(detectors / "yolos", confidence=0.999)
    assert detector.process(noise(1)) == [annotate.Label("n_people", "0")]


def test_a_torn_picture_stands_in_its_place_as_an_error_and_the_others_are_labelled(detectors):
    torn = Picture("torn", "torn", b"no picture")
    detector = made(detectors / "yolos")
    first, error, last = detector.process_batch([noise(1), torn, noise(2)])
    assert isinstance(error, PictureError)
    assert first[-1].attribute == last[-1].attribute == "n_people"
    with pytest.raises(PictureError):
        detector.process(torn)


def test_a_class_that_the_model_does_not_know_is_told_with_the_nearest(detectors):
    with pytest.raises(
        ModelUnusable, match=r"finds no 'persn', which `classes:` lists; did you mean 'person'"
    ):
        made(detectors / "yolos", classes=["persn"]).setup()


def test_a_model_that_lacks_weights_is_refused(detectors, tmp_path):
    from safetensors.numpy import load_file, save_file

    folder = shutil.copytree(detectors / "yolos", tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights.pop(next(name for name in weights if name.startswith("bbox_predictor")))
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelUnusable, match=r"1 of its weights are missing .* its boxes would be chance"):
        made(folder).setup()


def test_a_model_that_is_no_detector_is_refused(tiny_clip):
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        made(tiny_clip).setup()


def test_the_fingerprint_is_of_the_files_and_the_thresholds(detectors, tmp_path):
    folder = shutil.copytree(detectors / "yolos", tmp_path / "m")
    before = made(folder).fingerprint
    assert before == made(folder, batch=3).fingerprint == made(detectors / "yolos").fingerprint
    assert before != made(folder, smallest=0.1).fingerprint
    config = json.loads((folder / "config.json").read_text()) | {"hidden_dropout_prob": 0.1}
    (folder / "config.json").write_text(json.dumps(config))
    assert made(folder).fingerprint != before
    named = [annotate.create({"detect": "a/b", "revision": each}).fingerprint for each in ("main", "v1")]
    assert named[0] != named[1]


def test_a_folder_without_a_model_and_options_that_do_not_fit_are_told(tmp_path):
    with pytest.raises(UsageError, match=r"no model is there \(config.json is missing\)"):
        made(tmp_path).require()
    with pytest.raises(UsageError, match="only an ONNX file has `levels:`; remove it"):
        made(tmp_path, levels=[0, 255])
    with pytest.raises(UsageError, match="a folder has no revision; remove `revision:`"):
        made(tmp_path, revision="main")
    with pytest.raises(UsageError, match="levels must be two numbers, the second not 0"):
        annotate.create({"detect": "a.onnx", "levels": [1, 0]})
    with pytest.raises(UsageError, match="annotator 'detect': attribute: 'blank': this name is taken"):
        annotate.create({"detect": "a/b", "attribute": "blank"})


def test_to_name_a_detector_imports_neither_torch_nor_onnxruntime():
    code = (
        "import sys; from stereotrope import annotate; annotate.create({'detect': 'a/b'}).fingerprint; "
        "print(sorted({'torch', 'transformers', 'onnxruntime'} & set(sys.modules)))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
