"""A run of captions with pictures, captions and what a lexicon reads in them, as large as a test asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
from tests.report.made_up import (
    FINDING_TYPES,
    IMAGE_TYPES,
    LABEL_TYPES,
    FakeRun,
    draw,
    frame,
    image_row,
    label_row,
)
from tests.report.sections.captions.made_up_captions import row

from stereotrope.measure import profile
from stereotrope.measure.estimates import estimate_frame

COLOURS = ("#7b4a22", "#dca3a0", "#2e8b3d", "#2458c8", "#f2d022")


def score(model: int, prompt: int) -> float:
    """A composite that differs between models and prompts and lies in each of the bands."""
    return round(0.15 + 0.7 * ((3 * prompt + 2 * model) % 7) / 6, 3)


def gallery_run(
    path: Path,
    *,
    models: int = 2,
    prompts: int = 4,
    pictures: int = 4,
    shares: Sequence[float] = (0.5, 0.25, 0.25),
    phrasings: Sequence[str] = (),
    definitions: Sequence[str] = ("paper",),
    second: Mapping[str, str] | None = None,
    extra: Sequence[dict[str, Any]] = (),
    with_profile: bool = True,
    **info: Any,
) -> FakeRun:
    """Prompts, the last one without people; every second caption says female, then male, then neither.

    With ``second``, what a second lexicon reads for each value of the first one, there are two lexicons.
    """
    names, generators = [f"prompt {i}" for i in range(prompts)], [f"model-{i}" for i in range(models)]
    table, images, labels, shown, rows = [], [], [], {}, []
    for p, name in enumerate(names):
        for f, phrasing in enumerate(phrasings or (None,)):
            made = {"prompt": name} | ({"phrasing": phrasing} if phrasing else {})
            key = f"p{p}-{f}"
            table.append({"prompt_id": key, **made, "text": f"A picture of {name}", "negative": None})
            for g, generator in enumerate(generators):
                for i in range(pictures):
                    image = image_row(key, generator, i)
                    images.append(image)
                    shown[image["image_id"]] = draw(COLOURS[(g + p + i) % 5], COLOURS[(g + i) % 5], i % 4)
                    value = ("female", "male", "female", "unknown")[i % 4]
                    seen = f"caption {i} of {name} by {generator} says {value}"
                    labels.append(label_row(image["image_id"], "caption", seen, "captioner"))
                    labels.append(label_row(image["image_id"], "gender", value, "lexicon"))
                    if second:
                        labels.append(label_row(image["image_id"], "gender", second[value], "second"))
                scope = {"generator": generator, **made}
                measure = "contextual_diversity" if p == prompts - 1 else "cbs"
                rows += composite_rows(scope, measure, score(g, p), shares)
                if p == 1:
                    rows.append(row("cas", 0.9 - 0.1 * g, **scope))
                    rows.append(row("car", 0.3 + 0.15 * g, **scope))
    every = [{**r, "definition": d} for d in definitions for r in rows]
    if second:
        every = [{**r, "annotator": name} for name in ("lexicon", "second") for r in every]
    every += list(extra)
    factors = ["generator", "prompt", *["phrasing"] * bool(phrasings), *["annotator"] * bool(second)]
    estimates = estimate_frame(every, factors=factors)
    if with_profile:
        parts = [
            profile(part)
            for d in definitions
            for part in (
                estimates.filter(definition=d).partition_by("annotator")
                if second
                else [estimates.filter(definition=d)]
            )
        ]
        estimates = pl.concat([estimates, *parts], how="diagonal")
    base: dict[str, Any] = {
        "title": "Captions",
        "generators": [{"name": g} for g in generators],
        "annotators": [
            {"name": "captioner", "kind": "ImportedCaptions"},
            {"name": "lexicon", "kind": "LexiconAnnotator"},
            *[{"name": "second", "kind": "LexiconAnnotator"}] * bool(second),
        ],
    }
    return FakeRun(
        path,
        pl.DataFrame(table, schema_overrides={"negative": pl.String}),
        frame(images, IMAGE_TYPES),
        frame(labels, LABEL_TYPES),
        estimates,
        frame([], FINDING_TYPES),
        base | info,
        {},
        shown,
    )


def composite_rows(
    scope: dict[str, Any], measure: str, value: float, shares: Sequence[float]
) -> list[dict[str, Any]]:
    of = {**scope, "attribute": "gender"}
    return [
        row(measure, value, **of),
        *(
            row("representation_parity", share, category=group, **of)
            for group, share in zip(("female", "male", "unknown"), shares, strict=True)
        ),
    ]
