"""A model's parameters under Marian's names, and its settings as Marian's YAML."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from string import Template

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
SETTINGS = Path(__file__).with_name("model.yml")
"""Settings of Marian 1.12.0."""


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
    return Template(SETTINGS.read_text(encoding="utf-8")).substitute(
        vocabulary=vocabulary,
        d_model=described.target.weight.shape[1],
        d_ff=len(first.feed_forward.w_1.weight),
        heads=first.self_attention.heads,
        encoder_layers=len(described.encoder.layers),
        decoder_layers=len(described.decoder.layers),
    )
