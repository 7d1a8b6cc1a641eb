"""A Transformer for CTranslate2 (github.com/OpenNMT/CTranslate2), a runtime in C++ with int8 products.

What it computes is its ``TransformerSpec``: the paper's model (Vaswani et al. 2017), post- or pre-norm, ReLU,
GELU or SiLU, any table of positions. Whatever else a run can be is refused rather than approximated.

Needs an extra: ``pip install 'multihead[export]'``.
"""

import shutil
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.export.folder import refuse_used, write_folder
from multihead.generation.translator import MOST_PIECES
from multihead.models.transformer import Settings, Transformer
from multihead.nn import FeedForward, MultiHeadAttention
from multihead.nn.layers import DecoderLayer, EncoderLayer
from multihead.nn.positions import sinusoids
from multihead.run import Run

Quantization = Literal[
    "float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"
]
"""The format of matrices; a second one is that of everything else (int8: whichever suits the machine)."""

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}
"""Ours by its names."""
POSITIONS = MOST_PIECES + 256
"""Rows of the table of positions where the model has no limit: our longest line, and room for its output."""


def export(run: Run, folder: Path, quantization: Quantization = "float32") -> None:
    """Write a run's model, vocabulary and tokenizer to a folder that CTranslate2 reads.

    Args:
        run: a trained Transformer.
        folder: new or empty; it appears when it is complete.
        quantization: the format in which weights are stored and products computed.

    Raises:
        UserError: CTranslate2 is not installed or cannot compute this model; the folder is in use.
    """
    refuse_used(folder)
    tokenizers = run.tokenizers()
    spec = specification(run.load_model(), place=str(run.folder))
    source, target = ([one.piece(number) for number in range(one.vocab_size)] for one in tokenizers)
    spec.register_source_vocabulary(source)
    spec.register_target_vocabulary(target)
    spec.config.unk_token = target[tokenizers[1].unk_id]
    spec.config.bos_token = spec.config.decoder_start_token = target[tokenizers[1].bos_id]
    spec.config.eos_token = target[tokenizers[1].eos_id]
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize(quantization=None if quantization == "float32" else quantization)

    def fill(partial: Path) -> None:
        spec.save(str(partial))
        for file in run.folder.glob("tokenizer*.json"):
            shutil.copyfile(file, partial / file.name)

    write_folder(folder, fill)


def specification(model: nn.Module, *, place: str = "model") -> Any:
    """Return a ``ctranslate2.specs.TransformerSpec`` with a model's weights, without vocabularies.

    Args:
        model: the model.
        place: what an error names.

    Raises:
        UserError: CTranslate2 is not installed; it cannot compute this model.
    """
    specs = _library()
    if not isinstance(model, Transformer):
        fact = f"CTranslate2 cannot compute this model ({type(model).__name__})"
        raise UserError(fact, place=place, remedy='Only kind = "transformer" can be exported to it.')
    s = model.settings
    if unknown := not_expressible(s):
        fact = f"CTranslate2 cannot compute this Transformer: {', '.join(unknown)}"
        raise UserError(fact, place=place, remedy="Translate with `multihead translate`.")
    spec = specs.TransformerSpec.from_config(
        (s.num_layers, s.decoder_layers or s.num_layers),
        s.num_heads,
        pre_norm=s.norm == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[s.activation]),
    )
    spec.config.layer_norm_epsilon = 1e-5
    _embeddings(spec.encoder.embeddings[0], model.source_embedding)
    _embeddings(spec.decoder.embeddings, model.target_embedding)
    spec.encoder.scale_embeddings = np.float32(model.source_embedding.scale)
    spec.decoder.scale_embeddings = np.float32(model.target_embedding.scale)
    spec.encoder.position_encodings.encodings = _positions(s, model.source_positions)
    spec.decoder.position_encodings.encodings = _positions(s, model.target_positions)
    spec.decoder.projection.weight = _array(model.output.weight)
    if model.output_bias is not None:
        spec.decoder.projection.bias = _array(model.output_bias)
    for to, part in zip(spec.encoder.layer, model.encoder.layers, strict=True):
        layer = cast(EncoderLayer, part)
        _self_attention(to.self_attention, layer.self_attention, layer.around_attention)
        _feed_forward(to.ffn, layer.feed_forward, layer.around_feed_forward)
    for to, part in zip(spec.decoder.layer, model.decoder.layers, strict=True):
        block = cast(DecoderLayer, part)
        _self_attention(to.self_attention, block.self_attention, block.around_self)
        _cross_attention(to.attention, block.cross_attention, block.around_cross)
        _feed_forward(to.ffn, block.feed_forward, block.around_feed_forward)
    if s.norm == "pre":
        _norm(spec.encoder.layer_norm, model.encoder.norm)
        _norm(spec.decoder.layer_norm, model.decoder.norm)
    return spec


def not_expressible(s: Settings) -> list[str]:
    """Return the settings that CTranslate2's Transformer has no word for, as a recipe writes them."""
    d_head = s.d_model // s.num_heads
    faults = {
        f"d_k = {s.d_k}": s.d_k not in (0, d_head) or d_head * s.num_heads != s.d_model,
        f"d_v = {s.d_v}": s.d_v not in (0, s.d_k or d_head),
        f'norm = "{s.norm}"': s.norm not in ("post", "pre"),
        "residual = false": not s.residual,
        f'score = "{s.score}"': s.score != "scaled_dot",
        f"window = {s.window}": bool(s.window),
    }
    return [told for told, fault in faults.items() if fault]


def _library() -> Any:
    # Imported by name, because it is an optional dependency.
    try:
        specs: Any = import_module("ctranslate2.specs")
    except ImportError as error:
        raise UserError(
            f"ctranslate2 is not installed ({error})", remedy="pip install 'multihead[export]'"
        ) from error
    return specs


def _array(tensor: Tensor | None) -> npt.NDArray[np.float32]:
    assert tensor is not None
    array: npt.NDArray[np.float32] = tensor.detach().float().cpu().contiguous().numpy()
    return array


def _positions(s: Settings, module: nn.Module) -> npt.NDArray[np.float32]:
    if s.positions == "none":
        return np.zeros((POSITIONS, s.d_model), dtype=np.float32)
    if s.positions == "learned":
        assert isinstance(module.weight, Tensor)
        return _array(module.weight)
    return _array(sinusoids(POSITIONS, s.d_model, interleaved=s.positions == "sinusoidal"))


def _embeddings(to: Any, embedding: nn.Embedding) -> None:
    to.weight = _array(embedding.weight)


def _linear(to: Any, parts: Sequence[nn.Linear]) -> None:
    """One product for several that read the same."""
    to.weight = np.concatenate([_array(part.weight) for part in parts])
    to.bias = np.concatenate([_array(part.bias) for part in parts])


def _norm(to: Any, norm: nn.Module | Tensor) -> None:
    assert isinstance(norm, nn.LayerNorm)
    to.gamma, to.beta = _array(norm.weight), _array(norm.bias)


def _self_attention(to: Any, attention: MultiHeadAttention, around: nn.Module) -> None:
    _linear(to.linear[0], [attention.w_q, attention.w_k, attention.w_v])
    _linear(to.linear[1], [attention.w_o])
    _norm(to.layer_norm, around.norm)


def _cross_attention(to: Any, attention: MultiHeadAttention, around: nn.Module) -> None:
    _linear(to.linear[0], [attention.w_q])
    _linear(to.linear[1], [attention.w_k, attention.w_v])
    _linear(to.linear[2], [attention.w_o])
    _norm(to.layer_norm, around.norm)


def _feed_forward(to: Any, network: FeedForward, around: nn.Module) -> None:
    _linear(to.linear_0, [network.w_1])
    _linear(to.linear_1, [network.w_2])
    _norm(to.layer_norm, around.norm)
