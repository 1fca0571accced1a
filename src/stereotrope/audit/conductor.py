"""Carrying an audit out: generate → annotate → measure → report, and continuing where it stopped."""

import contextlib
import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import polars as pl

from stereotrope import report
from stereotrope.audit.assemble import images_frame
from stereotrope.audit.counted import measure_counts
from stereotrope.audit.drawing import generate_images, require_reachable, retry_passing
from stereotrope.audit.enough import require_answers, require_complete, require_matches
from stereotrope.audit.file import AuditSpec, validate
from stereotrope.audit.looking import look
from stereotrope.audit.loss import refuse_paying_again
from stereotrope.audit.measuring import measure_run
from stereotrope.audit.mitigated import read_mitigated
from stereotrope.audit.needs import needs_of
from stereotrope.audit.outstanding import Reserve, affords_more, reserve_of
from stereotrope.audit.packages import packages_told, require_packages
from stereotrope.audit.plan import Plan, StoredRun, make_plan
from stereotrope.audit.preparing import make_files
from stereotrope.audit.probing import probe_images
from stereotrope.audit.subjects import remember
from stereotrope.audit.work import GENERATE, Missing, Silent, Watcher, said_of
from stereotrope.errors import AuditFileError, BudgetError, IncompleteError, InputError, RunError, UsageError
from stereotrope.inputs.yaml import Source, read_source
from stereotrope.measure import measure_words
from stereotrope.run import Engine, Run, RunFolder, changes_told, engine_of
from stereotrope.run import open as open_run
from stereotrope.tables import N_SUBJECTS

__all__ = ["Audit", "Watcher"]


_MEASURED_FROM = (
    "audit.yaml",
    "images.parquet",
    "prompts.parquet",
    "reference.parquet",
    "run.json",
    "subjects.parquet",
)
"""Files that measuring again reads: of these a change by hand is told until the run makes them anew."""


class Audit:
    """One question put to one or more text-to-image models, as an audit file writes it down.

    Examples
    --------
    >>> import stereotrope as st
    >>> audit = st.Audit.from_text('''
    ... suite: objects
    ... objects: [cup]
    ... dimensions: {gender: [women]}
    ... images_per_prompt: 3
    ... generators: [calibrated]
    ... ''')
    >>> audit.plan().prompts["text"].to_list()[1]
    'cup for women, one product only, no people'
    """

    def __init__(self, spec: AuditSpec, source: Source) -> None:
        self.spec, self.source = spec, source

    @classmethod
    def from_yaml(cls, path: Path | str, *, seed: int | None = None) -> Self:
        """Read an audit file; ``seed`` replaces the file's.

        Raises AuditFileError: A mistake in the file, with its line and what to do.
        """
        return cls._of(read_source(path), seed)

    @classmethod
    def from_text(
        cls, text: str, *, name: str = "audit.yaml", base: Path | str | None = None, seed: int | None = None
    ) -> Self:
        """Read an audit from text; paths in it are relative to ``base`` (the working folder)."""
        return cls._of(Source(text, name, Path(base or ".")), seed)

    @classmethod
    def from_run(cls, folder: Path | str, *, seed: int | None = None) -> Self:
        """Read the frozen audit of a run folder, as it was carried out."""
        folder = Path(folder)
        run = open_run(folder)
        info = run.info
        require_packages(folder, info)
        name, base = str(folder / "audit.yaml"), folder / info.get("audit_base", ".")
        try:
            source = Source(run.audit_text, name, base)
            return cls._of(source, info.get("seed") if seed is None else seed)
        except AuditFileError as error:
            again = f"`stereotrope run audit.yaml -o {folder}` makes it anew from yours"
            error.args = (f"{error}. This is the copy that the run keeps; {again}",)
            raise

    @classmethod
    def _of(cls, source: Source, seed: int | None) -> Self:
        spec = validate(source)
        return cls(spec if seed is None else spec.model_copy(update={"seed": seed}), source)

    def plan(
        self,
        *,
        folder: Path | str | None = None,
        max_cost: float | None = None,
        stored: StoredRun | None = None,
    ) -> Plan:
        """Resolve the audit: prompts, requests, annotators, measures; does nothing else.

        folder: The run folder, where prompts that strategies made in it belong to the audit.
        max_cost: US dollars that calls to models may cost.
        stored: The prompts of a run whose pictures are there: no generator is made and nothing is requested.
        """
        mitigated = () if folder is None else read_mitigated(Path(folder))
        return make_plan(self.spec, self.source, mitigated=mitigated, max_cost=max_cost, stored=stored)

    def design(
        self,
        *,
        watcher: Watcher | None = None,
        stop: threading.Event | None = None,
        max_cost: float | None = None,
    ) -> list[str]:
        """Make the files of the audit that can be made, or put in what they lack; say what was done.

        What stands in a file stays. Models are asked once: what they say is kept beside the audit file.

        max_cost: US dollars that these calls may cost, earlier ones for this audit file included.

        Raises AuditFileError: Something the file asks for does not exist, cannot work here, or does not fit.
        Raises BudgetError: ``max_cost`` is spent, and something is missing; no file is changed.
        Raises IncompleteError: A model did not say all; no file is changed.
        """
        return make_files(self.spec, self.source, watcher=watcher, stop=stop, max_cost=max_cost)

    def run(
        self,
        folder: Path | str,
        *,
        watcher: Watcher | None = None,
        stop: threading.Event | None = None,
        reference: pl.DataFrame | None = None,
        max_cost: float | None = None,
        engine: str | Engine = "local",
        pictures: str | None = None,
    ) -> Run:
        """Carry the audit out into a run folder; called again, only what is missing is done.

        folder: The run folder; made if it is not there.
        watcher: Is told about stages and progress.
        stop: When set, what is in flight is finished and :class:`Interrupted` raised.
        reference: Labels known to be true (``image_id, attribute, value``): the annotators' agreement with
            them is estimated too.
        max_cost: US dollars that calls to models may cost, those of earlier runs in this folder included.
            When they are spent no further call begins; the report is made from what there is.
        engine: Who draws and looks: ``local``, this process; ``ray``, a Ray cluster; or an
            :class:`~stereotrope.run.Engine`, which names its address.
        pictures: URL, as fsspec has it, where pictures are kept and not in the folder; said once, it holds.

        Raises AuditFileError: Something the file asks for does not exist or does not fit together, or
            ``max_cost`` is given and what a model costs is not known; nothing was touched. Or no generator
            can be reached as the file has it.
        Raises ModelUnusable: No generator can be reached; nothing was measured.
        Raises RunLocked: Another process writes the folder.
        Raises Interrupted: ``stop`` was set; the same call continues.
        Raises BudgetError: ``max_cost`` is spent, and something is missing; the report is written.
        Raises IncompleteError: The report is written; items failed, or more pictures than ``max_excluded``
            cannot be used.
        Raises RunDamaged: The ledger was damaged and lost work that was paid for; nothing was asked.
        """
        with packages_told(Path(folder)):
            plan = self.plan(folder=folder, max_cost=max_cost)
        watcher, stop = watcher or Silent(), stop or threading.Event()
        using = engine_of(engine)
        with RunFolder(Path(folder), pictures=pictures) as into:
            refuse_paying_again(plan, into.path, into.ledger)
            into.verify_pictures(GENERATE)
            retry_passing(plan, into)
            for note in (*into.notes, *plan.key_remarks):
                watcher.say(note)
            into.write_audit(self.source.text)
            missing: list[Missing] = []
            if plan.cells is not None:
                images = measure_counts(plan, into, watcher, stop)
            else:
                plan.account.attach(into.ledger)
                plan.account.stop, plan.account.say = stop, watcher.say
                needs = needs_of([*plan.generators, *plan.annotators])
                with using.crew(into, needs, watcher.say) as into.crew:
                    images, missing = _draw_and_look(plan, into, watcher, stop)
                measure_run(plan, images, into, watcher, stop, reference=reference, missing=missing)
                plan.account.attach(None)
            # Of many pictures what was asked for, and what came of it, is as large as a report.
            plan = replace(plan, requests=plan.requests.clear())
            images = images.select("status", "reason", *(n for n in (N_SUBJECTS,) if n in images.columns))
            return _finish(plan, images, into, watcher, missing, stop)

    def refuse_other_run(self, folder: Path | str) -> None:
        """Keep the run of another audit: of one that is ready made nobody's audit is the version before.

        Raises RunError: The folder holds a run of an audit with another title.
        """
        title, file, found = self.spec.report.title, Path(folder) / "audit.yaml", None
        with contextlib.suppress(AuditFileError):  # a torn copy of it is written anew
            found = self.from_yaml(file).spec.report.title if file.is_file() else None
        if found not in (None, title):
            raise RunError(
                f"{folder}: must be empty or a run of {title!r}, found a run of {found!r}, which it would "
                "replace; choose another folder"
            )

    def measure(
        self, folder: Path | str, *, watcher: Watcher | None = None, stop: threading.Event | None = None
    ) -> Run:
        """Compute derived labels, estimates and report of a run again; draws and looks at nothing.

        ``watcher`` and ``stop`` are those of :meth:`run`.

        Raises Interrupted: ``stop`` was set; the same call begins again.
        Raises RunError: The run has no labels yet, or its ledger has lost some that are in the table.
        """
        with changes_told(Path(folder)) as changed:
            read = {name: digest for name, digest in changed.items() if name in _MEASURED_FROM}
            return self._measure_again(Path(folder), watcher or Silent(), stop, read)

    def _measure_again(
        self,
        folder: Path,
        watcher: Watcher,
        stop: threading.Event | None,
        changed: Mapping[str, str | None],
    ) -> Run:
        run = open_run(folder)
        if self.spec.counted:
            return self._count_again(folder, watcher, stop)
        drawn_by = run.images["generator"].unique(maintain_order=True).to_list()
        try:
            with packages_told(folder):
                plan = self.plan(folder=folder, stored=StoredRun(_own_prompts(run), drawn_by, run.images))
        except (AuditFileError, InputError, UsageError) as error:
            where = (
                f"What the audit reads is looked for relative to {self.source.base.resolve()} (audit_base in "
                "run.json). If the run was moved, put its files there too, or run the audit again from where "
                "they are"
            )
            error.args = (f"{error}. {where}",)
            raise
        _refuse_unchecked(plan, run)
        known = {str(one.get("name")): one.get("fingerprint") for one in run.info.get("annotators", ())}
        for annotator in plan.annotators:
            if fingerprint := known.get(annotator.name):
                annotator.recall(fingerprint)
        kept = {"undelivered": run.info.get("undelivered", ())}
        plan = replace(plan, notes=tuple(run.info.get("generator_notes", ())), **kept)
        with RunFolder(folder) as into:
            remember(plan, into.path)
            measure_run(
                plan, run.images, into, watcher, stop, reference=run.reference, before=run, changed=changed
            )
            return _finish(plan, run.images, into, watcher, [], stop)

    def _count_again(self, folder: Path, watcher: Watcher, stop: threading.Event | None) -> Run:
        """Count label files again: they are all that there is of such a study."""
        with packages_told(folder):
            plan = self.plan()
        with RunFolder(folder) as into:
            images = measure_counts(plan, into, watcher, stop)
            return _finish(plan, images, into, watcher, [], stop)


def _draw_and_look(
    plan: Plan, into: RunFolder, watcher: Watcher, stop: threading.Event
) -> tuple[pl.DataFrame, list[Missing]]:
    """Draw, keeping back what labels may cost under a cap, and look; where they cost less, draw on."""
    drawn = -1
    while True:
        capped = plan.account.max_cost is not None
        reserve = reserve_of(plan, into.path, into.ledger) if capped else Reserve()
        plan.account.hold(reserve.each, reserve.pending)
        unread = probe_images(plan, into, watcher, stop)
        missing = generate_images(plan, into, watcher, stop)
        plan.account.hold(0.0)
        require_reachable(plan, into, missing)
        images = images_frame(plan, into.ledger)
        missing += [*look(plan, images, into, watcher, stop, missing), *unread]
        if not capped or images.height == drawn:
            return images, missing
        drawn = images.height
        if not affords_more(plan, reserve_of(plan, into.path, into.ledger), missing):
            return images, missing
        watcher.say("The labels cost less than was kept back for them: drawing goes on with the rest.")


def _own_prompts(run: Run) -> pl.DataFrame:
    """The prompts without what files gave them, which are read again."""
    given = [name for one in run.info.get("factor_files", ()) for name in one["factors"]]
    return run.prompts.drop(given, strict=False)


def _refuse_unchecked(plan: Plan, run: Run) -> None:
    """Keep a calibration from being measured as an audit: labels of its checks would be lost."""
    if plan.check is None and "judge_cards" in run.info and "check" in run.prompts.columns:
        raise RunError(
            f"{run.path}: is a calibration with checks of a model, which an audit does not know; measure it "
            "with `stereotrope measure` or `stereotrope.calibrate.audit_of(folder).measure(folder)`"
        )


def _finish(
    plan: Plan,
    images: pl.DataFrame,
    into: RunFolder,
    watcher: Watcher,
    missing: Sequence[Missing],
    stop: threading.Event | None,
) -> Run:
    watcher.stage("report", 1, 0)
    into.ledger.close()
    run = open_run(into.path)
    how: dict[str, Any] = {"figures": plan.spec.report.figures, "words": measure_words}
    report.write(run, stop=stop, say=watcher.say, doing=lambda part: watcher.doing("report", part), **how)
    watcher.advance("report", 1)
    if missing:
        over = any(one.budget for one in missing)
        then = "with a higher --max-cost goes on from here" if over else "tries again"
        told = f"{said_of(missing)}. The report is written from what there is; the same command {then}"
        raise BudgetError(told) if over else IncompleteError(told)
    require_complete(plan, images)
    require_matches(plan)
    if plan.check is None:  # of a calibration its cards say so
        require_answers(plan, run)
    return run
