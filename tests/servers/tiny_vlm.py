"""Save a model that sees pictures and answers “No” to everything: ``python tiny_vlm.py FOLDER``.

Each token leads to one other: the vectors of tokens are orthogonal, the layer adds nothing, and the last
matrix says what follows what.
"""

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

SIDE, PATCH, VISION = 32, 16, 32
LONGEST = 16384
SPECIAL = ["<s>", "</s>", "<pad>", "<image>"]
TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {% if message.content is string %}{{ message.content }}"
    "{% else %}{% for part in message.content %}{% if part.type == 'image' %}<image>{% else %}{{ part.text }}"
    "{% endif %}{% endfor %}{% endif %}\n{% endfor %}assistant:"
)

vocabulary = {token: i for i, token in enumerate([*SPECIAL, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
width = len(vocabulary) + len(vocabulary) % 2
torch.manual_seed(0)
model = LlavaForConditionalGeneration(
    LlavaConfig(
        vision_config=CLIPVisionConfig(
            hidden_size=VISION,
            intermediate_size=VISION,
            num_hidden_layers=2,
            num_attention_heads=2,
            image_size=SIDE,
            patch_size=PATCH,
        ),
        text_config=LlamaConfig(
            hidden_size=width,
            intermediate_size=VISION,
            num_hidden_layers=1,
            num_attention_heads=2,
            num_key_value_heads=2,
            vocab_size=len(vocabulary),
            max_position_embeddings=LONGEST,
            bos_token_id=0,
            eos_token_id=1,
            pad_token_id=2,
        ),
        image_token_index=vocabulary["<image>"],
        image_seq_length=(SIDE // PATCH) ** 2,
    )
)
text = model.model.language_model
with torch.no_grad():
    for layer in text.layers:
        layer.self_attn.o_proj.weight.zero_()
        layer.mlp.down_proj.weight.zero_()
    text.embed_tokens.weight.copy_(torch.eye(len(vocabulary), width))
    model.lm_head.weight.zero_()
    for one, next_one in ((":", "N"), ("N", "o"), ("o", "</s>")):
        model.lm_head.weight[vocabulary[next_one], vocabulary[one]] = 1.0
processor = LlavaProcessor(
    CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}),
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="<pad>",
        extra_special_tokens={"image_token": "<image>"},
        model_max_length=LONGEST,
    ),
    patch_size=PATCH,
    vision_feature_select_strategy="default",
    num_additional_image_tokens=1,
    chat_template=TEMPLATE,
)
model.save_pretrained(sys.argv[1])
processor.save_pretrained(sys.argv[1])
