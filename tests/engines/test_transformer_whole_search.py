"""The native kernel's whole beam search against the stepwise search."""

from copy import deepcopy
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from laying_out import lay_out, noisy_transformer
from torch import Tensor

from multihead.batch import Source
from multihead.engines.transformer import LaidOutTransformer
from multihead.errors import UserError
from multihead.models.transformer import Settings, Transformer
from multihead.search.beam import beam
from multihead.search.constraints import Banned, NoRepeatedNgram, at_least
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import BeamRequest, LengthLimits

PAD, BEGIN, END, VOCABULARY = 0, 2, 3, 31

pytestmark = pytest.mark.usefixtures("native_level")


class OneByOne:
    """A stepper that offers its steps only."""

    def __init__(self, stepper: Any) -> None:
        self.start, self.step = stepper.start, stepper.step


def prepared(dtype: torch.dtype = torch.float32, **given: object) -> LaidOutTransformer:
    found = lay_out(noisy_transformer(0.2, **given), dtype)
    assert isinstance(found, LaidOutTransformer)
    return found


def sources(count: int, longest: int) -> Source:
    lengths = torch.randint(1, longest + 1, (count,))
    return Source(torch.randint(4, VOCABULARY, (count, int(lengths.max()))), lengths)


def outputs(hypotheses: list[Hypothesis]) -> list[tuple[tuple[int, ...], bool]]:
    return [(one.tokens, one.finished) for one in hypotheses]


def outputs_of(found: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], bool]]]:
    return [outputs(hypotheses) for hypotheses in found]


def jitter(transformer: Transformer, seed: int) -> Any:
    """Return the model laid out with its weights moved by the rounding of float32."""
    generator = torch.Generator().manual_seed(seed)
    moved = deepcopy(transformer)
    with torch.no_grad():
        for weight in moved.parameters():
            weight.mul_(1 + 1e-7 * torch.randn(weight.shape, generator=generator))
    return lay_out(moved, torch.float32)


def scores(found: list[list[Hypothesis]]) -> list[float]:
    every = [one for hypotheses in found for one in hypotheses]
    return [one.score for one in every] + [one.log_probability for one in every]


@given(
    seed=st.integers(0, 2**31),
    sentences=st.sampled_from([1, 2, 7, 23]),
    beam_size=st.sampled_from([1, 2, 3, 5, 13, 37]),
    n_best=st.integers(1, 3),
    alpha=st.sampled_from([0.0, 0.6, 2.2]),
    stop=st.sampled_from(["exact", "first"]),
    max_length=st.sampled_from([0, 1, 5, 19]),
    norm=st.sampled_from(["pre", "post"]),
    positions=st.sampled_from(["sinusoidal", "none"]),
)
@settings(max_examples=11, deadline=None)
def test_it_finds_the_hypotheses_of_the_steps(
    seed: int,
    sentences: int,
    beam_size: int,
    n_best: int,
    alpha: float,
    stop: Any,
    max_length: int,
    norm: str,
    positions: str,
) -> None:
    torch.manual_seed(seed)
    transformer = noisy_transformer(0.2, norm=norm, positions=positions)
    model, asked = lay_out(transformer, torch.float32), sources(sentences, 11)
    limits = LengthLimits(max_extra=29, max_length=max_length)
    given: dict[str, Any] = {
        "eos_id": END,
        "alpha": alpha,
        "limits": limits,
        "constraints": [Banned([PAD, BEGIN])],
    }
    if beam_size > 1:
        given |= {"beam_size": beam_size, "n_best": min(n_best, beam_size), "stop": stop}
    given |= {"source": asked, "prefixes": [[BEGIN]] * sentences}
    search: Any = partial(greedy if beam_size == 1 else beam, **given)
    found, expected = search(model), search(OneByOne(model))
    differing = [place for place in range(sentences) if outputs(found[place]) != outputs(expected[place])]
    if differing:  # allowed only where rounding decides: there the steps differ from themselves
        nearby = [search(OneByOne(jitter(transformer, generator))) for generator in range(40)]
        for place in differing:
            assert outputs(found[place]) in [outputs(hypotheses[place]) for hypotheses in nearby]
    same = [place for place in range(sentences) if place not in differing]
    assert scores([found[place] for place in same]) == pytest.approx(
        scores([expected[place] for place in same]), rel=1e-5, abs=1e-5
    )


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
@pytest.mark.parametrize("threads", [1, 2])
def test_in_every_format_and_with_threads(dtype: torch.dtype, threads: int) -> None:
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        model, asked = prepared(dtype, d_model=64, num_layers=3), sources(37, 17)
        given: dict[str, Any] = {
            "eos_id": END,
            "beam_size": 3,
            "n_best": 3,
            "limits": LengthLimits(max_extra=70),
        }
        begun = [[BEGIN]] * 37
        found, expected = (beam(each, asked, begun, **given) for each in (model, OneByOne(model)))
    finally:
        torch.set_num_threads(before)
    assert outputs_of(found) == outputs_of(expected)


CONSTRAINTS = [(0, 7), (1, 0), (2, 0), (3, 5), (4, 1), (70, 0)]
"""n-grams that may not be repeated, 0 for none, and minimum lengths."""


@pytest.mark.parametrize(
    ("dtype", "ngram", "least", "size"),
    [
        *((torch.float32, *constraint, size) for constraint in CONSTRAINTS for size in (1, 5)),
        *((torch.bfloat16, *constraint, 5) for constraint in CONSTRAINTS[::2]),
        *((torch.int8, *constraint, 5) for constraint in CONSTRAINTS[1::2]),
        (torch.bfloat16, 1, 0, 1),
        (torch.int8, 2, 0, 1),
    ],
)
def test_constraints_on_what_is_written(dtype: torch.dtype, ngram: int, least: int, size: int) -> None:
    model, asked = prepared(dtype), sources(7, 11)
    given: dict[str, Any] = {
        "eos_id": END,
        "beam_size": size,
        "n_best": size,
        "limits": LengthLimits(max_extra=23, min_length=least),
        "constraints": [Banned([PAD, BEGIN]), *([NoRepeatedNgram(ngram)] if ngram else [])],
    }
    begun = [[BEGIN]] * 7
    found, expected = (beam(each, asked, begun, **given) for each in (model, OneByOne(model)))
    assert outputs_of(found) == outputs_of(expected)
    free = {"limits": LengthLimits(max_extra=23), "constraints": given["constraints"][:1]}
    plain = beam(model, asked, begun, **{**given, **free})
    short = any(len(one.tokens) < least for some in plain for one in some)
    assert (outputs_of(found) == outputs_of(plain)) == (ngram in (0, 70) and not short)


def test_a_sentence_does_not_depend_on_the_rest_of_its_batch() -> None:
    model, asked = prepared(), sources(29, 13)
    together = beam(model, asked, [[BEGIN]] * 29, eos_id=END, n_best=2)
    for n, length in enumerate(asked.lengths_B.tolist()):
        alone = Source(asked.ids_BS[n : n + 1, :length], torch.tensor([length]))
        (found,) = beam(model, alone, [[BEGIN]], eos_id=END, n_best=2)
        assert [one.tokens for one in found] == [one.tokens for one in together[n]]
    assert asked.lengths_B.shape == (29,)


def test_learned_positions_are_read_to_the_last_and_no_further() -> None:
    model, asked = prepared(positions="learned", max_positions=13), sources(5, 12)
    limits = LengthLimits(capacity=12)
    given: dict[str, Any] = {"eos_id": END, "limits": limits, "constraints": [Banned([PAD, BEGIN])]}
    found, expected = (beam(each, asked, [[BEGIN]] * 5, **given) for each in (model, OneByOne(model)))
    assert outputs_of(found) == outputs_of(expected)


def test_a_model_that_never_ends_is_cut_and_marked() -> None:
    ((one,),) = beam(
        with_bias(END, -50.0), sources(1, 3), [[BEGIN]], eos_id=END, limits=LengthLimits(max_length=11)
    )
    assert len(one.tokens) == 11
    assert not one.finished


def with_bias(token: int, bias: float) -> LaidOutTransformer:
    """A model with a biased logit of one token."""
    sizes = {"source_vocab": VOCABULARY, "target_vocab": VOCABULARY, "d_model": 22, "d_ff": 37}
    made = Transformer(
        Settings.model_validate({**sizes, "num_heads": 2, "num_layers": 1, "output_bias": True})
    )
    with torch.no_grad():
        assert made.output_bias is not None
        made.output_bias[token] = bias
    found = lay_out(made.eval(), torch.float32)
    assert isinstance(found, LaidOutTransformer)
    return found


@pytest.mark.parametrize("bias", [float("nan"), float("inf")])
def test_scores_that_are_not_finite_are_reported(bias: float) -> None:
    for stepper in (with_bias(7, bias), OneByOne(with_bias(7, bias))):
        with pytest.raises(UserError, match=r"search, step 1: .*not finite"):
            beam(stepper, sources(3, 5), [[BEGIN]] * 3, eos_id=END)


def test_other_requests_are_left_to_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    model, asked = prepared(), sources(2, 5)
    searched: list[BeamRequest] = []
    own = model.beam

    def noted(source: Source, longest_B: Tensor, request: BeamRequest) -> list[list[Hypothesis]] | None:
        searched.append(request)
        return own(source, longest_B, request)

    monkeypatch.setattr(model, "beam", noted)
    begun: list[list[int]] = [[BEGIN], [BEGIN]]
    beam(model, asked, begun, eos_id=END)
    assert len(searched) == 1
    beam(model, asked, [[BEGIN, 7], [BEGIN]], eos_id=END)
    beam(model, asked, begun, eos_id=END, constraints=[NoRepeatedNgram(2), NoRepeatedNgram(3)])
    beam(model, asked, begun, eos_id=END, constraints=[at_least(3, END)])
    beam(model, asked, begun, eos_id=END, constraints=[Banned([END])], limits=LengthLimits(max_length=5))
    beam(model, asked, begun, eos_id=END, observer=lambda branches: None)
    assert len(searched) == 1
    wide = beam(model, asked, begun, eos_id=END, beam_size=65)
    assert len(searched) == 2
    assert outputs_of(wide) == outputs_of(beam(OneByOne(model), asked, begun, eos_id=END, beam_size=65))


def test_the_arguments_are_not_modified() -> None:
    model, asked = prepared(), sources(19, 7)
    before = replace(asked, ids_BS=asked.ids_BS.clone(), lengths_B=asked.lengths_B.clone())
    beam(model, asked, [[BEGIN]] * 19, eos_id=END)
    assert torch.equal(asked.lengths_B, before.lengths_B)
    assert torch.equal(asked.ids_BS, before.ids_BS)


@pytest.mark.parametrize("alpha", [80.0, -9.5])
def test_search_ends_under_an_extreme_length_penalty(alpha: float) -> None:
    one, asked = prepared(), sources(7, 11)
    given: dict[str, Any] = {"eos_id": END, "alpha": alpha, "limits": LengthLimits(max_length=20)}
    found = beam(one, asked, [[BEGIN]] * 7, beam_size=3, **given)
    assert [len(hypotheses) for hypotheses in found] == [1] * 7
    stepwise = beam(OneByOne(one), asked, [[BEGIN]] * 7, beam_size=3, **given)
    assert [len(hypotheses) for hypotheses in stepwise] == [1] * 7


def test_a_search_past_the_learned_positions_is_an_error() -> None:
    one, asked = prepared(positions="learned", max_positions=12), sources(3, 11)
    never, limits = [Banned([PAD, BEGIN, END])], LengthLimits(max_length=40)
    for stepper in (one, OneByOne(one)):
        with pytest.raises(ValueError, match="position 13 is beyond the 12"):
            beam(stepper, asked, [[BEGIN]] * 3, eos_id=END, constraints=never, limits=limits)


def test_n_best_of_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="n_best is 0"):
        beam(prepared(), sources(3, 11), [[BEGIN]] * 3, eos_id=END, n_best=0)
