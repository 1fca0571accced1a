"""What a run would still do, and what that may cost: the answer of ``stereotrope run --plan``."""

from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope.annotate import Annotator
from stereotrope.audit.assemble import images_frame
from stereotrope.audit.counting import COUNT
from stereotrope.audit.looking import settle
from stereotrope.audit.ordering import ordered
from stereotrope.audit.plan import Plan
from stereotrope.audit.probing import PROBE, probed_items
from stereotrope.audit.said import Said
from stereotrope.audit.subjects import Subjects, remember
from stereotrope.audit.work import GENERATE, Missing
from stereotrope.clients import Expectation
from stereotrope.run import Ledger, refuse_lost_ledger
from stereotrope.tables import ABSENT, IMAGES, N_SUBJECTS, polars_types


@dataclass(frozen=True)
class Work:
    """One line of a plan.

    verb, name: What is done, and with which generator or annotator.
    total, done: Items asked for, and those that the run folder holds.
    expected: Calls, tokens, dollars and seconds that the rest may take; None where no model server is asked.
    note: What an item takes, where that is worth a line.
    """

    verb: str
    name: str
    total: int
    done: int
    expected: Expectation | None = None
    note: str = ""


@dataclass(frozen=True)
class Reserve:
    """US dollars that a run folder still needs, at most, for what its models have to say.

    each: For the labels of one more picture.
    pending: For those of the pictures that are there, and for sets that are still to be looked at.
    """

    each: float = 0.0
    pending: float = 0.0


def outstanding(plan: Plan, folder: Path | str) -> list[Work]:
    """Count what is asked for and what the run folder's ledger already holds; reads only.

    Pictures that are not drawn yet count as not looked at. Pictures that turn out byte-identical are
    looked at once, so there may be less to do. The few texts of the prompts are not counted.

    Raises RunDamaged: The folder holds pictures, and the ledger that records them is not there.
    """
    folder = Path(folder)
    if plan.cells is not None:
        return [
            Work(COUNT, name, n, 0)
            for name, n in plan.cells.group_by("drawn_by", maintain_order=True)
            .agg(pl.col(N_SUBJECTS).sum())
            .iter_rows()
        ]
    refuse_lost_ledger(folder)
    with _ledger(folder) as ledger:
        looking = _counted(plan, ledger, folder)
        looks = [
            Work(one.stage, one.name, n.total, n.done, one.expect(n.total - n.done)) for one, n in looking
        ]
        return [*_drawing(plan, ledger), *_probing(plan, ledger), *looks]


def audit_price(plan: Plan, times: float = 1.0) -> tuple[float, float] | None:
    """Least and most US dollars of an audit with so many times as many pictures; None where not known."""
    asked = [one.expected for one in outstanding(plan, Path()) if one.expected is not None]
    if any(one.cost is None for one in asked if one.calls):
        return None
    low, high = (sum(one.cost[at] for one in asked if one.cost is not None) for at in (0, 1))
    return low * times, high * times


def reserve_in(plan: Plan, folder: Path | str) -> Reserve:
    """What the labels of a run folder may cost at most, as a run would keep it back; reads only."""
    with _ledger(Path(folder)) as ledger:
        return reserve_of(plan, Path(folder), ledger)


def reserve_of(plan: Plan, folder: Path, ledger: Ledger | None) -> Reserve:
    """Say what labels cost: what calls to their model did cost so far, before the first what they may.

    Without a price, or a model, the labels cost nothing here.
    """
    each = pending = 0.0
    for one, counts in _counted(plan, ledger, folder):
        price = _price(plan, one)
        if one.subject == "set":
            pending += price * (counts.total - counts.done)
        else:
            each += price * counts.each
            pending += price * (counts.drawn - counts.done)
    return Reserve(each, pending)


def affords_more(plan: Plan, reserve: Reserve, missing: Sequence[Missing]) -> bool:
    """Whether pictures were held back that the cap turns out to have room for."""
    cap = plan.account.max_cost
    held = [one for one in missing if one.budget and one.stage == GENERATE]
    if cap is None or not held or len(held) < len(missing):
        return False
    names = {one.name for one in held}
    models = [
        (generator.provider, generator.model) for generator in plan.generators if generator.name in names
    ]
    prices = [plan.account.mean(*model, "image") for model in models]
    room = cap - plan.account.spent - reserve.pending - reserve.each
    return any(price is not None and price <= room for price in prices)


def _ledger(folder: Path) -> Any:
    file = folder / "ledger.db"
    return closing(Ledger(file, readonly=True)) if file.is_file() else nullcontext()


def _drawing(plan: Plan, ledger: Ledger | None) -> list[Work]:
    work = []
    for generator in plan.generators:
        requests = plan.drawn_by(generator.name)
        left = requests if ledger is None else requests[ledger.missing_at(GENERATE, requests["image_id"])]
        expected = generator.expect(left)
        work.append(Work(GENERATE, generator.name, requests.height, requests.height - left.height, expected))
    return work


def _probing(plan: Plan, ledger: Ledger | None) -> Iterator[Work]:
    """What is read inside generators while they draw."""
    for one, items in probed_items(plan):
        done = 0 if ledger is None else len(items) - ledger.missing_at(PROBE, items.keys).len()
        yield Work(PROBE, one.name, len(items), done, note=one.probe_takes)


@dataclass(frozen=True)
class _Counts:
    """Subjects in all, of pictures that are drawn, and looked at; and how many a picture has."""

    total: int
    drawn: int
    done: int
    each: float = 1.0


def _counted(plan: Plan, ledger: Ledger | None, folder: Path) -> Iterator[tuple[Annotator, _Counts]]:
    """Annotators that look, in the order in which they do."""
    images = pl.DataFrame(schema=polars_types(IMAGES)) if ledger is None else images_frame(plan, ledger)
    subjects = Subjects(plan, images)
    remember(plan, folder)
    before: list[Annotator] = []
    for one in ordered(plan.annotators):
        labels = None if ledger is None or one.subject != "region" else Said(subjects, ledger).labels(before)
        before.append(one)
        if one.process is None or one.subject == "text":
            continue
        looks = subjects.looks(one, labels)
        n = len(looks)
        done = 0 if ledger is None else n - ledger.missing_at(one.stage, looks.keys).len()
        if one.subject == "image":
            yield one, _Counts(*_pictures(plan, one.name, images), done)
        elif one.subject == "region":
            seen = {look.subject.images[0]["sha256"] for part in looks.parts() for _, look in part}
            yield one, _Counts(n, n, done, n / max(len(seen), 1) or 1.0)
        else:
            total, left = subjects.n_sets(one), n + len(subjects.waiting(one)) - done
            if ledger is not None:
                settle(one, looks, ledger, None)
            yield one, _Counts(total, total, total - left)


def _pictures(plan: Plan, annotator: str, images: pl.DataFrame) -> tuple[int, int]:
    """Different pictures that an annotator is shown: in all, one for each not drawn yet; and those drawn."""
    shown = plan.shown.get(annotator)
    is_shown = pl.lit(True) if shown is None else pl.col("prompt_id").is_in(list(shown))
    drawn_itself = ~pl.col("image_id").is_in(list(plan.kept))
    asked = plan.requests.filter(~pl.col("absent"), is_shown, drawn_itself)["image_id"].n_unique()
    own = images.filter(pl.col("status") != ABSENT, is_shown, drawn_itself)
    drawn = own.filter(status="ok")["sha256"].n_unique()
    return asked - own["image_id"].n_unique() + drawn, drawn


def _price(plan: Plan, annotator: Annotator) -> float:
    """What one look costs."""
    expected = annotator.expect(1)
    if expected is None or expected.cost is None:
        return 0.0
    known = annotator.mean_cost(plan.account)
    return float(expected.cost[1]) if known is None else known * expected.calls
