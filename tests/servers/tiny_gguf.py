"""Write a llama model that answers “No”, or what a grammar makes of it: ``python tiny_gguf.py FILE``.

As in tiny_vlm.py each token leads to one other.
"""

import sys

import numpy as np
from gguf import GGUFWriter, TokenType

WIDTH, HEADS, CONTEXT = 260, 2, 4096
FIRST = ["<unk>", "<s>", "</s>"]

tokens = [*FIRST, *(f"<0x{byte:02X}>" for byte in range(256))]
kinds = [TokenType.UNKNOWN, TokenType.CONTROL, TokenType.CONTROL, *[TokenType.BYTE] * 256]


def number(character):
    return len(FIRST) + ord(character)


follows = np.random.default_rng(0).normal(0, 0.02, (len(tokens), WIDTH)).astype(np.float32)
for one, next_one in (("]", number("N")), ("N", number("o")), ("o", FIRST.index("</s>"))):
    follows[next_one, number(one)] = 1.0

writer = GGUFWriter(sys.argv[1], "llama")
writer.add_context_length(CONTEXT)
writer.add_embedding_length(WIDTH)
writer.add_block_count(1)
writer.add_feed_forward_length(WIDTH)
writer.add_head_count(HEADS)
writer.add_head_count_kv(HEADS)
writer.add_rope_dimension_count(WIDTH // HEADS)
writer.add_layer_norm_rms_eps(1e-5)
writer.add_vocab_size(len(tokens))
writer.add_tokenizer_model("llama")
writer.add_token_list(tokens)
writer.add_token_scores([0.0] * len(tokens))
writer.add_token_types(kinds)
writer.add_unk_token_id(FIRST.index("<unk>"))
writer.add_bos_token_id(FIRST.index("<s>"))
writer.add_eos_token_id(FIRST.index("</s>"))
writer.add_tensor("token_embd.weight", np.eye(len(tokens), WIDTH, dtype=np.float32))
writer.add_tensor("output.weight", follows)
writer.add_tensor("output_norm.weight", np.ones(WIDTH, dtype=np.float32))
for name in ("attn_norm", "ffn_norm"):
    writer.add_tensor(f"blk.0.{name}.weight", np.ones(WIDTH, dtype=np.float32))
for name in ("attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"):
    writer.add_tensor(f"blk.0.{name}.weight", np.zeros((WIDTH, WIDTH), dtype=np.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
