"""What the loopback server puts into its pictures: values by a bias that is written down, and the drawing."""

import hashlib
import io
import json
import re
import struct
import threading
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from stereotrope.errors import UsageError
from stereotrope.generate.calibrated.chance import pick
from stereotrope.shipped import shipped

SIGNATURE = b"\x89PNG\r\n\x1a\n"
LARGEST = 2048
"""Pixels: side of the largest picture."""
LONGEST_RECORD = 1 << 20
WEAKEST, STRONGEST = 0.2, 0.8
CORE, DARK = 0.82, 80
"""Where the rim begins, of the way from the middle out; mean level below which a colour is dark."""


def planted_figures() -> dict[str, Any]:
    """Return the planted figures of ``plant.yaml``."""
    return dict(shipped("testing", "plant.yaml"))


class Plant:
    """The default painter: draws small PNG pictures whose values it knows.

    A picture is a function of (seed of the plant, model, prompt, number): the same in every process. Its
    values are drawn independently, attribute by attribute, from ::

        share(value) = (1 − s)·base(value) + s·favoured(value)

    ``base`` and the values that a cue favours are in ``testing/plant.yaml``; several cues of one prompt
    share s alike; without a cue s = 0. s = strength(model, subject)·Π wordings, at most 0.95, where the
    subject is what the prompt says before its first comma without the cue, and strength is one number in
    [0.2, 0.8] for each model and subject. An attribute that is not in the file has the shares
    1, 1/2, 1/3 … (normalised) over its values in an order of its own, and every cue favours one value.

    The picture carries (model, prompt, number) in the lowest bits of its pixels, with a hash of the seed, so
    that a server with the same seed knows pictures which another process drew; too long a prompt is left out.

    seed: Whole number; another one plants other values and other strengths.
    size: Side of the square pictures in pixels, 16 to 2048.
    """

    def __init__(self, seed: int = 0, *, size: int = 64) -> None:
        if type(size) is not int or not 16 <= size <= LARGEST:
            raise UsageError(
                f"plant: size must be a whole number from 16 to 2048, found {size!r}; correct it"
            )
        self.seed, self.size = seed, size
        self._mark = hashlib.sha256(f"stereotrope plant {seed}".encode()).digest()[:8]
        self._drawn: dict[str, tuple[str, str, int]] = {}
        self._lock = threading.Lock()
        self._shares = lru_cache(maxsize=8192)(self._compute_shares)

    def __call__(self, model: str, prompt: str, number: int, size: str | None = None) -> bytes:
        """Draw one picture and remember it; ``size``, what the request asked for, has no effect."""
        values = self.values(model, prompt, number)
        rng = np.random.default_rng(int(self._unit("pose", model, prompt, number) * 2**53))
        data = png(_write(_paint(values, self.size, rng), self._mark, (model, prompt, number)))
        with self._lock:
            self._drawn[hashlib.sha256(data).hexdigest()] = (model, prompt, number)
        return data

    def cues(self, prompt: str) -> tuple[str, ...]:
        """Names of the cues that a prompt names, in the order of the file."""
        cues = planted_figures()["cues"].items()
        return tuple(
            name for name, cue in cues if any(_named(phrase).search(prompt) for phrase in cue["phrases"])
        )

    def strength(self, model: str, prompt: str) -> float:
        """How strongly the cues of a prompt act on a model: s of the class, 0 without a cue."""
        if not self.cues(prompt):
            return 0.0
        subject = re.split(r",| for | targeted at | designed ", prompt, maxsplit=1)[0].strip().lower()
        unit = self._unit("strength", model, subject)
        strength = WEAKEST + (STRONGEST - WEAKEST) * unit
        for wording, factor in planted_figures()["wordings"].items():
            if _named(wording).search(prompt):
                strength *= factor
        return min(strength, 0.95)

    def shares(self, model: str, prompt: str) -> dict[str, dict[str, float]]:
        """Return the planted truth of a prompt in closed form: attribute → value → share."""
        return {name: dict(shares) for name, shares in self._shares(model, prompt).items()}

    def _compute_shares(self, model: str, prompt: str) -> dict[str, dict[str, float]]:
        return {name: self.share_of(model, prompt, name) for name in planted_figures()["attributes"]}

    def share_of(
        self, model: str, prompt: str, attribute: str, values: Sequence[str] = ()
    ) -> dict[str, float]:
        """Return the planted shares of one attribute, also of one that the file does not know.

        values: What it may be, where the file does not know it; their order has no effect.
        """
        known = planted_figures()["attributes"].get(attribute)
        if known is not None:
            base = dict(known["base"])
            favoured = [planted_figures()["cues"][cue]["favours"].get(attribute) for cue in self.cues(prompt)]
        else:
            ordered = sorted(set(values), key=lambda value: self._unit("order", attribute, value))
            base = {value: 1.0 / rank for rank, value in enumerate(ordered, 1)}
            base = {value: share / sum(base.values()) for value, share in base.items()}
            favoured = [
                ordered[int(self._unit("favours", attribute, cue) * len(ordered))]
                for cue in self.cues(prompt)
                if ordered
            ]
        strength = self.strength(model, prompt) / max(len(favoured), 1)
        pulls = [value for value in favoured if value]
        shares = {value: share * (1 - strength * len(pulls)) for value, share in base.items()}
        for value in pulls:
            shares[value] = shares.get(value, 0.0) + strength
        return shares

    def values(self, model: str, prompt: str, number: int) -> dict[str, str]:
        """Attribute → value planted in the picture of this model, prompt and number."""
        return {
            name: pick(shares, self._unit(name, model, prompt, number))
            for name, shares in self._shares(model, prompt).items()
        }

    def values_of(self, sha256: str) -> dict[str, str] | None:
        """Attribute → value of a picture that this plant has drawn, None of any other."""
        drawn = self._drawn.get(sha256)
        return self.values(*drawn) if drawn is not None else None

    def drawn_for(self, data: bytes) -> tuple[str, str, int] | None:
        """Model, prompt and number of a picture that this plant, or one of its seed, has drawn."""
        return self._drawn[hashlib.sha256(data).hexdigest()] if self.learn(data) else None

    def value_of(self, sha256: str, attribute: str, options: Sequence[str]) -> str | None:
        """Value of one attribute of a picture, None where the picture is not known."""
        if (drawn := self._drawn.get(sha256)) is None:
            return None
        shares = self.share_of(*drawn[:2], attribute, options)
        return pick(shares, self._unit(attribute, *drawn)) if shares else None

    def learn(self, data: bytes) -> bool:
        """Take in a picture which this plant may have drawn in another process; whether it knows it now."""
        sha256 = hashlib.sha256(data).hexdigest()
        if sha256 not in self._drawn:
            drawn = _read(data, self._mark)
            if drawn is not None:
                with self._lock:
                    self._drawn[sha256] = drawn
        return sha256 in self._drawn

    def _unit(self, *parts: object) -> float:
        return uniform(self.seed, *parts)


def uniform(*parts: object) -> float:
    """A number in [0, 1) that depends on what it is for, and on nothing else."""
    text = "\0".join(map(str, parts)).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.sha256(text).digest()[:7], "big") / 2**56


@cache
def _named(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)", re.IGNORECASE)


@cache
def _grid(size: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    axis = np.linspace(-1, 1, size, dtype=np.float32)
    return axis[None, :], axis[:, None]


_WIDTH_HEIGHT = {"rounded": (0.55, 0.55), "boxy": (0.6, 0.45), "tapered": (0.5, 0.6), "slender": (0.3, 0.7)}


def _paint(values: Mapping[str, str], size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    """A shape with a rim, on a background whose mottling differs from picture to picture."""
    colours = planted_figures()["colours"]
    mottle = rng.integers(-7, 8, (8, 8), dtype=np.int16)
    cell = -(-size // 8)
    mottle = np.repeat(np.repeat(mottle, cell, 0), cell, 1)[:size, :size]
    pixels = np.empty((size, size, 3), dtype=np.int16)
    pixels[:] = colours[values["background_colour"]]
    pixels += mottle[:, :, None]
    x, y = _grid(size)
    dx, dy = rng.uniform(-0.15, 0.15, 2)
    width, height = _WIDTH_HEIGHT.get(values["silhouette"], (0.5, 0.5))
    across, along = np.abs(x - dx) / width, np.abs(y - dy) / height
    power = 6 if values["silhouette"] == "boxy" else 2
    out = across**power + along**power
    colour = np.array(colours[values["product_colour"]], dtype=np.int16)
    # A rim, lighter or darker: a thing of its background's colour would leave a picture with nothing on it.
    pixels[out < 1] = colour // 2 if colour.mean() > DARK else colour + DARK
    pixels[out < CORE**power] = colour
    line = max(1, size // 32)
    if values["text_presence"] == "present":
        pixels[size // 2 : size // 2 + line, size // 3 : -size // 3 : 2] = 128
    if values["background_text_presence"] == "present":
        pixels[line : 2 * line, line:-line:2] = 64
    return np.clip(pixels, 0, 255).astype(np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Write an 8-bit RGB picture, shape (height, width, 3), as PNG."""
    height, width = pixels.shape[:2]
    rows = np.zeros((height, 1 + width * 3), dtype=np.uint8)
    rows[:, 1:] = pixels.reshape(height, width * 3)
    chunks = (
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", zlib.compress(rows.tobytes(), 1)),
        (b"IEND", b""),
    )
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in chunks
    )


def _write(pixels: NDArray[np.uint8], mark: bytes, drawn: tuple[str, str, int]) -> NDArray[np.uint8]:
    """Put a record, or where it is too long its hash, into the lowest bits of the pixels."""
    text = json.dumps(drawn).encode()
    body = zlib.compress(text)
    whole = mark + struct.pack(">H", min(len(body), 0xFFFF)) + body
    if len(whole) * 8 > pixels.size or len(body) > 0xFFFF:
        whole = b"\0\0" + hashlib.sha256(text).digest()
    bits = np.unpackbits(np.frombuffer(whole, dtype=np.uint8))
    flat = pixels.reshape(-1)
    flat[: bits.size] = (flat[: bits.size] & 0xFE) | bits
    return pixels


def _read(data: bytes, mark: bytes) -> tuple[str, str, int] | None:
    """The record in the pixels of one of our pictures, None of any other bytes."""
    if not data.startswith(SIGNATURE) or data[24:26] != b"\x08\x02":
        return None
    width, height = struct.unpack(">II", data[16:24])
    if max(width, height) > LARGEST:
        return None
    try:
        with Image.open(io.BytesIO(data), formats=["PNG"]) as image:
            flat = np.asarray(image).reshape(-1)
        head = np.packbits(flat[:80] & 1).tobytes()
        if head[:8] != mark:
            return None
        end = 80 + 8 * int.from_bytes(head[8:], "big")
        body = np.packbits(flat[80:end] & 1).tobytes()
        model, prompt, number = json.loads(zlib.decompressobj().decompress(body, LONGEST_RECORD))
    except (OSError, SyntaxError, ValueError, TypeError, zlib.error):
        return None
    fits = isinstance(model, str) and isinstance(prompt, str) and type(number) is int
    return (model, prompt, number) if fits else None
