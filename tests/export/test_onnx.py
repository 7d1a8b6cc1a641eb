"""Runs exported to ONNX, against the model's own steps and the run's translations."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from exported_runs import sentences, translator_run

from multihead.apps.export import comparison, manifest, onnx
from multihead.apps.export.onnx import exporting, graphs, layers
from multihead.cli import main
from multihead.errors import UserError
from multihead.nn.parts import ssru
from multihead.tasks.translation.lines import Translator

onnxruntime = pytest.importorskip("onnxruntime", reason="the extra `export` is not installed")
library = pytest.importorskip("onnx", reason="the extra `export` is not installed")

AXES = {"encoder": {"sentences", "source"}, "decoder": {"rows", "sentences", "source", "past"}}
# The post-norm model is `exported` below, of which every test proves something.
MODELS: dict[str, dict[str, Any]] = {
    "pre-norm, learned positions, GELU": {"norm": "pre", "positions": "learned", "activation": "gelu"},
    "SSRU": {"decoder_cell": "ssru", "first_input": "zero", "positions": "sinusoidal_concatenated"},
    "other widths": {"d_k": 5, "d_v": 7, "tied": "none", "output_bias": True, "activation": "silu"},
    "grouped queries, no positions": {"num_kv_heads": 1, "positions": "none", "activation": "relu"},
}


@pytest.fixture(scope="module")
def variant(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Any]:
    """Return a function that returns the run of a model, which is trained once for all tests."""

    @cache
    def made(name: str) -> Any:
        return translator_run(tmp_path_factory.mktemp("variant") / "run", steps=24, **MODELS[name])

    return made


@pytest.fixture(scope="module", autouse=True)
def fewer_sentences() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(comparison, "SENTENCES", 13)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return translator_run(tmp_path_factory.mktemp("run") / "run")


@pytest.fixture(scope="module")
def exported(run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "onnx"
    onnx.export(run, folder)
    return folder


def test_the_script_translates_without_torch_in_sixty_lines(run: Any, exported: Path) -> None:
    assert len((exported / "translate.py").read_text().splitlines()) <= 60
    program = "import sys; sys.modules['multihead'] = sys.modules['torch'] = None; "
    program += f"import runpy; runpy.run_path({str(exported / 'translate.py')!r}, run_name='__main__')"
    lines = [source for source, _ in sentences(61)] + ["", "</s> eins"]
    found = subprocess.run(
        [sys.executable, "-c", program], input="\n".join(lines).encode(), capture_output=True, check=True
    ).stdout.decode()
    ours = Translator.load(run.folder, device="cpu", precision="fp32")
    assert found.split("\n")[:-1] == [one.text for one in ours.translate(lines)]


def test_the_graphs_have_the_opset_and_the_dynamic_axes_that_are_documented(exported: Path) -> None:
    for name, axes in AXES.items():
        model = library.load(exported / f"{name}.onnx")
        assert [entry.version for entry in model.opset_import] == [17]
        session = onnxruntime.InferenceSession(exported / f"{name}.onnx")
        found = {axis for value in session.get_inputs() for axis in value.shape if isinstance(axis, str)}
        assert found == axes


def test_padding_changes_nothing(exported: Path) -> None:
    session = onnxruntime.InferenceSession(exported / "encoder.onnx")
    ids = np.array([[5, 6, 7, 8, 9], [9, 8, 4, 4, 4]])
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0]])
    together = session.run(None, {"ids": ids, "mask": mask})
    alone = session.run(None, {"ids": ids[1:, :2], "mask": mask[1:, :2]})
    for one, other in zip(together, alone, strict=True):
        np.testing.assert_allclose(one[:, 1:, :, :2], other, atol=1e-5)


@pytest.mark.parametrize("name", MODELS)
def test_every_step_has_the_model_s_log_probabilities(name: str, variant: Any, tmp_path: Path) -> None:
    run = variant(name)
    found = onnx.export(run, tmp_path / "onnx")  # verifies itself
    assert found.greedy.same == found.sentences


def test_what_cannot_be_expressed_is_refused_with_every_reason(tmp_path: Path) -> None:
    run = translator_run(tmp_path / "run", steps=0, window=3, score="additive")
    with pytest.raises(UserError, match=r"window = 3; score = additive"):
        onnx.export(run, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


@pytest.mark.parametrize(
    ("part", "name", "wrong"),
    [
        (layers, "_activate", lambda graph, x, activation: x),
        (graphs, "_table", lambda positions, longest: None),
        (layers, "keys_of_every_head", lambda spec: (spec.w_v, spec.w_k)),
    ],
)
def test_another_model_is_found_before_the_folder_appears(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: Any, name: str, wrong: Any
) -> None:
    monkeypatch.setattr(part, name, wrong)
    with pytest.raises(UserError, match="computes a different model"):
        onnx.export(run, tmp_path / "onnx")
    assert not (tmp_path / "onnx").exists()


def test_an_edited_cell_is_found(variant: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = variant("SSRU")
    monkeypatch.setattr(ssru, "relu", torch.tanh)
    with pytest.raises(UserError, match="computes a different model"):
        exporting.export(run, tmp_path / "onnx")


@pytest.mark.parametrize("name", ["encoder.onnx", "decoder.onnx", "tokenizer.json", "translate.json"])
@pytest.mark.parametrize("damage", ["short", "flipped"])
def test_a_damaged_file_is_found_by_the_manifest(
    exported: Path, tmp_path: Path, name: str, damage: str
) -> None:
    for file in exported.iterdir():
        content = bytearray(file.read_bytes())
        if file.name == name:
            content[len(content) // 2] ^= 1
            content = content[:-3] if damage == "short" else content
        (tmp_path / file.name).write_bytes(content)
    assert list(manifest.faults(tmp_path)) == [name]
    assert main(["verify", str(tmp_path)]) == 1
    assert main(["verify", str(exported)]) == 0


def test_the_folder_says_what_was_compared(exported: Path) -> None:
    found = json.loads((exported / manifest.NAME).read_text())
    assert (found["target"], found["opset"]) == ("onnx", 17)
    assert found["sentences"] == json.loads((exported / comparison.NAME).read_text())["greedy"]["same"]
