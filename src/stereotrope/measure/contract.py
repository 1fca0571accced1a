"""What a measure is: a function from a frame to estimates, with all that others must know of it."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeVar

import polars as pl

from stereotrope.errors import PluginError, did_you_mean
from stereotrope.inputs.columns import require_frame
from stereotrope.inputs.options import Options
from stereotrope.measure.estimates import estimate_frame
from stereotrope.measure.parameters import options_model
from stereotrope.measure.setting import GENERATOR, MeasureSetting, RunTables
from stereotrope.plugins import OURS, Registry
from stereotrope.tables import ESTIMATES, Band, polars_types

Bounds = tuple[float | None, float | None]
_Frames = list[pl.DataFrame]
PAPER = "paper"
"""Definition of a score where nothing else is said."""


class MeasureFrame:
    """A frame that measures read: when an audit has it, and how a measure of it is called.

    words: What it is, for the reference page.
    options: Further options of its measures in an audit file: name → type.
    content: Option that stands for itself: ``{share: gender}`` is ``{share: {attribute: gender}}``.
    counted: Whether it is the same where label files are counted, whatever reads it.
    """

    words = "labels"
    options: ClassVar[Mapping[str, Any]] = {}
    content = "attribute"
    counted = False

    def lacks(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> str | None:
        """What an audit needs to have it for a measure, and how; None where it has it."""

    def call(
        self, info: MeasureInfo, given: dict[str, Any], setting: MeasureSetting, calls: Calls
    ) -> MeasureCall:
        """The call of a measure: what the file says, else what the audit decides.

        Raises UsageError: Something does not fit the audit.
        """
        raise NotImplementedError

    def several_annotators(
        self, info: MeasureInfo, given: Mapping[str, Any], setting: MeasureSetting, calls: Calls
    ) -> bool:
        """Whether several annotators give what a measure of it reads, so that it must tell them apart."""
        return False

    def of(self, tables: RunTables, /) -> pl.DataFrame:
        """The frame of a run."""
        raise NotImplementedError

    def made_up(self, images: pl.DataFrame, labels: pl.DataFrame, /) -> pl.DataFrame:
        """A frame of made-up images and labels, on which calls are tried."""
        raise NotImplementedError

    def rows(self, call: MeasureCall, data: pl.DataFrame) -> pl.DataFrame:
        """The estimates of a measure that is computed together with others (``shared``)."""
        raise NotImplementedError


FRAMES: Registry[MeasureFrame] = Registry("frames", "stereotrope.measure")
"""Every frame by the name that measures need it by."""


@dataclass(frozen=True)
class MeasureInfo:
    """One measure and what others must know of it."""

    name: str
    function: Callable[..., pl.DataFrame]
    summary: str
    suite: str
    """The suite whose paper it is from, or ``general``."""
    bounds: Bounds
    """Least and greatest possible ``value``; None where there is none."""
    direction: str
    source: str
    needs: str
    """Frame that it reads, one of :data:`FRAMES`: ``labels``, ``images``, ``constraints`` (labels of
    :data:`stereotrope.tables.CONSTRAINTS`), ``captions``, ``embeddings``, or ``estimates`` of measures listed
    before it."""
    subject: Literal["image", "region", "set", "text"] = "image"
    """Subject whose labels it reads; in its frame ``image_id`` is then that of the subject."""
    also: tuple[str, ...] = ()
    """Further names that its rows carry in the column ``measure``."""
    variants: tuple[str, ...] = ()
    """Those of ``also`` that stand in the place of its own name, of one score made otherwise."""
    compared_as: str | None = None
    """Definition whose rows other measures read, where it gives several at once; the paper's when None."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Column of :data:`stereotrope.tables.MARKS` → argument it holds, where its rows bear the name of what
    they were made from."""
    reads: tuple[str, ...] = ()
    """Measures whose estimates alone it reads; its rows then bear the names of ``also``."""
    several: bool = False
    """It reads estimates of several measures together, those of each definition by themselves."""
    on: str | None = None
    """Measure whose estimates it reads where the audit file names none."""
    read_with: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Measure → rows of other names that are read together with its own."""
    subsets: bool = False
    """It is computed again without the pictures that break their prompt, where an annotator says which."""
    counted: bool = False
    """A row of its frame may stand for ``n_subjects`` that are alike, as in a study that is counted."""
    biased: tuple[str, ...] = ()
    """Names of its rows whose mean over samples depends on how many images or captions a sample has."""
    bands: tuple[Band, ...] = ()
    """Named ranges that ``value`` is read by, ascending; the column ``band`` says which a row lies in."""
    own_bounds: Mapping[str, Bounds] = field(default_factory=dict)
    """Bounds of rows of another name, or of another definition, where they differ."""
    closed: Mapping[str, str] = field(default_factory=dict)
    """Parameters that an audit file cannot give → why, and what to do."""
    shared: bool = False
    """Its frame computes it together with others that read it, from the same resamples."""
    due: Callable[[Mapping[str, Any], MeasureSetting, Calls], bool] | None = None
    """What else must hold where a suite and no audit file lists it, and its frame lacks nothing."""
    call: Callable[..., MeasureCall] | None = None
    """:meth:`MeasureFrame.call` for this measure, where that of its frame does not serve."""
    compute: Callable[[MeasureCall, pl.DataFrame], pl.DataFrame] | None = None
    """Its estimates in an audit, where that is more than ``function(frame, **arguments)``."""
    unasked: Callable[[MeasureCall | None, RunTables], pl.DataFrame | None] | None = None
    """Estimates that no audit file asks for: called after each measure of a run, and at last with None."""

    @property
    def frame(self) -> MeasureFrame:
        """The frame that it reads."""
        name = self.needs if self.subject == "image" else f"{self.needs} of a {self.subject}"
        if name not in FRAMES:
            hint = did_you_mean(name, FRAMES, otherwise=f"there is: {', '.join(FRAMES)}")
            package = REGISTRY.origin(self.name) if self.name in REGISTRY else OURS
            raise PluginError(
                f"measure {self.name!r} of the package {package} needs {name!r}, which is no frame; {hint}"
            )
        return FRAMES[name]

    @functools.cached_property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """The parameters of its function behind the frame that have a name of their own."""
        several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
        behind = list(inspect.signature(self.function).parameters.items())[1:]
        return {name: parameter for name, parameter in behind if parameter.kind not in several}

    @functools.cached_property
    def options(self) -> type[Options]:
        """What an audit file can say of it."""
        return options_model(self.function, self.parameters, self.frame.options, self.closed)

    @property
    def rows(self) -> tuple[str, ...]:
        """Names that its rows carry in the column ``measure``."""
        return self.also if self.reads else (self.name, *self.also)

    @property
    def comparison(self) -> Literal["none", "optional", "needed"]:
        """Whether it compares the levels of a factor with a baseline, as its parameters say."""
        if not {"group", "baseline"} <= set(self.parameters):
            return "none"
        defaults = (self.parameters[name].default for name in ("group", "baseline"))
        return "optional" if None in defaults else "needed"

    def adds(self, call: MeasureCall | None, tables: RunTables, done: _Frames) -> _Frames:
        """What it adds of itself to what is done, after a call or at the end."""
        names, theirs = {self.name, *self.also}, REGISTRY.origin(self.name) != OURS
        with REGISTRY.blamed(self.name):
            made = None if self.unasked is None else self.unasked(call, tables)
            if made is not None:
                _require_estimates(made, names)
                own = [rows.filter(pl.col("measure").is_in(names)) for rows in done if theirs]
                _require_estimates(pl.concat([made, *own], how="diagonal"), names)
            return [] if made is None else [made]


@dataclass(frozen=True)
class MeasureCall:
    """A measure with the arguments that an audit calls it with."""

    name: str
    arguments: Mapping[str, Any]
    frame: MeasureFrame
    reads: tuple[str, ...] = ()
    """Names of the rows that it reads, where it reads estimates."""
    on: str | None = None
    """The measure whose estimates it reads, where it reads those of a single one."""
    definition: str | None = None
    """Definition of what it reads, where there are several; the paper's when None."""
    factor: str | None = None
    """Factor whose levels it compares."""
    subset: str | None = None
    """Pictures that the estimates which it reads are made from, where they are not made from all."""
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    """Arguments that are tables, which ``arguments`` may name; a run records the names."""

    @property
    def info(self) -> MeasureInfo:
        """What is registered of the measure."""
        return REGISTRY[self.name]

    @property
    def rows(self) -> tuple[str, ...]:
        """Names in the column ``measure`` of its estimates."""
        return (self.on,) if self.info.marks and self.on else self.info.rows

    @property
    def baseline_model(self) -> str | None:
        """The model that it compares others with."""
        return self.arguments.get("baseline") if self.factor == GENERATOR else None

    def with_discovered(self, taxonomy: pl.DataFrame | None, attributes: Sequence[str]) -> MeasureCall:
        """Take value lists that differ between parts of the design, and the attributes that were found."""
        takes = {"taxonomy"} & set(self.arguments) if taxonomy is not None else set()
        found = dict.fromkeys(takes, taxonomy) | {
            name: list(attributes)
            for name in ("attribute", "attributes")
            if attributes and name not in self.arguments and name in self.info.parameters
            if self.info.parameters[name].default is None
        }
        return replace(self, arguments={**self.arguments, **found})

    def __call__(self, data: pl.DataFrame) -> pl.DataFrame:
        """Compute the estimates."""
        if not self.reads:
            return self._computed(data)
        data = data.filter(
            pl.col("measure").is_in(self.reads),
            pl.col("aggregate").is_null(),
            pl.col("baseline").is_null(),
            pl.col("subset").eq_missing(self.subset),
        )
        if not self.info.several:
            if data["definition"].n_unique() > 1:
                data = data.filter(definition=self.definition or PAPER)
            return self._computed(data)
        if self.definition is not None:
            data = data.filter(definition=self.definition)
        made = [self._computed(part) for part in data.partition_by("definition", maintain_order=True)]
        return pl.concat(made, how="diagonal") if made else estimate_frame([], factors=(GENERATOR,))

    def _computed(self, data: pl.DataFrame) -> pl.DataFrame:
        with REGISTRY.blamed(self.name):
            if self.info.shared:
                made = self.frame.rows(self, data)
            elif self.info.compute is not None:
                made = self.info.compute(self, data)
            else:
                made = self.info.function(data, **{**self.arguments, **self.tables})
            _require_estimates(made, {*self.info.rows, *(self.reads if self.info.marks else ())})
            if REGISTRY.origin(self.name) != OURS:
                _require_reasons(made)
            return _with_instrument(made, data)


Calls = Sequence[MeasureCall]
"""The calls of the measures that an audit lists before."""


_IMPOSSIBLE = {
    "p and q lie between 0 and 1": pl.any_horizontal(
        ~pl.col(name).is_between(-1e-9, 1 + 1e-9) for name in ("p_value", "p_least", "q_value")
    ),
    "the level of an interval lies between 0 and 1": ~pl.col("level").is_between(0, 1, closed="none"),
    "an interval begins at or below its end": pl.col("low") > pl.col("high") + 1e-9,
    "a count is 0 or more": pl.any_horizontal(
        pl.col(name) < 0
        for name in ("n", "n_reference", "numerator", "denominator", "numerator_reference", "n_excluded")
    ),
}
"""What no estimate can be, whatever its measure: the rule, and the rows that break it."""


def _require_estimates(made: Any, names: Collection[str]) -> None:
    """Refuse, by a ValueError, what cannot be estimates of a measure, whose rows bear one of these names."""
    if not isinstance(made, pl.DataFrame):
        raise ValueError(f"it must give a frame of estimates, found {type(made).__name__}")
    types = polars_types(ESTIMATES)
    require_frame(made, types, further=pl.String(), unique=scope_columns(made))
    difference = pl.col("baseline").is_not_null()
    kinds = made.group_by("measure", "definition", difference, maintain_order=True)
    extremes = kinds.agg(least=pl.col("value").min(), most=pl.col("value").max())
    for name in extremes["measure"]:
        if name not in names:
            raise ValueError(f"a row bears the measure {name!r}; it may be: {', '.join(sorted(names))}")
    finite = made.select(pl.col(pl.Float64).is_finite().all()).to_dicts()[0]
    if wrong := [column for column, is_finite in finite.items() if not is_finite]:
        raise ValueError(f"column {wrong[0]!r} has a number that is not finite; give null")
    for name, definition, is_difference, *found in extremes.iter_rows():
        low, high = bounds_of(name, definition, difference=is_difference)
        ends = (-math.inf if low is None else low - 1e-9, math.inf if high is None else high + 1e-9)
        for value in found:
            if value is not None and not ends[0] <= value <= ends[1]:
                raise ValueError(f"{name} has the value {value:g}, and its bounds are {low} to {high}")
    broken = made.select(rule.any().alias(what) for what, rule in _IMPOSSIBLE.items()).to_dicts()[0]
    for what in filter(broken.get, broken):
        row = made.filter(_IMPOSSIBLE[what]).row(0, named=True)
        told = ", ".join(
            f"{name} {row[name]:g}" for name in _IMPOSSIBLE[what].meta.root_names() if row[name] is not None
        )
        raise ValueError(f"{what}; a row of {row['measure']} has {told}")


def _require_reasons(made: pl.DataFrame) -> None:
    """Refuse, by a ValueError, a value that is not there without a word why."""
    silent = made.filter(pl.col("value").is_null(), pl.col("undefined").fill_null("").str.strip_chars() == "")
    if silent.height:
        raise ValueError(
            "a value that is null has its reason in the column undefined; a row of "
            f"{silent['measure'][0]} has none"
        )


def scope_columns(estimates: pl.DataFrame) -> list[str]:
    """What tells one estimate of a run from every other one."""
    names = list(polars_types(ESTIMATES))
    return [*names[: names.index("value")], *(c for c in estimates.columns if c not in names)]


def _with_instrument(estimates: pl.DataFrame, data: pl.DataFrame) -> pl.DataFrame:
    """The estimates with what they rest on: the annotator of the row, or the only one of its attribute."""
    if "annotator" in estimates.columns:
        return estimates.with_columns(instrument=pl.coalesce("instrument", "annotator"))
    column = next((name for name in ("annotator", "instrument") if name in data.columns), None)
    if column is None or "attribute" not in data.columns:
        return estimates
    pairs = data.select("attribute", column).drop_nulls(column).unique()
    if pairs[column].n_unique() == 1:
        return estimates.with_columns(instrument=pl.coalesce("instrument", pl.lit(pairs[column][0])))
    alone = pairs.filter(~pl.col("attribute").is_duplicated())
    names = dict(alone.drop_nulls().iter_rows())
    single = pl.col("attribute").replace_strict(names, default=None, return_dtype=pl.String)
    return estimates.with_columns(instrument=pl.coalesce("instrument", single))


REGISTRY: Registry[MeasureInfo] = Registry("measures", "stereotrope.measure")
"""Every measure by its name."""

Function = TypeVar("Function", bound=Callable[..., pl.DataFrame])


def register(**facts: Any) -> Callable[[Function], Function]:
    """Register a function as the measure of its name; ``facts`` are fields of :class:`MeasureInfo`.

    Unless others are given, its ``summary`` is the first line of the docstring, ``suite`` general and
    ``needs`` labels.
    """

    def registered(function: Function) -> Function:
        summary = (inspect.getdoc(function) or function.__name__).partition("\n")[0]
        usual = {"summary": summary, "suite": "general", "needs": "labels"}
        info = MeasureInfo(function.__name__, function, **{**usual, **facts})
        REGISTRY.add(function.__name__, info)
        return function

    return registered


def bounds_of(measure: str, definition: str | None = None, *, difference: bool = False) -> Bounds:
    """Least and greatest value of the rows of this name, or of differences of two of them.

    None where there is none, or the name is not known.

    Examples
    --------
    >>> bounds_of("bds"), bounds_of("share_difference"), bounds_of("cbs", difference=True)
    ((0.0, 1.0), (-1.0, 1.0), (-1.0, 1.0))
    """
    info = measure_of_rows(measure)
    if info is None:
        return None, None
    low, high = info.own_bounds.get(measure, info.own_bounds.get(definition or "", info.bounds))
    if not difference:
        return low, high
    return (None, None) if low is None or high is None else (low - high, high - low)


@functools.cache
def measure_of_rows(row: str) -> MeasureInfo | None:
    """The measure that gives rows of a name."""
    return next((m for m in REGISTRY.values() if row in (m.name, *m.also, *m.own_bounds)), None)
