"""Make text from models, files and prompts inert, one function for each place it is written to.

A prompt, a label or a file name is data: it may hold markup, formulas, LaTeX commands, terminal
escapes or characters that turn the reading direction. Every function here takes such a text and
returns one that reads the same to a person and does nothing where it is put.
"""

import json
import re
from typing import Any

from markupsafe import Markup
from markupsafe import escape as _markup_escape

LONGEST_TEXT = 300
"""Characters of one text that are shown; the rest is counted, not printed."""
SENTENCE = 1_200
"""As :data:`LONGEST_TEXT`, of a sentence of ours, in which texts of others are cut already."""

_BIDI_AND_INVISIBLE = "\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff"
_HIDDEN = re.compile(
    f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_BIDI_AND_INVISIBLE}\ud800-\udfff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
_SPACES = re.compile(r"[\t\n]+")
_JOINERS = str.maketrans("", "", "\u200c\u200d")
"""Invisible, and part of how words are spelt in Persian, in the scripts of India and in emoji."""
_WITHIN_WORDS = re.compile("[\u00ad\u180e\u200b\u2060-\u2065\ufeff\U000e0000-\U000e007f]")
"""Invisible, and of no meaning: soft hyphen, zero-width space, word joiner, byte order mark, tags."""
_TURNING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufff9-\ufffb]"
)
"""What moves the cursor, ends a line, turns the direction, or is half a character."""
_LATEX_NAMES = {
    "\\": "backslash", "^": "asciicircum", "~": "asciitilde", "<": "less", ">": "greater", "|": "bar",
    '"': "quotedbl", "`": "asciigrave",
}  # fmt: skip
_LATEX = {
    **{sign: f"\\{sign}" for sign in "{}$&#%_"},
    **{sign: f"{{{sign}}}" for sign in "[]*"},
    **{sign: rf"\text{name}{{}}" for sign, name in _LATEX_NAMES.items()},
    "−": r"$-$",
    "\u202f": r"\,",
}
_MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+\-.!|~$])")


def _name(match: re.Match[str]) -> str:
    return f"‹U+{ord(match.group()):04X}›"  # in signs that every font has


def visible(text: str) -> str:
    """Write control, direction and invisible characters as signs one can see; keep tab and newline."""
    return _HIDDEN.sub(_name, text)


def visible_line(text: str) -> str:
    """As :func:`visible`, with tab and newline as signs too: whatever a name holds, its line stays one.

    >>> visible_line("labels\\n.csv")
    'labels‹U+000A›.csv'
    """
    return re.sub(r"[\t\n]", _name, visible(text))


def plain_line(text: str) -> str:
    """Text in one line that does nothing: without controls and direction marks, a blank where one stood.

    What is invisible within words is left out without a blank, but for the joiners that spell them.

    >>> plain_line(" a wo\\u00adman\\n\\u202ewho  smiles"), plain_line("\\u200d")
    ('a woman who smiles', '')
    """
    words = _TURNING.sub(" ", _WITHIN_WORDS.sub("", text)).split()
    return " ".join(word for word in words if word.translate(_JOINERS))


def is_plain_line(text: str) -> bool:
    """Whether nothing but blanks would become one in :func:`plain_line`, and no line ends in it."""
    return "\n" not in text.strip() and not _TURNING.search(" ".join(text.split()))


def is_printable(text: str) -> bool:
    """Whether every character shows, or joins those beside it."""
    return text.translate(_JOINERS).isprintable()


def ellipsis(text: str, longest: int = LONGEST_TEXT) -> str:
    """Cut a long text and say how long it was."""
    if len(text) <= longest:
        return text
    thousands = f"{len(text):,}".replace(",", "\u202f")
    return f"{text[:longest].rstrip()} … ({thousands} characters)"


def cut_short(text: str, longest: int) -> str:
    """Cut a long text to so many signs, the last an ellipsis."""
    return text if len(text) <= longest else f"{text[: longest - 1].rstrip()}…"


def html(text: object, longest: int = LONGEST_TEXT) -> Markup:
    """Text for an HTML element or a quoted attribute."""
    return _markup_escape(visible(ellipsis(str(text), longest)))


def csv(text: str) -> str:
    """Text for a CSV cell: a spreadsheet takes it for text, not for a formula.

    Cells that begin with ``= + - @``, a tab or a carriage return (also in full-width form) get an
    apostrophe in front. Numbers do not pass through here.
    """
    guarded = f"'{text}" if text[:1] in tuple("=+-@\t\r\n＝＋－＠") and text else text
    return visible(guarded)


def latex(text: str, longest: int = LONGEST_TEXT) -> str:
    """Text for the body of a LaTeX table cell.

    Brackets and stars stand in braces: what follows the end of a line, or a rule, could be its argument.
    """
    flat = _SPACES.sub(" ", visible(ellipsis(text, longest)))
    return "".join(_LATEX.get(sign, sign) for sign in flat).replace("--", "-{}-").replace("--", "-{}-")


def markdown(text: str, longest: int = LONGEST_TEXT) -> str:
    """Text for a Markdown table cell: no markup, no link, no column break."""
    flat = _SPACES.sub(" ", visible(ellipsis(text, longest)))
    entities = flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKDOWN.sub(r"\\\1", entities).replace("://", "&#58;//").replace("@", "&#64;")


def terminal(text: str, longest: int = LONGEST_TEXT) -> str:
    """Text for a terminal: one line, without escapes. It is no rich markup: give it to ``rich.text.Text``."""
    return _SPACES.sub(" ", visible(ellipsis(text, longest)))


def json_script(data: Any) -> Markup:
    """JSON for a ``<script type="application/json">``: nothing in it can end the element."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # every sign that HTML reads is now a JSON escape
