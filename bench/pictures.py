"""What a picture and a question cost.

Colours beside the plain code that they were read with first, and beside decoding alone; near duplicates of
one prompt beside all held against all; a picture of a folder beside reading, hashing, decoding and writing
it; a question about a picture, with its account in a ledger, beside the bare request over loopback.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import httpx2
import numpy as np
from numpy.typing import NDArray
from PIL import Image
from tests.annotate import slow_colour

from bench.rows import Found, Row, in_turns
from stereotrope.annotate import ColourAnnotator, Picture
from stereotrope.annotate.duplicates import MAX_DISTANCE, close_pairs
from stereotrope.audit.drawing import stored_image
from stereotrope.clients import Account, ChatClient, Endpoint
from stereotrope.generate import CalibratedGenerator, FolderGenerator, ImageRequest, image_requests
from stereotrope.run import Ledger
from stereotrope.run.store import PictureStore

PICTURES, SIDE, QUESTIONS, AT_ONCE = 20, 512, 100, 8
NEAR = (10_000, 100_000)
ALL_PAIRS = 10_000
"""Up to so many pictures all are held against all."""
_SCHEMA = {
    "type": "object",
    "properties": {"colour": {"type": "string", "enum": ["red", "blue", "unclear"]}},
    "required": ["colour"],
    "additionalProperties": False,
}
_TEXT = "What colour is the product?"


def drawn() -> list[bytes]:
    """Calibrated pictures of cups, cars, clocks and sofas."""
    generator = CalibratedGenerator(size=SIDE)
    texts = [f"{thing}, one product only, no people" for thing in ("cup", "car", "clock", "sofa")]
    asked = [ImageRequest("i", "p", "c", texts[n % 4], None, n, {}, None) for n in range(PICTURES)]
    return [made.data for made in map(generator.process, asked) if made.data is not None]


def colours(pictures: list[bytes]) -> Row:
    """Both colours of each picture, from its bytes."""
    annotator = ColourAnnotator()

    def seen() -> Iterator[Picture]:
        return (Picture("i", "0" * 64, data) for data in pictures)

    return in_turns(
        f"colour, {SIDE} px",
        len(pictures),
        ours=lambda: [annotator.process(picture) for picture in seen()],
        reference=lambda: [slow_colour.colours(picture) for picture in seen()],
        limit=lambda: [picture.pixels(160) for picture in seen()],
    )


def near_duplicates(n: int, rng: np.random.Generator) -> Row:
    """Hashes of one prompt, a fifth of them copies with up to three bits turned."""
    words = rng.integers(0, 2**64, n, dtype=np.uint64)
    of, to = rng.integers(0, n, (2, n // 5))
    turned = np.bitwise_or.reduce(np.uint64(1) << rng.integers(0, 64, (3, n // 5)).astype(np.uint64))
    words[to] = words[of] ^ turned
    few = n <= ALL_PAIRS
    return in_turns(
        "near duplicates of one prompt",
        n,
        ours=lambda: list(close_pairs(words)),
        reference=(lambda: all_against_all(words)) if few else None,
        limit=lambda: np.unique(words),
        rounds=3,
    )


def all_against_all(words: NDArray[np.uint64]) -> list[tuple[int, int]]:
    """Each word against all earlier originals at once."""
    found, originals, n = [], np.empty_like(words), 0
    for at, word in enumerate(words):
        near = np.flatnonzero(np.bitwise_count(originals[:n] ^ word) <= MAX_DISTANCE)
        if near.size:
            found.append((at, int(near[0])))
        else:
            originals[n] = word
            n += 1
    return found


def folder(pictures: list[bytes], into: Path) -> Row:
    """Each picture of a folder, taken and kept; what is kept is removed before each round."""
    listed = into / "listed"
    listed.mkdir()
    names = [f"{n}.jpg" for n in range(len(pictures))]
    for name, data in zip(names, pictures, strict=True):
        (listed / name).write_bytes(data)
    (listed / "metadata.csv").write_text("file_name\n" + "\n".join(names))
    generator = FolderGenerator(listed)
    asked = list(image_requests(generator.requests()[1]))
    kept_in, plain = into / "run", into / "plain"
    kept_in.mkdir()
    plain.mkdir()
    run: Any = SimpleNamespace(store=PictureStore(kept_in))

    def emptied(kept: Path) -> Path:
        for file in [path for path in kept.rglob("*") if path.is_file()]:
            file.unlink()
        return kept

    def ours() -> None:
        emptied(run.store.root)
        for request in asked:
            stored_image(run, request.image_id, request, generator.process(request))

    def limit() -> None:
        kept = emptied(plain)
        for name in names:
            data = (listed / name).read_bytes()
            Image.open(io.BytesIO(data)).load()
            with (kept / hashlib.sha256(data).hexdigest()).open("wb") as file:
                file.write(data)
                os.fsync(file.fileno())

    return in_turns(f"pictures of a folder, {SIDE} px", len(pictures), ours=ours, limit=limit)


def questions(picture: bytes, into: Path) -> Row:
    """Questions about a picture to a server in another process, some at a time."""
    serve = [sys.executable, "-m", "stereotrope.testing"]
    with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None, "it was asked for"
            options = {"base_url": server.stdout.readline().strip(), "key": None, "concurrency": AT_ONCE}
            endpoint, _ = Endpoint.from_options("openai", options)
            with Ledger(into / "ledger.db") as ledger:
                return in_turns(
                    "questions about a picture, with ledger",
                    QUESTIONS,
                    ours=lambda: asyncio.run(_asked(endpoint, picture, ledger)),
                    limit=lambda: asyncio.run(_posted(endpoint.base_url, picture)),
                )
        finally:
            server.terminate()


async def _asked(endpoint: Endpoint, picture: bytes, ledger: Ledger) -> None:
    account = Account()
    account.attach(ledger)
    client = ChatClient(endpoint, "judge", account=account)
    await _some_at_a_time(lambda: client.ask(_TEXT, images=[picture], schema=_SCHEMA))
    await client.close()


async def _posted(address: str, picture: bytes) -> None:
    async with httpx2.AsyncClient(timeout=60) as client:

        async def post() -> None:
            url = f"data:image/jpeg;base64,{base64.b64encode(picture).decode()}"
            content = [{"type": "text", "text": _TEXT}, {"type": "image_url", "image_url": {"url": url}}]
            shape = {"name": "answer", "schema": _SCHEMA, "strict": True}
            body = {
                "model": "judge",
                "messages": [{"role": "user", "content": content}],
                "response_format": {"type": "json_schema", "json_schema": shape},
            }
            reply = await client.post(f"{address}/chat/completions", json=body)
            json.loads(reply.json()["choices"][0]["message"]["content"])

        await _some_at_a_time(post)


async def _some_at_a_time(ask: Callable[[], Awaitable[Any]]) -> None:
    left = iter(range(QUESTIONS))

    async def lane() -> None:
        for _ in left:
            await ask()

    await asyncio.gather(*(lane() for _ in range(AT_ONCE)))


def bench() -> Found:
    """Rows of pictures and of questions."""
    rng, pictures = np.random.default_rng(0), drawn()
    with TemporaryDirectory() as into:
        rows = [colours(pictures), *(near_duplicates(n, rng) for n in NEAR)]
        return [*rows, folder(pictures, Path(into)), questions(pictures[0], Path(into))], []
