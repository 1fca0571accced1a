"""What drawing, reading inside and encoding cost at real sizes, with random weights: no model is downloaded.

    python -m bench.local_models                        # SD3 and SDXL on the GPU, in half precision
    python -m bench.local_models --kind flux --images 1
    python -m bench.local_models --tiny --device cpu    # seconds; what CI runs

A pipeline is built, saved, and drawn with by the generator's own code, plainly and with SPI of m attributes;
an encoder of the size of CLIP ViT-L/14 encodes PNG files. The table says seconds and pictures a second, the
ratio to plain drawing, that ratio beside the count of predictions (1 + m with guidance, else 1 + 2m), and the
share of the time in which a GPU computed. It fails where the pictures differ, and, with --most, where SPI
costs more than so many times that count.
"""

from __future__ import annotations

import argparse
import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from PIL import Image
from tests.tiny_pipelines import KINDS, LENGTH, build, clip_tokenizer
from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel

from stereotrope import annotate, generate
from stereotrope.annotate import Picture
from stereotrope.generate import ImageRequest

_L14 = {
    "hidden_size": 768,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "projection_dim": 768,
    "max_position_embeddings": 77,
}
_BIG_G = {
    "hidden_size": 1280,
    "intermediate_size": 5120,
    "num_hidden_layers": 32,
    "num_attention_heads": 20,
    "projection_dim": 1280,
    "max_position_embeddings": 77,
}
_T5_XXL = {
    "d_model": 4096,
    "d_kv": 64,
    "d_ff": 10240,
    "num_layers": 24,
    "num_heads": 64,
    "feed_forward_proj": "gated-gelu",
}
_VAE = {
    "down_block_types": ("DownEncoderBlock2D",) * 4,
    "up_block_types": ("UpDecoderBlock2D",) * 4,
    "block_out_channels": (128, 256, 512, 512),
    "layers_per_block": 2,
    "sample_size": 1024,
}
_TEXTS = {"clip": _L14, "clip_2": _BIG_G, "t5": _T5_XXL}
REAL: dict[str, dict[str, Mapping[str, Any]]] = {
    "sd3": {
        **_TEXTS,
        "vae": {**_VAE, "latent_channels": 16, "shift_factor": 0.0609, "scaling_factor": 1.5305},
        "model": {
            "sample_size": 128,
            "in_channels": 16,
            "out_channels": 16,
            "num_layers": 24,
            "attention_head_dim": 64,
            "num_attention_heads": 24,
            "joint_attention_dim": 4096,
            "caption_projection_dim": 1536,
            "pooled_projection_dim": 2048,
            "pos_embed_max_size": 192,
        },
    },
    "flux": {
        **_TEXTS,
        "vae": {**_VAE, "latent_channels": 16, "shift_factor": 0.1159, "scaling_factor": 0.3611},
        "model": {"guidance_embeds": True},  # the class's own configuration is FLUX.1's
    },
    "sd1": {
        **_TEXTS,
        "vae": {**_VAE, "latent_channels": 4, "sample_size": 512},
        "model": {"cross_attention_dim": 768, "attention_head_dim": 8, "sample_size": 64},
    },
    "sdxl": {
        **_TEXTS,
        "vae": {**_VAE, "latent_channels": 4, "scaling_factor": 0.13025},
        "model": {
            "sample_size": 128,
            "block_out_channels": (320, 640, 1280),
            "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D", "CrossAttnDownBlock2D"),
            "up_block_types": ("CrossAttnUpBlock2D", "CrossAttnUpBlock2D", "UpBlock2D"),
            "transformer_layers_per_block": (1, 2, 10),
            "attention_head_dim": (5, 10, 20),
            "cross_attention_dim": 2048,
            "use_linear_projection": True,
            "addition_embed_type": "text_time",
            "addition_time_embed_dim": 256,
            "projection_class_embeddings_input_dim": 2816,
        },
    },
}
"""Configurations of the published Stable Diffusion 1.5, XL and 3 medium and of FLUX.1."""
BATCHES = 3
SIDES = {"sd3": 1024, "flux": 1024, "sd1": 512, "sdxl": 1024}
GUIDED = ("sd3", "sd1", "sdxl")
TEXT = "a photo of a doctor"
CLIP_LOOKS = {
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "image_size": 224,
    "patch_size": 14,
}
TINY_LOOKS = {
    "hidden_size": 16,
    "intermediate_size": 32,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 8,
}


def timed(work: Callable[[], Any]) -> tuple[float, Any, float | None]:
    """Seconds of a call after one that warms up, what it gives, and the share in which a GPU was busy.

    Results come back from the GPU in it. The share is of a third call, which is watched; None without a GPU.
    """
    work()
    began = time.perf_counter()
    found = work()
    return time.perf_counter() - began, found, busy(work) if torch.cuda.is_available() else None


def in_lanes(who: Any, work: Callable[[Any], Sequence[Any]], items: Sequence[Any], batch: int) -> list[Any]:
    """What a function gives of items, batch by batch, as many at once as the engine of a run lets it do."""
    parts = [items[at : at + batch] for at in range(0, len(items), batch)]
    with ThreadPoolExecutor(who.concurrency) as pool:
        return [one for part in pool.map(work, parts) for one in part]


def busy(work: Callable[[], Any]) -> float:
    """Share of the time of a call in which at least one kernel ran."""
    kinds = [torch.profiler.ProfilerActivity.CUDA]
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=kinds) as watched:
        began = time.perf_counter()
        work()
        torch.cuda.synchronize()
        lasted = time.perf_counter() - began
    # The public list of events takes minutes to make of a hundred thousand kernels.
    events = watched.profiler.kineto_results.events()
    kernels = (one for one in events if one.device_type() == torch.autograd.DeviceType.CUDA)
    computed, until = 0, 0
    for start, end in sorted((one.start_ns(), one.start_ns() + one.duration_ns()) for one in kernels):
        computed += max(0, end - max(start, until))
        until = max(until, end)
    return computed / 1e9 / lasted


def built(kind: str, folder: Path, *, tiny: bool, device: str) -> Path:
    """Write a pipeline; a large one is made on the device, in half precision."""
    if tiny:
        return build(kind, folder)
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            return build(kind, folder, REAL[kind])
    finally:
        torch.set_default_dtype(before)
        if device.startswith("cuda"):
            torch.cuda.empty_cache()


def drawing(kind: str, args: argparse.Namespace, folder: Path) -> list[dict[str, Any]]:
    """Times of plain drawing and of drawing with the probe; raises where the pictures differ."""
    side = 32 if args.tiny else SIDES[kind]
    pairs = {
        f"a{n}": {"positive": [f"a person with a {word}"], "negative": [f"a person without a {word}"]}
        for n, word in enumerate(["hat", "beard", "cup", "man", "table"][: args.attributes])
    }
    made: Any = generate.create(
        {
            "diffusers": str(built(kind, folder / kind, tiny=args.tiny, device=args.device)),
            "steps": args.steps,
            "width": side,
            "height": side,
            "batch": args.images,
            "device": args.device,
            "safety_checker": False,
            "probe": {"candidates": pairs},
        }
    )
    asked = [ImageRequest(str(n), "p", kind, TEXT, None, n) for n in range(args.images * BATCHES)]
    plain, pictures, busy_plain = timed(lambda: in_lanes(made, made.process_batch, asked, args.images))
    probed, read, busy_probed = timed(lambda: in_lanes(made, made.probe_batch, asked, args.images))
    if [one.data for one in pictures] != [one.data for one, _ in read]:
        raise SystemExit(f"{kind}: pictures drawn with the probe differ from those without")
    times = 1 + args.attributes * (1 if kind in GUIDED else 2)
    own = {"what": f"{kind}: draw", "seconds": plain, "ratio": 1.0, "busy": busy_plain}
    ratio = probed / plain
    spi = {"what": f"{kind}: SPI of {args.attributes}", "seconds": probed, "ratio": ratio}
    return [
        {**row, "a_second": len(asked) / row["seconds"]}
        for row in (own, {**spi, "of_count": ratio / times, "busy": busy_probed})
    ]


def encoding(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """PNG files that an encoder of the size of CLIP ViT-L/14 encodes a second, all preparation included."""
    looks, length = (TINY_LOOKS, LENGTH) if args.tiny else (CLIP_LOOKS, 77)
    tokenizer = clip_tokenizer(length)
    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    known = {"vocab_size": len(tokenizer), "max_position_embeddings": length, **ends}
    texts = {**(TINY_LOOKS if args.tiny else _L14), **known}
    for name in ("image_size", "patch_size", "projection_dim"):
        texts.pop(name, None)
    torch.manual_seed(0)
    side = looks["image_size"]
    processor = CLIPImageProcessorPil(size={"shortest_edge": side}, crop_size={"height": side, "width": side})
    for part in (CLIPModel(CLIPConfig(text_config=texts, vision_config=looks)), tokenizer, processor):
        part.save_pretrained(folder / "clip")
    encoder: Any = annotate.create({"encoder": f"clip:{folder / 'clip'}", "device": args.device})
    files = [photo(64 if args.tiny else 1024, n) for n in range(args.encoded)]

    def encode() -> Any:
        shown = [Picture(str(n), str(n), data) for n, data in enumerate(files)]
        return in_lanes(encoder, encoder.process_batch, shown, args.batch)

    seconds, _, share = timed(encode)
    return {"what": "clip: encode", "seconds": seconds, "a_second": args.encoded / seconds, "busy": share}


def photo(side: int, seed: int) -> bytes:
    """A PNG that is about as large as that of a photograph: patches of colour under faint noise."""
    rng = np.random.default_rng(seed)
    patches = Image.fromarray(rng.integers(0, 255, (16, 16, 3), dtype=np.uint8)).resize((side, side))
    pixels = np.asarray(patches, np.int16) + rng.integers(-4, 4, (side, side, 3))
    out = io.BytesIO()
    Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(out, "PNG")
    return out.getvalue()


def measured(args: argparse.Namespace, folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the table, each as soon as it is there."""
    yield encoding(args, folder)
    for kind in args.kind or ("sd3", "sdxl"):
        yield from drawing(kind, args, folder)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--kind", action="append", choices=sorted(KINDS))
    parser.add_argument("--tiny", action="store_true", help="models of tests, 32 pixels")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--steps", type=int, default=10)
    parser.add_argument("--images", type=int, default=2, help="drawn at once")
    parser.add_argument("--attributes", type=int, default=2, choices=range(1, 6))
    parser.add_argument("--encoded", type=int, default=128, help="pictures encoded")
    parser.add_argument("--batch", type=int, default=16, help="pictures encoded at once")
    parser.add_argument("--most", type=float, help="most that SPI may cost beside the count of predictions")
    args = parser.parse_args(arguments)
    with TemporaryDirectory() as name:
        print(f"{'':<16}{'seconds':>9}{'pictures/s':>12}{'to plain':>10}{'to count':>10}{'GPU busy':>10}")
        rows = []
        for row in measured(args, Path(name)):
            rows.append(row)
            found = [row.get(key) for key in ("ratio", "of_count", "busy")]
            ratios = "".join(f"{one:>10.2f}" if one else " " * 10 for one in found)
            print(
                f"{row['what']:<16}{row['seconds']:>9.3f}{row['a_second']:>12.2f}{ratios}".rstrip(),
                flush=True,
            )
    above = [row["what"] for row in rows if args.most and (row.get("of_count") or 0) > args.most]
    if above:
        print(f"above {args.most}: {', '.join(above)}")
    return int(bool(above))


if __name__ == "__main__":
    sys.exit(main())
