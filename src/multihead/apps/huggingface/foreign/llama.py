"""Import of Llama."""

from collections.abc import Mapping

from torch import Tensor

from multihead.apps.huggingface.foreign._folder import TOKENIZER, Folder, one_tokenizer
from multihead.apps.huggingface.foreign._parts import layers, without

KIND = "llama"
FILES = (TOKENIZER,)
ACTIVATIONS = {"silu": "swiglu", "swish": "swiglu", "gelu": "geglu"}
PARTS = {
    "self_attention.w_q": "self_attn.q_proj",
    "self_attention.w_k": "self_attn.k_proj",
    "self_attention.w_v": "self_attn.v_proj",
    "self_attention.w_o": "self_attn.o_proj",
    "feed_forward.w_g": "mlp.gate_proj",
    "feed_forward.w_1": "mlp.up_proj",
    "feed_forward.w_2": "mlp.down_proj",
    "around_attention.norm": "input_layernorm",
    "around_feed_forward.norm": "post_attention_layernorm",
}
HEAD = "lm_head.weight"
BASE = 10_000.0


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    Raises:
        UserError: an unsupported setting.
        KeyError: a size is missing.
    """
    folder.require(attention_bias=False, mlp_bias=False)
    config = folder.config
    return {
        "model.vocab_size": config["vocab_size"],
        "model.context": config["max_position_embeddings"],
        "model.d_model": config["hidden_size"],
        "model.num_layers": config["num_hidden_layers"],
        "model.num_heads": config["num_attention_heads"],
        "model.num_kv_heads": config.get("num_key_value_heads") or 0,
        "model.d_k": config.get("head_dim") or 0,
        "model.d_ff": config["intermediate_size"],
        "model.attention_dropout": config.get("attention_dropout") or 0.0,
        "model.activation": folder.activation("hidden_act", "silu", ACTIVATIONS),
        "model.rotary_base": _base(folder),
        "model.norm_epsilon": config.get("rms_norm_eps", 1e-6),
        "model.tied": bool(config.get("tie_word_embeddings", False)),
    }


def _base(folder: Folder) -> object:
    """The rotary base, from the older or the newer form of config.json."""
    parameters = folder.config.get("rope_parameters") or folder.config.get("rope_scaling") or {}
    kind = parameters.get("rope_type", parameters.get("type", "default"))
    if kind != "default":
        raise folder.refuse(f'rotary positions of the type "{kind}" are not supported, only "default"')
    return parameters.get("rope_theta", folder.config.get("rope_theta", BASE))


def weights(
    theirs: Mapping[str, Tensor], folder: Folder, parts: Mapping[str, str] = PARTS
) -> dict[str, Tensor]:
    """Return our weights by name; ``parts`` are the names within a layer."""
    unprefixed = without("model.", theirs)
    ours = {
        "embedding.weight": unprefixed["embed_tokens.weight"],
        "stack.norm.weight": unprefixed["norm.weight"],
    }
    if not folder.config.get("tie_word_embeddings", False):
        ours["head.weight"] = unprefixed[HEAD]
    for i in layers(unprefixed, "layers."):
        for our, their in parts.items():
            ours[f"stack.layers.{i}.{our}.weight"] = unprefixed[f"layers.{i}.{their}.weight"]
    return ours


def missing(theirs: Mapping[str, Tensor]) -> str:
    """Return "": an untied model without its output layer is refused."""
    return ""


tokenizers = one_tokenizer
