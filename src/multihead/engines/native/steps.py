"""A native model in single steps, for searches that choose among its scores in Python."""

from collections.abc import Sequence

import numpy as np

from multihead.engines.native.beam import CHECK_EVERY, slots_in_use
from multihead.engines.native.model import NativeModel
from multihead.search.plain import not_finite
from multihead.system import native_library as native
from multihead.system.native_library import Array


class NativeSteps:
    """Hypotheses of N sentences; all steps have the same number of rows for each sentence.

    Args:
        model: the model.
        ids_NS: padded source ids.
        lengths_N: their true lengths.
    """

    def __init__(self, model: NativeModel, ids_NS: Array, lengths_N: Array) -> None:
        self._model, self._sentences = model, len(ids_NS)
        (self._cache,) = model.decoder.begin(model.read(ids_NS, lengths_N), lengths_N)
        self._bias_NKS = np.zeros((self._sentences, 1, 0), np.float32)
        self._step = 0

    def scores(self, tokens: Sequence[int], parents: Sequence[int] | None) -> Array:
        """Append a token to each row; return the log-probabilities of the next one, (R, V), float32.

        Args:
            tokens: one for each row.
            parents: the row of the step before that each extends; None: the same, in the first step.

        Raises:
            UserError: the model's scores are not finite.
            ValueError: an output exceeds the learned positions.
        """
        N, K = self._sentences, len(tokens) // self._sentences
        if parents is not None:
            before = self._bias_NKS.reshape(-1, self._bias_NKS.shape[2])
            self._bias_NKS = before[np.array(parents)].reshape(N, K, -1)
            self._compact()
        own_KK = np.where(np.eye(K, dtype=bool), np.float32(0), np.float32(-np.inf))
        own_NKK = np.broadcast_to(own_KK, (N, K, K))
        self._bias_NKS = np.ascontiguousarray(np.concatenate([self._bias_NKS, own_NKK], axis=2))
        logits_RV = self._model.decoder.logits(self._inputs(tokens), [self._cache], self._bias_NKS)
        normaliser_R = np.empty(len(logits_RV), np.float32)
        native.call("log_normaliser", "float32", logits_RV, normaliser_R, *logits_RV.shape)
        if not np.isfinite(normaliser_R).all():
            raise not_finite(self._step)
        self._step += 1
        scores_RV: Array = logits_RV - normaliser_R[:, None]
        return scores_RV

    def keep(self, sentences: Sequence[int]) -> None:
        """Keep these sentences, in ascending order; the next parents are rows of theirs alone."""
        self._cache.keep(sentences)
        self._bias_NKS, self._sentences = self._bias_NKS[sentences], len(sentences)

    def _compact(self) -> None:
        """Drop slots that no hypothesis uses, if that saves at least half of them."""
        slots_NM = None if self._step % CHECK_EVERY else slots_in_use(self._bias_NKS)
        if slots_NM is not None:
            self._cache.compact(slots_NM)
            self._bias_NKS = np.take_along_axis(self._bias_NKS, slots_NM[:, None], axis=2)

    def _inputs(self, tokens: Sequence[int]) -> Array:
        """The decoder's input, (N, K, d_model)."""
        model, step = self._model, self._step
        rows = np.array(tokens)
        if step == 0 and model.first is not None:
            rows[:] = model.first
        x_Rd = model.target_Vd[rows]
        table = model.target_positions.encodings(step + 1)
        if table is not None:
            if step >= len(table):
                raise ValueError(f"position {step + 1} is beyond the {len(table)} learned positions")
            x_Rd = x_Rd + table[step]
        return np.ascontiguousarray(x_Rd.reshape(self._sentences, -1, x_Rd.shape[1]), np.float32)
