"""What is worth a look: the strongest patterns of a run, in sentences, with the pictures that show them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.captions.findings import CAPTION_KINDS, CaptionFinding, caption_findings
from stereotrope.measure.divergence.homogenisation import homogenised, told
from stereotrope.measure.doubts import Doubts
from stereotrope.measure.evidence import Conditions, FindingEvidence
from stereotrope.measure.instrument_warnings import instrument_warnings
from stereotrope.measure.sentences import Wording, number, q_text, quoted, span
from stereotrope.measure.tidy import to_polars
from stereotrope.tables import ALL_ATTRIBUTES, ESTIMATES, FINDINGS

__all__ = ["findings"]

_MOST_NAMED = 6
"""Annotators that one sentence names."""
_ESTIMATE_NAMES = {column.name for column in ESTIMATES}
_COMPARING = ("bds", "dominance_shift", "share_difference", "refusal_rate_difference")
# Where several kinds are about one attribute of one condition, the first one says it best.
_ORDER = ("homogenisation", "dominance_shift", "deterministic", "divergence", "share_difference", "refusal")
_KINDS = (*_ORDER, *CAPTION_KINDS)


@dataclass(frozen=True)
class _Candidate:
    """A pattern that may become a finding; ``effect`` in [−1, 1] ranks it."""

    kind: str
    scope: dict[str, str]
    attribute: str | None
    effect: float
    row: Mapping[str, Any]
    wording: Wording
    category: str | None = None
    sentence: str | None = None
    """Where it cannot be told by the value of one attribute."""
    others: tuple[str, ...] = ()
    """What the other annotators of the same attribute say of the same pictures."""
    doubt: str | None = None
    """Why it must not lead."""


def findings(
    estimates: Any,
    labels: Any,
    *,
    images: Any | None = None,
    captions: Sequence[Any] = (),
    lexicons: Sequence[Mapping[str, Any]] = (),
    marks: Any | None = None,
    failed: Collection[tuple[str, str | None]] = (),
    limit: int = 50,
    alpha: float = 0.05,
) -> pl.DataFrame:
    """Rank what is worth a person's look, the largest effect first.

    Of two definitions of a measure only the paper's makes findings.
    Divergences, share differences and refusal differences enter with ``q ≤ alpha``; dominance shifts,
    deterministic cells and homogenisation (CDS falls while VAC rises for one generator and mitigation, the
    smaller change being the effect) as they are, but for a cell that is as deterministic as its reference.
    Where several are about one attribute of one condition, one finding is made; where several annotators
    label it, too, with the counts of each, and one that sees less than half of the shift is said to differ.
    The rank goes by effect, never by p: the adjusted divergence, or the difference of the shares, as a mean
    over the annotators, 0 for one without a finding. After all others comes, with the reason, what rests on
    fewer than ten distinct pictures, on an annotator that failed its check, or on text of a model that marks
    its pictures, read by an annotator that does not know marks. What measures of captions find
    enters by rules of its own (:func:`stereotrope.measure.captions.findings.caption_findings`). Warnings
    about annotators and copies come last but are never cut off by ``limit``.

    Parameters
    ----------
    estimates
        Estimates of any measures, in one frame; their null factors do not scope.
    labels
        Tidy labels (:func:`stereotrope.measure.tidy_labels`) that they were made from.
    images
        The table ``images``, to report byte-for-byte copies; None leaves that out.
    captions
        Captions frames, one a lexicon, that lead from findings about captions to their pictures.
    lexicons
        What the matching audit says of each lexicon: its ``annotator`` and its ``values``, rows of counts.
    marks
        Readings of text that are marks of a model: ``generator, annotator, image_id, mark, words, place`` and
        ``of``, how many of the model's pictures were read.
    failed
        Annotator and attribute of each check that an annotator failed elsewhere; attribute None for all.
    limit
        Most findings returned.
    alpha
        False discovery rate at which a comparison is shown.

    Returns
    -------
    polars.DataFrame
        ``finding_id, kind, rank, scope, attribute, sentence, measure, image_ids``, see
        :data:`stereotrope.tables.FINDINGS`. Values are quoted as data; sentences speak of what
        annotators read in pictures, never of identity or intent.

    Raises
    ------
    TableError
        A column is missing.

    Examples
    --------
    >>> import polars as pl
    >>> from stereotrope.measure import dominance_shift
    >>> labels = pl.DataFrame({
    ...     "image_id": [str(i) for i in range(40)], "attribute": "product_colour",
    ...     "value": ["pink"] * 20 + ["silver"] * 18 + ["pink"] * 2,
    ...     "generator": "m", "object": "car", "group": ["women"] * 20 + ["base"] * 20,
    ... })
    >>> print(findings(dominance_shift(labels), labels)["sentence"][0])
    In 20 of 20 pictures for women the product colour of the car is “pink” [0.84–1.00]; in the baseline \
it is in 2 of 20 [0.03–0.30], where “silver” is in 18.
    """
    table, tidy = to_polars(estimates, what="estimates"), to_polars(labels)
    if absent := [c for c in ("measure", "attribute", "value", "contrast") if c not in table.columns]:
        raise TableError(f"estimates: no column {absent[0]!r}; pass what the measures return")
    if absent := [c for c in ("image_id", "attribute", "value") if c not in tidy.columns]:
        raise TableError(f"labels: no column {absent[0]!r}; found {', '.join(map(repr, tidy.columns))}")
    evidence = FindingEvidence(tidy)
    wordings = _wordings(table, evidence)
    found = [*_candidates(table, evidence, wordings, alpha), *_homogenised(table, evidence)]
    level = _level(table)
    frames = [to_polars(frame, what="captions") for frame in captions]
    of_captions = caption_findings(table, frames, alpha=alpha, level=level)
    told = instrument_warnings(tidy, table, level, lexicons=lexicons, marks=marks, images=images)
    warnings = [_row("instrument", *warning) for warning in told][:limit]
    doubted = _doubted(_strongest(found, evidence), evidence, Doubts(table, failed, images, marks))
    together = _by_all_annotators(doubted, evidence, table)
    candidates: list[_Candidate | CaptionFinding] = [*together, *_by_all_readers(of_captions)]
    ranked = sorted(candidates, key=_place)
    rows = [_finding(c, evidence, level) for c in ranked[: limit - len(warnings)]] + warnings
    for rank, row in enumerate(rows, start=1):
        row["rank"] = rank
    types = {c.name: pl.Int64 if c.name == "rank" else pl.String for c in FINDINGS}
    return pl.DataFrame([{c.name: row[c.name] for c in FINDINGS} for row in rows], schema=types)


def _wordings(table: pl.DataFrame, evidence: FindingEvidence) -> dict[str, Wording]:
    """Each factor that is compared, with the level that most comparisons of it refer to."""
    compared = table.filter(pl.col("measure").is_in(_COMPARING), pl.col("contrast").is_not_null())
    if not compared.height:
        return {}
    counted = compared.group_by("contrast", "reference").len()
    ordered = counted.sort("len", "contrast", "reference", descending=[True, False, False])
    varying, wordings = evidence.varying, dict[str, Wording]()
    for contrast, reference, _ in ordered.iter_rows():
        wordings.setdefault(contrast, Wording(contrast, reference, varying))
    return wordings


def _level(table: pl.DataFrame) -> float:
    known = table["level"].drop_nulls() if "level" in table.columns else pl.Series([], dtype=pl.Float64)
    return float(known[0]) if known.len() else 0.95


def _candidates(
    table: pl.DataFrame, evidence: FindingEvidence, wordings: Mapping[str, Wording], alpha: float
) -> Iterator[_Candidate]:
    factors = [c for c in table.columns if c not in _ESTIMATE_NAMES]
    kept = _of_one_definition(table).filter(
        pl.col("value").is_not_null(), pl.col("attribute").ne_missing(ALL_ATTRIBUTES)
    )
    for row in kept.iter_rows(named=True):
        scope = {f: str(row[f]) for f in factors if row[f] is not None}
        contrast = row["contrast"] or next((name for name in wordings if name in scope), None)
        wording = wordings.get(contrast or "", Wording(contrast, None, evidence.varying))
        candidate = _Candidate("", scope, row["attribute"], 0.0, row, wording, row.get("category"))
        q = row.get("q_value")
        significant = q is not None and q <= alpha
        if row["contrast"] is not None and row.get("reference") != wording.reference:
            continue
        match row["measure"]:
            case "bds" if significant:
                adjusted = row.get("adjusted")
                effect = row["value"] if adjusted is None else adjusted
                yield replace(candidate, kind="divergence", effect=effect)
            case "share_difference" if significant:
                yield replace(candidate, kind="share_difference", effect=abs(row["value"]))
            case "refusal_rate_difference" if significant:
                yield replace(candidate, kind="refusal", effect=abs(row["value"]))
            case "dominance_shift" if row["value"] == 1:
                after = row["category"].split(" → ")[-1]
                effect = _moved(evidence, candidate, after)
                yield replace(candidate, kind="dominance_shift", category=after, effect=effect)
            case "dominant_share" if "deterministic" in (row.get("flags") or "").split(","):
                effect = _moved(evidence, candidate, row["category"])
                # As in the reference, where it is told once: the condition changed nothing.
                if effect or _reference_scope(candidate.scope, candidate.wording) is None:
                    yield replace(candidate, kind="deterministic", effect=effect)


def _of_one_definition(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the paper's definition of each measure that has it: sizes of two do not compare."""
    if "definition" not in table.columns:
        return table
    paper = table.filter(definition="paper")["measure"].unique().implode()
    return table.filter(~pl.col("measure").is_in(paper) | pl.col("definition").eq_missing("paper"))


def _homogenised(table: pl.DataFrame, evidence: FindingEvidence) -> Iterator[_Candidate]:
    for traded in homogenised(table):
        scope, cds, vac = traded
        wording = Wording(cds["contrast"], cds["reference"], evidence.varying)
        effect = min(-cds["value"], vac["value"], 1.0)
        yield _Candidate("homogenisation", scope, None, effect, vac, wording, sentence=told(traded, wording))


def _reference_scope(scope: Mapping[str, str], wording: Wording) -> dict[str, str] | None:
    """The same part of the design in the reference; None where the scope is the reference or has none."""
    level = scope.get(wording.contrast or "")
    if level is None or wording.reference is None or wording.contrast is None or level == wording.reference:
        return None
    return {**scope, wording.contrast: wording.reference}


def _counted(values: Mapping[str, list[str]], value: str) -> tuple[int, int]:
    return len(values.get(value, ())), sum(map(len, values.values()))


def _moved(evidence: FindingEvidence, candidate: _Candidate, value: str) -> float:
    """Share of the value minus its share in the reference; 0 where there is nothing to compare with."""
    here, there = _sides(candidate, evidence)
    return _shift(here, there, value) if here and there else 0.0


def _strongest(found: list[_Candidate], evidence: FindingEvidence) -> list[_Candidate]:
    """One candidate an attribute and condition, of the kind that says it best."""
    best: dict[tuple[Conditions, str | None], _Candidate] = {}
    for candidate in sorted(found, key=lambda c: (_ORDER.index(c.kind), -c.effect, -c.row["value"])):
        # Measures scope the same pictures with more or fewer factors: the pictures say what is the same.
        what = candidate.kind if candidate.sentence else candidate.attribute
        place = (evidence.conditions(candidate.attribute, candidate.scope), what)
        best.setdefault(place, candidate)
    return list(best.values())


def _by_all_annotators(
    found: list[_Candidate], evidence: FindingEvidence, table: pl.DataFrame
) -> list[_Candidate]:
    """One candidate a comparison: that of the annotator who says it best, with what the others say."""
    groups: dict[tuple[Conditions, str | None], list[_Candidate]] = {}
    for candidate in found:
        what = candidate.kind if candidate.sentence else candidate.attribute
        groups.setdefault((evidence.drawn_under(_without_annotator(candidate.scope)), what), []).append(
            candidate
        )
    judged = table["annotator"].drop_nulls().unique().sort().to_list() if "annotator" in table.columns else []
    together = []
    for members in groups.values():
        lead = min(members, key=_best)
        own = {c.scope.get("annotator"): c for c in members}
        others, asked = list[str](), 1
        for name in judged if "annotator" in lead.scope else ():
            if name != lead.scope["annotator"] and (told := _aside(name, own.get(name), lead, evidence)):
                others.append(told)
                asked += 1
        effect = sum(c.effect for c in own.values()) / max(asked, len(own))
        together.append(replace(lead, effect=effect, others=tuple(others)))
    return together


def _best(candidate: _Candidate) -> tuple[bool, int, float, str]:
    kind = _ORDER.index(candidate.kind)
    return (candidate.doubt is not None, kind, -candidate.effect, candidate.scope.get("annotator", ""))


def _doubted(found: list[_Candidate], evidence: FindingEvidence, doubts: Doubts) -> list[_Candidate]:
    """The candidates, each with what the run itself says against it."""
    told = []
    for candidate in found:
        sides: list[list[str]] = []
        if candidate.attribute is not None:
            here, there = _sides(candidate, evidence)
            sides = [[i for listed in side.values() for i in listed] for side in (here, there) if side]
        doubt = doubts.of(candidate.scope, candidate.attribute, sides)
        told.append(replace(candidate, doubt=doubt))
    return told


def _by_all_readers(found: Sequence[CaptionFinding]) -> list[CaptionFinding]:
    """One finding a pattern of captions: the largest, with what other captioners or lexicons make of it."""
    groups: dict[Any, list[CaptionFinding]] = {}
    times = Counter[Any]()
    for one in found:
        reader = one.scope.get("annotator")
        place = (one.kind, one.attribute, one.measure, str(sorted(_without_annotator(one.scope).items())))
        times[reader, place] += 1
        groups.setdefault((place, times[reader, place]), []).append(one)
    together = []
    for members in groups.values():
        lead = max(members, key=lambda one: one.effect)
        told = {one.scope.get("annotator", ""): one.sentence.removesuffix(".") for one in members}
        told.pop(lead.scope.get("annotator", ""))
        asides = [f"by {quoted(name)}: {sentence}" for name, sentence in sorted(told.items())]
        sentence = "; ".join([lead.sentence.removesuffix("."), *asides]) + "."
        together.append(replace(lead, sentence=sentence))
    return together


def _without_annotator(scope: Mapping[str, str]) -> dict[str, str]:
    return {factor: level for factor, level in scope.items() if factor != "annotator"}


def _aside(name: str, own: _Candidate | None, lead: _Candidate, evidence: FindingEvidence) -> str | None:
    """What another annotator says of the comparison; None where it did not label the attribute there."""
    who = f"by {quoted(name)}"
    if lead.sentence is not None:
        return f"{who} alike" if own is not None else f"not {who}"
    if lead.attribute is None:
        return None
    here, there = _sides(lead, evidence)
    value = lead.category or _moved_most(here, there)
    mine, theirs = _sides(replace(lead, scope={**lead.scope, "annotator": name}), evidence)
    if not mine:
        return None
    named = value
    if own is not None:
        named = own.category or _moved_most(mine, theirs)
    k, n = _counted(mine, named)
    text = f"in {k} of {n}" + (" and {} of {}".format(*_counted(theirs, named)) if theirs else "")
    if named != value:
        return f"{who} it is {quoted(named)} {text}"
    shift, of_lead = _shift(mine, theirs, value), _shift(here, there, value)
    return f"{who} {text}" if 2 * shift * of_lead >= of_lead**2 else f"{who}, which differs, {text}"


def _sides(
    candidate: _Candidate, evidence: FindingEvidence
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Images by value in the condition and in its reference, of the attribute as its annotator labels it."""
    other = _reference_scope(candidate.scope, candidate.wording)
    attribute = candidate.attribute or ""
    return evidence.values(attribute, candidate.scope), evidence.values(attribute, other) if other else {}


def _shift(here: Mapping[str, list[str]], there: Mapping[str, list[str]], value: str) -> float:
    """Share of a value less that in the reference, where there is one."""
    (k, n), (j, m) = _counted(here, value), _counted(there, value)
    return (k / n if n else 0.0) - (j / m if m else 0.0)


def _place(candidate: _Candidate | CaptionFinding) -> tuple[bool, float, int, str, str]:
    """Where a candidate stands among all: the largest effect first, what is doubted last."""
    kind = _KINDS.index(candidate.kind)
    doubted = isinstance(candidate, _Candidate) and candidate.doubt is not None
    return (
        doubted,
        -candidate.effect,
        kind,
        json.dumps(candidate.scope, sort_keys=True),
        candidate.attribute or "",
    )


def _finding(
    candidate: _Candidate | CaptionFinding, evidence: FindingEvidence, level: float
) -> dict[str, Any]:
    if isinstance(candidate, CaptionFinding):
        c = candidate
        return _row(c.kind, c.scope, c.attribute, c.sentence, c.measure, c.images)
    scope, row, wording = candidate.scope, candidate.row, candidate.wording
    if candidate.sentence is not None:
        shown = evidence.drawn(scope)
        return _row(
            candidate.kind, scope, None, _joined(candidate.sentence, candidate), row["measure"], shown
        )
    other = _reference_scope(scope, wording)
    beside = evidence.agreed(candidate.attribute, other) if other else {}
    tail = _tail(candidate)
    if candidate.attribute is None:
        seen, images = evidence.refused(scope)
        before, _ = evidence.refused(other) if other else ((0, 0), [])
        if not seen[1] or not before[1]:
            sentence = _rates_only(candidate, wording, beside)
        else:
            sentence = wording.refusal(scope, seen, before, level=level, beside=beside, tail=tail)
        return _row(candidate.kind, scope, None, sentence, row["measure"], images)
    here, there = _sides(candidate, evidence)
    value = candidate.category or _moved_most(here, there)
    if candidate.kind == "dominance_shift" and there:
        before_value = max(sorted(there), key=lambda v: len(there[v]))
        tail = f", where {quoted(before_value)} is in {len(there[before_value])}"
    sentence = wording.share(
        candidate.attribute,
        scope,
        value,
        _counted(here, value),
        _counted(there, value) if there else None,
        level=level,
        beside=beside,
        tail=tail,
    )
    # A value that went away is shown by what came instead: every picture of the condition.
    images = here.get(value) or [image for listed in here.values() for image in listed]
    return _row(
        candidate.kind, scope, candidate.attribute, _joined(sentence, candidate), row["measure"], images
    )


def _joined(sentence: str, candidate: _Candidate) -> str:
    """The sentence with what the other annotators say."""
    shown = candidate.others[:_MOST_NAMED]
    more = [f"{len(candidate.others) - len(shown)} more annotators"] * (len(candidate.others) > len(shown))
    doubt = [candidate.doubt] if candidate.doubt is not None else []
    return "; ".join([sentence.removesuffix("."), *shown, *more, *doubt]) + "."


def _moved_most(here: Mapping[str, list[str]], there: Mapping[str, list[str]]) -> str:
    """The value to name: the one that came most, unless another went more than twice as much."""

    def moved(value: str) -> float:
        return round(_shift(here, there, value), 9)

    came = max(sorted({*here, *there}), key=moved)
    went = min(sorted({*here, *there}), key=moved)
    return went if -moved(went) > 2 * moved(came) else came


def _tail(candidate: _Candidate) -> str:
    row, q = candidate.row, q_text(candidate.row.get("q_value"))
    if candidate.kind == "divergence":
        word, unit = ("distance", "nats") if row.get("definition") == "released" else ("divergence", "bits")
        text = f"; the {word} is {number(row['value'])} {unit}"
        if row.get("floor") is not None:
            text += f", where {number(row['floor'])} is expected by chance"
        return f"{text} ({q})"
    if candidate.kind in ("share_difference", "refusal"):
        return f"; the difference is {number(row['value'])}{span(row.get('low'), row.get('high'))} ({q})"
    return ""


def _rates_only(candidate: _Candidate, wording: Wording, beside: Mapping[str, str | None]) -> str:
    row, scope = candidate.row, candidate.scope
    more = "more" if row["value"] > 0 else "less"
    group = wording.condition(scope.get(wording.contrast or ""))
    return (
        f"{wording.lead(scope)}requests {group}{wording.rest(scope)} are refused {more} often than "
        f"{wording.compared(scope, beside)}{_tail(candidate)}."
    )


def _row(
    kind: str,
    scope: Mapping[str, str],
    attribute: str | None,
    sentence: str,
    measure: str,
    images: list[str],
    *value: str,
) -> dict[str, Any]:
    """One row of the table; ``value`` tells apart several of one kind, scope, attribute and measure."""
    where = json.dumps(scope, ensure_ascii=False, sort_keys=True)
    identity = json.dumps([kind, where, attribute, measure, *value], ensure_ascii=False)
    return {
        "finding_id": hashlib.sha256(identity.encode()).hexdigest()[:12],
        "kind": kind,
        "scope": where,
        "attribute": attribute,
        "sentence": sentence,
        "measure": measure,
        "image_ids": json.dumps(images, ensure_ascii=False),
    }
