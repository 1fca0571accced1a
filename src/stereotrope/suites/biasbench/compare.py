"""Every number of a captions file: paper formula, released definition and published figure side by side."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stereotrope.errors import InputError
from stereotrope.suites.biasbench.captions_file import CaptionRow, CaptionsFile, read_benchmark_captions
from stereotrope.suites.biasbench.diagnosis import ModelCaptions, Remark, diagnose
from stereotrope.suites.biasbench.figures import PrintedFigure, printed, published_name
from stereotrope.suites.biasbench.formulas import JUDGED, MATCHINGS, CellKey, PaperValue, paper_values
from stereotrope.suites.biasbench.hits import Hits, doubtful_values
from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS, data_of
from stereotrope.suites.biasbench.released import ReleasedScore, released, spread
from stereotrope.suites.biasbench.wordlists import WordLists, read_wordlists
from stereotrope.suites.check import AGREES, DIFFERS

AFTER = "agrees after repair"
OTHER_LEXICON = "other lexicon"
NONE = "no value"
NOT_PRINTED = "not in the paper"

CELL_VERDICTS: Mapping[str, str] = {
    AGREES: "the released definition on these captions gives the published figure to its last digit",
    AFTER: "it does so once the file is read as the published figures were likely counted; see what is odd",
    DIFFERS: "the authors' lexicon, the released definition and these captions give something else",
    OTHER_LEXICON: "the published figure was counted with the authors' lexicon, this number with another",
    NONE: "nothing can be computed; the reason is given",
    NOT_PRINTED: "the paper prints no such figure",
}
"""Every verdict on a cell with its meaning."""

_GIVEN = ("parity_difference", "bias_amplification", "kl_from_uniform", "cas", "cbs", "contextual_diversity")
"""Formulas of the paper that are given where the scripts do not report the score."""
_SHOWN = 40
_UNREPORTED = "the released scripts do not report it for this prompt"
_UNSEEN = "no caption has it as the released scripts match"


@dataclass(frozen=True)
class ComparedCell:
    """One number. ``released`` is unrounded; ``published`` is as printed, ``place`` where it stands.

    ``paper`` is the paper's formula on the same captions by how terms are found, ``repaired`` the released
    definition under the reading of the file that the published figures likely follow.
    """

    prompt: str
    measure: str
    level: str
    n: int
    paper: Mapping[str, PaperValue]
    released: float | None
    published: str | None
    place: str
    repaired: float | None
    verdict: str
    explanation: str

    def digits(self, value: float | None) -> str:
        """A released number with the digits that the scripts print; a dash for none."""
        if value is None:
            return "–"
        places = {"groups_seen": 0, "representation_parity": 3}.get(self.measure, 4)
        return f"{value:.{places}f}"


@dataclass(frozen=True)
class ComparedModel:
    """All cells of one model, after what is odd about its captions; ``hits`` are values to be doubted."""

    model: str
    published_as: str | None
    captions: int
    remarks: Sequence[Remark]
    cells: Sequence[ComparedCell]
    hits: Sequence[Hits]


@dataclass(frozen=True)
class CaptionsReproduction:
    """What captions give beside what the paper printed.

    ``files`` have a ``name`` and a ``sha256`` each; ``skipped`` says which files hold no captions.
    """

    suite: str
    source: str
    licence: str
    lexicon: str
    authors_lexicon: bool
    models: Sequence[ComparedModel]
    files: Sequence[Mapping[str, str]] = ()
    skipped: Sequence[str] = ()

    def counts(self) -> dict[str, int]:
        """How many cells have each verdict."""
        found = Counter(cell.verdict for model in self.models for cell in model.cells)
        return {verdict: found[verdict] for verdict in CELL_VERDICTS if found[verdict]}

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain data for JSON, the meaning of the verdicts included."""
        meanings = {"verdicts": dict(CELL_VERDICTS), "matchings": dict(MATCHINGS)}
        return {**asdict(self), **meanings, "counts": self.counts()}


def compare_captions(captions: Path, lexicon: Path | None = None) -> CaptionsReproduction:
    """Set every number of the captions beside the paper's.

    captions: A file of captions, or a folder of such files.
    lexicon: The authors' lists (JSON) or a lexicon (YAML); the built-in one for None.
    Raises InputError: A file cannot be used; the message says why.
    """
    lists, paper = read_wordlists(lexicon), data_of("checks.yaml")
    files = read_benchmark_captions(captions)
    diagnosed = diagnose(files)
    if not any(found.rows for found in diagnosed):
        raise InputError(_nothing(captions, files))
    return CaptionsReproduction(
        suite="biasbench",
        source=paper["source"],
        licence=paper["licence"],
        lexicon=lists.name,
        authors_lexicon=lists.authors,
        models=[_model(found, lists) for found in diagnosed],
        files=[{"name": file.path.name, "sha256": file.sha256} for file in files if not file.skipped],
        skipped=[file.skipped.replace(str(file.path), file.path.name) for file in files if file.skipped],
    )


def _nothing(captions: Path, files: Sequence[CaptionsFile]) -> str:
    """Why none of the rows counts."""
    rows = [row for file in files for row in file.rows]
    if not rows:
        return f"{captions}: holds a header row and no caption"
    names = ", ".join(dict.fromkeys(repr(row.prompt or row.image)[:_SHOWN] for row in rows[:_SHOWN]))
    return (
        f"{captions}: none of its {len(rows)} rows is a caption of a prompt of the benchmark "
        f"({', '.join(BENCHMARK_PROMPTS)}); found {names[: 3 * _SHOWN]}; name them in a column prompt"
    )


def _model(found: ModelCaptions, lists: WordLists) -> ComparedModel:
    name, captions = published_name(found.model), _by_prompt(found.rows)
    again = released(_by_prompt(found.repaired), lists) if found.repairs else []
    repaired = {cell.key: cell.value for cell in again}
    paper = {matching: paper_values(captions, lists, matching) for matching in MATCHINGS}
    cells = []
    for cell in _cells(captions, lists, paper):
        figures = printed(name, cell.prompt, cell.measure, cell.level.lower()) if name else []
        values = {matching: values[cell.key] for matching, values in paper.items() if cell.key in values}
        fixed, verdict = repaired.get(cell.key), _verdict(cell, figures, repaired.get(cell.key), lists)
        # The paper repeats some figures, and not always alike: one that is not met is shown.
        figures.sort(key=lambda f: (cell.value is None or f.covers(cell.value), -f.places))
        why = _why(cell, figures[0], found, lists) if verdict == DIFFERS else cell.reason
        text, place = (figures[0].text, figures[0].place) if figures else (None, "")
        cells.append(ComparedCell(*cell.key, cell.n, values, cell.value, text, place, fixed, verdict, why))
    parts = {"representation_parity": 0, "scene": 2, "skin_tone": 2}  # shares, scores, what is counted beside
    cells.sort(key=lambda cell: (BENCHMARK_PROMPTS.index(cell.prompt), parts.get(cell.measure, 1)))
    hits = doubtful_values(captions, lists)
    return ComparedModel(found.model, name, len(found.rows), found.remarks, cells, hits)


def _cells(
    captions: Mapping[str, Sequence[str]], lists: WordLists, paper: Mapping[str, Mapping[CellKey, PaperValue]]
) -> list[ReleasedScore]:
    """Every number the scripts report, then what only the paper's formulas give."""
    cells = released(captions, lists)
    reported = {cell.key for cell in cells}
    for key in (key for key in paper[JUDGED] if key not in reported):
        if key[1] in _GIVEN:
            cells.append(ReleasedScore(*key, None, len(captions[key[0]]), _UNREPORTED))
        elif key[1] == "representation_parity" and any(values[key].value for values in paper.values()):
            cells.append(ReleasedScore(*key, None, len(captions[key[0]]), _UNSEEN))
    return cells


def _by_prompt(rows: Sequence[CaptionRow]) -> dict[str, list[str]]:
    return {prompt: [r.caption for r in rows if r.prompt == prompt] for prompt in BENCHMARK_PROMPTS}


def _verdict(
    cell: ReleasedScore, figures: Sequence[PrintedFigure], repaired: float | None, lists: WordLists
) -> str:
    if cell.value is None:
        return NONE if figures or cell.reason not in (_UNREPORTED, _UNSEEN) else NOT_PRINTED
    if not figures:
        return NOT_PRINTED
    if not lists.authors:
        return OTHER_LEXICON
    if all(f.covers(cell.value) for f in figures):
        return AGREES
    if repaired is not None and all(f.covers(repaired) for f in figures):
        return AFTER
    return DIFFERS


def _why(cell: ReleasedScore, figure: PrintedFigure, found: ModelCaptions, lists: WordLists) -> str:
    """What else the figure is, where that is known."""
    for rows in (found.rows, found.repaired):
        cells = released(_by_prompt(rows), lists)
        value = {(c.measure, c.level): c.value for c in cells if c.prompt == cell.prompt}
        n = next(c.n for c in cells if c.prompt == cell.prompt)
        puzzle = value.get(("scene", "puzzle"))
        if cell.measure == "gmr" and puzzle is not None and figure.covers(1 - puzzle):
            return (
                "the figure is 1 − the share of captions with a puzzle, not the missing rate of all keywords"
            )
        white = value.get(("representation_parity", "white"))
        if cell.measure == "parity_difference" and white is not None and figure.covers(white - 1 / 6):
            return "the figure is p_white − 1/6, the distance to an equal share of six groups"
        share = value.get((cell.measure, cell.level))
        if cell.level and share is not None and n != 100 and figure.covers(share * n / 100):
            return f"the figure is the count, {round(share * n)} of {n}, read as per cent"
        if other := _of_other_shares(cell, figure, value):
            return other
    return "no other reading of the figure is known"


def _of_other_shares(
    cell: ReleasedScore, figure: PrintedFigure, values: Mapping[tuple[str, str], float | None]
) -> str | None:
    """The same score over the other attributes of the prompt's captions, where it is the figure."""
    shares: dict[str, dict[str, float]] = {}
    for (measure, level), value in values.items():
        if level and value and measure not in ("representation_parity", "scene"):
            shares.setdefault(measure, {})[level] = value
    for attribute, of_group in shares.items():
        score = spread(of_group).get(cell.measure)
        if score is not None and figure.covers(score):
            told = ", ".join(f"{group} {share:.2f}" for group, share in of_group.items())
            words = attribute.replace("_", " ")
            return f"the figure is that of the {words} of the same captions, {told}: {score:.3f}"
    return None
