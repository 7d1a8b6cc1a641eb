"""Each model learns in seconds to reverse strings, unseen ones included."""

import random
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from backwards import BOS, EOS, FIRST, PAD

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.inspect.maps import record
from multihead.nn.losses import objective
from multihead.recipe import model_kinds
from multihead.search.beam import beam
from multihead.search.request import LengthLimits

LETTERS, LONGEST, UNSEEN, BATCH = 5, 5, 211, 61
V = FIRST + LETTERS

LEARNERS: dict[str, tuple[str, int, dict[str, object]]] = {
    "lstm": ("seq2seq", 250, {"d_embedding": 17, "d_hidden": 47, "num_layers": 1}),
    "gru": ("seq2seq", 350, {"cell": "gru", "d_embedding": 17, "d_hidden": 47, "num_layers": 1}),
    "additive": ("rnn_attention", 120, {"d_embedding": 17, "d_hidden": 30}),
    "dot": ("rnn_attention", 120, {"d_embedding": 17, "d_hidden": 30, "score": "dot"}),
    "general": ("rnn_attention", 120, {"d_embedding": 17, "d_hidden": 30, "score": "general"}),
    "concat": ("rnn_attention", 120, {"d_embedding": 17, "d_hidden": 30, "score": "concat"}),
    "fed": ("rnn_attention", 120, {"d_embedding": 17, "d_hidden": 30, "input_feeding": True, "cell": "lstm"}),
    "conv": ("conv_s2s", 120, {"d_embedding": 23, "d_hidden": 23, "num_layers": 2, "dropout": 0.0}),
}


@cache
def strings() -> list[list[int]]:
    """Distinct strings in random order; the last ones are held out."""
    chance, found = random.Random(1), dict[tuple[int, ...], None]()
    while len(found) < 1700:
        length = chance.randint(1, LONGEST)
        found[tuple(chance.randrange(FIRST, V) for _ in range(length))] = None
    mixed = [list(string) for string in found]
    chance.shuffle(mixed)
    return mixed


def backwards(sources: list[list[int]]) -> PairBatch:
    return collate(sources, [string[::-1] for string in sources], pad_id=PAD, bos_id=BOS, eos_id=EOS)


@cache
def learned(name: str) -> Any:
    """The trained model, cached."""
    kind, steps, given = LEARNERS[name]
    module, chance = model_kinds.load(kind), random.Random(2)
    torch.manual_seed(1)
    model = module.Model(module.Settings.model_validate({"source_vocab": V, "target_vocab": V, **given}))
    optimizer = torch.optim.Adam(model.parameters(), betas=(0.9, 0.98))
    for step in range(1, steps + 1):
        optimizer.param_groups[0]["lr"] = 1e-2 * min(1, step / 20) * (1 - step / (steps + 1)) ** 0.5
        batch = backwards(chance.sample(strings()[:-UNSEEN], BATCH))
        objective(model.loss(batch, step), batch.counts).backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
    return model.eval()


LONG = ("gru", "concat")
"""Learn as another model of the list does; their equations and steps are tested in test_ladder*.py."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in LEARNERS]
)
def test_unseen_strings_come_out_backwards(name: str) -> None:
    unseen = strings()[-UNSEEN:]
    found = beam(
        learned(name),
        backwards(unseen).source,
        [[BOS]] * UNSEEN,
        eos_id=EOS,
        beam_size=3,
        limits=LengthLimits(max_extra=3),
    )
    right = [list(best.tokens) == source[::-1] for (best,), source in zip(found, unseen, strict=True)]
    assert sum(right) >= 0.95 * UNSEEN


@pytest.mark.parametrize(
    "name", ["additive", "dot", "general", pytest.param("concat", marks=pytest.mark.long), "fed"]
)
def test_the_alignment_is_the_other_diagonal(name: str) -> None:
    """Each word attends to its copy in the source, from the last to the first."""
    sources = [string for string in strings()[-UNSEEN:] if len(string) == LONGEST][:31]
    (one,) = record(learned(name), backwards(sources))
    assert (one.kind, one.num_heads) == ("cross", 1)
    looks = np.stack([one.sentence(b)[0, :LONGEST] for b in range(len(sources))])
    assert np.allclose(looks.sum(2), 1, atol=1e-5)
    place = looks.argmax(2)
    expected = np.arange(LONGEST)[::-1]
    # A recurrent encoder's state also encodes its neighbours, so attention to an adjacent word is as good.
    assert (np.abs(place - expected) <= 1).mean() > 0.9


def test_every_convolutional_decoder_layer_attends_and_seq2seq_never_does() -> None:
    batch = backwards(strings()[-7:])
    assert [(one.kind, one.layer) for one in record(learned("conv"), batch)] == [("cross", 1), ("cross", 2)]
    assert record(learned("lstm"), batch) == []
