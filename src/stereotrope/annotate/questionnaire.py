"""Questions about a picture in words: what is asked, and in which order its options are offered."""

import copy
import json
from collections.abc import Mapping
from string import ascii_uppercase
from typing import Any, Literal, Self, get_args

from stereotrope.annotate.answers import by_letter
from stereotrope.annotate.attributes import UNCLEAR, check_attributes
from stereotrope.annotate.contract import Annotator
from stereotrope.annotate.label import Attributes
from stereotrope.annotate.protocol import ORDERS, filled, permuted, question_wording
from stereotrope.errors import UsageError

MAX_SIDE_SENT = 1024
"""Longest side in pixels at which a picture is shown to a model, unless asked otherwise."""
Variant = Literal["reversed", "blind"]
_PROMPT = "{prompt}"
"""Stands in a meaning for what the picture was asked for."""


class Questionnaire(Annotator):
    """Attributes that a model is asked for in words, the options of each picture in an order of its own.

    kind: Of its wording, in ``questions.yaml``.
    letters: Whether options stand behind letters, and the answer is one: the options turn, the letters stay.
    meanings: Attribute → what it means, beside those of the wording; ``{prompt}`` in it is what the picture
        was asked for.
    forced: Attributes that are asked without ``unclear``.
    order_seed: Chooses the orders.
    max_side: Longest side in pixels at which a picture is shown.
    product: What the pictures show, where the question names it.
    """

    name: str
    kind: str
    attributes: Attributes
    letters = False
    meanings: Mapping[str, str] = {}
    forced: frozenset[str] = frozenset()
    order_seed = 0
    max_side = MAX_SIDE_SENT
    product: str | None = None
    _variant: Variant | None = None

    @property
    def shows_prompt(self) -> bool:
        """Whether a question names what the picture was asked for."""
        return any(_PROMPT in self.meanings.get(name, "") for name in self.attributes)

    @property
    def is_blind(self) -> bool:
        """Whether it is not shown the picture."""
        return self._variant == "blind"

    @property
    def asked_how(self) -> dict[str, Any]:
        """What of the question decides an answer, beside the model and the wording of its kind."""
        return {
            "attributes": [[name, values] for name, values in self.attributes.items()],
            "order": [self.order_seed, ORDERS],
            "max_side": self.max_side,
            "subject": self.product,
            "variant": self._variant,
            **({"meanings": dict(self.meanings)} if self.meanings else {}),
            **({"forced": sorted(self.forced)} if self.forced else {}),
        }

    def checked(self, attributes: Attributes) -> Attributes:
        """Return attributes that can be asked for; raises :class:`UsageError` where one cannot."""
        try:
            known = check_attributes(attributes)
        except UsageError as error:
            raise UsageError(f"annotator {self.name!r}: attributes: {error}") from None
        for name, values in known.items():
            if self.letters and len(values or ()) >= len(ascii_uppercase):
                raise UsageError(
                    f"annotator {self.name!r}: attributes: {name!r}: has {len(values)} values, and letters "
                    f"are enough for {len(ascii_uppercase) - 1} beside {UNCLEAR!r}; leave `letters:` out"
                )
        return known

    def variant(self, which: Variant) -> Self:
        """Return this annotator for a check of itself.

        ``reversed`` offers the options of each picture in the reverse order; ``blind`` asks the same
        question without showing the picture. The name says so.

        Raises UsageError: Another word.
        """
        if which not in get_args(Variant):
            raise UsageError(
                f"annotator {self.name!r}: a variant must be {' or '.join(get_args(Variant))}, found "
                f"{which!r}; correct it"
            )
        made = copy.copy(self)
        made.name = f"{self.name} ({which})"
        made._variant = which
        made.__dict__.pop("fingerprint", None)  # where it was computed before
        return made

    def offered(self, sha256: str) -> dict[str, tuple[str, ...] | None]:
        """Return the options of each attribute as one picture's question offers them; None where open.

        ``unclear`` stands last, however the others are turned; behind letters it turns with them.
        """
        return {
            name: values and self._options(name, values, sha256) for name, values in self.attributes.items()
        }

    def _options(self, name: str, values: tuple[str, ...], sha256: str) -> tuple[str, ...]:
        more = () if name in self.forced else (UNCLEAR,)
        turned, last = (more, ()) if self.letters else ((), more)
        order = permuted((*values, *turned), seed=self.order_seed, sha256=sha256, attribute=name)
        return (*(order[::-1] if self._variant == "reversed" else order), *last)

    def text(self, offered: Mapping[str, tuple[str, ...] | None], prompt: str | None = None) -> str:
        """Return the question in words; ``prompt`` is what the picture was asked for."""
        wording = question_wording(self.kind)
        lines = [wording.opening(self.product), ""]
        for name, options in offered.items():
            meaning = self.meanings.get(name) or wording.texts["meanings"].get(name)
            if meaning and prompt is not None:
                meaning = filled(meaning, prompt=" ".join(prompt.split()))
            lines.append(
                filled(
                    wording.texts["open" if options is None else "closed"],
                    name=json_of(name),
                    meaning=f" ({meaning})" if meaning else "",
                    options=json_of(by_letter(options) if self.letters and options else options),
                )
            )
        return "\n".join([*lines, "", filled(wording.texts["closing"], keys=json_of(list(offered)))])

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}: {', '.join(self.attributes)}>"


def json_of(value: Any) -> str:
    """Write a value as JSON, letters of every script as they are."""
    return json.dumps(value, ensure_ascii=False)
