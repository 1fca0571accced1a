"""People in pictures, whole: a detector in an ONNX file, questions about crops by letter, what pictures show.

What is planted: the left and the right half of a picture are dark, nobody, or have a colour that says who is
there. The model server sees crops alone.
"""

from __future__ import annotations

import io
import json
import re

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.annotate.detection.tiny_onnx import bright_halves

import stereotrope as st
from stereotrope.annotate import subject_id
from stereotrope.testing import Loopback

COLOURS = {
    " ": (5, 5, 5),
    "f": (220, 60, 60),
    "m": (60, 60, 220),
    "?": (150, 150, 150),
    "!": (60, 200, 60),
}
WHO = {"f": "female", "m": "male", "?": "unclear"}
PLANTED = ["f ", " f", "ff", "m ", "m?", "  ", "??", "fm", "!!", "f!", "mm", "? "]
SHOWN = ["female", "female", "female", "male", "male", None, None, None, None, "female", "male", None]
REASONS = {5: "nothing found", 6: "nothing clear", 7: "several values", 8: "refused", 11: "nothing clear"}

AUDIT = """\
generators: [{{folder: made, metadata: metadata.csv, factors: [job]}}]
annotators:
  - {{detect: people.onnx, levels: [0, 255], confidence: 0.7, smallest: 0.2}}
  - {{questions: openai:judge, base_url: {url}, regions: person, sets: [gender], letters: true, tries: 2}}
  - {{consensus: judge, regions: detect, attributes: [perceived_gender], name: shown}}
measures:
  - {{share: [perceived_gender, n_people], by: [generator]}}
max_excluded: 1
"""


def seen_in(data):
    """Letter of :data:`COLOURS` that a crop is nearest to."""
    with Image.open(io.BytesIO(data)) as image:
        middle = np.asarray(image.convert("RGB"), float).mean(axis=(0, 1))
    return min(COLOURS, key=lambda each: np.abs(middle - COLOURS[each]).sum())


def judge(question):
    seen = seen_in(question.pictures[0])
    if seen == "!":
        return None  # it declines
    letters = json.loads(re.search(r'^- "perceived_gender".*?: (\{.*\})$', question.text, re.MULTILINE)[1])
    return {"perceived_gender": next(letter for letter, who in letters.items() if who == WHO[seen])}


@pytest.fixture
def study(tmp_path):
    (tmp_path / "made").mkdir()
    (tmp_path / "people.onnx").write_bytes(bright_halves())
    rows = ["file,prompt,job"]
    rng = np.random.default_rng(1)
    for at, halves in enumerate(PLANTED):
        pixels = rng.integers(-4, 5, (32, 48, 3))
        pixels[:, :24] += COLOURS[halves[0]]
        pixels[:, 24:] += COLOURS[halves[1]]
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(tmp_path / "made" / f"{at:02}.png")
        rows.append(f"{at:02}.png,a person at work,{'ab'[at % 2]}")
    (tmp_path / "made" / "metadata.csv").write_text("\n".join(rows))
    with Loopback(judge=judge) as server:
        audit = st.Audit.from_text(AUDIT.format(url=server.url), base=tmp_path)
        yield server, audit, tmp_path


def test_what_was_planted_is_found_asked_and_told_of_each_picture(study):
    server, audit, folder = study
    run = audit.run(folder / "run")
    ids = run.images.sort("source")["image_id"].to_list()
    labels = run.labels
    n = labels.filter(attribute="n_people").select("subject_id", "value")
    assert dict(n.iter_rows()) == {
        one: str(2 - halves.count(" ")) for one, halves in zip(ids, PLANTED, strict=True)
    }
    boxes = labels.filter(attribute="person")
    assert set(boxes["region"]) == {"[0, 0, 24, 32]", "[24, 0, 48, 32]"}
    assert boxes["confidence"].min() > 0.7
    assert len(server.received) >= boxes.height == run.subjects.height == 18

    judged = labels.filter(annotator="judge")
    assert judged["subject_kind"].unique().to_list() == ["region"]
    status = {"?": ("unclear", None), "!": ("refused", None)}
    for one, halves in zip(ids, PLANTED, strict=True):
        for box, half in zip(("[0, 0, 24, 32]", "[24, 0, 48, 32]"), halves, strict=True):
            told = judged.filter(subject_id=subject_id(one, box)).select("status", "value").rows()
            assert told == ([] if half == " " else [status.get(half, ("ok", WHO.get(half)))])
    answered = judged.filter(pl.col("status") != "refused")["rationale"]
    assert answered.str.contains(r"^[ABC] of A: \w+, B: \w+, C: \w+$").all()
    assert answered.str.slice(5).n_unique() > 2

    shown = run.labels.filter(annotator="shown").sort(
        pl.col("subject_id").replace_strict({one: at for at, one in enumerate(ids)}, return_dtype=pl.Int64)
    )
    assert shown["value"].to_list() == SHOWN
    shares = run.estimates.filter(attribute="perceived_gender")
    assert dict(shares.select("category", "value").iter_rows()) == {"female": 4 / 7, "male": 3 / 7}
    reasons = [json.loads(each) for each in shares["excluded"].unique()]
    assert reasons == [{"nothing clear": 2, "nothing found": 1, "refused": 1, "several values": 1}]
    counts = run.estimates.filter(attribute="n_people")
    assert dict(counts.select("category", "value").iter_rows()) == {"0": 1 / 12, "1": 4 / 12, "2": 7 / 12}
    assert sum(REASONS[at] == "nothing clear" for at in REASONS) == 2

    again = audit.run(folder / "run")
    assert again.labels.equals(run.labels)
    measured = st.Audit.from_run(folder / "run").measure(folder / "run")
    assert measured.labels.equals(run.labels)


def test_the_report_draws_the_boxes_with_what_was_said_of_them(study, reported):
    _, audit, folder = study
    run = audit.run(folder / "run")
    page = (run.path / "report" / "index.html").read_text()
    assert "judge: 6 of 11 pictures with their regions" in page
    assert 'x="24" y="0" width="24" height="32"' in page
    assert "person: person; perceived gender: female" in page


def test_boxes_that_nobody_asks_about_are_drawn_too(study, reported):
    _, audit, folder = study
    text = re.sub(r"  - \{(questions|consensus).*\n", "", audit.source.text)
    text = text.replace("[perceived_gender, n_people]", "n_people")
    run = st.Audit.from_text(text, base=folder).run(folder / "run")
    page = (run.path / "report" / "index.html").read_text()
    assert "detect: 6 of 11 pictures with their regions" in page
    assert 'x="24" y="0" width="24" height="32"' in page
    assert "<li>person: person</li>" in page


def test_a_question_about_regions_that_nobody_finds_names_the_remedy(study):
    _, audit, folder = study
    text = re.sub(r"  - \{detect.*\n", "", audit.source.text)
    with pytest.raises(
        st.errors.AuditFileError, match=r"needs 'person', .* add `\{detect: MODEL, attribute: person\}`"
    ):
        st.Audit.from_text(text, base=folder).plan()
