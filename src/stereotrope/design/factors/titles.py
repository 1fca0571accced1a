"""What clusters are called: by class-based TF-IDF, or by a model that reads their phrases."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

from stereotrope.clients import Problem
from stereotrope.design.factors.clustering import ctfidf_titles
from stereotrope.design.phrases import STOP_WORDS, singular
from stereotrope.escape import is_plain_line, plain_line
from stereotrope.inputs.asking import Asking, TextAsker, TextQuestion
from stereotrope.shipped import shipped

_TITLES: Mapping[str, Any] = shipped("design.factors", "titles.yaml")
SPECIFIERS: Mapping[str, str] = _TITLES["specifiers"]
"""Group → the word that its titles end in, where that is another than its name."""
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_LONGEST = 3
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"title": {"type": "string"}},
    "required": ["title"],
    "additionalProperties": False,
}
_MOST_CHARACTERS = 60


class Titled(NamedTuple):
    """Clusters of a group that are to be titled: number → phrases."""

    group: str
    specifier: str
    members: Mapping[int, Sequence[str]]


def word_titles(clusters: Titled) -> dict[int, str]:
    """A title for each cluster from the words that tell it from the others."""
    _, specifier, members = clusters
    if len(members) == 1:
        return dict.fromkeys(members, f"all {specifier}")
    ranked = ctfidf_titles(members, telling_words)
    return {number: _title(words, members[number], specifier) for number, words in ranked.items()}


def telling_words(text: str) -> list[str]:
    """The words of a phrase that may title it: in the singular, without articles, prepositions and the like.

    >>> telling_words("taking care of their plants")
    ['taking', 'care', 'plant']
    """
    words = [singular(word) for word in _WORD.findall(text.lower())]
    return [word for word in words if word not in STOP_WORDS and word not in _TITLES["stop_words"]]


def _title(ranked: Sequence[str], members: Sequence[str], specifier: str) -> str:
    """The first word where most members have it; else two, with a comma where no phrase has them together."""
    split = [telling_words(text) for text in members]
    own = [word for word in ranked if word != singular(specifier)][: _LONGEST - 1]
    if own and sum(own[0] in words for words in split) * 2 > len(split):
        own = own[:1]
    for first, second in (own, own[::-1]) if len(own) == 2 else ():
        if any(pair == (first, second) for words in split for pair in pairwise(words)):
            return f"{first} {second} {specifier}"
    return " ".join(filter(None, [", ".join(own), specifier]))


def title_question(group: str, texts: Sequence[str], specifier: str) -> TextQuestion:
    """What a model is asked of a cluster (arXiv:2503.23398, appendix C.3), its answer as JSON."""
    named = _TITLES["group_names"].get(group, group)
    text = _TITLES["question"].replace("{group}", named).replace("{specifier}", specifier)
    return TextQuestion(
        text.replace("{texts}", "\n".join(texts)), _SCHEMA, check=partial(title_problems, specifier=specifier)
    )


def title_problems(content: Mapping[str, Any], *, specifier: str) -> list[Problem]:
    """What is wrong with a title."""
    title = plain_line(content["title"])
    problems = []
    if not title[:1].isalnum():
        problems.append("must begin with a letter or a digit")
    if not is_plain_line(content["title"]) or len(title) > _MOST_CHARACTERS:
        problems.append(f"must be one line of at most {_MOST_CHARACTERS} characters")
    if not 1 <= len(title.split()) <= _LONGEST:
        problems.append(f"must have 1 to {_LONGEST} words, found {len(title.split())}")
    if not re.search(rf"(?:^|\W){re.escape(specifier.lower())}$", title.lower()):
        problems.append(f"must end with {specifier}")
    return [Problem(("title",), problem) for problem in problems]


def asked_titles(
    asker: TextAsker, lists: Sequence[Titled], ask: Asking
) -> tuple[list[dict[int, str]], list[str]]:
    """A title for each cluster by a model, those that differ in case alone as one.

    Returns: Of each group its titles; and why the model gave none of some clusters, which their words title.
    """
    titles = [word_titles(one) for one in lists]
    places = [(i, n) for i, one in enumerate(lists) if len(one.members) > 1 for n in one.members]
    questions = [
        title_question(lists[i].group, sorted(lists[i].members[n]), lists[i].specifier) for i, n in places
    ]
    lacking = []
    first: dict[tuple[int, str], str] = {}
    for (i, number), answer in zip(places, asker.ask_all(questions, ask), strict=True):
        if answer["status"] == "ok":
            title = plain_line(answer["content"]["title"])
            title = f"{title[: -len(lists[i].specifier)]}{lists[i].specifier}"
            titles[i][number] = first.setdefault((i, title.casefold()), title)
        else:
            lacking.append(str(answer["reason"] or answer["status"]))
    return titles, lacking
