"""Search with real models: a recurrent one, a Transformer, and their ensemble."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from gru import Gru

from multihead.batch import PairBatch, Source
from multihead.errors import UserError
from multihead.models.transformer import Settings, Transformer
from multihead.search.beam import beam
from multihead.search.ensemble import Ensemble
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import LengthLimits
from multihead.search.sampling import sample
from multihead.search.stepper import Stepper

SOURCE, TARGET, BOS, EOS = 37, 83, 2, 3
LIMITS = LengthLimits(max_extra=3)


def gru(seed: int = 1) -> Gru:
    torch.manual_seed(seed)
    return Gru(SOURCE, TARGET).requires_grad_(False)


def transformer(seed: int = 1) -> Transformer:
    torch.manual_seed(seed)
    settings = Settings(
        source_vocab=SOURCE,
        target_vocab=TARGET,
        d_model=24,
        d_ff=41,
        num_layers=2,
        num_heads=3,
        tied="decoder",
    )
    return Transformer(settings).eval().requires_grad_(False)


MODELS: list[Callable[[], Any]] = [gru, transformer]


def some_source(sentences: int = 7) -> Source:
    generator = torch.Generator().manual_seed(5)
    lengths = torch.randint(1, 12, (sentences,), generator=generator)
    ids = torch.randint(4, SOURCE, (sentences, 11), generator=generator)
    return Source(ids.masked_fill(torch.arange(11) >= lengths[:, None], 0), lengths)


def part(source: Source, b: int) -> Source:
    length = int(source.lengths_B[b])
    return Source(source.ids_BS[b : b + 1, :length], source.lengths_B[b : b + 1])


def prefixes(sentences: int = 7) -> list[list[int]]:
    return [[BOS, 11, 13, 17, 19][: 1 + b % 4] for b in range(sentences)]


def scored(model: Any, source: Source, outputs: Sequence[Hypothesis]) -> torch.Tensor:
    """The model's log-probabilities of each token and the end, (B, T)."""
    rows = [[BOS, *h.tokens, EOS] for h in outputs]
    width = max(map(len, rows))
    target = torch.tensor([row + [0] * (width - len(row)) for row in rows])
    lengths = torch.tensor([len(row) - 1 for row in rows])
    result: torch.Tensor = model.score(PairBatch(source, target, lengths, int(lengths.sum())))
    return result


@pytest.mark.parametrize("model", MODELS)
def test_a_hypothesis_has_the_log_probability_that_scoring_the_pair_gives(model: Callable[[], Any]) -> None:
    source = some_source()
    found = beam(model(), source, prefixes(), eos_id=EOS, beam_size=3, limits=LIMITS)
    log_p = scored(model(), source, [h[0] for h in found])
    for b, ((hypothesis,), prefix) in enumerate(zip(found, prefixes(), strict=True)):
        assert hypothesis.tokens[: len(prefix) - 1] == tuple(prefix[1:])
        expected = float(log_p[b, len(prefix) - 1 :].sum())
        assert hypothesis.log_probability == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_greedy_search_agrees_with_the_parallel_pass(model: Callable[[], Any]) -> None:
    source = some_source()
    stepper = model()
    for b, (hypothesis,) in enumerate(greedy(stepper, source, prefixes(), eos_id=EOS, limits=LIMITS)):
        only = part(source, b)
        target = torch.tensor([[BOS, *hypothesis.tokens]])
        logits = (
            stepper(only, target)
            if isinstance(stepper, Gru)
            else stepper(only.ids_BS, target, only.lengths_B)
        )
        forced = len(prefixes()[b]) - 1
        expected = [*hypothesis.tokens[forced:], EOS] if hypothesis.finished else hypothesis.tokens[forced:]
        assert logits[0].argmax(1)[forced : forced + len(expected)].tolist() == list(expected)


@pytest.mark.parametrize("model", MODELS)
def test_a_models_output_does_not_depend_on_the_batch(model: Callable[[], Any]) -> None:
    source = some_source()
    together = beam(model(), source, prefixes(), eos_id=EOS, beam_size=5, n_best=3, limits=LIMITS)
    for b, prefix in enumerate(prefixes()):
        (alone,) = beam(model(), part(source, b), [prefix], eos_id=EOS, beam_size=5, n_best=3, limits=LIMITS)
        assert [h.tokens for h in alone] == [h.tokens for h in together[b]]
        assert [h.score for h in alone] == pytest.approx([h.score for h in together[b]], rel=1e-4)


@pytest.mark.parametrize("model", MODELS)
def test_a_models_samples_agree_with_scoring_and_do_not_depend_on_the_batch(
    model: Callable[[], Any],
) -> None:
    source = some_source()
    numbers = range(7)
    together = sample(
        model(),
        source,
        prefixes(),
        eos_id=EOS,
        seed=1,
        numbers=numbers,
        samples=3,
        limits=LIMITS,
        distinct=False,
    )
    first = scored(model(), source, [h[0] for h in together])
    for b, prefix in enumerate(prefixes()):
        (alone,) = sample(
            model(),
            part(source, b),
            [prefix],
            eos_id=EOS,
            seed=1,
            numbers=[b],
            samples=3,
            limits=LIMITS,
            distinct=False,
        )
        assert [h.tokens for h in alone] == [h.tokens for h in together[b]]
        expected = float(first[b, len(prefix) - 1 :].sum())
        assert together[b][0].log_probability == pytest.approx(expected, rel=1e-4)


def test_an_ensemble_has_the_mean_of_its_members_probabilities() -> None:
    source = some_source()
    members: list[Stepper[Any]] = [gru(2), transformer(3), gru(5)]
    found = beam(Ensemble(members), source, prefixes(), eos_id=EOS, beam_size=3, limits=LIMITS)
    best = [h[0] for h in found]
    each = torch.stack([scored(member, source, best).exp() for member in members])
    mean = each.mean(0).log()
    for b, prefix in enumerate(prefixes()):
        expected = float(mean[b, len(prefix) - 1 :].sum())
        assert best[b].log_probability == pytest.approx(expected, rel=1e-4)


def test_an_ensemble_of_one_model_with_itself_is_that_model() -> None:
    source = some_source()
    one = beam(gru(), source, prefixes(), eos_id=EOS, limits=LIMITS)
    two = beam(Ensemble([gru(), gru()]), source, prefixes(), eos_id=EOS, limits=LIMITS)
    assert [h[0].tokens for h in one] == [h[0].tokens for h in two]


def test_models_with_different_vocabularies_cannot_form_an_ensemble() -> None:
    torch.manual_seed(1)
    other = Gru(SOURCE, TARGET + 2)
    with pytest.raises(UserError, match=r"vocabularies differ: 83, 85 tokens.*one target tokenizer"):
        greedy(Ensemble([gru(), other]), some_source(), prefixes(), eos_id=EOS)
