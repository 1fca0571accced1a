"""The wording of what model annotators are asked, from ``questions.yaml``."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from ruamel.yaml import YAML

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class QuestionWording:
    """The texts of one kind of question; ``data`` are all of them as bytes, for fingerprints."""

    version: int
    system: str
    texts: Mapping[str, Any]
    data: bytes

    def opening(self, subject: str | None, **more: str) -> str:
        """Return the first line, with or without the thing that the picture shows."""
        key = "opening" if subject else "opening_without_subject"
        return filled(self.texts[key], subject=subject or "", **more)


def filled(template: str, **values: str) -> str:
    """Fill ``{name}`` places once: what is filled in is never read as a template."""
    return _PLACE.sub(lambda found: values.get(found[1], found[0]), template)


@cache
def question_wording(kind: str) -> QuestionWording:
    """Return the wording of a kind of question: ``questions``, ``caption``, ``discovery`` …"""
    whole = resources.files("stereotrope.annotate").joinpath("questions.yaml").read_text(encoding="utf-8")
    data = YAML(typ="safe").load(whole)
    texts = data[kind]
    used = json.dumps([data["system"], texts], sort_keys=True, ensure_ascii=False).encode()
    return QuestionWording(data["version"], data["system"], texts, used)
