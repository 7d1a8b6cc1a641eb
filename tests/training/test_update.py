"""One update: exact gradient accumulation, clipping, seeding, an error for a gradient that is not finite."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from backwards import BOS, EOS, PAD, small_transformer, strings
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.errors import UserError
from multihead.nn.losses import Loss, LossTerm
from multihead.recipe.settings import TrainingSettings
from multihead.training import optimizers
from multihead.training.cuda_graphs import can_capture
from multihead.training.update import Updater, UpdateStats, total_counts

STRINGS = strings(23, 11, seed=3)


def batch_of(sources: list[list[int]]) -> PairBatch:
    return collate(sources, [string[::-1] for string in sources], pad_id=PAD, bos_id=BOS, eos_id=EOS)


def updater_of(model: nn.Module, *, rate: float = 0.01, **given: object) -> Updater:
    settings = TrainingSettings.model_validate({"precision": "fp32"} | given)
    optimizer = optimizers.make_optimizer(model, settings)
    optimizers.set_rate(optimizer, rate)
    return Updater(model, optimizer, settings, torch.device("cpu"))


def assert_same_weights(one: nn.Module, other: nn.Module) -> None:
    assert_close(one.state_dict(), other.state_dict(), atol=1e-10, rtol=0)


class Counted:
    """A batch that has only counts."""

    def __init__(self, **counts: int) -> None:
        self.counts = counts


def test_total_counts_are_sums_and_at_least_one() -> None:
    batches: list[Any] = [Counted(masked=5, pairs=0), Counted(masked=0, pairs=0)]
    assert total_counts(batches) == {"masked": 5, "pairs": 1}


@pytest.mark.parametrize("cuts", [[11], [2], [1, 7, 15]])
def test_micro_batches_of_any_size_equal_one_large_batch(cuts: list[int]) -> None:
    whole, accumulated = (small_transformer(dropout=0.0).double() for _ in range(2))
    one, other = updater_of(whole), updater_of(accumulated)
    parts = [batch_of(STRINGS[a:b]) for a, b in zip([0, *cuts], [*cuts, None], strict=True)]
    for step in (1, 2, 3):
        (expected,), (found,) = one.update(step, [batch_of(STRINGS)]), other.update(step, parts)
        assert found.sums == pytest.approx(expected.sums, rel=1e-9)
        assert found.counts == expected.counts
        assert found.norm == pytest.approx(expected.norm, rel=1e-9)
    assert_same_weights(accumulated, whole)


def test_statistics_cover_all_micro_batches() -> None:
    model = small_transformer(dropout=0.0)
    batches = [batch_of(STRINGS[:5]), batch_of(STRINGS[5:])]
    before = [model.loss(batch, 1) for batch in batches]
    (stats,) = updater_of(model).update(1, batches)
    tokens = sum(len(string) + 1 for string in STRINGS)
    assert stats.counts == {"loss": tokens, "nll": tokens, "accuracy": tokens}
    assert stats.sums["nll"] == pytest.approx(sum(loss["nll"].sum.item() for loss in before), rel=1e-5)


class Line(nn.Module):
    """A loss with a known gradient: sum of the weights times the given slope."""

    def __init__(self, slope: Sequence[float] = (3.0, 4.0)) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(len(slope)))
        self.slope = torch.tensor(slope)

    def loss(self, batch: PairBatch, step: int) -> Loss:
        return {"loss": LossTerm(1.0, (self.weight * self.slope).sum() * batch.tokens, per="tokens")}


def plain_descent(model: Line, clip_norm: float) -> tuple[UpdateStats, Tensor]:
    updater = updater_of(model, clip_norm=clip_norm)
    updater.optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    (stats,) = updater.update(1, [batch_of(STRINGS[:2])])
    return stats, model.weight.detach()


@pytest.mark.parametrize(
    ("clip_norm", "weight"), [(0.0, [-3.0, -4.0]), (1.0, [-0.6, -0.8]), (10.0, [-3.0, -4.0])]
)
def test_the_gradient_is_clipped_and_its_norm_before_clipping_returned(
    clip_norm: float, weight: list[float]
) -> None:
    stats, found = plain_descent(Line(), clip_norm)
    assert stats.norm == pytest.approx(5.0)
    assert_close(found, torch.tensor(weight), atol=1e-5, rtol=0)


@pytest.mark.parametrize("slope", [float("nan"), float("inf")])
def test_a_gradient_that_is_not_finite_is_refused_and_changes_nothing(slope: float) -> None:
    model = Line((1.0, slope))
    with pytest.raises(UserError, match=r"gradient of update 7 is not finite.*Lower training\.learning_rate"):
        updater_of(model).update(7, [batch_of(STRINGS[:2])])
    assert not model.weight.any()


def test_gradients_do_not_accumulate_across_updates() -> None:
    model = Line()
    updater = updater_of(model, clip_norm=0.0)
    norms = [updater.update(step, [batch_of(STRINGS[:2])])[0].norm for step in (1, 2, 3)]
    assert norms == pytest.approx([5.0, 5.0, 5.0])


class Noise(nn.Module):
    """Records the random numbers that its loss draws."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(1))
        self.drawn: list[float] = []

    def loss(self, batch: PairBatch, step: int) -> Loss:
        self.drawn.append(torch.rand(()).item())
        return {"loss": LossTerm(1.0, self.weight.sum(), per="tokens")}


def test_randomness_is_a_function_of_seed_step_and_micro_batch() -> None:
    def drawn(seed: int, step: int) -> list[float]:
        model = Noise()
        updater_of(model, seed=seed).update(step, [batch_of(STRINGS[:2]), batch_of(STRINGS[2:4])])
        return model.drawn

    assert drawn(1, 5) == drawn(1, 5)
    assert len({*drawn(1, 5), *drawn(1, 6), *drawn(2, 5)}) == 6


# --- the optimiser --------------------------------------------------------------------------------


def test_only_matrices_decay() -> None:
    model = nn.Linear(3, 5)
    nn.init.ones_(model.weight)
    nn.init.ones_(model.bias)
    settings = TrainingSettings(optimizer="adamw", weight_decay=0.5)
    optimizer = optimizers.make_optimizer(model, settings)
    optimizers.set_rate(optimizer, 0.1)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    assert_close(model.weight.detach(), torch.full((5, 3), 0.95))
    assert_close(model.bias.detach(), torch.ones(5))


def test_adam_is_that_of_the_paper() -> None:
    model = nn.Linear(1, 1, bias=False)
    optimizer = optimizers.make_optimizer(model, TrainingSettings())
    optimizers.set_rate(optimizer, 0.1)
    weight, m, v = model.weight.item(), 0.0, 0.0
    for step, gradient in enumerate((0.5, -2.0, 0.25), start=1):
        model.weight.grad = torch.full((1, 1), gradient)
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.98 * v + 0.02 * gradient**2
        weight -= 0.1 * (m / (1 - 0.9**step)) / ((v / (1 - 0.98**step)) ** 0.5 + 1e-9)
        assert model.weight.item() == pytest.approx(weight, rel=1e-5)


def test_frozen_weights_are_not_optimised() -> None:
    model = nn.Linear(3, 5)
    model.bias.requires_grad_(False)
    optimizer = optimizers.make_optimizer(model, TrainingSettings())
    assert [len(group["params"]) for group in optimizer.param_groups] == [1, 0]


def test_only_capturable_models_without_compiling_use_cuda_graphs() -> None:
    plain, compiled, gpu = TrainingSettings(), TrainingSettings(compile=True), torch.device("cuda")
    assert can_capture(small_transformer(), plain, gpu)
    assert not can_capture(small_transformer(r_drop=3.0), plain, gpu)
    assert not can_capture(small_transformer(window=3), plain, gpu)
    assert not can_capture(small_transformer(), compiled, gpu)
    assert not can_capture(small_transformer(), plain, torch.device("cpu"))
