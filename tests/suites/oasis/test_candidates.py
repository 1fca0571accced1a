"""The template with what stands behind a hash switched on: sentences, questions and people together."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from ruamel.yaml import YAML

import stereotrope as st
from stereotrope import annotate
from stereotrope.audit.preparing import planned_work
from stereotrope.errors import AuditFileError
from stereotrope.suites.oasis.reference import true_shares_of
from stereotrope.suites.reading import audit_template
from stereotrope.testing import Loopback

PEOPLE = ("Iranian person", "Indian person", "Mexican person")


def block_of(text: str) -> str:
    """The lines of the template's candidates, without their hash."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if "# - zero_shot:" in line)
    end = next(i for i in range(start, len(lines)) if not lines[i].lstrip().startswith("#"))
    return "\n".join(line.replace("# ", "", 1) for line in lines[start:end])


def switched_on(url: str, encoder: str) -> str:
    """The template, its optional parts asked for, of pictures that are there."""
    text = audit_template("oasis")
    block = block_of(text)
    for line in block.splitlines():
        text = text.replace(f"  # {line.removeprefix('  ')}\n", "")
    written = '{encoder: "clip:laion/CLIP-ViT-bigG-14-laion2B-39B-b160k", name: clip}'
    old, new = "    max_side: 512\n", f"    max_side: 512\n    base_url: '{url}'\n    price: 0\n"
    images = "{images: openai:gpt-image-1-mini, quality: low, size: 1024x1024, price: {image: 0.005}}"
    assert text.count(old) == text.count(f"# - {written}") == text.count(images) == 1
    text = text.replace(old, new).replace(f"# - {written}", f"- {encoder}\n{block}")
    text = text.replace(images, "{folder: pictures, metadata: metadata.csv, name: m}")
    for line in ("labels: human.csv, name: rater-1}", "agreement: {", "class_agreement: {"):
        assert f"# - {{{line}" in text
        text = text.replace(f"# - {{{line}", f"- {{{line}")
    return text.replace("# - wals ", "- wals ").replace("level: 0.95", "level: 0.95\n  figures: false")


def draw(folder: Path, n: int, shade: bool = False) -> list[tuple[str, str]]:
    """Pictures of each concept that differ, as (file, concept)."""
    (folder / "pictures").mkdir()
    rng, found = np.random.default_rng(3), []
    for concept in PEOPLE:
        for i in range(n):
            pixels = rng.integers(0, 256, (8, 8, 3), np.uint8)
            if shade:  # far apart, so that a model of random weights has something to tell apart
                pixels = (pixels // 8 + rng.integers(0, 224, 3, np.uint8)).astype(np.uint8)
            name = f"{concept.split()[0]}{i}.png"
            Image.fromarray(pixels).resize((32, 32), 0).save(folder / "pictures" / name)
            found.append((name, concept))
    rows = "\n".join(f"{name},{concept}" for name, concept in found)
    (folder / "pictures" / "metadata.csv").write_text(f"file,concept\n{rows}\n")
    return found


def answer(question):
    """A judge's: yes for half of the pictures."""
    return {name: "yes" if question.unit(name) < 0.5 else "no" for name in question.schema["properties"]}


def test_what_the_template_shows_runs_on_an_encoder_beside_questions_and_people(
    tmp_path, tiny_clip, reported
):
    shown = draw(tmp_path, 8, shade=True)
    people = {name: "yes" if i % 3 else "no" for i, (name, _) in enumerate(shown) if i % 2}
    known = true_shares_of(pl.Series("concept", PEOPLE))
    asked = known["attribute"].unique().to_list()
    rows = [",".join([name, *[value] * len(asked)]) for name, value in people.items()]
    (tmp_path / "human.csv").write_text("\n".join([",".join(["file", *asked]), *rows]))
    entry = f'{{encoder: "clip:{tiny_clip}", name: clip}}'
    with Loopback(judge=answer) as server:
        run = st.Audit.from_text(switched_on(server.url, entry), base=tmp_path).run(tmp_path / "run")

    (candidates,) = [one.candidates for one in _annotators(tmp_path, entry) if hasattr(one, "candidates")]
    assert set(candidates) == set(asked)
    encoder = annotate.create({"encoder": f"clip:{tiny_clip}", "device": "cpu"})
    pixels = [np.asarray(Image.open(tmp_path / "pictures" / name)) for name, _ in shown]
    z = np.asarray(encoder.encode_pictures(pixels))
    said = {}
    for name, pair in candidates.items():
        plus, minus = (one.vector for one in encoder.encode_texts([*pair.positive, *pair.negative]))
        away = z @ (plus - minus)
        assert np.abs(away).min() > 1e-7, "a tie is no case to test"
        said[name] = np.where(away > 0, "yes", "no")
    assert sum(len(set(labels)) == 2 for labels in said.values()) >= 3

    files = dict(run.images.select("image_id", "source").iter_rows())
    ours = run.labels.filter(annotator="zero_shot")
    by_picture = {(files[i], a): v for i, a, v in ours.select("subject_id", "attribute", "value").iter_rows()}
    assert by_picture == {
        (name, a): labels[at] for a, labels in said.items() for at, (name, _) in enumerate(shown)
    }
    scores = run.estimates.filter(measure="stereotype_score")
    assert set(scores["annotator"]) >= {"zero_shot", "gpt-4o"}
    of = {(c, a): p for c, a, p in known.select("concept", "attribute", "reference").iter_rows()}
    for row in scores.filter(annotator="zero_shot").iter_rows(named=True):
        concept, attribute = row["concept"], row["attribute"]
        if (concept, attribute) not in of:
            assert (row["value"], row["undefined"]) == (None, "no true share")
            continue
        yes = [v == "yes" for v, (_, c) in zip(said[attribute], shown, strict=True) if c == concept]
        assert row["value"] == pytest.approx(max(0.0, np.mean(yes) - of[concept, attribute]))
        assert row["denominator"] == 8
    for name, labels in said.items():
        _require_classifier_check(run, name, labels, shown, people)
    varied = run.estimates.filter(measure="wals")
    assert set(varied["attribute"]) == set(candidates)
    assert varied["value"].null_count() == 0
    page = (tmp_path / "run" / "report" / "index.html").read_text()
    for told in ("What the pictures show more often than is true", "Weighted alignment", "zero_shot"):
        assert told in page


def _annotators(folder: Path, entry: str):
    with Loopback(judge=answer) as server:
        return st.Audit.from_text(switched_on(server.url, entry), base=folder).plan().annotators


def _require_classifier_check(run, name, labels, shown, people) -> None:
    """As Tables 4 and 5: accuracy on what people labelled, and recall of each value."""
    pairs = [(label, people[file]) for label, (file, _) in zip(labels, shown, strict=True) if file in people]
    ours = run.estimates.filter(annotator="zero_shot", attribute=name)
    right = ours.filter(measure="agreement", definition="accuracy")
    assert right["value"].to_list() == pytest.approx([np.mean([a == b for a, b in pairs])])
    assert right["n"].to_list() == [len(people)]
    recall = ours.filter(measure="class_agreement", definition="recall")
    for value in ("yes", "no"):
        of_value = [a == b for a, b in pairs if b == value]
        assert recall.filter(category=value)["value"].to_list() == pytest.approx([np.mean(of_value)])


def test_planted_shares_of_every_attribute_lie_in_the_intervals_of_their_scores(tmp_path: Path) -> None:
    """Each picture shows each attribute with its planted probability, its vector says so, noise beside it."""
    names, rng = draw(tmp_path, 60), np.random.default_rng(11)
    block = block_of(audit_template("oasis"))
    written = YAML(typ="safe").load(block.replace("  - zero_shot:", "    zero_shot:"))
    pairs = annotate.create(written).candidates
    axes, sentences = np.eye(len(pairs) + 1), {}
    for at, pair in enumerate(pairs.values(), start=1):
        sentences[pair.positive[0]] = axes[0] + axes[at]
        sentences.setdefault(pair.negative[0], axes[0] - axes[at])  # “a bare head” is against several
    alone = {a for a, pair in pairs.items() if sentences[pair.positive[0]] @ sentences[pair.negative[0]] == 0}
    assert len(alone) == 9
    known = true_shares_of(pl.Series("concept", PEOPLE)).select("concept", "attribute", "reference")
    true = {(concept, a): p for concept, a, p in known.iter_rows() if a in alone}
    shares = {key: min(0.9, max(0.1, p + (0.3, -0.2)[at % 2])) for at, (key, p) in enumerate(true.items())}

    lines = [json.dumps({"text": name, "vector": v.tolist()}) for name, v in sentences.items()]
    for name, concept in names:
        shows = rng.random(len(pairs)) < [shares.get((concept, a), 0.5) for a in pairs]
        vector = [1.0, *(np.where(shows, 3.0, -3.0) + rng.normal(0, 0.1, len(pairs)))]
        lines.append(json.dumps({"image": name, "vector": vector}))
    (tmp_path / "v.jsonl").write_text("\n".join(lines))
    text = (
        "suite: oasis\ngenerators: [{folder: pictures, metadata: metadata.csv, name: m}]\n"
        f"annotators:\n  - {{embeddings: v.jsonl, name: clip}}\n{block}\nreport: {{figures: false}}\n"
    )
    run = st.Audit.from_text(text, base=tmp_path).run(tmp_path / "run")
    within = []
    for measure, least in (("stereotype_difference", -1.0), ("stereotype_score", 0.0)):
        for row in run.estimates.filter(measure=measure).iter_rows(named=True):
            key = (row["concept"], row["attribute"])
            if key in true and row["low"] is not None:
                within.append(row["low"] <= max(least, shares[key] - true[key]) <= row["high"])
    assert len(within) > 1.4 * len(true)
    assert np.mean(within) >= 0.9
    assert run.estimates.filter(measure="wals")["value"].is_not_null().all()


def test_the_suite_itself_checks_labels_where_people_gave_some(tmp_path: Path) -> None:
    (tmp_path / "human.csv").write_text("file,man\na.png,yes\n")
    judge = "{questions: 'openai:judge', attributes: {man: ['yes', 'no']}}"
    head = f"suite: oasis\ngenerators: ['openai:x']\nannotators: [{judge}"
    alone = st.Audit.from_text(f"{head}]\n").plan().measures
    both = (
        st.Audit.from_text(f"{head}, {{labels: human.csv, name: rater-1}}]\n", base=tmp_path).plan().measures
    )
    assert {call.name for call in both} - {call.name for call in alone} == {"agreement", "class_agreement"}


def test_attributes_by_a_model_can_be_switched_on_and_their_price_is_known(tmp_path: Path) -> None:
    shown = "# - {zero_shot: {file: candidates.yaml, model: openai:gpt-4o}, encoder: clip}"
    text = audit_template("oasis")
    assert text.count(shown) == 1
    asked = st.Audit.from_text(text.replace(shown, shown.removeprefix("# ")), base=tmp_path)
    (work,) = planned_work(asked.spec, asked.source)
    assert (work.name, work.total, work.done) == ("gpt-4o", len(PEOPLE), 0)
    assert work.expected is not None
    assert work.expected.calls == len(PEOPLE)
    with pytest.raises(
        AuditFileError, match=r"no file 'candidates.yaml' beside the audit file; `stereotrope"
    ):
        asked.plan()
