"""Import of vision transformers from random transformers models: equal logits, and errors."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Captured, fail, run
from PIL import Image
from torch.testing import assert_close
from transformers import ViTConfig, ViTForImageClassification, ViTModel

from multihead.run import Run

PATCH, GRID, CLASSES = 5, 3, 7
SIZE = PATCH * GRID
NAMES = ["crane", "dog", "cat", "crane", "horse", "ship", "frog"]
MEAN, DEVIATION = [0.4, 0.5, 0.3], [0.2, 0.3, 0.25]


@pytest.fixture
def vit(tmp_path: Path) -> tuple[Path, Any]:
    make: Any = ViTConfig
    config = make(
        hidden_size=14,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=17,
        image_size=SIZE,
        patch_size=PATCH,
        num_labels=CLASSES,
        id2label=dict(enumerate(NAMES)),
        label2id={name: number for number, name in enumerate(NAMES)},
    )
    theirs: Any = ViTForImageClassification(config)
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.eval().save_pretrained(tmp_path / "vit")
    return tmp_path / "vit", theirs


def write_processor(folder: Path, **keys: object) -> None:
    config = {"size": {"height": SIZE, "width": SIZE}, "image_mean": MEAN, "image_std": DEVIATION, **keys}
    (folder / "preprocessor_config.json").write_text(json.dumps(config))


def normalised(pixels_BChw: torch.Tensor, mean: list[float], deviation: list[float]) -> torch.Tensor:
    return (pixels_BChw - torch.tensor(mean)[:, None, None]) / torch.tensor(deviation)[:, None, None]


@pytest.mark.parametrize("processor", ["mean and deviation", "none", "not normalised"])
@torch.no_grad()
def test_an_imported_vit_has_equal_logits(
    processor: str, vit: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs = vit
    pixels = torch.rand(11, 3, SIZE, SIZE)
    inputs = normalised(pixels, [0.5] * 3, [0.5] * 3)
    if processor == "mean and deviation":
        write_processor(folder)
        inputs = normalised(pixels, MEAN, DEVIATION)
    elif processor == "not normalised":
        write_processor(folder, do_normalize=False)
        inputs = pixels
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    expected = theirs(inputs).logits
    assert expected.std() > 0.3  # varied enough to tell
    ours = Run.open(tmp_path / "run").load_model()
    assert_close(ours(pixels), expected, atol=1e-4, rtol=1e-5)


@torch.no_grad()
def test_an_imported_vit_classifies_image_files(
    vit: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs = vit
    write_processor(folder)
    pixels = np.random.default_rng(3).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "image.png")
    out, _ = run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    assert "classify" in out
    out, _ = run(capfdbinary, "classify", tmp_path / "run", tmp_path / "image.png")
    logits = theirs(normalised(torch.from_numpy(pixels).permute(2, 0, 1)[None] / 255, MEAN, DEVIATION)).logits
    best = int(logits.argmax())
    # Two classes of one name are distinguished by their numbers.
    name = {0: "crane (0)", 3: "crane (3)"}.get(best, NAMES[best])
    assert name in out
    assert f"{100 * float(logits.softmax(-1).max()):.1f}" in out


@torch.no_grad()
def test_a_vit_without_a_classifier_is_imported_for_fine_tuning(
    vit: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _ = vit
    encoder: Any = ViTModel.from_pretrained(folder)
    encoder.save_pretrained(tmp_path / "encoder")
    out, _ = run(capfdbinary, "import", tmp_path / "encoder", "-o", tmp_path / "run")
    assert "no classifier" in out
    pixels = torch.rand(3, 3, SIZE, SIZE)
    ours: Any = Run.open(tmp_path / "run").load_model()
    expected = encoder.eval()(2 * pixels - 1).last_hidden_state[:, 0]
    assert_close(ours.read(pixels), expected, atol=1e-4, rtol=1e-5)


def test_fine_tuning_on_other_classes_and_larger_images_keeps_the_encoder(
    vit: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _ = vit
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    chance = np.random.default_rng(5)
    for name in ("left", "right", "up"):
        (tmp_path / "images" / name).mkdir(parents=True)
        for number in range(5):
            pixels = chance.integers(0, 256, (23, 23, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "images" / name / f"{number}.png")
    keys = {
        "training.steps": 1,
        "training.learning_rate": 1e-9,
        "training.threads": 1,
        "validation.every": 1,
        "data.train": tmp_path / "images",
        "data.image_size": 20,
        "data.cache": tmp_path / "cache",
    }
    given = [str(part) for key, value in keys.items() for part in (f"--{key}", value)]
    run(capfdbinary, "train", "--init", tmp_path / "run", *given, "--run", tmp_path / "tuned")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("run", "tuned"))
    assert after["classifier.weight"].shape[0] == 3
    assert after["positions.weight"].shape[0] == 4 * 4
    for name in before.keys() - {"classifier.weight", "classifier.bias", "positions.weight"}:
        assert_close(before[name], after[name], atol=1e-6, rtol=0)


def test_an_unsupported_vit_is_refused(vit: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured) -> None:
    folder, _ = vit
    config = json.loads((folder / "config.json").read_text())

    def error(**keys: object) -> str:
        (folder / "config.json").write_text(json.dumps({**config, **keys}))
        message = fail(capfdbinary, "import", folder, "-o", tmp_path / "run")
        assert not (tmp_path / "run").exists()
        return message

    assert "hidden_act = relu is not supported, only gelu" in error(hidden_act="relu")
    assert "num_channels = 2 is not supported, only 1 and 3" in error(num_channels=2)
    assert "image_size = 15 x 20 is not supported, only squares" in error(image_size=[15, 20])
    assert "the weights do not match config.json" in error(hidden_size=16)
    assert "not a vit model in the format of the transformers library" in error(id2label=NAMES)
    write_processor(folder, size={"shortest_edge": 29}, do_center_crop=False)
    assert "resized to 29 x 29, but the model reads 15 x 15" in error()
    write_processor(folder, rescale_factor=1.0)
    assert "pixels that are not rescaled to 0 to 1" in error()
    write_processor(folder, image_mean=[0.5])
    assert "image_mean has 1 numbers, but the model has 3 channels" in error()
    (folder / "preprocessor_config.json").unlink()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "is a pickle" in error()
    assert "transformers.ViTForImageClassification.from_pretrained" in error()
