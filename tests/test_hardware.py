"""The precision of training: the requested one, or the fastest of this machine."""

import pytest
import torch

from multihead.errors import UserError
from multihead.system import hardware, native

CPU, GPU = torch.device("cpu"), torch.device("cuda")


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(
        hardware, "has_fast_bf16", lambda device: device.type != "cpu" or "16" in native.level()
    )
    return monkeypatch


@pytest.mark.parametrize(
    ("level", "chosen"),
    [
        *((level, "int8") for level in ("avx512bf16", "avx512vnni", "avxvnni")),
        *((level, "fp32") for level in ("avx512", "avx2", "baseline", "")),
    ],
)
def test_auto_is_int8_on_a_cpu_with_int8_dot_products(
    at: pytest.MonkeyPatch, level: str, chosen: str
) -> None:
    at.setattr(native, "level", lambda: level)
    assert hardware.training_precision("auto", CPU) == chosen
    assert hardware.training_precision("fp32", CPU) == "fp32"
    assert hardware.training_precision("bf16", CPU) == "bf16"
    assert hardware.training_precision("auto", GPU) == "bf16"


def test_auto_is_bf16_on_a_cpu_with_bf16_matrix_registers(at: pytest.MonkeyPatch) -> None:
    at.setattr(hardware, "has_fast_bf16", lambda device: True)
    at.setattr(native, "level", lambda: "amx")
    assert hardware.training_precision("auto", CPU) == "bf16"
    assert hardware.training_precision("int8", CPU) == "int8"


@pytest.mark.parametrize(("level", "device"), [("", CPU), ("avx512bf16", GPU)])
def test_int8_without_kernels_is_refused(at: pytest.MonkeyPatch, level: str, device: torch.device) -> None:
    at.setattr(native, "level", lambda: level)
    with pytest.raises(
        UserError, match=r"training\.precision: training in int8 needs a CPU and the native kernels"
    ):
        hardware.training_precision("int8", device)
    assert hardware.pick_dtype("int8", CPU) == (torch.bfloat16 if level else torch.float32)


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(UserError, match=r"no precision 'fp8'\. Use auto"):
        hardware.training_precision("fp8", CPU)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("most", "asked"),
    [
        (1 << 30, [(-3, 1 << 30), (-1, 2**31 - 1)]),
        (1 << 25, [(-3, 1 << 30), (-3, 1 << 25), (-1, 2**31 - 1)]),
        (0, [(-3, 1 << 30), (-3, 1 << 25)]),
    ],
)
def test_memory_is_kept_as_far_as_the_c_library_allows(
    monkeypatch: pytest.MonkeyPatch, most: int, asked: list[tuple[int, int]]
) -> None:
    calls: list[tuple[int, int]] = []

    class Library:
        @staticmethod
        def mallopt(key: int, value: int) -> int:
            calls.append((key, value))
            return int(key != -3 or value <= most)

    monkeypatch.setattr("multihead.system.memory.sys.platform", "linux")
    monkeypatch.setattr("multihead.system.memory.ctypes.CDLL", lambda _: Library)
    hardware.keep_memory()
    assert calls == asked
