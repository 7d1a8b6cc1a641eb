"""A model's parameters under Marian's names, and its settings as Marian's YAML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from torch import Tensor

from multihead.apps.export.firefox.binary import Floats
from multihead.engines.parts import keys_of_every_head
from multihead.nn.description import (
    AttentionSpec,
    EncoderDecoderSpec,
    FeedForwardSpec,
    LinearSpec,
    NormSpec,
)
from multihead.text.pieces import BYTES
from multihead.text.tokenizer import Tokenizer

VOCABULARY_MULTIPLE = 8
"""The output layer's int8 product needs a multiple of this many columns."""
NEVER = -1e9
"""Output bias of ids that are never written."""
VERSION = "v1.12.0"
"""Marian's version of this format."""


@dataclass(frozen=True)
class FirefoxVocabulary:
    """The exported ids of a tokenizer: end symbol 0, unknown 1, no begin symbol, no padding.

    Firefox's engine writes a byte piece by its name, "<0x28>". So an ASCII character without a piece of its
    own gets one, with the byte piece's embedding, and the byte piece is never written.

    Attributes:
        order: the tokenizer's id of each exported id; None: padding to a multiple of
            ``VOCABULARY_MULTIPLE``.
        characters: the exported ids of such characters.
    """

    order: Sequence[int | None]
    characters: Mapping[int, str]

    @classmethod
    def of(cls, tokenizer: Tokenizer) -> "FirefoxVocabulary":
        """Return the exported ids of a tokenizer with byte fallback."""
        first = [tokenizer.eos_id, tokenizer.unk_id]
        left_out = {*first, tokenizer.pad_id, tokenizer.bos_id}
        pieces = {tokenizer.piece(number): number for number in range(tokenizer.vocab_size)}
        rest = [number for number in range(tokenizer.vocab_size) if number not in left_out]
        spelt = [value for value in range(0x21, 0x7F) if chr(value) not in pieces]
        order = [*first, *rest, *(pieces[BYTES[value]] for value in spelt)]
        start = len(first) + len(rest)
        characters = {start + place: chr(value) for place, value in enumerate(spelt)}
        return cls([*order, *[None] * (-len(order) % VOCABULARY_MULTIPLE)], characters)

    @cached_property
    def places(self) -> dict[int, int]:
        """Exported ids by the tokenizer's ids; not all have one."""
        return {number: place for place, number in enumerate(self.order) if number is not None}

    @cached_property
    def written(self) -> list[int]:
        """The exported ids that may be written."""
        return sorted(self.places.values())


def parameters(described: EncoderDecoderSpec, vocabulary: FirefoxVocabulary) -> dict[str, Floats]:
    """Every parameter by its name in Marian, matrices as (inputs, outputs), the embedding as (V, d).

    Args:
        described: a model that ``expressible`` accepts.
        vocabulary: the exported ids.
    """
    order, written = vocabulary.order, vocabulary.written
    token_ids = [number for number in order if number is not None]
    weight, bias = _array(described.output.weight), described.output.bias
    embedding = np.zeros((len(order), weight.shape[1]), dtype=np.float32)
    embedding[: len(token_ids)] = weight[token_ids]
    out_bias = np.full((1, len(order)), NEVER, dtype=np.float32)
    own_bias = np.zeros(len(weight), dtype=np.float32) if bias is None else _array(bias)
    out_bias[0, written] = own_bias[[token_ids[place] for place in written]]
    arrays = {"Wemb": embedding, "decoder_ff_logit_out_b": out_bias}
    for number, layer in enumerate(described.encoder.layers, start=1):
        name = f"encoder_l{number}"
        arrays |= _attention(f"{name}_self", layer.self_attention)
        arrays |= _norm(f"{name}_self_Wo", layer.around_attention.norm)
        arrays |= _feed_forward(name, layer.feed_forward, layer.around_feed_forward.norm)
    for number, layer in enumerate(described.decoder.layers, start=1):
        name = f"decoder_l{number}"
        arrays |= dict(_linear(layer.cell.w, f"{name}_rnn_W", ""))
        arrays |= dict(_linear(layer.cell.w_f, f"{name}_rnn_Wf", f"{name}_rnn_bf"))
        arrays |= _norm(f"{name}_rnn_ffn", layer.around_self.norm)
        arrays |= _attention(f"{name}_context", layer.cross_attention)
        arrays |= _norm(f"{name}_context_Wo", layer.around_cross.norm)
        arrays |= _feed_forward(name, layer.feed_forward, layer.around_feed_forward.norm)
    return arrays


def _attention(name: str, spec: AttentionSpec) -> dict[str, Floats]:
    w_k, w_v = keys_of_every_head(spec)
    parts = {"q": spec.w_q, "k": w_k, "v": w_v, "o": spec.w_o}
    return {
        key: array
        for letter, part in parts.items()
        for key, array in _linear(part, f"{name}_W{letter}", f"{name}_b{letter}")
    }


def _feed_forward(name: str, spec: FeedForwardSpec, norm: NormSpec) -> dict[str, Floats]:
    arrays = dict(_linear(spec.w_1, f"{name}_ffn_W1", f"{name}_ffn_b1"))
    arrays |= dict(_linear(spec.w_2, f"{name}_ffn_W2", f"{name}_ffn_b2"))
    return arrays | _norm(f"{name}_ffn_ffn", norm)


def _norm(name: str, norm: NormSpec) -> dict[str, Floats]:
    return {f"{name}_ln_scale": _array(norm.weight)[None], f"{name}_ln_bias": _array(norm.bias)[None]}


def _linear(spec: LinearSpec, weight: str, bias: str) -> Iterator[tuple[str, Floats]]:
    yield weight, np.ascontiguousarray(_array(spec.weight).T)
    if bias:
        outputs = len(spec.weight)
        yield bias, np.zeros((1, outputs), np.float32) if spec.bias is None else _array(spec.bias)[None]


def _array(tensor: Tensor) -> Floats:
    array: Floats = tensor.detach().float().cpu().contiguous().numpy()
    return array


def settings(described: EncoderDecoderSpec, vocabulary: int) -> str:
    """The settings as Marian's ``model.yml``."""
    first = described.encoder.layers[0]
    values = {
        "bert-train-type-embeddings": "true",
        "bert-type-vocab-size": "2",
        "dec-cell": "ssru",
        "dec-cell-base-depth": "2",
        "dec-cell-high-depth": "1",
        "dec-depth": str(len(described.decoder.layers)),
        "dim-emb": str(described.target.weight.shape[1]),
        "dim-rnn": "1024",
        "dim-vocabs": f"\n  - {vocabulary}\n  - {vocabulary}",
        "enc-cell": "gru",
        "enc-cell-depth": "1",
        "enc-depth": str(len(described.encoder.layers)),
        "enc-type": "bidirectional",
        "factors-combine": "sum",
        "factors-dim-emb": "0",
        "input-types": "\n  []",
        "lemma-dependency": '""',
        "lemma-dim-emb": "0",
        "right-left": "false",
        "skip": "false",
        "tied-embeddings": "false",
        "tied-embeddings-all": "true",
        "tied-embeddings-src": "false",
        "transformer-aan-activation": "swish",
        "transformer-aan-depth": "2",
        "transformer-aan-nogate": "false",
        "transformer-decoder-autoreg": "rnn",
        "transformer-decoder-dim-ffn": "0",
        "transformer-decoder-ffn-depth": "0",
        "transformer-depth-scaling": "false",
        "transformer-dim-aan": "2048",
        "transformer-dim-ffn": str(len(first.feed_forward.w_1.weight)),
        "transformer-ffn-activation": "relu",
        "transformer-ffn-depth": "2",
        "transformer-guided-alignment-layer": "last",
        "transformer-heads": str(first.self_attention.heads),
        "transformer-no-affine": "false",
        "transformer-no-bias": "false",
        "transformer-no-projection": "false",
        "transformer-pool": "false",
        "transformer-postprocess": "dan",
        "transformer-postprocess-emb": "d",
        "transformer-postprocess-top": '""',
        "transformer-preprocess": '""',
        "transformer-rnn-projection": "false",
        "transformer-tied-layers": "\n  []",
        "transformer-train-position-embeddings": "false",
        "type": "transformer",
        "ulr": "false",
        "ulr-dim-emb": "0",
        "ulr-trainable-transformation": "false",
        "version": VERSION,
    }
    return "".join(f"{name}: {value}\n" for name, value in values.items()).replace(": \n", ":\n")
