"""The section of mitigations: before and after on three axes, the tests, and pictures side by side."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import polars as pl

from stereotrope.report.charts.drawing import PALETTE
from stereotrope.report.charts.gaps import gaps
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import (
    Table,
    TableCell,
    dot_of,
    estimate_cell,
    estimate_text,
    table_by,
    table_of,
)
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, level_words, words
from stereotrope.report.numbers import interval, number, probability
from stereotrope.report.panels import (
    MOST_PANELS,
    SIGNIFICANT,
    Figure,
    Panel,
    domain_of,
    notes_of,
    panel_words,
)
from stereotrope.report.sections.mitigated_sets import pairs_of_sets, set_blocks
from stereotrope.report.series import Estimate

CHANGED, MEANS, PART, SIZE, RANKED = (
    "paired_difference", "paired_mean", "paired_change", "paired_effect", "paired_ranks",
)  # fmt: skip
_BESIDE = (MEANS, PART, SIZE, RANKED)
AXES = {
    "stereotype": "Stereotypes",
    "variety": "Variety of one query's pictures",
    "fidelity": "Fidelity to what was asked",
    "refusal": "Refusals",
    "": "Further scores",
}
_ALL = "all models"
_UNTESTED = (
    "Queries are too few to be a sample of others, so that nothing is tested here; where a measure tests the "
    "same change by its pictures, its own section has it."
)
_FIXED = ("attribute", "category")
_Key = tuple[Any, ...]


def _blocks(material: Material, shown: Exhibits) -> list[Block]:
    compared = _Compared.of(material)
    if compared is None:
        return []
    figure = Block(figures=[compared.figure()], replaces=frozenset((CHANGED, *_BESIDE)))
    return [figure, Block("table", compared.table()), *set_blocks(material, shown)]


def _headline(material: Material) -> tuple[list[str], list[dict[str, Any]]]:
    """What each mitigation changes, over all queries and models, for the first screen."""
    compared = _Compared.of(material)
    if compared is None:
        return [], []
    shown = [(score, row) for score in compared.scores() for row in compared.whole(score)]
    lines = [
        [
            compared.name(score, short=True),
            compared.label(row),
            compared.told(row),
            estimate_text(material, row),
            probability(row["q_value"]),
            str(row["n"]),
        ]
        for score, row in shown
    ]
    columns = ["score", words(compared.over), "without → with", "difference [interval]", "q", "queries"]
    kept = [at for at in range(len(columns)) if any(line[at] for line in lines)]
    of = f" (mean of {len(compared.models)} models)" if len(compared.models) > 1 else ""
    table = {
        "title": f"Before and after: what each mitigation changes, query by query{of}",
        "columns": [columns[at] for at in kept],
        "rows": [[line[at] for at in kept] for line in lines],
        "estimates": [row for _, row in shown],
        "replaces": [CHANGED, *_BESIDE],
    }
    return [], [table] if lines else []


class _Compared:
    """Every comparison of a score with and without a mitigation, with what stands beside it."""

    def __init__(self, material: Material, frame: pl.DataFrame) -> None:
        self.material, self.frame = material, frame
        self.over = str(frame["contrast"][0])
        scoped = [c for c in ("generator", *material.factors) if c in frame.columns and c != self.over]
        self.parts = [c for c in scoped if c != "generator" and frame[c].null_count() < frame.height]
        self.keys = ["definition", *_FIXED, *(c for c in ("annotator", *scoped) if c in frame.columns)]
        # A control is itself compared with the original.
        self.references = sorted(set(frame["reference"]), key=lambda one: (one in set(frame[self.over]), one))
        scores = material.scores
        self.beside = {
            name: {self._key(row, row["reference"]): row for row in scores.filter(measure=name).to_dicts()}
            for name in (PART, SIZE, RANKED)
        }
        self.means = {
            (self._key(row), row["reference"]): row
            for row in material.scores.filter(measure=MEANS).iter_rows(named=True)
        }
        annotator = pl.col("annotator") if "annotator" in frame.columns else pl.lit(None, pl.String)
        by = frame.group_by("definition").agg(annotator.unique())
        self.annotators: dict[str, list[str | None]] = dict(by.iter_rows())
        self.models = [m for m in material.generators if m in set(self._column("generator"))]

    @classmethod
    def of(cls, material: Material) -> "_Compared | None":
        """What a run compares; None where nothing was, or there was too little to say what with what."""
        frame = material.scores.filter(pl.col("contrast").is_not_null(), measure=CHANGED)
        return cls(material, frame) if frame.height else None

    def _column(self, name: str) -> list[Any]:
        return self.frame[name].unique().to_list() if name in self.frame.columns else []

    def _key(self, row: Estimate, *more: Any) -> _Key:
        return (*(row.get(c) for c in [*self.keys, self.over]), *more)

    def ends(self, row: Estimate) -> tuple[float | None, float | None]:
        """The means without and with the mitigation."""
        new, first = row[self.over], row["reference"]
        with_it = self.means.get((self._key(row), first))
        without = self.means.get((self._key({**row, self.over: first}), new))
        return (
            None if without is None else without["value"],
            None if with_it is None else with_it["value"],
        )

    def told(self, row: Estimate) -> str:
        """The means without and with the mitigation, and the change as a share of the former, as text."""
        before, after = self.ends(row)
        if before is None or after is None:
            return f"not defined: {row['undefined']}"
        part = self._other(PART, row)
        of = "" if part is None or part["value"] is None else f" ({_percent(part['value'])})"
        return f"{number(before, row['n'])} → {number(after, row['n'])}{of}"

    def axis(self, score: str) -> str:
        told = self.material.explain(score).axis
        return told if told in AXES else ""

    def scores(self) -> list[tuple[Any, ...]]:
        """Score, attribute and category, by axis."""
        found = self.frame.select("definition", *_FIXED).unique(maintain_order=True).rows()
        order = list(AXES)
        return sorted(found, key=lambda one: order.index(self.axis(one[0])))

    def rows(self, score: tuple[Any, ...], *, whole: bool) -> list[Estimate]:
        """Comparisons of a score in the order of the design; ``whole``: over all queries, a row a model."""
        same = [
            row
            for row in self.frame.iter_rows(named=True)
            if (row["definition"], *(row[c] for c in _FIXED)) == score
        ]
        if whole:
            single = [row for row in same if all(row[c] is None for c in self.parts)]
            of_model = [row for row in single if row.get("generator") is not None]
            same = of_model or single
        place = self.material.position
        return sorted(
            same,
            key=lambda row: (
                *(place(c, row[c]) if row[c] is not None else (-1, "") for c in self.parts),
                self.references.index(row["reference"]),
                place(self.over, row[self.over]),
                place("generator", row.get("generator")),
            ),
        )

    def name(self, score: tuple[Any, ...], *, short: bool = False) -> str:
        measure, attribute, category = score
        further = [words(str(x)) for x in (attribute, category) if x not in (None, "all")]
        prose = self.material.explain(measure)
        return ": ".join([prose.abbreviation if short else prose.heading, *further])

    def whole(self, score: tuple[Any, ...]) -> list[Estimate]:
        """Comparisons of a score over all queries and models: with a control where it is of stereotypes, of
        refusals where there were any."""
        axis, first = self.axis(score[0]), self.references[0]
        rows = self._over_all(score) or self.rows(score, whole=True)
        return [
            row
            for row in rows
            if (axis == next(iter(AXES)) or row["reference"] == first)
            and (axis != "refusal" or any(self.ends(row)))
        ]

    def label(self, row: Estimate) -> str:
        several = len(self.annotators[row["definition"]]) > 1
        by = f", by {row['annotator']}" if several and row.get("annotator") is not None else ""
        first = row["reference"] == self.references[0]
        beside = "" if first else f" beside {level_words(self.over, row['reference'])}"
        return f"{level_words(self.over, row[self.over])}{beside}{by}"

    def figure(self) -> Figure:
        """A panel a score, those of one axis together: before, after, and the interval of the difference."""
        panels, drawn_rows = [], 0
        for score in self.scores()[:MOST_PANELS]:
            rows = self.rows(score, whole=True)
            models = list(dict.fromkeys(str(row.get("generator") or _ALL) for row in rows))
            if len(models) > len(PALETTE):
                rows, models = self._over_all(score), [_ALL]
            drawn = [self._dot(row) for row in rows]
            prose = self.material.explain(score[0])
            reverse = {"variety": "higher: less varied", "fidelity": "higher: less faithful"}
            sense = reverse.get(prose.axis, "") if prose.axis_scale == "reversed" else ""
            unit = "; ".join(filter(None, (self.name(score), sense)))
            ends = [{**row, "floor": row["true"]} for row in drawn]
            heading = AXES[self.axis(score[0])]
            spec = gaps(drawn, unit=unit, series=models, domain=domain_of(ends))
            told = panel_words(f"{heading}, {self.name(score)}", "before and after", drawn)
            panels.append(Panel(heading, spec, told, len(drawn)))
            drawn_rows += len(drawn)
        prose = self.material.explain(CHANGED)
        title = "Before and after, on all three axes"
        reads = (
            "The tick is the mean without the mitigation, the dot that with it, over the same queries; the "
            "line is the interval of the difference, drawn at the dot, for queries like these. Dark bars "
            "rise, light bars fall. What a fall of stereotypes is paid for with shows in the other panels."
        )
        cut = max(0, len(self.scores()) - MOST_PANELS)
        frame = self._drawn()
        notes = notes_of(frame, cut, 0)
        if self.frame["p_value"].null_count() == self.frame.height:
            notes.append(_UNTESTED)
        whole = table_of(self.material, self.frame, title, file=f"tables/{CHANGED}.csv")
        more: dict[str, Any] = {"reads": reads, "notes": notes, "table": whole}
        return Figure.of(self.material, frame, prose, title, "mitigations-axes", panels, **more)

    def _drawn(self) -> pl.DataFrame:
        """The comparisons that the figure draws: over all queries, of each model where there is one."""
        whole = self.frame.filter(*(pl.col(c).is_null() for c in self.parts))
        of_model = whole.filter(pl.col("generator").is_not_null()) if self.models else whole
        return of_model if of_model.height else whole

    def _over_all(self, score: tuple[Any, ...]) -> list[Estimate]:
        return [row for row in self.rows(score, whole=False) if self._is_whole(row)]

    def _is_whole(self, row: Estimate) -> bool:
        return row.get("generator") is None and all(row[c] is None for c in self.parts)

    def _dot(self, row: Estimate) -> dict[str, Any]:
        before, after = self.ends(row)
        told = self.told(row)
        drawn = dot_of(row, self.label(row), told, told, series=str(row.get("generator") or _ALL))
        known = after is not None and before is not None
        ends = {
            end: before + row[end] if known and row[end] is not None and before is not None else None
            for end in ("low", "high")
        }
        sure = row["q_value"] is not None and row["q_value"] <= SIGNIFICANT
        return {**drawn, **ends, "value": after, "true": before, "floor": None, "sure": sure}

    def table(self) -> Table:
        """The shape of the paper's table: a line a score, part and mitigation, models side by side."""
        lines = [row for score in self.scores() for row in self._lines(score)]
        # Refusals that never were are drawn, and need no lines.
        happened = {row["definition"] for row in lines if any(self.ends(row))}
        lines = [r for r in lines if self.axis(r["definition"]) != "refusal" or r["definition"] in happened]
        several = len(self.models) > 1
        columns: dict[str, Callable[[Estimate], TableCell | str | int | None]] = {
            "score": lambda row: self.name((row["definition"], *(row[c] for c in _FIXED)), short=True),
            **{words(c): partial(_part, c) for c in self.parts},
            words(self.over): self.label,
        }
        for model in self.models if several else ():
            columns[model] = partial(self._model_cell, model)
        columns |= {
            f"{_ALL if several else 'without → with'}": self._overall_cell,
            "difference [interval]": lambda row: estimate_cell(self.material, row),
            "p (t)": lambda row: probability(row["p_value"]),
            "q": lambda row: probability(row["q_value"]),
            "p (Wilcoxon)": lambda row: probability((self._other(RANKED, row) or {}).get("p_value")),
            "d_z [interval]": self._size_cell,
            "queries": lambda row: row["n"],
        }
        caption = "Every mitigation beside none: means, change as a share of that without, and paired tests"
        if self.references[1:]:
            caption += "; and beside what was drawn again with nothing changed"
        return table_by(caption, lines, columns, f"tables/{CHANGED}.csv")

    def _lines(self, score: tuple[Any, ...]) -> Iterator[Estimate]:
        """Comparisons over all models, or of the only one; of stereotypes those of single parts as well."""
        rows = self.rows(score, whole=False)
        lines = [row for row in rows if row.get("generator") is None] or rows
        first = self.axis(score[0]) == next(iter(AXES))
        yield from lines if first else [row for row in lines if all(row[c] is None for c in self.parts)]

    def _other(self, name: str, row: Estimate) -> Estimate | None:
        """The row of another name about the same comparison."""
        return self.beside[name].get(self._key(row, row["reference"]))

    def _model_cell(self, model: str, row: Estimate) -> TableCell:
        own = {**row, "generator": model}
        return TableCell(self._change(own), numeric=True)

    def _overall_cell(self, row: Estimate) -> TableCell:
        before, _ = self.ends(row)
        first = "" if before is None else f"{number(before, row['n'])} → "
        return TableCell(f"{first}{self._change(row)}", numeric=True)

    def _change(self, row: Estimate) -> str:
        _, after = self.ends(row)
        part = self._other(PART, row)
        of = "" if part is None or part["value"] is None else f" ({_percent(part['value'])})"
        return "" if after is None else f"{number(after, row['n'])}{of}"

    def _size_cell(self, row: Estimate) -> TableCell:
        found = self._other(SIZE, row)
        if found is None or found["low"] is None:
            return TableCell("")
        return TableCell(interval(found["value"], found["low"], found["high"], found["n"]), numeric=True)


def _percent(part: float) -> str:
    return f"{100 * part:+.0f}%".replace("-", "−")


def _part(factor: str, row: Estimate) -> str:
    return "all" if row[factor] is None else level_words(factor, row[factor])


add_section(
    "mitigations",
    "What the mitigations change, and at what price",
    lead="Every query is compared with itself, without and with a mitigation, on three axes at once: "
    "stereotypes or differences between groups, variety among the pictures of one query, and fidelity to "
    "what was asked for.",
    place=46,
    make=_blocks,
    headline=_headline,
    large=lambda material: [
        image for pair in pairs_of_sets(material) for one in pair.sides for image in one.images
    ],
)
