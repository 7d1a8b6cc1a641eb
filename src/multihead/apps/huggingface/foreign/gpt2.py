"""Import of GPT-2."""

from collections.abc import Mapping

from torch import Tensor

from multihead.apps.huggingface.foreign._folder import TOKENIZER, Folder, one_tokenizer
from multihead.apps.huggingface.foreign._parts import GELUS, KINDS, layers, rename, without

KIND = "gpt"
FILES = (TOKENIZER,)
NORMS = {"around_attention.norm": "ln_1", "around_feed_forward.norm": "ln_2"}
PRODUCTS = {
    "self_attention.w_o": "attn.c_proj",
    "feed_forward.w_1": "mlp.c_fc",
    "feed_forward.w_2": "mlp.c_proj",
}


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    Raises:
        UserError: an unsupported setting.
        KeyError: a size is missing.
    """
    folder.require(scale_attn_weights=True, scale_attn_by_inverse_layer_idx=False, layer_norm_epsilon=1e-5)
    config = folder.config
    return {
        "model.vocab_size": config["vocab_size"],
        "model.context": config["n_positions"],
        "model.d_model": config["n_embd"],
        "model.num_layers": config["n_layer"],
        "model.num_heads": config["n_head"],
        "model.d_ff": config.get("n_inner") or 0,
        "model.dropout": config.get("resid_pdrop", 0.1),
        "model.attention_dropout": config.get("attn_pdrop", 0.1),
        "model.activation": folder.activation("activation_function", "gelu_new", GELUS),
    }


def weights(theirs: Mapping[str, Tensor], folder: Folder) -> dict[str, Tensor]:
    """Return our weights by name. Theirs are (in, out), with query, key and value matrices in one."""
    unprefixed = without("transformer.", theirs)
    ours = {"embedding.weight": unprefixed["wte.weight"], "positions.weight": unprefixed["wpe.weight"]}
    ours |= rename(unprefixed, {"stack.norm": "ln_f"})
    for i in layers(unprefixed, "h."):
        here, there = f"stack.layers.{i}.", f"h.{i}."
        ours |= rename(unprefixed, NORMS, ours=here, theirs_at=there)
        products = rename(unprefixed, PRODUCTS, ours=here, theirs_at=there)
        for kind in KINDS:
            three = unprefixed[f"{there}attn.c_attn.{kind}"].chunk(3, dim=-1)
            names = [f"{here}self_attention.{name}.{kind}" for name in ("w_q", "w_k", "w_v")]
            products |= dict(zip(names, three, strict=True))
        ours |= {name: part.T if part.dim() == 2 else part for name, part in products.items()}
    return ours


def missing(theirs: Mapping[str, Tensor]) -> str:
    """Return "": nothing can be missing, since the output layer is tied to the embedding."""
    return ""


tokenizers = one_tokenizer
