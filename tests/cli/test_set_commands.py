"""The odd one out from training to use: `train`, `classify`, `evaluate`, `inspect`, and Python."""

import json
from pathlib import Path
from typing import Any

import pytest
from command_line import Captured, fail, run
from PIL import Image
from watching import Silent

import multihead
from multihead import recipe as recipes
from multihead.data.images.digits import draw_digits
from multihead.workflows.train import train

MODEL = {
    "model.kind": "set_encoder",
    "model.stem_width": 4,
    "model.d_model": 16,
    "model.d_ff": 24,
    "model.num_heads": 2,
    "model.dropout": 0.0,
    "data.generate": "digits",
    "data.generated": 800,
    "data.set_size": 5,
    "training.batch_sets": 8,
    "training.threads": 1,
    "training.log_every": 5,
    "training.average": 1,
    "training.final": "last",
    "training.learning_rate": 3e-3,
    "training.warmup_steps": 5,
    "validation.max_examples": 60,
}


def recipe(**more: object) -> Any:
    steps = {"training.steps": 8, "validation.every": 4}
    return recipes.from_toml("", overrides={**MODEL, **steps, **more})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folders of digits by class, and one set with an odd one."""
    folder = tmp_path_factory.mktemp("digits")
    pixels, labels = draw_digits(70, 3)
    for number, (image, label) in enumerate(zip(pixels, labels, strict=True)):
        (folder / "all" / str(label)).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(folder / "all" / str(label) / f"{number}.png")
    (folder / "set").mkdir()
    for place, number in enumerate((0, 10, 21, 20, 30)):
        Image.fromarray(pixels[number]).save(folder / "set" / f"{place}.png")
    return folder


@pytest.fixture(scope="module")
def trained(folder: Path) -> Path:
    tests = {"data.tests.again": f'["{folder / "all"}"]'}
    outcome = train(recipe(**tests), folder / "run", Silent())
    assert outcome.metrics is not None
    assert outcome.metrics.keys() >= {"loss", "accuracy"}
    return folder / "run"


def test_a_resumed_training_ends_with_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    def object_at_6(event: dict[str, object]) -> None:
        if event["step"] == 5:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe(), tmp_path / "cut", Silent(object_at_6))
    train(recipe(), tmp_path / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (tmp_path / "cut", trained)]
    assert same[0] == same[1]


def test_attention_finds_the_odd_digit(tmp_path: Path) -> None:
    more = {"training.steps": 150, "validation.every": 150, "training.batch_sets": 16}
    outcome = train(recipe(**more), tmp_path / "longer", Silent())
    assert outcome.metrics is not None
    assert outcome.metrics["accuracy"] > 0.3  # chance: 0.2


def test_each_image_of_a_set_has_its_probability(trained: Path, folder: Path, capfdbinary: Captured) -> None:
    found = json.loads(run(capfdbinary, "classify", trained, folder / "set", "--json")[0])
    assert [Path(one["image"]).name for one in found] == [f"{place}.png" for place in range(5)]
    assert sum(one["odd"] for one in found) == pytest.approx(1)
    out, _ = run(capfdbinary, "classify", trained, folder / "set")
    assert out.count("%") == 5
    loaded = multihead.load(trained, task="sets")
    images = sorted((folder / "set").iterdir())
    best = max(found, key=lambda one: one["odd"])
    assert str(images[loaded.odd(images)]) == best["image"]


def test_test_sets_are_evaluated_beside_chance(trained: Path, folder: Path, capfdbinary: Captured) -> None:
    found = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])["again"]
    assert found == {"sets": 70, "accuracy": found["accuracy"], "chance": 0.2}
    again = json.loads(run(capfdbinary, "evaluate", trained, "--src", folder / "all", "--json")[0])
    assert [*again.values()] == [found]


def test_the_attention_of_a_set_is_inspected(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page = tmp_path / "page.html"
    run(capfdbinary, "inspect", trained, folder / "set", "-o", page, "--json", tmp_path / "n.json")
    assert "odd one" in page.read_text(encoding="utf-8")
    listed = json.loads((tmp_path / "n.json").read_text(encoding="utf-8"))
    assert sum(listed["probabilities"].values()) == pytest.approx(1)
    assert run(capfdbinary, "inspect", trained, folder / "set")[0]


def test_wrong_sets_are_clear_errors(trained: Path, folder: Path, capfdbinary: Captured) -> None:
    images = sorted((folder / "set").iterdir())
    assert "2 images are too few for a set" in fail(capfdbinary, "classify", trained, *images[:2])
    assert "no effect on the odd one" in fail(
        capfdbinary, "classify", trained, folder / "set", "--views", "2"
    )
    assert "not a folder" in fail(capfdbinary, "inspect", trained, images[0])
    assert "no such image" in fail(capfdbinary, "classify", trained, *images[:3], folder / "9.png")


def test_the_baseline_takes_the_same_commands(folder: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    train(recipe(**{"model.kind": "deep_sets"}), tmp_path / "mean", Silent())
    assert run(capfdbinary, "classify", tmp_path / "mean", folder / "set")[0].count("%") == 5
    assert "no attention" in fail(capfdbinary, "inspect", tmp_path / "mean", folder / "set")
