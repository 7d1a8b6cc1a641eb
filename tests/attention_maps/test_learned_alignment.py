"""What is shown is what was learned: a model that writes backwards looks backwards."""

import random

import numpy as np
import torch
from backwards import BOS, EOS, FIRST, PAD, V, small_transformer

from multihead.attention_maps import Sentence, Token, align, record
from multihead.batch import PairBatch
from multihead.data.batches import collate

LENGTH = 7


def some_strings(count: int, chance: random.Random) -> list[list[int]]:
    return [[chance.randrange(FIRST, V) for _ in range(LENGTH)] for _ in range(count)]


def backwards(strings: list[list[int]]) -> PairBatch:
    return collate(strings, [string[::-1] for string in strings], pad_id=PAD, bos_id=BOS, eos_id=EOS)


def letters(ids: list[int]) -> Sentence:
    tokens = tuple(Token(str(id), place, id == EOS) for place, id in enumerate([*ids, EOS]))
    return Sentence(tokens, tokens)


def test_a_model_that_learned_to_write_backwards_is_aligned_backwards() -> None:
    chance = random.Random(1)
    model = small_transformer(num_layers=2, dropout=0.0, norm="pre", positions="learned", label_smoothing=0.0)
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for step in range(300):
        batch = backwards(some_strings(48, chance))
        optimizer.zero_grad()
        (model.loss(batch, step)["loss"].sum / batch.tokens).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    unseen = some_strings(23, chance)
    records = record(model, backwards(unseen))
    looked_at = np.array(
        [
            align(records, letters(string), letters(string[::-1]), index=index).matrix_TS.argmax(axis=1)
            for index, string in enumerate(unseen)
        ]
    )
    # By chance a seventh; 0.83 and more was seen, since a model may look elsewhere now and then.
    assert (looked_at == np.arange(LENGTH)[::-1]).mean() > 0.7
