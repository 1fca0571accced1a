"""People in pictures without any server: a detector, a vision-language model, and what pictures show."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.annotate.detection.tiny_onnx import bright_halves

import stereotrope as st

COLOURS = {" ": (5, 5, 5), "f": (220, 40, 40), "m": (40, 40, 220), "?": (128, 128, 128)}
PLANTED = ["f ", " f", "ff", "m ", "m?", "  ", "??", "fm", "mm", "? "]
SHOWN = ["female", "female", "female", "male", "male", None, None, None, "male", None]
WHOLE = {"ff": "yes", "mm": "no", "??": "no"}
"""Pictures of one colour, of which the model tells whether they are a red one."""

AUDIT = """\
generators: [{{folder: made, metadata: metadata.csv, prompt: prompt, factors: [job]}}]
annotators:
  - {{detect: people.onnx, levels: [0, 255], confidence: 0.7, smallest: 0.2}}
  - {{choose: {model}, regions: person, sets: [gender], device: cpu, name: judge}}
  - {{consensus: judge, regions: detect, attributes: [perceived_gender], name: shown}}
  - {{choose: {model}, sets: [prompt_following], device: cpu, name: following}}
measures:
  - {{share: [perceived_gender, n_people], by: [generator]}}
  - {{answer_probability: {{by: [generator]}}}}
max_excluded: 1
max_unanswered: 1  # of pictures of two colours the model was taught nothing
"""


@pytest.fixture
def audit(tmp_path, vlm):
    (tmp_path / "made").mkdir()
    (tmp_path / "people.onnx").write_bytes(bright_halves())
    rows = ["file,prompt,job"]
    for at, halves in enumerate(PLANTED):
        pixels = np.zeros((32, 48, 3), np.uint8)
        pixels[:, :24], pixels[:, 24:] = COLOURS[halves[0]], COLOURS[halves[1]]
        Image.fromarray(pixels).save(tmp_path / "made" / f"{at:02}.png")
        rows.append(f"{at:02}.png,a red picture,{'ab'[at % 2]}")
    (tmp_path / "made" / "metadata.csv").write_text("\n".join(rows))
    return st.Audit.from_text(AUDIT.format(model=vlm), base=tmp_path)


def test_a_detector_and_a_model_on_this_computer_find_what_was_planted(audit, tmp_path):
    run = audit.run(tmp_path / "run")
    ids = run.images.sort("source")["image_id"].to_list()
    place = pl.col("subject_id").replace_strict(
        {one: at for at, one in enumerate(ids)}, return_dtype=pl.Int64
    )
    assert run.labels.filter(annotator="shown").sort(place)["value"].to_list() == SHOWN
    judged = run.labels.filter(annotator="judge")
    assert judged.height == sum(2 - halves.count(" ") for halves in PLANTED)
    assert judged["confidence"].min() > 0.9
    assert judged["status"].is_in(["ok", "unclear"]).all()
    told = dict(run.labels.filter(annotator="following").select("subject_id", "value").iter_rows())
    assert {h: told[i] for i, h in zip(ids, PLANTED, strict=True) if h in WHOLE} == WHOLE
    shares = run.estimates.filter(attribute="perceived_gender")
    assert dict(shares.select("category", "value").iter_rows()) == {"female": 0.5, "male": 0.5}
    assert [json.loads(each) for each in shares["excluded"].unique()] == [
        {"nothing clear": 2, "nothing found": 1, "several values": 1}
    ]
    sure = run.labels.filter(annotator="following", status="ok")
    yes = [c if v == "yes" else 1 - c for v, c in sure.select("value", "confidence").iter_rows()]
    found = run.estimates.filter(measure="answer_probability", annotator="following")
    assert found["value"].to_list() == pytest.approx([sum(yes) / len(yes)])
    again = audit.run(tmp_path / "run")
    assert again.labels.equals(run.labels)
    measured = st.Audit.from_run(tmp_path / "run").measure(tmp_path / "run")
    assert measured.labels.equals(run.labels)


def test_a_picture_drawn_for_another_prompt_is_another_question(audit, tmp_path):
    run = audit.run(tmp_path / "run")
    table = tmp_path / "made" / "metadata.csv"
    table.write_text(table.read_text().replace("a red picture", "a blue picture"))
    other = st.Audit.from_text(audit.source.text, base=tmp_path).run(tmp_path / "other")
    ids = [one.images.sort("source")["image_id"].to_list() for one in (run, other)]
    told = [
        dict(one.labels.filter(annotator="following").select("subject_id", "value").iter_rows())
        for one in (run, other)
    ]
    assert [told[0][ids[0][at]] for at in (2, 8)] == ["yes", "no"]
    assert [told[1][ids[1][at]] for at in (2, 8)] == ["no", "yes"]


def test_a_question_about_prompts_that_nobody_knows_is_refused(audit, tmp_path):
    text = audit.source.text.replace(", prompt: prompt, factors: [job]", ", factors: [job]")
    with pytest.raises(
        st.errors.AuditFileError, match=r"'following' asks whether .* no prompt has a text; name the column"
    ):
        st.Audit.from_text(text, base=tmp_path).plan()
