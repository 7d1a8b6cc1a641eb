"""GPU kernels are used only after they pass their own check, and checking has no side effects."""

import logging
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from multihead.system import gpu

CPU = torch.device("cpu")


def offered(monkeypatch: pytest.MonkeyPatch, prove: object) -> object:
    found = SimpleNamespace(prove=prove)
    monkeypatch.setattr(gpu, "find_spec", lambda name: name)
    monkeypatch.setattr(gpu, "import_module", lambda name: found)
    gpu._verify.cache_clear()
    return found


def test_a_kernel_that_fails_is_disabled_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(device: torch.device) -> None:
        raise AssertionError("differs")

    offered(monkeypatch, fails)
    with caplog.at_level(logging.WARNING):
        assert [gpu._verify("nn.kernels.triton_attention", CPU) for _ in range(2)] == [None, None]
    assert [record.message for record in caplog.records] == [
        "GPU kernels of nn.kernels.triton_attention disabled: AssertionError: differs"
    ]


def test_the_check_leaves_the_callers_modes_and_generator_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[bool, bool]] = []

    def prove(device: torch.device) -> None:
        torch.rand(7)
        seen.append((torch.is_grad_enabled(), torch.is_inference_mode_enabled()))

    found = offered(monkeypatch, prove)
    torch.manual_seed(3)
    wanted = torch.rand(2)
    torch.manual_seed(3)
    with torch.inference_mode():
        assert gpu._verify("engines.cuda.triton_best", CPU) is found
    assert torch.equal(torch.rand(2), wanted)
    assert seen == [(True, False)]


def test_without_triton_and_off_a_gpu_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu, "find_spec", lambda name: None)
    gpu._verify.cache_clear()
    assert gpu._verify("engines.cuda.triton_best", CPU) is None
    assert gpu.kernel("engines.cuda.triton_best", torch.zeros(2)) is None


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    yield
    gpu._verify.cache_clear()
