"""StOP on a toy vocabulary, whose best text is known, and with a tiny language model and a tiny CLIP."""

import itertools

import numpy as np
import pytest
from tests.conftest import DEVICE

from stereotrope import annotate
from stereotrope.errors import ModelUnusable, UsageError
from stereotrope.probe import causal_lm, stop_prompts

WORDS = ["", "man", "hat", "cup", "turban", "beard", "red", "old"]


class Toy:
    """Proposes every word, in its order."""

    def __init__(self, words=WORDS):
        self.words, self.asked = words, []

    def begin(self, text):
        return (0,)

    def after(self, sequences):
        self.asked.append(len(sequences))
        return [list(range(1, len(self.words))) for _ in sequences]

    def text(self, tokens):
        return " ".join(["A photo of", *(self.words[one] for one in tokens[1:])])


class Encoder:
    """A vector a text, drawn at random, the same each time."""

    def __init__(self):
        self.texts = []

    def __call__(self, texts):
        self.texts += texts
        return [np.random.default_rng(list(text.encode())).normal(size=6) for text in texts]


def exhaustive(pictures, toy, encode, tokens=2):
    units = pictures / np.linalg.norm(pictures, axis=1, keepdims=True)
    found = {}
    for ids in itertools.product(range(1, len(toy.words)), repeat=tokens):
        text = toy.text((0, *ids))
        (vector,) = encode([text])
        found[text] = float(np.mean(units @ (vector / np.linalg.norm(vector))))
    return sorted(found.items(), key=lambda pair: -pair[1])


@pytest.mark.parametrize("seed", range(4))
def test_a_beam_of_the_vocabulary_finds_what_an_exhaustive_search_finds(seed):
    pictures = np.random.default_rng(seed).normal(size=(30, 6)) + 1
    found = stop_prompts(pictures, Encoder(), Toy(), beam=7, keep=4)
    expected = exhaustive(pictures, Toy(), Encoder())[:4]
    assert found["prompt"].to_list() == [text for text, _ in expected]
    assert found["score"].to_list() == pytest.approx([score for _, score in expected], abs=1e-6)
    assert found["rank"].to_list() == [1, 2, 3, 4]
    assert found["prompt"][0] == f"A photo of {found['continuation'][0]}"


def test_a_narrow_beam_asks_less_and_finds_no_better():
    pictures = np.random.default_rng(3).normal(size=(30, 6))
    toy, encode = Toy(), Encoder()
    narrow = stop_prompts(pictures, encode, toy, beam=2, tokens=3)
    assert toy.asked == [1, 2, 2]
    assert len(encode.texts) <= 7 * 5
    assert narrow["score"][0] <= exhaustive(pictures, Toy(), Encoder(), tokens=3)[0][1] + 1e-9


def test_scoring_costs_the_same_for_more_pictures_and_nothing_is_encoded_twice():
    few, many = (np.random.default_rng(1).normal(size=(n, 6)) for n in (3, 3_000))
    encoders = [Encoder(), Encoder()]
    for pictures, encode in zip((few, many), encoders, strict=True):
        stop_prompts(pictures, encode, Toy(), beam=7)
    assert sorted(encoders[0].texts) == sorted(encoders[1].texts)
    scored, encode = {}, Encoder()
    first = stop_prompts(few, encode, Toy(), beam=7, scored=scored)
    n = len(encode.texts)
    assert n == len(set(encode.texts)) == len(scored)
    assert stop_prompts(few, encode, Toy(), beam=7, scored=scored).equals(first)
    stop_prompts(many, encode, Toy(), beam=7, scored=scored)
    assert len(encode.texts) == n


def test_texts_that_end_within_a_character_and_those_without_a_vector_are_left_out():
    toy = Toy(["", "man", "ha\ufffd", "cup"])
    found = stop_prompts(np.eye(6), lambda texts: [None if "cup" in t else np.ones(6) for t in texts], toy)
    assert found["prompt"].to_list() == ["A photo of man man"]
    none = stop_prompts(np.eye(6), lambda texts: [None] * len(texts), Toy())
    assert none.height == 0


@pytest.mark.parametrize(
    ("pictures", "options", "match"),
    [
        (np.zeros((2, 3)), {}, "none has a vector that is finite and not 0"),
        (np.zeros((0, 3)), {}, r"vectors of one picture or more, found shape \(0, 3\)"),
        (np.ones((2, 3)), {"beam": 0}, "must be at least 1, found 2, 0 and 5"),
    ],
)
def test_what_cannot_be_searched_is_told(pictures, options, match):
    with pytest.raises(UsageError, match=match):
        stop_prompts(pictures, Encoder(), Toy(), **options)


def test_a_language_model_proposes_its_likeliest_tokens_and_none_of_its_marks(gpt):
    import torch
    from transformers import AutoTokenizer, GPT2LMHeadModel

    model, tokenizer = GPT2LMHeadModel.from_pretrained(gpt), AutoTokenizer.from_pretrained(gpt)
    proposer = causal_lm(gpt, most=6, device=DEVICE)
    start = proposer.begin("a photo of")
    with torch.no_grad():
        logits = model(torch.tensor([start])).logits[0, -1]
    order = [int(one) for one in logits.argsort(descending=True)]
    kept = [one for one in order if one not in tokenizer.all_special_ids and one < len(tokenizer)]
    assert proposer.after([start]) == [kept[:6]]
    assert len(causal_lm(gpt, most=10_000, device=DEVICE).after([start, start])[1]) == len(kept)


def test_a_language_model_and_an_encoder_find_the_best_of_what_is_proposed(gpt, tiny_clip):
    encoder = annotate.create({"encoder": f"clip:{tiny_clip}", "device": DEVICE})
    rng = np.random.default_rng(2)
    pictures = [rng.integers(0, 255, (32, 32, 3), dtype=np.uint8) for _ in range(5)]
    shown = np.array(encoder.encode_pictures(pictures))

    def encode(texts):
        return [one.vector for one in encoder.encode_texts(texts)]

    proposer = causal_lm(gpt, most=6, device=DEVICE)
    found = stop_prompts(shown, encode, proposer, prefix="a photo of", beam=6, keep=3)
    start = proposer.begin("a photo of")
    firsts = [(*start, one) for one in proposer.after([start])[0]]
    texts = {proposer.text((*ids, one)) for ids in firsts for one in proposer.after([ids])[0]}
    best = max(float(np.mean(shown @ vector)) for vector in encode(list(texts)))
    assert found["score"][0] >= best - 1e-6
    assert found["prompt"][0] in texts


def test_a_model_that_is_not_there_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"language model .*no model is there \(config.json is missing\)"):
        causal_lm(tmp_path)


def test_a_model_of_another_kind_is_told(tiny_clip):
    with pytest.raises(ModelUnusable, match="cannot be loaded"):
        causal_lm(tiny_clip)
