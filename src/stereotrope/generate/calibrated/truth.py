"""The planted truth: which value of which attribute is drawn how often, for which prompt."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import PrivateAttr
from ruamel.yaml import YAML

from stereotrope.errors import UsageError, did_you_mean
from stereotrope.generate.calibrated.truth_file import (
    ATTRIBUTES,
    Cue,
    CueWording,
    PlantedShares,
    TruthFile,
    check_truth,
)
from stereotrope.inputs.files import read_text
from stereotrope.inputs.options import validated
from stereotrope.inputs.yaml import YamlFile
from stereotrope.shipped import shipped


class Truth(TruthFile):
    """A planted truth, read from a file.

    The distribution of attribute a for a prompt that names object o and cues c_1 … c_k is the mean of
    their distributions, (1/k) Σ_i p(a | o, c_i), where a cue that says nothing about a has the base
    distribution p(a | o); without a cue it is p(a | o). Each wording in the prompt then replaces p by
    (1 − w) p + w t with its weight w and target t. Images are independent of one another. Attributes
    are independent given the prompt, but for product and background colour, which keep their shares
    and differ in every picture where no colour's two shares sum to more than 1.
    """

    _digest: str = PrivateAttr("")

    @property
    def digest(self) -> str:
        """SHA-256 over the content; comments and layout of the file do not enter."""
        return self._digest

    @classmethod
    def load(cls, path: Path | str | None = None) -> Truth:
        """Read a truth file; the package's own where ``path`` is None.

        Raises InputError: The file cannot be read or breaks a rule: shares that do not sum to 1 or are
            negative, an unknown attribute, colour, shape, cue or key.
        """
        if path is None:
            return _own()
        text = read_text(path, what="a truth file", absent="check its path")
        file = YamlFile(text, str(path))
        truth = validated(cls, file, example="write it as our truth.yaml does")
        check_truth(truth, file)
        truth._digest = _digest(YAML(typ="safe", pure=True).load(text))
        return truth

    def object_in(self, text: str) -> str | None:
        """Object that a prompt names: of several, the one that comes first; None where it names none."""
        plain = _plain(text)
        found = ((_first(plain, entry.words), name) for name, entry in self.objects.items())
        return min(((at, name) for at, name in found if at is not None), default=(0, None))[1]

    def cues_in(self, text: str) -> tuple[str, ...]:
        """Cues that a prompt names, in the order of the truth file."""
        return _named(text, self.cues)

    def wordings_in(self, text: str) -> tuple[str, ...]:
        """Wordings that a prompt holds, in the order of the truth file."""
        return _named(text, self.wordings)

    def distribution(
        self, object: str, cues: str | Sequence[str], attribute: str, *, wordings: Sequence[str] = ()
    ) -> dict[str, float]:
        """Share of each value of an attribute, value → share in (0, 1]; the shares sum to 1.

        ``cues`` is one cue or several; none is the base.

        Raises UsageError: The truth knows no such object, cue, attribute or wording.
        """
        entry = self.objects[_known("object", object, self.objects)]
        _known("attribute", attribute, ATTRIBUTES)
        names = (cues,) if isinstance(cues, str) else tuple(cues)
        base = entry.base[attribute]
        planted = [entry.cues.get(_known("cue", cue, self.cues), {}).get(attribute, base) for cue in names]
        shares = _mean(planted) if planted else dict(base)
        for name in wordings:
            wording = self.wordings[_known("wording", name, self.wordings)]
            target = self._target(wording, attribute, object, shares)
            if target is not None:
                values, w = dict.fromkeys([*shares, *target]), wording.weight
                shares = {v: (1 - w) * shares.get(v, 0.0) + w * target.get(v, 0.0) for v in values}
        return {value: share for value, share in shares.items() if share > 0}

    def planted(self, text: str) -> dict[str, dict[str, float]]:
        """Closed-form truth of a prompt: attribute → value → share.

        Raises UsageError: The text names no object of the truth.
        """
        name = self.object_in(text)
        if name is None:
            raise UsageError(self.cannot_draw(text))
        cues, wordings = self.cues_in(text), self.wordings_in(text)
        return {a: self.distribution(name, cues, a, wordings=wordings) for a in ATTRIBUTES}

    def refusal_share(self, text: str) -> float:
        """Share of this prompt's requests that are declined: the largest of its cues' shares, else 0."""
        return max((self.cues[name].refuse for name in self.cues_in(text)), default=0.0)

    def cannot_draw(self, text: str) -> str:
        """The sentence that says why a text cannot be drawn."""
        shown = text if len(text) <= 80 else text[:77] + "…"
        return (
            f"the calibrated generator finds nothing it can draw in {shown!r}; "
            f"it can draw {', '.join(sorted(self.objects))}"
        )

    def _target(
        self, wording: CueWording, attribute: str, object: str, shares: PlantedShares
    ) -> PlantedShares | None:
        if wording.attributes and attribute not in wording.attributes:
            return None
        entry = self.objects[object]
        match wording.toward:
            case "base":
                return entry.base[attribute]
            case "safe":
                value = entry.safe.get(attribute)
            case "mode":
                base = entry.base[attribute]
                is_base = all(abs(shares.get(v, 0.0) - base.get(v, 0.0)) < 1e-12 for v in {*shares, *base})
                value = None if is_base else max(shares, key=shares.__getitem__)
            case _:
                values = self.values_of(object, attribute)
                return dict.fromkeys(values, 1.0 / len(values))
        return None if value is None else {value: 1.0}


@cache
def _own() -> Truth:
    raw = shipped("generate.calibrated", "truth.yaml")
    truth = Truth.model_validate(raw)
    truth._digest = _digest(raw)
    return truth


def _digest(raw: Any) -> str:
    return hashlib.sha256(json.dumps(raw, sort_keys=True).encode("ascii")).hexdigest()


def _plain(text: str) -> str:
    return re.sub(r"[\s\-_]+", " ", text).casefold().strip()


def _first(plain: str, phrases: Sequence[str]) -> int | None:
    """Where the first of the phrases stands as whole words, so that "men" is not found in "women"."""
    found = [re.search(rf"(?<!\w){re.escape(_plain(phrase))}(?!\w)", plain) for phrase in phrases]
    return min((hit.start() for hit in found if hit), default=None)


def _named(text: str, known: Mapping[str, Cue] | Mapping[str, CueWording]) -> tuple[str, ...]:
    plain = _plain(text)
    return tuple(name for name, each in known.items() if _first(plain, each.phrases) is not None)


def _known(kind: str, name: str, known: Mapping[str, Any] | Sequence[str]) -> str:
    if name not in known:
        hint = did_you_mean(name, known, otherwise=f"it knows {', '.join(known)}")
        raise UsageError(f"the truth knows no {kind} {name!r}; {hint}")
    return name


def _mean(distributions: Sequence[PlantedShares]) -> dict[str, float]:
    shares: dict[str, float] = {}
    for value, share in (pair for distribution in distributions for pair in distribution.items()):
        shares[value] = shares.get(value, 0.0) + share / len(distributions)
    return shares
