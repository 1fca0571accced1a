"""Clusters of scenarios with the highest and the lowest mean ratios, by model, with their spread and rank."""

from collections.abc import Sequence
from typing import Any

import polars as pl

from stereotrope.report.charts.heat import heat
from stereotrope.report.datatable import TableCell, estimate_cell, estimate_text, table_by
from stereotrope.report.material import words
from stereotrope.report.numbers import count, number
from stereotrope.report.panels import MOST_PANELS, Figure, Panel, notes_of, panel_words
from stereotrope.report.sections.scenarios.ratios import ALL_MODELS, Ratios, ScenarioLine
from stereotrope.report.series import Estimate

_RATIO, _SPREAD, _RANK = "cluster_ratio", "cluster_spread", "cluster_rank"
_ENDS = 6
"""Clusters at each end of a group that are drawn."""
_HALF = 0.5
_MOST_MODELS = 10


class ClusterTable:
    """What is stored of clusters: rows by group, cluster and model; ``factor`` names the cluster."""

    def __init__(self, ratios: Ratios, factor: str) -> None:
        self.factor = factor
        stored = ratios.stored(_RATIO, _SPREAD, _RANK, by=[factor])
        self.frame = stored.filter(pl.col(factor).is_not_null())
        self.of: dict[tuple[str, str, str], dict[str, Estimate]] = {}
        for row in self.frame.iter_rows(named=True):
            place = ratios.group_of(row), str(row[self.factor]), ratios.line_of(row)
            self.of.setdefault(place, {})[row["measure"]] = row
        found = dict.fromkeys(group for group, _, _ in self.of)
        known = {group: i for i, group in enumerate(ratios.group_names)}
        self.groups = sorted(found, key=lambda group: known.get(group, -1))

    @classmethod
    def every(cls, ratios: Ratios) -> list["ClusterTable"]:
        """A table a factor that clusters are named by."""
        rows = ratios.material.scores.filter(measure=_RATIO)
        own = [c for c in ratios.material.factors if c in rows.columns and c not in ratios.groups]
        every = [cls(ratios, c) for c in own if rows[c].count()]
        return [one for one in every if one.frame.height]

    def ranking(self, group: str) -> list[str]:
        """The clusters of a group, the highest mean over all models first; undefined ones left out."""
        found = [
            (-told[_RATIO]["value"], cluster)
            for (of, cluster, model), told in self.of.items()
            if of == group and model == ALL_MODELS and _RATIO in told and told[_RATIO]["value"] is not None
        ]
        return [cluster for _, cluster in sorted(found)]

    def models(self, ratios: Ratios) -> list[str]:
        """All models together, then each; of a single one this alone."""
        each = [m for m in ratios.lines if m != ALL_MODELS]
        return each if len(each) == 1 else [ALL_MODELS, *each[:_MOST_MODELS]]


def cluster_line(ratios: Ratios) -> ScenarioLine | None:
    """A figure a factor that names clusters, where there are any."""
    every = ClusterTable.every(ratios)
    if not every:
        return None
    named = {one.factor: f" by {words(one.factor)}" if len(every) > 1 else "" for one in every}
    figures = [_figure(ratios, one, named[one.factor]) for one in every]
    frame = pl.concat([one.frame for one in every])
    return ScenarioLine("Clusters of scenarios at both ends", figures, frame)


def _figure(ratios: Ratios, told: ClusterTable, named: str) -> Figure:
    """A table of colours a group: its clusters at both ends, a column a model; all of them in the table."""
    material = ratios.material
    panels, cut, models = [], 0, told.models(ratios)
    for group in told.groups:
        ranked = told.ranking(group)
        shown = ranked if len(ranked) <= 2 * _ENDS else [*ranked[:_ENDS], *ranked[-_ENDS:]]
        cut += len(ranked) - len(shown)
        if cells := [cell for cluster in shown for cell in _cells(ratios, told, group, cluster, models)]:
            spec = heat(cells, columns=models, lines=shown, signed=True, top=_HALF)
            panels.append(Panel(group, spec, panel_words("Clusters", group, cells), len(shown)))
    prose = material.explain(_RATIO, ratios.basis["definition"])
    frame = told.frame.filter(measure=_RATIO)
    title = f"{prose.title}{named}{ratios.named}"
    notes = notes_of(frame, 0, 0, dots=False)
    if cut:
        notes.insert(0, f"Not drawn: {count(cut, 'cluster')} between the ends; the table has them.")
    reads = (
        "Clusters stand by their mean over all models; ± is how far their scenarios lie apart "
        "(standard deviation). Purple is above one half, orange below. The ends of a ranking are chosen "
        f"after looking: the table has the interval of each rank. {prose.reads}"
    )
    more: dict[str, Any] = {
        "table": _table(ratios, told, title),
        "notes": notes,
        "reads": reads,
        "stacked": True,
    }
    name = f"scenarios-clusters{named}{ratios.named}"
    return Figure.of(material, frame, prose, title, name, panels[:MOST_PANELS], **more)


def _cells(
    ratios: Ratios, told: ClusterTable, group: str, cluster: str, models: Sequence[str]
) -> list[dict[str, Any]]:
    """What is drawn of a cluster: its mean and spread of each model."""
    cells = []
    for model in models:
        rows = told.of.get((group, cluster, model), {})
        mean, spread, rank = (rows.get(name) for name in (_RATIO, _SPREAD, _RANK))
        if mean is None or mean["value"] is None:
            continue
        shown = number(mean["value"], places=2)
        apart = "" if spread is None or spread["value"] is None else f" ± {number(spread['value'], places=2)}"
        place = "" if rank is None else f", rank {estimate_text(ratios.material, rank)}"
        tip = f"{cluster}, {model}: {estimate_text(ratios.material, mean)}{apart}{place}, "
        cells.append(
            {
                "line": cluster,
                "column": model,
                "value": mean["value"] - _HALF,
                "text": f"{shown}{apart}",
                "tip": tip + count(mean["n"], "scenario"),
            }
        )
    return cells


def _table(ratios: Ratios, told: ClusterTable, title: str) -> Any:
    """A row a cluster and model: mean, spread and rank; the order of the page."""

    def estimate(name: str) -> Any:
        def cell(row: tuple[tuple[str, str, str], dict[str, Estimate]]) -> TableCell:
            known = row[1].get(name)
            return TableCell("") if known is None else estimate_cell(ratios.material, known)

        return cell

    columns: dict[str, Any] = {
        "cluster": lambda row: row[0][1],
        "model": lambda row: row[0][2],
        "mean [interval]": estimate(_RATIO),
        "standard deviation": estimate(_SPREAD),
        "rank [interval]": estimate(_RANK),
        "scenarios": lambda row: next(iter(row[1].values()))["n"],
    }
    if any(told.groups):
        columns = {"group": lambda row: row[0][0], **columns}
    order = {g: {c: i for i, c in enumerate(told.ranking(g))} for g in told.groups}
    rows = sorted(
        told.of.items(),
        key=lambda item: (
            told.groups.index(item[0][0]),
            order[item[0][0]].get(item[0][1], len(order[item[0][0]])),
            item[0][2] != ALL_MODELS,
        ),
    )
    return table_by(title, rows, columns, f"tables/{_RATIO}.csv")
