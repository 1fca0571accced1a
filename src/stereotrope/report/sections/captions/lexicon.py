"""What the terms of a lexicon hit in the captions: what values rest on, and the worst hits, quoted."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from stereotrope.errors import RunDamaged
from stereotrope.escape import ellipsis
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell, table_by
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.prose import listing
from stereotrope.tables import UNKNOWN

_WORDS = 4
"""Longer words or nouns named in one line."""
_MODELS = 3
_LONG = 60

Hit = Mapping[str, Any]


def lexicon_blocks(material: Material, shown: Exhibits) -> list[Block]:
    """A block a lexicon of the run, from what the run stores of its matching audit.

    Raises RunDamaged: It is not what stereotrope stored.
    """
    stored = material.info.get("lexicons") or ()
    try:
        return _blocks(stored, shown)
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise RunDamaged(
            f"run.json: `lexicons` is not what stereotrope wrote ({type(error).__name__}: {error}); compute "
            "it again with `stereotrope measure`"
        ) from error


def _blocks(stored: Sequence[Hit], shown: Exhibits) -> list[Block]:
    first = next((at for at, one in enumerate(stored) if one["n_doubtful"]), None)
    return [
        Block(kind="lexicon", content=_Lexicon(lexicon, shown).content(f"lexicon-{at + 1}", at == first))
        for at, lexicon in enumerate(stored)
    ]


class _Lexicon:
    """What the macro ``lexicon`` draws of one lexicon."""

    def __init__(self, lexicon: Hit, shown: Exhibits) -> None:
        self.lexicon, self.shown = lexicon, shown
        self.models = len(shown.material.generators)

    def content(self, anchor: str, explained: bool) -> dict[str, Any]:
        told = self.lexicon
        doubted = [row for row in told["values"] if row["n_doubtful"] or row["n_named"]]
        rest = [row for row in told["values"] if not (row["n_doubtful"] or row["n_named"])]
        never = sorted(told["never"], key=_place)
        return {
            "anchor": anchor,
            "title": str(told["annotator"]),
            "sentence": self._sentence(),
            "doubts": self._doubts(explained),
            "values": self._doubted(doubted) if doubted else None,
            "others": self._others(rest, "other values" if doubted else "values") if rest else None,
            "again": [self._again(row) for row in told["values"] if row["n_named"]],
            "second": told["second"],
            "inside": [self._term(row, "in") for row in told["inside"]],
            "before_nouns": [self._term(row, "before") for row in told["before_nouns"]],
            "double": [self._double(row) for row in told["double"]],
            "several": count(told["n_several"], "combination"),
            "glued": [_glued(row) for row in told["glued"]],
            "starred": [self._term(row, "in") for row in told["starred"]],
            **{kind: [_word(row) for row in told.get(kind, ())] for kind in ("forms", "kept_out")},
            "never": [(at, [str(row["term"]) for row in rows]) for at, rows in groupby(never, key=_place)],
            "n_never": count(told["n_never"], "term"),
            "never_left": max(0, told["n_never"] - len(told["never"])),
            "unasked": told["n_unasked"],
            "check": f"stereotrope lexicon check {told['lexicon']} --captions FILE",
        }

    def _sentence(self) -> str:
        told = self.lexicon
        if not told["n_captions"]:
            return "There are no captions that this lexicon could be looked for in."
        version = f" (version {told['version']})" if told["version"] else ""
        by = f" by {ellipsis(told['captioner'], 80)}" if told["captioner"] else ""
        return (
            f"The terms of “{ellipsis(told['lexicon'], 80)}”{version} were looked for in "
            f"{count(told['n_captions'], 'caption')}{by}: {count(told['n_hits'], 'hit')}, of "
            f"{thousands(told['n_terms_hit'])} of its {count(told['n_terms'], 'term')}. Matching: "
            f"{told['matching']}."
        )

    def _doubts(self, explained: bool) -> str:
        told, doubtful = self.lexicon, self.lexicon["n_doubtful"]
        if not told["n_captions"] or not told["n_valued"] + told["n_values"]:
            return ""
        rests = f"{thousands(doubtful) if doubtful else 'none'} {'rests' if doubtful < 2 else 'rest'}"
        parts = [f"Of {count(told['n_valued'], 'value')} read in captions, {rests} on doubtful hits alone."]
        if told["second"] and told["n_unknown"]:
            parts.append(
                f"Of {thousands(told['n_unknown'])} times that no value was found, a second reading by the "
                f"lexicon “{ellipsis(told['second'], 80)}” finds one {thousands(told['n_named'])} times."
            )
        if explained:
            parts.append(
                "A hit is doubtful where its letters stand inside a longer word, or where it stands before a "
                "noun for clothes, hair or a background, so that it is perhaps not said of who is shown. The "
                "rule errs too: read the captions."
            )
        return " ".join(parts)

    def _doubted(self, rows: Sequence[Hit]) -> Table:
        columns: dict[str, Callable[[Hit], Any]] = {
            "value": _value,
            "captions": itemgetter("n"),
            "doubtful": itemgetter("n_doubtful"),
            "inside longer words": itemgetter("n_inside_only"),
            "before such a noun": itemgetter("n_noun_only"),
        }
        if any(row["n_named"] is not None for row in rows):
            columns["named by the second reading"] = _named
        if self.models > 1:
            columns["doubtful or named, by model"] = _by_model
        return table_by("Values to doubt", rows, columns)

    def _others(self, rows: Sequence[Hit], which: str) -> Table:
        left = self.lexicon["n_values"] - len(self.lexicon["values"])
        more = f"; {count(left, 'rarer value')} not listed" if left > 0 else ""
        none = TableCell("–", numeric=True)
        columns: dict[str, Callable[[Hit], Any]] = {
            "value": _value,
            "captions": itemgetter("n"),
            "a word of its own, not glued": lambda row: none if row["value"] == UNKNOWN else row["n_word"],
        }
        return table_by(f"The {which}, without a doubtful caption{more}", rows, columns)

    def _again(self, row: Hit) -> dict[str, Any]:
        said = f"{thousands(row['n_named'])} of {count(row['n'], 'caption')} without a value"
        return {"term": words(row["attribute"]), "of": "", "said": said, "quotes": self._quotes(row)}

    def _double(self, row: Hit) -> dict[str, Any]:
        counted = f"counted as {listing(_tallied(row['counted_as']), most=_WORDS)}"
        if list(row["counted_as"]) == [row["groups"]]:
            counted = "counted as a value of its own"
        said = f"{thousands(row['n'])} of {count(row['n_captions'], 'caption')}, {counted}"
        place = {"term": words(row["groups"]), "of": words(row["attribute"])}
        return {**place, "said": said, "quotes": self._quotes(row, most=1)}

    def _term(self, row: Hit, where: str) -> dict[str, Any]:
        found = f" {where} {_quoted(row)}" if row["words"] else ""
        said = f"{thousands(row['n'])} of {count(row['n_hits'], 'hit')}{found}"
        return {**_entry(row, said), "quotes": self._quotes(row)}

    def _quotes(self, row: Hit, most: int | None = None) -> list[dict[str, Any]]:
        """Captions around a hit, with their picture and the place of that in the page."""
        quotes = []
        for one in row["examples"][:most]:
            sheet = self.shown.material.sheet_of.get(one["image_id"])
            uri = self.shown.thumbs.uris.get(one["image_id"])
            quotes.append(
                {
                    **{name: one.get(name, "") for name in ("before", "term", "between", "other", "after")},
                    "model": one["generator"] if self.models > 1 else "",
                    "anchor": sheet.anchor if sheet else None,
                    "title": sheet.title if sheet else "",
                    "uri": uri,
                    "alt": self.shown.alt(one["image_id"], captioned=True) if uri and sheet else "",
                }
            )
        return quotes


def _entry(row: Hit, said: str) -> dict[str, Any]:
    stands_for = "" if row["element"] == row["term"] else f": {words(row['element'])}"
    return {"term": row["term"], "of": f"{_place(row)}{stands_for}", "said": said, "quotes": []}


def _glued(row: Hit) -> dict[str, Any]:
    return _entry(row, f"{count(row['n'], 'word')} glued to others; {count(row['n_hits'], 'hit')}")


def _word(row: Hit) -> dict[str, Any]:
    return _entry(row, f"{count(row['n'], 'time')}: {_quoted(row)}")


def _place(row: Hit) -> str:
    attribute = words(row["attribute"])
    return f"{row['prompt']}, {attribute}" if row["prompt"] else attribute


def _value(row: Hit) -> str:
    return f"{words(row['attribute'])}: {words(row['value'])}"


def _quoted(row: Hit) -> str:
    return ", ".join(f"“{ellipsis(word, _LONG)}”" for word in row["words"][:_WORDS])


def _tallied(counts: Mapping[str, int]) -> list[str]:
    return [f"{words(value)} {thousands(n)}" for value, n in counts.items()]


def _named(row: Hit) -> str:
    if row["n_named"] is None:
        return ""
    return ": ".join(filter(None, (thousands(row["n_named"]), ", ".join(_tallied(row["named"])[:_WORDS]))))


def _by_model(row: Hit) -> str:
    """Doubts of each model's captions, the worst first where models are many."""
    told = [
        (one["n_named"] or one["n_doubtful"], one["n"], one["generator"])
        for one in row["by_generator"]
        if one["n"]
    ]
    if len(told) > _MODELS:
        told.sort(key=lambda one: -one[0] / one[1])
    listed = [f"{ellipsis(model, 40)} {thousands(n)} of {thousands(of)}" for n, of, model in told[:_MODELS]]
    more = len(told) - _MODELS
    return "; ".join([*listed, *[count(more, "more model")] * (more > 0)])


add_section(
    "lexicon",
    "What the lexicon's terms hit",
    lead="A term is a word that stands for a group or a thing. Where it hits another word, scores of "
    "captions say what nobody wrote.",
    place=80,
    make=lexicon_blocks,
)
