"""Pictures and labels that are made up for the design of an audit, and what its own measures read of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from stereotrope.audit.estimating import MeasuredRun, measured_run, tidy_labels_of_run
from stereotrope.audit.made_shares import drawn_shares
from stereotrope.audit.plan import Plan
from stereotrope.audit.subjects import Subjects
from stereotrope.audit.work import Silent
from stereotrope.further_tables import TableSources
from stereotrope.measure import GENERATOR, MeasureCall
from stereotrope.stats import special
from stereotrope.stats.arrays import Floats
from stereotrope.tables import (
    CAPTION,
    CONSTRAINTS,
    EMBEDDINGS,
    IMAGES,
    LABELS,
    MITIGATION,
    SCENARIO,
    Column,
    polars_types,
)

OPEN_VALUES = 4
"""Values of an attribute, and attributes, where an audit does not know them yet."""
_PLACED = ["condition", "model", "prompt", "unit"]
_MODELS = 2
"""Models whose pictures are made up: more are alike."""
_GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True)
class Making:
    """How pictures are made up.

    seed: Of the shares, which are the same whatever else is said here, and of the pictures.
    icc: Correlation within a prompt, of what is drawn before it is cut into values, where a condition has
        several prompts.
    unlike: Greatest power of an exponential number that is the factor by which a model, and a mitigation,
        shows a value more often than others do: with 0 they are alike, with 2 they differ by hardly anything
        or by all that is possible.
    evenly: Whether values come as often as their shares say, in each prompt and all parts of a condition,
        and not by chance: scores of such pictures are, nearly, what those of pictures without end would be.
    again: Which of many drawings of pictures with these shares it is.
    """

    seed: Sequence[int]
    icc: float = 0.0
    unlike: float = 0.0
    evenly: bool = False
    again: int = 0


def made_scores(plan: Plan, factor: float, making: Making) -> MeasuredRun:
    """What the measures of a plan read of pictures and labels that are made up for its design.

    Every picture can be used, and everything that is asked of it is answered, by all annotators alike. The
    pictures of a *condition* show each value of an attribute with a share that is drawn evenly from all that
    are possible.

    factor: By how many times as many pictures as are asked for.
    """
    made = replace(plan, requests=_more(plan.requests, factor))
    images = _filled(
        made.requests.select("image_id", "prompt_id", GENERATOR, status=pl.lit("ok"), sha256="image_id"),
        IMAGES,
    )
    subjects = Subjects(made, images)
    labels = _answers(made, subjects, making)
    vectors = pl.DataFrame(schema=polars_types(EMBEDDINGS))
    sources = TableSources(made.prompts, images, labels, subjects.table(labels), vectors, made.annotators)
    tidy = tidy_labels_of_run(subjects, labels)
    return measured_run(subjects, tidy, sources, Silent(), partial=True)


def refuse_counted(plan: Plan) -> None:
    """Raise AuditFileError where an audit asks for no pictures, but counts files of labels."""
    if plan.cells is not None:
        raise plan.source.error(
            "power: label files are counted, and not read picture by picture; take out `counted: true`, or "
            "plan with a smaller file",
            "counted",
        )


def _more(requests: pl.DataFrame, factor: float) -> pl.DataFrame:
    """Requests for so many times as many pictures of each prompt, one at least."""
    cells = requests.group_by(GENERATOR, "prompt_id", maintain_order=True).agg(
        pl.exclude(GENERATOR, "prompt_id").first(), _n=pl.len()
    )
    wanted = (pl.col("_n") * factor).round().cast(pl.Int64).clip(1)
    every = cells.with_columns(_at=pl.int_ranges(wanted)).explode("_at")
    return every.with_columns(image_id=pl.format("{}.{}", "image_id", "_at")).select(requests.columns)


def _filled(rows: pl.DataFrame, columns: Sequence[Column]) -> pl.DataFrame:
    """The rows of a table of a run, null in the columns that they lack."""
    types = polars_types(columns)
    more = [pl.lit(None, kind).alias(name) for name, kind in types.items() if name not in rows.columns]
    return rows.with_columns(more).select(list(types))


def _answers(plan: Plan, subjects: Subjects, making: Making) -> pl.DataFrame:
    """Labels that answer all that is asked of pictures and of sets of them."""
    places = _places(plan)
    asked = _asked(subjects).join(places, on=[GENERATOR, "prompt_id"], maintain_order="left")
    said = [
        part.with_columns(value=_drawn(part, _values(plan, name), making, 0, at))
        for at, ((name,), part) in enumerate(asked.group_by("attribute", maintain_order=True))
    ]
    made = subjects.images.select("image_id", "prompt_id", GENERATOR)
    pictures = made.join(places, on=[GENERATOR, "prompt_id"], maintain_order="left").with_columns(
        subject_kind=pl.lit("image"), subject_id="image_id", unit="image_id"
    )
    said += [
        part.with_columns(value=_drawn(part, [element, None], making, 1, at)).drop_nulls("value")
        for at, (part, element) in enumerate(_listed(plan, pictures))
    ]
    answers = pl.concat([asked.clear().with_columns(value=pl.lit(None, pl.String)), *said], how="diagonal")
    captions = _captions(plan, pictures, answers)
    return _filled(pl.concat([answers, *captions], how="diagonal").with_columns(status=pl.lit("ok")), LABELS)


def _captions(plan: Plan, pictures: pl.DataFrame, answers: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Captions that hold the words for what else is read in a picture."""
    words = answers.group_by("image_id").agg(value=pl.col("value").unique(maintain_order=True).str.join(" "))
    for one in plan.annotators:
        if CAPTION in one.attributes:
            told = pictures.join(words, on="image_id", how="left", maintain_order="left")
            yield told.with_columns(
                pl.col("value").fill_null("a picture"), annotator=pl.lit(one.name), attribute=pl.lit(CAPTION)
            )


def _asked(subjects: Subjects) -> pl.DataFrame:
    """What is asked of each picture and set, and by whom; sets of the same pictures are one ``unit``."""
    nothing = pl.DataFrame(schema=polars_types(LABELS))
    sets = subjects.table(nothing).filter(subject_kind="set").sort("image_id").group_by("subject_id")
    first = sets.agg(pl.col("image_id").first(), unit=pl.col("image_id").str.join(" "))
    of_sets = subjects.asked_of_parts(nothing).rename({"image_id": "subject_id"}).join(first, on="subject_id")
    of_images = subjects.asked().with_columns(subject_id="image_id", unit="image_id")
    columns = ["subject_kind", "subject_id", "annotator", "attribute", "image_id", "unit"]
    both = (of_images, "image"), (of_sets, "set")
    every = pl.concat([one.with_columns(subject_kind=pl.lit(kind)).select(columns) for one, kind in both])
    made = subjects.images.select("image_id", "prompt_id", GENERATOR)
    return every.join(made, on="image_id", maintain_order="left")


def _places(plan: Plan) -> pl.DataFrame:
    """Model, prompt and condition of all pictures of a prompt by a model, as numbers.

    A condition is what measures tell apart but for the model and the mitigation; prompts of one scenario are
    wordings of it.
    """
    used = {name for call in plan.measures for given in _given(call) for name in given}
    told = [name for name in plan.factors if name in used and name != MITIGATION]
    if SCENARIO in told:
        others = [name for name in told if name != SCENARIO]
        levels = plan.prompts.group_by(SCENARIO).agg(pl.col(others).n_unique())
        told = [SCENARIO, *(name for name in others if levels[name].max() == 1)]
    cells = plan.requests.select(GENERATOR, "prompt_id").unique(maintain_order=True)
    apart = [GENERATOR, *({MITIGATION} & set(plan.prompts.columns))]
    cells = cells.join(
        plan.prompts.select("prompt_id", *told, *apart[1:]), on="prompt_id", maintain_order="left"
    )
    condition, model = (
        pl.struct(*names).rank("dense").cast(pl.Int64) - 1 if names else pl.lit(0, pl.Int64)
        for names in (told, apart)
    )
    placed = cells.select(
        GENERATOR, "prompt_id", prompt=pl.int_range(pl.len()), condition=condition, model=model
    )
    return placed.with_columns(several=pl.col("prompt_id").n_unique().over("condition") > 1)


def _given(call: MeasureCall) -> Iterator[Sequence[str]]:
    """What a measure is called with that may be factors."""
    for name, parameter in call.info.parameters.items():
        one = call.arguments.get(name, parameter.default)
        yield [one] if isinstance(one, str) else one if isinstance(one, list | tuple) else ()


def _values(plan: Plan, attribute: object) -> Sequence[str]:
    """The values of an attribute; no picture breaks its prompt."""
    if attribute in CONSTRAINTS:
        return ["no"]
    listed = list(dict.fromkeys(plan.listed.get(str(attribute)) or ()))
    return listed or [f"value {i}" for i in range(1, OPEN_VALUES + 1)]


def _listed(plan: Plan, pictures: pl.DataFrame) -> Iterator[tuple[pl.DataFrame, str]]:
    """What may stand in a list that annotators read of pictures, each with the pictures that may show it."""
    levels = {row["prompt_id"]: row for row in plan.prompts.to_dicts()}
    for one in plan.annotators:
        prompts: dict[tuple[str, str], list[str]] = {}
        for prompt, of in levels.items():
            for name, elements in one.elements(of).items():
                for element in elements:
                    prompts.setdefault((name, element), []).append(prompt)
        for (name, element), having in prompts.items():
            showing = pictures.filter(pl.col("prompt_id").is_in(having))
            yield showing.with_columns(annotator=pl.lit(one.name), attribute=pl.lit(name)), element


def _drawn(part: pl.DataFrame, values: Sequence[str | None], making: Making, kind: int, at: int) -> pl.Series:
    """A value of each row, the same for all that ask the same of a unit.

    kind, at: What tells it from all else that is drawn.
    """
    rng = np.random.default_rng([*making.seed, kind, at])
    codes = part.select((pl.col(name).rank("dense").cast(pl.Int64) - 1) for name in _PLACED)
    condition, model, prompt, unit = (codes[name].to_numpy() for name in _PLACED)
    shares = drawn_shares(rng, condition.max() + 1, len(values))
    if making.unlike:
        more = rng.exponential(size=(model.max() + 1, 1, len(values))) ** (making.unlike * rng.random())
        shares = (shares * more).reshape(-1, len(values))
        shares /= shares.sum(axis=1, keepdims=True)
        condition = model * (condition.max() + 1) + condition
    if making.evenly:
        drawn = _spaced(rng, prompt, unit)
    else:
        alike = np.where(part["several"].to_numpy(), making.icc, 0.0)
        chance = np.random.default_rng([*making.seed, kind, at, making.again]) if making.again else rng
        of_prompt, own = (chance.normal(size=code.max() + 1)[code] for code in (prompt, unit))
        drawn = np.sqrt(alike) * of_prompt + np.sqrt(1 - alike) * own
    ends = special.ndtri(np.cumsum(shares, axis=1)[:, :-1].clip(0, 1))
    chosen = (drawn[:, None] > ends[condition]).sum(axis=1)
    return pl.Series(list(values), dtype=pl.String).gather(chosen)


def _spaced(rng: np.random.Generator, prompt: np.ndarray, unit: np.ndarray) -> Floats:
    """Normal quantiles of units that are evenly spaced among those of any prompts that follow one another.

    Steps of the golden ratio leave no place out, wherever one begins and ends; within a prompt they come in
    any order, so that what is drawn beside does not depend on it.
    """
    first = np.zeros(unit.max() + 1, int)
    first[unit] = prompt
    order = np.lexsort((rng.random(first.size), first))
    place = np.empty(first.size)
    place[order] = (rng.random() + _GOLDEN * np.arange(first.size)) % 1.0
    return np.asarray(special.ndtri(place.clip(1e-9, 1 - 1e-9))[unit])


def pictures_per_prompt(plan: Plan) -> float:
    """Pictures of a prompt by one model, on the mean."""
    cells = plan.requests.select(GENERATOR, "prompt_id").unique().height
    return plan.requests.height / max(1, cells)


def two_models(plan: Plan, quick: Mapping[str, int]) -> Plan:
    """The plan with two models at most and as much of what takes time as ``quick`` says at most."""
    few = plan.requests[GENERATOR].unique(maintain_order=True)
    first = dict.fromkeys([*plan.baseline.values(), *few])
    models = [name for name in first if name in set(few)][:_MODELS]
    calls = []
    for call in plan.measures:
        few_of = {name: min(n, quick[name]) for name, n in call.arguments.items() if name in quick}
        calls.append(replace(call, arguments={**call.arguments, **few_of}))
    requests = plan.requests.filter(pl.col(GENERATOR).is_in(models))
    # Who labels a part of the pictures as right is not known to label which.
    annotators = tuple(one for one in plan.annotators if one.name not in plan.references)
    return replace(plan, requests=requests, measures=tuple(calls), annotators=annotators, references=())
