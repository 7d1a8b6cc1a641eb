"""Restricted self-attention in the native kernels, against the model's own steps."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from laying_out import lay_out, noisy_transformer
from torch.testing import assert_close

from multihead.batch import Source
from multihead.description import EncoderDecoderSpec, WindowSpec, map_weights
from multihead.engines import layers
from multihead.engines.native import windows
from multihead.engines.native.cache import NativeCache
from multihead.engines.native.layers import NativeDecoder, declines
from multihead.engines.transformer import LaidOutTransformer
from multihead.nn.description import describe
from multihead.search.beam import beam
from multihead.search.constraints import Banned
from multihead.search.greedy import greedy
from multihead.search.request import LengthLimits

PAD, BEGIN, END, VOCABULARY = 0, 2, 3, 31

pytestmark = pytest.mark.usefixtures("native_level")


def sources(count: int, longest: int) -> Source:
    lengths = torch.randint(1, longest + 1, (count,))
    lengths[0] = longest
    return Source(torch.randint(4, VOCABULARY, (count, longest)), lengths)


@given(
    seed=st.integers(0, 2**31),
    window=st.sampled_from([1, 3, 7, 31, 33, 101]),
    longest=st.sampled_from([1, 2, 31, 32, 33, 97]),
    beam_size=st.sampled_from([1, 2, 5, 13]),
    d_v=st.sampled_from([0, 7, 17]),
    norm=st.sampled_from(["pre", "post"]),
)
@settings(max_examples=11, deadline=None)
def test_whole_searches_find_what_the_model_finds(
    seed: int, window: int, longest: int, beam_size: int, d_v: int, norm: str
) -> None:
    torch.manual_seed(seed)
    made = noisy_transformer(0.2, window=window, d_v=d_v, norm=norm)
    prepared, asked = lay_out(made, torch.float32), sources(7, longest)
    assert isinstance(prepared, LaidOutTransformer)
    wanted: dict[str, Any] = {
        "eos_id": END,
        "limits": LengthLimits(max_extra=0, max_length=41),
        "constraints": [Banned([PAD, BEGIN])],
    }
    begun = [[BEGIN]] * 7
    with torch.inference_mode():
        if beam_size == 1:
            found, expected = greedy(prepared, asked, begun, **wanted), greedy(made, asked, begun, **wanted)
        else:
            wanted |= {"beam_size": beam_size, "n_best": 2}
            found, expected = beam(prepared, asked, begun, **wanted), beam(made, asked, begun, **wanted)
    for ours, theirs in zip(found, expected, strict=True):
        assert [one.score for one in ours] == pytest.approx([one.score for one in theirs], rel=1e-4, abs=1e-4)
        # Two outputs whose scores differ by rounding alone may change places.
        apart = len(theirs) == 1 or theirs[0].score - theirs[1].score > 1e-3
        assert not apart or ours[0].tokens == theirs[0].tokens


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_a_window_wider_than_the_text_changes_no_token(dtype: torch.dtype) -> None:
    torch.manual_seed(5)
    made = noisy_transformer(0.2, window=201)
    free = noisy_transformer(0.2)
    free.load_state_dict(made.state_dict())
    asked, limits = sources(23, 89), LengthLimits(max_length=47)
    found, expected = (
        beam(lay_out(each, dtype), asked, [[BEGIN]] * 23, eos_id=END, limits=limits) for each in (made, free)
    )
    assert [[one.tokens for one in each] for each in found] == [
        [one.tokens for one in each] for each in expected
    ]


def test_a_narrow_window_changes_the_outputs() -> None:
    torch.manual_seed(5)
    made = noisy_transformer(0.2, window=3)
    free = noisy_transformer(0.2)
    free.load_state_dict(made.state_dict())
    asked = sources(23, 89)
    found, other = (
        beam(lay_out(each, torch.float32), asked, [[BEGIN]] * 23, eos_id=END) for each in (made, free)
    )
    assert sum(a[0].tokens != b[0].tokens for a, b in zip(found, other, strict=True)) > 11


@pytest.mark.parametrize("beam_size", [1, 3])
def test_slots_that_left_the_window_are_freed(monkeypatch: pytest.MonkeyPatch, beam_size: int) -> None:
    slots = []
    own = NativeDecoder.beam

    def noted(decoder: NativeDecoder, cache: NativeCache, *given: Any) -> None:
        slots.append(cache.slots)
        own(decoder, cache, *given)

    monkeypatch.setattr(NativeDecoder, "beam", noted)
    torch.manual_seed(3)
    made = lay_out(noisy_transformer(0.2, window=7, output_bias=True), torch.float32)
    limits = LengthLimits(max_length=397, min_length=397)
    (found,) = beam(made, sources(1, 5), [[BEGIN]], eos_id=END, beam_size=beam_size, limits=limits)
    assert len(found[0].tokens) == 397
    assert max(slots) < 97 * beam_size


PREFIXES = [[BEGIN], [BEGIN, 7, 11], [BEGIN, 5], [BEGIN], [BEGIN, 13, 17, 19, 23, 4, 9]]


@pytest.mark.parametrize("window", [1, 3, 5, 11])
def test_single_steps_behind_prefixes(window: int) -> None:
    torch.manual_seed(window)
    made, asked = noisy_transformer(0.1, window=window), sources(5, 37)
    prepared = lay_out(made, torch.float32)
    chance = torch.Generator().manual_seed(7)
    with torch.inference_mode():
        states = [each.start(asked, PREFIXES) for each in (prepared, made)]
        tokens = torch.tensor([prefix[-1] for prefix in PREFIXES])
        for step in range(17):
            found = []
            for number, each in enumerate((prepared, made)):
                logits, states[number] = each.step(tokens, states[number])
                found.append(logits)
            assert_close(found[0], found[1], rtol=1e-4, atol=1e-4)
            rows = torch.arange(5)[:, None] * (3 if step else 1) + torch.randint(
                3 if step else 1, (5, 3), generator=chance
            )
            states = [state.select(rows.flatten()) for state in states]
            tokens = torch.randint(4, VOCABULARY, (15,), generator=chance)


def windowed(window: WindowSpec | None, of_model: int = 7) -> EncoderDecoderSpec:
    """A described model of window 7 whose encoder has another."""
    spec = describe(noisy_transformer(0.1, window=7), EncoderDecoderSpec)
    own = spec.encoder.layers[0].self_attention
    first = replace(
        spec.encoder.layers[0], self_attention=replace(own, score=replace(own.score, window=window))
    )
    encoder = replace(spec.encoder, layers=(first, *spec.encoder.layers[1:]))
    return replace(map_weights(spec, lambda value: value), encoder=encoder, window=of_model)


@pytest.mark.parametrize(
    ("window", "reason"),
    [
        (WindowSpec(3, 3), None),
        (WindowSpec(3, 3, dilation=2), "gaps, global positions or uneven sides"),
        (WindowSpec(3, 3, places=(0,)), "gaps, global positions or uneven sides"),
        (WindowSpec(3, 0), "gaps, global positions or uneven sides"),
        (WindowSpec(-1, -1), "gaps, global positions or uneven sides"),
        (WindowSpec(2, 2), "a layer's window is not the model's, 7"),
        (None, "a layer's window is not the model's, 7"),
    ],
)
def test_windows_that_the_kernels_lack_are_declined(window: WindowSpec | None, reason: str | None) -> None:
    found = declines(windowed(window))
    assert found == reason if reason is None else reason in str(found)


def test_layers_in_pytorch_have_no_windows() -> None:
    spec = describe(noisy_transformer(0.1, window=7), EncoderDecoderSpec)
    assert layers.declines(spec, torch.float32) == "self-attention is restricted to a window of 7"
    hidden = replace(spec, window=0)
    assert layers.declines(hidden, torch.float32) == "self-attention is restricted to a window"


def test_a_window_over_the_source_is_declined() -> None:
    spec = describe(noisy_transformer(0.1), EncoderDecoderSpec)
    layer = spec.decoder.layers[1]
    source = layer.cross_attention
    changed = replace(
        layer, cross_attention=replace(source, score=replace(source.score, window=WindowSpec(3, 3)))
    )
    decoder = replace(spec.decoder, layers=(spec.decoder.layers[0], changed))
    assert declines(replace(spec, decoder=decoder)) == "attention over the source is restricted to a window"


def test_the_last_slots_that_a_hypothesis_sees_are_its_window() -> None:
    hidden = -np.inf
    bias = np.array([[[0, hidden, 0, 0, hidden, 0], [hidden, 0, hidden, hidden, 0, 0]]], np.float32)
    expected = [[[hidden, hidden, hidden, 0, hidden, 0], [hidden, hidden, hidden, hidden, 0, 0]]]
    np.testing.assert_array_equal(windows.within(bias, (1, 2, 6), 1), np.array(expected, np.float32))
    np.testing.assert_array_equal(windows.within(bias, (1, 2, 6), 6), bias)
    np.testing.assert_array_equal(windows.within(None, (1, 1, 3), 0), [[[hidden, hidden, 0]]])
