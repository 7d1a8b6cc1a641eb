"""The choice between native kernels and PyTorch."""

import importlib.util
from pathlib import Path
from unittest import mock

import pytest
import torch

from multihead.system import native, native_library

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")


def test_double_precision_and_compiled_code_stay_in_pytorch() -> None:
    assert native.suits(torch.ones(1))
    assert not native.suits(torch.ones(1, dtype=torch.float64))
    assert not native.suits(torch.ones(1), torch.ones(1, dtype=torch.bfloat16))
    with mock.patch.object(torch.compiler, "is_compiling", return_value=True):
        assert not native.suits(torch.ones(1))
    with native.use(""):
        assert not native.suits(torch.ones(1))


def test_without_a_usable_library_everything_is_pytorch(tmp_path: Path) -> None:
    with mock.patch.object(native_library, "find_spec", return_value=None):
        assert native_library._load() == (None, (), "")
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    spec = importlib.util.spec_from_file_location("multihead._native", broken)
    with mock.patch.object(native_library, "find_spec", return_value=spec):
        library, levels, why = native_library._load()
    assert (library, levels) == (None, ())
    assert "broken.so" in why


def test_a_library_without_a_kernel_is_rejected() -> None:
    with mock.patch.dict(native_library.SIGNATURES, {"one_of_tomorrow": "p"}):
        library, levels, _ = native_library._load()
    assert library is not None
    assert levels == ()


def test_kernels_of_another_version_are_not_unused_in_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_library, "_is_complete", lambda library, level: False)
    with pytest.warns(UserWarning, match="compiled for another version"):
        assert native_library._load()[1] == ()
