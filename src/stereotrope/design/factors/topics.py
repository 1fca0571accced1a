"""Topics: what a model answers, yes or no, about each scenario, as factors that people may edit.

The method is that of L. Girrbach et al., arXiv:2503.23398, section 4.3 and appendix I.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

import polars as pl
from pydantic import BeforeValidator

from stereotrope.design.factors.clustering import told_words
from stereotrope.design.factors.contract import (
    FactorFile,
    completed,
    factor,
    require_columns,
    unit_of,
)
from stereotrope.errors import UsageError
from stereotrope.inputs.asking import Asking, MadeFile, TextAsker, TextQuestion, text_asker
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Item, Name, Options, Text, text
from stereotrope.shipped import shipped

NOT_ASKED, UNDECIDED = "not asked", "unclear"
"""Levels of a scenario whose group a question is not for, and of one to which the model said neither."""
_FIELD = "{phrase}"
_SHIPPED: Mapping[str, Any] = shipped("design.factors", "topics.yaml")
_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
    "required": ["answer"],
    "additionalProperties": False,
}
_EVERY = ""
"""Stands for every group in the questions of a factor."""


def _questions(value: Any) -> Any:
    """Factor → its question, or group → question."""
    if isinstance(value, list):
        unknown = [name for name in value if name not in _SHIPPED["questions"]]
        if unknown or not value:
            known = ", ".join(_SHIPPED["questions"])
            raise ValueError(f"must list ready questions; there is: {known}, or write name: question")
        return {name: _SHIPPED["questions"][name] for name in value}
    if not isinstance(value, Mapping) or not value:
        raise ValueError("must be a list of ready questions, or a mapping of a factor to its question")
    found = {}
    for name, given in value.items():
        asked = given if isinstance(given, Mapping) else {_EVERY: given}
        found[text(name)] = {str(group): text(question) for group, question in asked.items()}
        if any(_FIELD not in question for question in found[text(name)].values()):
            raise ValueError(f"must hold {_FIELD} in every question; write it where the phrase goes")
    return found


class TopicOptions(Options):
    """Which questions are asked of whom, and the file that holds the answers."""

    topics: File = "topics.csv"
    model: Item
    questions: Annotated[dict[Name, dict[str, Text]], BeforeValidator(_questions)] = _SHIPPED["questions"]


class Topics(FactorFile):
    """A file of topics, made by asking a model about each scenario; what people changed in it stays.

    questions: Factor → group of prompts → question, the group empty where it is for every one.
    """

    remedy = "`stereotrope design AUDIT.yaml` makes it, and asks about what it lacks; or write the rows"

    def __init__(
        self, context: Context, file: str, asker: TextAsker, questions: Mapping[str, Mapping[str, str]]
    ) -> None:
        super().__init__(context.folder / file, file, list(questions))
        self.asker, self.questions = asker, questions

    def make(self, prompts: pl.DataFrame, kept: pl.DataFrame | None, ask: Asking) -> MadeFile:
        """Ask what has no answer yet."""
        of, within = unit_of(prompts)
        keys = [within, of] if within else [of]
        wanted = prompts.select(keys).drop_nulls().unique(maintain_order=True)
        if not wanted.height:
            raise UsageError(f"{self.written}: no prompt has a {of} to ask about; write the file by hand")
        require_columns(kept, keys, self.written)
        before = _answers(kept, keys, list(self.questions))
        asked: dict[tuple[tuple[str, ...], str], TextQuestion] = {}
        found = {key: dict(before.get(key, {})) for key in wanted.iter_rows()}
        for part in wanted.partition_by(within, maintain_order=True) if within else [wanted]:
            said = told_words(part[of].to_list())
            for key in part.iter_rows():
                for name in self.questions.keys() - found[key].keys():
                    question = self._question(name, key[0] if within else _EVERY, said[key[-1]])
                    if question is None:
                        found[key][name] = NOT_ASKED
                    else:
                        asked[key, name] = question
        if not asked and all(found[key] == before.get(key) for key in found):
            return MadeFile(None, (f"{self.written}: every one of {wanted.height:,} is answered",))
        lacking: Counter[str] = Counter()
        for (key, name), answer in zip(asked, self.asker.ask_all(list(asked.values()), ask), strict=True):
            is_answer = answer["status"] == "ok"
            found[key][name] = answer["content"]["answer"] if is_answer else UNDECIDED
            lacking.update([] if is_answer else [str(answer["reason"] or answer["status"])])
        rows = [[*key, *map(levels.get, self.questions)] for key, levels in found.items()]
        schema = dict.fromkeys([*keys, *self.questions], pl.String)
        table = completed(kept, pl.DataFrame(rows, schema=schema, orient="row"), keys)
        return MadeFile(table, tuple(self._told(table, len(asked), lacking)))

    def _question(self, name: str, group: str, phrase: str) -> TextQuestion | None:
        """What is asked, None where the question is not for this group."""
        asked = self.questions[name]
        written = asked.get(group, asked.get(_EVERY))
        if written is None:
            return None
        words = " ".join(written.replace(_FIELD, phrase).split(" "))
        return TextQuestion(words, _SCHEMA, _SHIPPED["system"], answered=(2, 12))

    def _told(self, table: pl.DataFrame, n_asked: int, lacking: Counter[str]) -> list[str]:
        notes = [f"{self.written}: {n_asked:,} questions answered by {self.asker.name}"]
        if lacking:
            reasons = "; ".join(f"{n:,} × {reason}" for reason, n in lacking.most_common(3))
            notes[0] += f", {lacking.total():,} of them {UNDECIDED} ({reasons})"
        for name in self.questions:
            counts = Counter(table[name])
            levels = ", ".join(f"{counts[level]:,} {level}" for level in ("yes", "no", UNDECIDED, NOT_ASKED))
            notes.append(f"{self.written}: {name}: {levels}")
        return notes


def _answers(
    kept: pl.DataFrame | None, keys: list[str], names: list[str]
) -> dict[tuple[str, ...], dict[str, str]]:
    """Key of a row → the factors that it has an answer to."""
    if kept is None:
        return {}
    there = [name for name in names if name in kept.columns]
    return {
        tuple(row[key] for key in keys): {name: row[name] for name in there if row[name] is not None}
        for row in kept.drop_nulls(keys).iter_rows(named=True)
    }


@factor(
    TopicOptions,
    summary="yes or no about each scenario, by a chat model: household chores, paid work, office",
    example="{topics: topics.csv, model: openai:gpt-4o-mini}",
)
def topics(options: TopicOptions, context: Context) -> Topics:
    """Make the file of topics."""
    asker = text_asker(options.model, "model", context.account)
    return Topics(context, options.topics, asker, options.questions)
