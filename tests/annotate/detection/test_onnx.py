"""ONNX detectors: a real face detector on real pictures, and files of other kinds."""

import json
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from tests.annotate.detection.tiny_onnx import model

from stereotrope import annotate
from stereotrope.annotate import Picture
from stereotrope.errors import ModelUnusable, UsageError

MODEL = "data/models/ultralight-face-rfb-640.onnx"
FACES = {"classes": ["face"], "confidence": 0.7}


@pytest.fixture(scope="session")
def faces(shared):
    made = annotate.create({"detect": str(shared / MODEL), **FACES})
    made.setup()
    return made


def pictures(shared):
    files = sorted((shared / "data/occupations/images").iterdir())
    return [Picture(file.stem, file.stem, file.read_bytes()) for file in files]


def plainly(session, picture):
    """Scores and corners of the authors' recipe, with OpenCV's resizing, read without ours."""
    import cv2

    pixels = picture.pixels()
    made = (cv2.resize(pixels, (640, 480)).astype(np.float32) - 127) / 128
    scores, boxes = session.run(None, {"input": made.transpose(2, 0, 1)[None]})
    height, width = pixels.shape[:2]
    rows = [(s, b * [width, height, width, height]) for s, b in zip(scores[0, :, 1], boxes[0], strict=True)]
    kept = []
    for score, box in sorted((row for row in rows if row[0] > 0.7), key=lambda row: -row[0]):
        if all(_iou(box, other) <= 0.3 for _, other in kept):
            kept.append((score, box))
    return kept


def _iou(a, b):
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return wide * high / (sum(area) - wide * high)


def test_boxes_on_real_pictures_are_those_of_an_independent_decoding(shared, faces):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level, options.intra_op_num_threads = 3, 1
    session = onnxruntime.InferenceSession(str(shared / MODEL), options)
    ours, theirs = [], []
    for picture in pictures(shared)[::20]:
        *boxes, number = faces.process(picture)
        expected = plainly(session, picture)
        ours.append(len(boxes))
        theirs.append(len(expected))
        assert number == annotate.Label("n_face", str(len(boxes)))
        if len(boxes) == len(expected):
            for label, (score, box) in zip(boxes, expected, strict=True):
                assert label.confidence == pytest.approx(score, abs=0.02)
                width, height = picture.size
                cut = np.clip(box, 0, [width, height, width, height])
                assert json.loads(label.region) == pytest.approx(cut.tolist(), abs=2.0)
    assert len(ours) == 15
    assert sum(a != b for a, b in zip(ours, theirs, strict=True)) <= 1
    assert Counter(theirs)[1] > 8 > Counter(theirs)[0]


@pytest.mark.slow
def test_faces_in_all_pictures_are_as_many_as_the_authors_recipe_finds(shared, faces):
    n = Counter(int(faces.process(one)[-1].value) for one in pictures(shared))
    assert (n.total(), n[1], n[0], max(n)) == (300, 204, 5, 22)


def test_a_picture_without_a_face_has_the_number_0(faces):
    grey = Picture("grey", "grey", _png(np.full((60, 80, 3), 128, np.uint8)))
    assert faces.process(grey) == [annotate.Label("n_face", "0")]


def test_a_face_lies_on_the_other_side_when_a_picture_is_flipped(shared, faces):
    told = ((picture, faces.process(picture)) for picture in pictures(shared))
    picture, (face, number) = next(
        (one, labels) for one, labels in told if len(labels) == 2 and labels[0].confidence > 0.99
    )
    pixels = picture.pixels()
    flipped = faces.process(Picture("f", "f", _png(np.ascontiguousarray(pixels[:, ::-1]))))
    x0, _, x1, _ = json.loads(face.region)
    y0, _, y1, _ = json.loads(flipped[0].region)
    assert flipped[1] == number
    assert [pixels.shape[1] - y1, pixels.shape[1] - y0] == pytest.approx([x0, x1], abs=8)
    assert abs(x0 + x1 - pixels.shape[1]) > 20


def test_thresholds_are_in_the_fingerprint_and_the_device_is_not(shared):
    def of(**more):
        return annotate.create({"detect": str(shared / MODEL), **more}).fingerprint

    changes = [{"confidence": 0.6}, {"smallest": 3}, {"overlap": 0.4}, {"classes": ["face"]}]
    changes += [{"attribute": "head"}, {"levels": [0, 255]}, {}]
    assert len({of(**change) for change in changes}) == len(changes)
    assert of() == of(device="cpu", batch=2, name="other")


def test_classes_are_as_many_as_the_columns_of_scores(shared):
    made = annotate.create({"detect": str(shared / MODEL), "classes": ["face", "hand"]})
    with pytest.raises(ModelUnusable, match=r"scores of 1 classes .* names 2 \(face, hand\)"):
        made.setup()


def _png(pixels):
    import io

    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "PNG")
    return out.getvalue()


def written(folder, outputs, size=(1, 3, 4, 6)):
    """An ONNX file that gives constant outputs whatever it is shown: name → array."""
    file = folder / "made.onnx"
    file.write_bytes(model(outputs, size))
    return file


SCORES = [[[0.1, 0.9, 0.2], [0.7, 0.1, 0.8], [0.9, 0.1, 0.1]]]
MIDDLES = [[[0.25, 0.25, 0.1, 0.1], [0.75, 0.75, 0.2, 0.2], [0.5, 0.5, 0.3, 0.3]]]
BOXES = [[[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 1.0, 1.0], [0.1, 0.1, 0.2, 0.2]]]


def test_boxes_of_several_classes_are_read_in_either_order_of_outputs(tmp_path):
    seen = Picture("p", "p", _png(np.full((20, 40, 3), 9, np.uint8)))
    for names in (("scores", "boxes"), ("boxes", "scores")):
        outputs = {name: {"scores": SCORES, "boxes": BOXES}[name] for name in names}
        file = written(tmp_path, outputs)
        made = annotate.create({"detect": str(file), "classes": ["person", "dog"], "attribute": "seen"})
        told = [(label.attribute, label.value, label.region) for label in made.process(seen)]
        assert told == [
            ("seen", "person", "[0, 0, 20, 10]"),
            ("seen", "dog", "[20, 10, 40, 20]"),
            ("n_seen", "2", None),
        ]


@pytest.mark.parametrize(
    ("outputs", "size", "match"),
    [
        (
            {"output0": np.zeros((1, 300, 6))},
            (1, 3, 4, 6),
            r"another kind; understood is .* output0 \[1, 300",
        ),
        ({"a": np.zeros((1, 3, 2)), "b": np.zeros((1, 3, 5))}, (1, 3, 4, 6), "another kind"),
        (
            {"scores": SCORES, "boxes": BOXES},
            (1, 4, 6, 3),
            r"another kind; .* found input input \[1, 4, 6, 3\]",
        ),
        ({"scores": SCORES, "boxes": np.multiply(BOXES, 640)}, (1, 3, 4, 6), "which are no shares"),
        ({"scores": np.multiply(SCORES, 9), "boxes": BOXES}, (1, 3, 4, 6), r"scores outside \[0, 1\]"),
        ({"scores": np.ones((1, 2, 3)), "boxes": BOXES}, (1, 3, 4, 6), "another kind"),
        ({"scores": SCORES, "boxes": BOXES}, (1, 3, 99999, 99999), r"another kind; .* found input .*99999"),
        (
            {"scores": SCORES, "boxes": BOXES},
            (1, 3, 0, 6),
            r"another kind; .* found input input \[1, 3, 0, 6\]",
        ),
        ({"scores": SCORES, "boxes": MIDDLES}, (1, 3, 4, 6), "mostly end before they begin, as a middle"),
    ],
)
def test_a_file_of_another_kind_is_refused_with_what_is_understood(tmp_path, outputs, size, match):
    file = written(tmp_path, outputs, size)
    with pytest.raises(ModelUnusable, match=match):
        annotate.create({"detect": str(file), "classes": ["person", "dog"]}).setup()


def test_a_file_that_is_not_there_or_torn_is_told(tmp_path):
    absent = annotate.create({"detect": "no.onnx"}, relative_to=tmp_path)
    with pytest.raises(UsageError, match=r"detector .*no.onnx': no file is there; check the path"):
        absent.require()
    (tmp_path / "torn.onnx").write_bytes(b"torn")
    with pytest.raises(ModelUnusable, match=r"cannot be loaded .* whole ONNX file"):
        annotate.create({"detect": "torn.onnx"}, relative_to=tmp_path).setup()
