"""Headings of a table of captions: what a column is, whatever it is called."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from stereotrope.shipped import shipped

ROLES: Mapping[str, tuple[str, ...]] = {
    role: tuple(names) for role, names in shipped("inputs.captions", "headings.yaml").items()
}
"""Headings taken for each role, as :func:`plain_heading` has them; of several in a file the first listed."""

LONG = 40
"""Characters from which a text reads like a caption and not like a name."""
_MOST_WORDS = 4
"""Words of a heading; a text with more may be a caption that is about one."""
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff\u00ad]")
_SIGNS = re.compile(r"[\W_]+")
_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_NUMBERED = re.compile(r"^(?P<stem>.*?[^\W\d_].*?)[\W_]*\d+$")
_EXTENSION = re.compile(r"\.(?:png|jpe?g|webp|gif|bmp|tiff?)$", re.IGNORECASE)


def clean_heading(heading: str) -> str:
    """Return a heading in normal form C, without what cannot be seen and without outer blanks."""
    return _INVISIBLE.sub("", unicodedata.normalize("NFC", heading)).strip()


def plain_heading(heading: str) -> str:
    """Return a heading as names are compared: lower case, one underscore for all that is no letter or digit.

    >>> plain_heading(" Image\u00a0Description "), plain_heading("FileName"), plain_heading("image-name:")
    ('image_description', 'file_name', 'image_name')
    """
    return _SIGNS.sub("_", _CASE.sub("_", clean_heading(heading)).casefold()).strip("_")


def named_roles(headings: Sequence[str]) -> dict[str, int]:
    """Return role → place of the heading that names it."""
    bare = [plain_heading(heading) for heading in headings]
    found = {
        role: next(bare.index(name) for name in names if name in bare)
        for role, names in ROLES.items()
        if any(name in bare for name in names)
    }
    for word in ("caption", "description"):
        likely = [
            at
            for at, parts in enumerate(name.split("_") for name in bare)
            if word in parts and len(parts) <= _MOST_WORDS and at not in found.values()
        ]
        if "caption" not in found and len(likely) == 1:
            found["caption"] = likely[0]
    return found


def is_header_row(image: str, caption: str) -> bool:
    """Say whether a row names columns: by its image, or a caption that is such names run together."""
    named = plain_heading(image) in ROLES["image"] and not re.search(r"\s", caption.strip())
    run_together = re.fullmatch(r"[a-z]+(_[a-z]+){3,}", caption.casefold()) is not None
    return named or run_together or plain_heading(caption) in ROLES["caption"]


def looks_like_image(text: str) -> bool:
    """Say whether a text looks like the name of a picture: by its ending, or a short name with a number."""
    return bool(_EXTENSION.search(text)) or (len(text) < LONG and _NUMBERED.match(text) is not None)


def numbered_stem(image: str | None) -> str | None:
    """Return what the numbered names of a series share, None where a name has no number."""
    found = _NUMBERED.match(_EXTENSION.sub("", (image or "").replace("\\", "/").rsplit("/", 1)[-1]))
    return found["stem"] if found else None
