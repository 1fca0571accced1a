"""Captions in which a lexicon finds no group, read again by another one."""

import numpy as np
import polars as pl
from numpy.typing import NDArray

from stereotrope.lexicon.evidence import place
from stereotrope.lexicon.model import Lexicon, Reading
from stereotrope.tables import UNKNOWN


class Rereading:
    """The captions without a group, read again by another lexicon."""

    def __init__(self, reading: Reading, lexicon: Lexicon) -> None:
        shared = [name for name in lexicon.attributes if name in reading.lexicon.attributes]
        wanted = np.zeros(len(reading.captions), dtype=bool)
        for name in shared:
            wanted |= (reading.framed[name] == UNKNOWN).fill_null(value=False).to_numpy()
        self._rows = np.flatnonzero(wanted)
        keep = [name for name in ("caption", reading.prompt) if name in reading.captions.columns]
        again = reading.captions.select(keep)
        if lexicon.prompts and reading.prompt not in keep:
            again = again.with_columns(pl.lit(None, pl.String).alias(reading.prompt))
        self._reading = Reading(lexicon, again[self._rows.tolist()], reading.prompt) if shared else None
        self._shared = set(shared)

    def groups(self, name: str, captions: NDArray[np.int64]) -> list[tuple[int, str, dict[str, int]]] | None:
        """Which captions are given a group, which one, and where it stands; None without the attribute."""
        if self._reading is None or name not in self._shared:
            return None
        values = self._reading.framed[name].to_list()
        terms = self._reading.lexicon.terms
        own = np.array([(e.attribute, e.prompt) == (name, None) for e in terms], dtype=bool)
        matches = self._reading.matches
        first: dict[int, int] = {}
        for hit in np.flatnonzero(own[matches.term]).tolist():
            first.setdefault(int(matches.caption[hit]), hit)
        rows = np.searchsorted(self._rows, captions)
        found = []
        for caption, row in zip(captions.tolist(), rows.tolist(), strict=True):
            if values[row] not in (None, UNKNOWN):
                found.append((caption, values[row], place(matches, first[row]) | {"caption": caption}))
        return found
