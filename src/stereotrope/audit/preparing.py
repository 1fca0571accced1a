"""Making the files of words, factors and sentences that an audit reads: ``stereotrope design``.

What models are asked for it is kept beside the audit file, in a ledger of its own, and asked once.
"""

import csv
import io
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from stereotrope import annotate
from stereotrope.audit.countable import require_countable
from stereotrope.audit.creating import generators_of
from stereotrope.audit.designing import cells_of, designed_by, factor_files, requests_of
from stereotrope.audit.file import AuditSpec
from stereotrope.audit.outstanding import Work
from stereotrope.audit.plan import suite_of
from stereotrope.audit.work import Silent, Watcher, carry_out, said_of, task_of
from stereotrope.clients import Account
from stereotrope.design import phrases_to_word, wording_of
from stereotrope.design.factors import FactorFile, MadeFile, join_factors, kept_rows, prompts_of
from stereotrope.design.scenarios import is_scenarios
from stereotrope.design.wording import WordsFile
from stereotrope.errors import BudgetError, IncompleteError, InputError, UsageError
from stereotrope.inputs.asking import FileMaker
from stereotrope.inputs.yaml import Source
from stereotrope.run import Items, Ledger, write_atomic
from stereotrope.suites import suite_named

_Place = tuple[str, str | int]
_Make = Callable[[Any], MadeFile]
"""What makes a file by asking."""
ANSWERS = ".answers.db"
"""Ending of the ledger beside an audit file."""


class _Unasked(Exception):
    """What comes next depends on answers that a plan does not ask for."""


class _Asking:
    """Has instruments asked, and keeps what they say in the ledger beside the audit file."""

    def __init__(
        self, file: Path, account: Account, watcher: Watcher, stop: threading.Event, stack: ExitStack
    ) -> None:
        self._file, self._account, self._stack = file, account, stack
        self._watcher, self._stop = watcher, stop
        self._ledger: Ledger | None = None

    def __call__(
        self, instrument: Any, items: Mapping[str, Any], *, then: Sequence[tuple[Any, Sequence[Any]]] = ()
    ) -> Mapping[str, Mapping[str, Any]]:
        if self._ledger is None:
            self._ledger = self._stack.enter_context(closing(Ledger(self._file)))
            self._account.attach(self._ledger)
            self._stack.callback(self._account.attach, None)
            self._account.stop, self._account.say = self._stop, self._watcher.say
        task = task_of(
            instrument,
            instrument.stage,
            Items.of(items.items()),
            commit=lambda key, item, result: instrument.payload(result),
        )
        missing = carry_out([task], self._ledger, self._watcher, self._stop)
        if missing:
            over = any(one.budget for one in missing)
            then_do = "with a higher --max-cost goes on from here" if over else "tries again"
            told = f"{said_of(missing)}. What was answered is kept; the same command {then_do}"
            raise BudgetError(told) if over else IncompleteError(told)
        kept = self._ledger.get_all(instrument.stage)
        return {key: kept[key] for key in items}


class _Planning:
    """Counts what would be asked, and gives what is there."""

    def __init__(self, file: Path, stack: ExitStack) -> None:
        self.work: list[Work] = []
        self._ledger = stack.enter_context(closing(Ledger(file, readonly=True))) if file.is_file() else None

    def __call__(
        self, instrument: Any, items: Mapping[str, Any], *, then: Sequence[tuple[Any, Sequence[Any]]] = ()
    ) -> Mapping[str, Mapping[str, Any]]:
        kept = {} if self._ledger is None else self._ledger.get_all(instrument.stage)
        left = [item for key, item in items.items() if key not in kept]
        self._add(instrument, len(items), left)
        if left:
            for later, like in then:
                self._add(later, len(like), like)
            raise _Unasked
        return {key: kept[key] for key in items}

    def _add(self, instrument: Any, total: int, left: Sequence[Any]) -> None:
        work = Work(instrument.stage, instrument.name, total, total - len(left), instrument.expect(left))
        self.work.append(work)


def make_files(
    spec: AuditSpec,
    source: Source,
    *,
    watcher: Watcher | None = None,
    stop: threading.Event | None = None,
    max_cost: float | None = None,
) -> list[str]:
    """Make the files of an audit that can be made, or put into them what they lack; say what was done.

    Raises AuditFileError: Something the file asks for does not exist, cannot work here, or does not fit.
    Raises BudgetError, IncompleteError: Models did not say all, or somebody else changed a file meanwhile;
        what they said is kept, the file is not changed.
    """
    account = Account(max_cost)
    with ExitStack() as stack:
        ask = _Asking(answers_of(source), account, watcher or Silent(), stop or threading.Event(), stack)
        notes: list[str] = []
        for where, one, make in _makers(spec, source, account):
            before = _bytes_of(one.path)
            made = _made(make, ask, source, where)
            if made.rows is not None and _bytes_of(one.path) != before:
                raise IncompleteError(
                    f"{one.written}: was changed while it was being made, and is left as it is now. What was "
                    "answered is kept; run the same command again"
                )
            if made.rows is not None:
                write_atomic(one.path, _as_bytes(made.rows))
            notes += made.notes
    return notes


def planned_work(spec: AuditSpec, source: Source) -> list[Work]:
    """Say what :func:`make_files` would ask of models; asks nothing, and changes no file.

    Where the number of questions depends on answers that are still to come, it is the most there may be.

    Raises AuditFileError: As :func:`make_files`.
    """
    with ExitStack() as stack:
        planning = _Planning(answers_of(source), stack)
        for where, _, make in _makers(spec, source, Account()):
            try:
                _made(make, planning, source, where)
            except _Unasked:
                continue
        return planning.work


def answers_of(source: Source) -> Path:
    """The ledger beside an audit file."""
    name = Path(source.name).name
    return source.base / f"{name.removesuffix('.yaml').removesuffix('.yml')}{ANSWERS}"


def _makers(spec: AuditSpec, source: Source, account: Account) -> Iterator[tuple[_Place, Any, _Make]]:
    """Files that can be made, in the order in which they need one another, with what makes each."""
    files = factor_files(spec, source, account)
    wording = _wording(spec, source, account)
    annotated = list(_annotated(spec, source, account))
    if wording is None and not annotated and not any(one.can_make for one in files):
        raise source.error(
            "factors: there is no file to make; add, for example, `factors: [{clusters: clusters.csv}]`",
            "factors",
        )
    if wording is not None:
        yield ("prompts", "wording"), wording[0], partial(_make_table, *wording)
        if not wording[0].path.is_file():  # of a plan: the rules stand in
            rest = {key: value for key, value in spec.prompts.items() if key != "wording"}
            spec = spec.model_copy(update={"prompts": rest})
    makers = [
        (("factors", at), partial(_make_factor, one, files[:at]), one)
        for at, one in enumerate(files)
        if one.can_make
    ]
    prompts = _prompts(spec, source, account) if makers or annotated else pl.DataFrame()
    yield from ((where, one, partial(make, prompts)) for where, make, one in makers)
    yield from ((where, one, partial(one.make, prompts)) for where, one in annotated)


def _annotated(spec: AuditSpec, source: Source, account: Account) -> Iterator[tuple[_Place, FileMaker]]:
    """The files that annotators have made."""
    for index, item in enumerate(spec.annotators or ()):
        try:
            one = annotate.made_file(item, relative_to=source.base, account=account)
        except (UsageError, InputError) as error:
            raise source.error(str(error), "annotators", index) from None
        if one is not None:
            yield ("annotators", index), one


def _make_factor(one: FactorFile, before: Sequence[FactorFile], prompts: pl.DataFrame, ask: Any) -> MadeFile:
    """Make a file for the prompts that it is of; in a plan for all of them, where what says so is to come."""
    to_come = isinstance(ask, _Planning) and any(each.can_make and not each.path.is_file() for each in before)
    if one.where and not to_come:
        of = prompts_of(join_factors(prompts, before).prompts, one)
        prompts = prompts.join(of.select("prompt_id"), on="prompt_id", how="semi", maintain_order="left")
    return _make_table(one, prompts, ask)


def _make_table(one: Any, of: pl.DataFrame, ask: Any) -> MadeFile:
    made: MadeFile = one.make(of, kept_rows(one.path, one.written), ask)
    return made


def _wording(spec: AuditSpec, source: Source, account: Account) -> tuple[WordsFile, pl.DataFrame] | None:
    """The file of words that a model makes, and the phrases that are worded."""
    if not is_scenarios(spec.prompts):
        return None
    try:
        wording = wording_of(spec.prompts, source.base, account)
        if wording is None or wording.asker is None:
            return None
        suite = suite_of(spec, source)
        folder = suite_named(spec.suite).folder if spec.suite is not None else source.base
        standard = suite.get("prompts")
        return wording, phrases_to_word(spec.prompts, source.base, suite=standard, suite_base=folder)
    except (UsageError, InputError) as error:
        raise source.error(f"prompts: {error}", "prompts", "wording") from None


def _prompts(spec: AuditSpec, source: Source, account: Account) -> pl.DataFrame:
    """The prompts of an audit without further factors: those of its generators where it names none."""
    suite = suite_of(spec, source)
    designed = designed_by(spec, suite, source, [])
    if designed is not None:
        return designed
    generators, prefixes = generators_of(spec, source, account)
    if spec.counted:
        return cells_of(spec, suite, require_countable(spec, generators, prefixes, source), source)[0]
    return requests_of(spec, suite, generators, 1, source, prefixes)[0]


def _made(make: _Make, ask: Any, source: Source, where: _Place) -> MadeFile:
    try:
        return make(ask)
    except (UsageError, InputError) as error:
        raise source.error(str(error), *where) from None


def _bytes_of(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


def _as_bytes(made: pl.DataFrame | str) -> bytes:
    """A table as CSV that a spreadsheet reads and writes again, or a text."""
    if isinstance(made, str):
        return made.encode("utf-8")
    out = io.StringIO(newline="")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(made.columns)
    writer.writerows([["" if cell is None else cell for cell in row] for row in made.rows()])
    return out.getvalue().encode("utf-8")
