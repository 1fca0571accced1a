"""Clusters of prompts: phrases that mean alike under one title, as a factor that people may edit.

The method is that of L. Girrbach et al., arXiv:2503.23398, section 3.1 and appendix C.3.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np
import polars as pl
from pydantic import BeforeValidator, Field

from stereotrope.design.factors.clustering import (
    ADDED,
    ALONE,
    LIBRARIES,
    MIN_SIZE,
    NEAREST,
    Placing,
    Vectors,
    cluster_vectors,
    nearest,
    require_clustering,
    told_words,
)
from stereotrope.design.factors.contract import (
    FactorFile,
    completed,
    factor,
    require_columns,
    unit_of,
)
from stereotrope.design.factors.encoders import SentenceEncoder, sentence_encoder
from stereotrope.design.factors.titles import SPECIFIERS, Titled, asked_titles, title_question, word_titles
from stereotrope.errors import UsageError
from stereotrope.inputs.asking import Asking, MadeFile, TextAsker, text_asker
from stereotrope.inputs.entries import Context
from stereotrope.inputs.options import File, Item, Name, Options, Text, Texts
from stereotrope.plugins import version_of

PLACED = "placed"
"""Column that says how a row came to its cluster; no factor."""


class ClusterOptions(Options):
    """How prompts are clustered, and the file that holds the clusters."""

    clusters: File = "clusters.csv"
    name: Name = "cluster"
    encoder: Item = "wordllama"
    titles: Item | None = None
    of: Text | None = None
    within: Text | None = None
    where: (
        dict[
            Name,
            Annotated[Texts, BeforeValidator(lambda given: given if isinstance(given, list) else [given])],
        ]
        | None
    ) = None
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
    titler: Model that titles clusters; None has their words do so.
    of, within: Factor (or ``text``) whose levels are clustered, and the one within which; scenarios within
        their group where the prompts have these.
    seed: Of UMAP.
    specifiers: Group → the word that its titles end in.
    """

    remedy = "`stereotrope design AUDIT.yaml` makes it, and adds what it lacks; or write the rows"

    def __init__(
        self,
        context: Context,
        options: ClusterOptions,
        encoder: SentenceEncoder,
        titler: TextAsker | None = None,
    ) -> None:
        file, names = options.clusters, [options.name]
        super().__init__(context.folder / file, file, names, options.where)
        self.name, self.seed, self.encoder = options.name, options.seed, encoder
        self.of, self.within = options.of, options.within
        self.titler = titler
        self.specifiers = {**SPECIFIERS, **(options.specifiers or {})}

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
        require_columns(kept, columns[:-1], self.written)
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
        groups = _groups(new, of, within, self.specifiers)
        stored = [before.filter(pl.lit(within is None) | (pl.lit(g.name) == pl.col(keys[0]))) for g in groups]
        vector_of = self._vectors(groups, stored, of, ask)
        found: dict[int, list[tuple[str, str]]] = {}
        placings: dict[int, Placing] = {}
        for i, (group, known) in enumerate(zip(groups, stored, strict=True)):
            if known.height:
                found[i] = self._added(group, known, of, vector_of)
            else:
                placings[i] = self._placed(group, vector_of)
        titled, lacking = self._titles([(groups[i], placings[i].numbers) for i in placings], ask)
        for (i, placing), titles in zip(placings.items(), titled, strict=True):
            found[i] = [(titles[n], way) for n, way in zip(placing.numbers, placing.placed, strict=True)]
        notes = [f"{self.written}: {_told(group, found[i])}" for i, group in enumerate(groups)]
        rows = [
            [*([group.name] if within else []), text, *one]
            for i, group in enumerate(groups)
            for text, one in zip(group.texts, found[i], strict=True)
        ]
        new = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
        table = completed(_unplaced(kept, self.name), new, keys)
        notes += self._told_titles(lacking)
        versions = ", ".join(f"{name} {version_of(name)}" for name in LIBRARIES)
        return MadeFile(
            table, (*notes, f"{self.written}: {self.encoder.described}, {versions}, seed {self.seed}")
        )

    def _vectors(
        self, groups: Sequence[Group], stored: Sequence[pl.DataFrame], of: str, ask: Asking
    ) -> dict[str, Vectors]:
        """The vector of everything that is compared, asked for together."""
        texts = dict.fromkeys(words for group in groups for words in group.words)
        for group, known in zip(groups, stored, strict=True):
            texts |= dict.fromkeys(_said(group, known[of].to_list()) if known.height else ())
        asking = ask
        if self.titler is not None:
            new = [
                g
                for g, known in zip(groups, stored, strict=True)
                if not known.height and len(g.texts) >= MIN_SIZE
            ]
            like = [
                title_question(g.name or "prompts", g.words[at : at + MIN_SIZE], g.specifier)
                for g in new
                for at in range(0, len(g.words) - MIN_SIZE + 1, MIN_SIZE)
            ]
            asking = partial(ask, then=[(self.titler, like)])
        return dict(zip(texts, self.encoder.vectors(list(texts), asking), strict=True))

    def _placed(self, group: Group, vector_of: Mapping[str, Vectors]) -> Placing:
        """The cluster of each text; the order in which a file has them decides nothing."""
        order = sorted(range(len(group.texts)), key=lambda i: group.words[i])
        vectors = np.stack([vector_of[group.words[i]] for i in order])
        numbers, placed = cluster_vectors(vectors, self.seed)
        back = sorted(range(len(order)), key=order.__getitem__)
        return Placing([numbers[at] for at in back], [placed[at] for at in back])

    def _added(
        self, group: Group, known: pl.DataFrame, of: str, vector_of: Mapping[str, Vectors]
    ) -> list[tuple[str, str]]:
        """Title of the nearest cluster that is there."""
        titles = sorted(known[self.name].unique())
        vectors = np.stack([vector_of[words] for words in _said(group, known[of].to_list())])
        numbers = [titles.index(title) for title in known[self.name]]
        found = nearest(vectors[known.height :], vectors[: known.height], numbers)
        return [(titles[number], ADDED) for number in found]

    def _titles(
        self, parts: Sequence[tuple[Group, Sequence[int]]], ask: Asking
    ) -> tuple[list[dict[int, str]], list[str]]:
        """What the clusters of each group are called, and why a model titled some not."""
        lists = []
        for group, numbers in parts:
            members: dict[int, list[str]] = {}
            for number, words in sorted(zip(numbers, group.words, strict=True)):
                members.setdefault(number, []).append(words)
            lists.append(Titled(group.name or "prompts", group.specifier, members))
        if self.titler is None:
            return [word_titles(one) for one in lists], []
        return asked_titles(self.titler, lists, ask)

    def _told_titles(self, lacking: Sequence[str]) -> list[str]:
        """Who titled the clusters, and why some were titled by their words."""
        if self.titler is None:
            return []
        reasons = "; ".join(f"{n:,} × {reason}" for reason, n in Counter(lacking).most_common(3))
        left = f", but for {len(lacking):,} by their words ({reasons})" if lacking else ""
        return [f"{self.written}: titles by {self.titler.name}{left}"]


def _said(group: Group, there: Sequence[str]) -> list[str]:
    """The words that tell texts apart, of those that have a cluster and of a group's."""
    texts = [*there, *group.texts]
    said = told_words(texts)
    return [said[text] for text in texts]


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


def _unplaced(kept: pl.DataFrame | None, name: str) -> pl.DataFrame | None:
    """A file without what is said of how a row came to a cluster where somebody took that out."""
    if kept is None or PLACED not in kept.columns:
        return kept
    return kept.with_columns(pl.when(pl.col(name).is_not_null()).then(PLACED).alias(PLACED))


def _stored(kept: pl.DataFrame | None, columns: Sequence[str]) -> pl.DataFrame:
    """The rows of a file that are whole, with the columns of ours."""
    *needed, placed = columns
    if kept is None:
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
    encoder = sentence_encoder(options.encoder, context)
    titler = None if options.titles is None else text_asker(options.titles, "titles", context.account)
    return Clusters(context, options, encoder, titler)
