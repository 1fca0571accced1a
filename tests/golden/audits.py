"""The audits whose runs are kept: what they ask for, and how each is carried out."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from unittest import mock

import polars as pl
from PIL import Image

import stereotrope as st
from stereotrope.testing import Loopback

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = Path(__file__).parent / "numbers"
"""Estimates and findings of each audit, as they are today."""
FORMAT_1 = Path(__file__).parent / "format_1"
"""Runs that an earlier version wrote; nothing writes them again."""
OURS = ("demo", "judges")
"""Audits whose pictures and labels are made here: these are the same as in a run of format 1."""

CAPTIONS = """\
suite: biasbench
generators:
  - {folder: sd, metadata: metadata.csv, name: sd}
  - {folder: bksdm, metadata: metadata.csv, name: bksdm}
annotators: [{captions: captions.csv, name: people}, {lexicon: biasbench}]
resamples: 200
"""
JUDGES = """\
suite: objects
objects: [cup, car]
dimensions: {{gender: [men, women]}}
images_per_prompt: 4
permutations: 199
resamples: 100
generators:
  - {{images: "openai:painter-1", name: painter-1, base_url: {url}, key: NOBODY, seed: true, price: 0}}
  - {{images: "openai:painter-2", name: painter-2, base_url: {url}, key: NOBODY, seed: true, price: 0}}
annotators:
  - blank
  - {{questions: "openai:judge-1", base_url: {url}, key: NOBODY, discover: true, price: 0}}
  - {{questions: "openai:judge-2", base_url: {url}, key: NOBODY, discover: true, price: 0}}
  - {{constraints: "openai:checker", base_url: {url}, key: NOBODY, price: 0}}
"""

WHOLE = """\
suite: objects
objects: [cup]
dimensions: {gender: [women]}
images_per_prompt: 2
generators: [{calibrated: , size: 128}]
annotators: [blank, duplicates, colour]
permutations: 99
resamples: 100
"""
"""Of the run of format 1 that is kept with its ledger and its pictures."""
TUTORIAL = ROOT / "docs" / "tutorials" / "occupations.yaml"
READER = "  - text\n"


def demo(folder: Path, data: Path) -> st.Run:
    """The demo in pictures of 512 pixels: the calibrated generator and the offline annotators."""
    text = (FORMAT_1 / "demo" / "audit.yaml").read_text("utf-8")
    return st.Audit.from_text(text, name="demo.yaml").run(folder / "run")


def occupations(folder: Path, data: Path) -> st.Run:
    """The tutorial: 300 real pictures, human labels and the offline annotators."""
    return _tutorial(folder, data, TUTORIAL.read_text("utf-8"))


def unread(folder: Path, data: Path) -> st.Run:
    """The tutorial without what takes most of its time, to read what is written on the pictures."""
    text = TUTORIAL.read_text("utf-8")
    assert READER in text
    return _tutorial(folder, data, text.replace(READER, ""))


def _tutorial(folder: Path, data: Path, text: str) -> st.Run:
    (folder / TUTORIAL.name).write_text(text, "utf-8")
    (folder / "occupations").symlink_to((data / "occupations").resolve())
    return st.Audit.from_yaml(folder / TUTORIAL.name).run(folder / "run")


def captions(folder: Path, data: Path) -> st.Run:
    """The published captions of two models, read by the lexicon."""
    said = [("image", "caption")]
    for number, model in enumerate(("sd", "bksdm")):
        rows = pl.read_csv(data / "biasbench" / f"captions_{model}.csv").select("prompt", "image", "caption")
        (folder / model).mkdir()
        metadata = [("file", "prompt")]
        for index, (prompt, image, caption) in enumerate(rows.iter_rows()):
            name = f"{model}-{Path(image).stem}-{index}.png"
            Image.new("RGB", (8, 8), (index % 251, index // 251, 77 + number)).save(folder / model / name)
            metadata.append((name, prompt))
            said.append((name, caption))
        _write(folder / model / "metadata.csv", metadata)
    _write(folder / "captions.csv", said)
    return st.Audit.from_text(CAPTIONS, base=folder).run(folder / "run")


def judges(folder: Path, data: Path) -> st.Run:
    """Two models, two judges that discover what to ask, and a check of constraints behind a server."""
    with mock.patch.dict(os.environ, NOBODY="a-key-of-nobody"), Loopback() as server:
        return st.Audit.from_text(JUDGES.format(url=server.url)).run(folder / "run")


AUDITS: Mapping[str, Callable[[Path, Path], st.Run]] = {
    each.__name__: each for each in (captions, demo, judges, occupations, unread)
}


def _write(file: Path, rows: list[tuple[str, str]]) -> None:
    with file.open("w", newline="", encoding="utf-8") as out:
        csv.writer(out).writerows(rows)
