"""The Transformer laid out for search against the model's own steps."""

import pytest
import torch
from laying_out import lay_out, noisy_transformer, walk
from torch.testing import assert_close

from multihead.batch import Source
from multihead.engines.choose import LatestStepper
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.search.beam import beam
from multihead.search.greedy import greedy
from multihead.search.request import LengthLimits
from multihead.system import native

pytestmark = pytest.mark.usefixtures("every_level")

BEGIN, END, VOCABULARY = 2, 3, 31
CPU = torch.device("cpu")
PREFIXES = [[BEGIN], [BEGIN, 7, 11], [BEGIN, 5], [BEGIN], [BEGIN, 13, 17, 19, 23]]
VARIANTS: dict[str, dict[str, object]] = {
    "as published": {},
    "pre-norm": {"norm": "pre"},
    "GELU": {"activation": "gelu"},
    "SiLU, and a bias in the output layer": {"activation": "silu", "output_bias": True},
    "learned positions": {"positions": "learned", "max_positions": 97},
    "no positions": {"positions": "none", "norm": "pre"},
    "heads of other widths": {"d_k": 5, "d_v": 13},
    "nothing tied": {"tied": "none"},
    "a decoder of one layer": {"decoder_layers": 1},
}


def model(**settings: object) -> Transformer:
    return noisy_transformer(0.1, **settings)


def source() -> Source:
    lengths = torch.tensor([11, 7, 5, 3, 2])
    return Source(torch.randint(4, VOCABULARY, (5, 11)), lengths)


@pytest.mark.parametrize("variant", VARIANTS)
def test_search_gets_the_same_scores(variant: str) -> None:
    made, asked = model(**VARIANTS[variant]), source()
    prepared = lay_out(made, torch.float32)
    assert prepared is not None
    assert_close(
        walk(prepared, asked, PREFIXES, 13, VOCABULARY),
        walk(made, asked, PREFIXES, 13, VOCABULARY),
        rtol=1e-4,
        atol=1e-4,
    )


def test_dropping_unused_slots_changes_nothing() -> None:
    made, asked = model(norm="pre"), source()
    prepared = lay_out(made, torch.float32)
    assert prepared is not None
    begun = [[BEGIN]] * 5
    expected, found = walk(made, asked, begun, 61, VOCABULARY), walk(prepared, asked, begun, 61, VOCABULARY)
    assert_close(found, expected, rtol=1e-4, atol=1e-4)
    state = prepared.start(asked, begun)
    with torch.inference_mode():
        for step in range(60):
            each = 1 if step == 0 else 3
            _, state = prepared.step(torch.full((5 * each,), 7), state)
            # All hypotheses descend from the first row: the other rows' slots are unused.
            state = state.select(torch.arange(5).repeat_interleave(3) * each)
    assert state.caches[0].slots < 60 * 2 + 8 * 3  # of 178 written


def test_without_a_beam_nothing_is_masked() -> None:
    prepared = lay_out(model(), torch.float32)
    assert prepared is not None
    state = prepared.start(Source(torch.full((2, 3), 5), torch.tensor([3, 3])), [[BEGIN]] * 2)
    _, state = prepared.step(torch.tensor([BEGIN, BEGIN]), state)
    assert state.bias is None


def test_empty_batches_and_sources_do_not_crash() -> None:
    prepared = lay_out(model(), torch.float32)
    assert prepared is not None
    if not native.level():
        return
    decoder = prepared._decoder
    nothing = torch.zeros(0, dtype=torch.long)
    caches = decoder.begin(torch.zeros(0, 3, 22), nothing)
    decoder.step(torch.zeros(0, 1, 22), caches, None)
    decoder.begin(torch.zeros(2, 0, 22), torch.zeros(2, dtype=torch.long))


def test_searches_find_the_same() -> None:
    made, asked = model(norm="pre"), source()
    prepared = lay_out(made, torch.float32)
    assert prepared is not None
    limits = LengthLimits(max_length=29)
    for search in (greedy, beam):
        expected = search(made, asked, PREFIXES, eos_id=END, limits=limits)
        found = search(prepared, asked, PREFIXES, eos_id=END, limits=limits)
        assert [[h.tokens for h in one] for one in found] == [[h.tokens for h in one] for one in expected]
        for one, other in zip(found, expected, strict=True):
            assert one[0].score == pytest.approx(other[0].score, rel=1e-4)


@pytest.mark.parametrize(("dtype", "most"), [(torch.bfloat16, 0.03), (torch.int8, 0.05)])
def test_lower_precision_stays_close(dtype: torch.dtype, most: float) -> None:
    made, asked = model(), source()
    prepared = lay_out(made, dtype)
    if dtype == torch.int8 and not native.level():
        assert prepared is None
        return
    assert prepared is not None
    with torch.autocast("cpu", torch.bfloat16):  # as in an ensemble whose other members need it
        found = walk(prepared, asked, PREFIXES, 7, VOCABULARY)
    errors = [
        (a - b).abs().mean() / b.std()
        for a, b in zip(found, walk(made, asked, PREFIXES, 7, VOCABULARY), strict=True)
    ]
    assert max(errors) < most


@pytest.mark.parametrize(
    "settings", [{"score": "additive"}, {"norm": "batch"}, {"norm": "none"}, {"positions": "alibi"}]
)
def test_a_model_with_other_parts_uses_its_own_steps(settings: dict[str, object]) -> None:
    made = model(**settings)
    assert lay_out(made, torch.float32) is None
    assert LatestStepper(made, CPU, torch.float32).stepper() is made
    with pytest.raises(UserError, match="no translation in int8"):
        LatestStepper(made, CPU, torch.int8).stepper()


def test_without_the_native_part_there_is_no_int8() -> None:
    with native.use(""), pytest.raises(UserError, match="native part"):
        LatestStepper(model(), CPU, torch.int8)


def test_the_stepper_follows_the_weights() -> None:
    made = model()
    latest = LatestStepper(made, CPU, torch.float32)
    first = latest.stepper()
    assert latest.stepper() is first
    with torch.no_grad():
        made.output.weight[7] += 1
    second = latest.stepper()
    assert second is not first
    asked = source()
    assert_close(
        walk(second, asked, PREFIXES, 3, VOCABULARY),
        walk(made, asked, PREFIXES, 3, VOCABULARY),
        rtol=1e-4,
        atol=1e-4,
    )


def test_a_sentences_scores_do_not_depend_on_its_batch() -> None:
    # 29 sentences of 3 hypotheses: more rows than a thread's block, with a remainder in every tile.
    made = model(num_heads=3, d_k=17, d_v=19, d_ff=67)
    asked = Source(
        torch.randint(4, VOCABULARY, (29, 11)), torch.randint(1, 12, (29,)).sort(descending=True)[0]
    )
    prepared = lay_out(made, torch.float32)
    assert prepared is not None
    together = walk(prepared, asked, [[BEGIN]] * 29, 9, VOCABULARY)
    assert_close(together, walk(made, asked, [[BEGIN]] * 29, 9, VOCABULARY), rtol=1e-4, atol=1e-4)


@pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")
def test_another_kernel_level_makes_another_stepper() -> None:
    latest = LatestStepper(model(), CPU, torch.float32)
    with native.use(native.LEVELS[0]):
        first = latest.stepper()
    with native.use(""):
        assert latest.stepper() is not first
