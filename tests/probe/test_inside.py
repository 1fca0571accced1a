"""Reading inside tiny pipelines while they draw: the same pictures, and the numbers that theory says."""

import io

import numpy as np
import pytest
from PIL import Image
from tests.conftest import DEVICE

from stereotrope.clients.local import PipelineSettings
from stereotrope.errors import ModelMisconfigured
from stereotrope.inputs.candidates import SentencePair
from stereotrope.probe import Probe

KINDS = ["sd3", "flux", "sd1", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("sd2", "sdxl"))]
QUANTITY = {"sd3": "velocity", "flux": "velocity", "sd1": "noise", "sd2": "v", "sdxl": "noise"}
HAT = SentencePair(("a man with a moustache",), ("a woman",))
CUP = SentencePair(("a red cup",), ("a table",))
TEXTS, SEEDS = ["a photo of a doctor", "a red cup"], [3, 4]
STEPS = 3
NEAR = 2e-4 if DEVICE == "cpu" else 2e-3
"""How far predictions of two batch sizes may lie apart: convolutions of a GPU round more coarsely."""
GUIDED = {"sd3", "sd1", "sd2", "sdxl"}


@pytest.fixture(scope="module")
def made(pipelines):
    """From a kind, a probe and settings to a pipeline and what reads inside it."""
    from stereotrope.clients._pipeline import Pipeline
    from stereotrope.probe._inside import Inside

    loaded = {}

    def make(kind, pairs=None, previews=(), **settings):
        key = kind, str(settings)
        if key not in loaded:
            given = PipelineSettings(steps=STEPS, width=32, height=32, device=DEVICE, **settings)
            loaded[key] = Pipeline(pipelines(kind), given, "generator 'tiny'")
        probe = Probe({"hat": HAT, "cup": CUP} if pairs is None else pairs, tuple(previews))
        return loaded[key], Inside(loaded[key], probe, "generator 'tiny'")

    return make


class Listener:
    """Hears every call of what predicts, by means of its own."""

    def __init__(self, pipe):
        self.outputs = []
        model = getattr(pipe, "transformer", None) or pipe.unet
        self._handle = model.register_forward_hook(self._hear)

    def _hear(self, model, args, output):
        self.outputs.append(output[0].clone())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._handle.remove()


def same(plain, read):
    pairs = zip(plain, read, strict=True)
    return all(np.array_equal(one.pixels, other.pixels) for one, (other, _) in pairs)


def cosine(a, b):
    a, b = (np.asarray(x.cpu().numpy(), np.float64).ravel() for x in (a, b))
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b), np.linalg.norm(b) / np.linalg.norm(a)


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_are_bit_for_bit_those_of_the_pipeline_alone(made, kind):
    pipeline, inside = made(kind, previews=[0, 2])
    plain = pipeline.draw(TEXTS, [None, None], SEEDS)
    for _ in range(2):
        read = inside.draw(TEXTS, [None, None], SEEDS)
        assert all(
            np.array_equal(one.pixels, other.pixels) for one, (other, _) in zip(plain, read, strict=True)
        )
    assert "step" not in vars(pipeline.pipe.scheduler)


@pytest.mark.parametrize("kind", KINDS)
def test_spi_is_the_cosine_of_the_tensors_that_were_recorded(made, kind):
    pipeline, inside = made(kind)
    heard = []
    plain = inside._read

    def read(record, guided, timestep, sample):
        before = [call.output for call in record.calls]
        with Listener(pipeline.pipe) as listener:
            plain(record, guided, timestep, sample)
        heard.append((guided.clone(), before, listener.outputs))

    inside._read = read
    found = inside.draw(TEXTS, [None, None], SEEDS)
    assert len(heard) == STEPS
    for at, (_, readings) in enumerate(found):
        value = {(r.step, r.attribute, r.prediction): r for r in readings}
        assert len(value) == STEPS * 2 * (2 if kind in GUIDED else 1)
        for step, (guided, (conditional,), extra) in enumerate(heard):
            for attribute, both in zip(("hat", "cup"), extra, strict=True):
                shift = both[at] - both[at + 2]
                of = {"conditional": conditional[-2:][at], "guided": guided[at]}
                for name in of if kind in GUIDED else ["conditional"]:
                    reading = value[step, attribute, name]
                    expected, ratio = cosine(of[name], shift)
                    assert reading.value == pytest.approx(expected, abs=1e-6)
                    assert reading.ratio == pytest.approx(ratio, rel=1e-6)
    assert {r.quantity for _, readings in found for r in readings} == {QUANTITY[kind]}


@pytest.mark.parametrize("kind", KINDS)
def test_the_shift_is_that_of_the_pipelines_own_predictions_for_both_sentences(made, kind):
    """The first step from one seed is at one place, whatever is asked for: draw each text, and compare."""
    pipeline, inside = made(kind, {"hat": HAT}, guidance=1.0 if kind in GUIDED else 3.5)
    first = {}
    for text in ("a photo of a doctor", HAT.positive[0], HAT.negative[0]):
        with Listener(pipeline.pipe) as listener:
            pipeline.draw([text], [None], [11])
        first[text] = listener.outputs[0][0]
    doctor, plus, minus = first.values()
    expected, ratio = cosine(doctor, plus - minus)
    ((_, readings),) = inside.draw(["a photo of a doctor"], [None], [11])
    reading = next(r for r in readings if r.step == 0)
    assert reading.prediction == "conditional"
    assert reading.value == pytest.approx(expected, abs=NEAR)
    assert reading.ratio == pytest.approx(ratio, rel=10 * NEAR)


@pytest.mark.parametrize(("kind", "settings", "times"), [
    ("sd3", {}, 1 + 2), ("sd1", {}, 1 + 2), *(
        pytest.param(kind, {}, 1 + 2, marks=pytest.mark.slow) for kind in ("sd2", "sdxl")
    ),
    ("flux", {}, 1 + 2 * 2), ("sd3", {"guidance": 1.0}, 1 + 2 * 2),
])  # fmt: skip
def test_the_cost_is_2m_conditional_predictions_a_step(made, kind, settings, times):
    pipeline, inside = made(kind, **settings)
    costs = []
    for draw in (pipeline.draw, inside.draw):
        with Listener(pipeline.pipe) as listener:
            draw(TEXTS, [None, None], SEEDS)
        costs.append(sum(map(len, listener.outputs)))
    assert costs[1] == times * costs[0]


@pytest.mark.parametrize("kind", ["flux", "sd1", pytest.param("sdxl", marks=pytest.mark.slow)])
def test_of_several_sentences_on_a_side_the_mean_of_what_is_predicted_counts(made, kind):
    sides = ("a man with a moustache", "a man", "a red cup"), ("a woman", "a table")
    pipeline, inside = made(kind, {"hat": SentencePair(*sides)}, guidance=1.0 if kind in GUIDED else 3.5)
    first = {}
    for text in ("a photo of a doctor", *sides[0], *sides[1]):
        with Listener(pipeline.pipe) as listener:
            pipeline.draw([text], [None], [11])
        first[text] = listener.outputs[0][0]
    plus, minus = (sum(first[text] for text in side) / len(side) for side in sides)
    expected, ratio = cosine(first["a photo of a doctor"], plus - minus)
    with Listener(pipeline.pipe) as listener:
        ((_, readings),) = inside.draw(["a photo of a doctor"], [None], [11])
    reading = next(r for r in readings if r.step == 0)
    assert reading.value == pytest.approx(expected, abs=NEAR)
    assert reading.ratio == pytest.approx(ratio, rel=10 * NEAR)
    assert sum(map(len, listener.outputs)) == STEPS * (1 + 5)


@pytest.mark.parametrize("kind", ["sd3", "sd2"])
def test_in_half_precision_pictures_stay_and_spi_is_that_of_the_recorded_tensors(made, kind):
    """What is predicted is in bfloat16; cosines are made in double precision."""
    import torch

    pipeline, inside = made(kind, {"hat": HAT}, precision="bfloat16", previews=[0])
    assert pipeline.dtype == torch.bfloat16
    heard, plain = [], inside._read

    def read(record, guided, timestep, sample):
        own = record.calls[0].output
        with Listener(pipeline.pipe) as listener:
            plain(record, guided, timestep, sample)
        heard.append((own, listener.outputs[0]))

    inside._read = read
    drawn = pipeline.draw(TEXTS, [None, None], SEEDS)
    found = inside.draw(TEXTS, [None, None], SEEDS)
    assert same(drawn, found)
    for at, (_, readings) in enumerate(found):
        of = {r.step: r for r in readings if r.prediction == "conditional"}
        for step, (own, both) in enumerate(heard):
            assert own.dtype == both.dtype == torch.bfloat16
            expected, _ = cosine(own[-2:][at].double(), both[at].double() - both[at + 2].double())
            assert of[step].value == pytest.approx(expected, abs=1e-6)
        assert sum(r.data is not None for r in readings) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_model_expects_at_the_last_step_is_the_picture(made, kind):
    _, inside = made(kind, {}, previews=[0, STEPS - 1])
    for drawn, readings in inside.draw(TEXTS, [None, None], SEEDS):
        assert [(r.probe, r.step, r.undefined) for r in readings] == [
            ("predisposition", 0, None), ("predisposition", STEPS - 1, None),
        ]  # fmt: skip
        first, last = (np.asarray(Image.open(io.BytesIO(r.data))) / 255 for r in readings)
        assert last == pytest.approx(drawn.pixels, abs=1 / 255)
        assert first.shape == last.shape
        assert not np.array_equal(first, last)


@pytest.mark.parametrize(
    ("kind", "settings"), [("sd3", {"parameters": {"max_sequence_length": 16}}), ("sd1", {})]
)
def test_sentences_that_are_one_to_the_model_leave_spi_undefined_with_a_reason(made, kind, settings):
    alike = "a man " * 20
    pairs = {"cut": SentencePair((alike + "a cup",), (alike + "a table",)), "hat": HAT}
    _, inside = made(kind, pairs, **settings)
    predicted = inside._predicted

    def rounded(call, texts, n):
        both = predicted(call, texts, n)
        both[:n] *= 1 + 1e-7  # as batches of other shapes round
        return both

    inside._predicted = rounded
    ((_, readings),) = inside.draw(["a doctor"], [None], [1])
    cut = [r for r in readings if r.attribute == "cut"]
    assert {(r.value, r.ratio, r.undefined) for r in cut} == {
        (None, 0.0, "both sentences give the same prediction (d⁺ = d⁻)")
    }
    assert all(r.value is not None for r in readings if r.attribute == "hat")


def test_a_negative_prompt_and_true_guidance_are_read_beside_the_conditional_prediction(made):
    pipeline, inside = made("flux", {"hat": HAT}, parameters={"true_cfg_scale": 4.0})
    plain = pipeline.draw(TEXTS, ["a woman"] * 2, SEEDS)
    read = inside.draw(TEXTS, ["a woman"] * 2, SEEDS)
    assert same(plain, read)
    of = {r.prediction: r.value for r in read[0][1] if r.step == 1}
    assert of["conditional"] != of["guided"]


def test_a_pipeline_that_the_probe_does_not_know_is_told(made, monkeypatch):
    from stereotrope.probe import _inside

    monkeypatch.setattr(_inside, "_KINDS", {})
    with pytest.raises(ModelMisconfigured, match=r"cannot be read inside; known are .* leave out `probe:`"):
        made("sd3")


def test_what_went_wrong_leaves_the_pipeline_as_it_was(made):
    pipeline, inside = made("sd3")
    inside._read = lambda *_: 1 / 0
    with pytest.raises(Exception, match="division"):
        inside.draw(TEXTS, [None, None], SEEDS)
    assert "step" not in vars(pipeline.pipe.scheduler)
    assert not pipeline.pipe.transformer._forward_hooks


@pytest.mark.skipif(DEVICE == "cpu", reason="parts of a pipeline wait for a GPU alone")
@pytest.mark.parametrize("offload", ["model", "sequential"])
def test_previews_are_decoded_where_the_pipeline_computes_while_its_parts_wait_elsewhere(made, offload):
    _, inside = made("sd3", {}, previews=[STEPS - 1])
    _, waiting = made("sd3", {}, previews=[STEPS - 1], offload=offload)
    (plain,), (read,) = (each.draw(TEXTS[:1], [None], SEEDS[:1]) for each in (inside, waiting))
    assert read[1][0].data == plain[1][0].data
