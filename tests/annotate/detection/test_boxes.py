"""Which boxes count, against a plain reading of the rule."""

import json

import numpy as np
import pytest

from stereotrope.annotate.detection.boxes import Detections, counted_boxes, suppress

PLAIN = {"classes": ["person"], "confidence": 0.5, "smallest": 0.0, "overlap": None}


def found(*rows, names=None):
    boxes = np.array([row[:4] for row in rows], float).reshape(-1, 4)
    return Detections(boxes, np.array([row[4] for row in rows]), names or ["person"] * len(rows))


def iou(a, b):
    wide = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
    high = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
    area = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return wide * high / (sum(area) - wide * high)


def test_boxes_come_surest_first_cut_to_the_picture_in_whole_pixels():
    told = counted_boxes(found((-3, 2.4, 8.6, 30, 0.6), (1, 1, 5, 5, 0.9)), 20, 10, **PLAIN)
    assert [(json.loads(one.region), one.score) for one in told] == [
        ([1, 1, 5, 5], 0.9),
        ([0, 2, 9, 10], 0.6),
    ]


def test_a_score_at_the_limit_counts_and_one_below_does_not():
    assert len(counted_boxes(found((0, 0, 5, 5, 0.5), (5, 5, 9, 9, 0.4999)), 20, 10, **PLAIN)) == 1


@pytest.mark.parametrize(("smallest", "n"), [(0, 3), (2, 2), (0.3, 1), (4, 0)])
def test_the_shorter_side_counts_in_pixels_or_as_a_share_of_the_pictures_shorter_side(smallest, n):
    boxes = found((0, 0, 1.5, 9, 0.9), (3, 0, 5, 9, 0.9), (6, 0, 18, 3, 0.9), (8, 5, 8.4, 9, 0.9))
    assert len(counted_boxes(boxes, 20, 10, **PLAIN | {"smallest": smallest})) == n


def test_classes_that_are_not_asked_for_are_left_out_and_do_not_suppress_one_another():
    same = [(0, 0, 6, 6, 0.9), (0, 0, 6, 7, 0.8), (0, 0, 7, 6, 0.7)]
    boxes = found(*same, names=["cat", "person", "dog"])
    told = counted_boxes(boxes, 20, 10, **PLAIN | {"classes": ["person", "dog"], "overlap": 0.1})
    assert [one.name for one in told] == ["person", "dog"]


def test_at_the_very_same_place_the_surest_stays():
    boxes = found((0, 0, 6, 6, 0.7), (0.1, 0, 6.2, 6, 0.9), names=["dog", "person"])
    (told,) = counted_boxes(boxes, 20, 10, **PLAIN | {"classes": ["person", "dog"]})
    assert (told.name, told.score) == ("person", 0.9)


def test_nothing_found_is_nothing():
    assert counted_boxes(found(), 20, 10, **PLAIN) == []


def test_suppression_agrees_with_a_plain_reading_of_it():
    rng = np.random.default_rng(8)
    for overlap in (0.1, 0.3, 0.6):
        corners = rng.uniform(0, 10, (60, 2))
        boxes = np.hstack([corners, corners + rng.uniform(1, 8, (60, 2))])
        groups = rng.integers(0, 2, 60)
        kept = []
        for at in range(60):
            rivals = (k for k in kept if groups[k] == groups[at])
            if all(iou(boxes[k], boxes[at]) <= overlap for k in rivals):
                kept.append(at)
        assert suppress(boxes, groups, overlap).tolist() == kept
        assert 2 < len(kept) < 60
