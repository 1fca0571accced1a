"""Zero-shot labels from vectors of known directions, and from those of a tiny CLIP."""

import numpy as np
import polars as pl
import pytest
from PIL import Image
from tests.audit.test_embedding import PROMPTS, encoder_entry, pictures
from tests.conftest import DEVICE

from stereotrope import annotate
from stereotrope.annotate import Encoder, ZeroShot
from stereotrope.audit import Audit
from stereotrope.errors import AuditFileError, InputError, UsageError
from stereotrope.inputs.candidates import SentencePair

HAT = SentencePair(("with a hat", "a hat is worn"), ("without a hat",))
TURBAN = {"positive": ["a turban"], "negative": ["no turban", "bare"], "values": ["turban", "none"]}
FILE = """\
candidates:
  hat:
    positive: [a photo of a doctor]
    negative: [a red cup on a table, a man or a woman]
  turban:
    positive: [a man]
    negative: [a woman]
"""


def vectors(sentences, shown):
    rows = [("sentence", name, "clip", vector) for name, vector in sentences.items()]
    rows += [("image", name, "clip", vector) for name, vector in shown.items()]
    return pl.DataFrame(rows, schema=["subject_kind", "subject_id", "encoder", "vector"], orient="row")


def images(*names):
    return pl.DataFrame({"image_id": names, "status": ["ok"] * len(names)})


PLANE = {"with a hat": [1.0, 0.0], "a hat is worn": [0.0, 1.0], "without a hat": [0.0, -1.0]}


def test_the_side_with_the_greater_cosine_of_its_mean_is_the_label():
    shown = {"a": [1.0, 0.0], "b": [0.0, -2.0], "c": [1.0, -2.0], "d": [0.6, -0.2]}
    one = ZeroShot({"hat": HAT}, "clip", temperature=0.5)
    found = one.derive_vectors(images("d", "c", "b", "a"), vectors(PLANE, shown))
    plus, minus = np.array([1, 1]) / np.sqrt(2), np.array([0, -1])
    for row in found.iter_rows(named=True):
        z = np.array(shown[row["subject_id"]])
        z /= np.linalg.norm(z)
        value, other = (z @ plus, z @ minus)
        assert row["value"] == ("yes" if value > other else "no")
        of_two = np.exp(np.array([value, other]) / 0.5)
        assert row["confidence"] == pytest.approx(of_two.max() / of_two.sum(), abs=1e-9)
    assert found["subject_id"].to_list() == ["d", "c", "b", "a"]
    assert set(found["value"]) == {"yes", "no"}
    assert (one.notes, found["derived_from"].null_count()) == ([], 4)


def test_an_indicator_has_no_confidence_and_values_are_as_named():
    turban = annotate.create({"zero_shot": None, "encoder": "clip", "candidates": {"turban": TURBAN}})
    sentences = {"a turban": [1.0, 0.0], "no turban": [0.0, 1.0], "bare": [0.0, 1.0]}
    found = turban.derive_vectors(images("a", "b"), vectors(sentences, {"a": [2, 1], "b": [1, 2]}))
    assert found.select("attribute", "value", "confidence", "status").rows() == [
        ("turban", "turban", None, "ok"),
        ("turban", "none", None, "ok"),
    ]


def test_a_known_share_along_a_known_direction_is_read_back():
    rng = np.random.default_rng(7)
    direction = np.zeros(16)
    direction[3] = 1.0
    shows = rng.random(2_000) < 0.3
    drawn = rng.normal(0, 0.2, (2_000, 16)) + np.where(shows, 1.0, -1.0)[:, None] * direction
    names = [f"i{n}" for n in range(2_000)]
    sentences = dict(zip(PLANE, (direction + 0.1, direction - 0.1, -direction), strict=True))
    of = {
        name: vector.tolist() for name, vector in (sentences | dict(zip(names, drawn, strict=True))).items()
    }
    known = vectors({s: of[s] for s in PLANE}, {name: of[name] for name in names})
    found = ZeroShot({"hat": HAT}, "clip").derive_vectors(images(*names), known)
    assert ((found["value"] == "yes").to_numpy() == shows).mean() > 0.999


def test_a_picture_without_a_vector_and_sides_of_one_vector_are_invalid_with_a_reason():
    one = ZeroShot({"hat": HAT, "cap": SentencePair(("with a hat",), ("same",))}, "clip")
    known = vectors({**PLANE, "same": [1.0, 0.0]}, {"a": [1.0, 0.0]})
    found = one.derive_vectors(images("a", "b"), known)
    assert found.select("subject_id", "attribute", "status", "value").rows() == [
        ("a", "hat", "ok", "yes"),
        ("a", "cap", "invalid", None),
        ("b", "hat", "invalid", None),
        ("b", "cap", "invalid", None),
    ]
    assert "one vector" in found["rationale"][1]
    assert found["rationale"][2] == "the picture has no vector"
    assert one.notes == [f"zero_shot: 'cap' labels no picture: {found['rationale'][1]}"]
    none = one.derive_vectors(images("a"), vectors({}, {"a": [1.0, 0.0]}))
    assert set(none["rationale"]) == {"a sentence has no vector"}


@pytest.fixture
def encoded(monkeypatch):
    """Texts that were encoded."""
    texts, encode = [], Encoder.encode_texts
    monkeypatch.setattr(Encoder, "encode_texts", lambda self, some: texts.extend(some) or encode(self, some))
    return texts


AUDIT = """\
%s
generators: [{folder: pictures, metadata: metadata.csv, name: painter}]
annotators: [{zero_shot: candidates.yaml, encoder: clip, temperature: 0.01}, %s]
measures: [share]
report: {figures: false}
"""


def test_sentences_are_encoded_once_and_pictures_labelled_by_what_is_stored(tmp_path, tiny_clip, encoded):
    pictures(tmp_path)
    (tmp_path / "candidates.yaml").write_text(FILE.replace("a photo of a doctor", "a doctor"))
    asked = Audit.from_text(AUDIT % (PROMPTS, encoder_entry(tiny_clip)), base=tmp_path)
    run = asked.run(tmp_path / "run")
    assert len(encoded) == len(set(encoded)) == 5  # two of the sentences are prompts too
    stored = run.embeddings.filter(subject_kind="sentence")
    assert set(stored["subject_id"]) == {
        "a doctor", "a red cup on a table", "a man or a woman", "a man", "a woman",
    }  # fmt: skip
    vector = dict(stored.select("subject_id", "vector").iter_rows())
    one = annotate.create({"encoder": f"clip:{tiny_clip}", "device": DEVICE})
    for n, row in enumerate(run.images.iter_rows(named=True)):
        z = one.encode_pictures([np.asarray(Image.open(tmp_path / "pictures" / row["source"]))])[0]
        plus, minus = (np.array(vector[each]) for each in ("a man", "a woman"))
        said = run.labels.filter(annotator="zero_shot", attribute="turban", subject_id=row["image_id"])
        assert said["value"][0] == ("yes" if z @ plus > z @ minus else "no"), n
    assert run.labels.filter(annotator="zero_shot").height == 24
    assert set(run.estimates.filter(measure="share")["attribute"]) == {"hat", "turban"}
    del encoded[:]
    assert asked.run(tmp_path / "run").labels.equals(run.labels)
    assert asked.measure(tmp_path / "run").labels.equals(run.labels)
    assert encoded == []
    (tmp_path / "candidates.yaml").write_text(FILE.replace("a woman]\n", "a cup]\n"))
    told = asked.measure(tmp_path / "run")
    lost = told.labels.filter(annotator="zero_shot", status="invalid")["rationale"]
    assert set(lost) == {"a sentence has no vector"}
    asked.run(tmp_path / "run")
    assert sorted(encoded) == ["a cup", "a man or a cup", "a photo of a doctor"]


def test_vectors_of_sentences_may_be_given_with_those_of_pictures(tmp_path):
    pictures(tmp_path, 3)
    (tmp_path / "candidates.yaml").write_text(FILE)
    rows = [f'{{"image": "{n}.png", "vector": [{1 - n}, 1]}}' for n in range(3)]
    sentences = {"a photo of a doctor": [1, 0], "a red cup on a table": [0, 1], "a man or a woman": [0, 1]}
    rows += [f'{{"text": "{name}", "vector": {v}}}' for name, v in {**sentences, "a man": [1, 0]}.items()]
    (tmp_path / "v.jsonl").write_text("\n".join(rows))
    asked = Audit.from_text(AUDIT % (PROMPTS, "{embeddings: v.jsonl, name: clip}"), base=tmp_path)
    with pytest.raises(AuditFileError, match=r"1 of 5 sentences have no vector \('a woman' …\); add a row"):
        asked.plan()
    (tmp_path / "v.jsonl").write_text("\n".join([*rows, '{"text": "a woman", "vector": [-1, 0.5]}']))
    run = asked.run(tmp_path / "run")
    assert not [note for note in run.info["notes"] if "no prompt of the run" in note]
    said = run.labels.filter(attribute="turban").join(run.images, left_on="subject_id", right_on="image_id")
    assert dict(said.select("source", "value").iter_rows()) == {"0.png": "yes", "1.png": "no", "2.png": "no"}


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"encoder": "clip"}, "give candidates as a file .* one of both"),
        ({"zero_shot": "a.yaml", "encoder": "clip", "candidates": {"t": TURBAN}}, "one of both"),
        ({"zero_shot": "a.yaml"}, "encoder is missing"),
        ({"zero_shot": "a.yaml", "encoder": "clip", "temperature": 0}, "temperature must be more than 0"),
        (
            {"encoder": "clip", "candidates": {"t": {**TURBAN, "negative": ["a turban"]}}},
            r"candidates.t.negative must differ from the positive sentences, found \['a turban'\]; no",
        ),
        ({"encoder": "clip", "candidates": {"t": {**TURBAN, "values": ["a"]}}}, "values must be two"),
        ({"encoder": "zero_shot", "candidates": {"t": TURBAN}}, "must have a name of its own"),
        ({"encoder": "clip", "candidates": {"all": TURBAN}}, "candidates: 'all': this name is taken"),
    ],
)
def test_mistakes_in_an_entry_are_named(entry, match):
    with pytest.raises(UsageError, match=match):
        annotate.create({"zero_shot": None, **entry})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("[a woman]", "[a man]"), r"candidates.yaml:7: candidates.turban.negative must differ from the"),
        (
            ("negative: [a woman]", "negativ: [a woman]"),
            r"candidates.yaml:\d: unknown key 'negativ'; did you",
        ),
        (("[a woman]", "[]"), r"candidates.yaml:7: candidates.turban.negative must list at least one"),
        (("candidates:", "attributes:"), "candidates.yaml:1: unknown key 'attributes'"),
    ],
)
def test_mistakes_in_a_file_of_candidates_are_named_with_their_line(tmp_path, change, match):
    (tmp_path / "candidates.yaml").write_text(FILE.replace(*change))
    with pytest.raises(InputError, match=match):
        annotate.create({"zero_shot": "candidates.yaml", "encoder": "clip"}, relative_to=tmp_path)


def test_an_encoder_that_is_not_there_or_reads_no_sentences_is_told(tmp_path):
    pictures(tmp_path, 1)
    (tmp_path / "candidates.yaml").write_text(FILE)
    for others, match in (
        ("colour", "annotator 'zero_shot': reads 'clip', which is no annotator"),
        ("{encoder: dinov2:a/b, name: clip}", "has no vectors of sentences; name a CLIP or SigLIP model"),
        ("{labels: l.csv, name: clip}", "'clip' has no vectors of sentences; name an encoder"),
    ):
        (tmp_path / "l.csv").write_text("file,colour\n0.png,red\n")
        with pytest.raises(AuditFileError, match=match):
            Audit.from_text(AUDIT % (PROMPTS, others), base=tmp_path).plan()


def test_as_many_attributes_as_a_file_has_are_labelled_since_nobody_is_asked_for_them_at_once():
    known = vectors(PLANE, {"a": [1.0, 0.0]})
    found = ZeroShot({f"a{n}": HAT for n in range(100)}, "clip").derive_vectors(images("a"), known)
    assert found["value"].to_list() == ["yes"] * 100
