"""What the terms of a lexicon hit in the captions: what values rest on, and the worst hits, quoted."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from stereotrope.errors import RunDamaged
from stereotrope.report.contract import Block, add_section
from stereotrope.report.datatable import Table, TableCell
from stereotrope.report.escape import ellipsis
from stereotrope.report.exhibits import Exhibits
from stereotrope.report.material import Material, words
from stereotrope.report.numbers import count, thousands
from stereotrope.report.prose import listing

_OPEN = 4
"""Entries of a list that are shown at once; the rest is behind a disclosure."""
_WORDS = 4
"""Longer words or nouns named in one line."""
_MODELS = 3
_DEFINITELY_LONG = 60

_FORMS = "Plurals, -ed, words run together and compounds count as the term; see whether each is meant."
_LEFT = (
    "They hold the letters of a term and do not count as it; see whether one of them names it all the same."
)

Row = Mapping[str, Any]


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


def _blocks(stored: Sequence[Row], shown: Exhibits) -> list[Block]:
    first = next((number for number, one in enumerate(stored, start=1) if one["n_doubtful"]), None)
    return [
        Block(kind="lexicon", content=_Lexicon(lexicon, shown, number).content(explained=number == first))
        for number, lexicon in enumerate(stored, start=1)
    ]


class _Lexicon:
    def __init__(self, lexicon: Row, shown: Exhibits, number: int) -> None:
        self.lexicon, self.shown, self.number = lexicon, shown, number
        self.models = len(shown.material.generators)

    def content(self, *, explained: bool) -> dict[str, Any]:
        told = self.lexicon
        doubted = [row for row in told["values"] if row["n_doubtful"] or row["n_named"]]
        return {
            "anchor": f"lexicon-{self.number}",
            "title": str(told["annotator"]),
            "sentence": self._sentence(),
            "doubts": self._doubts(explained),
            "values": self._table(doubted, "Values to doubt") if doubted else None,
            "others": self._others(len(doubted)),
            "groups": [
                group
                for group in (
                    self._again(),
                    self._inside(),
                    self._before(),
                    self._double(),
                    self._glued(),
                    self._starred(),
                    self._words("forms", "Other forms of a term", _FORMS),
                    self._words("kept_out", "Longer words left alone", _LEFT),
                )
                if group["entries"]
            ],
            "never": self._never(),
            "never_title": f"Never found: {count(told['n_never'], 'term')}",
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
        told = self.lexicon
        if not told["n_captions"] or not told["n_valued"] + told["n_values"]:
            return ""
        doubtful = told["n_doubtful"]
        rests = (
            "none rests" if not doubtful else f"{thousands(doubtful)} {'rests' if doubtful == 1 else 'rest'}"
        )
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

    def _table(self, rows: Sequence[Row], caption: str) -> Table:
        again = any(row["n_named"] is not None for row in rows)
        several = self.models > 1
        heads = ["value", "captions", "doubtful", "inside longer words", "before such a noun"]
        heads += ["named by the second reading"] * again
        heads += ["doubtful or named, by model"] * several
        cells = [
            [
                TableCell(f"{words(row['attribute'])}: {words(row['value'])}"),
                *(TableCell(thousands(row[name]), True) for name in ("n", "n_doubtful")),
                *(TableCell(thousands(row[name]), True) for name in ("n_inside_only", "n_noun_only")),
                *[TableCell(_named(row))] * again,
                *[TableCell(self._by_model(row))] * several,
            ]
            for row in rows
        ]
        return Table(caption, heads, cells, len(cells))

    def _by_model(self, row: Row) -> str:
        """Doubts of each model's captions, the worst first where models are many."""
        told = [
            (one["n_named"] or one["n_doubtful"], one["n"], one["generator"])
            for one in row["by_generator"]
            if one["n"]
        ]
        if len(told) > _MODELS:
            told.sort(key=lambda one: -one[0] / max(1, one[1]))
        listed = [
            f"{ellipsis(model, 40)} {thousands(n)} of {thousands(of)}" for n, of, model in told[:_MODELS]
        ]
        more = len(told) - _MODELS
        return "; ".join([*listed, *[count(more, "more model")] * (more > 0)])

    def _others(self, doubted: int) -> Table | None:
        rest = [row for row in self.lexicon["values"] if not (row["n_doubtful"] or row["n_named"])]
        left = self.lexicon["n_values"] - len(self.lexicon["values"])
        if not rest:
            return None
        heads = ["value", "captions", "a word of its own, not glued"]
        rows = [
            [
                TableCell(f"{words(row['attribute'])}: {words(row['value'])}"),
                TableCell(thousands(row["n"]), True),
                TableCell("–" if row["value"] == "unknown" else thousands(row["n_word"]), True),
            ]
            for row in rest
        ]
        more = f"; {count(left, 'rarer value')} not listed" if left > 0 else ""
        which = "other values" if doubted else "values"
        return Table(f"The {which}, without a doubtful caption{more}", heads, rows, len(rows))

    def _again(self) -> dict[str, Any]:
        rows = [row for row in self.lexicon["values"] if row["n_named"]]
        entries = [
            {
                "term": words(row["attribute"]),
                "of": "",
                "said": f"{thousands(row['n_named'])} of {count(row['n'], 'caption')} without a value",
                "quotes": self._quotes(row["examples"]),
            }
            for row in rows
        ]
        return self._group(
            "No value found, and one by the second reading",
            f"What the lexicon “{ellipsis(str(self.lexicon['second']), 80)}” finds is marked.",
            entries,
        )

    def _inside(self) -> dict[str, Any]:
        return self._group(
            "Inside longer words",
            "The letters are there, and the word is not.",
            [self._term(row, "in") for row in self.lexicon["inside"]],
        )

    def _before(self) -> dict[str, Any]:
        return self._group(
            "Before a noun for clothes, hair or a background",
            "Perhaps said of the thing and not of a person.",
            [self._term(row, "before") for row in self.lexicon["before_nouns"]],
        )

    def _starred(self) -> dict[str, Any]:
        return self._group(
            "Longer words that a term’s * takes in",
            "They count as asked for; see whether each is meant.",
            [self._term(row, "in") for row in self.lexicon["starred"]],
            closed=True,
        )

    def _words(self, kind: str, title: str, meaning: str) -> dict[str, Any]:
        rows = self.lexicon.get(kind, ())
        entries = [
            {"term": row["term"], "of": _stands_for(row), "said": _counted(row), "quotes": []} for row in rows
        ]
        return self._group(title, meaning, entries, closed=True)

    def _double(self) -> dict[str, Any]:
        entries = []
        for row in self.lexicon["double"]:
            own = list(row["counted_as"]) == [row["groups"]]
            listed = [f"{words(value)} {thousands(n)}" for value, n in row["counted_as"].items()]
            entries.append(
                {
                    "term": words(row["groups"]),
                    "of": words(row["attribute"]),
                    "said": f"{thousands(row['n'])} of {count(row['n_captions'], 'caption')}, "
                    + (
                        "counted as a value of its own"
                        if own
                        else f"counted as {listing(listed, most=_WORDS)}"
                    ),
                    "quotes": self._quotes(row["examples"][:1]),
                }
            )
        n = self.lexicon["n_several"]
        return self._group(
            "Several groups in one caption",
            f"{count(n, 'combination')}; which of them counts is decided in the lexicon (priority, decide).",
            entries,
            closed=True,
        )

    def _glued(self) -> dict[str, Any]:
        entries = [
            {
                "term": row["term"],
                "of": _stands_for(row),
                "said": f"{count(row['n'], 'word')} glued to others; {count(row['n_hits'], 'hit')}",
                "quotes": [],
            }
            for row in self.lexicon["glued"]
        ]
        return self._group(
            "Run together with other words",
            "Set off by case or a digit only, so that this matching does not see them; "
            "matching {split_case: true} does.",
            entries,
        )

    def _group(
        self, title: str, meaning: str, entries: Sequence[Row], *, closed: bool = False
    ) -> dict[str, Any]:
        first = 0 if closed else _OPEN
        return {
            "title": title,
            "meaning": meaning,
            "entries": entries[:first] or entries,
            "shown": entries[:first],
            "more": entries[first:],
            "summary": count(
                len(entries) - first, "more term" if first else "entry", None if first else "entries"
            ),
        }

    def _term(self, row: Row, where: str) -> dict[str, Any]:
        found = [f"“{ellipsis(word, _DEFINITELY_LONG)}”" for word in row["words"][:_WORDS]]
        return {
            "term": row["term"],
            "of": _stands_for(row),
            "said": f"{thousands(row['n'])} of {count(row['n_hits'], 'hit')}"
            + (f" {where} {', '.join(found)}" if found else ""),
            "quotes": self._quotes(row["examples"]),
        }

    def _quotes(self, examples: Sequence[Row]) -> list[dict[str, Any]]:
        """Captions around a hit, with their picture and the place of that in the page."""
        quotes = []
        for one in examples:
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

    def _never(self) -> list[tuple[str, list[str]]]:
        """Place of a lexicon → its terms never found."""
        rows = sorted(self.lexicon["never"], key=_place)
        return [(place, [str(row["term"]) for row in own]) for place, own in groupby(rows, key=_place)]


def _counted(row: Row) -> str:
    listed = [f"“{ellipsis(word, _DEFINITELY_LONG)}”" for word in row["words"][:_WORDS]]
    return f"{count(row['n'], 'time')}: {', '.join(listed)}"


def _named(row: Row) -> str:
    if row["n_named"] is None:
        return ""
    listed = [f"{words(value)} {thousands(n)}" for value, n in row["named"].items()]
    return f"{thousands(row['n_named'])}" + (f": {', '.join(listed[:_WORDS])}" if listed else "")


def _place(row: Row) -> str:
    attribute = words(row["attribute"])
    return f"{row['prompt']}, {attribute}" if row["prompt"] else attribute


def _stands_for(row: Row) -> str:
    own = "" if row["element"] == row["term"] else f": {words(row['element'])}"
    return f"{_place(row)}{own}"


add_section(
    "lexicon",
    "What the lexicon's terms hit",
    lead="A term is a word that stands for a group or a thing. Where it hits another word, scores of "
    "captions say what nobody wrote.",
    place=80,
    make=lexicon_blocks,
)
