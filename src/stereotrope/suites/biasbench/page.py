"""The page of ``reproduce biasbench``, for a reader of the paper: where its figures come from."""

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from stereotrope.report.document import render_document
from stereotrope.report.numbers import count, number, thousands
from stereotrope.suites.biasbench.compare import (
    AFTER,
    CELL_VERDICTS,
    NONE,
    NOT_PRINTED,
    OTHER_LEXICON,
    CaptionsReproduction,
    ComparedCell,
    ComparedModel,
)
from stereotrope.suites.biasbench.formulas import JUDGED, MATCHINGS, PaperValue
from stereotrope.suites.biasbench.hits import Hits, listed
from stereotrope.suites.biasbench.prompts import data_of, prompt_names, prompt_texts
from stereotrope.suites.biasbench.reproduce import reproduce_biasbench
from stereotrope.suites.check import AGREES, DIFFERS

_HEADS = {"letters": "letters", "word": "words", "split": "split"}
_MOST_OPEN = 4
_MOST_LINES = 40
_DASH = "–"
_MOST_HITS = 3
_FEWEST = 10
"""Captions of a value below which it is named after all others."""


def reproduction_page(found: CaptionsReproduction, *, command: Sequence[str] = ()) -> str:
    """Render a reproduction as one HTML file that needs nothing else; text from files is inert in it.

    command: The words that made it, to be shown; names of files, not paths.
    """
    paper, words = reproduce_biasbench(), data_of("words.yaml")
    models = [_model(model, f"model-{place}", found) for place, model in enumerate(found.models, start=1)]
    context = {
        "title": "The figures of T2I-BiasBench, counted again",
        "asked": _asked(found),
        "findings": findings_of(found),
        "verdicts": _verdicts(found),
        "skipped": [text.rstrip(".") for text in found.skipped],
        "models": models,
        "any_hits": any(model["hits"] for model in models),
        "most_open": _MOST_OPEN,
        "definitions": words["measures"].values(),
        "sections": [(name, list(of)) for name, of in groupby(paper.checks, key=lambda check: check.section)],
        "checks_counted": paper.counted,
        "limits": words["limits"],
        "command": shlex.join(command or ("stereotrope", "reproduce", found.suite)),
        "source": found.source,
        "licence": found.licence,
    }
    return render_document(
        "reproduction.html.j2",
        context,
        templates={"reproduction.html.j2": _asset("reproduction.html.j2")},
        style=_asset("reproduction.css"),
    )


def _asset(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text("utf-8")


def _asked(found: CaptionsReproduction) -> list[tuple[str, str]]:
    kind = "the authors’ word lists, unchanged" if found.authors_lexicon else "not the authors’ word lists"
    models = "; ".join(
        f"{model.model} ({count(model.captions, 'caption')}"
        f"{f', in the paper {model.published_as}' if model.published_as else ', not in the paper'})"
        for model in found.models
    )
    return [
        ("Paper", f"{found.source}"),
        ("Captions", ", ".join(file["name"] for file in found.files)),
        ("Models", models),
        ("Lexicon", f"{found.lexicon}: {kind}"),
        ("SHA-256", ", ".join(f"{file['name']} {file['sha256'][:16]}…" for file in found.files)),
    ]


def _verdicts(found: CaptionsReproduction) -> dict[str, Any]:
    rows = [
        {
            "verdict": verdict,
            "counts": [sum(cell.verdict == verdict for cell in model.cells) for model in found.models],
            "meaning": CELL_VERDICTS[verdict],
        }
        for verdict in found.counts()
        if verdict != NOT_PRINTED
    ]
    return {"models": [model.model for model in found.models], "rows": rows}


def _model(model: ComparedModel, id_: str, found: CaptionsReproduction) -> dict[str, Any]:
    lead = "The paper prints no figure of this model."
    if model.published_as and not found.authors_lexicon:
        lead = "The published figures were counted with the authors’ word lists, these numbers were not."
    return {
        "id": id_,
        "name": model.model,
        "title": f"{model.model} ({model.published_as})" if model.published_as else model.model,
        "captions": count(model.captions, "caption"),
        "published": bool(model.published_as) and found.authors_lexicon,
        "lead": lead,
        "remarks": [{**vars(remark), "lines": remark.where(_MOST_LINES)} for remark in model.remarks],
        "tables": [
            _table(prompt, list(cells)) for prompt, cells in groupby(model.cells, key=lambda c: c.prompt)
        ],
        "hits": [
            {
                **vars(hit),
                "prompt": prompt_names().get(hit.prompt, hit.prompt),
                "value": hit.value.replace("_", " "),
                "whole_word": _DASH if hit.whole_word is None else hit.whole_word,
                "words": listed(hit.words),
                "named": ", ".join(f"{group} {n}" for group, n in hit.named.items()),
                "sentence": _hit_sentence(hit),
            }
            for hit in sorted(model.hits, key=_doubtful, reverse=True)
        ],
    }


def _table(prompt: str, cells: Sequence[ComparedCell]) -> dict[str, Any]:
    there = [matching for matching in MATCHINGS if any(matching in cell.paper for cell in cells)]
    rows = [_row(cell, there) for cell in cells]
    return {
        "name": prompt_names().get(prompt, prompt),
        "text": prompt_texts().get(prompt, ""),
        "n": f"n = {thousands(cells[0].n)} {'caption' if cells[0].n == 1 else 'captions'}",
        "matchings": [_HEADS[matching] for matching in there],
        "repaired": any(cell.repaired is not None for cell in cells),
        "published": any(cell.published is not None for cell in cells),
        "remarks": any(row["verdict"] or row["reason"] for row in rows),
        "rows": rows,
    }


def _row(cell: ComparedCell, matchings: Sequence[str]) -> dict[str, Any]:
    told = cell.published is not None or cell.verdict == NONE
    words = data_of("words.yaml")["measures"].get(cell.measure, {})
    return {
        "measure": words.get("name", cell.measure.replace("_", " ")),
        "level": cell.level.replace("_", " "),
        "paper": [_paper(cell.paper.get(matching), cell.n) for matching in matchings],
        "released": cell.digits(cell.released),
        "repaired": cell.digits(cell.repaired),
        "published": cell.published or _DASH,
        "place": cell.place,
        "verdict": cell.verdict if told else "",
        "strong": cell.verdict in (AFTER, DIFFERS),
        "reason": cell.explanation if told else "",
    }


def _paper(value: PaperValue | None, n: int) -> dict[str, str] | None:
    if value is None:
        return None
    if value.value is None:
        return {"value": _DASH, "interval": "", "why": value.undefined}
    fewer = f"n = {value.n}" if value.n is not None and value.n != n else ""
    return {"value": number(value.value, value.n), "interval": value.interval, "why": fewer}


def findings_of(found: CaptionsReproduction) -> list[str]:
    """Say how many figures agree, how many of them the paper's own formula gives, and what to doubt most."""
    sentences: list[str] = []
    for model in found.models:
        sentences.append(_agreement(model, found))
        sentences += _own_formula(model) if found.authors_lexicon else []
    several = len(found.models) > 1
    hits = [(model, hit) for model in found.models for hit in model.hits]
    hits.sort(key=lambda one: (one[1].n < _FEWEST, -_doubtful(one[1]) / one[1].n, -one[1].n))
    worst = [_hit_sentence(hit, of=model.model if several else "") for model, hit in hits[:_MOST_HITS]]
    return sentences + worst


def _agreement(model: ComparedModel, found: CaptionsReproduction) -> str:
    counts = Counter(cell.verdict for cell in model.cells)
    if compared := counts[AGREES] + counts[AFTER] + counts[DIFFERS]:
        after = f", {counts[AFTER]} more once the file is read as the figures were likely counted"
        return (
            f"Of {count(compared, 'figure')} that the paper prints of {model.published_as}, {counts[AGREES]} "
            f"come out to the last digit by the released definition{after * (counts[AFTER] > 0)}; "
            f"{counts[DIFFERS]} {'does' if counts[DIFFERS] == 1 else 'do'} not."
        )
    if counts[OTHER_LEXICON] and not found.authors_lexicon:
        return (
            f"The paper prints {count(counts[OTHER_LEXICON], 'figure')} of {model.published_as}, counted "
            "with the authors’ word lists. These numbers are counted with others, so that none can "
            "agree or differ."
        )
    return f"The paper prints no figure that these captions of {model.model} give: the numbers stand alone."


def _own_formula(model: ComparedModel) -> Iterator[str]:
    if compared := [cell for cell in model.cells if cell.published is not None and _ends(cell)]:
        yield (
            "By the paper’s own formula, with terms as whole words after words run together are split, "
            f"{len(outside_intervals(compared))} of {len(compared)} printed figures of {model.published_as} "
            "lie outside the interval of the recomputed number."
        )


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


def _doubtful(hit: Hits) -> int:
    """Captions of a value that are to be doubted, in the worst of the ways that were looked at."""
    return max(hit.inside_only, hit.noun_only, sum(hit.named.values()))


def _hit_sentence(hit: Hits, of: str = "") -> str:
    """Of how many captions a value is, and what of it to doubt; ``of`` is the model where it must be told."""
    prompt = prompt_names().get(hit.prompt, hit.prompt)
    where = (f" of {prompt}" if prompt else "") + (f" ({of})" if of else "")
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
