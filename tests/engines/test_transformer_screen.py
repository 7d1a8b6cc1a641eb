"""Search with the int8-screened output layer against search with all logits."""

from typing import Any, cast

import pytest
import torch
from laying_out import lay_out, noisy_transformer

from multihead.batch import Source
from multihead.engines.native import screen
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.search.beam import beam
from multihead.search.constraints import Banned
from multihead.search.greedy import greedy
from multihead.search.request import LengthLimits
from multihead.system import native

PAD, BEGIN, END, VOCABULARY = 0, 2, 3, 2003
DTYPES = [torch.float32, torch.bfloat16]

pytestmark = pytest.mark.usefixtures("native_level")


@pytest.fixture(autouse=True)
def _everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Screen at every processor level: it must be correct even where it does not pay off."""
    monkeypatch.setattr(screen, "FASTER", dict.fromkeys(native.LEVELS, ("float32", "bfloat16")))


def model(**given: object) -> Transformer:
    return noisy_transformer(0.2, **{"target_vocab": VOCABULARY, "d_model": 38, "tied": "decoder", **given})


def found(
    made: Transformer, dtype: torch.dtype, beam_size: int, *, screened: bool, longest: int = 13
) -> list[list[Any]]:
    """The hypotheses of several sentences, best first."""
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(1, 12, (29,), generator=generator)
    asked = Source(torch.randint(4, 31, (29, 11), generator=generator), lengths)
    given: dict[str, Any] = {
        "eos_id": END,
        "limits": LengthLimits(max_length=longest),
        "constraints": [Banned([PAD, BEGIN])],
    }
    least, screen.OUTPUTS_PER_K = screen.OUTPUTS_PER_K, 64 if screened else VOCABULARY + 1
    try:
        prepared, begun = lay_out(made, dtype), [[BEGIN]] * 29
        assert prepared is not None
        if beam_size == 1:
            return list(greedy(prepared, asked, begun, **given))
        return list(beam(prepared, asked, begun, beam_size=beam_size, n_best=beam_size, **given))
    finally:
        screen.OUTPUTS_PER_K = least


def hard(made: Transformer, kind: str) -> None:
    """Set weights that int8 cannot distinguish, or represents badly."""
    weight = made.target_embedding.weight
    with torch.no_grad():
        if kind == "twins":  # closer than a quantisation step
            weight.copy_(weight[:41].repeat(49, 1)[:VOCABULARY] + 1e-3 * torch.randn_like(weight))
        elif kind == "equal":  # a tie: the first one wins
            weight.copy_(weight[:41].repeat(49, 1)[:VOCABULARY])
        elif kind == "coarse":  # one outlier input determines the scale
            weight[:, 5] *= 1000
            cast(torch.nn.LayerNorm, made.decoder.norm).weight[5] *= 1e-3
        elif kind == "sharp":  # the first token has nearly all of the probability
            weight.mul_(3)
        elif kind == "nothing":
            weight[17:] = 0


def agree(screened: list[list[Any]], expected: list[list[Any]]) -> int:
    """Check that common hypotheses have nearly the same probability; return their number."""
    both = 0
    for mine, theirs in zip(screened, expected, strict=True):
        log_probabilities = {one.tokens: one.log_probability for one in theirs}
        for one in mine:
            if one.tokens in log_probabilities:
                near = pytest.approx(log_probabilities[one.tokens], abs=0.01 * (len(one.tokens) + 1))
                assert one.log_probability == near
                both += 1
    return both


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["", "twins", "equal", "coarse", "nothing"])
def test_screened_greedy_search_finds_the_most_probable_token(kind: str, dtype: torch.dtype) -> None:
    made = model(norm="pre", output_bias=kind == "")
    hard(made, kind)
    expected, screened = (found(made, dtype, 1, screened=which) for which in (False, True))
    assert [one.tokens for (one,) in screened] == [one.tokens for (one,) in expected]
    agree(screened, expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["", "twins", "coarse", "sharp"])
def test_the_screened_top_five_first_tokens_are_exact(kind: str, dtype: torch.dtype) -> None:
    made = model(norm="pre")
    hard(made, kind)
    expected, screened = (found(made, dtype, 5, screened=which, longest=1) for which in (False, True))
    for mine, theirs in zip(screened, expected, strict=True):
        assert {one.tokens for one in mine} == {one.tokens for one in theirs}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("threads", [1, 2])
def test_a_screened_beam_finds_the_same_best(threads: int, dtype: torch.dtype) -> None:
    made, before = model(norm="post"), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        expected, screened = (found(made, dtype, 5, screened=which) for which in (False, True))
    finally:
        torch.set_num_threads(before)
    assert [one.tokens for one, *_ in screened] == [one.tokens for one, *_ in expected]
    assert agree(screened, expected) > 0.9 * sum(map(len, expected))


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_that_are_not_finite_are_still_reported(dtype: torch.dtype) -> None:
    made = model()
    with torch.no_grad():
        made.target_embedding.weight[1009, 3] = torch.nan
    with pytest.raises(UserError, match="not finite"):
        found(made, dtype, 1, screened=True)


def test_screening_is_off_where_it_does_not_pay() -> None:
    assert not screen.Screen.pays(screen.OUTPUTS_PER_K * 5 - 1, 5, "float32")
    assert screen.Screen.pays(screen.OUTPUTS_PER_K * 5, 5, "float32")
    assert not screen.Screen.pays(10**6, 1, "int8")
    with native.use(""):
        assert not screen.Screen.pays(10**6, 1, "float32")
