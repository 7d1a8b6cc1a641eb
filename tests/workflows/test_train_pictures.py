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
from multihead.tasks.pictures.picture_classifier import PictureClassifier
from multihead.tasks.translation.lines import Translator
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dark and bright pictures, 29 each, and a test set of five each."""
    folder = tmp_path_factory.mktemp("pictures")
    for part, count in (("train", 29), ("test", 5)):
        for name, shade in (("dark", 30), ("bright", 190)):
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                picture = Image.new("RGB", (7, 5), (shade + number, shade, shade))
                picture.save(folder / part / name / f"{number}.png")
    return folder


def small(pictures: Path, **overrides: object) -> Recipe[Settings]:
    given: dict[str, object] = {
        "name": "shades",
        "data.dir": str(pictures),
        "data.train": "train",
        "data.tests.test": "test",
        "data.picture_size": 4,
        "model.kind": "vit",
        "model.patch_size": 2,
        "model.d_model": 10,
        "model.d_ff": 14,
        "model.num_layers": 2,
        "model.num_heads": 2,
        "model.dropout": 0.1,
        "model.stochastic_depth": 0.1,
        "training.steps": 6,
        "training.batch_pictures": 13,
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


def test_an_interrupted_run_ends_with_the_same_weights(tmp_path: Path, pictures: Path) -> None:
    recipe = small(pictures)
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


def test_a_trained_run_distinguishes_dark_from_bright(tmp_path: Path, pictures: Path) -> None:
    plain = {f"training.{key}": 0 for key in ("operations", "erase", "mixup")}
    recipe = small(pictures, **{**plain, "training.steps": 30, "validation.every": 15, "model.dropout": 0.0})
    observer = Silent()
    train(recipe, tmp_path / "run", observer)
    assert {"loss", "accuracy", "f1"} <= observer.validations[-1].keys()
    run = Run.open(tmp_path / "run")
    assert run.recipe.values()["model.class_names"] == ("bright", "dark")
    assert (run.recipe.values()["model.channels"], run.recipe.values()["model.classes"]) == (3, 2)

    classifier = PictureClassifier.load(tmp_path / "run", "cpu")
    files = [pictures / "test" / "dark" / "0.png", pictures / "test" / "bright" / "1.png"]
    guesses = list(classifier.classify(files))
    assert [guess.name for guess in guesses] == ["dark", "bright"]
    for guess in guesses:
        assert sum(guess.probabilities.values()) == pytest.approx(1, abs=1e-5)
        assert list(guess.probabilities.values()) == sorted(guess.probabilities.values(), reverse=True)
    scores = classifier.measure(list_images(("test",), pictures, "data.tests.test"))
    assert scores.confusion.tolist() == [[5, 0], [0, 5]]
    with pytest.raises(UserError, match="trained for image classification and not for translation") as caught:
        Translator.load(tmp_path / "run")
    assert "multihead classify" in str(caught.value)


def test_a_dry_run_counts_the_pictures(pictures: Path) -> None:
    found = dry_run(small(pictures), Silent())
    assert found.sizes["training pictures"] == "52"
    assert found.sizes["classes"] == "2"


def test_a_picture_size_that_is_no_multiple_of_the_patch_size_is_refused(
    tmp_path: Path, pictures: Path
) -> None:
    with pytest.raises(UserError, match="picture_size 5 is not a multiple of patch_size 2"):
        train(small(pictures, **{"data.picture_size": 5}), tmp_path / "run", Silent())
