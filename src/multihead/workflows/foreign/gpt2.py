"""GPT-2 as the transformers library stores it."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from multihead.errors import UserError

KIND = "gpt"
ACTIVATIONS = {"gelu_new": "gelu_tanh", "gelu_pytorch_tanh": "gelu_tanh", "gelu": "gelu", "relu": "relu"}
PREFIX = "transformer."


def settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return our settings for their config.json.

    Raises:
        UserError: something that this model does not have.
    """
    for key, wanted in {"scale_attn_weights": True, "scale_attn_by_inverse_layer_idx": False}.items():
        if config.get(key, wanted) != wanted:
            raise UserError(f"{key} = {config[key]}, which is not GPT-2 as published", place="config.json")
    activation = config.get("activation_function", "gelu_new")
    if activation not in ACTIVATIONS:
        raise UserError(f'activation_function "{activation}" is not known here', place="config.json")
    return {
        "vocab_size": config["vocab_size"],
        "context": config["n_positions"],
        "d_model": config["n_embd"],
        "num_layers": config["n_layer"],
        "num_heads": config["n_head"],
        "d_ff": config.get("n_inner") or 0,
        "dropout": config.get("resid_pdrop", 0.1),
        "attention_dropout": config.get("attn_pdrop", 0.1),
        "activation": ACTIVATIONS[activation],
    }


def weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return our weights, by name. Their matrices are (in, out), with queries, keys and values in one."""
    given = {name.removeprefix(PREFIX): weight for name, weight in theirs.items()}
    ours = {
        "embedding.weight": given["wte.weight"],
        "positions.weight": given["wpe.weight"],
        "stack.norm.weight": given["ln_f.weight"],
        "stack.norm.bias": given["ln_f.bias"],
    }
    count = 1 + max(int(name.split(".")[1]) for name in given if name.startswith("h."))
    for i in range(count):
        here, there = f"stack.layers.{i}.", f"h.{i}."
        for kind in ("weight", "bias"):
            for our, their in (("w_q", 0), ("w_k", 1), ("w_v", 2)):
                part = given[f"{there}attn.c_attn.{kind}"].chunk(3, dim=-1)[their]
                ours[f"{here}self_attention.{our}.{kind}"] = part.T if kind == "weight" else part
            for our, their_name in (
                ("self_attention.w_o", "attn.c_proj"),
                ("feed_forward.w_1", "mlp.c_fc"),
                ("feed_forward.w_2", "mlp.c_proj"),
            ):
                part = given[f"{there}{their_name}.{kind}"]
                ours[f"{here}{our}.{kind}"] = part.T if kind == "weight" else part
            ours[f"{here}around_attention.norm.{kind}"] = given[f"{there}ln_1.{kind}"]
            ours[f"{here}around_feed_forward.norm.{kind}"] = given[f"{there}ln_2.{kind}"]
    return {name: weight.contiguous() for name, weight in ours.items()}
