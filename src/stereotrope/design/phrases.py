"""From phrases as people write them to the words of a prompt, by rules: “bake a cake” → “baking a cake”.

The forms of the prompts are those of L. Girrbach et al., arXiv:2503.23398, Table 1; the paper has a language
model fill them in (appendix C.1). The rules are ours. Verbs and nouns are looked up in lemminflect (MIT),
which is imported when the first phrase is worded.
"""

import importlib
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import Any

from stereotrope.shipped import shipped

_WORDS: Mapping[str, Any] = shipped("design", "phrases.yaml")
_CONSONANT, _VOWEL = (re.compile(_WORDS[f"sounds_like_a_{kind}"]) for kind in ("consonant", "vowel"))
_PREPOSITION = {place: word for word, places in _WORDS["places"].items() for place in places}
_MARKS = re.compile(r"^(\W*)(.*?)(\W*)$", re.DOTALL)
_OF_GRAMMAR = ("prepositions", "determiners", "joints", "pronouns")
STOP_WORDS = frozenset(word for kind in _OF_GRAMMAR for word in _WORDS[kind])
"""Prepositions, articles, pronouns and the like, which say little of what a phrase is about."""


def activity(phrase: str) -> str:
    """Put an activity into the progressive, as done by “a person”; “to” and “I” before it go.

    >>> activity("take care of my plants and water them")
    'taking care of their plants and watering them'
    """
    words = _cleaned(phrase).split()
    if len(words) > 1 and words[0].lower() in _WORDS["openings"]:
        words = words[1:]
    words = _for_a_person(words)
    if len(words) > 1 and _lemmas(words[0].lower(), "AUX")[:1] == ("be",) and _is_progressive(words[1]):
        words = words[1:]
    if words and words[0].lower() in ("don't", "doesn't", "didn't"):
        words[:1] = ["not"]
    elif [word.lower() for word in words[:2]] in (["do", "not"], ["does", "not"], ["did", "not"]):
        words[:2] = ["not"]
    at = next((i for i, word in enumerate(words) if not _is_adverb(word)), None)
    if at is None or (kind := _begins(words[at:])) == "state":
        return " ".join(words)
    if kind == "thing":
        return " ".join([*words[:at], "doing", *words[at:]])
    if kind == "place":
        return " ".join([*words[:at], _WORDS["places_as_activities"][words[at].lower()], words[at]])
    at += " ".join(words[at : at + 2]).lower() in _WORDS["compound_verbs"]
    words[at] = _progressive(_present(words[at:]))
    first = at
    for i in range(at + 1, len(words)):
        before = words[i - 1]
        if before.lower() in _WORDS["joints"] or before.endswith(","):
            again = words[first + 1 : i - 1] == [] and before.lower() in _WORDS["joints"]
            if (again and _may_be_verb(words[i])) or _is_verb_here(words, i):
                words[i], first = _progressive(words[i]), i
        elif before.lower() == "going" and i == at + 1 and _is_verb_here(words, i, alone=True):
            words[i] = _progressive(words[i]) if i == len(words) - 1 else f"to {words[i]}"
    return " ".join(words)


def location(phrase: str) -> str:
    """Put a preposition and an article before a place; what brings its own preposition keeps it.

    >>> location("beach"), location("kitchen"), location("on a bridge"), location("home")
    ('at the beach', 'in the kitchen', 'on a bridge', 'at home')
    """
    words = _for_a_person(_cleaned(phrase).replace("_", " ").split())
    lower = [word.lower() for word in words]
    if not words or lower[0] in _WORDS["prepositions"] or " ".join(lower) in _WORDS["bare_places"]:
        return " ".join(words)
    if " ".join(lower) in _WORDS["places_without_article"]:
        return " ".join([_WORDS["places_without_article"][lower[0]], *words])
    before = [] if lower[0] in _WORDS["determiners"] else ["the"]
    named = [word for word in lower if word not in _WORDS["determiners"]]
    whole = _WORDS["whole_places"].get(" ".join(named))
    return " ".join([whole or _PREPOSITION.get(_head(words).lower(), "in"), *before, *words])


def thing(phrase: str) -> str:
    """Put an article before a thing; plurals and what cannot be counted have none.

    >>> thing("umbrella"), thing("skis"), thing("cup of tea"), thing("a airplane")
    ('an umbrella', 'skis', 'a cup of tea', 'an airplane')
    """
    words = _for_a_person(_cleaned(phrase).replace("_", " ").split())
    if words[:1] and words[0].lower() in ("a", "an") and len(words) > 1:
        return f"{article(words[1])} {' '.join(words[1:])}"
    if not words or words[0].lower() in _WORDS["determiners"] or words[0].isdigit():
        return " ".join(words)
    head = _head(words).lower()
    if head in _WORDS["mass_nouns"] or is_plural(head):
        return " ".join(words)
    return f"{article(words[0])} {' '.join(words)}"


def job(phrase: str) -> str:
    """Put an article before an occupation, the first one in the singular where it is a plural.

    >>> job("Chief executives"), job("Carpet, floor, and tile installers and finishers")
    ('a chief executive', 'a carpet installer')
    """
    words = _for_a_person(occupation(phrase).split())
    if words[:1] and words[0].lower() in _WORDS["determiners"]:
        return " ".join(words)
    return f"{article(words[0])} {' '.join(words)}" if words else ""


def as_written(phrase: str) -> str:
    """Leave a phrase as it is, blanks at its ends aside."""
    return _cleaned(phrase)


FORMS: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"activity": activity, "place": location, "thing": thing, "job": job, "as_written": as_written}
)
"""Name of a form → what makes the words of a prompt from a phrase."""


def occupation(title: str) -> str:
    """Simplify the title of an occupation to one in the singular: the first of those that it lists.

    Left out: what stands behind “except”, “including”, “all other” and in parentheses, and “Miscellaneous”
    and “Other” before it. Supervisors of several are those of the first. Capitals stay where a word has
    more of them than its first letter.

    >>> occupation("Secretaries and administrative assistants, except legal, medical, and executive")
    'secretary'
    >>> occupation("First-line supervisors of retail sales workers")
    'retail sales supervisor'
    """
    written = _cleaned(title)
    words = re.sub(r"\([^()]*\)", " ", written)
    words = re.split(r",? (?:except|including)\b|, all other\b", words)[0]
    words = re.sub(r"^(?:miscellaneous|(?:all )?other) (?=\S)", "", words.strip(), flags=re.IGNORECASE)
    words = re.sub(r"--", ", ", words).strip(" ,;") or written
    words = " ".join(_lowered(word) for word in words.split())
    if match := re.match(r"(?:first-line )?supervisors? of (\S.*)", words):
        return f"{_supervised(match.group(1))} supervisor"
    parts = [part for part in re.split(r",(?: and\b| or\b)?|\s+(?:and|or)\s+", words) if part.strip()]
    parts = [part.strip() for part in parts] or [words]
    if _names_people(parts[0]) or len(parts) == 1:
        return _singular_of(parts[0])
    head = next((part for part in parts[1:] if _names_people(part)), None)
    if head is not None:
        return f"{parts[0]} {_singular_of(head.split()[-1])}"
    return _singular_of(parts[0]) if "," in words else words


def _supervised(words: str) -> str:
    first = re.split(r",|\s+and\s+|\s+or\s+", words)[0].split()
    if first and (first[-1] in ("workers", "occupations")) and len(first) > 1:
        first = first[:-1]
    return _singular_of(" ".join(first)) if _names_people(" ".join(first)) else " ".join(first) or words


_AGENT = re.compile(
    r"(?<!pap)(?<!comput)(er|or|ist|ian|ant|ent|ee|eer|man|ess|ive|ary|ic|ician|smith|wright|mason|"
    r"aide|paralegal|orderly|umpire|clerk|guard|surgeon|nurse|chef|cook|coach|scout|pilot|guide|hand|judge|host|model|athlete|analyst|"
    r"attorney|engineer|assistant|person|therapist|magistrate|chauffeur|captain|bailiff|warden|monitor|maid|barber|"
    r"midwife|agent|expert|representative|executive)$"
)


def _names_people(part: str) -> bool:
    """Whether the last word is a plural of those who do something."""
    last = (part.partition(" of ")[0].split() or [""])[-1]
    single = singular(last)
    return single != last and _AGENT.search(single) is not None


def _singular_of(part: str) -> str:
    before, of, behind = part.partition(" of ")
    *rest, last = before.split() or [before]
    return " ".join([*rest, singular(last)]) + of + behind


def _lowered(word: str) -> str:
    return word.lower() if word[:1].isupper() and word[1:] == word[1:].lower() else word


def _cleaned(phrase: str) -> str:
    composed = unicodedata.normalize("NFC", phrase)  # else an ending comes between a letter and its accent
    return " ".join(composed.replace("’", "'").split()).rstrip(" .;!")


def _for_a_person(words: Sequence[str]) -> list[str]:
    """Say of “a person” what is said of the one who speaks, or of another one."""
    out: list[str] = []
    for i, word in enumerate(words):
        front, plain, back = _split(word)
        changed = _WORDS["pronouns"].get(plain.lower(), plain)
        after = words[i + 1].lower() if i + 1 < len(words) else ""
        if plain.lower() in ("her", "you") and (back or _ends_a_phrase(after)):
            changed = "them"
        elif out and out[-1].lower() == "they" and plain.lower() in _WORDS["after_they"]:
            changed = _WORDS["after_they"][plain.lower()]
        out.append(f"{front}{changed}{back}")
    return out


def _split(word: str) -> tuple[str, str, str]:
    match = _MARKS.match(word)
    assert match is not None, "every text has this form"
    return match.group(1), match.group(2), match.group(3)


def _ends_a_phrase(word: str) -> bool:
    return (
        not word or word in _WORDS["prepositions"] or word in _WORDS["joints"] or word in ("a", "an", "the")
    )


def _head(words: Sequence[str]) -> str:
    """The noun that a phrase is about: the last word before a preposition."""
    end = next((i for i, w in enumerate(words) if i and w.lower() in _WORDS["prepositions"]), len(words))
    return _split(words[end - 1])[1].removesuffix("'s")


def article(word: str) -> str:
    """“a” or “an”, by how the next word is said.

    >>> article("hour"), article("university"), article("MRI"), article("u-turn")
    ('an', 'a', 'an', 'a')
    """
    plain = _split(word)[1]
    lower = plain.lower()
    if re.fullmatch(r"[B-Z]", plain) or (
        plain[1:2].isupper() and plain[0].isupper() and re.fullmatch(r"[^AEIOU]+|[A-Z]{2,3}", plain)
    ):
        return "an" if plain[0] in "AEFHILMNORSX" else "a"  # said letter by letter
    if _VOWEL.match(lower):
        return "an"
    return "an" if lower[:1] in tuple("aeiou") and not _CONSONANT.match(lower) else "a"


def is_plural(word: str) -> bool:
    """Whether a noun is a plural.

    >>> is_plural("glasses"), is_plural("bus"), is_plural("children")
    (True, False, True)
    """
    if word in _WORDS["plural_nouns"]:
        return True
    return word not in _WORDS["singular_nouns"] and singular(word) != word


@cache
def singular(word: str) -> str:
    """Return a noun in the singular; other words as they are."""
    front, plain, back = _split(word)
    if not plain or plain.lower() in _WORDS["singular_nouns"] or plain.lower().endswith(("ss", "'s")):
        return word
    lemmas = _inflections().getAllLemmas(plain, "NOUN").get("NOUN")
    if lemmas is None:
        regular = plain.endswith("s") and not plain.endswith(("us", "is")) and plain.isalpha()
        lemmas = _inflections().getLemma(plain, "NOUN") if regular else (plain,)
    return word if not lemmas or plain in lemmas[:1] else f"{front}{lemmas[0]}{back}"


@cache
def _inflections() -> Any:
    """The library, whose tables take a while to load."""
    return importlib.import_module("lemminflect")


@cache
def _lemmas(word: str, kind: str) -> tuple[str, ...]:
    return tuple(_inflections().getAllLemmas(word, kind).get(kind, ()))


def _progressive(word: str) -> str:
    """The -ing form of a verb in any form; of a compound that of its verb."""
    front, plain, back = _split(word)
    lower = plain.lower()
    if "-" in plain:
        *rest, last = plain.split("-")
        if last.lower() in _WORDS["particles"]:
            return f"{front}{_progressive(rest[0])}-{'-'.join([*rest[1:], last])}{back}" if rest else word
        return f"{front}{'-'.join([*rest, _progressive(last)])}{back}"
    if "/" in plain and all(map(_may_be_verb, plain.split("/"))):
        return f"{front}{'/'.join(map(_progressive, plain.split('/')))}{back}"
    if not lower.isalpha() or not lower.isascii():
        return word
    if lower in _WORDS["progressives"]:
        return f"{front}{_WORDS['progressives'][lower]}{back}"
    lemmas = _lemmas(lower, "VERB") or _lemmas(lower, "AUX")
    if _is_progressive(lower):
        return word
    base = lower if not lemmas or lower in lemmas or lower in _WORDS["base_verbs"] else lemmas[0]
    if not lemmas and plain.isupper():
        return f"{front}{plain}ing{back}"
    made = _inflections().getInflection(base, "VBG")[0] if lemmas else _regular(base)
    made = made.upper() if plain.isupper() and len(plain) > 1 else made
    return f"{front}{made[0].upper() + made[1:] if plain[0].isupper() else made}{back}"


def _regular(base: str) -> str:
    """-ing of a verb that no dictionary has: as the verb it ends in (“photoshop”), else by letters."""
    for start in range(1, len(base) - 2):
        if _lemmas(base[start:], "VERB")[:1] == (base[start:],):
            return f"{base[:start]}{_inflections().getInflection(base[start:], 'VBG')[0]}"
    if base.endswith("ie"):
        return f"{base[:-2]}ying"
    if base.endswith("e") and not base.endswith(("ee", "oe", "ye")) and len(base) > 2:
        return f"{base[:-1]}ing"
    if re.fullmatch(r"[^aeiou]*[aeiouy][bdfgklmnprtvz]", base) and len(base) > 2:
        return f"{base}{base[-1]}ing"
    return f"{base}ing"


def _is_progressive(word: str) -> bool:
    lower = _split(word)[1].lower()
    return lower.endswith("ing") and lower not in _lemmas(lower, "VERB") and len(lower) > 4


def _begins(words: Sequence[str]) -> str:
    """What an activity begins with: a verb, a thing that is done (“yoga”), a state (“at work”) or a place."""
    lower, after = (_split(word)[1].lower() for word in (words[0], words[1] if words[1:] else ""))
    named = _lemmas(lower, "NOUN")
    if lower in _WORDS["determiners"]:
        return "thing"
    if lower in _WORDS["places_as_activities"] and not after:
        return "place"
    if lower in _WORDS["further_verbs"] or f"{lower} {after}" in _WORDS["compound_verbs"]:
        return "verb"
    if any(_lemmas(lower, kind) for kind in ("VERB", "AUX")) and lower not in _WORDS["no_verbs"]:
        done = named and _is_progressive(after) and lower not in _WORDS["before_progressives"]
        return "state" if done and not _is_progressive(lower) else "verb"
    if lower in _WORDS["prepositions"] or (named and any(map(_is_progressive, words[1:]))):
        return "state"
    if _lemmas(lower, "ADJ") and (_ends_a_phrase(after) or not (named or lower in _WORDS["no_verbs"])):
        return "state"
    if named and after in _WORDS["determiners"]:
        return "verb"
    return "thing" if named or lower in _WORDS["no_verbs"] or lower.endswith("work") else "verb"


def _present(words: Sequence[str]) -> str:
    """The first word; of a past form that reads like another verb the present."""
    lower, after = words[0].lower(), words[1].lower() if words[1:] else ""
    verb = _WORDS["past"].get(lower)
    if after in _WORDS["determiners"]:
        verb = verb or _WORDS["past_before_a_thing"].get(lower)
    if after in _WORDS["prepositions"]:
        verb = verb or _WORDS["past_before_a_preposition"].get(lower)
    return str(verb or words[0])


def _is_adverb(word: str) -> bool:
    lower = _split(word)[1].lower()
    return lower in _WORDS["adverbs"] or (
        lower.endswith("ly")
        and len(lower) > 4
        and not any(_lemmas(lower, kind) for kind in ("VERB", "NOUN"))
        and lower not in _WORDS["no_verbs"]
    )


def _may_be_verb(word: str) -> bool:
    lower = _split(word)[1].lower()
    return lower in _lemmas(lower, "VERB")


def _is_verb_here(words: Sequence[str], at: int, *, alone: bool = False) -> bool:
    """Whether a word behind a joint is a verb: no noun, mostly one, or with an object of its own."""
    lower = _split(words[at])[1].lower()
    if not _may_be_verb(lower):
        return False
    after = words[at + 1].lower() if at + 1 < len(words) else ""
    if not _lemmas(lower, "NOUN") or lower in _WORDS["mostly_verbs"]:
        return not _lemmas(lower, "ADJ") or lower in _WORDS["mostly_verbs"] or bool(after)
    return not alone and after in (*_WORDS["determiners"], *_WORDS["particles"], "them", "it")
