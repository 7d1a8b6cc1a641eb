"""Batches for BERT's pre-training: masked tokens and next-sentence pairs (Devlin et al. 2019, sec. 3.1)."""

from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import MaskedBatch
from multihead.data.plan import Indices
from multihead.data.text_batches import Parts, as_input
from multihead.system import randomness
from multihead.tasks.masked.mask_tokens import mask_id
from multihead.text.tokenizer import Tokenizer

REPLACED, RANDOM = 0.8, 0.1
"""Fractions of the selected tokens that become [MASK] and a random token; the rest stay unchanged."""


class Texts(Protocol):
    """Texts as token ids, such as a store."""

    def __len__(self) -> int: ...

    def source(self, row: int) -> NDArray[Any]:
        """Return the ids of a text, (N,)."""
        ...


class MaskedBatches:
    """Makes masked batches; masking is a function of (seed, epoch, texts).

    Args:
        store: the texts.
        tokenizer: their tokenizer, with a mask token.
        max_length: maximum input length in tokens, special tokens included.
        masked: fraction of the tokens to predict.
        next_sentence: split texts into two segments; half of the second segments come from another text.
        seed: seeds masking and segment pairs.
    """

    def __init__(
        self,
        store: Texts,
        tokenizer: Tokenizer,
        *,
        max_length: int,
        masked: float,
        next_sentence: bool,
        seed: int,
    ) -> None:
        self.store, self.tokenizer, self.max_length = store, tokenizer, max_length
        self.masked, self.next_sentence, self.seed = masked, next_sentence, seed
        mask = mask_id(tokenizer)
        assert mask is not None, "the tokenizer has a mask token"
        self.mask_id = mask
        specials = {*tokenizer.special_ids, mask}
        self._plain = np.array([i for i in range(tokenizer.vocab_size) if i not in specials])
        self._is_special = np.isin(np.arange(tokenizer.vocab_size), [*specials])

    def __call__(self, rows: Indices, epoch: int) -> MaskedBatch:
        """Return a batch of the texts at ``rows``."""
        draws = _Draws(self.seed, epoch, int(rows[0]), len(rows))
        texts, follows = [], []
        for row in rows.tolist():
            parts, answer = self._parts(row, draws)
            texts.append(parts)
            follows.append(answer)
        encoded = as_input(texts, self.tokenizer)
        ids_BN, places_M, answers_M = self._mask(encoded.ids_BN.numpy(), draws)
        return MaskedBatch(
            input=type(encoded)(torch.from_numpy(ids_BN), encoded.segments_BN, encoded.lengths_B),
            places_M=torch.from_numpy(places_M),
            answers_M=torch.from_numpy(answers_M),
            follows_B=torch.tensor(follows),
            tokens=int(encoded.lengths_B.sum()),
            pairs=sum(answer >= 0 for answer in follows),
        )

    def _parts(self, row: int, draws: "_Draws") -> tuple[Parts, int]:
        """Return the segments of a text, and the label: 1: the second follows; 0: it is random; -1: none."""
        ids = self.store.source(row)
        if not self.next_sentence:
            return (ids[: self.max_length - 2], None), -1
        ids = ids[: self.max_length - 3]
        starts = np.flatnonzero(self.tokenizer.word_starts[ids])
        starts = starts[starts > 0]
        if not len(starts):
            return (ids, None), -1
        place = int(starts[int(draws.one() * len(starts))])
        if draws.one() < 0.5:
            return (ids[:place], ids[place:]), 1
        other = self.store.source(int(draws.one() * len(self.store)))
        begins = np.flatnonzero(self.tokenizer.word_starts[other])
        begin = int(begins[int(draws.one() * len(begins))]) if len(begins) else 0
        # No longer than the true segment, because the batch was sized for the text.
        return (ids[:place], other[begin : begin + len(ids) - place]), 0

    def _mask(
        self, ids_BN: NDArray[np.int64], draws: "_Draws"
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
        """Return the masked ids, the flat positions to predict, and the ids to predict there."""
        chance_BN = np.where(self._is_special[ids_BN], np.inf, draws.many(ids_BN.size).reshape(ids_BN.shape))
        real_B = np.isfinite(chance_BN).sum(axis=1)
        count_B = np.minimum(np.maximum(1, np.round(self.masked * real_B)), real_B)
        rank_BN = chance_BN.argsort(axis=1).argsort(axis=1)
        places_M = np.flatnonzero(rank_BN < count_B[:, None])
        answers_M = ids_BN.reshape(-1)[places_M]
        how_M, which_M = draws.many(len(places_M)), draws.many(len(places_M))
        random_M = self._plain[(which_M * len(self._plain)).astype(np.int64)]
        replacements_M = np.where(
            how_M < REPLACED, self.mask_id, np.where(how_M < REPLACED + RANDOM, random_M, answers_M)
        )
        masked = ids_BN.reshape(-1).copy()
        masked[places_M] = replacements_M
        return masked.reshape(ids_BN.shape), places_M, answers_M


class _Draws:
    """Random numbers in [0, 1), a function of (seed, keys). NumPy keeps only raw output stable (NEP 19)."""

    def __init__(self, seed: int, *keys: int) -> None:
        self._bits = np.random.PCG64(randomness.derive(seed, "gaps", *keys))

    def many(self, count: int) -> NDArray[np.float64]:
        raw = np.atleast_1d(self._bits.random_raw(count)) if count else np.empty(0, dtype=np.uint64)
        return (raw >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def one(self) -> float:
        return float((self._bits.random_raw() >> 11) * 2.0**-53)
