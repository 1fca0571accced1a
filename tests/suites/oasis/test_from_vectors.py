"""The suite from vectors alone: labels by sentences, scores and variety, of a planted truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import stereotrope as st
from stereotrope.stats import alignment_of_vectors

D = 6
SENTENCES = {
    "a man": np.eye(D)[1],
    "a woman": -np.eye(D)[1],
    "a hat": np.eye(D)[2],
    "a bare head": np.eye(D)[2],
}
AUDIT = """\
suite: oasis
prompts: {template: "A photo of a/an {concept}", concept: [Iranian person, Mexican person]}
generators: [{folder: pictures, metadata: metadata.csv, name: m}]
annotators:
  - {embeddings: vectors.jsonl, name: clip}
  - zero_shot:
    encoder: clip
    candidates:
      man: {positive: [a man], negative: [a woman]}
      hat: {positive: [a hat], negative: [a bare head]}
"""


def planted(folder: Path) -> dict[str, np.ndarray]:
    """Twelve pictures a concept, nine and six of them towards “a man”."""
    rng = np.random.default_rng(1)
    (folder / "pictures").mkdir()
    rows, lines, found = ["file,concept"], [], {}
    for concept, men in (("Iranian person", 9), ("Mexican person", 6)):
        x = 0.3 * rng.normal(size=(12, D)) + np.eye(D)[0]
        x[:, 1] = np.where(np.arange(12) < men, 1, -1) * rng.uniform(0.1, 0.5, 12)
        found[concept] = x / np.linalg.norm(x, axis=1, keepdims=True)
        for i, vector in enumerate(x):
            name = f"{concept[:3]}{i}.png"
            Image.fromarray(rng.integers(0, 255, (16, 16, 3), np.uint8)).save(folder / "pictures" / name)
            rows.append(f"{name},{concept}")
            lines.append(json.dumps({"image": name, "vector": vector.tolist()}))
    lines += [json.dumps({"text": name, "vector": v.tolist()}) for name, v in SENTENCES.items()]
    (folder / "pictures" / "metadata.csv").write_text("\n".join(rows))
    (folder / "vectors.jsonl").write_text("\n".join(lines))
    return found


def test_planted_shares_and_directions_come_back_from_labels_to_the_page(
    tmp_path: Path, reported: None
) -> None:
    vectors = planted(tmp_path)
    run = st.Audit.from_text(AUDIT, base=tmp_path).run(tmp_path / "run")
    found = run.estimates
    men = found.filter(measure="stereotype_difference", attribute="man").select("concept", "value")
    assert dict(men.iter_rows()) == pytest.approx(
        {"Iranian person": 0.75 - 0.5, "Mexican person": 0.5 - 0.48}
    )
    wals = found.filter(measure="wals")
    for concept, x in vectors.items():
        for definition, centre in (("paper", False), ("centred", True)):
            row = wals.filter(concept=concept, attribute="man", definition=definition).row(0, named=True)
            expected = alignment_of_vectors(x, np.eye(D)[:, [1]], centre=centre)[0]
            assert row["value"] == pytest.approx(expected, abs=1e-6)
            assert row["instrument"] == "clip"
    hats = wals.filter(attribute="hat")
    assert set(hats["undefined"]) == {"both descriptions have the same vector"}
    assert any("'hat' labels no picture" in note for note in run.info["notes"])
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    assert "Weighted alignment" in page
    assert "Stereotype score" in page
    assert "Stereotype score beside variety" in page
    assert "WALS, centred" in page
    assert "Whom the models draw" not in page  # scores of a concept are no ratios of scenarios
