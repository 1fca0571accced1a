"""Fixtures every test may use."""

from __future__ import annotations

import gc
import json
import os
import string
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import hypothesis
import pytest

if TYPE_CHECKING:
    from stereotrope.annotate import Label, Picture
    from stereotrope.generate import ImageRequest, ImageResult

# Several workers share the processors; threads of their own would take turns. Polars reads it when imported.
for _threads in ("POLARS_MAX_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

# No test depends on how busy a machine is.
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")

ROOT = Path(__file__).resolve().parents[1]
DEVICE = os.environ.get("STEREOTROPE_TEST_DEVICE", "cpu")
"""What the models of tests compute on."""
WRITING: Any = import_module("stereotrope.report.write")
WRITE_FIGURES = WRITING.write_figures
REPORT: Any = import_module("stereotrope.report")
WRITE_REPORT = REPORT.write
UNREPORTED = (ROOT / "tests" / "audit", ROOT / "tests" / "suites")
"""Folders of tests whose runs end without a report, which takes half the time of a small one."""
TABLES = ("info", "prompts", "images", "labels", "counts", "subjects", "embeddings")
FOUND = ("estimates", "findings", "comparisons", "looks")
PAINTER: Any = import_module("stereotrope.generate").CalibratedGenerator
COLOUR: Any = import_module("stereotrope.annotate").ColourAnnotator
WORK_SIDE: int = import_module("stereotrope.annotate.foreground").WORK_SIDE
DRAW, LOOK = PAINTER.process, COLOUR.process
LIMITERS: Any = import_module("stereotrope.clients.limiter").LIMITERS
LONG = {
    "test_cluster.py",
    "test_known_error.py",
    "test_known_judges.py",
    "test_planted.py",
    "test_remote_audit.py",
    "test_tutorial.py",
}
"""Files whose tests take longest."""
NETWORKS = {"detectors", "gpt", "pipelines", "tiny_bert", "tiny_clip", "vlm"}
"""Fixtures of models that are computed here; what loads them takes seconds, and each worker would."""


@cache
def _drawn(fingerprint: str, text: str | None, seed: int | None) -> list[ImageResult]:
    """Where the picture of a request is kept."""
    return []


@cache
def _seen(fingerprint: str, sha256: str) -> list[list[Label]]:
    """Where the colours of a picture are kept."""
    return []


def draw_once(self: Any, request: ImageRequest) -> ImageResult:
    """The picture that the same request gave before in these tests, else a new one."""
    kept = _drawn(self.fingerprint, request.text, request.seed)
    if not kept:
        kept.append(DRAW(self, request))
    return kept[0]


def look_once(self: Any, picture: Picture) -> list[Label]:
    """The colours that the same picture had before in these tests, once it was read."""
    picture.pixels(WORK_SIDE)
    kept = _seen(self.fingerprint, picture.sha256)
    if not kept:
        kept.append(LOOK(self, picture))
    return list(kept[0])


def read_tables(run: Any, **_: Any) -> Path:
    """What is done where no report is written: a run keeps the tables that were there, as after one."""
    for name in (*TABLES, *FOUND):
        getattr(run, name)
    return run.path / "report" / "index.html"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One worker more than processors: tests also wait, for browsers, disks and other processes."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that no worker waits for another at the end.

    The first worker has these first, and with them all tests of models that are computed here.
    """

    def later(item: pytest.Item) -> bool:
        return item.path.name not in LONG and NETWORKS.isdisjoint(getattr(item, "fixturenames", ()))

    items.sort(key=later)


def pytest_collection_finish() -> None:
    """Leave modules and tests, which stay, out of each later search for garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Draw figures and write reports where they are read, and draw and look at one picture once.

    Figures for the tests of reports and for those that ask for ``drawn``; reports, in the folders of
    ``UNREPORTED``, for those that ask for ``reported`` or are slow. Elsewhere each picture is drawn and
    looked at anew.

    Nor does a server wait for what one before it said: a port may come again, and with it a hold of an hour.
    """
    LIMITERS._limiters.clear()
    asked = getattr(item, "fixturenames", ())
    draws = ROOT / "tests" / "report" in item.path.parents or "drawn" in asked
    WRITING.write_figures = WRITE_FIGURES if draws else lambda *_, **__: None
    slow = item.get_closest_marker("slow") is not None
    spares = not slow and bool(set(UNREPORTED).intersection(item.path.parents))
    PAINTER.process = draw_once if spares else DRAW
    COLOUR.process = look_once if spares else LOOK
    spares = spares and "reported" not in asked
    REPORT.write = read_tables if spares else WRITE_REPORT


@pytest.fixture(scope="session")
def reported() -> None:
    """Audits end with their report; in ``UNREPORTED`` they do not elsewhere."""


@pytest.fixture
def drawn(reported: None) -> None:
    """Figures are drawn; elsewhere than in the tests of reports they are not."""


@contextmanager
def unwritten() -> Iterator[None]:
    """Runs end without a report: where nobody reads it, it would take a third of their time."""
    with mock.patch("stereotrope.report.write"):
        yield


def require(condition: bool, reason: str) -> None:
    """Skip with a reason, or fail where everything is required."""
    if condition:
        return
    if os.environ.get("STEREOTROPE_REQUIRE_ALL") == "1":
        pytest.fail(f"STEREOTROPE_REQUIRE_ALL=1, but {reason}")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with real data for tests: STEREOTROPE_SHARED, or ../shared beside the checkout."""
    folder = Path(os.environ.get("STEREOTROPE_SHARED", ROOT.parent / "shared"))
    require(
        (folder / "data").is_dir(), f"the shared data folder is not at {folder.name!r} beside the checkout"
    )
    return folder


@pytest.fixture(scope="session")
def tiny_clip(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CLIP model of random weights in a folder: pictures of 32 pixels, texts of 16 tokens, vectors of 8."""
    packages = ("torch", "transformers")
    require(all(map(find_spec, packages)), f"{' and '.join(packages)} are not installed")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, CLIPTokenizer

    ends = ["<|startoftext|>", "<|endoftext|>"]
    learner = Tokenizer(models.BPE(unk_token=ends[1], end_of_word_suffix="</w>"))
    learner.pre_tokenizer = pre_tokenizers.Whitespace()
    words = trainers.BpeTrainer(vocab_size=150, special_tokens=ends, end_of_word_suffix="</w>")
    texts = ["a red cup on a table", "a doctor in a hospital", *string.ascii_lowercase]
    learner.train_from_iterator(texts, words)
    learnt = json.loads(learner.to_str())["model"]
    # In an order that every process has: the learner's is another one each time.
    known = [*ends, *sorted(set(learnt["vocab"]) - set(ends))]
    merges = sorted(map(tuple, learnt["merges"]), key=lambda pair: (sum(map(len, pair)), pair))
    tokenizer = CLIPTokenizer(
        vocab={one: at for at, one in enumerate(known)}, merges=merges, model_max_length=16
    )
    layers = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        "vocab_size": len(tokenizer),
        "max_position_embeddings": 16,
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
    }
    config = CLIPConfig(
        text_config={**layers, **text, "projection_dim": 8},
        vision_config={**layers, "image_size": 32, "patch_size": 8, "projection_dim": 8},
        projection_dim=8,
    )
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("tiny-clip")
    size = {"height": 32, "width": 32}
    processor = CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=size)
    for part in (CLIPModel(config), tokenizer, processor):
        part.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def vlm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny vision-language model that tells three colours apart."""
    require(all(map(find_spec, ("torch", "transformers"))), "torch and transformers are not installed")
    from tests.annotate.choice.tiny import teach

    folder = tmp_path_factory.mktemp("vlm")
    teach(folder)
    return folder


@pytest.fixture(scope="session")
def pipelines(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """From a kind of :mod:`tests.tiny_pipelines` to the folder of a text-to-image pipeline, built once."""
    packages = ("torch", "transformers", "diffusers", "accelerate")
    require(all(map(find_spec, packages)), f"{', '.join(packages)} are not installed")
    from tests.tiny_pipelines import build

    return cache(lambda kind: build(kind, tmp_path_factory.mktemp(kind)))


@pytest.fixture(scope="session")
def gpt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a tiny causal language model of random weights."""
    packages = ("torch", "transformers")
    require(all(map(find_spec, packages)), f"{' and '.join(packages)} are not installed")
    import torch
    from tests.tiny_pipelines import word_tokenizer
    from transformers import GPT2Config, GPT2LMHeadModel

    folder = tmp_path_factory.mktemp("gpt")
    tokenizer = word_tokenizer()
    torch.manual_seed(5)
    shape = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 32}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokenizer) + 3, **shape)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
