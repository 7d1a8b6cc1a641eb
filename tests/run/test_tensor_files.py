"""Tensors on disk: what was saved comes back, and the same content is the same bytes."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import save_file

from multihead.errors import UserError
from multihead.run import tensors

DTYPES = (torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.uint8, torch.bool)
shapes = st.lists(st.sampled_from([0, 1, 2, 3, 5]), max_size=3)
contents = st.dictionaries(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(lambda name: name != "__metadata__"),
    st.builds(lambda shape, dtype: (torch.randn(shape) * 7).to(dtype), shapes, st.sampled_from(DTYPES)),
    max_size=5,
)
metas = st.dictionaries(st.text(st.characters(codec="utf-8")), st.integers() | st.floats(allow_nan=False))


def example() -> dict[str, torch.Tensor]:
    return {"b": torch.arange(6.0).reshape(2, 3), "a": torch.tensor([5, 7])}


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents, metas)
def test_what_was_saved_comes_back(
    tmp_path: Path, content: dict[str, torch.Tensor], meta: dict[str, float]
) -> None:
    tensors.save(tmp_path / "a.safetensors", content, meta)
    read, read_meta = tensors.load(tmp_path / "a.safetensors")
    assert read_meta == meta
    assert read.keys() == content.keys()
    for name, tensor in content.items():
        assert read[name].dtype == tensor.dtype
        assert torch.equal(read[name], tensor)


def test_views_and_transposed_tensors_come_back(tmp_path: Path) -> None:
    whole = torch.arange(35.0).reshape(5, 7)
    content = {"columns": whole[:, 2:5], "row": whole[3], "turned": whole.mT, "whole": whole}
    tensors.save(tmp_path / "a.safetensors", content, {})
    read, _ = tensors.load(tmp_path / "a.safetensors")
    for name, tensor in content.items():
        assert torch.equal(read[name], tensor), name


def test_a_parameter_is_saved_and_loses_its_gradient(tmp_path: Path) -> None:
    tensors.save(tmp_path / "a.safetensors", {"w": torch.nn.Parameter(torch.ones(3))}, {})
    assert not tensors.load(tmp_path / "a.safetensors")[0]["w"].requires_grad


def test_tied_weights_are_stored_once_and_come_back_under_all_names(tmp_path: Path) -> None:
    weight = torch.randn(101, 13)
    tensors.save(tmp_path / "one.safetensors", {"input": weight}, {})
    tensors.save(tmp_path / "two.safetensors", {"input": weight, "output": weight}, {})
    sizes = [(tmp_path / name).stat().st_size for name in ("one.safetensors", "two.safetensors")]
    assert sizes[1] - sizes[0] < 100
    read, _ = tensors.load(tmp_path / "two.safetensors")
    assert torch.equal(read["input"], weight)
    assert torch.equal(read["output"], weight)


def test_tied_weights_are_the_same_bytes_in_every_order(tmp_path: Path) -> None:
    weight = torch.randn(3, 5)
    tensors.save(tmp_path / "one", {"a": weight, "b": weight}, {})
    tensors.save(tmp_path / "two", {"b": weight, "a": weight}, {})
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_equal_weights_that_are_not_tied_are_both_stored(tmp_path: Path) -> None:
    tensors.save(tmp_path / "a.safetensors", {"a": torch.ones(3), "b": torch.ones(3)}, {})
    read, _ = tensors.load(tmp_path / "a.safetensors")
    assert read["a"].data_ptr() != read["b"].data_ptr()


def test_there_is_one_metadata_key(tmp_path: Path) -> None:
    tensors.save(tmp_path / "a.safetensors", example(), {"step": 7, "best": 0.5, "nested": {"x": [1, 2]}})
    with safe_open(tmp_path / "a.safetensors", framework="pt") as file:
        metadata = file.metadata()
    assert list(metadata) == [tensors.KEY]
    assert json.loads(metadata[tensors.KEY])["meta"] == {"step": 7, "best": 0.5, "nested": {"x": [1, 2]}}


def test_the_same_content_is_the_same_bytes_in_every_order_and_process(tmp_path: Path) -> None:
    meta = {"step": 7, "z": 1, "a": 2}
    tensors.save(tmp_path / "here", example(), meta)
    code = (
        "import sys, torch; from pathlib import Path; from multihead.run import tensors; "
        "tensors.save(Path(sys.argv[1]), {'a': torch.tensor([5, 7]), 'b': torch.arange(6.).reshape(2, 3)}, "
        "{'a': 2, 'z': 1, 'step': 7})"
    )
    there = tmp_path / "there"
    environment = os.environ | {"PYTHONHASHSEED": "7"}
    subprocess.run([sys.executable, "-c", code, str(there)], check=True, env=environment)
    assert there.read_bytes() == (tmp_path / "here").read_bytes()


def test_a_file_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole, cut = tmp_path / "whole", tmp_path / "cut"
    tensors.save(whole, example(), {"step": 7})
    content = whole.read_bytes()
    for length in range(len(content)):
        cut.write_bytes(content[:length])
        with pytest.raises(UserError, match="damaged, or not a safetensors file"):
            tensors.load(cut)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"tied": [], "meta": {}}',
        '{"tied": {}, "meta": 3}',
        '{"tied": {"b": "nowhere"}, "meta": {}}',
        '{"tied": {"b": ["a"]}, "meta": {}}',
        "[" * 100_000,
    ],
)
def test_a_header_that_is_not_ours_is_refused(tmp_path: Path, text: str) -> None:
    save_file({"a": torch.ones(3)}, tmp_path / "a", {tensors.KEY: text})
    with pytest.raises(UserError, match="damaged, or not a safetensors file"):
        tensors.load(tmp_path / "a")


def test_a_safetensors_file_made_elsewhere_is_read(tmp_path: Path) -> None:
    save_file({"a": torch.ones(3)}, tmp_path / "a", {"format": "pt"})
    read, meta = tensors.load(tmp_path / "a")
    assert torch.equal(read["a"], torch.ones(3))
    assert meta == {}


def test_a_missing_file_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="nowhere: no such file"):
        tensors.load(tmp_path / "nowhere")


def test_a_disk_without_room_loses_nothing(tmp_path: Path, fork: Callable[[Callable[[], None]], int]) -> None:
    path = tmp_path / "state.safetensors"
    tensors.save(path, {"a": torch.ones(3)}, {"step": 7})

    def save_more() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))  # the system refuses longer files
        with pytest.raises(UserError) as caught:
            tensors.save(path, {"a": torch.ones(30_000)}, {"step": 11})
        assert "state.safetensors: cannot be written (" in str(caught.value)
        assert "Make room and start the same command again" in str(caught.value)

    _, status = os.waitpid(fork(save_more), 0)
    assert status == 0
    assert tensors.load(path)[1] == {"step": 7}
    assert [left.name for left in tmp_path.iterdir()] == ["state.safetensors"]
