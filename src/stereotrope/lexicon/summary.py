"""The table ``lexicon_terms``: what the terms of a run's lexicons hit in its captions, and what to doubt."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

import polars as pl

from stereotrope.further_tables import Filled, TableSources, further_table
from stereotrope.lexicon.audit import audit_reading
from stereotrope.lexicon.model import Lexicon, Reading
from stereotrope.lexicon.parts import THINGS
from stereotrope.lexicon.read import built_in_lexicons, read_lexicon
from stereotrope.tables import CAPTION, TEXT, UNKNOWN, WHOLE, Column, polars_types

MOST_VALUES_TOLD = 60
"""Values of a lexicon's attributes that ``run.json`` names, the most doubtful first."""
MOST_TERMS = 12
"""Terms of each kind of doubt that it names, with their captions."""
MOST_NEVER = 60
"""Terms never found that it names."""
MOST_IMAGES = 12
_EXAMPLES = 2
_LONGEST = 300
"""Characters of a caption that are kept, around the term."""
_BEFORE = 100
_LONGEST_TERM = 120


LEXICON_TERMS = (
    Column("lexicon", TEXT, "annotator that reads captions by the lexicon"),
    Column("captioner", TEXT, "annotator whose captions it read, null where it found none"),
    Column("prompt", TEXT, "prompt of the term's list, null where the term is of a grouped attribute"),
    Column("attribute", TEXT, "grouped attribute or list of the term"),
    Column("element", TEXT, "group or element that the term stands for"),
    Column("term", TEXT, "as the lexicon writes it"),
    Column("n_captions", WHOLE, "captions it was looked for in: those of its prompts"),
    Column("n_captions_hit", WHOLE, "captions it was found in"),
    Column("n_hits", WHOLE, "places it was found at"),
    Column("n_inside", WHOLE, "hits inside a longer word"),
    Column("n_forms", WHOLE, "of these, forms of the term itself: a plural, -ed, -ing"),
    Column("n_glued", WHOLE, "hits set off from their neighbours by case or a digit only"),
    Column("n_by_form", WHOLE, "hits of another form of the term: skinned, labcoat, hoverfly"),
    Column("n_noun", WHOLE, "hits before a noun of clothes, hair or a background"),
    Column(
        "n_doubtful", WHOLE, "hits inside other words that no * asks for, and at nouns if it is for looks"
    ),
    Column("n_double", WHOLE, "captions it was found in that name another group of the attribute too"),
    Column("n_excluded", WHOLE, "places that a phrase of the lexicon's `not` rules out"),
    Column("n_missed_glued", WHOLE, "words glued to others that the lexicon's matching does not see"),
    Column("n_kept_out", WHOLE, "longer words with its letters that are no term or form of its element"),
    Column(
        "inside_words", TEXT, "JSON list of the longer words of n_inside, most frequent first, at most five"
    ),
    Column("form_words", TEXT, "JSON list of the words of n_by_form, likewise"),
    Column("kept_out_words", TEXT, "JSON list of the words of n_kept_out, likewise"),
    Column("nouns", TEXT, "JSON list of the nouns, most frequent first, at most five"),
    Column("by_generator", TEXT, "JSON object: model → n_captions, n_hits and n_doubtful of its captions"),
    Column(
        "image_ids", TEXT, "JSON list of images whose captions show it, doubtful ones where there are any"
    ),
)


class CaptionLexicon(Protocol):
    """An annotator that read captions by a lexicon: one that gives ``lexicon``."""

    name: str
    lexicon: Lexicon
    factor: str
    of: str | None
    reading: Reading | None


@further_table(LEXICON_TERMS, caption="Terms of lexicons and what they hit")
def lexicon_terms(sources: TableSources) -> Filled | None:
    """Audit every lexicon of a run on the captions it has just read; None where there is no lexicon.

    Captions without a value are read a second time by the built-in lexicon, where that has the attribute and
    is another one. Beside the table a bounded summary a lexicon is given, the ``lexicons`` of ``run.json``.
    """
    lexicons = [one for one in sources.annotators if "lexicon" in one.gives]
    if not lexicons:
        return None
    generators = dict(sources.images.select("image_id", "generator").iter_rows())
    writers = sources.labels.filter(pl.col("attribute") == CAPTION)["annotator"].unique(maintain_order=True)
    told = [_Told(each, each.reading, generators, writers) for each in lexicons if each.reading is not None]
    rows = [row for one in told for row in one.rows()]
    frame = pl.DataFrame(rows, schema=polars_types(LEXICON_TERMS))
    return frame, {"lexicons": [one.summary() for one in told]}


def _second(lexicon: Lexicon) -> Lexicon | None:
    """The built-in lexicon that has an attribute of this one and is another."""
    for name in built_in_lexicons():
        other = read_lexicon(name)
        if set(other.attributes) & set(lexicon.attributes) and other.fingerprint != lexicon.fingerprint:
            return other
    return None


class _Told:
    """One lexicon's audit, ready to be written down."""

    def __init__(
        self, annotator: CaptionLexicon, reading: Reading, generators: Mapping[str, str], writers: pl.Series
    ) -> None:
        self.annotator = annotator
        self.captioner = annotator.of or next(iter(writers), None)
        self.images = reading.captions["image_id"].to_list()
        self.generators = [generators[image] for image in self.images]
        second = _second(annotator.lexicon)
        self.audit = audit_reading(reading, second=second, examples=_EXAMPLES, by=self.generators)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Rows of the table."""
        same = [c.name for c in LEXICON_TERMS if c.name.startswith("n_")]
        for row in self.audit.terms.iter_rows(named=True):
            shown = row["places_inside"] + row["places_noun"] if row["n_doubtful"] else row["places"]
            yield {
                "lexicon": self.annotator.name,
                "captioner": self.captioner,
                **{name: row[name] for name in (*_TERM, *same)},
                **{w: _json(row[w]) for w in ("inside_words", "form_words", "kept_out_words")},
                "nouns": _json(row["nouns"]),
                "by_generator": _json({each.pop("level"): each for each in row["by"]}),
                "image_ids": _json(list(dict.fromkeys(self.images[each["caption"]] for each in shown))),
            }

    def summary(self) -> dict[str, Any]:
        """What ``run.json`` says of the lexicon."""
        lexicon, terms = self.annotator.lexicon, self.audit.terms
        never = terms.filter(pl.col("never") & (pl.col("n_captions") > 0))
        values = self._values()
        glued = self._worst(pl.col("n_missed_glued"), pl.lit(True))
        return {
            "annotator": self.annotator.name,
            "lexicon": lexicon.name,
            "version": lexicon.version,
            "captioner": self.captioner,
            "factor": self.annotator.factor,
            "matching": lexicon.matching.words,
            "second": self.audit.second,
            "n_captions": sum(map(bool, self.audit.captions)),
            "n_terms": terms.height,
            "n_terms_hit": int((~terms["never"]).sum()),
            "n_hits": int(terms["n_hits"].sum()),
            "n_values": len(values),
            **_totals(self.audit.labels),
            "values": values[:MOST_VALUES_TOLD],
            "inside": self._terms(~_STARRED, _INSIDE, "inside_words", "_inside"),
            "before_nouns": self._terms(~_OF_THINGS, pl.col("n_noun"), "nouns", "_noun"),
            "starred": self._terms(_STARRED, _INSIDE, "inside_words", "_inside"),
            "forms": self._terms(pl.lit(True), pl.col("n_by_form"), "form_words", ""),
            "kept_out": self._terms(_OF_LISTS, pl.col("n_kept_out"), "kept_out_words", ""),
            "glued": glued.select(*_TERM, "n_hits", "n").to_dicts(),
            "n_several": self.audit.several.height,
            "double": [
                self._double(row) for row in self.audit.several.head(MOST_TERMS).iter_rows(named=True)
            ],
            "n_never": never.height,
            "never": never.select(_TERM).head(MOST_NEVER).to_dicts(),
            "n_unasked": terms.filter(pl.col("n_captions") == 0).height,
        }

    def _values(self) -> list[dict[str, Any]]:
        rows = [row for row in self.audit.labels.iter_rows(named=True) if row["n"]]
        rows.sort(key=lambda row: (-row["n_doubtful"] - (row["n_named"] or 0), -row["n"]))
        counts = ("n", "n_word", "n_inside_only", "n_noun_only", "n_doubtful", "n_named")
        return [
            {
                "attribute": row["attribute"],
                "value": row["value"],
                **{name: row[name] for name in counts},
                "named": {one["value"]: one["n"] for one in row["named"]},
                "words": row["inside_words"],
                "nouns": row["nouns"],
                "by_generator": [{"generator": one.pop("level"), **one} for one in row["by"]],
                "image_ids": self._spread(row["doubted"]),
                "examples": self._examples(row["places"]),
            }
            for row in rows
        ]

    def _worst(self, count: pl.Expr, which: pl.Expr) -> pl.DataFrame:
        """The terms of one doubt with most of it, counted in ``n``."""
        rows = self.audit.terms.with_columns(n=count).filter(which, pl.col("n") > 0)
        return rows.sort("n", descending=True, maintain_order=True).head(MOST_TERMS)

    def _terms(self, which: pl.Expr, count: pl.Expr, words: str, kind: str) -> list[dict[str, Any]]:
        """Terms of one doubt, the worst first."""
        return [
            {
                **{name: row[name] for name in (*_TERM, "n", "n_hits")},
                "words": row[words],
                "examples": self._examples(row[f"places{kind}"]),
            }
            for row in self._worst(count, which).iter_rows(named=True)
        ]

    def _double(self, row: Mapping[str, Any]) -> dict[str, Any]:
        told = zip(self._examples(row["places"]), row["places"], row["places_other"], strict=False)
        return {
            **{name: row[name] for name in ("attribute", "groups", "n", "n_captions")},
            "counted_as": {one["value"]: one["n"] for one in row["counted_as"]},
            "examples": [{**one, **_both(one, first, other)} for one, first, other in told],
        }

    def _spread(self, captions: Sequence[int]) -> list[str]:
        """Images of some captions, one of each model in turn."""
        by_model: dict[str, list[str]] = {}
        for caption in captions:
            by_model.setdefault(self.generators[caption], []).append(self.images[caption])
        longest = max(map(len, by_model.values()), default=0)
        turns = (own[turn] for turn in range(longest) for own in by_model.values() if turn < len(own))
        return [image for image, _ in zip(turns, range(MOST_IMAGES), strict=False)]

    def _examples(self, places: Sequence[Mapping[str, int]]) -> list[dict[str, Any]]:
        return [
            {
                "image_id": self.images[each["caption"]],
                "generator": self.generators[each["caption"]],
                **_pieces(self.audit.captions[each["caption"]], each["start"], each["end"]),
            }
            for each in places[:_EXAMPLES]
        ]


def _totals(labels: pl.DataFrame) -> dict[str, int]:
    """Captions with a value, and those read again without one, by attribute; how many are doubtful."""
    unknown = pl.col("value") == UNKNOWN
    valued, again = labels.filter(~unknown), labels.filter(unknown, pl.col("n_named").is_not_null())
    return {
        "n_valued": int(valued["n"].sum()),
        "n_doubtful": int(valued["n_doubtful"].sum()),
        "n_unknown": int(again["n"].sum()),
        "n_named": int(again["n_named"].sum()),
    }


_TERM = ("prompt", "attribute", "element", "term")
_STARRED = pl.col("term").str.contains("*", literal=True)
_OF_THINGS = pl.col("attribute").is_in(THINGS)
_OF_LISTS = pl.col("prompt").is_not_null()
_INSIDE = pl.col("n_inside") - pl.col("n_forms")


def _pieces(caption: str, start: int, end: int) -> dict[str, str]:
    """A caption in three pieces, the middle one the term; what is cut off is marked by dots."""
    term = caption[start:end]
    if len(term) > _LONGEST_TERM:
        term = f"{term[:_LONGEST_TERM]}…"
    first = 0 if start <= _BEFORE else start - _BEFORE
    if first and (blank := caption.find(" ", first, start)) >= 0:
        first = blank + 1
    before = caption[first:start]
    after = caption[end : end + max(0, _LONGEST - len(before) - len(term))]
    return {
        "before": f"…{before}" if first else before,
        "term": term,
        "after": f"{after}…" if end + len(after) < len(caption) else after,
    }


def _both(told: Mapping[str, str], first: Mapping[str, int], other: Mapping[str, int]) -> dict[str, str]:
    """Part what stands behind a term where another group is named; nothing where that is cut off."""
    start, end = (other[edge] - first["end"] for edge in ("start", "end"))
    after = told["after"]
    if start == end or end > len(after):
        return {}
    return {"between": after[:start], "other": after[start:end], "after": after[end:]}


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
