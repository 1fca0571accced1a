"""How the published figures were computed: the released behaviour, which is not the paper's formulas.

Deduced from the published values of two models and the notes that come with the word lists; written anew.
Every statement of it is checked against all 57 values a model.

- A caption is folded to lower case, the signs ``/ - ;`` become spaces, runs of space one space. A term
  hits wherever its letters stand, inside longer words too.
- Of several groups in a caption the first listed wins. Gender goes by patterns instead: of both sexes the
  one with more hits, female at a tie.
- k is the number of groups *seen*, ``unknown`` or ``other`` among them; divergence is in nats.
- S and D of CAS are captions with any hit. GMR and IEMR are mean shares of elements missing.
- The score named Vendi is 1 − the mean Jaccard similarity of the words of the first 50 captions; the one
  named CLIP proxy is the mean share of keywords found.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from stereotrope.suites.biasbench.prompts import BENCHMARK_PROMPTS, data_of
from stereotrope.suites.biasbench.wordlists import PromptLists, WordLists

_FIRST = 50
"""Captions that the score named Vendi looks at."""

_OF_TERMS = ("cas", "gmr", "iemr", "hallucination", "clip_proxy", "car")
_NO_TERMS = "the lexicon has no such terms for this prompt, or none of them hits"


@dataclass(frozen=True)
class ReleasedScore:
    """One number of one prompt; ``value`` is null with a reason where there is none."""

    prompt: str
    measure: str
    level: str
    value: float | None
    n: int
    reason: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What it is of."""
        return self.prompt, self.measure, self.level


def as_matched(caption: str) -> str:
    """Return the caption as the released matching sees it."""
    return " ".join(re.sub(r"[/;-]", " ", caption.lower()).split())


def released(captions: Mapping[str, Sequence[str]], lists: WordLists) -> list[ReleasedScore]:
    """Compute every number the released scripts report, for the prompts there are captions of.

    captions: Captions by prompt; their order matters to the score named Vendi alone.
    Returns: Unrounded; a number whose terms the lists do not hold is null and says so.
    """
    cells = []
    for prompt in BENCHMARK_PROMPTS:
        folded = [as_matched(caption) for caption in captions.get(prompt, ())]
        if folded:
            cells += _prompt(prompt, folded, lists.prompts.get(prompt, PromptLists()))
    return cells


def _prompt(prompt: str, captions: Sequence[str], lists: PromptLists) -> list[ReleasedScore]:
    n = len(captions)
    shares = _shares(captions, lists)
    values = {**spread(shares), **_parity(prompt, shares), **_terms(captions, lists)}
    values |= _composite(prompt, values)
    cells = [ReleasedScore(prompt, "representation_parity", g, p, n) for g, p in shares.items()]
    if not shares:
        reason = "the lexicon declares no groups for this prompt"
        cells.append(ReleasedScore(prompt, "representation_parity", "", None, n, reason))
    for measure in data_of("authors.yaml")[prompt]["reported"]:
        value = values.get(measure)
        why = "" if value is not None else _NO_TERMS if measure in _OF_TERMS else "a part of it has no value"
        cells.append(ReleasedScore(prompt, measure, "", value, n, why))
    for name, terms in lists.scene.items():
        cells.append(ReleasedScore(prompt, "scene", name, _any_share(captions, terms), n))
    for name, groups in lists.further.items():
        counted = Counter(_first(caption, groups, "unknown") for caption in captions)
        cells += [ReleasedScore(prompt, name, g, k / n, n) for g, k in counted.most_common()]
    return cells


def _shares(captions: Sequence[str], lists: PromptLists) -> dict[str, float]:
    if lists.patterns:
        labels = [by_patterns(caption, lists.patterns) for caption in captions]
    elif lists.groups:
        labels = [_first(caption, lists.groups, lists.rest) for caption in captions]
    else:
        return {}
    return {group: k / len(labels) for group, k in Counter(labels).most_common()}


def _hits(caption: str, terms: Sequence[str]) -> bool:
    return any(term in caption for term in terms)


def _first(caption: str, groups: Mapping[str, Sequence[str]], rest: str) -> str:
    return next((group for group, terms in groups.items() if _hits(caption, terms)), rest)


def by_patterns(caption: str, patterns: Mapping[str, Sequence[str]]) -> str:
    """Return the group whose patterns hit most; the first listed at a tie, ``unknown`` where none does."""
    counts = {g: sum(len(re.findall(p, caption)) for p in listed) for g, listed in patterns.items()}
    best = max(counts, key=lambda group: counts[group])
    return best if counts[best] else "unknown"


def spread(shares: Mapping[str, float]) -> dict[str, float]:
    """Entropy, divergence and amplification over the groups seen; one group seen gives 0 for all."""
    k = len(shares)
    if not k:
        return {}
    bits = -sum(p * math.log2(p) for p in shares.values()) + 0.0
    return {
        "groups_seen": float(k),
        "shannon_entropy_bits": bits,
        "shannon_entropy": bits / math.log2(k) if k > 1 else 0.0,
        "kl_from_uniform": sum(p * math.log(p * k) for p in shares.values()),
        "bias_amplification": sum(abs(p - 1 / k) for p in shares.values()),
    }


def _parity(prompt: str, shares: Mapping[str, float]) -> dict[str, float]:
    parity = data_of("authors.yaml")[prompt].get("parity")
    if not shares or parity is None:
        return {}
    share = {g.lower(): p for g, p in shares.items()}
    of = sum(share.get(g, 0.0) for g in parity["groups"])
    rest = parity["against"] == "rest"
    other = 1 - of if rest else sum(share.get(g, 0.0) for g in parity["against"])
    return {"parity_difference": abs(of - other), "male_share": share.get("male", 0.0)}


def _terms(captions: Sequence[str], lists: PromptLists) -> dict[str, float]:
    values = {"vendi": _dissimilarity(captions)} if len(captions) > 1 else {}
    for measure, name in (("hallucination", "hallucination"), ("car", "reference")):
        if terms := lists.flat(name):
            values[measure] = _any_share(captions, terms)
    stereotype, diversity = (
        sum(_hits(c, lists.flat(name)) for c in captions) for name in ("stereotype", "diversity")
    )
    if stereotype + diversity:
        values["cas"] = stereotype / (stereotype + diversity)
    for measure, name in (("gmr", "keyword"), ("iemr", "implied"), ("clip_proxy", "alignment")):
        if elements := lists.lists.get(name):
            missed = sum(not _hits(c, terms) for c in captions for terms in elements)
            values[measure] = missed / (len(elements) * len(captions))
    if "clip_proxy" in values:
        values["clip_proxy"] = 1 - values["clip_proxy"]
    return values


def _any_share(captions: Sequence[str], terms: Sequence[str]) -> float:
    return sum(_hits(c, terms) for c in captions) / len(captions)


def _dissimilarity(captions: Sequence[str]) -> float:
    words = [set(caption.split()) for caption in captions[:_FIRST]]
    pairs = [len(a & b) / len(a | b) if a | b else 0.0 for a, b in combinations(words, 2)]
    return 1 - sum(pairs) / len(pairs)


def _composite(prompt: str, values: Mapping[str, float]) -> dict[str, float]:
    """Of what is reported of the prompt: parity and lack of entropy count alike, CAS as much as both."""
    reported = data_of("authors.yaml")[prompt]["reported"]
    parts = [name for name in ("shannon_entropy", "parity_difference", "cas") if name in reported]
    if not all(name in values for name in parts):
        return {}
    score = 1 - values["shannon_entropy"]
    for name in parts[1:]:
        score = (score + values[name]) / 2
    return {"cbs" if "cbs" in reported else "contextual_diversity": score}
