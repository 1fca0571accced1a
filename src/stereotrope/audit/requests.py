"""Which pictures are asked of which generator."""

from collections.abc import Sequence

import polars as pl

from stereotrope.audit.file import AuditSpec
from stereotrope.generate import REQUESTS, Generator, ImageRequest, request_id, requests_frame
from stereotrope.inputs.yaml import Source

NO_REQUESTS = pl.DataFrame(schema={**REQUESTS, "drawn_by": pl.String})
"""Requests of a plan; ``drawn_by`` names the entry: one folder may hold pictures of several generators."""

SEEDS_PER_AUDIT = 100_000
"""Picture i of a prompt has seed ``audit seed × 100,000 + i``: audits with different seeds share none."""

MOST_PICTURES = 1_000_000
"""More pictures than this in one audit are a slip; they would fill the memory before the first is drawn."""


def requests_of(
    designed: pl.DataFrame | None,
    generators: Sequence[Generator],
    count: int,
    spec: AuditSpec,
    source: Source,
) -> tuple[pl.DataFrame, pl.DataFrame, tuple[str, ...]]:
    """Return the prompts, what is asked of whom, and what the folders of pictures left out.

    Raises AuditFileError: A generator cannot serve a prompt, nothing is asked for, or far too much.
    """
    prompts: list[pl.DataFrame] = [] if designed is None else [designed]
    requests = [NO_REQUESTS]
    notes: list[str] = []
    for index, generator in enumerate(generators):
        listed = generator.requests(designed)
        if listed is not None:
            frame, asked = listed
            notes += generator.notes
            if designed is None:
                prompts.append(frame)
        elif designed is not None:
            asked = _drawn(generator, designed, count, spec, source)
        else:
            raise source.error(
                f"generator {generator.name!r} draws, and no prompt is asked for; add `suite: objects`, "
                "`objects` and `dimensions`, or `prompts`",
                "generators",
                index,
            )
        requests.append(asked.with_columns(drawn_by=pl.lit(generator.name)))
    together = pl.concat(prompts, how="diagonal").unique("prompt_id", keep="first", maintain_order=True)
    every = pl.concat(requests)
    if every.is_empty():
        raise source.error(
            "generators: no picture is asked for; check the folder and its metadata", "generators"
        )
    return together, every, tuple(notes)


def _drawn(
    generator: Generator, prompts: pl.DataFrame, count: int, spec: AuditSpec, source: Source
) -> pl.DataFrame:
    if prompts.height * count > MOST_PICTURES:
        raise source.error(
            f"images_per_prompt: {prompts.height:,} prompts × {count:,} are {prompts.height * count:,} "
            f"pictures, at most {MOST_PICTURES:,} are possible; lower it, or list fewer levels",
            "images_per_prompt",
        )
    texts = prompts.select("prompt_id", "text", "negative")
    for _, text, negative in texts.iter_rows():
        reason = generator.check(text, negative)
        if reason:
            raise source.error(
                f"generator {generator.name!r}: {reason}", "objects" if spec.objects else "prompts"
            )
    numbers = range(spec.seed * SEEDS_PER_AUDIT, spec.seed * SEEDS_PER_AUDIT + count)
    return requests_frame(
        _request(generator, prompt_id, text, negative, number)
        for prompt_id, text, negative in texts.iter_rows()
        for number in numbers
    )


def _request(
    generator: Generator, prompt_id: str, text: str, negative: str | None, number: int
) -> ImageRequest:
    """One picture; a model that takes no seed is told none, and the picture's number keeps it apart."""
    seed, params = (number, {}) if generator.seeded else (None, {"picture": number})
    image_id = request_id(generator.fingerprint, text, negative, seed, params)
    return ImageRequest(image_id, prompt_id, generator.name, text, negative, seed, params)
