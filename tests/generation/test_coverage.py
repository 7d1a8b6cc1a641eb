"""The coverage penalty, against the equation computed number by number."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
import torch
from gru import Gru

from multihead.data.batches import collate
from multihead.errors import UserError
from multihead.inspect.maps import record
from multihead.models import gnmt, seq2seq, transformer
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.lines.coverage import LEAST, coverage
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

LINES = ["drei fünf sieben", "eins", "zwei elf dreizehn fünf siebzehn", ""]
BETA = 5.0
SIZES = {"d_embedding": 13, "d_hidden": 11}


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    numbers = "eins zwei drei fünf sieben elf dreizehn siebzehn neunzehn"
    return train([numbers] * 2, TokenizerSettings(kind="words", vocab_size=40))


def translator(model: torch.nn.Module, words: Tokenizer) -> Translator:
    return Translator([model], words, words, device=torch.device("cpu"), precision="fp32")


def attention_alone(words: Tokenizer) -> torch.nn.Module:
    """A model with one attention of one head, whose weights need no reduction."""
    return decided(Gru(words.vocab_size, words.vocab_size))


def decided(model: torch.nn.Module) -> torch.nn.Module:
    """Draw larger weights, so that outputs and attention differ from line to line."""
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.7)
    return model.eval()


def gnmt_of(words: Tokenizer) -> torch.nn.Module:
    size = words.vocab_size
    return decided(gnmt.Model(gnmt.Settings(source_vocab=size, target_vocab=size, num_layers=2, **SIZES)))


def settings(beta: float, n_best: int = 4) -> SearchSettings:
    return SearchSettings(
        beam_size=5, n_best=n_best, max_extra=4, coverage_penalty=beta, stop="exact", replace_unknown=False
    )


def penalty(model: torch.nn.Module, words: Tokenizer, line: str, tokens: Sequence[int]) -> float:
    """The equation in loops, for one layer and head."""
    ids = words.encode(line)
    batch = collate([ids], [list(tokens)], pad_id=words.pad_id, bos_id=words.bos_id, eos_id=words.eos_id)
    (found,) = [one for one in record(model, batch) if one.kind == "cross"]
    rows = found.sentence(0)[0][: len(tokens), : len(ids)].astype(float)  # without the end symbols
    total = 0.0
    for i in range(len(ids)):
        covered = sum(rows[j][i] / sum(rows[j]) for j in range(len(tokens)))
        total += math.log(max(min(covered, 1.0), LEAST))
    return total


@pytest.mark.parametrize("made", [attention_alone, gnmt_of])
def test_scores_have_the_penalty_and_order_the_outputs(made: object, words: Tokenizer) -> None:
    model = made(words)  # type: ignore[operator]
    plain = translator(model, words).translate(LINES, settings(0, 5))
    ranked = translator(model, words).translate(LINES, settings(BETA, 5))
    for line, before, after in zip(LINES, plain, ranked, strict=True):
        expected = {
            one.tokens: one.score + BETA * penalty(model, words, line, one.tokens)
            for one in before.hypotheses
        }
        assert {one.tokens for one in after.hypotheses} == expected.keys()
        scores = [one.score for one in after.hypotheses]
        assert scores == sorted(scores, reverse=True)
        for one in after.hypotheses:
            assert one.score == pytest.approx(expected[one.tokens], abs=1e-4)
    orders = [[[h.tokens for h in one.hypotheses] for one in found] for found in (plain, ranked)]
    assert made is gnmt_of or orders[0] != orders[1], "the penalty ordered nothing"


def test_the_best_of_the_whole_beam_is_returned_whatever_the_batch(words: Tokenizer) -> None:
    model = attention_alone(words)
    every = translator(model, words).translate(LINES, settings(BETA, 5))
    one_best = translator(model, words).translate(LINES, settings(BETA, 1))
    assert [len(one.hypotheses) for one in one_best] == [1, 1, 1, 0]
    assert [one.text for one in one_best] == [one.text for one in every]
    alone = [translator(model, words).translate([line], settings(BETA, 1))[0] for line in LINES]
    assert [one.text for one in alone] == [one.text for one in one_best]


def test_several_layers_and_heads_are_taken_together(words: Tokenizer) -> None:
    size = words.vocab_size
    sizes = {"d_model": 8, "num_heads": 2, "d_ff": 13, "num_layers": 1, "decoder_layers": 2}
    model = transformer.Model(transformer.Settings(source_vocab=size, target_vocab=size, **sizes)).eval()
    plain = translator(model, words).translate(LINES, settings(0, 5))
    ranked = translator(model, words).translate(LINES, settings(BETA, 5))
    for before, after in zip(plain, ranked, strict=True):
        scores = {one.tokens: one.score for one in before.hypotheses}
        assert all(one.score <= scores[one.tokens] + 1e-6 for one in after.hypotheses)


def test_a_model_without_attention_is_refused(words: Tokenizer) -> None:
    size = words.vocab_size
    model = seq2seq.Model(seq2seq.Settings(source_vocab=size, target_vocab=size, **SIZES))
    with pytest.raises(UserError, match="no attention over the source") as caught:
        translator(model, words).translate(LINES, settings(BETA))
    assert caught.value.place == "search.coverage_penalty"


def test_coverage_counts_up_to_one_and_is_finite() -> None:
    attention_TS = np.array([[0.9, 0.1, 0.0], [0.9, 0.1, 0.0]], dtype=np.float32)
    assert coverage(attention_TS) == pytest.approx(math.log(0.2) + math.log(LEAST))
    assert coverage(np.full((3, 3), 1 / 3)) == pytest.approx(0)
    assert coverage(np.zeros((0, 2))) == pytest.approx(2 * math.log(LEAST))
