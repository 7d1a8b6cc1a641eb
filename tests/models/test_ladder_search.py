"""Search, scoring, recorded attention and the translator accept every model."""

import pytest
import torch
from ladder import EVERY, SIZES, VARIANTS, V, model_of, pairs

from multihead.batch import PairBatch, Source
from multihead.data.batches import collate
from multihead.inspect.maps import record
from multihead.recipe import model_kinds
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.search.beam import beam
from multihead.search.ensemble import Ensemble
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import LengthLimits
from multihead.tasks.translation.lines import Translator
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

BOS, EOS = 2, 3
LIMITS = LengthLimits(max_extra=3)


def some_source(sentences: int = 7) -> Source:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 12, (sentences,), generator=generator)
    ids = torch.randint(4, V, (sentences, 11), generator=generator)
    return Source(ids.masked_fill(torch.arange(11) >= lengths[:, None], 0), lengths)


def prefixes(sentences: int = 7) -> list[list[int]]:
    return [[BOS, 11, 13, 16, 9][: 1 + b % 4] for b in range(sentences)]


def as_pairs(source: Source, outputs: list[Hypothesis]) -> PairBatch:
    ids = [row[:length].tolist() for row, length in zip(source.ids_BS, source.lengths_B, strict=True)]
    batch = collate(ids, [list(h.tokens) for h in outputs], pad_id=0, bos_id=BOS, eos_id=EOS)
    return PairBatch(source, batch.target_BT, batch.target_lengths_B, batch.tokens)


@EVERY
@torch.no_grad()
def test_the_n_best_have_the_log_probabilities_that_scoring_gives(name: str) -> None:
    model, source = model_of(name), some_source()
    found = beam(model, source, prefixes(), eos_id=EOS, beam_size=5, n_best=3, limits=LIMITS)
    for rank in range(3):
        outputs = [hypotheses[rank] for hypotheses in found]
        log_p = model.score(as_pairs(source, outputs))
        for b, prefix in enumerate(prefixes()):
            assert outputs[b].tokens[: len(prefix) - 1] == tuple(prefix[1:])
            expected = float(log_p[b, len(prefix) - 1 :].sum())
            assert outputs[b].log_probability == pytest.approx(expected, rel=1e-4)


@EVERY
def test_a_sentence_searched_alone_is_found_again_in_a_batch(name: str) -> None:
    model, source = model_of(name), some_source()
    together = beam(model, source, prefixes(), eos_id=EOS, beam_size=5, n_best=3, limits=LIMITS)
    for b, prefix in enumerate(prefixes()):
        length = source.lengths_B[b : b + 1]
        one = Source(source.ids_BS[b : b + 1, : int(length)], length)
        (alone,) = beam(model, one, [prefix], eos_id=EOS, beam_size=5, n_best=3, limits=LIMITS)
        assert [h.tokens for h in alone] == [h.tokens for h in together[b]]


def test_all_models_form_an_ensemble() -> None:
    source = some_source()
    members = [model_of(name) for name in ("seq2seq", "additive", "conv")]
    found = beam(Ensemble(members), source, prefixes(), eos_id=EOS, beam_size=3, limits=LIMITS)
    outputs = [hypotheses[0] for hypotheses in found]
    with torch.no_grad():
        each = [member.score(as_pairs(source, outputs)).exp() for member in members]
    mean = torch.stack(each).mean(0).log()
    for b, prefix in enumerate(prefixes()):
        expected = float(mean[b, len(prefix) - 1 :].sum())
        assert outputs[b].log_probability == pytest.approx(expected, rel=1e-4)


@EVERY
def test_attention_is_recorded_from_every_attending_layer(name: str) -> None:
    model, batch = model_of(name), pairs()
    records = record(model, batch, keep_inputs=True)
    kind = VARIANTS[name][0]
    layers = {"seq2seq": 0, "rnn_attention": 1, "gnmt": 1}.get(kind, 0)
    if kind == "conv_s2s":
        layers = len(model.decoder)
    assert [(one.kind, one.layer) for one in records] == [("cross", layer + 1) for layer in range(layers)]
    for one in records:
        assert one.weights_BHQK.shape == (4, 1, 8, 9)
        for b in range(4):
            assert one.sentence(b).sum(-1) == pytest.approx(1, abs=1e-5)
        # The queries differ, so the decoder does not attend to one fixed position by mistake.
        assert one.q_BHQd is not None
        assert one.q_BHQd[0, 0].std(axis=0).max() > 1e-4


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return train(["ein Hund und eine Katze a dog and a cat"] * 3, TokenizerSettings(vocab_size=300))


@pytest.mark.parametrize("kind", SIZES)
def test_it_translates_and_scores_lines(kind: str, tokenizer: Tokenizer) -> None:
    module, V = model_kinds.load(kind), tokenizer.vocab_size
    settings = module.Settings.model_validate({"source_vocab": V, "target_vocab": V} | SIZES[kind])
    torch.manual_seed(1)
    translator = Translator(
        [module.Model(settings)], tokenizer, tokenizer, device=torch.device("cpu"), precision="fp32"
    )
    lines = ["ein Hund", "", "eine Katze und ein Hund"]
    found = translator.translate(lines, SearchSettings(max_extra=5, beam_size=3, n_best=2))
    assert [bool(translation.hypotheses) for translation in found] == [True, False, True]
    scores = translator.score([("ein Hund", "a dog"), ("ein", "")])
    assert [len(score.token_log_probabilities) for score in scores] == [
        len(tokenizer.encode("a dog")) + 1,
        1,
    ]
    assert all(score.log_probability < 0 for score in scores)
