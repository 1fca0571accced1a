"""Judges of known faults, checked against the loopback server."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any
from unittest import mock

import pytest
from tests.conftest import unwritten

from stereotrope.calibrate import Calibration, calibrate, calibration_audit, design
from stereotrope.calibrate.pictures import CheckPictures
from stereotrope.generate import CalibratedGenerator, ImageResult, image_requests
from stereotrope.testing import Judge, Loopback

NOWHERE = "http://127.0.0.1:1/v1"


def spec(model: str, url: str = NOWHERE, **more: object) -> dict[str, object]:
    waits = {"tries": 2, "longest_wait": 0.01, "timeout": 20}
    return {"questions": f"openai:{model}", "base_url": url, "key": None, **waits, **more}


@cache
def drawn(images: int) -> tuple[dict[str, dict[str, str]], dict[str, dict[str, str]]]:
    """What a judge can see in every picture of a calibration, and what is painted into it."""
    truth, painted = {}, {}
    plan = calibration_audit([spec("any")], images=images).plan()
    drawn_by = {generator.name: generator for generator in plan.generators}
    for name, request in zip(plan.requests["drawn_by"], image_requests(plan.requests), strict=True):
        generator = drawn_by[name]
        sha256 = hashlib.sha256(generator.process(request).data).hexdigest()
        motif = getattr(generator, "motifs", {}).get(request.text)
        if motif is None or motif.kind != "blank":
            truth[sha256] = generator.values(request.text, request.seed)
        if motif is not None and motif.attribute is not None:
            painted[sha256] = dict([generator.claim(request.text, request.seed)])
    return truth, painted


@contextmanager
def drawing_once():
    """Each picture is drawn once, for who tells the judges what is on it and for the run that shows it."""
    kept: dict[tuple[str, str | None, int | None], ImageResult] = {}
    with ExitStack() as patched:
        for kind in (CalibratedGenerator, CheckPictures):
            draw = kind.process

            def process(self, request, draw=draw):
                key = self.fingerprint, request.text, request.seed
                return kept.setdefault(key, kept.get(key) or draw(self, request))

            patched.enter_context(mock.patch.object(kind, "process", process))
        yield


@contextmanager
def serving(images: int, **judges: Mapping[str, object]):
    """A server whose models know the pictures and have the faults that are given."""
    truth, painted = drawn(images)
    made = {name: Judge(painted=painted, **faults) for name, faults in judges.items()}
    with Loopback(truth=truth, judge=made) as server:
        yield server


def rows_of(card: Mapping[str, Any], check: str) -> dict[str, dict[str, Any]]:
    return {row["attribute"]: row for row in card["rows"] if row["check"] == check}


def verdicts(card: Mapping[str, Any]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for row in card["rows"]:
        found.setdefault(row["check"], set()).add(row["verdict"])
    return found


@contextmanager
def unseen():
    """Small pictures, of which nobody but models that know them by their hash makes anything, and no page."""
    small = {"generators": [{"calibrated": None, "size": 96}]}
    with mock.patch.dict(design._AUDIT, small), unwritten():
        yield


@dataclass(frozen=True)
class Checked:
    """Judges of known faults, checked in one run: the calibration, and the server with its counts then."""

    calibration: Calibration
    server: Loopback
    counts: Mapping[tuple[str, str | None, int], int]


@pytest.fixture(scope="session")
def checked(tmp_path_factory):
    """Five judges of known faults, checked in one run; their server answers on."""
    faults = {
        "none": {},
        "tenth": {"error": 0.1},
        "quarter": {"error": 0.25},
        "gullible": {
            "order_bias": 0.6, "answers_blank": 1.0, "answers_without_picture": 1.0, "obeys_text": 0.7
        },
        "refusing": {},
    }  # fmt: skip
    with drawing_once(), ExitStack() as stays:
        with unseen():
            server = stays.enter_context(serving(10, **faults))
            server.misbehave("refusal", times=None, model="refusing")
            specs = [spec(model, server.url, price=0, concurrency=2) for model in faults]
            found = calibrate(specs, tmp_path_factory.mktemp("judges") / "run", images=10)
        yield Checked(found, server, server.counts())


@pytest.fixture
def card(checked, request):
    """The card of the judge that a test names."""
    return next(card for card in checked.calibration.cards if card["annotator"] == request.param)
