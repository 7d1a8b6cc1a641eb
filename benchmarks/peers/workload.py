"""Workload of the training benchmarks: Transformers, an LSTM, and batches of random sentences."""

from itertools import islice

import numpy as np

from multihead.batch import PairBatch
from multihead.data.batches import BatchStream, PairList, Shapes

VOCAB = {
    "tiny": 101,
    "small": 8000,
    "multi30k": 6000,
    "base": 10_000,
    "big": 10_000,
    "rnn-tiny": 101,
    "rnn": 8000,
}
SIZES: dict[str, dict[str, object]] = {
    "tiny": {"d_model": 24, "d_ff": 37, "num_layers": 1, "num_heads": 3, "dropout": 0.1},
    "small": {"d_model": 256, "d_ff": 512, "num_layers": 3, "num_heads": 8, "dropout": 0.1},
    "multi30k": {
        "d_model": 128,
        "d_ff": 256,
        "num_layers": 4,
        "num_heads": 4,
        "dropout": 0.2,
        "norm": "pre",
    },
    "base": {"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8, "dropout": 0.1},
    "big": {"d_model": 1024, "d_ff": 4096, "num_layers": 6, "num_heads": 16, "dropout": 0.3},
}
_LSTM = {"cell": "lstm", "score": "additive", "input_feeding": True, "tied": "all", "dropout": 0.1}
RECURRENT_SIZES: dict[str, dict[str, object]] = {
    "rnn-tiny": {**_LSTM, "d_embedding": 24, "d_hidden": 24, "d_encoder": 12},
    "rnn": {**_LSTM, "d_embedding": 512, "d_hidden": 512, "d_encoder": 256},
}
"""LSTMs with attention: one layer that reads both ways, one that writes."""
FIRST_ID = 4
"""The ids below are special symbols."""
PAD, BOS, EOS = 0, 2, 3


def batches(size: str, tokens: int, shapes: Shapes, count: int) -> list[PairBatch]:
    """Random pairs of sentences, 14 pieces long on average, in batches of so many target tokens."""
    chance, vocab = np.random.default_rng(1), VOCAB[size]
    lengths = np.clip(chance.lognormal(2.6, 0.35, 29_000), 4, 45).astype(int)
    others = np.clip(lengths * chance.normal(1.03, 0.12, len(lengths)), 3, 50).astype(int)
    sources, targets = (
        [chance.integers(FIRST_ID, vocab, length) for length in side] for side in (lengths, others)
    )
    stream = BatchStream(
        PairList(sources, targets),
        batch_tokens=tokens,
        seed=1,
        pad_id=PAD,
        bos_id=BOS,
        eos_id=EOS,
        shapes=shapes,
    )
    return [batch for batch, _ in islice(stream, count)]
