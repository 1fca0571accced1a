"""One finding a pattern: of several kinds the one that says it best, with what the run says against it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Any

import polars as pl

from stereotrope.errors import TableError
from stereotrope.measure.cells import SMALL_N
from stereotrope.measure.differences import Differences
from stereotrope.measure.evidence import Pictures, counted, difference_of, shift
from stereotrope.measure.finder import Candidate, RunEvidence
from stereotrope.measure.instrument_warnings import agreeing, disagreeing, marks_read
from stereotrope.measure.places import Place, most_labelled, place_of, tests_of
from stereotrope.measure.selection import chosen_level
from stereotrope.measure.sentences import quoted, signed, span
from stereotrope.stats import newcombe
from stereotrope.tables import ALL_ATTRIBUTES


def parted(
    found: Sequence[Candidate], differences: Differences, evidence: RunEvidence, order: Mapping[str, int]
) -> tuple[list[Candidate], list[Candidate]]:
    """What tests support, and what is described, one candidate a comparison or condition."""
    supported: list[Candidate] = []
    described: list[Candidate] = []
    for one in (c for c in found if not c.warning):
        place = place_of(one, evidence)
        if place in differences.q:
            told = replace(one, q=differences.q[place], place_p=differences.places[place].p)
            supported += _sized(told, differences, evidence)
        elif one.p is None:
            described.append(_distant(one, evidence))
    first = _each_once(supported, evidence, order)
    about = {(c.attribute, frozenset(c.scope.items())) for c in first}
    rest = _each_once(described, evidence, order)
    return first, [c for c in rest if (c.attribute, frozenset(c.scope.items())) not in about]


def _sized(c: Candidate, differences: Differences, evidence: RunEvidence) -> Iterator[Candidate]:
    """A candidate whose effect is what is left of its difference."""
    if c.sentence:
        size = differences.widened(c.interval or (c.value, None, None), evidence.level)
        yield replace(c, interval=size, effect=min(1.0, _left(size)), level=differences.level)
    elif c.wording is not None and c.attribute is not None:
        sides = evidence.pictures.sides(c.attribute, c.scope, c.wording)
        values = sorted({*sides[0], *sides[1]})
        if not values:
            raise TableError(
                f"labels: none that counts is of attribute {c.attribute!r} in {dict(c.scope)}, where the "
                "estimates differ; pass the labels that they are of"
            )
        # The value that is named was chosen among those that are there.
        usual = evidence.level if not differences.alpha else 1 - (1 - differences.level) / max(1, len(values))
        value = c.category or moved_most(*sides)
        difference = evidence.difference(c, value, usual)
        if not c.category and difference is not None and not _left(difference):
            each = evidence.differences([(c, one) for one in values], usual)
            known = [(one, size) for one, size in zip(values, each, strict=True) if size is not None]
            value, difference = max(known, key=lambda one: _clearness(one[1]))
        if difference is not None:
            size = difference if differences.alpha else (difference[0], None, None)
            yield replace(c, category=value, interval=size, effect=_left(size), level=usual)


def _distant(c: Candidate, evidence: RunEvidence) -> Candidate:
    """A description with how far it is from its reference, or else from all other conditions."""
    if c.sentence or c.wording is None or c.attribute is None:
        return c
    here, before = evidence.pictures.sides(c.attribute, c.scope, c.wording)
    value = c.category or moved_most(here, before)
    before = before or evidence.pictures.elsewhere(c.attribute, c.scope)
    (k, n), (j, m) = counted(here, value), counted(before, value)
    if not n or not m:
        return replace(c, category=value, effect=0.0)
    low, high = (float(end) for end in newcombe(k, n, j, m, level=evidence.level))
    return replace(c, category=value, effect=_left((k / n - j / m, low, high)))


def chosen(described: Sequence[Candidate], evidence: RunEvidence) -> list[Candidate]:
    """Descriptions that are told, with intervals that cover though these cells were chosen.

    They were chosen among all that have an estimate of their measure, and their values among those there.
    """
    table, told = evidence.estimates, Counter(c.measure for c in described if c.level is None)
    of_one = pl.col("value").is_not_null() & pl.col("attribute").ne_missing(ALL_ATTRIBUTES)
    among = {name: table.filter(of_one, measure=name).height for name in told}

    def widened(c: Candidate) -> Candidate:
        if c.sentence or c.wording is None or c.attribute is None or not c.category:
            return c
        here, before = evidence.pictures.sides(c.attribute, c.scope, c.wording)
        error = 1 - chosen_level(evidence.level, told[c.measure], among[c.measure])
        level = 1 - error / max(1, len({*here, *before}))
        size = evidence.difference(c, c.category, level)
        if not before and (rest := evidence.pictures.elsewhere(c.attribute, c.scope)):
            one, other = (evidence.pictures.cell_of(side) for side in (here, rest))
            size = difference_of(one, other, c.category, level=level)
        return replace(c, interval=size, level=level)

    return [widened(c) for c in described]


def _clearness(size: tuple[float, float, float]) -> tuple[float, float, bool]:
    """How clearly a value moved, against how far its interval reaches; of two alike the one that came."""
    value, low, high = size
    reach = value - low if value > 0 else high - value
    return round(abs(value) / reach if reach > 0 else 0.0, 9), round(abs(value), 9), value > 0


def _left(size: tuple[float, float | None, float | None]) -> float:
    """The end of an interval that is nearer to 0, by its size; 0 where 0 lies within."""
    value, low, high = size
    near = low if value > 0 else high
    return 0.0 if near is None else max(0.0, near if value > 0 else -near)


def _each_once(
    candidates: Sequence[Candidate], evidence: RunEvidence, order: Mapping[str, int]
) -> list[Candidate]:
    """One candidate a comparison, with what all annotators or readers say."""
    groups: dict[Place, list[Candidate]] = {}
    for one in with_doubts([c.written() for c in candidates if c.wording is not None], evidence):
        groups.setdefault(place_of(one, evidence), []).append(one)
    several = [c for c in candidates if c.wording is None]
    worded = _told_by_wording(groups, several, evidence)
    read: dict[Any, Candidate] = {}
    for number, one in enumerate(several):
        place = None if one.p is None else place_of(one, evidence)
        if place in worded:
            continue
        # Of several tests of one thing by one reader the clearest is told; descriptions are told each.
        about = number if place is None else (place, one.scope.get("annotator"))
        if about not in read or _clearest(one) > _clearest(read[about]):
            read[about] = one
    readers = by_all_readers(with_doubts([one.written() for one in read.values()], evidence))
    by_counts = (some for place, some in groups.items() if place in worded)
    return [*by_all_annotators(by_counts, evidence, order), *readers]


def _clearest(one: Candidate) -> tuple[bool, float, float]:
    """Of several tests by one reader the one whose sentence is so, and of these the clearest."""
    return one.apt, one.effect, abs(one.value)


def _told_by_wording(
    groups: Mapping[Place, Sequence[Candidate]], several: Sequence[Candidate], evidence: RunEvidence
) -> set[Place]:
    """Places that are told by their counts: where these show a difference, or no sentence of its own does."""
    read = {place_of(c, evidence) for c in several if c.p is not None and c.effect > 0}
    return {p for p, some in groups.items() if p not in read or any(one.effect > 0 for one in some)}


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
        if c.p is not None and (few := evidence.prompts_of_fewer(c)):
            return f"one side has {few} prompt{'s' * (few != 1)}, so that it is of these prompts alone"
        bounds = evidence.bounds(c) if c.p is not None else None
        undone = bounds is not None and bounds[0] <= 0 <= bounds[1]
        undo = "the labels that are missing could undo it" if undone else None
        if c.attribute is None or c.wording is None:
            return undo
        for side in filter(None, evidence.pictures.sides(c.attribute, c.scope, c.wording)):
            pictures = [image for listed in side.values() for image in listed]
            n = sum(map(len, side.values()))
            distinct = n - len(pictures) + len({copies.get(image, image) for image in pictures})
            if distinct < SMALL_N:
                what = "distinct picture" if distinct < n else "picture"
                return f"it rests on {distinct} {what}{'s' * (distinct != 1)}"
        if undo:
            return undo
        sizes = [n for _, n in evidence.counted(c, c.category or "") if n]
        return next((f"it rests on {n} picture{'s' * (n != 1)}" for n in sizes if n < SMALL_N), None)

    read_rightly = {*evidence.proven, *_read_rightly(evidence)}

    def proven(c: Candidate) -> bool:
        name = c.scope.get("annotator")
        by = [name] if name is not None else evidence.readers.get(c.attribute or "", [])
        if not by:  # What becomes of requests nobody reads.
            return c.attribute is None
        return all((one, c.attribute) in read_rightly for one in by)

    return [replace(c, doubt=doubt(c), proven=proven(c)) for c in candidates]


def _read_rightly(evidence: RunEvidence) -> Iterator[tuple[str, str]]:
    """Annotator and attribute whose labels agree with labels of this run's pictures that are known."""
    for row in agreeing(evidence.estimates).iter_rows(named=True):
        if name := row.get("annotator") or row["instrument"]:
            yield name, row["attribute"]


def by_all_annotators(
    groups: Iterable[Sequence[Candidate]], evidence: RunEvidence, order: Mapping[str, int]
) -> list[Candidate]:
    """One candidate a comparison: that of the annotator who says it best, with what the others see.

    Who labelled a sample alone, and so was not asked by the test, does not lead.

    groups: The candidates of each comparison. Of one annotator the kind that says it best counts.
    """
    together = []
    for members in groups:
        by_name: dict[str | None, Candidate] = {}
        for one in sorted(members, key=lambda c: (order[c.kind], -c.effect, -c.value)):
            by_name.setdefault(one.scope.get("annotator"), one)
        counting = {name for _, name in most_labelled(tests_of(members))}
        lead = min(
            (one for name, one in by_name.items() if name in counting),
            key=lambda c: (
                *(not c.apt, c.doubt is not None, order[c.kind], -c.effect),
                c.scope.get("annotator", ""),
            ),
        )
        own = lead.scope.get("annotator")
        asked = [name for name in evidence.annotators if own is not None and name != own]
        seeing = {name: one for name, one in by_name.items() if one.q is None or one.effect > 0}
        seen = by_name if lead.sentence and lead.p is not None else seeing
        asides = (_aside(name, seen.get(name), lead, evidence) for name in asked)
        # Those who name another value stand last: a count without one is of the value that is told.
        others = tuple(text for _, text in sorted(asides, key=itemgetter(0)) if text)
        effect = sum(c.effect for c in by_name.values()) / max(1 + len(others), len(by_name))
        together.append(replace(lead, effect=effect, others=others))
    return together


def by_all_readers(candidates: Sequence[Candidate]) -> list[Candidate]:
    """One candidate a pattern told by its sentence: the largest, with what other readers make of it."""
    groups: dict[Any, list[Candidate]] = {}
    times = Counter[Any]()
    for one in candidates:
        reader = one.scope.get("annotator")
        # What is tested is told of each comparison by itself, whoever read it.
        where = str(sorted(_without_annotator(one.scope).items()))
        parts = () if one.p is None else one.parts
        place = (one.kind, one.attribute, one.measure, where, parts)
        times[reader, place] += 1
        groups.setdefault((place, times[reader, place]), []).append(one)
    together = []
    for members in groups.values():
        lead = max(members, key=lambda one: (one.apt, one.effect))
        others = {one.scope.get("annotator", ""): one for one in members}
        others.pop(lead.scope.get("annotator", ""))
        asides = tuple(_of_reader(name, one, lead) for name, one in sorted(others.items()))
        together.append(replace(lead, others=asides))
    return together


def _of_reader(name: str, one: Candidate, lead: Candidate) -> str:
    """What another reader makes of a pattern: the number of the same test, or of others its own sentence.

    A sentence says which way a number goes, which another reader's may not.
    """
    who = f"by {quoted(name)}"
    if one.p is None or lead.p is None or one.turned or lead.turned:
        return f"{who}: {str(one.sentence).removesuffix('.')}"
    value, low, high = one.interval or (one.value, None, None)
    of_lead = lead.value if lead.interval is None else lead.interval[0]
    return f"{who}{_differing(value, of_lead)} {signed(value)}{span(low, high)}"


def _differing(value: float, of_lead: float) -> str:
    """That a difference is less than half of the one that is told."""
    return "" if 2 * value * of_lead >= of_lead**2 else ", which differs,"


def _without_annotator(scope: Mapping[str, str]) -> dict[str, str]:
    return {factor: level for factor, level in scope.items() if factor != "annotator"}


def _aside(name: str, same: Candidate | None, lead: Candidate, evidence: RunEvidence) -> tuple[bool, str]:
    """What another annotator sees of the comparison, and whether that names a value of its own.

    Empty where it did not label the attribute there.
    """
    who = f"by {quoted(name)}"
    if lead.sentence and lead.p is not None:
        return False, "" if same is None else _of_reader(name, same, lead)
    if lead.sentence:
        return False, f"{who} alike" if same is not None else f"not {who}"
    if lead.attribute is None or lead.wording is None:
        return False, ""
    value = lead.category or moved_most(*evidence.pictures.sides(lead.attribute, lead.scope, lead.wording))
    other = replace(lead, scope={**lead.scope, "annotator": name})
    mine, mine_before = evidence.pictures.sides(lead.attribute, other.scope, lead.wording)
    if not mine:
        return False, ""
    named = moved_most(mine, mine_before)
    if same is not None:
        named = same.category or named
    elif evidence.write_alike(lead.attribute, name, lead.scope["annotator"]):
        named = value
    seen, before = evidence.counted(other, named)
    text = "in {} of {}".format(*seen) + (" and {} of {}".format(*before) if before[1] else "")
    if named != value:
        return True, f"{who} it is {quoted(named)} {text}"
    moved, of_lead = shift(seen, before), shift(*evidence.counted(lead, value))
    return False, f"{who}{_differing(moved, of_lead)} {text}"


def moved_most(here: Mapping[str, Pictures], before: Mapping[str, Pictures]) -> str:
    """The value to name: the one that came most, unless another went more than twice as much."""

    def moved(value: str) -> float:
        return round(shift(counted(here, value), counted(before, value)), 9)

    came = max(sorted({*here, *before}), key=moved)
    went = min(sorted({*here, *before}), key=moved)
    return went if -moved(went) > 2 * moved(came) else came
