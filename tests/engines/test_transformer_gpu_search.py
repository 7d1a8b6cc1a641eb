"""The search over fixed-size tensors against the stepwise search; on a GPU, also as CUDA graphs."""

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from laying_out import lay_out, noisy_transformer

from multihead.batch import Source
from multihead.engines.choose import LatestStepper
from multihead.engines.cuda import graphs as search
from multihead.engines.cuda.graphs import GraphTransformer
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.search.beam import beam
from multihead.search.constraints import Banned
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import LengthLimits

PAD, BEGIN, END, VOCABULARY = 0, 2, 3, 31
DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


class OneByOne:
    """A stepper that offers its steps only."""

    def __init__(self, stepper: Any) -> None:
        self.start, self.step = stepper.start, stepper.step


def model_of(device: str, **given: object) -> Transformer:
    return noisy_transformer(0.2, **{"d_model": 24, "num_heads": 3, **given}).to(device)


def fixed(model: Transformer) -> GraphTransformer:
    found = lay_out(model, torch.float32, "cuda")
    assert isinstance(found, GraphTransformer)
    return found


def sources(count: int, longest: int, device: str) -> Source:
    lengths = torch.randint(1, longest + 1, (count,))
    ids = torch.randint(4, VOCABULARY, (count, int(lengths.max())))
    return Source(ids, lengths).to(torch.device(device))


def outputs_of(found: list[list[Hypothesis]]) -> list[list[tuple[tuple[int, ...], bool]]]:
    return [[(one.tokens, one.finished) for one in hypotheses] for hypotheses in found]


def numbers(found: list[list[Hypothesis]]) -> list[float]:
    every = [one for hypotheses in found for one in hypotheses]
    return [one.score for one in every] + [one.log_probability for one in every]


def same(stepper: GraphTransformer, model: Transformer, source: Source, **asked: Any) -> None:
    prefixes = [[BEGIN]] * len(source.lengths_B)
    wanted = beam(OneByOne(model), source, prefixes, eos_id=END, **asked)
    found = beam(stepper, source, prefixes, eos_id=END, **asked)
    assert outputs_of(found) == outputs_of(wanted)
    assert numbers(found) == pytest.approx(numbers(wanted), rel=1e-4, abs=1e-4)


@pytest.mark.parametrize("device", DEVICES)
@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 2**31),
    sentences=st.sampled_from([1, 2, 7, 23]),
    beam_size=st.sampled_from([1, 2, 5]),
    alpha=st.sampled_from([0.0, 0.6, 1.4]),
    stop=st.sampled_from(["exact", "first"]),
    n_best=st.sampled_from([1, 2]),
    extra=st.sampled_from([0, 3, 19]),
    changed=st.sampled_from(
        [
            {},
            {"norm": "pre", "positions": "learned", "max_positions": 37},
            {"positions": "none", "tied": "none", "output_bias": True},
            {"d_k": 5, "d_v": 9, "activation": "gelu"},
        ]
    ),
)
def test_it_finds_the_hypotheses_of_the_stepwise_search(
    device: str,
    seed: int,
    sentences: int,
    beam_size: int,
    alpha: float,
    stop: Any,
    n_best: int,
    extra: int,
    changed: dict[str, object],
) -> None:
    torch.manual_seed(seed)
    model = model_of(device, **changed)
    stepper = fixed(model)
    for _ in range(1 if device == "cpu" else 2):  # the second run is captured
        same(
            stepper,
            model,
            sources(sentences, 11, device),
            beam_size=beam_size,
            alpha=alpha,
            n_best=min(n_best, beam_size),
            stop=stop,
            limits=LengthLimits(extra, capacity=model.limit and model.limit - 1),
            constraints=[Banned([PAD, BEGIN])],
        )


@pytest.mark.parametrize("device", DEVICES)
def test_a_batch_too_large_for_memory_is_split(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(3)
    model = model_of(device)
    # Memory for twenty sentences: 2 layers, 3 heads, keys and values of 8 floats, 32 * 4 + 16 slots.
    monkeypatch.setattr(search, "_memory", lambda device: 20 * 2 * 3 * 2 * 8 * 4 * (32 * 4 + 16))
    stepper = fixed(model)
    same(stepper, model, sources(17, 9, device), beam_size=4, limits=LengthLimits(9))
    assert [key[0] for key in stepper._captured] == [10, 7]
    same(stepper, model, sources(11, 9, device), beam_size=4, limits=LengthLimits(9))
    assert [key[0] for key in stepper._captured] == [7, 10, 1]


@pytest.mark.parametrize("device", DEVICES)
def test_scores_that_are_not_finite_are_refused(device: str) -> None:
    torch.manual_seed(4)
    model = model_of(device)
    with torch.no_grad():
        model.output.weight[7, 5] = float("nan")
    source = sources(3, 9, device)
    with pytest.raises(UserError, match=r"search, step \d+: the model's scores are not finite"):
        beam(fixed(model), source, [[BEGIN]] * 3, eos_id=END)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU of NVIDIA's")
def test_a_model_on_a_gpu_has_the_engine() -> None:
    made = model_of("cuda")
    assert isinstance(LatestStepper(made, torch.device("cuda"), torch.bfloat16).stepper(), GraphTransformer)


def test_a_model_with_other_parts_has_none() -> None:
    assert lay_out(model_of("cpu", window=3), torch.float32, "cuda") is None
