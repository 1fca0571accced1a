"""What a generator is, what it is asked for and what it answers."""

import hashlib
import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, get_args

import polars as pl

from stereotrope.clients import Account, Expectation
from stereotrope.errors import TableError
from stereotrope.inputs.columns import require_frame, require_row
from stereotrope.inputs.entries import Context, Entry, entries_of, read_entry
from stereotrope.inputs.scan import Only
from stereotrope.plugins import Registry, require_facts, require_result
from stereotrope.probe import ProbeReading
from stereotrope.tables import (
    IMAGES,
    PROMPTS,
    check_factors,
    factors_of,
    polars_types,
)

_AT_ONCE = 10_000
"""Requests that are objects at once where a frame is made of them."""


def request_id(
    fingerprint: str, text: str | None, negative: str | None, seed: int | None, params: Mapping[str, Any]
) -> str:
    """Key of a work item: the first 16 hex digits of SHA-256 over all that decides the picture."""
    content = json.dumps([fingerprint, text, negative, seed, dict(params)], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(content.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class ImageRequest:
    """One picture asked for.

    image_id: Key of the work item, by :func:`request_id`.
    prompt_id: Row of the ``prompts`` table.
    generator: Name of the text-to-image model.
    text, negative: What is sent; ``text`` is None where pictures made elsewhere came without it.
    seed: None where the generator takes none.
    params: Further parameters, JSON values.
    source: File it is taken from, relative to its folder; None where it is generated.
    absent: Whether it is known that there is no picture to look at.
    """

    image_id: str
    prompt_id: str
    generator: str
    text: str | None
    negative: str | None
    seed: int | None
    params: Mapping[str, Any] = field(default_factory=dict)
    source: str | None = None
    absent: bool = False


REQUESTS = {
    **dict.fromkeys(("image_id", "prompt_id", "generator", "text", "negative"), pl.String),
    "seed": pl.Int64,
    "params": pl.String,
    "source": pl.String,
    "absent": pl.Boolean,
}
"""Columns of a frame of requests: what an :class:`ImageRequest` says, ``params`` as JSON with sorted keys."""


def requests_frame(requests: Iterable[ImageRequest]) -> pl.DataFrame:
    """One row a request."""
    left, parts = iter(requests), [pl.DataFrame(schema=REQUESTS)]
    while some := list(itertools.islice(left, _AT_ONCE)):
        rows = [{**vars(r), "params": json.dumps(dict(r.params), sort_keys=True)} for r in some]
        parts.append(pl.DataFrame(rows, schema=REQUESTS))
    return pl.concat(parts)


def requests_of_each(
    fingerprint: str,
    generator: str,
    prompts: pl.DataFrame,
    takes: Sequence[tuple[int | None, Mapping[str, Any]]],
) -> pl.DataFrame:
    """One row a prompt and take: what :func:`requests_frame` makes of the requests, without an object each.

    prompts: ``prompt_id``, ``text`` and ``negative``.
    takes: Seed and parameters of each picture of a prompt.
    """
    listed = prompts.select("prompt_id", "text", "negative")
    seeds = [seed for seed, _ in takes]
    params = [json.dumps(dict(each), sort_keys=True) for _, each in takes]
    # The content that request_id hashes: its end is that of the take, all before that of the prompt.
    ends = [f", {json.dumps(seed)}, {each}]".encode() for seed, each in zip(seeds, params, strict=True)]
    ids = []
    for _, text, negative in listed.iter_rows():
        of_prompt = hashlib.sha256(json.dumps([fingerprint, text, negative])[:-1].encode())
        for end in ends:
            (whole := of_prompt.copy()).update(end)
            ids.append(whole.hexdigest()[:16])
    each = pl.DataFrame({"seed": seeds, "params": params}, schema_overrides=REQUESTS)
    of_all: dict[str, Any] = {"generator": generator, "source": None, "absent": False}
    constants = [pl.lit(value, REQUESTS[name]).alias(name) for name, value in of_all.items()]
    rows = listed.join(each, how="cross", maintain_order="left_right")
    return rows.with_columns(pl.Series("image_id", ids, pl.String), *constants).select(*REQUESTS)


def image_requests(requests: pl.DataFrame) -> Iterator[ImageRequest]:
    """The rows of a frame of requests, one by one, as a generator's ``process`` takes them."""
    for row in requests.select(*REQUESTS).iter_rows(named=True):
        yield ImageRequest(**{**row, "params": json.loads(row["params"])})


ImageStatus = Literal["ok", "refused", "excluded", "absent"]


@dataclass(frozen=True)
class ImageResult:
    """What came of a request.

    data: Original bytes of the picture, None unless ``status`` is ``ok``.
    status: ``ok``, ``refused`` (by the model), ``excluded`` (cannot be used) or ``absent`` (not at hand).
    reason: Why it was refused or excluded, or is absent.
    revised_prompt: What the endpoint made of the prompt.
    latency, cost: Seconds and US dollars, None where unknown.
    size: Width and height as :func:`stereotrope.pictures.inspect` gave them, where it was asked already, so
        that the picture is not decoded again before it is kept.
    """

    data: bytes | None
    status: ImageStatus
    reason: str | None = None
    revised_prompt: str | None = None
    latency: float | None = None
    cost: float | None = None
    size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        require_row(IMAGES, vars(self))
        if self.status not in get_args(ImageStatus) or isinstance(self.data, bytes) != (self.status == "ok"):
            raise ValueError(
                f"status is one of {', '.join(get_args(ImageStatus))}, and bytes belong to 'ok' alone; found "
                f"{self.status!r:.40} with {self.data!r:.40}"
            )
        if min(self.latency or 0, self.cost or 0) < 0:
            raise ValueError(f"latency and cost are at least 0, found {self.latency} and {self.cost}")


class Generator(ABC):
    """A source of pictures: a model that draws what it is asked for, or pictures made elsewhere.

    A generator derives from this class and gives ``kind``, ``name``, ``fingerprint`` and :meth:`process`; all
    else has a default that holds for a model which draws any prompt, one picture a call.

    kind: Name of its entry, as ``stereotrope generators`` lists it.
    name: Of the model, in the ``generator`` column.
    fingerprint: Of all that decides a picture beside prompt, seed and parameters of the request; what has the
        same is not asked for again. It leaves out addresses, keys, limits and the name.
    concurrency: Threads, or calls in flight, at most.
    batch: Pictures that ``process_batch``, where it has one, is given at once.
    seeded: Whether the request's seed is sent; else pictures of one prompt are numbered.
    provider, model: Who serves it, and what it is called there; empty where nobody is asked. Its calls are
        booked on the account of its context under both, as :class:`stereotrope.clients.Caller` does: else no
        cap would hold.
    libraries: Further libraries whose version can change a picture.
    files: After :meth:`requests`: files that list its pictures, each with the SHA-256 of its
        bytes.
    note: What a plan and a report should say of it; None where there is nothing.
    notes: After :meth:`requests`: what was left out and why, one sentence each.
    hub: Name of its model on the Hugging Face hub, and the revision that is asked for.
    on_disk: The folder that it reads where it draws: of its model, or of its pictures.
    device: What it computes on: ``cpu``, ``cuda``, ``auto`` ….
    quick: Whether a picture costs nothing, so that what takes 20 ms may be made again after a kill.
    in_processes: Whether drawing holds the interpreter, so that several processes draw side by side; it is
        pickled for them.
    probe_fingerprint: Of all that decides what is read inside it while it draws; None where nothing is.
    probe_takes: What reading one picture inside takes, in words.
    trouble: After :meth:`requests`: why none of its pictures can be used; None where some can.
    remedy: What to write in its entry where many of its pictures cannot be used; None where nothing helps.
    """

    kind: str
    name: str
    fingerprint: str
    concurrency: int = 1
    batch: int = 1
    seeded: bool = True
    provider: str = ""
    model: str = ""
    libraries: Sequence[str] = ()
    files: Mapping[Path, str] = MappingProxyType({})
    note: str | None = None
    hub: tuple[str, str | None] | None = None
    on_disk: Path | None = None
    device: str = "cpu"
    quick: bool = False
    in_processes: bool = False
    probe_fingerprint: str | None = None
    probe_takes: str = ""
    notes: Sequence[str] = ()
    trouble: str | None = None
    remedy: str | None = None

    @abstractmethod
    def process(self, request: ImageRequest) -> ImageResult | Awaitable[ImageResult]:
        """Make one picture: a function, called from ``concurrency`` threads, or a coroutine.

        A generator of coroutines may have a coroutine ``close``, which ends what its event loop holds open.

        Raises ModelError, PictureUnavailable: There is no answer; the next run asks again. A refusal is a
            result.
        """

    def check(self, text: str, negative: str | None = None) -> str | None:
        """Say why no picture can be had for a prompt; None where it can, or it is not known beforehand."""
        return None

    def requests(self, designed: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame] | None:
        """Say which pictures there are, where they are not drawn; None for a model that draws.

        designed: The prompts of the design; None where it has none.
        Returns: The ``prompts`` table (``designed`` where given), and a frame of requests with the columns
            ``REQUESTS``.
        """
        return None

    def probed(self, requests: pl.DataFrame) -> pl.DataFrame:
        """Say which of the requests it is read inside of; for one with a ``probe_fingerprint``."""
        return requests

    def probe_batch(
        self, requests: Sequence[ImageRequest]
    ) -> list[tuple[ImageResult, Sequence[ProbeReading]]]:
        """Make the pictures that ``process`` makes, byte for byte, with what was read inside.

        Raises ModelError: As of :meth:`process`; the pictures are then made without.
        """
        raise NotImplementedError

    def expect(self, requests: pl.DataFrame) -> Expectation | None:
        """Say what calls, money and time these requests will take; None where they are free.

        By default those of one that is served by somebody are a call each, of a price that is not known.
        """
        return Expectation(requests.height, None, None, None, None) if self.provider else None


class CountableGenerator(Generator):
    """Pictures that a file lists, of which none is kept by itself: they are counted.

    digests: SHA-256 of each file that it reads.
    """

    digests: Sequence[str] = ()

    @abstractmethod
    def cells(self, designed: pl.DataFrame | None = None) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Say which prompts there are, and of which cells pictures are.

        designed: As of :meth:`requests`.
        Returns: The ``prompts`` table, and a frame of cells, each a combination of what the file says of
            pictures: ``cell`` (from 0), ``generator, prompt_id, status, reason`` and ``n_subjects`` rows.
        """

    @abstractmethod
    def listed(self, only: Only) -> pl.DataFrame:
        """Return a row a picture: ``key``, which stands for its name, null without one, and ``cell``.

        only: Gives, of an expression of keys, which of them are asked for.
        """

    @abstractmethod
    def some_names(self, n: int) -> list[str]:
        """Return what the first of its pictures are called, at most ``n``."""


class KnownGenerator(Generator):
    """A generator whose truth is known, so that a calibration can draw with it.

    attributes: What is planted in its pictures.
    colours: Colour that is planted → what it looks like, as ``product`` and as ``background``.
    size: Side of its pictures in pixels.
    """

    attributes: Sequence[str]
    colours: Mapping[str, Any]
    size: int

    @abstractmethod
    def process(self, request: ImageRequest) -> ImageResult:
        """Make one picture."""

    @abstractmethod
    def planted(self, text: str) -> Mapping[str, Mapping[str, float]]:
        """Closed-form truth of a prompt: attribute → value → share."""

    @abstractmethod
    def values(self, text: str, seed: int | None) -> dict[str, str]:
        """Attribute → value in the picture of this very text and seed."""


GENERATORS: Registry[Entry[Generator]] = Registry("generators", "stereotrope.generate")
"""What can be written under ``generators:`` in an audit file, ours and other packages'."""

generator = entries_of(GENERATORS)
"""Decorator: a function from options and context to a generator becomes the entry of its name."""


def create(
    spec: str | Mapping[str, Any],
    *,
    relative_to: Path | str | None = None,
    account: Account | None = None,
    counted: bool = False,
) -> Generator:
    """Make the generator that an entry of an audit file describes.

    spec: A bare name (``"calibrated"``), a model (``"openai:gpt-image-1"``), or a mapping with options
        (``{"images": "openai:sd35", "base_url": "http://localhost:8091/v1", "steps": 30}``); ``stereotrope
        generators`` lists them.
    relative_to: Folder that paths in the spec start from; the current one where None.
    account: What the calls of a remote model are booked on; its own where None.
    counted: Whether it is of a study whose label files are counted.

    Raises UsageError: The entry or an option cannot be used; the nearest known one is named.
    """
    entry, options = read_entry(spec, GENERATORS, "generator", model="images")
    booked = Account() if account is None else account
    context = Context(Path(relative_to or "."), booked, counted)
    return GENERATORS.made(
        entry.name, lambda: entry.make(options, context), Generator, partial(_checked, booked)
    )


_GIVES = {"process": ImageResult, "check": str | None, "requests": tuple | None, "expect": Expectation | None}


def _checked(booked: Account, one: Generator, method: str, given: tuple[Any, ...], result: Any) -> Any:
    require_result(_GIVES, method, given, result)
    for each in {"process": [result], "process_batch": result}.get(method, ()):
        if isinstance(each, ImageResult) and each.cost:
            _require_booked(booked, one, each.cost)
    if method == "process":
        return replace(result, size=None)  # which only its bytes prove
    if method == "process_batch":
        return [replace(each, size=None) if isinstance(each, ImageResult) else each for each in result]
    if method == "make":
        require_facts(one, kind=str, name=str, fingerprint=str, concurrency=int, batch=int)
    if method == "requests" and result is not None:
        _require_listed(result, *given)
    return result


def _require_booked(account: Account, one: Generator, cost: float) -> None:
    """Raise ValueError where a picture cost something and no call to its model stands in the account."""
    if not any((total.provider, total.model) == (one.provider, one.model) for total in account.totals()):
        raise ValueError(
            f"a picture cost {cost:g} US dollars, and no call to the provider {one.provider!r} and model "
            f"{one.model!r} of its generator is booked, so that no cap can hold; ask through "
            "stereotrope.clients.Caller with the account of the context"
        )


def _require_listed(listed: tuple[Any, ...], designed: pl.DataFrame | None = None) -> None:
    """Raise ValueError where what ``requests`` gives is no prompts and requests of them."""
    match listed:
        case (pl.DataFrame() as prompts, pl.DataFrame() as asked):
            try:
                check_factors(factors_of(prompts.columns))
            except TableError as error:
                raise ValueError(error) from error
        case _:
            raise ValueError(
                f"requests must give a frame of prompts and one of requests, found {listed!r:.80}"
            )
    own = ["prompt_id"]
    require_frame(prompts, polars_types(PROMPTS), further=pl.String(), filled=own, unique=own)
    filled = ("image_id", "prompt_id", "generator", "params", "absent")
    require_frame(asked, REQUESTS, filled=filled, unique=["image_id"])
    known = prompts if designed is None else designed
    if (strange := asked.join(known, on="prompt_id", how="anti")["prompt_id"]).len():
        raise ValueError(f"a request is of the prompt {strange[0]!r}, which is not among the prompts")
    for params in asked["params"]:
        if not isinstance(json.loads(params), dict):
            raise ValueError(f"params must be a JSON object, found {params!r:.80}")
