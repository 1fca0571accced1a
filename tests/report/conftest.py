"""Runs made up for the report: an audit of objects and one of people, small and complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from tests.report.in_browser import CHROMIUM, FLAGS, PATIENCE, Visit
from tests.report.made_up import (
    FINDING_TYPES,
    IMAGE_TYPES,
    LABEL_TYPES,
    SPENDING_TYPES,
    FakeRun,
    draw,
    finding,
    frame,
    image_row,
    label_row,
)
from tests.report.made_up_objects import make_objects
from tests.report.made_up_people import make_people

from stereotrope.measure.estimates import estimate_frame


@pytest.fixture(scope="session")
def objects_run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_objects(tmp_path_factory.mktemp("objects"))


@pytest.fixture(scope="session")
def people_run(tmp_path_factory: pytest.TempPathFactory) -> FakeRun:
    return make_people(tmp_path_factory.mktemp("people"))


@pytest.fixture(scope="session")
def make_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., FakeRun]:
    """A run with one prompt and one picture whose texts the test chooses."""

    def make(
        text: str = "a cup", value: str = "red", *, name: str = "m", level: str = "x", **info: Any
    ) -> FakeRun:
        prompts = pl.DataFrame(
            {
                "prompt_id": ["p0", "p1"],
                "group": ["base", level],
                "text": [text, text],
                "negative": [None, None],
            },
            schema_overrides={"negative": pl.String},
        )
        images = [
            image_row(p, name, i, reason=text if i else None, status="refused" if i else "ok")
            for p in ("p0", "p1")
            for i in range(2)
        ]
        labels = [
            label_row(i["image_id"], "product_colour", value, name) for i in images if i["status"] == "ok"
        ]
        ids = [i["image_id"] for i in images if i["status"] == "ok"]
        estimates = estimate_frame(
            [
                {
                    "measure": "bds",
                    "definition": "paper",
                    "generator": name,
                    "group": level,
                    "contrast": "group",
                    "reference": "base",
                    "attribute": "all",
                    "value": 0.4,
                    "low": 0.3,
                    "high": 0.5,
                    "level": 0.95,
                    "n": 20,
                    "q_value": 0.01,
                    "source": text,
                    "method": text,
                    "flags": value,
                },
                {
                    "measure": "share",
                    "definition": value,
                    "generator": name,
                    "group": level,
                    "attribute": value,
                    "category": value,
                    "undefined": text,
                    "n": 0,
                },
            ],
            factors=["generator", "group"],
        )
        told = {"value": 0.5, "low": 0.4, "high": 0.6, "level": 0.95, "n": 20}
        shares = {
            "definition": "share",
            "generator": name,
            "group": level,
            "attribute": value,
            "category": text,
        }
        both = [{**told, **shares, "measure": measure} for measure in ("corrected_share", "raw_share")]
        estimates = pl.concat([estimates, estimate_frame(both, factors=["generator", "group"])])
        rows = [finding(1, "deterministic", {"group": level}, value, text, ids)]
        base: dict[str, Any] = {
            "title": text,
            "generators": [{"name": name, "kind": value, "fingerprint": "f", "note": text}],
            "annotators": [{"name": name, "kind": "k", "fingerprint": "f", "attributes": {value: [value]}}],
            "notes": [text],
            "baseline": {"group": "base"},
            "level": 0.95,
            "seed": 0,
            "missing": [{"stage": text, "name": name, "n": 1, "of": 2, "reason": text}],
            "published": [
                {"measure": "bds", "definition": d, "generator": name, "group": level, "attribute": "all",
                 "value": 0.2, "source": text}
                for d in ("paper", "released", value)
            ],
            "judge_cards": [
                {"annotator": name, "fit": False, "checked_on": text, "sentence": text,
                 "rows": [{"check": value, "attribute": value, "value": None, "low": None, "high": None,
                           "n": 3, "limit": 0.1, "verdict": value, "reason": text}]}
            ],
        }  # fmt: skip
        return FakeRun(
            tmp_path_factory.mktemp("run"),
            prompts,
            frame(images, IMAGE_TYPES),
            frame(labels, LABEL_TYPES),
            estimates,
            frame(rows, FINDING_TYPES),
            base | info,
            {"report": {"title": text}},
            {i: draw("#cc2222", "#ffffff", 1) for i in ids},
            pl.DataFrame(
                [(name, text, value, 9, 5, 1, 1, 2, 0, 0, 4, 1.5, 3)], schema=SPENDING_TYPES, orient="row"
            ),
        )

    return make


@pytest.fixture(scope="session")
def objects_report(objects_run: FakeRun) -> Path:
    from stereotrope import report

    return report.write(objects_run, figures=False)


@pytest.fixture(scope="session")
def people_report(people_run: FakeRun) -> Path:
    from stereotrope import report

    return report.write(people_run, figures=False)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium, closed after each file of tests: its event loop would be in the way of others."""
    if CHROMIUM is None:
        reason = "no Chromium is installed"
        if os.environ.get("STEREOTROPE_REQUIRE_ALL") == "1":
            pytest.fail(f"STEREOTROPE_REQUIRE_ALL=1, but {reason}")
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as p:
        started = p.chromium.launch(executable_path=CHROMIUM, args=FLAGS, timeout=PATIENCE)
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any) -> Iterator[Any]:
    opened: list[Visit] = []

    def go(index: Path, **context: Any) -> Visit:
        opened.append(Visit(browser, index, **context))
        return opened[-1]

    yield go
    for one in opened:
        one.context.close()
