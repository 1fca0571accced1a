"""What findings say of the instruments: labels that cannot be used, marks, copies."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.finder import Candidate, RunEvidence, finder, scope_of
from stereotrope.measure.join import NOT_LABELLED, PICTURE_REASONS
from stereotrope.measure.sentences import clean, quoted, span
from stereotrope.measure.setting import GENERATOR
from stereotrope.measure.units import FEWEST_PROMPTS, FEWEST_SEEDS, SEED_COLUMN
from stereotrope.stats import wilson
from stereotrope.stats.arrays import Floats
from stereotrope.tables import N_SUBJECTS, kept_images

UNDELIVERED = "undelivered"
"""Name under which a run says what files lack of its design."""
_MARK = "text_mark"
"""Attribute of a label that says that a text belongs to a model's pictures and not to what they show."""
_LITTLE_LABELLED = 0.05
"""Share of unusable labels above which the annotator itself is a finding."""
_LITTLE_OF_A_LEVEL = 0.1
"""The same of the pictures of one level of a factor, which it is above beyond chance."""
_UNEVEN = 0.01
"""How often labels that are missing evenly are called uneven, at most, over the levels of a factor."""
_LOW_ACCURACY = 0.90
"""Agreement with a reference below which the annotator itself is a finding: our choice, not a standard."""
_OF_A_COIN = 0.5
"""Agreement that an interval of fewer than ten answers must end below, as that of 0 of 4 does."""

_FEW_SEEDS = "all of it was drawn with the same seeds, fewer than four, which might have made it"
"""Doubt of a difference."""
_N, _LOST = "\0n", "\0lost"
"""Columns under names that no factor has."""
_MOST_NAMED = 6
"""Attributes that one sentence names."""
_MOST_READ = 3
"""Readings of one mark that are quoted, where OCR reads it differently each time."""


@finder("instrument", place=89)
def undelivered_pictures(evidence: RunEvidence) -> Iterator[Candidate]:
    """Models whose files hold fewer pictures than the design asks for."""
    for one in evidence.said.get(UNDELIVERED, ()):
        models = one["generators"]
        scope = {"generator": str(models[0])} if len(models) == 1 else {}
        yield Candidate.warns(scope, None, one["sentence"], "effective_n", UNDELIVERED)


@finder("instrument", place=90)
def unusable_labels(evidence: RunEvidence) -> Iterator[Candidate]:
    """Attributes of which an annotator read too little, those without the same pictures in one finding.

    Too little is a part of all pictures, or a larger one of those of one level of a factor.
    """
    tidy = evidence.labels
    by = ["attribute", *(["annotator"] if "annotator" in tidy.columns else [])]
    there = tidy.filter(~pl.col("excluded").fill_null("").is_in(list(PICTURE_REASONS)))
    factors = [name for name in evidence.pictures.varying if name != "annotator"]
    if N_SUBJECTS in tidy.columns:
        yield from _unusable_counts(there, by, factors)
        return
    there = there.select(*by, "image_id", "excluded", *factors)
    alike: dict[tuple[Any, ...], list[str]] = {}
    # One after another: a sorted copy of millions of labels is as large as they are.
    for key in there.select(by).unique().sort(by).rows():
        part = there.filter(*(pl.col(name).eq_missing(level) for name, level in zip(by, key, strict=True)))
        # A picture may have several labels: it is lost where none of them can be used.
        unusable = pl.col("excluded").is_not_null().all().over("image_id")
        pictures = part.with_columns(unusable.alias(_LOST), pl.lit(1).alias(_N))
        pictures = pictures.unique("image_id", keep="first", maintain_order=True)
        if len(key) > 1 and (key[1], key[0]) in evidence.proven:
            # Who is taken for right need not label all pictures: what was never asked is no failure.
            pictures = pictures.filter(~pl.col(_LOST) | (pl.col("excluded") != NOT_LABELLED))
        n, lost = pictures.height, pictures.filter(_LOST)
        if lost.height <= _LITTLE_LABELLED * n and not _loses_a_level(pictures, factors):
            continue
        reasons = tuple(sorted(Counter(lost["excluded"].to_list()).items(), key=lambda i: (-i[1], i[0])))
        annotator = key[1] if len(key) > 1 else None
        same = (annotator, n, reasons, tuple(lost["image_id"].to_list()), _where(pictures, factors))
        alike.setdefault(same, []).append(str(key[0]))
    for (annotator, n, reasons, images, where), attributes in alike.items():
        yield _unusable(annotator, attributes, len(images), n, reasons, images, where)


def _unusable_counts(there: pl.DataFrame, by: Sequence[str], factors: Sequence[str]) -> Iterator[Candidate]:
    """The same of labels that are counted, one each."""
    reason = pl.col("excluded")
    for key, part in there.sort(by, maintain_order=True).group_by(by, maintain_order=True):
        counted = part.group_by(reason).agg(n=pl.col(N_SUBJECTS).sum())
        lost, n = counted.filter(reason.is_not_null()), int(counted["n"].sum())
        counts = part.with_columns(reason.is_not_null().alias(_LOST), pl.col(N_SUBJECTS).alias(_N))
        if (missing := int(lost["n"].sum())) > _LITTLE_LABELLED * n or _loses_a_level(counts, factors):
            reasons = sorted(lost.select("excluded", "n").iter_rows(), key=lambda i: (-i[1], i[0]))
            where = _where(counts, factors)
            yield _unusable(key[1] if len(key) > 1 else None, [str(key[0])], missing, n, reasons, (), where)


def _loses_a_level(pictures: pl.DataFrame, factors: Sequence[str]) -> bool:
    """Whether some level of a factor, of enough pictures to be told, has too few labels that can be used."""
    if not pictures[_LOST].any():
        return False
    for levels in (_levels(pictures, factor) for factor in factors):
        low, _ = _missed(levels)
        whole = (levels["k"] == levels["n"]).to_numpy()
        if (whole | ((low > _LITTLE_OF_A_LEVEL) & (levels.height > 1))).any():
            return True
    return False


def _levels(pictures: pl.DataFrame, factor: str) -> pl.DataFrame:
    """``level, n, k``: pictures of each level of a factor that has enough, and how many are lost."""
    levels = pictures.group_by(level=factor).agg(n=pl.col(_N).sum(), k=(pl.col(_N) * pl.col(_LOST)).sum())
    return levels.filter(pl.col("level").is_not_null(), pl.col("n") >= SMALL_N)


def _missed(levels: pl.DataFrame) -> tuple[Floats, Floats]:
    """Between what the share of lost pictures is in each level."""
    return wilson(levels["k"].to_numpy(), levels["n"].to_numpy(), level=1 - _UNEVEN / max(1, levels.height))


def _where(pictures: pl.DataFrame, factors: Sequence[str]) -> str:
    """Two levels of the factor by which labels are missing most unevenly, if that is beyond chance.

    All against none is beyond it with the fewest pictures that are told.

    pictures: The factors, how many pictures ``_N`` a row stands for, and whether these are ``_LOST``.
    """
    found = [(0.0, "")]
    for factor in factors:
        levels = _levels(pictures, factor)
        if levels.height < 2:
            continue
        low, high = _missed(levels)
        levels = levels.with_columns(low=low, high=high, share=pl.col("k") / pl.col("n")).sort(
            "share", "level"
        )
        least, *_, most = levels.rows(named=True)
        if most["low"] > least["high"] or (most["k"] == most["n"] and not least["k"]):
            words = (
                f"{one['k']} of {one['n']} with {clean(factor)} {quoted(str(one['level']))}"
                for one in (most, least)
            )
            found.append((most["share"] - least["share"], f"; {', but '.join(words)}"))
    return max(found)[1]


def _unusable(
    annotator: Any,
    attributes: Sequence[str],
    lost: int,
    n: int,
    reasons: Sequence[tuple[str, int]],
    images: Sequence[str],
    where: str,
) -> Candidate:
    who = f" by the annotator {quoted(str(annotator))}" if annotator is not None else ""
    listed = ", ".join(f"{clean(reason)}: {times}" for reason, times in reasons)
    names = _series([clean(attribute).replace("_", " ") for attribute in attributes])
    has = "has" if lost == 1 else "have"
    sentence = f"{lost} of {n} pictures {has} no label of {names}{who} that can be used ({listed}){where}."
    scope = {"annotator": str(annotator)} if who else {}
    one = attributes[0] if len(attributes) == 1 else None
    return Candidate.warns(scope, one, sentence, "share", images=images)


def _series(names: Sequence[str]) -> str:
    """One attribute as *the gender*, several as *each of gender, species and skin tone*."""
    if len(names) == 1:
        return f"the {names[0]}"
    shown = [*names[:_MOST_NAMED], *([f"{len(names) - _MOST_NAMED} more"] * (len(names) > _MOST_NAMED))]
    return f"each of {', '.join(shown[:-1])} and {shown[-1]}"


def disagreeing(estimates: pl.DataFrame) -> pl.DataFrame:
    """The rows of accuracies that are too low."""
    return _accuracies(estimates).filter(enough_answers(), pl.col("value") < _LOW_ACCURACY)


def unproven(told: Sequence[Candidate], evidence: RunEvidence) -> Iterator[Candidate]:
    """Annotators whose labels differences rest on, and nothing says how well they read such pictures."""
    unknown: dict[str, set[str]] = {}
    for one in told:
        if one.wording is None or one.attribute is None or one.proven or one.doubt is not None:
            continue
        own = one.scope.get("annotator")
        for name in [own] if own else evidence.readers.get(one.attribute, [""]):
            unknown.setdefault(name, set()).add(clean(one.attribute).replace("_", " "))
    for name, attributes in sorted(unknown.items()):
        who = f"the annotator {quoted(name)} reads" if name else "annotators read"
        sentence = f"No check says how well {who} {_series(sorted(attributes))} of such pictures."
        yield Candidate.warns({"annotator": name} if name else {}, None, sentence, "agreement", "unproven")


def units_unknown(told: Sequence[Candidate], evidence: RunEvidence) -> Iterator[Candidate]:
    """Differences that rest on a frame that does not say which pictures are of one prompt."""
    measures = {one.measure for one in told if one.doubt is None}
    flagged = pl.col("flags").fill_null("").str.split(",").list.contains("no_prompt_id")
    unknown = evidence.estimates.filter(flagged, pl.col("measure").is_in(measures))
    if not unknown.is_empty():
        sentence = (
            "The labels do not say which pictures are of one prompt: intervals and tests take all for "
            "independent, and err where prompts have several; add the column prompt_id."
        )
        yield Candidate.warns({}, None, sentence, "effective_n", "prompt_id")


def agreeing(estimates: pl.DataFrame) -> pl.DataFrame:
    """The rows of accuracies that are high enough."""
    return _accuracies(estimates).filter(pl.col("n") >= SMALL_N, pl.col("value") >= _LOW_ACCURACY)


def enough_answers() -> pl.Expr:
    """Whether an accuracy rests on enough answers to be called too low: ten, or fewer below a coin's."""
    return (pl.col("n") >= SMALL_N) | (pl.col("high") < _OF_A_COIN).fill_null(False)


def _accuracies(estimates: pl.DataFrame) -> pl.DataFrame:
    return estimates.filter(measure="agreement", definition="accuracy")


@finder("instrument", place=91)
def disagreements(evidence: RunEvidence) -> Iterator[Candidate]:
    """Attributes on which the annotator and the reference differ too often."""
    for row in disagreeing(evidence.estimates).iter_rows(named=True):
        same, n = round(row["value"] * row["n"]), row["n"]
        words = clean(row["attribute"]).replace("_", " ")
        words += f" by the annotator {quoted(name)}" if (name := row.get("annotator")) else ""
        sentence = (
            f"The labels of the {words} agree with the reference on {same} of {n} pictures"
            f"{span(row['low'], row['high'])}; measures of it carry that error."
        )
        yield Candidate.warns(scope_of(row), row["attribute"], sentence, "agreement")


def marks_read(evidence: RunEvidence) -> pl.DataFrame:
    """Readings of text that are marks of a model, and how many of its pictures were read.

    ``generator, annotator, of, image_id, mark, words, place``.
    """
    keys = ["generator", "annotator"]
    models = evidence.images.select(subject_id="image_id", generator="generator")
    marks = evidence.read.filter(attribute=_MARK)
    by = pl.col("annotator").is_in(marks["annotator"].unique().implode())  # most runs have no marks
    read = evidence.read.filter(by, status="ok").select("subject_id", "annotator")
    read = read.join(models, on="subject_id")
    return (
        marks.join(models, on="subject_id", maintain_order="left")
        .join(read.group_by(keys).agg(of=pl.col("subject_id").n_unique()), on=keys, maintain_order="left")
        .select(
            *(*keys, "of"),
            image_id="subject_id",
            mark="value",
            words=pl.coalesce("written", "value"),
            place="rationale",
        )
    )


@finder("instrument", place=93)
def marked_pictures(evidence: RunEvidence) -> Iterator[Candidate]:
    """Text that a model puts at one place of its pictures, which is nothing that they show."""
    keys = ["generator", "annotator", "mark", "place", "of"]
    for key, part in marks_read(evidence).group_by(keys, maintain_order=True):
        generator, annotator, mark, place, of = key
        shown = part["image_id"].unique(maintain_order=True).to_list()
        read = part["words"].value_counts(sort=True)
        alike = int(read["count"][0]) * 2 >= part.height
        what = f"the same mark {quoted(str(mark))}" if alike else "a mark"
        where = f"at one place ({clean(str(place))})"
        words = read.sort("count", "words", descending=[True, False])["words"].head(_MOST_READ)
        told = "" if alike else f", read as {', '.join(map(quoted, words))} and otherwise"
        sentence = (
            f"{clean(str(generator))}: the text read in {len(shown)} of {of} pictures is {what} {where}"
            f"{told}; it is not counted as text of the pictures."
        )
        scope = {"generator": str(generator), "annotator": str(annotator)}
        yield Candidate.warns(scope, None, sentence, _MARK, str(mark), images=shown)


@finder("instrument", place=94)
def copied_pictures(evidence: RunEvidence) -> Iterator[Candidate]:
    """Generators that returned the same bytes more than once; what a mitigation kept was returned once."""
    kept = list(kept_images(evidence.images))
    made = evidence.images.filter(~pl.col("image_id").is_in(kept), status="ok")
    for (generator,), part in made.group_by(["generator"], maintain_order=True):
        copies = part.filter(pl.col("sha256").is_duplicated() & ~pl.col("sha256").is_first_distinct())
        if copies.height:
            sentence = (
                f"{clean(str(generator))}: {copies.height} of {part.height} pictures are byte-for-byte "
                "copies of another one; intervals that count them are too narrow."
            )
            scope = {"generator": str(generator)}
            copied = copies["image_id"].to_list()
            yield Candidate.warns(scope, None, sentence, "effective_n", images=copied)


@finder("instrument", place=95)
def few_seeds(evidence: RunEvidence) -> Iterator[Candidate]:
    """Generators whose prompts, four or more, share so few seeds that what these do cannot be seen.

    So few may be left where sets of pictures are compared, each with one seed for all of it.
    """
    keys, told = ["prompt_id", SEED_COLUMN], set[Any]()
    drawn = evidence.images.filter(status="ok").drop_nulls(keys).unique(["generator", *keys])
    for (generator,), part in drawn.sort("generator").group_by(["generator"], maintain_order=True):
        prompts, seeds = (part[name].n_unique() for name in keys)
        if prompts >= FEWEST_PROMPTS and seeds < min(FEWEST_SEEDS, part.height):
            few = "one seed" if seeds == 1 else f"{seeds} seeds"
            sentence = (
                f"{clean(str(generator))}: pictures of {prompts} prompts were drawn with the same {few}. "
                "What these bring is in all of them and cannot be told apart, so that intervals and tests "
                "speak of no other seeds; four would show it (images_per_prompt)."
            )
            told.add(generator)
            yield Candidate.warns({"generator": str(generator)}, None, sentence, "effective_n")
    flagged = _of_few_seeds(evidence)
    if GENERATOR not in flagged.columns:
        return
    for (generator,), part in (
        flagged.drop_nulls(GENERATOR).sort(GENERATOR, "measure").group_by([GENERATOR], maintain_order=True)
    ):
        if generator not in told:
            names = ", ".join(part["measure"].unique(maintain_order=True))
            sentence = (
                f"{clean(str(generator))}: what is compared ({names}) was drawn with the same seeds "
                "throughout, fewer than four. What these bring is in all of it and cannot be told apart, so "
                "that intervals and tests speak of no other seeds; four pictures, or sets, of a prompt would "
                "show it."
            )
            yield Candidate.warns({"generator": str(generator)}, None, sentence, "effective_n")


def doubted_for_seeds(told: Sequence[Candidate], evidence: RunEvidence) -> list[Candidate]:
    """Differences that are told, with a doubt where seeds might have made them and nothing shows it."""
    rows = [(row, scope_of(row).items()) for row in _of_few_seeds(evidence).iter_rows(named=True)]

    def of_few(c: Candidate) -> bool:
        return any(
            row["measure"] == c.measure
            and row["definition"] in c.parts
            and c.scope.items() <= scope
            and (c.between is None or row["reference"] == c.between[2])
            for row, scope in rows
        )

    return [replace(c, doubt=_FEW_SEEDS) if c.doubt is None and of_few(c) else c for c in told]


def _of_few_seeds(evidence: RunEvidence) -> pl.DataFrame:
    """Tested comparisons of scores whose sides share seeds, but fewer than can be told from them."""
    few = pl.col("flags").fill_null("").str.split(",").list.contains("few_seeds")
    return evidence.estimates.filter(few, pl.col("p_value").is_not_null())
