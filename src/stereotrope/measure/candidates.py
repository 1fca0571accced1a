"""What finders give, looked through before it is compared or told."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import polars as pl

from stereotrope.measure.finder import FINDERS, Candidate, Finder
from stereotrope.plugins import OURS


def checked_candidate(given: Any, finder: Finder, drawn: pl.Series | None) -> Candidate:
    """Return what a finder gave; another package's is blamed for what it says when it is needed, too.

    drawn: All images of the run, where known.

    Raises ValueError: It is no candidate, or one that cannot be told.
    """
    _require_candidate(given, finder, drawn)
    one: Candidate = given
    if FINDERS.origin(finder.name) == OURS:
        return one
    if one.p is not None and one.sentence and one.wording is None and one.interval is None:
        raise ValueError(
            f"a tested candidate of the kind {one.kind!r} has a sentence and no interval; give it the size "
            'that it tells with its ends: interval=(row["value"], row["low"], row["high"])'
        )

    def later(name: str) -> Callable[[], Any]:
        def asked() -> Any:
            with FINDERS.blamed(finder.name):
                changed: Any = {name: getattr(one, name)()}
                _require_candidate(replace(one, **changed), finder, drawn)
                return changed[name]

        return asked

    said = later("sentence") if callable(one.sentence) else one.sentence
    return replace(one, sentence=said, images=later("images") if callable(one.images) else one.images)


def _require_candidate(one: Any, finder: Finder, drawn: pl.Series | None) -> None:
    """Refuse what a finder must not give."""
    if not isinstance(one, Candidate):
        raise ValueError(f"it must give candidates, found {type(one).__name__}")
    strange = _strange(() if callable(one.images) else one.images, drawn)
    wrong = {
        f"the kind {one.kind!r}, which is not among {finder.kinds}": one.kind not in finder.kinds,
        f"the sentence {one.sentence!r}": not (isinstance(one.sentence, str) or callable(one.sentence))
        or not (one.sentence or (one.wording and one.attribute)),
        f"the p-value {one.p}": one.p is not None and not 0 <= one.p <= 1,
        f"the effect {one.effect}, which is not in [−1, 1]": not -1 <= round(one.effect, 9) <= 1,
        f"the measure {one.measure!r}": not isinstance(one.measure, str),
        f"images that the run has not, such as {next(iter(strange), None)!r}": strange,
    }
    if told := [what for what, is_so in wrong.items() if is_so]:
        raise ValueError(f"a candidate has {told[0]}")


def _strange(shown: Iterable[Any], drawn: pl.Series | None) -> set[Any]:
    """What of the images shown the run has not."""
    strange = set() if drawn is None else set(shown)
    if drawn is not None and strange:
        names = pl.Series([name for name in strange if isinstance(name, str)], dtype=pl.String)
        strange.difference_update(drawn.filter(drawn.is_in(names.implode())))
    return strange
