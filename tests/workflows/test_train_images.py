"""An image classifier end to end: training, resuming, classification, evaluation."""

from pathlib import Path

import pytest
from PIL import Image
from watching import Silent

from multihead import recipe as recipes
from multihead.data.images.listing import list_images
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.translation.lines import Translator
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dark and bright images, 29 each, and a test set of five each."""
    folder = tmp_path_factory.mktemp("images")
    for part, count in (("train", 29), ("test", 5)):
        for name, shade in (("dark", 30), ("bright", 190)):
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                image = Image.new("RGB", (7, 5), (shade + number, shade, shade))
                image.save(folder / part / name / f"{number}.png")
    return folder


def small(images: Path, **overrides: object) -> Recipe[Settings]:
    given: dict[str, object] = {
        "name": "shades",
        "data.dir": str(images),
        "data.train": "train",
        "data.tests.test": "test",
        "data.image_size": 4,
        "model.kind": "vit",
        "model.patch_size": 2,
        "model.d_model": 10,
        "model.d_ff": 14,
        "model.num_layers": 2,
        "model.num_heads": 2,
        "model.dropout": 0.1,
        "model.stochastic_depth": 0.1,
        "training.steps": 6,
        "training.batch_images": 13,
        "training.accumulate": 2,
        "training.crop": 0.1,
        "training.flip": True,
        "training.operations": 1,
        "training.erase": 0.2,
        "training.mixup": 0.2,
        "training.learning_rate": 1e-2,
        "training.warmup_steps": 2,
        "training.log_every": 1,
        "training.precision": "fp32",
        "training.device": "cpu",
        "training.threads": 1,
        "training.save_minutes": 1e-9,
        "validation.every": 2,
    }
    return recipes.from_toml("", overrides={**given, **overrides})


def test_an_interrupted_run_ends_with_the_same_weights(tmp_path: Path, images: Path) -> None:
    recipe = small(images)
    train(recipe, tmp_path / "whole", Silent())

    def pulled(event: dict[str, object]) -> None:
        if event["step"] == 4:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe, tmp_path / "cut", Silent(pulled))
    observer = Silent()
    train(recipe, tmp_path / "cut", observer)
    assert observer.began_at
    assert observer.began_at < 6
    first, second = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "cut"))
    assert first == second


def test_a_trained_run_distinguishes_dark_from_bright(tmp_path: Path, images: Path) -> None:
    plain = {f"training.{key}": 0 for key in ("operations", "erase", "mixup")}
    recipe = small(images, **{**plain, "training.steps": 30, "validation.every": 15, "model.dropout": 0.0})
    observer = Silent()
    train(recipe, tmp_path / "run", observer)
    assert {"loss", "accuracy", "f1"} <= observer.validations[-1].keys()
    run = Run.open(tmp_path / "run")
    assert run.recipe.values()["model.class_names"] == ("bright", "dark")
    assert (run.recipe.values()["model.channels"], run.recipe.values()["model.classes"]) == (3, 2)

    classifier = ImageClassifier.load(tmp_path / "run", "cpu")
    files = [images / "test" / "dark" / "0.png", images / "test" / "bright" / "1.png"]
    guesses = list(classifier.classify(files))
    assert [guess.name for guess in guesses] == ["dark", "bright"]
    for guess in guesses:
        assert sum(guess.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert list(guess.probabilities.values()) == sorted(guess.probabilities.values(), reverse=True)
    scores = classifier.measure(list_images(("test",), images, "data.tests.test"))
    assert scores.confusion.tolist() == [[5, 0], [0, 5]]
    with pytest.raises(UserError, match="trained for image classification and not for translation") as caught:
        Translator.load(tmp_path / "run")
    assert "multihead classify" in str(caught.value)


def test_a_dry_run_counts_the_images(images: Path) -> None:
    found = dry_run(small(images), Silent())
    assert found.sizes["training images"] == "52"
    assert found.sizes["classes"] == "2"


def test_an_image_size_that_is_no_multiple_of_the_patch_size_is_refused(tmp_path: Path, images: Path) -> None:
    with pytest.raises(UserError, match="image_size 5 is not a multiple of patch_size 2"):
        train(small(images, **{"data.image_size": 5}), tmp_path / "run", Silent())
