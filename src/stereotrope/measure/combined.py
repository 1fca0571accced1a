"""One finding a pattern: of several kinds the one that says it best, with what the run says against it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.finder import Candidate, Conditions, FindingEvidence, RunEvidence, counted, shift
from stereotrope.measure.instrument_warnings import disagreeing, marks_read
from stereotrope.measure.sentences import quoted


def with_doubts(candidates: Sequence[Candidate], evidence: RunEvidence) -> list[Candidate]:
    """Candidates with the reason, if any, why each must not lead, though a test supports it."""
    low = disagreeing(evidence.estimates)
    names = low["annotator"] if "annotator" in low.columns else [None] * low.height
    failed = {*evidence.failed, *zip(names, low["attribute"], strict=True)}
    marks = set(marks_read(evidence).select("generator", "annotator").iter_rows())
    marking = {generator for generator, _ in marks}
    known = evidence.images.drop_nulls("sha256")
    copies = dict(known.select("image_id", "sha256").iter_rows())

    def doubt(c: Candidate) -> str | None:
        model, name = c.scope.get("generator", ""), c.scope.get("annotator")
        if c.attribute is not None and failed & {(name, c.attribute), (None, c.attribute), (name, None)}:
            return "the annotator failed a check of it"
        # Annotators that do not know a model's mark may count it as text.
        unaware = name is not None and model in marking and (model, name) not in marks
        if unaware and "text" in (c.attribute or "").split("_"):
            return "the model puts a mark on its pictures, which may be what is read"
        if c.attribute is None or c.wording is None:
            return None
        for side in filter(None, evidence.pictures.sides(c.attribute, c.scope, c.wording)):
            pictures = [image for listed in side.values() for image in listed]
            distinct = len({copies.get(image, image) for image in pictures})
            if distinct < SMALL_N:
                what = "distinct picture" if distinct < len(pictures) else "picture"
                return f"it rests on {distinct} {what}{'s' * (distinct != 1)}"
        sizes = [n for _, n in evidence.counted(c, c.category or "") if n]
        return next((f"it rests on {n} picture{'s' * (n != 1)}" for n in sizes if n < SMALL_N), None)

    return [replace(candidate, doubt=doubt(candidate)) for candidate in candidates]


def strongest(
    candidates: Sequence[Candidate], pictures: FindingEvidence, order: Mapping[str, int]
) -> list[Candidate]:
    """One candidate an attribute and condition, of the kind that says it best."""
    best: dict[tuple[Conditions, str | None], Candidate] = {}
    for candidate in sorted(candidates, key=lambda c: (order[c.kind], -c.effect, -c.value)):
        # Measures scope the same pictures with more or fewer factors: the pictures say what is the same.
        place = (pictures.conditions(candidate.attribute, candidate.scope), _subject(candidate))
        best.setdefault(place, candidate)
    return list(best.values())


def by_all_annotators(
    candidates: Sequence[Candidate], evidence: RunEvidence, order: Mapping[str, int]
) -> list[Candidate]:
    """One candidate a comparison: that of the annotator who says it best, with what the others see."""
    groups: dict[tuple[Conditions, str | None], list[Candidate]] = {}
    for candidate in candidates:
        drawn = evidence.pictures.drawn_under(_without_annotator(candidate.scope))
        groups.setdefault((drawn, _subject(candidate)), []).append(candidate)
    together = []
    for members in groups.values():
        lead = min(
            members,
            key=lambda c: (c.doubt is not None, order[c.kind], -c.effect, c.scope.get("annotator", "")),
        )
        by_name = {c.scope.get("annotator"): c for c in members}
        own = lead.scope.get("annotator")
        asked = [name for name in evidence.annotators if own is not None and name != own]
        asides = (_aside(name, by_name.get(name), lead, evidence) for name in asked)
        others = tuple(filter(None, asides))
        effect = sum(c.effect for c in by_name.values()) / max(1 + len(others), len(by_name))
        together.append(replace(lead, effect=effect, others=others))
    return together


def by_all_readers(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One candidate a pattern told by its sentence: the largest, with what other readers make of it."""
    groups: dict[Any, list[Candidate]] = {}
    times = Counter[Any]()
    for one in candidates:
        reader = one.scope.get("annotator")
        place = (one.kind, one.attribute, one.measure, str(sorted(_without_annotator(one.scope).items())))
        times[reader, place] += 1
        groups.setdefault((place, times[reader, place]), []).append(one)
    together = []
    for members in groups.values():
        lead = max(members, key=lambda one: one.effect)
        sentences = {one.scope.get("annotator", ""): one.sentence.removesuffix(".") for one in members}
        sentences.pop(lead.scope.get("annotator", ""))
        asides = [f"by {quoted(name)}: {sentence}" for name, sentence in sorted(sentences.items())]
        together.append(replace(lead, sentence="; ".join([lead.sentence.removesuffix("."), *asides])))
    return together


def _subject(candidate: Candidate) -> str | None:
    """What one finding is made of in a condition: an attribute, or what only a sentence can tell."""
    return candidate.kind if candidate.sentence else candidate.attribute


def _without_annotator(scope: Mapping[str, str]) -> dict[str, str]:
    return {factor: level for factor, level in scope.items() if factor != "annotator"}


def _aside(name: str, same: Candidate | None, lead: Candidate, evidence: RunEvidence) -> str:
    """What another annotator sees of the comparison; empty where it did not label the attribute there."""
    who = f"by {quoted(name)}"
    if lead.sentence:
        return f"{who} alike" if same is not None else f"not {who}"
    if lead.attribute is None or lead.wording is None:
        return ""
    value = lead.category or moved_most(*evidence.pictures.sides(lead.attribute, lead.scope, lead.wording))
    other = replace(lead, scope={**lead.scope, "annotator": name})
    mine, mine_before = evidence.pictures.sides(lead.attribute, other.scope, lead.wording)
    if not mine:
        return ""
    named = value if same is None else same.category or moved_most(mine, mine_before)
    seen, before = evidence.counted(other, named)
    text = "in {} of {}".format(*seen) + (" and {} of {}".format(*before) if before[1] else "")
    if named != value:
        return f"{who} it is {quoted(named)} {text}"
    moved, of_lead = shift(seen, before), shift(*evidence.counted(lead, value))
    return f"{who} {text}" if 2 * moved * of_lead >= of_lead**2 else f"{who}, which differs, {text}"


def moved_most(here: Mapping[str, list[str]], before: Mapping[str, list[str]]) -> str:
    """The value to name: the one that came most, unless another went more than twice as much."""

    def moved(value: str) -> float:
        return round(shift(counted(here, value), counted(before, value)), 9)

    came = max(sorted({*here, *before}), key=moved)
    went = min(sorted({*here, *before}), key=moved)
    return went if -moved(went) > 2 * moved(came) else came
