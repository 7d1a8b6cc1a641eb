"""Unknown words are replaced through attention."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from multihead.attention_maps import replace_unknown, words_for_unknown
from multihead.batch import PairBatch
from multihead.nn import DotProductAttention, masks
from multihead.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

SOURCE_LINES = ["ein Hund sieht eine Katze", "der Hund läuft"]
TARGET_LINES = ["a dog sees a cat", "the dog runs"]


@pytest.fixture(scope="module")
def tokenizers() -> tuple[Tokenizer, Tokenizer]:
    settings = TokenizerSettings(kind="words", vocab_size=100)
    return train(SOURCE_LINES, settings), train(TARGET_LINES, settings)


class Diagonal(nn.Module):
    """Target position i looks at source position i, almost only."""

    def __init__(self) -> None:
        super().__init__()
        self.positions = nn.Parameter(20 * torch.eye(13))
        self.attention = DotProductAttention()
        self.batches: list[PairBatch] = []

    def score(self, batch: PairBatch) -> Tensor:
        self.batches.append(batch)
        B, S = batch.source.ids_BS.shape
        q = self.positions[: batch.target_in.shape[1]].expand(B, 1, -1, -1)
        k = self.positions[:S].expand(B, 1, -1, -1)
        out: Tensor = self.attention(q, k, k, masks.padding(batch.source.lengths_B, S))
        return out


class Blind(nn.Module):
    """Has no attention."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))

    def score(self, batch: PairBatch) -> Tensor:
        return torch.zeros_like(batch.target_out)


def test_each_unknown_piece_becomes_the_source_word_it_looks_at_most(
    tokenizers: tuple[Tokenizer, Tokenizer],
) -> None:
    target = tokenizers[1]
    dog, runs, unknown = target.encode("dog")[0], target.encode("runs")[0], target.unk_id
    sources = ["Kraken Hund Schnörkel", "der Hund läuft", "der Oktopus läuft ."]
    outputs = [[unknown, dog, unknown], [dog, runs], [runs, unknown]]
    model = Diagonal()
    words = words_for_unknown(model, tokenizers, sources, outputs)
    assert words == [["Kraken", "Schnörkel"], [], ["Oktopus"]]
    decoded = [target.decode(ids, known) for ids, known in zip(outputs, words, strict=True)]
    assert decoded == ["Kraken dog Schnörkel", "dog runs", "runs Oktopus"]
    (batch,) = model.batches
    assert batch.target_BT.shape[0] == 2, "only the sentences that need it are run again"


def test_a_model_is_not_run_where_nothing_is_unknown(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    model = Diagonal()
    assert words_for_unknown(model, tokenizers, ["der Hund"], [tokenizers[1].encode("the dog")]) == [[]]
    assert model.batches == []


def test_without_attention_nothing_is_replaced(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    assert words_for_unknown(Blind(), tokenizers, ["Kraken"], [[tokenizers[1].unk_id]]) == [[]]
    assert tokenizers[1].decode([tokenizers[1].unk_id], []) == "<unk>"


def test_without_source_words_nothing_is_replaced(tokenizers: tuple[Tokenizer, Tokenizer]) -> None:
    assert words_for_unknown(Diagonal(), tokenizers, [""], [[tokenizers[1].unk_id]]) == [["<unk>"]]


def test_the_whole_word_is_taken_where_a_piece_of_it_is_looked_at() -> None:
    pieces = train(SOURCE_LINES, TokenizerSettings(kind="wordpiece", vocab_size=40))
    assert [piece.text for piece in pieces.pieces("der Hund läuft")][-2:] == ["▁lä", "uft"]
    output = [*[4] * 4, pieces.unk_id]
    assert words_for_unknown(Diagonal(), (pieces, pieces), ["der Hund läuft"], [output]) == [["läuft"]]


def test_replacing_is_by_the_largest_weight_of_the_row() -> None:
    weights = np.array([[0.9, 0.1, 0], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1], [0, 0, 0]], dtype=np.float32)
    pieces = ["Mr", "<unk>", "<unk>", "<unk>"]
    assert replace_unknown(["Herr", "Kraken", "läuft"], pieces, weights) == ["Mr", "läuft", "Kraken", "<unk>"]
