"""Trying the measures of an audit on made-up labels: a mistake is told before a picture is paid for."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from stereotrope.errors import DefinitionError, InputError, UsageError
from stereotrope.inputs.yaml import Source
from stereotrope.measure import GENERATOR, MeasureCall, MeasureFrame, MeasureSetting
from stereotrope.tables import CONSTRAINTS, QUALITY_ATTRIBUTES

FEW = {"n_permutations": 99, "n_bootstrap": 100}
"""Shuffles and resamples of a rehearsal, whose numbers nobody reads."""


def rehearse(
    calls: Sequence[tuple[MeasureCall, tuple[str | int, ...]]], setting: MeasureSetting, source: Source
) -> None:
    """Call every measure on one made-up picture a level.

    Raises AuditFileError: A measure refuses its arguments: a level that is not there, a factor compared and
        held fixed …
    """
    labels, images = _made_up(setting)
    frames: dict[MeasureFrame, pl.DataFrame] = {}
    done: list[pl.DataFrame] = []
    for call, where in calls:
        few = {k: min(n, FEW[k]) for k, n in call.arguments.items() if k in FEW}
        model = pl.lit(call.baseline_model).alias(GENERATOR)
        try:
            if call.reads:
                data = pl.concat(done, how="diagonal")
                data = data if call.baseline_model is None else data.with_columns(model)
            else:
                if call.frame not in frames:
                    frames[call.frame] = call.frame.made_up(images, labels)
                data = frames[call.frame]
                if call.baseline_model is not None:
                    again = pl.concat_str("image_id", pl.lit(" too")).alias("image_id")
                    data = pl.concat([data, data.with_columns(model, again)])
            done.append(replace(call, arguments={**call.arguments, **few})(data))
        except (UsageError, InputError, DefinitionError) as error:
            message = str(error).removeprefix(f"{call.name}: ")
            raise source.error(f"measure {call.name!r}: {message}", *where) from None


def _made_up(setting: MeasureSetting) -> tuple[pl.DataFrame, pl.DataFrame]:
    prompts, factors = setting.prompts, setting.factors
    few = pl.concat(
        [prompts.head(1), *(prompts.unique(f, keep="first", maintain_order=True) for f in factors)]
    )
    images = few.unique("prompt_id", keep="first", maintain_order=True).select(
        pl.col("prompt_id").alias("image_id"),
        "prompt_id",
        pl.lit(GENERATOR).alias(GENERATOR),
        *factors,
        pl.lit("ok").alias("status"),
        pl.lit(None, pl.String).alias("reason"),
    )
    asked = [
        (name, values[0] if values else "value", annotator.name, annotator.subject)
        for annotator in setting.annotators
        for name, values in annotator.attributes.items()
        if name not in QUALITY_ATTRIBUTES or name in CONSTRAINTS
    ]
    attributes = pl.DataFrame(
        asked,
        schema=dict.fromkeys(("attribute", "value", "annotator", "subject_kind"), pl.String),
        orient="row",
    )
    labels = images.drop("status", "reason").join(attributes, how="cross")
    return labels.with_columns(pl.lit(None, pl.String).alias("excluded")), images
