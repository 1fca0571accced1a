"""Sentence encoders through transformers, with a tiny model of random weights in a folder as
sentence-transformers has it."""

import json
import shutil
from importlib.util import find_spec

import numpy as np
import pytest
from tests.conftest import require

import stereotrope as st
from stereotrope.design.factors import factor_file
from stereotrope.errors import AuditFileError, IncompleteError, ModelUnusable, UsageError

TEXTS = ["bake a loaf of bread", "bake", "repair the old bicycle", "wash a car"]
PARTS = [("", "Transformer"), ("1_Pooling", "Pooling"), ("2_Normalize", "Normalize")]


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    """Folder of a BERT of random weights, texts of 8 tokens, vectors of 16, pooled by their mean."""
    require(all(map(find_spec, ("torch", "transformers"))), "torch and transformers are not installed")
    import torch
    from transformers import BertConfig, BertModel, BertTokenizer

    folder = tmp_path_factory.mktemp("tiny-bert")
    words = dict.fromkeys(" ".join(TEXTS).split())
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *words]
    torch.manual_seed(0)
    layers = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    config = BertConfig(**layers, vocab_size=len(vocabulary), max_position_embeddings=16)
    BertModel(config, add_pooling_layer=False).save_pretrained(folder)
    BertTokenizer(vocab={word: at for at, word in enumerate(vocabulary)}).save_pretrained(folder)
    write(folder, pooling_mode_mean_tokens=True)
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 8, "do_lower_case": true}')
    return folder


def write(folder, parts=PARTS, **pooling):
    """What says how tokens become one vector."""
    kind = "sentence_transformers.models."
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": kind + name} for i, (path, name) in enumerate(parts)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir(exist_ok=True)
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": 16, **pooling}))


@pytest.fixture
def model(tiny_bert, tmp_path):
    """A copy to change."""
    return shutil.copytree(tiny_bert, tmp_path / "model")


def loaded(folder):
    from stereotrope.design.factors._sentences import PooledModel

    return PooledModel(folder, revision=None, device="cpu", what="encoder 'm'")


def tokens_of(folder, texts):
    """Last hidden states of texts padded to one length, and their mask, by the model itself."""
    import torch
    from transformers import BertModel, BertTokenizer

    tokenizer = BertTokenizer.from_pretrained(folder)
    given = tokenizer(texts, padding=True, truncation=True, max_length=8, return_tensors="pt")
    with torch.no_grad():
        states = BertModel.from_pretrained(folder)(**given).last_hidden_state
    return states.numpy(), given["attention_mask"].numpy()


POOLED = {
    "mean": lambda rows: rows.mean(axis=0),
    "cls": lambda rows: rows[0],
    "max": lambda rows: rows.max(axis=0),
    "lasttoken": lambda rows: rows[-1],
    "mean_sqrt_len_tokens": lambda rows: rows.sum(axis=0) / np.sqrt(len(rows)),
    "weightedmean": lambda rows: np.average(rows, axis=0, weights=np.arange(len(rows)) + 1),
}


@pytest.mark.parametrize("mode", POOLED)
def test_vectors_are_those_of_the_model_pooled_as_its_folder_says(model, mode):
    write(model, pooling_mode=mode)
    states, mask = tokens_of(model, TEXTS)
    expected = [POOLED[mode](rows[on == 1]) for rows, on in zip(states, mask, strict=True)]
    np.testing.assert_allclose(loaded(model).vectors(TEXTS), expected, atol=1e-5)


def test_older_names_of_pooling_are_read_and_several_stand_side_by_side(model):
    write(model, pooling_mode_cls_token=True, pooling_mode_max_tokens=True, pooling_mode_mean_tokens=False)
    both = loaded(model).vectors(TEXTS)
    states, mask = tokens_of(model, TEXTS)
    expected = [[*rows[0], *rows[on == 1].max(axis=0)] for rows, on in zip(states, mask, strict=True)]
    np.testing.assert_allclose(both, expected, atol=1e-5)


def test_a_vector_hangs_on_no_other_text_and_case_and_what_is_too_long_are_left_as_the_folder_says(tiny_bert):
    made = loaded(tiny_bert)
    np.testing.assert_allclose(made.vectors(["wash a car"])[0], made.vectors(TEXTS)[3], atol=1e-6)
    assert made.vectors(["WASH a Car"]) == made.vectors(["wash a car"])
    assert made.vectors(["bake " * 6]) == made.vectors(["bake " * 9]) != made.vectors(["bake " * 5])


def test_a_prompt_that_the_model_puts_before_texts_is_put_there(model):
    said = {"prompts": {"clustering": "repair "}, "default_prompt_name": "clustering"}
    plain = loaded(model).vectors(["repair a car"])
    (model / "config_sentence_transformers.json").write_text(json.dumps(said))
    assert loaded(model).vectors(["a car"]) == plain


def test_a_model_in_a_folder_of_its_own_is_read(tiny_bert, tmp_path):
    shutil.copytree(tiny_bert, tmp_path / "m" / "0_Transformer")
    write(tmp_path / "m", [("0_Transformer", "Transformer"), *PARTS[1:]], pooling_mode="mean")
    assert loaded(tmp_path / "m").vectors(TEXTS) == loaded(tiny_bert).vectors(TEXTS)


@pytest.mark.parametrize(
    ("parts", "pooling", "message"),
    [
        ([*PARTS, ("3_Dense", "Dense")], {}, "is made of Transformer, Pooling, Normalize, Dense; read are"),
        (PARTS[:1], {}, "is made of Transformer; read are Transformer, Pooling, Normalize here, so serve it"),
        (PARTS, {"pooling_mode": "clever"}, "makes one vector of its tokens by clever; read are cls, lastt"),
        (PARTS, {}, "makes one vector of its tokens by nothing; read are"),
        (PARTS, {"pooling_mode": "mean", "include_prompt": False}, "by mean without its prompt; read are"),
    ],
)
def test_a_model_of_parts_that_are_not_read_is_refused(model, parts, pooling, message):
    write(model, parts, **pooling)
    with pytest.raises(ModelUnusable, match=message):
        loaded(model)


def test_a_model_that_says_not_how_tokens_become_one_vector_is_refused(model):
    (model / "modules.json").unlink()
    with pytest.raises(ModelUnusable, match=r"does not say how its tokens become one vector \(modules.json"):
        loaded(model)


def test_a_model_without_its_weights_or_words_is_refused(model):
    from safetensors.numpy import load_file, save_file

    weights = load_file(model / "model.safetensors")
    kept = {name: one for name, one in weights.items() if "layer.1" not in name}
    save_file(kept, model / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelUnusable, match=r"encoder 'm': 16 of its weights are missing .*be chance"):
        loaded(model)


def audit(tmp_path, model, **more):
    (tmp_path / "audit.yaml").write_text(
        json.dumps(
            {
                "prompts": {
                    "groups": {"activities": {"template": "{subject} who {phrase}", "phrases": TEXTS}}
                },
                "generators": ["calibrated"],
                "factors": [
                    {"clusters": "clusters.csv", "encoder": {"model": f"transformers:{model}", **more}}
                ],
            }
        )
    )
    return st.Audit.from_yaml(tmp_path / "audit.yaml")


def test_scenarios_are_clustered_by_a_model_and_its_vectors_are_kept(model, tmp_path, monkeypatch):
    require(all(map(find_spec, ("sklearn", "umap"))), "scikit-learn and umap-learn are not installed")
    notes = audit(tmp_path, "./model").design()
    assert notes[-1].startswith("clusters.csv: transformers:./model, scikit-learn ")
    first = (tmp_path / "clusters.csv").read_text()
    (tmp_path / "clusters.csv").unlink()
    monkeypatch.setattr("stereotrope.design.factors._sentences.PooledModel", None)
    audit(tmp_path, "./model").design()
    assert (tmp_path / "clusters.csv").read_text() == first


def test_another_pooling_of_the_same_folder_is_another_encoder(model, tmp_path):
    def keyed():
        one = factor_file({"clusters": "c.csv", "encoder": f"transformers:{model}"}, relative_to=tmp_path)
        return one.encoder.asker.key_of("a")

    before = keyed()
    write(model, pooling_mode="cls")
    assert keyed() != before


def test_a_model_that_is_not_there_is_told_before_anything_is_asked(tmp_path):
    with pytest.raises(
        AuditFileError, match=r"no sentence encoder is there \(modules.json is missing\); give"
    ):
        audit(tmp_path, "./nowhere").design()


def test_what_is_written_of_a_model_on_this_computer_is_checked(tmp_path):
    with pytest.raises(UsageError, match="a folder has no revision; remove `revision:`"):
        factor_file({"clusters": "c.csv", "encoder": {"model": "transformers:./m", "revision": "1"}})
    with pytest.raises(UsageError, match=r"device must be auto, cpu, cuda or cuda:0"):
        factor_file({"clusters": "c.csv", "encoder": {"model": "transformers:./m", "device": "tpu"}})
    with pytest.raises(UsageError, match="unknown key 'price'"):
        factor_file({"clusters": "c.csv", "encoder": {"model": "transformers:./m", "price": 0}})


def test_a_model_that_cannot_be_read_ends_the_command_and_leaves_the_file(model, tmp_path):
    require(all(map(find_spec, ("sklearn", "umap"))), "scikit-learn and umap-learn are not installed")
    (model / "model.safetensors").write_bytes(b"torn")
    with pytest.raises(IncompleteError, match=r"4 of 4 missing: encoder .* cannot be loaded"):
        audit(tmp_path, "./model").design()
    assert not (tmp_path / "clusters.csv").exists()
