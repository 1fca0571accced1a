"""Findings in words: full sentences with counts and intervals, and nobody's identity or intent."""

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

LONGEST_QUOTED = 80
"""Characters of foreign text that a sentence takes over."""

_PERCEIVED = frozenset({"age", "ethnicity", "gender", "person", "race", "sex", "skin"})
"""Words of attributes that an annotator perceives in a drawn person."""


Counted = tuple[int, int]
"""How many of how many pictures."""


def clean(text: str) -> str:
    """Foreign text as plain words: no control or direction characters, one line, at most 80 characters."""
    plain = "".join(c if unicodedata.category(c)[0] not in "CZ" else " " for c in text)
    words = " ".join(plain.split())
    return words if len(words) <= LONGEST_QUOTED else words[: LONGEST_QUOTED - 1] + "…"


def quoted(text: str) -> str:
    """Foreign text in quotation marks, visibly not ours; it cannot close them."""
    return f"“{clean(text).replace('“', '‘').replace('”', '’')}”"


def decimals_of(value: float) -> str:
    """Two decimals with a true minus sign, or three or four where fewer would show 0 for what is none."""
    texts = (f"{value:.{digits}f}" for digits in (2, 3, 4))
    return next((text for text in texts if float(text)), "0.00").replace("-", "−")


def signed(value: float) -> str:
    """A difference with its sign."""
    return f"{'+' if value > 0 else ''}{decimals_of(value)}"


def from_to(before: float, after: float, change: float) -> str:
    """From what to what a score goes, with so many digits that both show it; nothing where four do not."""
    least = len(decimals_of(change).partition(".")[2])
    for digits in range(least, 5):
        ends = [f"{end:.{digits}f}" for end in (before, after)]
        if ends[0] != ends[1]:
            return f", from {ends[0]} to {ends[1]}".replace("-", "\N{MINUS SIGN}")
    return ""


def span(low: float | None, high: float | None) -> str:
    """An interval in brackets, nothing where it is not known."""
    if low is None or high is None:
        return ""
    return f" [{decimals_of(low)}{' to ' if low < 0 else '–'}{decimals_of(high)}]"


def q_text(q: float | None) -> str:
    """A q-value, nothing where it is not known."""
    if q is None:
        return ""
    return "q < 0.001" if q < 0.001 else f"q = {q:.3f}"


@dataclass(frozen=True, eq=False)
class Wording:
    """How the factors of one audit are put into words.

    contrast, reference: The factor that is compared and its level compared with; None where nothing is.
    shown: Factors that vary and therefore must be said.
    paired: The reference is a level like others, and no baseline.
    """

    contrast: str | None
    reference: str | None
    shown: Sequence[str]
    paired: bool = False

    def reference_scope(self, scope: Mapping[str, str]) -> dict[str, str] | None:
        """The same part of the design in the reference; None where the scope is that, or has none."""
        level = scope.get(self.contrast or "")
        if level is None or self.reference is None or self.contrast is None or level == self.reference:
            return None
        return {**scope, self.contrast: self.reference}

    def lead(self, scope: Mapping[str, str]) -> str:
        """The generator, where there are several that are not compared."""
        named = "generator" in scope and "generator" in self.shown and self.contrast != "generator"
        return f"{clean(scope['generator'])}: " if named else ""

    def condition(self, level: str | None) -> str:
        """The level of the compared factor: “for women”, “in the baseline”."""
        if level is None or self.contrast is None:
            return ""
        if self.contrast == "group":
            is_baseline = level == self.reference and not self.paired
            return "in the baseline" if is_baseline else f"for {clean(level)}"
        return f"with {clean(self.contrast)} {quoted(level)}"

    def thing(self, attribute: str, scope: Mapping[str, str]) -> str:
        """The attribute of the object: “the product colour of the car”."""
        words = f"the {clean(attribute).replace('_', ' ')}"
        return f"{words} of the {clean(scope['object'])}" if "object" in scope else words

    def rest(self, scope: Mapping[str, str]) -> str:
        """Every other factor that varies, in parentheses."""
        return _in_parentheses(f"{clean(f)} {quoted(scope[f])}" for f in self._others(scope))

    def compared(self, scope: Mapping[str, str], beside: Mapping[str, str | None]) -> str:
        """The reference, and in parentheses which of these factors it shares and which it does not have.

        ``beside`` has the level of each factor in which all pictures of the reference agree.
        """
        shared = {f: beside[f] for f in self._others(scope) if f in beside and f != "annotator"}
        return self.condition(self.reference) + _in_parentheses(
            f"{'no' if level is None else 'same'} {clean(f)}"
            for f, level in shared.items()
            if level in (None, scope[f])
        )

    def _others(self, scope: Mapping[str, str]) -> list[str]:
        said = {"generator", "object", "dimension", self.contrast}
        return [f for f in self.shown if f in scope and f not in said]

    def share(
        self,
        attribute: str,
        scope: Mapping[str, str],
        value: str,
        counts: tuple[Counted, Counted],
        *,
        ends: tuple[str, str] = ("", ""),
        beside: Mapping[str, str | None] = MappingProxyType({}),
        tail: str = "",
        what: str = "pictures",
    ) -> str:
        """A value's count in a condition, and in the reference beside it, with the intervals of both."""
        seen, before = counts
        group = scope.get(self.contrast or "")
        where = f"{what} {self.condition(group)}".rstrip()
        verb = "is perceived as" if _PERCEIVED & set(attribute.lower().split("_")) else "is"
        text = (
            f"{self.lead(scope)}in {seen[0]} of {seen[1]} {where}{self.rest(scope)} "
            f"{self.thing(attribute, scope)} {verb} {quoted(value)}{ends[0]}"
        )
        if before[1]:
            text += f"; {self.compared(scope, beside)} it is in {before[0]} of {before[1]}{ends[1]}"
        return _sentence(text + tail)

    def refusal(
        self,
        scope: Mapping[str, str],
        seen: Counted,
        before: Counted,
        beside: Mapping[str, str | None],
    ) -> str:
        """How many requests of a condition are refused, and of the reference beside it."""
        group = scope.get(self.contrast or "")
        what = f"requests for the {clean(scope['object'])}" if "object" in scope else "requests"
        return _sentence(
            f"{self.lead(scope)}{seen[0]} of {seen[1]} {what} {self.condition(group)}{self.rest(scope)} "
            f"are refused; {self.compared(scope, beside)} {before[0]} of {before[1]}"
        )


def _in_parentheses(parts: Iterable[str]) -> str:
    text = ", ".join(parts)
    return f" ({text})" if text else ""


def _sentence(text: str) -> str:
    start = text[0].upper() + text[1:] if text.startswith(("in ", "the ")) else text
    return f"{start}."
