"""Weights and config.json of each kind of model, under the names that ``foreign`` reads."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor

from multihead.apps.huggingface.foreign import bert, gpt2, marian, vit
from multihead.apps.huggingface.foreign._parts import GELUS, KINDS, layers

POSITIONS = 2304
"""Positions of an exported MarianMT model; ours have no limit."""
_EPSILON = 1e-5
_NAMES = {ours: theirs for theirs, ours in reversed(GELUS.items())}
_MARIAN_NAMES = {"relu": "relu", "gelu": "gelu", "silu": "swish"}

Weights = Mapping[str, Tensor]
Symbols = Mapping[str, int]


class HuggingFaceKind(NamedTuple):
    """One kind of model.

    Attributes:
        architecture: the class of the transformers library.
        faults: yields the settings that it cannot express.
        config: settings and ids of special symbols -> config.json.
        weights: our weights and settings -> their weights.
    """

    architecture: str
    faults: Callable[[Any], Iterator[str]]
    config: Callable[[Any, Symbols], dict[str, Any]]
    weights: Callable[[Weights, Any], dict[str, Tensor]]


def _renamed_back(
    ours: Weights, parts: Mapping[str, str], *, here: str = "", there: str = ""
) -> dict[str, Tensor]:
    """Return matrix and bias of modules by their names; see ``foreign._parts.renamed``."""
    return {
        f"{there}{their}.{kind}": ours[f"{here}{our}.{kind}"]
        for our, their in parts.items()
        for kind in KINDS
        if f"{here}{our}.{kind}" in ours
    }


def _different(s: Any, expressible: Mapping[str, object]) -> Iterator[str]:
    for key, value in expressible.items():
        if getattr(s, key) != value:
            yield f"{key} = {_spell(getattr(s, key))}, not {_spell(value)}"


def _marian_faults(s: Any) -> Iterator[str]:
    expressible = {
        "norm": "post",
        "positions": "sinusoidal",
        "tied": "all",
        "score": "scaled_dot",
        "residual": True,
        "first_input": "begin",
        "decoder_cell": "attention",
        "norm_epsilon": _EPSILON,
        "window": 0,
    }
    yield from _different(s, expressible)
    width = s.d_model // s.num_heads
    for key, equal in (("d_k", width), ("d_v", width), ("num_kv_heads", s.num_heads)):
        if getattr(s, key) not in (0, equal):
            yield f"{key} = {getattr(s, key)}, not {equal}"
    if s.d_model % 2:
        yield f"d_model = {s.d_model}, not even"
    if s.activation not in _MARIAN_NAMES:
        yield f"activation = {s.activation}"


def _marian_config(s: Any, symbols: Symbols) -> dict[str, Any]:
    counts = {"encoder": s.num_layers, "decoder": s.decoder_layers or s.num_layers}
    sides = {f"{side}_layers": count for side, count in counts.items()}
    sides |= {f"{side}_attention_heads": s.num_heads for side in counts}
    sides |= {f"{side}_ffn_dim": s.d_ff for side in counts}
    return {
        "model_type": "marian",
        **sides,
        "vocab_size": s.source_vocab,
        "decoder_vocab_size": s.target_vocab,
        "d_model": s.d_model,
        "max_position_embeddings": POSITIONS,
        "activation_function": _MARIAN_NAMES[s.activation],
        "dropout": s.dropout,
        "attention_dropout": s.attention_dropout,
        "activation_dropout": s.activation_dropout,
        "scale_embedding": True,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
        "static_position_embeddings": True,
        "normalize_before": False,
        "normalize_embedding": False,
        "add_final_layer_norm": False,
        "is_encoder_decoder": True,
        "pad_token_id": symbols["pad"],
        "bos_token_id": symbols["bos"],
        "eos_token_id": symbols["eos"],
        "forced_eos_token_id": None,
        "decoder_start_token_id": symbols["bos"],
    }


def _marian_weights(ours: Weights, s: Any) -> dict[str, Tensor]:
    # Their sines precede their cosines, ours alternate (``foreign.marian.weights``).
    d = s.d_model
    order_d = torch.arange(d).view(2, d // 2).T.flatten().argsort()
    theirs: dict[str, Tensor] = {}
    for stack, parts in (("encoder", marian.ENCODER), ("decoder", marian.DECODER)):
        for i in layers(ours, f"{stack}.layers."):
            here = f"{stack}.layers.{i}."
            ordered = {
                name: marian.order(name, weight, order_d)
                for name, weight in ours.items()
                if name.startswith(here)
            }
            theirs |= _renamed_back(ordered, parts, here=here, there=f"model.{here}")
    theirs["model.shared.weight"] = ours["target_embedding.weight"][:, order_d]
    bias_V = ours.get("output_bias", torch.zeros(s.target_vocab))
    theirs["final_logits_bias"] = bias_V[None]
    return theirs


def _gpt_faults(s: Any) -> Iterator[str]:
    yield from _different(s, {"attention": "full", "positions": "learned"})
    if s.d_k not in (0, s.d_model // s.num_heads):
        yield f"d_k = {s.d_k}, not {s.d_model // s.num_heads}"
    if s.activation not in _NAMES:
        yield f"activation = {s.activation}"


def _gpt_config(s: Any, symbols: Symbols) -> dict[str, Any]:
    return {
        "model_type": "gpt2",
        "vocab_size": s.vocab_size,
        "n_positions": s.context,
        "n_embd": s.d_model,
        "n_layer": s.num_layers,
        "n_head": s.num_heads,
        "n_inner": s.d_ff or None,
        "resid_pdrop": s.dropout,
        "embd_pdrop": s.dropout,
        "attn_pdrop": s.attention_dropout,
        "activation_function": _NAMES[s.activation],
        "layer_norm_epsilon": _EPSILON,
        "tie_word_embeddings": True,
        "bos_token_id": symbols.get("bos"),
        "eos_token_id": symbols.get("eos"),
    }


def _gpt_weights(ours: Weights, s: Any) -> dict[str, Tensor]:
    theirs = {
        "transformer.wte.weight": ours["embedding.weight"],
        "transformer.wpe.weight": ours["positions.weight"],
    }
    theirs |= _renamed_back(ours, {"stack.norm": "ln_f"}, there="transformer.")
    for i in range(s.num_layers):
        here, there = f"stack.layers.{i}.", f"transformer.h.{i}."
        theirs |= _renamed_back(ours, gpt2.NORMS, here=here, there=there)
        products = _renamed_back(ours, gpt2.PRODUCTS, here=here, there=there)
        for kind in KINDS:
            three = [ours[f"{here}self_attention.{name}.{kind}"] for name in ("w_q", "w_k", "w_v")]
            products[f"{there}attn.c_attn.{kind}"] = torch.cat(three)
        theirs |= {name: part.T if part.dim() == 2 else part for name, part in products.items()}
    return theirs


def _bert_faults(s: Any) -> Iterator[str]:
    yield from _different(s, {"attention": "full", "positions": "learned"})
    if s.activation not in _NAMES:
        yield f"activation = {s.activation}"


def _bert_config(s: Any, symbols: Symbols) -> dict[str, Any]:
    return {
        "model_type": "bert",
        "vocab_size": s.vocab_size,
        "max_position_embeddings": s.max_positions,
        "hidden_size": s.d_model,
        "num_hidden_layers": s.num_layers,
        "num_attention_heads": s.num_heads,
        "intermediate_size": s.d_ff or 4 * s.d_model,
        "hidden_dropout_prob": s.dropout,
        "attention_probs_dropout_prob": s.attention_dropout,
        "hidden_act": _NAMES[s.activation],
        "layer_norm_eps": s.norm_epsilon,
        "pad_token_id": symbols["pad"],
    }


def _bert_weights(ours: Weights, s: Any) -> dict[str, Tensor]:
    embeddings, head = f"{bert.PREFIX}embeddings.", bert.HEAD
    theirs = {
        f"{embeddings}word_embeddings.weight": ours["encoder.embedding.weight"],
        f"{embeddings}token_type_embeddings.weight": ours["encoder.segments.weight"],
        f"{embeddings}position_embeddings.weight": ours["encoder.positions.weight"],
        f"{head}bias": ours["output_bias"],
    }
    heads = {
        "transform": f"{head}transform.dense",
        "transform_norm": f"{head}transform.LayerNorm",
        "follows": "cls.seq_relationship",
        "encoder.pool": f"{bert.PREFIX}pooler.dense",
        "encoder.norm": f"{embeddings}LayerNorm",
    }
    theirs |= _renamed_back(ours, heads)
    for i in range(s.num_layers):
        there = f"{bert.PREFIX}encoder.layer.{i}."
        theirs |= _renamed_back(ours, bert.PARTS, here=f"encoder.stack.layers.{i}.", there=there)
    return theirs


def _vit_faults(s: Any) -> Iterator[str]:
    yield from _different(s, {"attention": "full", "stem": "linear", "pooling": "class"})


def _vit_config(s: Any, symbols: Symbols) -> dict[str, Any]:
    return {
        "model_type": "vit",
        "image_size": s.image_size,
        "patch_size": s.patch_size,
        "num_channels": s.channels,
        "hidden_size": s.d_model,
        "intermediate_size": s.d_ff,
        "num_hidden_layers": s.num_layers,
        "num_attention_heads": s.num_heads,
        "hidden_dropout_prob": s.dropout,
        "attention_probs_dropout_prob": s.attention_dropout,
        "layer_norm_eps": s.norm_epsilon,
        "hidden_act": "gelu",
        "qkv_bias": True,
        "id2label": {str(number): name for number, name in enumerate(s.class_names)},
        "label2id": {name: number for number, name in enumerate(s.class_names)},
    }


def _vit_weights(ours: Weights, s: Any) -> dict[str, Tensor]:
    # The class token holds its position, and pixels go from -1 to 1 as with mean and deviation 0.5.
    table_Pd, d = ours["positions.weight"], s.d_model
    project_dChw = ours["patches.project.weight"].reshape(d, s.channels, s.patch_size, s.patch_size)
    theirs = {
        "vit.embeddings.cls_token": ours["class_token"].reshape(1, 1, d),
        "vit.embeddings.position_embeddings": torch.cat([torch.zeros(1, d), table_Pd])[None],
        f"vit.{vit.PATCHES}.weight": project_dChw,
        f"vit.{vit.PATCHES}.bias": ours["patches.project.bias"],
    }
    theirs |= _renamed_back(ours, {"encoder.norm": "vit.layernorm", "classifier": vit.CLASSIFIER})
    for i in range(s.num_layers):
        there = f"vit.encoder.layer.{i}."
        theirs |= _renamed_back(ours, vit.PARTS, here=f"encoder.layers.{i}.", there=there)
    return theirs


def _spell(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else str(value).lower()


SUPPORTED = {
    "transformer": HuggingFaceKind("MarianMTModel", _marian_faults, _marian_config, _marian_weights),
    "gpt": HuggingFaceKind("GPT2LMHeadModel", _gpt_faults, _gpt_config, _gpt_weights),
    "bert": HuggingFaceKind("BertForPreTraining", _bert_faults, _bert_config, _bert_weights),
    "vit": HuggingFaceKind("ViTForImageClassification", _vit_faults, _vit_config, _vit_weights),
}
"""Exports by our kind of model."""
