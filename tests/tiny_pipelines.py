"""Text-to-image pipelines of random weights, of each kind that is read inside: tiny, or of other sizes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TEXTS = ["a photo of a doctor", "a red cup on a table", "a man or a woman with a moustache", *"abcdefghijkl"]
LENGTH = 16
"""Tokens that text encoders read."""
_LAYERS = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
_CLIP = {**_LAYERS, "projection_dim": 16, "max_position_embeddings": LENGTH}
_T5 = {"d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
_VAE = {
    "down_block_types": ("DownEncoderBlock2D",) * 2,
    "up_block_types": ("UpDecoderBlock2D",) * 2,
    "block_out_channels": (8, 8),
    "layers_per_block": 1,
    "latent_channels": 4,
    "norm_num_groups": 4,
    "sample_size": 32,
}
_TEXTS = {"clip": _CLIP, "clip_2": _CLIP, "t5": _T5}
_FLOW_VAE = {**_VAE, "shift_factor": 0.06, "scaling_factor": 1.5}
_UNET = {
    "sample_size": 16,
    "block_out_channels": (8, 16),
    "layers_per_block": 1,
    "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
    "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    "norm_num_groups": 4,
    "attention_head_dim": 2,
}
Sizes = Mapping[str, Mapping[str, Any]]
"""Part of a pipeline → its configuration."""
TINY: dict[str, Sizes] = {
    "sd3": {
        **_TEXTS,
        "vae": _FLOW_VAE,
        "model": {
            "sample_size": 16,
            "in_channels": 4,
            "out_channels": 4,
            "num_layers": 2,
            "attention_head_dim": 8,
            "num_attention_heads": 2,
            "joint_attention_dim": 32,
            "caption_projection_dim": 16,
            "pooled_projection_dim": 32,
            "pos_embed_max_size": 32,
        },
    },
    "flux": {
        **_TEXTS,
        "vae": _FLOW_VAE,
        "model": {
            "in_channels": 16,
            "num_layers": 1,
            "num_single_layers": 1,
            "attention_head_dim": 16,
            "num_attention_heads": 2,
            "joint_attention_dim": 32,
            "pooled_projection_dim": 16,
            "axes_dims_rope": (4, 4, 8),
            "guidance_embeds": True,
        },
    },
    "sd1": {**_TEXTS, "vae": _VAE, "model": {**_UNET, "cross_attention_dim": 16}},
    "sd2": {**_TEXTS, "vae": _VAE, "model": {**_UNET, "cross_attention_dim": 16}},
    "sdxl": {
        **_TEXTS,
        "vae": _VAE,
        "model": {
            **_UNET,
            "cross_attention_dim": 32,
            "addition_embed_type": "text_time",
            "addition_time_embed_dim": 8,
            "projection_class_embeddings_input_dim": 6 * 8 + 16,
        },
    },
}


def clip_tokenizer(length: int = LENGTH) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    ends = ["<|startoftext|>", "<|endoftext|>"]
    learner = Tokenizer(models.BPE(unk_token=ends[1], end_of_word_suffix="</w>"))
    learner.pre_tokenizer = pre_tokenizers.Whitespace()
    words = trainers.BpeTrainer(vocab_size=150, special_tokens=ends, end_of_word_suffix="</w>")
    learner.train_from_iterator(TEXTS, words)
    learnt = json.loads(learner.to_str())["model"]
    merges = [tuple(pair) for pair in learnt["merges"]]
    return CLIPTokenizer(vocab=learnt["vocab"], merges=merges, model_max_length=length)


def word_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    learner = Tokenizer(models.WordPiece(unk_token="<unk>"))
    learner.pre_tokenizer = pre_tokenizers.Whitespace()
    special = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
    words = trainers.WordPieceTrainer(vocab_size=150, special_tokens=list(special.values()))
    learner.train_from_iterator(TEXTS, words)
    learner.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    return PreTrainedTokenizerFast(tokenizer_object=learner, model_max_length=LENGTH, **special)


def _clip(tokenizer: Any, shape: Mapping[str, Any], *, projected: bool) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    kind = CLIPTextModelWithProjection if projected else CLIPTextModel
    return kind(CLIPTextConfig(vocab_size=len(tokenizer), **ends, **shape))


def _t5(tokenizer: Any, shape: Mapping[str, Any]) -> Any:
    from transformers import T5Config, T5EncoderModel

    return T5EncoderModel(T5Config(vocab_size=len(tokenizer), **shape))


def _vae(shape: Mapping[str, Any]) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(**shape)


def _scheduler(kind: Any, **options: Any) -> Any:
    """A scheduler, whose numbers stand in main memory wherever models are made."""
    import torch

    with torch.device("cpu"):
        return kind(steps_offset=1, **options)


def sd3(sizes: Sizes) -> Any:
    """A pipeline like Stable Diffusion 3's."""
    from diffusers import FlowMatchEulerDiscreteScheduler, SD3Transformer2DModel, StableDiffusion3Pipeline

    clip, t5 = clip_tokenizer(sizes["clip"]["max_position_embeddings"]), word_tokenizer()
    return StableDiffusion3Pipeline(
        transformer=SD3Transformer2DModel(**sizes["model"]),
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=_vae(sizes["vae"]),
        text_encoder=_clip(clip, sizes["clip"], projected=True),
        tokenizer=clip,
        text_encoder_2=_clip(clip, sizes["clip_2"], projected=True),
        tokenizer_2=clip,
        text_encoder_3=_t5(t5, sizes["t5"]),
        tokenizer_3=t5,
    )


def flux(sizes: Sizes) -> Any:
    """A pipeline like FLUX.1-dev's."""
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel

    clip, t5 = clip_tokenizer(sizes["clip"]["max_position_embeddings"]), word_tokenizer()
    return FluxPipeline(
        transformer=FluxTransformer2DModel(**sizes["model"]),
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=_vae(sizes["vae"]),
        text_encoder=_clip(clip, sizes["clip"], projected=False),
        tokenizer=clip,
        text_encoder_2=_t5(t5, sizes["t5"]),
        tokenizer_2=t5,
    )


def sd1(sizes: Sizes) -> Any:
    """A pipeline like Stable Diffusion 1's, with its safety checker."""
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel
    from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker
    from transformers import CLIPConfig, CLIPImageProcessorPil

    clip = clip_tokenizer(sizes["clip"]["max_position_embeddings"])
    looks = CLIPConfig(
        projection_dim=16, vision_config={**_LAYERS, "image_size": 32, "patch_size": 8, "projection_dim": 16}
    )
    size = {"height": 32, "width": 32}
    return StableDiffusionPipeline(
        unet=UNet2DConditionModel(**sizes["model"]),
        scheduler=_scheduler(DDIMScheduler, clip_sample=False, beta_schedule="scaled_linear"),
        vae=_vae(sizes["vae"]),
        text_encoder=_clip(clip, sizes["clip"], projected=False),
        tokenizer=clip,
        safety_checker=StableDiffusionSafetyChecker(looks),
        feature_extractor=CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=size),
    )


def sd2(sizes: Sizes) -> Any:
    """A pipeline like Stable Diffusion 2's at 768 pixels: it predicts v, and has no safety checker."""
    from diffusers import DDIMScheduler, StableDiffusionPipeline, UNet2DConditionModel

    clip = clip_tokenizer(sizes["clip"]["max_position_embeddings"])
    predicts = {"prediction_type": "v_prediction", "beta_schedule": "scaled_linear"}
    return StableDiffusionPipeline(
        unet=UNet2DConditionModel(**sizes["model"]),
        scheduler=_scheduler(DDIMScheduler, clip_sample=False, **predicts),
        vae=_vae(sizes["vae"]),
        text_encoder=_clip(clip, sizes["clip"], projected=False),
        tokenizer=clip,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )


def sdxl(sizes: Sizes) -> Any:
    """A pipeline like Stable Diffusion XL's."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline, UNet2DConditionModel

    clip = clip_tokenizer(sizes["clip"]["max_position_embeddings"])
    return StableDiffusionXLPipeline(
        unet=UNet2DConditionModel(**sizes["model"]),
        scheduler=_scheduler(EulerDiscreteScheduler),
        vae=_vae(sizes["vae"]),
        text_encoder=_clip(clip, sizes["clip"], projected=False),
        tokenizer=clip,
        text_encoder_2=_clip(clip, sizes["clip_2"], projected=True),
        tokenizer_2=clip,
        add_watermarker=False,
    )


KINDS = {"sd3": sd3, "flux": flux, "sd1": sd1, "sd2": sd2, "sdxl": sdxl}


def build(kind: str, folder: Path, sizes: Sizes | None = None) -> Path:
    """Write a pipeline of a kind into a folder, with the same weights each time; a tiny one by default."""
    import torch

    torch.manual_seed(3)
    KINDS[kind](TINY[kind] if sizes is None else sizes).save_pretrained(folder)
    return folder
