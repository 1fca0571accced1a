"""Text-to-image pipelines of random weights, small enough for tests: one of each kind that is read inside."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

TEXTS = ["a photo of a doctor", "a red cup on a table", "a man or a woman with a moustache", *"abcdefghijkl"]
LENGTH = 16
"""Tokens that their text encoders read."""
_LAYERS = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}


def clip_tokenizer() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    from transformers import CLIPTokenizer

    ends = ["<|startoftext|>", "<|endoftext|>"]
    learner = Tokenizer(models.BPE(unk_token=ends[1], end_of_word_suffix="</w>"))
    learner.pre_tokenizer = pre_tokenizers.Whitespace()
    words = trainers.BpeTrainer(vocab_size=150, special_tokens=ends, end_of_word_suffix="</w>")
    learner.train_from_iterator(TEXTS, words)
    learnt = json.loads(learner.to_str())["model"]
    merges = [tuple(pair) for pair in learnt["merges"]]
    return CLIPTokenizer(vocab=learnt["vocab"], merges=merges, model_max_length=LENGTH)


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


def _clip(tokenizer: Any, *, projected: bool) -> Any:
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTextModelWithProjection

    ends = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    known = {"vocab_size": len(tokenizer), "max_position_embeddings": LENGTH, **ends}
    kind = CLIPTextModelWithProjection if projected else CLIPTextModel
    return kind(CLIPTextConfig(projection_dim=16, **_LAYERS, **known))


def _t5(tokenizer: Any, width: int) -> Any:
    from transformers import T5Config, T5EncoderModel

    shape = {"d_model": width, "d_kv": 8, "d_ff": 32, "num_layers": 1, "num_heads": 2}
    return T5EncoderModel(T5Config(vocab_size=len(tokenizer), **shape))


def _vae(**more: Any) -> Any:
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
        block_out_channels=(8, 8),
        layers_per_block=1,
        latent_channels=4,
        norm_num_groups=4,
        sample_size=32,
        **more,
    )


def sd3(folder: Path) -> None:
    """Write a pipeline like Stable Diffusion 3's."""
    from diffusers import FlowMatchEulerDiscreteScheduler, SD3Transformer2DModel, StableDiffusion3Pipeline

    clip, t5 = clip_tokenizer(), word_tokenizer()
    transformer = SD3Transformer2DModel(
        sample_size=16,
        in_channels=4,
        out_channels=4,
        num_layers=2,
        attention_head_dim=8,
        num_attention_heads=2,
        joint_attention_dim=32,
        caption_projection_dim=16,
        pooled_projection_dim=32,
        pos_embed_max_size=32,
    )
    StableDiffusion3Pipeline(
        transformer=transformer,
        scheduler=FlowMatchEulerDiscreteScheduler(shift=3.0),
        vae=_vae(shift_factor=0.06, scaling_factor=1.5),
        text_encoder=_clip(clip, projected=True),
        tokenizer=clip,
        text_encoder_2=_clip(clip, projected=True),
        tokenizer_2=clip,
        text_encoder_3=_t5(t5, 32),
        tokenizer_3=t5,
    ).save_pretrained(folder)


def flux(folder: Path) -> None:
    """Write a pipeline like FLUX.1-dev's."""
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxPipeline, FluxTransformer2DModel

    clip, t5 = clip_tokenizer(), word_tokenizer()
    transformer = FluxTransformer2DModel(
        in_channels=16,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=16,
        axes_dims_rope=(4, 4, 8),
        guidance_embeds=True,
    )
    FluxPipeline(
        transformer=transformer,
        scheduler=FlowMatchEulerDiscreteScheduler(use_dynamic_shifting=True),
        vae=_vae(shift_factor=0.06, scaling_factor=1.5),
        text_encoder=_clip(clip, projected=False),
        tokenizer=clip,
        text_encoder_2=_t5(t5, 32),
        tokenizer_2=t5,
    ).save_pretrained(folder)


def _unet(**more: Any) -> Any:
    from diffusers import UNet2DConditionModel

    return UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(8, 16),
        layers_per_block=1,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        norm_num_groups=4,
        attention_head_dim=2,
        **more,
    )


def sd1(folder: Path, *, checked: bool = True) -> None:
    """Write a pipeline like Stable Diffusion 1's, with its safety checker."""
    from diffusers import DDIMScheduler, StableDiffusionPipeline
    from diffusers.pipelines.stable_diffusion import StableDiffusionSafetyChecker
    from transformers import CLIPConfig, CLIPImageProcessorPil

    clip = clip_tokenizer()
    looks = CLIPConfig(
        projection_dim=16, vision_config={**_LAYERS, "image_size": 32, "patch_size": 8, "projection_dim": 16}
    )
    size = {"height": 32, "width": 32}
    StableDiffusionPipeline(
        unet=_unet(cross_attention_dim=16),
        scheduler=DDIMScheduler(steps_offset=1, clip_sample=False, beta_schedule="scaled_linear"),
        vae=_vae(),
        text_encoder=_clip(clip, projected=False),
        tokenizer=clip,
        safety_checker=StableDiffusionSafetyChecker(looks) if checked else None,
        feature_extractor=CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size=size),
        requires_safety_checker=checked,
    ).save_pretrained(folder)


def sdxl(folder: Path) -> None:
    """Write a pipeline like Stable Diffusion XL's."""
    from diffusers import EulerDiscreteScheduler, StableDiffusionXLPipeline

    clip = clip_tokenizer()
    unet = _unet(
        cross_attention_dim=32,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=6 * 8 + 16,
    )
    StableDiffusionXLPipeline(
        unet=unet,
        scheduler=EulerDiscreteScheduler(steps_offset=1),
        vae=_vae(),
        text_encoder=_clip(clip, projected=False),
        tokenizer=clip,
        text_encoder_2=_clip(clip, projected=True),
        tokenizer_2=clip,
        add_watermarker=False,
    ).save_pretrained(folder)


KINDS = {"sd3": sd3, "flux": flux, "sd1": sd1, "sdxl": sdxl}


def build(kind: str, folder: Path) -> Path:
    """Write a pipeline of a kind into a folder, with the same weights each time."""
    import torch

    torch.manual_seed(3)
    KINDS[kind](folder)
    return folder
