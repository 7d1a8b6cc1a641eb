"""A damaged training state is left for the one before it, and a training still ends with the same bytes."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from backwards import contents, fit, training_in
from safetensors import safe_open
from safetensors.torch import save_file
from torch import Tensor

from multihead.errors import UserError
from multihead.run import tensors

SETTINGS: dict[str, object] = {"ema": 0.9}
LONGER: dict[str, object] = {**SETTINGS, "steps": 23}
NEWEST = "state-0000000020"

Content = dict[str, Tensor]
Meta = dict[str, Any]


class Fault(NamedTuple):
    """A change of a state's content, and a part of the reason for which the state is rejected."""

    change: Callable[[Content, Meta], object]
    reason: str


def some(content: Content, prefix: str) -> str:
    """Return the name of a matrix."""
    return next(name for name in sorted(content) if name.startswith(prefix) and content[name].dim() == 2)


def put(content: Content, prefix: str, value: float) -> None:
    name = some(content, prefix)
    content[name] = content[name].clone()
    content[name][3, 5] = value


def rename(content: Content, prefix: str) -> None:
    """Change one letter of a name."""
    name = some(content, prefix)
    content[f"{name[:-1]}u"] = content.pop(name)


def reshape(content: Content, prefix: str) -> None:
    name = some(content, prefix)
    content[name] = content[name][:-1].contiguous()


FAULTS = {
    "a letter of a weight's name": Fault(lambda c, m: rename(c, "model."), "is missing"),
    "a letter of an average's name": Fault(lambda c, m: rename(c, "ema."), "is missing"),
    "a letter of a moment's name": Fault(lambda c, m: rename(c, "optimizer.exp_avg."), "exp_avg"),
    "a missing moment": Fault(lambda c, m: c.pop(some(c, "optimizer.exp_avg_sq.")), "exp_avg"),
    "another shape": Fault(lambda c, m: reshape(c, "optimizer.exp_avg."), "not (24, 24)"),
    "NaN in a weight": Fault(lambda c, m: put(c, "model.", float("nan")), "nan"),
    "infinity in a moment": Fault(lambda c, m: put(c, "optimizer.exp_avg.", float("inf")), "inf"),
    "NaN in the moving average": Fault(lambda c, m: put(c, "ema.", float("nan")), "nan"),
    "an absurd weight": Fault(lambda c, m: put(c, "model.", 6.6e36), "6.6e+36"),
    "another step": Fault(lambda c, m: m.update(step=15), "after step 15"),
    "no position": Fault(lambda c, m: m.pop("position"), "not the progress of a training run"),
    "a negative count": Fault(lambda c, m: m.update(tokens=-3), "not the progress of a training run"),
}
"""Contents of a state without a checksum that loads but does not fit."""


def change(path: Path, fault: Fault, *, sealed: bool) -> None:
    """Write a changed state, with a checksum of the changed content or, as version 0.1.0 did, without one."""
    content, meta = tensors.load(path)
    fault.change(content, meta)
    if sealed:
        tensors.save(path, content, meta)
    else:
        del meta["optimizer"]
        text = json.dumps({"tied": {}, "meta": meta})
        save_file({name: value.clone() for name, value in content.items()}, path, {tensors.KEY: text})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, object]]:
    """A training of 20 steps, and the contents of one of 23 that met no fault."""
    folder = tmp_path_factory.mktemp("trained")
    fit(training_in(folder / "run", settings=SETTINGS))
    fit(training_in(folder / "whole", settings=LONGER))
    return folder / "run", contents(folder / "whole")


@pytest.fixture
def copied(trained: tuple[Path, dict[str, object]], tmp_path: Path) -> Path:
    for path in trained[0].rglob("*"):
        if path.is_file():
            copy = tmp_path / "run" / path.relative_to(trained[0])
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    return tmp_path / "run"


@pytest.mark.parametrize(
    ("name", "sealed"), [*((name, False) for name in FAULTS), ("an absurd weight", True)]
)
def test_a_state_that_does_not_fit_is_left_for_an_older_one_at_no_cost(
    copied: Path,
    trained: tuple[Path, dict[str, object]],
    caplog: pytest.LogCaptureFixture,
    name: str,
    sealed: bool,
) -> None:
    change(copied / "checkpoints" / f"{NEWEST}.safetensors", FAULTS[name], sealed=sealed)
    training = training_in(copied, settings=LONGER)
    assert training.progress.step == 15
    (said,) = caplog.messages
    assert said.startswith(f"{copied}/checkpoints/{NEWEST}.safetensors: ")
    assert FAULTS[name].reason in said
    assert said.endswith("Resuming from state-0000000015.")
    fit(training)
    assert contents(copied) == trained[1]


def test_each_flipped_bit_in_a_state_costs_nothing(
    copied: Path, trained: tuple[Path, dict[str, object]], caplog: pytest.LogCaptureFixture
) -> None:
    path = copied / "checkpoints" / f"{NEWEST}.safetensors"
    whole, chance = path.read_bytes(), random.Random(7)
    for _ in range(29):
        content = bytearray(whole)
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        path.write_bytes(content)
        caplog.clear()
        with training_in(copied, settings=LONGER).run as run:
            assert "Resuming from state-0000000015." in caplog.text
            assert [event["step"] for event in run.metrics()][-1] == 15
    fit(training_in(copied, settings=LONGER))
    assert contents(copied) == trained[1]


@pytest.mark.parametrize("name", ["a letter of a weight's name", "a missing moment", "NaN in a weight"])
def test_where_no_state_fits_there_is_one_error(copied: Path, name: str) -> None:
    for state in ("state-0000000015", NEWEST):
        change(copied / "checkpoints" / f"{state}.safetensors", FAULTS[name], sealed=True)
    before = (copied / "metrics.jsonl").read_bytes()
    with pytest.raises(UserError) as caught:
        training_in(copied, settings=LONGER)
    for part in (NEWEST, "state-0000000015", FAULTS[name].reason, "copy the checkpoints from a backup"):
        assert part in str(caught.value)
    assert (copied / "metrics.jsonl").read_bytes() == before


def test_a_rejected_state_does_not_push_out_a_good_one(copied: Path) -> None:
    change(copied / "checkpoints" / f"{NEWEST}.safetensors", FAULTS["NaN in a weight"], sealed=True)
    training = training_in(copied, settings=LONGER)
    with training.run as run:
        content, meta = run.load_tensors("state-0000000015")
        for step in (17, 19):
            run.save_state(step, content, {**meta, "step": step})
        assert [name for name in run.checkpoints() if name.startswith("state-")] == [
            *("state-0000000017", "state-0000000019"),
            NEWEST,
        ]
        run.save_state(21, content, {**meta, "step": 21})
        assert [name for name in run.checkpoints() if name.startswith("state-")] == [
            *("state-0000000019", "state-0000000021"),
        ]


def test_a_rejected_state_is_written_anew_when_training_comes_to_it(copied: Path) -> None:
    path = copied / "checkpoints" / f"{NEWEST}.safetensors"
    change(path, FAULTS["NaN in a weight"], sealed=True)
    fit(training_in(copied, settings=LONGER))
    with safe_open(path, framework="pt") as file:
        assert all(file.get_tensor(name).isfinite().all() for name in file.keys())  # noqa: SIM118
