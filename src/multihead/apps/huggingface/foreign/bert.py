"""Import of BERT, with its two heads or the encoder alone."""

from collections.abc import Mapping

import torch
from torch import Tensor

from multihead.apps.huggingface.foreign._folder import TOKENIZER, Folder, one_tokenizer
from multihead.apps.huggingface.foreign._parts import GELUS, layers, or_zeros, rename, without

KIND = "bert"
FILES = (TOKENIZER,)
PREFIX = "bert."
HEAD = "cls.predictions."
PARTS = {
    "self_attention.w_q": "attention.self.query",
    "self_attention.w_k": "attention.self.key",
    "self_attention.w_v": "attention.self.value",
    "self_attention.w_o": "attention.output.dense",
    "around_attention.norm": "attention.output.LayerNorm",
    "feed_forward.w_1": "intermediate.dense",
    "feed_forward.w_2": "output.dense",
    "around_feed_forward.norm": "output.LayerNorm",
}


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    Raises:
        UserError: an unsupported setting.
        KeyError: a size is missing.
    """
    folder.require(position_embedding_type="absolute")
    config = folder.config
    return {
        "model.vocab_size": config["vocab_size"],
        "model.max_positions": config["max_position_embeddings"],
        "model.d_model": config["hidden_size"],
        "model.num_layers": config["num_hidden_layers"],
        "model.num_heads": config["num_attention_heads"],
        "model.d_ff": config["intermediate_size"],
        "model.dropout": config.get("hidden_dropout_prob", 0.1),
        "model.attention_dropout": config.get("attention_probs_dropout_prob", 0.1),
        "model.activation": folder.activation("hidden_act", "gelu", GELUS),
        "model.norm_epsilon": config.get("layer_norm_eps", 1e-12),
    }


def weights(theirs: Mapping[str, Tensor], folder: Folder) -> dict[str, Tensor]:
    """Return our weights by name; zeros for a missing head or pooler."""
    unprefixed = without(PREFIX, theirs)
    V, d = unprefixed["embeddings.word_embeddings.weight"].shape
    ours = {
        "encoder.embedding.weight": unprefixed["embeddings.word_embeddings.weight"],
        "encoder.segments.weight": unprefixed["embeddings.token_type_embeddings.weight"],
        "encoder.positions.weight": unprefixed["embeddings.position_embeddings.weight"],
        "output_bias": unprefixed.get(f"{HEAD}bias", torch.zeros(V)),
        "transform_norm.weight": unprefixed.get(f"{HEAD}transform.LayerNorm.weight", torch.ones(d)),
        "transform_norm.bias": unprefixed.get(f"{HEAD}transform.LayerNorm.bias", torch.zeros(d)),
    }
    ours |= or_zeros(unprefixed, "pooler.dense", "encoder.pool", (d, d))
    ours |= or_zeros(unprefixed, f"{HEAD}transform.dense", "transform", (d, d))
    ours |= or_zeros(unprefixed, "cls.seq_relationship", "follows", (2, d))
    ours |= rename(unprefixed, {"encoder.norm": "embeddings.LayerNorm"})
    for i in layers(unprefixed, "encoder.layer."):
        ours |= rename(unprefixed, PARTS, ours=f"encoder.stack.layers.{i}.", theirs_at=f"encoder.layer.{i}.")
    return ours


def missing(theirs: Mapping[str, Tensor]) -> str:
    """Return the masked-language-model head if the folder has the encoder alone."""
    return "" if any(name.startswith(HEAD) for name in theirs) else "masked-language-model head"


tokenizers = one_tokenizer
