"""An encoder-decoder searched by the native kernels as a whole, on NumPy arrays."""

import numpy as np

from multihead.description import EncoderDecoderSpec, PositionsSpec
from multihead.engines.native.beam import MAX_BEAM, Ended, NotFiniteScoresError, beam
from multihead.engines.native.layers import NativeDecoder, NativeEncoderLayer
from multihead.engines.native.parts import layer_norm, scaled_embedding, target_embedding
from multihead.search.outputs import Hypothesis, best, length_penalty
from multihead.search.plain import BeamRequest, not_finite
from multihead.system.native_library import Array, Format


class NativeModel:
    """A copy of a model's weights, laid out for the native kernels.

    Args:
        spec: the model's description, accepted by ``engines.native.layers``; its weights are float32 arrays.
        number_format: of matrix products. Between layers, numbers are float32.
    """

    def __init__(self, spec: EncoderDecoderSpec, number_format: Format) -> None:
        self._source, self._source_positions = scaled_embedding(spec.source), spec.source_positions
        self.target_Vd, self.first = target_embedding(spec)
        """Scaled target embeddings, and the row of the first input; None: the begin symbol's row."""
        self.target_positions = spec.target_positions
        if spec.source.weight is spec.target.weight and spec.source.scale == spec.target.scale:
            self._source = self.target_Vd
        self._encoder_norm = spec.encoder.norm
        self._encoder = [NativeEncoderLayer(layer, number_format) for layer in spec.encoder.layers]
        self.decoder = NativeDecoder(spec.decoder, spec.output, number_format)

    def read(self, ids_BS: Array, lengths_B: Array) -> Array:
        """The encoder's output, (B, S, d_model)."""
        x_BSd = np.take(self._source, ids_BS, axis=0)
        add_positions(x_BSd, self._source_positions)
        for layer in self._encoder:
            x_BSd = layer(x_BSd, lengths_B)
        return x_BSd if self._encoder_norm is None else layer_norm(x_BSd, self._encoder_norm)

    def beam(
        self, ids_BS: Array, lengths_B: Array, longest_B: Array, request: BeamRequest
    ) -> list[list[Hypothesis]] | None:
        """Return the n best outputs of each sentence; None: the beam is wider than the kernel allows.

        Args:
            ids_BS: padded source ids.
            lengths_B: their true lengths.
            longest_B: maximum length of each output in tokens.
            request: the search.

        Raises:
            UserError: the model's scores are not finite.
            ValueError: a sentence exceeds the learned positions.
        """
        if request.beam_size > MAX_BEAM:
            return None
        (cache,) = self.decoder.begin(self.read(ids_BS, lengths_B), lengths_B)
        encodings = self.target_positions.encodings
        try:
            endings = beam(self.decoder, cache, self.target_Vd, encodings, request, longest_B, self.first)
        except NotFiniteScoresError as error:
            raise not_finite(error.step) from None
        return [
            best([_hypothesis(ending, request.alpha) for ending in ended], request.n_best)
            for ended in endings
        ]


def add_positions(x_BNd: Array, positions: PositionsSpec) -> None:
    """Add the encodings of positions 0, 1, ... in place.

    Raises:
        ValueError: a position is beyond the learned ones.
    """
    length = x_BNd.shape[1]
    table = positions.encodings(length)
    if table is None:
        return
    if length > len(table):
        raise ValueError(f"position {length} is beyond the {len(table)} learned positions")
    x_BNd += table[:length]


def _hypothesis(ended: Ended, alpha: float) -> Hypothesis:
    total, length = ended.log_probability, len(ended.tokens) + 1
    return Hypothesis(ended.tokens, total, total / length_penalty(length, alpha), finished=not ended.cut)
