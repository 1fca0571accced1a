"""Choices by a vision-language model: a tiny one that tells colours, loaded by the real loading code."""

from __future__ import annotations

import io
import json
import pickle
import shutil
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image

from stereotrope import annotate
from stereotrope.annotate import ChoiceAnnotator, Picture
from stereotrope.errors import ModelUnusable, UsageError

RGB = {"female": (220, 40, 40), "male": (40, 40, 220), None: (128, 128, 128)}


def picture(shown, number=0, prompt=None):
    out = io.BytesIO()
    Image.new("RGB", (24, 20), RGB[shown]).save(out, "PNG")
    made = Picture(f"p{number}", f"{shown}{number}", out.getvalue())
    return made if prompt is None else made.asked_for(prompt)


def chooser(folder, **more):
    return annotate.create({"choose": str(folder), "sets": ["gender"], "device": "cpu", **more})


def test_what_was_planted_is_chosen_in_every_order_of_the_options(vlm):
    one = chooser(vlm)
    orders = set()
    for number in range(12):
        for shown in RGB:
            (label,) = one.process(picture(shown, number))
            assert (label.attribute, label.value) == ("perceived_gender", shown)
            assert label.status == ("unclear" if shown is None else "ok")
            assert label.confidence > 0.95
            orders.add(label.rationale.partition(" of ")[2])
    assert len(orders) >= 5


def test_confidence_is_the_probability_among_the_letters_by_the_model_itself(vlm):
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    model, processor = AutoModelForImageTextToText.from_pretrained(vlm), AutoProcessor.from_pretrained(vlm)
    one, seen = chooser(vlm), picture("female", 3)
    text = one.question("perceived_gender", one.offered(seen.sha256)["perceived_gender"])
    given = processor(
        images=Image.fromarray(seen.pixels()), text=f"<image> {text} answer ", return_tensors="pt"
    )
    with torch.no_grad():
        shares = torch.softmax(model(**given).logits[0, -1].double(), 0)
    letters = [float(shares[processor.tokenizer.convert_tokens_to_ids(letter)]) for letter in "ABC"]
    (label,) = one.process(seen)
    assert label.confidence == pytest.approx(max(letters) / sum(letters), abs=1e-6)


def test_the_question_is_that_of_the_study_with_letters_that_stay(vlm):
    one = chooser(vlm)
    asked = one.question("perceived_gender", ("male", "unclear", "female"))
    assert asked.splitlines() == [
        "What is the gender of the person in the image?",
        *("A. male", "B. unclear/cannot tell", "C. female"),
        "Answer with a letter (A, B, C, etc.).",
    ]
    plain = ChoiceAnnotator(vlm, {"hair_colour": ("dark", "fair")}, name="x")
    assert plain.question("hair_colour", ("dark", "fair", "unclear")).startswith("Which hair colour does")


@pytest.mark.parametrize(
    ("shown", "prompt", "value"),
    [("female", "a red picture", "yes"), ("male", "a red picture", "no"), ("male", "a blue picture", "yes")],
)
def test_what_was_asked_for_is_compared_with_what_is_shown(vlm, shown, prompt, value):
    one = chooser(vlm, sets=["prompt_following"])
    assert one.shows_prompt
    assert not chooser(vlm).shows_prompt
    (label,) = one.process(picture(shown, prompt=prompt))
    assert (label.attribute, label.value, label.status) == ("follows_prompt", value, "ok")
    assert label.confidence > 0.95


def test_what_steers_a_model_is_plain_text_in_a_prompt(vlm):
    from stereotrope.annotate.choice._transformers import VisionLanguageModel

    made = VisionLanguageModel(vlm, revision=None, device="cpu", precision="auto", what="m")
    seen = []
    template = made._processor.apply_chat_template
    made._processor.apply_chat_template = lambda asked, **how: seen.append(asked) or template(asked, **how)
    told = made.told(np.full((16, 16, 3), 99, np.uint8), "a <image> and <ima<image>ge><unk>", ("yes", "no"))
    assert len(told.shares) == 2
    assert seen[0][0]["content"][1]["text"] == "a < image> and <ima< image>ge>< unk>"
    (label,) = chooser(vlm, sets=["prompt_following"]).process(picture("male", prompt="a <image> of <pad>"))
    assert label.status in ("ok", "invalid")


def test_a_blind_one_is_shown_no_picture_and_a_reversed_one_the_other_order(vlm):
    one = chooser(vlm)
    alike = [Picture("p", "the same", picture(shown).original()) for shown in RGB]
    assert len({repr(one.variant("blind").process(each)) for each in alike}) == 1
    assert len({repr(one.process(each)) for each in alike}) == 3
    offered = one.offered("hash")["perceived_gender"]
    assert one.variant("reversed").offered("hash")["perceived_gender"] == offered[::-1]
    assert len({one.fingerprint, one.variant("blind").fingerprint, one.variant("reversed").fingerprint}) == 3


def test_what_the_model_would_say_otherwise_is_invalid_and_never_the_nearest_option(vlm):
    asked = {"x": 'Does this figure show "a red picture"? Please answer yes or no.'}
    one = ChoiceAnnotator(vlm, {"x": ("A", "B")}, name="x", meanings=asked, forced=["x"])
    (label,) = one.process(picture("male"))
    assert (label.status, label.value, label.confidence) == ("invalid", None, None)
    assert label.rationale.startswith("would say 'no'; A, B have ")


def test_what_changes_an_answer_changes_the_fingerprint(vlm, tmp_path):
    prints = [
        chooser(vlm).fingerprint,
        chooser(vlm, order_seed=1).fingerprint,
        chooser(vlm, max_side=64).fingerprint,
        chooser(vlm, precision="float32").fingerprint,
        chooser(vlm, sets=["gender_nonbinary"]).fingerprint,
        annotate.create({"choose": "org/model", "sets": ["gender"]}).fingerprint,
        annotate.create({"choose": "org/model", "sets": ["gender"], "revision": "x"}).fingerprint,
    ]
    assert len(set(prints)) == len(prints)
    assert chooser(vlm, name="other").fingerprint == prints[0]
    copy = shutil.copytree(vlm, tmp_path / "copy")
    assert chooser(copy).fingerprint == prints[0]
    (copy / "chat_template.jinja").write_text("{{ messages }}", encoding="utf-8")
    assert chooser(copy).fingerprint != prints[0]


def broken(vlm, tmp_path, how):
    folder = shutil.copytree(vlm, tmp_path / how)
    if how == "no template":
        (folder / "chat_template.jinja").unlink()
    elif how == "torn":
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:2000])
    elif how == "text only":
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config["text_config"]))
    elif how == "without weights":
        from safetensors.numpy import load_file, save_file

        kept = load_file(folder / "model.safetensors")
        save_file(
            {k: v for k, v in kept.items() if "lm_head" not in k},
            folder / "model.safetensors",
            metadata={"format": "pt"},
        )
    elif how == "not finite":
        from safetensors.numpy import load_file, save_file

        kept = load_file(folder / "model.safetensors")
        (head,) = [name for name in kept if name.endswith("lm_head.weight")]
        kept[head] = np.full_like(kept[head], np.nan)
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    elif how == "a pickle":
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(_Runs(str(tmp_path / "ran")), protocol=2))
    elif how == "a torn pickle":
        (folder / "model.safetensors").unlink()
        (folder / "pytorch_model.bin").write_bytes(b"")
    elif how == "another shape":
        from safetensors.numpy import load_file, save_file

        kept = load_file(folder / "model.safetensors")
        kept[max(kept)] = np.zeros((3, 3), np.float32)
        kept["\x1b[31mred"] = np.zeros(3, np.float32)
        save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    elif how == "a template that reaches out":
        (folder / "chat_template.jinja").write_text("{{ ''.__class__.__mro__ }}")
    elif how == "a template that refuses":
        (folder / "chat_template.jinja").write_text("{{ raise_exception('no pictures') }}")
    return folder


class _Runs:
    """Makes a file when it is unpickled."""

    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ("no template", "has no chat template"),
        ("torn", "cannot be loaded"),
        ("text only", "cannot be loaded"),
        ("without weights", "weights are missing"),
        ("not finite", "gives no finite numbers"),
        ("a pickle", "weights are a pickle with more than numbers, never opened; take safetensors$"),
        ("a torn pickle", r"cannot be loaded \("),
        ("another shape", "cannot be loaded"),
        ("a template that reaches out", r"cannot be asked \(access to attribute '__class__' .* is unsafe"),
        ("a template that refuses", r"cannot be asked \(no pictures\); check the files of the model"),
    ],
)
def test_a_model_that_cannot_be_asked_is_told_before_pictures_are_looked_at(vlm, tmp_path, how, why, capfd):
    one = chooser(broken(vlm, tmp_path, how))
    capfd.readouterr()
    with pytest.raises(ModelUnusable, match=why):
        one.setup()
    assert not (tmp_path / "ran").exists()
    assert capfd.readouterr() == ("", "")


def test_answers_that_begin_with_one_token_are_refused(vlm):
    one = ChoiceAnnotator(vlm, {"a": ("zebra", "yak")}, name="x", forced=["a"])
    with pytest.raises(ModelUnusable, match=r"do not tell the answers .* apart"):
        one.process(picture("male"))


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ({"sets": None}, "say what to choose"),
        ({"sets": None, "attributes": {"a": "open"}}, "a choice needs values"),
        ({"sets": ["gendr"]}, "did you mean 'gender'"),
        ({"precision": "int3"}, "precision must be"),
        ({"revision": "v1"}, "a folder has no revision"),
    ],
)
def test_mistakes_are_named(vlm, entry, why):
    with pytest.raises(UsageError, match=why):
        chooser(vlm, **entry)


def test_a_folder_that_is_not_there_is_told_before_anything_is_loaded(tmp_path):
    with pytest.raises(UsageError, match=r"config\.json is missing"):
        chooser(tmp_path / "none").require()


def test_naming_one_loads_nothing():
    code = (
        "import sys; from stereotrope import annotate; "
        "annotate.create({'choose': 'org/model', 'sets': ['gender']}).fingerprint; "
        "sys.exit('torch' in sys.modules or 'transformers' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
