"""Warnings about a lexicon: groups of captions that rest on hits which do not mean what they should."""

from collections.abc import Iterator, Mapping
from typing import Any

from stereotrope.measure.finder import Candidate, RunEvidence, finder
from stereotrope.measure.sentences import clean, quoted
from stereotrope.tables import UNKNOWN

DOUBTFUL = 0.20
"""Doubtful captions among those of a group from which on it is told: a share that is a fifth too high is
further off than the interval of 100 captions is wide."""

FEW = 3
"""Doubtful captions below which nothing is told: one or two do not move a share."""

_MOST = 10
"""Groups told of all lexicons together, those with most doubtful captions first."""

_INSIDE = "letters inside longer words"
_NOUNS = "words for clothes, hair or a background"


@finder("instrument", place=92)
def lexicon_warnings(evidence: RunEvidence) -> list[Candidate]:
    """Groups that a matching audit doubts, those with most doubtful captions first."""
    found = [pair for lexicon in evidence.said.get("lexicons", ()) for pair in _of(lexicon)]
    return [c for _, _, c in sorted(found, key=lambda pair: (-pair[0], pair[1]))[:_MOST]]


def _of(lexicon: Mapping[str, Any]) -> Iterator[tuple[int, tuple[str, str, str], Candidate]]:
    """How many captions are doubtful, of which value, and the warning."""
    name = str(lexicon.get("annotator") or "")
    for row in lexicon.get("values") or ():
        unnamed = row["value"] == UNKNOWN
        doubtful = int((row.get("n_named") if unnamed else row.get("n_doubtful")) or 0)
        if doubtful < FEW or doubtful < DOUBTFUL * row["n"]:
            continue
        count = f"All {row['n']}" if doubtful == row["n"] else f"{doubtful} of {row['n']}"
        what = f"captions read as {quoted(row['value'].replace('_', ' '))}"
        words = clean(row["attribute"]).replace("_", " ")
        why = "name one by a second reading" if unnamed else _rest_on(row, doubtful)
        sentence = f"{count} {what} ({words}) {why}."
        scope, shown = {"annotator": name} if name else {}, row.get("image_ids") or ()
        warning = Candidate.warns(
            scope, row["attribute"], sentence, "representation_parity", row["value"], images=shown
        )
        yield doubtful, (name, row["attribute"], row["value"]), warning


def _rest_on(row: Mapping[str, Any], doubtful: int) -> str:
    if row.get("n_noun_only") == doubtful:
        return "name clothes, hair or a background"
    if row.get("n_inside_only") == doubtful:
        return f"rest on {_INSIDE}"
    return f"rest on {_INSIDE} or on {_NOUNS}"
