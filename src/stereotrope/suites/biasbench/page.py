"""The page of ``reproduce biasbench``, for a reader of the paper: where its figures come from."""

import shlex
from collections.abc import Sequence
from importlib import resources
from itertools import groupby
from typing import Any

from stereotrope.report.document import render_document
from stereotrope.report.numbers import count, number, thousands
from stereotrope.suites.biasbench.compare import (
    AFTER,
    CELL_VERDICTS,
    DIFFERS,
    NONE,
    NOT_PRINTED,
    CaptionsReproduction,
    ComparedCell,
    ComparedModel,
)
from stereotrope.suites.biasbench.formulas import MATCHINGS, PaperValue
from stereotrope.suites.biasbench.hits import listed
from stereotrope.suites.biasbench.prompts import limits, measure_words, prompt_names, prompt_texts
from stereotrope.suites.biasbench.reproduce import reproduce_biasbench
from stereotrope.suites.biasbench.summary import doubtful, findings_of, hit_sentence

_HEADS = {"letters": "letters", "word": "words", "split": "split"}
_MOST_OPEN = 4
_MOST_LINES = 40
_DASH = "–"


def reproduction_page(found: CaptionsReproduction, *, command: Sequence[str] = ()) -> str:
    """Render a reproduction as one HTML file that needs nothing else; text from files is inert in it.

    command: The words that made it, to be shown; names of files, not paths.
    """
    checks = reproduce_biasbench().checks
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
        "definitions": measure_words().values(),
        "sections": [(name, list(of)) for name, of in groupby(checks, key=lambda check: check.section)],
        "checks_counted": _counted([check.verdict for check in checks]),
        "limits": limits(),
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
    folder = resources.files("stereotrope") / "suites" / "biasbench" / "templates"
    return folder.joinpath(name).read_text("utf-8")


def _asked(found: CaptionsReproduction) -> list[tuple[str, str]]:
    kind = "the authors’ word lists, unchanged" if found.authors_lexicon else "not the authors’ word lists"
    models = "; ".join(
        f"{model.model} ({count(model.captions, 'caption')}"
        f"{f', in the paper {model.published_as}' if model.published_as else ', not in the paper'})"
        for model in found.models
    )
    return [
        ("Paper", f"{found.source}"),
        ("Captions", ", ".join(file.name for file in found.files)),
        ("Models", models),
        ("Lexicon", f"{found.lexicon}: {kind}"),
        ("SHA-256", ", ".join(f"{file.name} {file.sha256[:16]}…" for file in found.files)),
    ]


def _verdicts(found: CaptionsReproduction) -> dict[str, Any]:
    used = [verdict for verdict in found.counts() if verdict != NOT_PRINTED]
    rows = [
        {
            "verdict": verdict,
            "counts": [sum(cell.verdict == verdict for cell in model.cells) for model in found.models],
            "meaning": CELL_VERDICTS[verdict],
        }
        for verdict in used
    ]
    return {"models": [model.model for model in found.models], "rows": rows}


def _counted(verdicts: Sequence[str]) -> str:
    counts = {verdict: verdicts.count(verdict) for verdict in dict.fromkeys(verdicts)}
    return f"{len(verdicts)} checks: {', '.join(f'{verdict} {n}' for verdict, n in counts.items())}."


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
                "prompt": (prompt := prompt_names().get(hit.prompt, hit.prompt)),
                "value": hit.value.replace("_", " "),
                "whole_word": _DASH if hit.whole_word is None else hit.whole_word,
                "words": listed(hit.words),
                "named": ", ".join(f"{group} {n}" for group, n in hit.named.items()),
                "sentence": hit_sentence(hit, prompt),
            }
            for hit in sorted(model.hits, key=lambda hit: -doubtful(hit))
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
    return {
        "measure": measure_words().get(cell.measure, {}).get("name", cell.measure.replace("_", " ")),
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
