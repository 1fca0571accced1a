"""What a reproduction shows, in sentences with numbers."""

from collections.abc import Sequence

from stereotrope.report.numbers import count
from stereotrope.suites.biasbench.compare import (
    AFTER,
    AGREES,
    DIFFERS,
    OTHER,
    CaptionsReproduction,
    ComparedCell,
    ComparedModel,
)
from stereotrope.suites.biasbench.formulas import JUDGED
from stereotrope.suites.biasbench.hits import Hits, listed
from stereotrope.suites.biasbench.prompts import prompt_names

_MOST_HITS = 3
_FEWEST = 10
"""Captions of a value below which it is named after all others."""


def findings_of(found: CaptionsReproduction) -> list[str]:
    """Say how many figures agree, how many of them the paper's own formula gives, and what to doubt most."""
    sentences: list[str] = []
    for model in found.models:
        sentences += _agreement(model, found)
        sentences += _own_formula(model) if found.authors_lexicon else []
    several = len(found.models) > 1
    hits = [(model, hit) for model in found.models for hit in model.hits]
    worst = sorted(hits, key=lambda one: (one[1].n < _FEWEST, -doubtful(one[1]) / one[1].n, -one[1].n))
    for model, hit in worst[:_MOST_HITS]:
        name = prompt_names().get(hit.prompt, hit.prompt)
        sentences.append(hit_sentence(hit, name, of=model.model if several else ""))
    return sentences


def _agreement(model: ComparedModel, found: CaptionsReproduction) -> list[str]:
    counts = {verdict: sum(c.verdict == verdict for c in model.cells) for verdict in (AGREES, AFTER, DIFFERS)}
    compared = sum(counts.values())
    if compared:
        repaired = counts[AFTER]
        after = (
            f", {repaired} more once the file is read as the figures were likely counted" if repaired else ""
        )
        return [
            f"Of {count(compared, 'figure')} that the paper prints of {model.published_as}, {counts[AGREES]} "
            f"come out to the last digit by the released definition{after}; {counts[DIFFERS]} "
            f"{'does' if counts[DIFFERS] == 1 else 'do'} not."
        ]
    other = sum(cell.verdict == OTHER for cell in model.cells)
    if other and not found.authors_lexicon:
        return [
            f"The paper prints {count(other, 'figure')} of {model.published_as}, counted with the authors’ "
            f"word lists. These numbers are counted with others, so that none can agree or differ."
        ]
    return [f"The paper prints no figure that these captions of {model.model} give: the numbers stand alone."]


def _own_formula(model: ComparedModel) -> list[str]:
    compared = [cell for cell in model.cells if cell.published is not None and _ends(cell)]
    outside = outside_intervals(compared)
    if not compared:
        return []
    return [
        f"By the paper’s own formula, with terms as whole words after words run together are split, "
        f"{len(outside)} of {len(compared)} printed "
        f"figures of {model.published_as} lie outside the interval of the recomputed number."
    ]


def outside_intervals(cells: Sequence[ComparedCell]) -> list[ComparedCell]:
    """Cells whose published figure, whatever it was rounded from, is outside the interval of its formula."""
    found = []
    for cell in cells:
        interval = _ends(cell)
        if interval is None or cell.published is None:
            continue
        half = 0.5 * 10.0 ** -len(cell.published.partition(".")[2])
        if not interval[0] - half <= float(cell.published) <= interval[1] + half:
            found.append(cell)
    return found


def _ends(cell: ComparedCell) -> tuple[float, float] | None:
    return cell.paper[JUDGED].ends if JUDGED in cell.paper else None


def doubtful(hit: Hits) -> int:
    """Captions of a value that are to be doubted, in the worst of the ways that were looked at."""
    return max(hit.inside_only, hit.noun_only, sum(hit.named.values()))


def hit_sentence(hit: Hits, prompt: str, of: str = "") -> str:
    """Say of how many captions a value is, and what of it to doubt.

    hit: The value.
    prompt, of: The prompt's name, and the model's where that must be told.
    """
    where = f" of {prompt}" if prompt else ""
    where += f" ({of})" if of else ""
    verb = "has" if hit.n == 1 else "have"
    attribute = hit.attribute.replace("_", " ")
    head = f"{count(hit.n, 'caption')}{where} {verb} the value “{hit.value}” of {attribute}"
    if hit.whole_word is None:
        read = ", ".join(f"{n} as {group}" for group, n in hit.named.items())
        return f"{head}; a second reading, which splits words run together, reads {read}."
    parts = [f"in {hit.whole_word} a term for it stands as a word of its own"]
    if hit.inside_only:
        words = f" ({listed(hit.words)})" if hit.words else ""
        parts.append(f"in {hit.inside_only} only as letters inside longer words{words}")
    if hit.run_together:
        parts.append(f"in {hit.run_together} only in words run together")
    told = f"{head}: {', '.join(parts)}."
    if hit.noun_only:
        told += f" {hit.noun_only} of {hit.n} rest on a word before clothes, hair or a background alone."
    return told
