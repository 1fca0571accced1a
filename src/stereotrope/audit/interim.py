"""Which look at a run this is, what error it is given, and what the looks before told."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from stereotrope.audit.work import GENERATE, Missing
from stereotrope.measure import InterimLook
from stereotrope.measure.differences import Differences
from stereotrope.run import Ledger
from stereotrope.run.looks import RecordedLook, looks_in, record_look
from stereotrope.stats import look_alpha
from stereotrope.tables import N_SUBJECTS, PROMPTS

ALPHA = 0.05
"""False discovery rate of all differences that a run tells, over all looks at it."""
_AT_ONCE = 50_000
_ROUNDING = 1e-9
_KNOWN_BY = 50
"""Texts by which the prompts of a look are known again."""
_OPEN = "open"
"""Plan of any number of looks."""


def first_alpha(looks: int | str, alpha: float = ALPHA) -> float:
    """What the first look at a run is given of the error of all.

    looks: As the audit file plans them.
    """
    return look_alpha(planned=None if looks == _OPEN else int(looks), alpha=alpha)


@dataclass(frozen=True)
class RunLook:
    """A look at a run before it is made: its error, and what those before told."""

    look: InterimLook
    recorded: RecordedLook

    @property
    def alpha(self) -> float:
        """Error of this look."""
        return self.recorded.alpha

    def record(self, ledger: Ledger, compared: Differences) -> None:
        """Record what it told, before anybody can read it; where nothing could be told it is none."""
        if compared.able:
            told = {compared.places[place].key: q for place, q in compared.found.items()}
            record_look(ledger, replace(self.recorded, told=told))


def look_at_run(
    ledger: Ledger,
    images: pl.DataFrame,
    labels: pl.DataFrame,
    missing: Sequence[Missing],
    *,
    planned: int | None,
    prompts: pl.DataFrame | None = None,
) -> RunLook:
    """The look that is made at a run as it is now.

    The same pictures measured again, by other measures or annotators, folded otherwise, or by a run that was
    killed, are the same look; more or other pictures are a new one, and so are more labels by an annotator
    that had labelled a part. A look at a run that was cut short is given less
    (:func:`stereotrope.stats.look_alpha`).

    What is spent stays spent: a plan that was changed between two looks begins anew with the error that those
    before left over, and of the number now planned the looks that are left share it.

    missing: What the run could not do.
    planned: Looks planned; None for any number.
    prompts: The table ``prompts``: by their texts what was told of them is known again where factors joined.
    """
    return _look(ledger, *_identity(images, labels), _complete(images, missing), planned, prompts)


def look_at_counts(
    ledger: Ledger, files: Sequence[str], counts: pl.DataFrame, *, planned: int | None
) -> RunLook:
    """The look that is made at a study whose label files are counted; other ``files`` are another look.

    files: SHA-256 of each.
    counts: The table ``counts``.
    """
    identity = hashlib.sha256("\n".join(sorted(set(files))).encode()).hexdigest()
    own = counts.filter(
        pl.col("status").is_not_null(), pl.col("derived_from").is_null(), subject_kind="image"
    )
    labelled = own.group_by("annotator", "attribute").agg(pl.col(N_SUBJECTS).sum())[N_SUBJECTS]
    return _look(ledger, identity, max(labelled, default=0), 1.0, planned)


def _look(
    ledger: Ledger,
    identity: str,
    pictures: int,
    complete: float,
    planned: int | None,
    prompts: pl.DataFrame | None = None,
) -> RunLook:
    """A look by its identity; ``complete`` is the part of what was asked for that is there."""
    known = looks_in(ledger)
    at, same = next(
        ((at, one) for at, one in enumerate(known) if one.identity == identity), (len(known), None)
    )
    told: dict[str, float] = {}
    for one in known:
        if one is not same:
            told = {**one.told, **told}
    asked = planned or _OPEN
    plan = asked if same is None else same.planned or asked
    since = _since(known[:at], plan)
    total = ALPHA - sum(one.alpha for one in known[:since])
    number = None if plan == _OPEN else max(1, int(plan) - since)
    if same is None:
        spent = sum(one.alpha for one in known[since:])
        alpha = look_alpha(spent, planned=number, alpha=total, complete=complete)
        same = RecordedLook(identity, pictures, alpha, planned=plan)
    joined: list[dict[str, str]] = []
    if prompts is not None:
        design = _Design.of(prompts)
        joined = [of for one in known if one is not same and (of := design.joined_since(one))]
        same = replace(same, factors=design.factors, texts=design.some)
    said = [_changed(known[since - 1].planned, plan, since, number, total)] if since else []
    if plan != asked:
        said.append(f"`looks: {asked}` came after this look (`looks: {plan}`) and counts from the next on.")
    planned = None if plan == _OPEN else int(plan)
    postponed = not same.alpha and sum(one.alpha for one in known) < ALPHA - _ROUNDING
    return RunLook(InterimLook(at + 1, planned, told, " ".join(said), joined, postponed), same)


@dataclass(frozen=True)
class _Design:
    """Factors of prompts, and the prompts by the hash of their text."""

    factors: list[str]
    prompts: pl.DataFrame

    @classmethod
    def of(cls, prompts: pl.DataFrame) -> "_Design":
        texts = [text and hashlib.sha256(text.encode()).hexdigest()[:16] for text in prompts["text"]]
        own = {column.name for column in PROMPTS}
        factors = [name for name in prompts.columns if name not in own]
        return cls(factors, prompts.with_columns(_text=pl.Series(texts, dtype=pl.String)))

    @property
    def some(self) -> list[str]:
        """Some texts, the same ones whatever joins beside them."""
        return self.prompts["_text"].drop_nulls().unique().sort().head(_KNOWN_BY).to_list()

    def joined_since(self, look: RecordedLook) -> dict[str, str]:
        """Factors that joined after a look, and the one level of each in which its prompts stand."""
        if look.factors is None or look.texts is None:
            return {}
        there = self.prompts.filter(pl.col("_text").is_in(list(look.texts)))
        new = (name for name in self.factors if name not in look.factors)
        levels = {name: there[name].drop_nulls().unique().to_list() for name in new}
        return {name: str(of[0]) for name, of in levels.items() if len(of) == 1}


def _since(before: Sequence[RecordedLook], plan: int | str) -> int:
    """How many looks were made before the plan was what it is; one that recorded none was of the same."""
    others = [at for at, one in enumerate(before, start=1) if one.planned not in (plan, None)]
    return max(others, default=0)


def _changed(was: int | str | None, plan: int | str, before: int, number: int | None, left: float) -> str:
    """What a plan was, what it is, and what is left for it to share."""
    if round(left, 9) <= 0:
        rest = "nothing is left"
    elif number is None:
        rest = f"the looks since then share the other {left:.2g}"
    elif number == 1:
        rest = f"one more is given the other {left:.2g}"
    else:
        rest = f"{number} more share the other {left:.2g}"
    return (
        f"The plan was changed: `looks: {was}` up to look {before}, `looks: {plan}` since then. What is "
        f"spent stays spent, {ALPHA - left:.2g} of {ALPHA:g}; {rest}."
    )


def _identity(images: pl.DataFrame, labels: pl.DataFrame) -> tuple[str, int]:
    """A hash of what is looked at, and how many pictures that are, one not at hand if labelled."""
    counted = images.select("image_id", "status", "sha256").filter(pl.col("status") != "excluded")
    counted = counted.sort("image_id")
    told = _Lines()
    told.add(counted.select(pl.format("{} {} {}", "image_id", "status", pl.col("sha256").fill_null(""))))
    said = pl.col("subject_kind") == "image", pl.col("derived_from").is_null()
    own = labels.filter(*said).select("subject_id", "annotator")
    status, labelled = pl.col("status"), pl.col("image_id").is_in(own["subject_id"].implode())
    usable = counted.filter((status == "ok") | (status == "absent") & labelled).select("image_id")
    unseen = counted.filter(status == "absent", ~labelled)  # labels of them that come later are new
    told.add(unseen.select(pl.format("nobody {}", "image_id")))
    for name in own["annotator"].unique().sort():
        part = own.filter(annotator=name).select("subject_id")
        lacking = usable.join(
            part, left_on="image_id", right_on="subject_id", how="anti", maintain_order="left"
        )
        told.add(lacking.select(pl.format("{} {}", pl.lit(name), "image_id")))
    return told.digest(), usable.height


class _Lines:
    """The hash of lines that are never all there at once."""

    def __init__(self) -> None:
        self._hash, self._begun = hashlib.sha256(), False

    def add(self, lines: pl.DataFrame) -> None:
        """Take the one column of a frame."""
        for part in lines.iter_slices(_AT_ONCE):
            text = "\n".join(part.to_series())
            self._hash.update(f"\n{text}".encode() if self._begun else text.encode())
            self._begun = True

    def digest(self) -> str:
        """The hash of all of them."""
        return self._hash.hexdigest()


def _complete(images: pl.DataFrame, missing: Sequence[Missing]) -> float:
    """Part of what was asked for that is there: of the pictures, and of each annotator's labels."""
    lacking = sum(one.n for one in missing if one.stage == GENERATE)
    drawn = images.height / max(1, images.height + lacking)
    labelled = min((1 - one.n / one.of for one in missing if one.stage != GENERATE and one.of), default=1.0)
    return drawn * labelled
