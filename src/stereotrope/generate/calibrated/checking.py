"""Reads a truth file; a mistake in it gets one message with file, key, rule, what was found, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast, get_args

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from stereotrope.errors import InputError, did_you_mean
from stereotrope.generate.calibrated.entries import (
    ATTRIBUTES,
    BACKGROUND_TEXT,
    PRESENCE,
    RGB,
    SHAPE,
    TEXT,
    Cue,
    CueWording,
    PlantedShares,
    Swatch,
    Toward,
    TruthEntry,
)
from stereotrope.generate.calibrated.products import PRODUCTS

FORMAT = 1
_TOP = ("format", "colours", "words", "cues", "wordings", "objects")
_TOLERANCE = 1e-6


def parse(source: str | Path, name: str) -> tuple[Any, dict[str, Any]]:
    """Content of a truth file (a text, or the file's path) as read, and its checked parts."""
    reader = _Reader(name)
    raw = reader.load(source)
    return raw, reader.parts(raw)


def nearest(name: object, known: Iterable[str]) -> str:
    """A phrase that names the nearest known word, or nothing."""
    question = did_you_mean(name, known)
    return f" ({question})" if question else ""


class _Reader:
    """One file being read; every complaint begins with its name and the key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.colours: tuple[str, ...] = ()

    def fail(self, key: str, rule: str, found: object, fix: str) -> InputError:
        where = f"{self.name}: {key}" if key else self.name
        return InputError(f"{where}: {rule}, found {found}; {fix}")

    def load(self, source: str | Path) -> Any:
        try:
            text = source.read_text(encoding="utf-8") if isinstance(source, Path) else source
        except (OSError, UnicodeDecodeError) as error:
            found = error.strerror if isinstance(error, OSError) else error
            raise self.fail("", "the truth file must be readable text", found, "check its path") from None
        try:
            return YAML(typ="safe", pure=True).load(text)
        except YAMLError as error:
            first = " ".join(str(error).split())
            raise self.fail("", "the truth file must be YAML", first, "correct that line") from None

    def parts(self, raw: Any) -> dict[str, Any]:
        top = self.mapping("", raw, _TOP, required=("format", "colours", "words", "objects"))
        if top["format"] != FORMAT:
            raise self.fail("format", f"must be {FORMAT}", repr(top["format"]), f"write format: {FORMAT}")
        colours = {
            k: self.swatch(f"colours.{k}", v) for k, v in self.mapping("colours", top["colours"]).items()
        }
        self.colours = tuple(colours)
        words = self.mapping(
            "words", top["words"], ("product", "background"), required=("product", "background")
        )
        cues = {k: self.cue(f"cues.{k}", v) for k, v in self.mapping("cues", top.get("cues") or {}).items()}
        wordings = self.mapping("wordings", top.get("wordings") or {})
        objects = self.mapping("objects", top["objects"], tuple(PRODUCTS))
        if not objects:
            raise self.fail(
                "objects", "must name at least one object", "none", f"add one of {', '.join(PRODUCTS)}"
            )
        return {
            "colours": colours,
            "words": {k: self.texts(f"words.{k}", v) for k, v in words.items()},
            "cues": cues,
            "wordings": {k: self.wording(f"wordings.{k}", v) for k, v in wordings.items()},
            "objects": {k: self.entry(k, v, tuple(cues)) for k, v in objects.items()},
        }

    def mapping(
        self, key: str, value: Any, known: tuple[str, ...] = (), *, required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        if not isinstance(value, Mapping):
            raise self.fail(key, "must be a mapping", repr(value), "write it as `key: value` lines")
        for name in value:
            if not isinstance(name, str):
                raise self.fail(key, "keys must be texts", repr(name), "put it in quotes")
            if known and name not in known:
                raise self.fail(
                    key,
                    "holds an unknown key",
                    f"{name!r}{nearest(name, known)}",
                    f"known: {', '.join(known)}",
                )
        for name in required:
            if name not in value:
                raise self.fail(key, f"needs the key {name!r}", ", ".join(value) or "nothing", "add it")
        return dict(value)

    def texts(self, key: str, value: Any) -> tuple[str, ...]:
        texts = value if isinstance(value, list) else None
        if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
            raise self.fail(key, "must be a list of texts", repr(value), "write it as [one, two]")
        return tuple(texts)

    def share(self, key: str, value: Any) -> float:
        number = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
        if not number or not 0 <= value <= 1:
            raise self.fail(key, "must be a share between 0 and 1", repr(value), "correct it")
        return float(value)

    def swatch(self, key: str, value: Any) -> Swatch:
        both = self.mapping(key, value, ("product", "background"), required=("product", "background"))
        return Swatch(
            self.rgb(f"{key}.product", both["product"]), self.rgb(f"{key}.background", both["background"])
        )

    def rgb(self, key: str, value: Any) -> RGB:
        channels = value if isinstance(value, list) and len(value) == 3 else []
        if not channels or not all(type(c) is int and 0 <= c <= 255 for c in channels):
            raise self.fail(
                key, "must be three whole numbers from 0 to 255", repr(value), "write [200, 34, 40]"
            )
        return channels[0], channels[1], channels[2]

    def cue(self, key: str, value: Any) -> Cue:
        cue = self.mapping(key, value, ("phrases", "refuse"), required=("phrases",))
        return Cue(
            self.texts(f"{key}.phrases", cue["phrases"]), self.share(f"{key}.refuse", cue.get("refuse", 0))
        )

    def wording(self, key: str, value: Any) -> CueWording:
        known = ("phrases", "toward", "weight", "attributes")
        wording = self.mapping(key, value, known, required=known[:3])
        targets = get_args(Toward)
        if wording["toward"] not in targets:
            raise self.fail(
                f"{key}.toward", f"must be one of {', '.join(targets)}", repr(wording["toward"]), "choose one"
            )
        attributes: tuple[str, ...] = ()
        if "attributes" in wording:
            attributes = self.texts(f"{key}.attributes", wording["attributes"])
            for name in attributes:
                self.member(f"{key}.attributes", "attribute", name, ATTRIBUTES)
        return CueWording(
            self.texts(f"{key}.phrases", wording["phrases"]),
            cast(Toward, wording["toward"]),
            self.share(f"{key}.weight", wording["weight"]),
            attributes,
        )

    def entry(self, name: str, value: Any, cues: tuple[str, ...]) -> TruthEntry:
        key = f"objects.{name}"
        entry = self.mapping(key, value, ("words", "base", "cues", "safe"), required=("words", "base"))
        base = self.mapping(f"{key}.base", entry["base"], ATTRIBUTES, required=ATTRIBUTES)
        planted = self.mapping(f"{key}.cues", entry.get("cues") or {})
        safe = self.mapping(f"{key}.safe", entry.get("safe") or {}, ATTRIBUTES)
        shifts: dict[str, dict[str, PlantedShares]] = {}
        for cue, attributes in planted.items():
            self.member(f"{key}.cues", "cue", cue, cues)
            own = self.mapping(f"{key}.cues.{cue}", attributes, ATTRIBUTES)
            shifts[cue] = {a: self.shares(f"{key}.cues.{cue}.{a}", a, name, v) for a, v in own.items()}
        for attribute, safest in safe.items():
            self.member(f"{key}.safe.{attribute}", "value", safest, self.values(name, attribute))
        return TruthEntry(
            phrases=self.texts(f"{key}.words", entry["words"]),
            base={a: self.shares(f"{key}.base.{a}", a, name, base[a]) for a in ATTRIBUTES},
            cues=shifts,
            safe=safe,
        )

    def shares(self, key: str, attribute: str, name: str, value: Any) -> PlantedShares:
        known = self.values(name, attribute)
        shares: dict[str, float] = {}
        for option, share in self.mapping(key, value).items():
            self.member(key, "value", option, known)
            shares[option] = self.share(f"{key}.{option}", share)
        total = math.fsum(shares.values())
        if abs(total - 1) > _TOLERANCE:
            raise self.fail(key, "shares must sum to 1", f"{total:g}", "change them so that they do")
        return shares

    def values(self, name: str, attribute: str) -> tuple[str, ...]:
        if attribute == SHAPE:
            return tuple(PRODUCTS[name])
        return PRESENCE if attribute in (TEXT, BACKGROUND_TEXT) else self.colours

    def member(self, key: str, kind: str, name: object, known: tuple[str, ...]) -> None:
        if name not in known:
            listed = ", ".join(known) or "none"
            raise self.fail(
                key, f"must name a known {kind}", f"{name!r}{nearest(name, known)}", f"known: {listed}"
            )
