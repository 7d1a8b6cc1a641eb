"""A Transformer laid out for search on a CPU: the same function."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from multihead.batch import Source
from multihead.engines.layers import encoder_layers, final_norm, preparable, step_decoder
from multihead.engines.native.beam import WIDEST, Ended, NotFiniteError, Plan, beam
from multihead.engines.native.layers import NativeDecoder, suits
from multihead.engines.shared_cache import SharedState
from multihead.models.transformer import Transformer
from multihead.nn import TokenEmbedding
from multihead.nn.decoding import left_padded
from multihead.search.distribution import not_finite
from multihead.search.hypotheses import Hypothesis, best, length_penalty
from multihead.search.request import BeamRequest


class PreparedTransformer:
    """A stepper (``search.Stepper``) with the weights that a model has now.

    Args:
        source: embedding and positions of the source.
        target: embedding and positions of the target.
        encoder: its layers, and the norm at the end.
        decoder: its layers, and the norm at the end.
        output: the output layer.
        bias_V: its bias, if it has one.
        dtype: of the matrices.
    """

    def __init__(
        self,
        *,
        source: tuple[TokenEmbedding, nn.Module],
        target: tuple[TokenEmbedding, nn.Module],
        encoder: tuple[nn.ModuleList, nn.Module],
        decoder: tuple[nn.ModuleList, nn.Module],
        output: TokenEmbedding,
        bias_V: Tensor | None,
        dtype: torch.dtype,
    ) -> None:
        # Native kernels pass float32 from layer to layer, whatever they multiply.
        self._native = all(map(suits, (*encoder[0], *decoder[0])))
        looked_up = torch.float32 if self._native else dtype
        self._source, self._source_positions = _scaled(source[0], looked_up), source[1]
        self._target, self._target_positions = _scaled(target[0], looked_up), target[1]
        if source[0] is target[0]:
            self._source = self._target
        self._encoder = encoder_layers(encoder[0], dtype, native=self._native)
        self._encoder_norm = final_norm(encoder[1])
        self._decoder = step_decoder(*decoder, (output.weight, bias_V), dtype, native=self._native)

    def start(self, source: Source, prefixes: Sequence[Sequence[int]]) -> SharedState:
        """Read the source and all of each prefix but its last token."""
        with self._as_laid_out():
            ids_BQ, shift_B = left_padded([prefix[:-1] for prefix in prefixes], source.ids_BS.device)
            memory_BSd = self._read(source)
            caches = self._decoder.begin(memory_BSd, source.lengths_B)
            # Where sentences begin in different columns, a bias is needed from the first on.
            bias = None if shift_B is None else torch.zeros(len(prefixes), 1, 0, dtype=torch.float32)
            state = SharedState(caches, 1, 0, bias, shift_B)
            for column, ids_B in enumerate(ids_BQ.T):
                x_NKd, state = self._looked_up(ids_B, state)
                self._decoder.step(x_NKd, state.caches, state.bias)
                if shift_B is not None and state.bias is not None:
                    # What stands before the prefix could look at itself only, and nobody looks at it.
                    state.bias[:, 0, column].masked_fill_(column < shift_B, -torch.inf)
            return state

    def beam(self, source: Source, request: BeamRequest) -> list[list[Hypothesis]] | None:
        """A whole beam search by the native kernel, where there is one (``search.request``).

        Raises:
            UserError: scores that are no numbers.
            ValueError: more tokens than the model has learned positions for.
        """
        if not isinstance(self._decoder, NativeDecoder) or request.beam_size > WIDEST:
            return None
        plan = Plan(
            first=request.first,
            end=request.eos_id,
            banned=request.banned,
            beam_size=request.beam_size,
            n_best=request.n_best,
            alpha=request.alpha,
            stop_at_first=request.stop == "first",
        )
        (cache,) = self._decoder.begin(self._read(source), source.lengths_B)
        encodings = cast(Callable[[int], Tensor | None], self._target_positions.encodings)
        try:
            found = beam(self._decoder, cache, self._target, encodings, plan, request.longest_B)
        except NotFiniteError as error:
            raise not_finite(error.step) from None
        return [best([_hypothesis(one, request.alpha) for one in ended], request.n_best) for ended in found]

    def step(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        """Append one token to every hypothesis; logits of the next, (R, V)."""
        with self._as_laid_out():
            x_NKd, state = self._looked_up(tokens_R, state)
            return self._decoder.logits(x_NKd, state.caches, state.bias), state

    def _as_laid_out(self) -> AbstractContextManager[object]:
        # Native kernels know of no autocast, and a context costs as much as some of them.
        return nullcontext() if self._native else torch.autocast("cpu", enabled=False)

    def _read(self, source: Source) -> Tensor:
        x_BSd = self._source_positions(F.embedding(source.ids_BS, self._source))
        for layer in self._encoder:
            x_BSd = layer(x_BSd, source.lengths_B)
        read: Tensor = self._encoder_norm(x_BSd)
        return read

    def _looked_up(self, tokens_R: Tensor, state: SharedState) -> tuple[Tensor, SharedState]:
        """What the decoder reads, (N, K, d_model), and the state with a place for it."""
        column, state = state.columns, state.stepped()
        shift_R = None if state.shift_N is None else state.shift_N.repeat_interleave(state.rows)
        x_R1d = self._target_positions(F.embedding(tokens_R, self._target)[:, None], column, shift_R)
        return x_R1d.view(state.sentences, state.rows, -1), state


def _scaled(embedding: TokenEmbedding, dtype: torch.dtype) -> Tensor:
    return (embedding.weight.detach() * embedding.scale).to(dtype)


def _hypothesis(ended: Ended, alpha: float) -> Hypothesis:
    total, length = ended.log_probability, len(ended.tokens) + 1
    return Hypothesis(ended.tokens, total, total / length_penalty(length, alpha), finished=not ended.cut)


def lay_out(model: nn.Module, dtype: torch.dtype) -> PreparedTransformer | None:
    """This model as it is now, laid out for search on a CPU; None: it has parts that cannot be.

    Args:
        model: any.
        dtype: of its matrices; int8 is for the native kernels alone.
    """
    if not isinstance(model, Transformer):
        return None
    layers = [*model.encoder.layers, *model.decoder.layers]
    if model.settings.window or not preparable(layers):
        return None
    if dtype == torch.int8 and not all(map(suits, layers)):
        return None
    with torch.no_grad():
        return PreparedTransformer(
            source=(model.source_embedding, model.source_positions),
            target=(model.target_embedding, model.target_positions),
            encoder=(model.encoder.layers, model.encoder.norm),
            decoder=(model.decoder.layers, model.decoder.norm),
            output=model.output,
            bias_V=model.output_bias,
            dtype=dtype,
        )
