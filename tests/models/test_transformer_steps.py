"""Step by step with keys and values cached, as search goes, against the whole sequence at once."""

import random

import pytest
import torch
from torch.testing import assert_close

from multihead.batch import Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn.decoding import DecoderState

BOS, V = 2, 13


def model_with(**changed: object) -> Transformer:
    given: dict[str, object] = {
        "source_vocab": V,
        "target_vocab": V,
        "d_model": 14,
        "d_ff": 19,
        "num_layers": 2,
        "num_heads": 3,
        "d_k": 5,
    }
    return Transformer(Settings.model_validate(given | changed)).eval()


def source_of(lengths: list[int]) -> Source:
    return Source(torch.randint(4, V, (len(lengths), max(lengths))), torch.tensor(lengths))


class Walk:
    """A random search: the rows as plain lists, beside the state that must be equal to them."""

    def __init__(self, model: Transformer, source: Source, prefixes: list[list[int]], seed: int) -> None:
        self.model, self.source, self.chance = model, source, random.Random(seed)
        self.rows = [list(prefix) for prefix in prefixes]
        self.sentences = list(range(len(prefixes)))
        self.each = 1
        self.state: DecoderState = model.start(source, prefixes)

    def step(self) -> None:
        """Ask for the next scores, and compare them with those of every row read from its beginning."""
        logits, self.state = self.model.step(torch.tensor([row[-1] for row in self.rows]), self.state)
        for number, row in enumerate(self.rows):
            sentence = self.sentences[number // self.each]
            ids = self.source.ids_BS[[sentence], : self.source.lengths_B[sentence]]
            whole = self.model(ids, torch.tensor([row]))[0, -1]
            assert_close(logits[number], whole, atol=1e-5, rtol=0)

    def select(self, each: int) -> None:
        """Go on with ``each`` hypotheses a sentence, drawn from its own with repeats, and a token each."""
        rows = [
            number * self.each + self.chance.randrange(self.each)
            for number in range(len(self.sentences))
            for _ in range(each)
        ]
        self.state = self.state.select(torch.tensor(rows))
        self.rows = [[*self.rows[row], self.chance.randrange(4, V)] for row in rows]
        self.each = each

    def keep(self, numbers: list[int]) -> None:
        """Go on with these of the sentences still searched."""
        self.state = self.state.keep(torch.tensor(numbers))
        self.rows = [row for n in numbers for row in self.rows[n * self.each : (n + 1) * self.each]]
        self.sentences = [self.sentences[n] for n in numbers]


VARIANTS = pytest.mark.parametrize(
    "changed",
    [
        {},
        {"norm": "pre", "d_v": 7, "tied": "none"},
        {"positions": "learned", "max_positions": 47},
        {"positions": "none"},
    ],
    ids=["base", "pre-norm", "learned", "none"],
)
PREFIXES = pytest.mark.parametrize(
    "prefixes",
    [[[BOS]] * 5, [[BOS], [BOS, 7, 5, 9], [BOS, 4], [BOS, 8, 8], [BOS]], [[BOS, 11, 6]] * 5],
    ids=["begin", "uneven", "even"],
)


@VARIANTS
@PREFIXES
@torch.inference_mode()
def test_a_search_sees_what_the_whole_sequence_gives(
    changed: dict[str, object], prefixes: list[list[int]]
) -> None:
    walk = Walk(model_with(**changed), source_of([3, 7, 5, 1, 2]), prefixes, seed=1)
    for each, kept in ((3, None), (2, [0, 1, 3, 4]), (2, None), (5, [1, 3]), (1, [0]), (3, None)):
        walk.step()
        walk.select(each)
        if kept:
            walk.keep(kept)
    walk.step()


@torch.inference_mode()
def test_rows_may_be_copied_before_the_first_step() -> None:
    for prefixes in ([[BOS], [BOS]], [[BOS], [BOS, 5, 7]]):
        walk = Walk(model_with(), source_of([3, 5]), prefixes, seed=1)
        walk.state = walk.state.select(torch.tensor([0, 0, 0, 1, 1, 1]))
        walk.rows, walk.each = [list(prefix) for prefix in prefixes for _ in range(3)], 3
        walk.step()
        walk.keep([1])
        walk.select(2)
        walk.step()


@torch.inference_mode()
def test_a_long_walk_outgrows_every_buffer() -> None:
    walk = Walk(model_with(), source_of([3, 5]), [[BOS], [BOS, 5]], seed=1)
    for _ in range(70):
        _, walk.state = walk.model.step(torch.tensor([row[-1] for row in walk.rows]), walk.state)
        walk.select(2)
    walk.step()


@torch.inference_mode()
def test_a_learned_limit_counts_a_sentences_own_tokens() -> None:
    walk = Walk(
        model_with(positions="learned", max_positions=7),
        source_of([3, 5]),
        [[BOS], [BOS, 5, 4, 9, 7, 6]],
        seed=1,
    )
    walk.step()
    walk.select(1)
    walk.step()
    walk.keep([0])
    for _ in range(5):
        walk.select(1)
        walk.step()
    walk.select(1)
    with pytest.raises(ValueError, match="position 8 is beyond the 7 that were learned"):
        walk.step()
