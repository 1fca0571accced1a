"""Encoding: every picture and every prompt's text once, each vector in the ledger as it lands."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import polars as pl

from stereotrope.annotate import Encoder
from stereotrope.annotate.embeddings import embeddings_rows, pack, unpack
from stereotrope.audit.plan import Plan, encodes, is_given
from stereotrope.audit.watcher import Watcher
from stereotrope.audit.work import EMBED, HALTING, Missing, Task, annotation_key, carry_out, picture_of
from stereotrope.errors import PictureError, RunDamaged, RunError
from stereotrope.pictures import PIXELS_AT_ONCE
from stereotrope.run import Job, Ledger, Run, RunFolder, Stage
from stereotrope.tables import EMBEDDINGS, polars_types

__all__ = ["EMBED", "embed", "embeddings_table", "picture_keys", "recall_models", "refuse_lost_vectors"]

_DECODING_THREADS = 4
_NO_VECTOR = "the model gives no finite vector"


def picture_keys(encoder: Encoder, images: pl.DataFrame) -> dict[str, dict[str, Any]]:
    """Content key of each different picture that can be used → its row."""
    usable = (
        images.filter(pl.col("status") == "ok")
        .select("image_id", "sha256", "path", "width", "height")
        .to_dicts()
    )
    keys: dict[str, dict[str, Any]] = {}
    for row in usable:
        keys.setdefault(annotation_key(encoder, row["sha256"]), row)
    return keys


def _text_key(encoder: Encoder, text: str) -> str:
    content = f"{encoder.fingerprint}\ntext\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(content).hexdigest()


def _texts(plan: Plan) -> list[str]:
    return plan.prompts["text"].drop_nulls().unique(maintain_order=True).to_list()


class _Pictures:
    """Lets an encoder encode batches of pictures."""

    def __init__(self, encoder: Encoder, into: RunFolder) -> None:
        self.encoder, self.into = encoder, into

    def process(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Encode one picture."""
        (outcome,) = self.process_batch([row])
        return outcome

    def process_batch(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Encode pictures together; one that cannot be decoded is an outcome with the reason.

        Very large ones are encoded in parts of the batch, so that not all are in memory at once.
        """
        self.encoder.setup()  # first: what cannot be loaded is told before pictures are decoded
        return [outcome for part in _parts(rows) for outcome in self._encoded(part)]

    def _encoded(self, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        with ThreadPoolExecutor(_DECODING_THREADS) as pool:
            decoded = list(pool.map(self._pixels, rows))
        there = [pixels for pixels in decoded if not isinstance(pixels, str)]
        vectors = iter(self.encoder.encode_pictures(there))
        return [
            {"reason": pixels, "proven": True} if isinstance(pixels, str) else _payload(next(vectors))
            for pixels in decoded
        ]

    def _pixels(self, row: Mapping[str, Any]) -> Any:
        try:
            return picture_of(row, self.into).pixels()
        except PictureError as error:
            return error.reason


def _parts(rows: Sequence[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    part: list[Mapping[str, Any]] = []
    pixels = 0
    for row in rows:
        pixels += row["width"] * row["height"]
        if part and pixels > PIXELS_AT_ONCE:
            yield part
            part, pixels = [], row["width"] * row["height"]
        part.append(row)
    yield part


class _Texts:
    """Lets an encoder encode batches of texts."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder = encoder

    def process(self, text: str) -> dict[str, Any]:
        """Encode one text."""
        (outcome,) = self.process_batch([text])
        return outcome

    def process_batch(self, texts: Sequence[str]) -> list[dict[str, Any]]:
        """Encode texts together."""
        return [
            {**_payload(one.vector), "tokens": one.tokens, "most": one.most}
            for one in self.encoder.encode_texts(texts)
        ]


def _payload(vector: Any) -> dict[str, Any]:
    return {"reason": _NO_VECTOR} if vector is None else {"vector": pack(vector)}


def embed(
    plan: Plan, images: pl.DataFrame, into: RunFolder, watcher: Watcher, stop: threading.Event | None
) -> list[Missing]:
    """Let every encoder encode what it has not; say what is missing.

    One batch of an encoder is in flight at a time and lands in one commit, so that a run that was killed
    goes on with the batches of an undisturbed one: the last digits of a vector can hang on its batch.
    """
    missing: list[Missing] = []
    for encoder in filter(encodes, plan.annotators):
        pictures = list(picture_keys(encoder, images).items())
        texts = [(_text_key(encoder, text), text) for text in _texts(plan)]
        of_pictures = _stage(encoder, partial(_Pictures, encoder, into))
        of_texts = _stage(encoder, partial(_Texts, encoder))
        tasks = [
            Task(EMBED, encoder.name, Job(of_pictures, pictures)),
            Task(EMBED, f"{encoder.name}, prompts", Job(of_texts, texts)),
        ]
        for task in tasks:
            found = carry_out([task], into, watcher, stop) if task.job.items else []
            missing += found
            if any(one.halted for one in found):
                break
    return missing


def _stage(encoder: Encoder, make: Any) -> Stage:
    return Stage(EMBED, make=make, concurrency=encoder.concurrency, batch_size=encoder.batch, halting=HALTING)


def embeddings_table(plan: Plan, images: pl.DataFrame, ledger: Ledger) -> pl.DataFrame:
    """Vectors of pictures and prompts' texts, by encoder, in the order of the tables; notes what lacks."""
    made = ledger.get_all(EMBED) if any(map(encodes, plan.annotators)) else {}
    parts = [pl.DataFrame(schema=polars_types(EMBEDDINGS))]
    for annotator in plan.annotators:
        if encodes(annotator):
            parts.append(_made(plan, annotator, images, made))
        elif is_given(annotator):
            parts.append(annotator.embed(images, plan.prompts))
    return pl.concat(parts)


def _made(
    plan: Plan, encoder: Encoder, images: pl.DataFrame, made: Mapping[str, Mapping[str, Any]]
) -> pl.DataFrame:
    usable = images.filter(pl.col("status") == "ok")
    asked = [
        ("image", one, made.get(annotation_key(encoder, sha256)))
        for one, sha256 in usable.select("image_id", "sha256").iter_rows()
    ]
    asked += [
        ("text", one, made.get(_text_key(encoder, text)))
        for one, text in plan.prompts.select("prompt_id", "text").iter_rows()
        if text is not None
    ]
    _note(plan, encoder, asked)
    known = [(kind, one, found["vector"]) for kind, one, found in asked if found and "vector" in found]
    return embeddings_rows(encoder.name, [(kind, one, unpack(vector)) for kind, one, vector in known])


def _note(plan: Plan, encoder: Encoder, asked: Sequence[tuple[str, str, Mapping[str, Any] | None]]) -> None:
    """Say which pictures and texts have no vector and why, and which texts were cut."""
    encoder.notes = []
    for kind, many in (("image", "pictures"), ("text", "prompts")):
        outcomes = [found for of, _, found in asked if of == kind]
        reasons = [found["reason"] for found in outcomes if found and "reason" in found]
        for reason in dict.fromkeys(reasons):
            n = reasons.count(reason)
            encoder.notes.append(
                f"{encoder.name}: {n:,} of {len(outcomes):,} {many} have no vector ({reason})"
            )
    texts = [found for of, _, found in asked if of == "text" and found]
    cut = [found for found in texts if found["tokens"] > found["most"]]
    if cut:
        encoder.notes.append(
            f"{encoder.name}: {len(cut):,} of {len(texts):,} prompts are longer than the {cut[0]['most']} "
            "tokens that the encoder reads; what comes after is not compared"
        )
    if without := plan.prompts["text"].null_count():
        encoder.notes.append(
            f"{encoder.name}: {without:,} of {plan.prompts.height:,} prompts have no text to encode"
        )


def recall_models(plan: Plan, run: Run) -> None:
    """Name local models by what a run knows of them, where their folder is not here: nothing is encoded."""
    known = {str(one.get("name")): one.get("fingerprint") for one in run.info.get("annotators", ())}
    for encoder in filter(encodes, plan.annotators):
        if fingerprint := known.get(encoder.name):
            encoder.recall(fingerprint)


def refuse_lost_vectors(plan: Plan, run: Run, embeddings: pl.DataFrame) -> None:
    """Keep the vectors of a run whose ledger has lost what they were made from.

    Raises
    ------
    RunDamaged
        The run's table holds vectors by an encoder that the ledger lacks.
    """
    try:
        before = run.embeddings
    except RunError:  # a torn table is made anew
        return
    keys = ["encoder", "subject_kind", "subject_id"]
    stored = before.filter(pl.col("encoder").is_in([one.name for one in plan.annotators if encodes(one)]))
    lost = stored.join(embeddings, on=keys, how="anti")
    if lost.height:
        raise RunDamaged(
            f"{run.path}: the ledger lacks {lost.height} of {stored.height} vectors that the embeddings "
            "have, so the tables are left as they are; run the audit again, which encodes anew: "
            "`stereotrope run`"
        )
