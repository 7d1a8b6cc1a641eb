"""BERT as the transformers library stores it (with its two heads, or the encoder alone)."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from multihead.errors import UserError

KIND = "bert"
ACTIVATIONS = {"gelu": "gelu", "gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "relu": "relu"}
PREFIX = "bert."
KINDS = ("weight", "bias")


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return our settings for their config.json.

    Raises:
        UserError: something that this model does not have.
    """
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise UserError("positions are not absolute, as BERT's are", place="config.json")
    activation = config.get("hidden_act", "gelu")
    if activation not in ACTIVATIONS:
        raise UserError(f'hidden_act "{activation}" is not known here', place="config.json")
    return {
        "vocab_size": config["vocab_size"],
        "max_positions": config["max_position_embeddings"],
        "d_model": config["hidden_size"],
        "num_layers": config["num_hidden_layers"],
        "num_heads": config["num_attention_heads"],
        "d_ff": config["intermediate_size"],
        "dropout": config.get("hidden_dropout_prob", 0.1),
        "attention_dropout": config.get("attention_probs_dropout_prob", 0.1),
        "activation": ACTIVATIONS[activation],
    }


def weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return our weights, by name; a head that is not there, or a pooler, is made of zeros."""
    given = {name.removeprefix(PREFIX): weight for name, weight in theirs.items()}
    V, d = given["embeddings.word_embeddings.weight"].shape
    ours = {
        "encoder.embedding.weight": given["embeddings.word_embeddings.weight"],
        "encoder.segments.weight": given["embeddings.token_type_embeddings.weight"],
        "encoder.positions.weight": given["embeddings.position_embeddings.weight"],
        "output_bias": given.get("cls.predictions.bias", torch.zeros(V)),
    }
    linear = {
        "encoder.pool": ("pooler.dense", d),
        "transform": ("cls.predictions.transform.dense", d),
        "follows": ("cls.seq_relationship", 2),
    }
    for our, (their, width) in linear.items():
        ours[f"{our}.weight"] = given.get(f"{their}.weight", torch.zeros(width, d))
        ours[f"{our}.bias"] = given.get(f"{their}.bias", torch.zeros(width))
    ours["transform_norm.weight"] = given.get("cls.predictions.transform.LayerNorm.weight", torch.ones(d))
    ours["transform_norm.bias"] = given.get("cls.predictions.transform.LayerNorm.bias", torch.zeros(d))
    for kind in KINDS:
        ours[f"encoder.norm.{kind}"] = given[f"embeddings.LayerNorm.{kind}"]
    layers = [name for name in given if name.startswith("encoder.layer.")]
    for i in range(1 + max(int(name.split(".")[2]) for name in layers)):
        for our, their_name in PARTS.items():
            for kind in KINDS:
                ours[f"encoder.stack.layers.{i}.{our}.{kind}"] = given[
                    f"encoder.layer.{i}.{their_name}.{kind}"
                ]
    return {name: weight.contiguous() for name, weight in ours.items()}


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
