"""A vision-language model of random weights whose last layer is solved so that it tells colours by letter."""

from __future__ import annotations

from itertools import permutations

import torch
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import (
    CLIPImageProcessorPil,
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedTokenizerFast,
)

COLOURS = {"female": (220, 40, 40), "male": (40, 40, 220), "unclear/cannot tell": (128, 128, 128)}
"""What it was taught to answer of a picture of one colour."""
PROMPTS = {"a red picture": "female", "a blue picture": "male"}
TEMPLATE = (
    "{% for message in messages %}{% for part in message['content'] %}"
    "{{ '<image> ' if part['type'] == 'image' else part['text'] }}"
    "{% endfor %}{% endfor %}{% if add_generation_prompt %} answer {% endif %}"
)


def question(options) -> str:
    lines = [f"{letter}. {option}" for letter, option in zip("ABC", options, strict=True)]
    asked = "What is the gender of the person in the image?"
    return "\n".join([asked, *lines, "Answer with a letter (A, B, C, etc.)."])


def following(prompt: str) -> str:
    return f'Does this figure show "{prompt}"? Please answer yes or no.'


def lessons():
    """Each picture's colour, the question and the answer."""
    for colour in COLOURS:
        for options in permutations(COLOURS):
            yield colour, question(options), "ABC"[options.index(colour)]
        for prompt, shown in PROMPTS.items():
            yield colour, following(prompt), "yes" if shown == colour else "no"


def tokenizer_of(texts) -> PreTrainedTokenizerFast:
    split = pre_tokenizers.Whitespace()
    words = dict.fromkeys(word for text in texts for word, _ in split.pre_tokenize_str(text))
    vocabulary = {word: at for at, word in enumerate(["<unk>", *words, "Yes", "No"])}
    made = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    made.pre_tokenizer = split
    told = PreTrainedTokenizerFast(
        tokenizer_object=made, unk_token="<unk>", pad_token="<pad>", padding_side="left"
    )
    told.add_special_tokens({"additional_special_tokens": ["<image>"]})
    return told


def teach(folder) -> None:
    """Build the model of random weights, let its last layer answer as wanted, and write it.

    What a lesson leaves at its last place differs from lesson to lesson; the weights that turn these 24
    vectors into the wanted answers are a least squares problem.
    """
    torch.manual_seed(0)
    taught = list(lessons())
    tokenizer = tokenizer_of([text for _, text, _ in taught] + ["yes no answer"])
    vision = CLIPVisionConfig(
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=1,
        image_size=16,
        patch_size=8,
    )
    text = LlamaConfig(
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=256,
        initializer_range=0.3,
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=text,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        vision_feature_select_strategy="default",
        image_seq_length=4,
    )
    model = LlavaForConditionalGeneration(config).eval()
    processor = LlavaProcessor(
        image_processor=CLIPImageProcessorPil(
            size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16}
        ),
        tokenizer=tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    )
    for _, weights in model.model.multi_modal_projector.named_parameters():
        torch.nn.init.normal_(weights, 0, 0.3)
    with torch.no_grad():
        left = []
        for colour, asked, _ in taught:
            picture = Image.new("RGB", (16, 16), COLOURS[colour])
            given = processor(images=picture, text=f"<image> {asked} answer ", return_tensors="pt")
            left.append(model.model(**given).last_hidden_state[0, -1])
        wanted = torch.zeros(len(taught), len(tokenizer), dtype=torch.float64)
        for at, (_, _, answer) in enumerate(taught):
            wanted[at, tokenizer.convert_tokens_to_ids(answer)] = 8.0
        solved = torch.linalg.lstsq(torch.stack(left).double(), wanted).solution
        model.lm_head.weight.copy_(solved.T)
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
