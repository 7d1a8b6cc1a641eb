"""Import of MarianMT translators (Junczys-Dowmunt et al. 2018)."""

from collections.abc import Mapping

import torch
from torch import Tensor

from multihead.apps.huggingface.foreign._folder import TOKENIZER, Folder
from multihead.apps.huggingface.foreign._parts import layers, rename
from multihead.errors import UserError
from multihead.system import disk
from multihead.text.from_sentencepiece import from_sentencepiece
from multihead.text.tokenizer import Tokenizer

KIND = "transformer"
SOURCE, TARGET, VOCABULARY, GENERATION = "source.spm", "target.spm", "vocab.json", "generation_config.json"
FILES = (TOKENIZER, SOURCE, TARGET, VOCABULARY, GENERATION)
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}
SAME = {"encoder_ffn_dim": "decoder_ffn_dim", "encoder_attention_heads": "decoder_attention_heads"}
"""Sizes that must be the same in encoder and decoder."""
SELF = {
    "self_attention.w_q": "self_attn.q_proj",
    "self_attention.w_k": "self_attn.k_proj",
    "self_attention.w_v": "self_attn.v_proj",
    "self_attention.w_o": "self_attn.out_proj",
    "feed_forward.w_1": "fc1",
    "feed_forward.w_2": "fc2",
    "around_feed_forward.norm": "final_layer_norm",
}
ENCODER = {**SELF, "around_attention.norm": "self_attn_layer_norm"}
DECODER = {
    **SELF,
    "cross_attention.w_q": "encoder_attn.q_proj",
    "cross_attention.w_k": "encoder_attn.k_proj",
    "cross_attention.w_v": "encoder_attn.v_proj",
    "cross_attention.w_o": "encoder_attn.out_proj",
    "around_self.norm": "self_attn_layer_norm",
    "around_cross.norm": "encoder_attn_layer_norm",
}
WRITES = ("w_o", "w_2", "norm")
"""Parts that write to the residual stream; the others read from it."""


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json.

    Raises:
        UserError: an unsupported setting.
        KeyError: a size is missing.
    """
    config = folder.config
    # Includes keys of earlier versions of the library.
    folder.require(
        share_encoder_decoder_embeddings=True,
        tie_word_embeddings=True,
        static_position_embeddings=True,
        normalize_before=False,
        normalize_embedding=False,
        add_final_layer_norm=False,
    )
    if not config.get("scale_embedding", False):
        raise folder.refuse("scale_embedding = False is not supported, only True")
    for key, twin in SAME.items():
        if config[key] != config[twin]:
            fact = f"{key} = {config[key]} and {twin} = {config[twin]}, but they must be equal"
            raise folder.refuse(fact)
    if config["d_model"] % 2:
        raise folder.refuse(f"d_model = {config['d_model']} must be even")
    generation = folder.json(GENERATION) if folder.has(GENERATION) else config
    beam = generation.get("num_beams")
    return {
        "model.source_vocab": config["vocab_size"],
        "model.target_vocab": config["vocab_size"],
        "model.d_model": config["d_model"],
        "model.d_ff": config["encoder_ffn_dim"],
        "model.num_layers": config["encoder_layers"],
        "model.decoder_layers": config["decoder_layers"],
        "model.num_heads": config["encoder_attention_heads"],
        "model.dropout": config.get("dropout", 0.1),
        "model.attention_dropout": config.get("attention_dropout", 0.0),
        "model.activation_dropout": config.get("activation_dropout", 0.0),
        "model.activation": folder.activation("activation_function", "gelu", ACTIVATIONS),
        "model.output_bias": True,
        **({"search.beam_size": beam} if isinstance(beam, int) and beam > 1 else {}),
    }


def weights(theirs: Mapping[str, Tensor], folder: Folder) -> dict[str, Tensor]:
    """Return our weights by name.

    Their positional encoding has all sines before all cosines, while ours alternates them as in the paper. So
    the dimensions of the residual stream are permuted in all weights, which leaves the function unchanged.
    """
    shared_Vd = theirs["model.shared.weight"]
    d = shared_Vd.shape[1]
    order_d = torch.arange(d).view(2, d // 2).T.flatten()
    ours: dict[str, Tensor] = {}
    for stack, parts in (("encoder", ENCODER), ("decoder", DECODER)):
        for i in layers(theirs, f"model.{stack}.layers."):
            here = f"{stack}.layers.{i}."
            ours |= rename(theirs, parts, ours=here, theirs_at=f"model.{here}")
    ours = {name: order(name, weight, order_d) for name, weight in ours.items()}
    shared_Vd = shared_Vd[:, order_d]
    ours |= {f"{name}.weight": shared_Vd for name in ("source_embedding", "target_embedding", "output")}
    bias_1V = theirs.get("final_logits_bias", torch.zeros(1, len(shared_Vd)))
    return {**ours, "output_bias": bias_1V[0]}


def order(name: str, weight: Tensor, order_d: Tensor) -> Tensor:
    """Return a weight with the residual stream in another order."""
    part, kind = name.split(".")[-2:]
    if part in WRITES:
        return weight[order_d]
    return weight[:, order_d] if kind == "weight" else weight


def missing(theirs: Mapping[str, Tensor]) -> str:
    """Return "": nothing can be missing, since the output layer is tied to the embedding."""
    return ""


def tokenizers(folder: Folder) -> tuple[Tokenizer, ...]:
    """Return the source and target tokenizers: from the .spm files, else tokenizer.json for both.

    Raises:
        UserError: there are none; they are not supported; their special symbols differ from config.json.
    """
    if all(map(folder.has, (SOURCE, TARGET, VOCABULARY))):
        numbers = folder.json(VOCABULARY)
        files = [folder.path / name for name in (SOURCE, TARGET)]
        pair = tuple(from_sentencepiece(disk.content(file), numbers, place=str(file)) for file in files)
    elif folder.has(TOKENIZER):
        pair = (folder.tokenizer(),) * 2
    else:
        raise UserError(
            f"there are neither {SOURCE}, {TARGET} and {VOCABULARY} nor a {TOKENIZER}",
            place=str(folder.path),
            remedy="Write them with MarianTokenizer.from_pretrained(DIR).save_pretrained(DIR).",
        )
    for tokenizer in pair:
        symbols = {
            "pad_token_id": tokenizer.pad_id,
            "eos_token_id": tokenizer.eos_id,
            "decoder_start_token_id": tokenizer.bos_id,
        }
        for key, number in symbols.items():
            if folder.config.get(key) != number:
                fact = f"{key} = {folder.config.get(key)}, but {number} in the tokenizer"
                raise folder.refuse(fact, remedy="Check that all files belong to one model.")
    return pair
