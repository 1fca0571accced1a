"""What a ledger that is torn, or not the run's own, lacks of paid work: told, and not paid for again."""

from collections.abc import Sequence
from pathlib import Path

import polars as pl

from stereotrope.audit.outstanding import Work, outstanding
from stereotrope.audit.plan import Plan
from stereotrope.audit.unrecorded import accept_unrecorded, refuse_unrecorded, unrecorded
from stereotrope.audit.work import ANNOTATE, GENERATE
from stereotrope.clients import BEGUN
from stereotrope.errors import RunDamaged, RunError
from stereotrope.run import Ledger, PictureStore, Run
from stereotrope.run import open as open_run
from stereotrope.run.folder import FORGOTTEN, read_info

_SETTLED = ("ok", "refused")
_IMAGES = "images.parquet"


def refuse_paying_again(plan: Plan, folder: Path, ledger: Ledger) -> None:
    """Refuse to ask models once more for what tables or pictures of a run show that they answered before.

    Moving a damaged ledger out of ``quarantine/``, and the table of the pictures away, is how a user says
    that all may be asked, and paid for, again.

    ledger: The run's own, opened to be written.
    Raises RunDamaged: The ledger lacks such work; nothing was asked.
    """
    torn = _torn(folder)
    if torn is None:
        _refuse_other_ledger(plan, folder)
        refuse_unrecorded(plan, folder, ledger)
        return
    work = outstanding(plan, folder)
    told = lost_work(plan, folder, work)
    if not told:
        refuse_unrecorded(plan, folder, ledger)
        return
    accept_unrecorded(folder)
    expected = [row.expected for row in work if row.expected is not None]
    costs = [one.cost for one in expected if one.calls]
    most = sum(cost[1] for cost in costs if cost is not None)
    price = "at a price that is not known" if None in costs else f"up to ${most:,.2f}"
    away = [str(torn.relative_to(folder)), *([_IMAGES] if (folder / _IMAGES).exists() else [])]
    raise RunDamaged(
        f"{folder}: {told}. What is left to do takes {sum(one.calls for one in expected):,} calls, {price} "
        "(`--plan` says more); nothing was asked. Put a sound copy of ledger.db back or, to have it made and "
        f"paid for again, move {' and '.join(away)} out of the folder; then run the same command again"
    )


def _refuse_other_ledger(plan: Plan, folder: Path) -> None:
    """Refuse a ledger of another run, or an older copy, by the pictures or the calls to models that it lacks.

    A picture that is lost itself is made again, whatever the tables say of it, also where a stop left it
    without a row.
    """
    settled = _settled(plan, folder)
    if settled is None:
        return
    with Ledger(folder / "ledger.db", readonly=True) as ledger:
        lost = settled[ledger.missing_at(GENERATE, settled["image_id"])]
        lost = lost.filter(~pl.col("image_id").is_in([*ledger.get_all(FORGOTTEN)]))
        totals = ledger.totals()
    begun, calls = totals.get(BEGUN, 0), read_info(folder).get("calls", 0)
    if not lost.height and begun >= calls:
        return
    work = [row for row in outstanding(plan, folder) if _calls(row)]
    there = pl.col("path").is_in(list(PictureStore(folder).paths)) | (pl.col("status") == "refused")
    paid = pl.col("generator").is_in([row.name for row in work if row.verb == GENERATE])
    lost = lost.filter(paid, there | (not totals.get(GENERATE)))
    if lost.height:
        lacks = f"{lost.height:,} of {settled.height:,} pictures that {_IMAGES} has"
    elif work and begun < calls:
        lacks = f"{calls - begun:,} of {calls:,} calls to models that run.json counts"
    else:
        return
    accept_unrecorded(folder)
    raise RunDamaged(
        f"{folder / 'ledger.db'}: is of another run, or an older copy: it lacks {lacks}, and models would be "
        "paid again; nothing was asked. Put the ledger of this run back or, to have what it lacks made and "
        f"paid for again, move {_IMAGES} out of the folder; then run the same command again"
    )


def _calls(row: Work) -> int:
    """Calls to models that a line of work takes."""
    return row.expected.calls if row.expected is not None else 0


def refuse_lost(plan: Plan, run: Run, labels: pl.DataFrame, embeddings: pl.DataFrame) -> None:
    """Keep the labels and vectors of a run whose ledger has lost what they were made from.

    Raises RunDamaged: A table of the run holds looks, or vectors by an encoder, that the ledger lacks.
    """
    looking = [annotator.name for annotator in plan.annotators if annotator.looks]
    there = "looks at pictures that labels.parquet has"
    _refuse_lost(run, "labels", looking, labels, ["annotator", "subject_id"], there, "looks")
    encoding = [annotator.name for annotator in plan.annotators if annotator.process is not None]
    keys, there = ["encoder", "subject_kind", "subject_id"], "vectors that the embeddings have"
    wanted = {sentence for annotator in plan.annotators for sentence in annotator.sentences}
    left = (pl.col("subject_kind") == "sentence") & ~pl.col("subject_id").is_in(wanted)
    _refuse_lost(run, "embeddings", encoding, embeddings, keys, there, "encodes", left)


def _refuse_lost(
    run: Run,
    table: str,
    names: Sequence[str],
    now: pl.DataFrame,
    keys: list[str],
    what: str,
    again: str,
    unwanted: pl.Expr | None = None,
) -> None:
    if not names:  # the table, which can be as large as all that is measured, is not read for nothing
        return
    try:
        before: pl.DataFrame = getattr(run, table)
    except RunError:  # a torn table is made anew
        return
    of_names = pl.col(keys[0]).is_in(names)
    stored = before.filter(of_names if unwanted is None else of_names & ~unwanted).select(keys).unique()
    lost = stored.join(now.select(keys).unique(), on=keys, how="anti")
    if lost.height:
        raise RunDamaged(
            f"{run.path}: the ledger lacks {lost.height} of {stored.height} {what}, so the tables are left "
            f"as they are; run the audit again, which {again} anew: `stereotrope run`"
        )


def lost_work(plan: Plan, folder: Path, work: Sequence[Work]) -> str:
    """Say what a damaged ledger lost of work that models have to do again; empty where it lost nothing."""
    asked = [row for row in work if _calls(row)]
    if not asked or _torn(folder) is None:
        return ""
    had = _shown_by_tables(plan, folder)
    lost = [
        f"{had[row.verb, row.name] - row.done:,} of {row.total:,} by {row.name} ({row.verb})"
        for row in asked
        if had.get((row.verb, row.name), 0) > row.done
    ]
    with Ledger(folder / "ledger.db", readonly=True) as ledger:
        pictures = 0 if had else len(unrecorded(folder, ledger))
    if pictures:
        lost = [f"up to {pictures:,} pictures, which lie in pictures/ without a record"]
    return f"ledger.db was damaged and lost, with what it cost, {'; '.join(lost)}" if lost else ""


def _torn(folder: Path) -> Path | None:
    return max(
        (folder / "quarantine").glob("*-ledger.db"), default=None, key=lambda file: file.stat().st_mtime
    )


def _shown_by_tables(plan: Plan, folder: Path) -> dict[tuple[str, str], int]:
    """Items that the tables of an earlier end of this run have, by verb and name; empty without tables."""
    images = _settled(plan, folder)
    if images is None:
        return {}
    try:
        labels = open_run(folder).labels
    except RunError:
        return {}
    seen = labels.join(images.select("sha256", subject_id="image_id"), on="subject_id").select(
        "annotator", "sha256"
    )
    return {
        **{(GENERATE, name): n for name, n in images["generator"].value_counts().iter_rows()},
        **{(ANNOTATE, name): n for name, n in seen.unique()["annotator"].value_counts().iter_rows()},
    }


def _settled(plan: Plan, folder: Path) -> pl.DataFrame | None:
    """The pictures that are asked for and that the tables have; None without tables."""
    if plan.cells is not None:
        return None
    asked = plan.requests.lazy().select("image_id")
    settled = pl.col("status").is_in(_SETTLED)
    try:
        images = open_run(folder).scan("images").filter(settled).join(asked, on="image_id", how="semi")
        return images.select("image_id", "generator", "status", "path", "sha256").collect()
    except (RunError, pl.exceptions.PolarsError, OSError):  # a torn table is made anew
        return None
