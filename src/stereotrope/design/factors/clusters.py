"""Clusters of prompts: phrases that mean alike under one title, as a factor that people may edit.

The method is that of L. Girrbach et al., arXiv:2503.23398, section 3.1 and appendix C.3.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import polars as pl
from pydantic import Field

from stereotrope.design.factors.clustering import (
    ADDED,
    ALONE,
    LIBRARIES,
    NEAREST,
    cluster_vectors,
    ctfidf_titles,
    nearest,
    require_clustering,
    told_words,
)
from stereotrope.design.factors.contract import Asking, FactorFile, MadeFile, factor, unit_of
from stereotrope.design.factors.encoders import SentenceEncoder, sentence_encoder
from stereotrope.design.phrases import STOP_WORDS, singular
from stereotrope.errors import UsageError
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Item, Name, Options, Text
from stereotrope.plugins import version_of
from stereotrope.shipped import shipped

PLACED = "placed"
"""Column that says how a row came to its cluster; no factor."""
_TITLES: Mapping[str, Any] = shipped("design.factors", "titles.yaml")
_WORD = re.compile(r"[^\W_]+(?:[-'’][^\W_]+)*")
_LONGEST = 2
"""Words of a title before its last one."""


class ClusterOptions(Options):
    """How prompts are clustered, and the file that holds the clusters."""

    clusters: File = "clusters.csv"
    name: Name = "cluster"
    encoder: Item = "wordllama"
    of: Text | None = None
    within: Text | None = None
    seed: int = Field(0, ge=0, lt=2**31)
    specifiers: dict[Text, Text] | None = None


class Group(NamedTuple):
    """Texts that are clustered together, the words that tell them apart, and their titles' last word."""

    name: str | None
    texts: list[str]
    words: list[str]
    specifier: str


class Clusters(FactorFile):
    """A file of clusters, made by an encoder, UMAP and HDBSCAN; what people changed in it stays.

    encoder: Gives the phrases vectors.
    of, within: Factor (or ``text``) whose levels are clustered, and the one within which; scenarios within
        their group where the prompts have these.
    seed: Of UMAP.
    specifiers: Group → the word that its titles end in.
    """

    remedy = "`stereotrope design AUDIT.yaml` puts those that are missing into a cluster, or write the rows"

    def __init__(self, context: Context, options: ClusterOptions, encoder: SentenceEncoder) -> None:
        super().__init__(context.folder / options.clusters, options.clusters, [options.name])
        self.name, self.seed, self.encoder = options.name, options.seed, encoder
        self.of, self.within = options.of, options.within
        self.specifiers = {**_TITLES["specifiers"], **(options.specifiers or {})}
        self.instruments = tuple(encoder.instruments)

    def require(self) -> None:
        """Refuse what cannot work, before anything is asked."""
        require_clustering()
        self.encoder.require()

    def make(self, prompts: pl.DataFrame, kept: pl.DataFrame | None, ask: Asking) -> MadeFile:
        """Cluster what has no row yet.

        Where a group has rows, its further texts go to the cluster with the nearest centroid; else the whole
        group is clustered.
        """
        of, within = unit_of(prompts, self.of, self.within)
        keys = [within, of] if within else [of]
        columns = [*keys, self.name, PLACED]
        before = _stored(kept, columns)
        wanted = prompts.select(keys).drop_nulls().unique(maintain_order=True)
        if not wanted.height:
            raise UsageError(
                f"{self.written}: no prompt has a {of} that could be clustered; write the file by hand"
            )
        new = wanted.join(before, on=keys, how="anti", maintain_order="left")
        if not new.height:
            return MadeFile(None, (f"{self.written}: every one of {wanted.height:,} has a cluster",))
        self.require()
        rows: list[dict[str, str | None]] = []
        notes = []
        for group in _groups(new, of, within, self.specifiers):
            known = before.filter(pl.lit(within is None) | (pl.lit(group.name) == pl.col(keys[0])))
            made = self._added(group, known, of, ask) if known.height else self._clustered(group, ask)
            found = [dict(zip(columns[-2:], pair, strict=True)) for pair in made]
            at = {within: group.name} if within else {}
            rows += [{**at, of: text, **one} for text, one in zip(group.texts, found, strict=True)]
            notes.append(f"{self.written}: {_told(group, made)}")
        table = pl.concat([before, pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))])
        versions = ", ".join(f"{name} {version_of(name)}" for name in LIBRARIES)
        return MadeFile(
            table, (*notes, f"{self.written}: {self.encoder.described}, {versions}, seed {self.seed}")
        )

    def _clustered(self, group: Group, ask: Asking) -> list[tuple[str, str]]:
        """Title and way of each text of a group."""
        order = sorted(
            range(len(group.texts)), key=lambda i: group.words[i]
        )  # the order of a file decides nothing
        vectors = self.encoder.vectors([group.words[i] for i in order], ask)
        numbers, placed = cluster_vectors(vectors, self.seed)
        members: dict[int, list[str]] = {}
        for number, i in zip(numbers, order, strict=True):
            members.setdefault(number, []).append(group.words[i])
        titles = self._titles(group, members, ask)
        made = {i: (titles[n], way) for i, n, way in zip(order, numbers, placed, strict=True)}
        return [made[i] for i in range(len(order))]

    def _added(self, group: Group, known: pl.DataFrame, of: str, ask: Asking) -> list[tuple[str, str]]:
        """Title of the nearest cluster that is there."""
        titles = sorted(known[self.name].unique())
        there = known[of].to_list()
        said = told_words([*there, *group.texts])
        texts = [said[text] for text in (*there, *group.texts)]
        vectors = self.encoder.vectors(texts, ask)
        numbers = [titles.index(title) for title in known[self.name]]
        found = nearest(vectors[len(there) :], vectors[: len(there)], numbers)
        return [(titles[number], ADDED) for number in found]

    def _titles(self, group: Group, members: Mapping[int, Sequence[str]], ask: Asking) -> dict[int, str]:
        """What each cluster is called; clusters of one title are one."""
        if len(members) == 1:
            return dict.fromkeys(members, f"all {group.specifier}")
        ranked = ctfidf_titles(members, telling_words)
        return {n: _title(words, members[n], group.specifier) for n, words in ranked.items()}


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
    own = [word for word in ranked if word != singular(specifier)][:_LONGEST]
    if own and sum(own[0] in words for words in split) * 2 > len(split):
        own = own[:1]
    for first, second in (own, own[::-1]) if len(own) == _LONGEST else ():
        if any(pair == (first, second) for words in split for pair in pairwise(words)):
            return f"{first} {second} {specifier}"
    return " ".join(filter(None, [", ".join(own), specifier]))


def _groups(new: pl.DataFrame, of: str, within: str | None, specifiers: Mapping[str, str]) -> list[Group]:
    """What is clustered together."""
    parts = new.partition_by(within, maintain_order=True) if within else [new]
    groups = []
    for part in parts:
        texts = part[of].to_list()
        said = told_words(texts)
        name = str(part[within][0]) if within else None
        specifier = specifiers.get(name, name) if name else "prompts"
        groups.append(Group(name, texts, [said[text] for text in texts], specifier))
    return groups


def _stored(kept: pl.DataFrame | None, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of a file that are whole, with the columns of ours."""
    *needed, placed = columns
    if kept is None or not set(needed) <= set(kept.columns):
        return pl.DataFrame(schema=dict.fromkeys(columns, pl.String))
    has = pl.col(placed) if placed in kept.columns else pl.lit(None, pl.String).alias(placed)
    return kept.drop_nulls(needed).select(*needed, has)


def _told(group: Group, made: Sequence[tuple[str, str]]) -> str:
    """How many clusters a group has now, and how its texts came there."""
    ways = [way for _, way in made]
    name, n = group.name or "prompts", len(made)
    if ways[0] == ALONE:
        return f"{name}: no clusters in {n:,}, all stand in one"
    titles = len({title for title, _ in made})
    if ways[0] == ADDED:
        return f"{name}: {n:,} added to {titles:,} clusters that are there"
    noise = ways.count(NEAREST)
    return f"{name}: {n:,} in {titles:,} clusters; {noise:,} of them were noise, now in the nearest one"


@factor(
    ClusterOptions,
    summary="clusters of scenarios that mean alike, by UMAP and HDBSCAN over vectors of their phrases",
    example="{clusters: clusters.csv, encoder: wordllama}",
)
def clusters(options: ClusterOptions, context: Context) -> Clusters:
    """Make the file of clusters."""
    return Clusters(context, options, sentence_encoder(options.encoder, context))
