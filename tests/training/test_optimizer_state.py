"""Every optimiser is saved and resumed bit for bit; a state that does not fit is refused."""

import math
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

import pytest
import torch
from backwards import Silent, contents, fit, small_transformer, training_in
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.recipe.settings import OptimisationSettings
from multihead.run import Run
from multihead.training import Training, optimizers
from multihead.training.optimizer_state import OptimizerState

Make = Callable[[list[nn.Parameter]], torch.optim.Optimizer]

SHIPPED = get_args(OptimisationSettings.model_fields["optimizer"].annotation)


class Counting(torch.optim.SGD):
    """An optimiser with plain values: a count per parameter, a factor and a pair of numbers per group."""

    def __init__(self, parameters: list[nn.Parameter], **given: Any) -> None:
        super().__init__(parameters, **given)
        for group in self.param_groups:
            group["spread"] = (0.0, 0.0)

    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            group["factor"] = group.get("factor", 1.0) * 0.9
            group["spread"] = (group["factor"], math.inf)
            for p in group["params"]:
                state = self.state[p]
                state["count"] = state.get("count", 0) + 1
                state["share"] = state["count"] / 7
                state["first"] = None
                p.grad.mul_(group["factor"] + 0.1 / state["count"] + state["share"])
        return super().step(closure)


FOREIGN: dict[str, Make] = {
    "SGD with momentum": lambda p: torch.optim.SGD(p, lr=0.0, momentum=0.9),
    "NAdam": lambda p: torch.optim.NAdam(p, lr=0.0),
    "Adagrad": lambda p: torch.optim.Adagrad(p, lr=0.0),
    "Adafactor": lambda p: torch.optim.Adafactor(p, lr=0.0),
    "plain values": lambda p: Counting(p, lr=0.0, momentum=0.5),
}


class StopsAt(Silent):
    """Interrupts training, as Ctrl-C does, after a step."""

    def __init__(self, step: int) -> None:
        super().__init__()
        self.step = step

    def on_step(self, step: int) -> None:
        if step == self.step:
            signal.raise_signal(signal.SIGINT)


def use(monkeypatch: pytest.MonkeyPatch, make: Make) -> None:
    """Make every training run use this optimiser, as if ``training/optimizers.py`` were edited."""
    monkeypatch.setattr(optimizers, "make_optimizer", lambda model, _: make(list(model.parameters())))


def assert_resumes_exactly(tmp_path: Path, settings: dict[str, object]) -> None:
    def start(name: str, observer: Silent | None = None) -> Training:
        return training_in(tmp_path / name, observer=observer, settings={"steps": 11, **settings})

    fit(start("whole"))
    fit(start("parts", StopsAt(6)))
    resumed = start("parts")
    assert resumed.progress.step == 6
    fit(resumed)
    assert contents(tmp_path / "parts") == contents(tmp_path / "whole")


@pytest.mark.parametrize("optimizer", SHIPPED)
def test_every_optimiser_that_ships_resumes_exactly(tmp_path: Path, optimizer: str) -> None:
    assert_resumes_exactly(tmp_path, {"optimizer": optimizer, "weight_decay": 0.1})


@pytest.mark.parametrize("name", FOREIGN)
def test_any_other_optimiser_resumes_exactly(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    use(monkeypatch, FOREIGN[name])
    assert_resumes_exactly(tmp_path, {})


def test_plain_values_come_back_with_their_types(tmp_path: Path) -> None:
    def made() -> tuple[nn.Linear, Counting]:
        model = nn.Linear(3, 5)
        return model, Counting(list(model.parameters()), lr=0.1)

    model, optimizer = made()
    state = OptimizerState(optimizer, model)
    model(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    run = Run(tmp_path)
    run.checkpoint_folder.mkdir()
    run.save_state(1, state.tensors(), {"step": 1, "optimizer": state.description()})
    tensors, meta = run.load_state() or ({}, {})
    other, resumed = made()
    OptimizerState(resumed, other).load(tensors, meta["optimizer"])
    assert dict(resumed.state[other.weight]) == {"count": 1, "share": 1 / 7, "first": None}
    assert (resumed.param_groups[0]["factor"], resumed.param_groups[0]["spread"]) == (0.9, (0.9, math.inf))


def test_state_that_a_checkpoint_cannot_hold_is_refused_not_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Listing(torch.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            for p in self.param_groups[0]["params"]:
                self.state[p]["history"] = [p.detach().clone()]
            return super().step(closure)

    use(monkeypatch, lambda parameters: Listing(parameters, lr=0.0))
    with pytest.raises(UserError, match='state of Listing has "history", a list, which cannot be saved'):
        fit(training_in(tmp_path))


def spoilt(folder: Path, change: Callable[[dict[str, Tensor], dict[str, Any]], None]) -> None:
    run = Run(folder)
    for name in ("state-0000000015", "state-0000000020"):
        tensors, meta = run.load_tensors(name)
        change(tensors, meta)
        run.save_tensors(name, tensors, meta)


def _lost(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    del tensors[next(name for name in tensors if name.startswith("optimizer.momentum_buffer"))]


def _cut(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    name = next(name for name in tensors if name.startswith("optimizer.momentum_buffer"))
    tensors[name] = tensors[name][:-1].contiguous()


def _added(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    parameter = next(name for name in tensors if name.startswith("model.")).removeprefix("model.")
    tensors[f"optimizer.second_buffer.{parameter}"] = torch.zeros(3)


def _of_no_parameter(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    tensors["optimizer.momentum_buffer.nowhere"] = torch.zeros(3)
    meta["optimizer"]["tensors"]["optimizer.momentum_buffer.nowhere"] = [3]


def _another_group(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    meta["optimizer"]["groups"].append({})


def _no_description(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    meta["optimizer"]["values"] = 7


def _foreign(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    tensors["shadow.weight"] = torch.zeros(3)


def _another_weight(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
    tensors["model.one_more"] = torch.zeros(3)


@pytest.mark.parametrize(
    ("change", "fact"),
    [
        (_lost, r"momentum_buffer\.\S+ is missing, not \("),
        (_cut, r"momentum_buffer\.\S+ is \(\d+.*\), not \(\d+"),
        (_added, r"second_buffer\.\S+ is unknown"),
        (_of_no_parameter, r"momentum_buffer\.nowhere belongs to no parameter"),
        (_another_group, "2 parameter groups, not 1"),
        (_no_description, "malformed description of an optimiser: values"),
        (_foreign, "shadow.weight is unknown"),
        (_another_weight, "model.one_more is unknown"),
    ],
)
def test_a_state_with_missing_or_unknown_tensors_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[dict[str, Tensor], dict[str, Any]], None],
    fact: str,
) -> None:
    use(monkeypatch, FOREIGN["SGD with momentum"])
    fit(training_in(tmp_path))
    spoilt(tmp_path, change)
    with pytest.raises(UserError, match=fact) as caught:
        training_in(tmp_path)
    assert caught.value.place == f"{tmp_path}/checkpoints/state-0000000020.safetensors"
    assert "another --run folder" in (caught.value.remedy or "")


def test_the_state_of_another_optimiser_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit(training_in(tmp_path))
    use(monkeypatch, FOREIGN["SGD with momentum"])
    with pytest.raises(UserError, match="the saved state is that of Adam, but the optimiser is SGD"):
        training_in(tmp_path)


def test_a_state_without_a_description_is_resumed(tmp_path: Path) -> None:
    """Earlier versions wrote no description; their optimisers were Adam, AdamW and Muon."""

    def earlier(tensors: dict[str, Tensor], meta: dict[str, Any]) -> None:
        del meta["optimizer"]

    for name in ("whole", "earlier"):
        fit(training_in(tmp_path / name))
    spoilt(tmp_path / "earlier", earlier)
    for name in ("whole", "earlier"):
        fit(training_in(tmp_path / name, small_transformer(), settings={"steps": 29}))
    assert (
        contents(tmp_path / "earlier")["model.safetensors"]
        == contents(tmp_path / "whole")["model.safetensors"]
    )
