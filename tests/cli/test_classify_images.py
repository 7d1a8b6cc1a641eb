"""`multihead classify` for images: probabilities, evaluation and errors."""

import json
from pathlib import Path

import pytest
import torch
from command_line import Captured, fail, run
from PIL import Image
from watching import Silent

from multihead import recipe as recipes
from multihead.tasks.images.image_classifier import views_of
from multihead.workflows.train import train


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a classifier of dark and bright images, and the images."""
    folder = tmp_path_factory.mktemp("shades")
    for part, count in (("train", 17), ("test", 3)):
        for name, shade in (("dark", 30), ("bright", 190)):
            (folder / part / name).mkdir(parents=True)
            for number in range(count):
                Image.new("L", (4, 4), shade + number).save(folder / part / name / f"{number}.png")
    given = {
        "data.dir": str(folder),
        "data.train": "train",
        "data.tests.test": "test",
        "model.kind": "vit",
        "model.patch_size": 2,
        "model.d_model": 10,
        "model.d_ff": 14,
        "model.num_layers": 1,
        "model.num_heads": 2,
        "training.steps": 20,
        "training.batch_images": 13,
        "training.learning_rate": 1e-2,
        "training.warmup_steps": 2,
        "training.device": "cpu",
        "training.threads": 1,
        "validation.every": 20,
    }
    train(recipes.from_toml("", overrides=given), folder / "run", Silent())
    return folder


def test_images_are_classified_with_probabilities(capfdbinary: Captured, trained: Path) -> None:
    Image.new("RGB", (31, 17), "white").save(trained / "a.png")  # another mode and size than in training
    out, err = run(capfdbinary, "classify", trained / "run", trained / "a.png", trained / "test" / "dark")
    lines = [line.split("\t") for line in out.strip().split("\n")]
    assert [Path(line[0]).name for line in lines] == ["a.png", "0.png", "1.png", "2.png"]
    assert [line[1].split()[0] for line in lines] == ["bright", "dark", "dark", "dark"]
    assert err == ""


def test_files_of_a_folder_that_are_no_images_are_counted(
    capfdbinary: Captured, trained: Path, tmp_path: Path
) -> None:
    for name in ("a.heic", "b.txt", "._c.png"):
        (tmp_path / name).write_bytes(b"not readable here")
    note = f"{tmp_path}: 2 other files left out (.heic, .txt)"
    fact = "this folder has no images; 2 other files left out (.heic, .txt)"
    assert fact in fail(capfdbinary, "classify", trained / "run", tmp_path)
    Image.new("L", (4, 4)).save(tmp_path / "c.png")
    out, err = run(capfdbinary, "classify", trained / "run", tmp_path)
    assert len(out.splitlines()) == 1
    assert err.replace("\n", " ").strip() == note


def test_a_classifier_is_evaluated_as_other_models_are(capfdbinary: Captured, trained: Path) -> None:
    out, _ = run(capfdbinary, "classify", trained / "run", "--tests", "--json")
    expected = json.loads(out)["test"]
    out, _ = run(capfdbinary, "evaluate", trained / "run", "--json")
    assert json.loads(out) == {"test": {"images": 6, "accuracy": expected["accuracy"], "f1": expected["f1"]}}
    out, _ = run(capfdbinary, "evaluate", trained / "run", "--src", trained / "test")
    assert "accuracy" in out


def test_probabilities_as_json_sum_to_one(capfdbinary: Captured, trained: Path) -> None:
    out, _ = run(capfdbinary, "classify", trained / "run", trained / "test" / "dark", "--json")
    found = json.loads(out)
    assert len(found) == 3
    for entry in found:
        assert entry["probabilities"].keys() == {"dark", "bright"}
        assert sum(entry["probabilities"].values()) == pytest.approx(1, abs=1e-5)


def test_two_views_average_the_image_and_its_mirror_image(
    capfdbinary: Captured, trained: Path, tmp_path: Path
) -> None:
    ramp = Image.linear_gradient("L").rotate(90).resize((4, 4)).point(lambda value: value // 2 + 40)
    files = [tmp_path / "ramp.png", tmp_path / "mirrored.png"]
    ramp.save(files[0])
    ramp.transpose(Image.Transpose.FLIP_LEFT_RIGHT).save(files[1])
    each, both = (
        [entry["probabilities"] for entry in json.loads(run(capfdbinary, *command, "--json")[0])]
        for command in (
            ["classify", trained / "run", *files],
            ["classify", trained / "run", *files, "--views", "2"],
        )
    )
    assert each[0] != pytest.approx(each[1], abs=1e-4)
    mean = {name: (each[0][name] + each[1][name]) / 2 for name in ("dark", "bright")}
    assert both[0] == pytest.approx(mean, abs=1e-6)
    assert both[1] == pytest.approx(mean, abs=1e-6)
    out, _ = run(capfdbinary, "classify", trained / "run", "--tests", "--views", "2")
    assert "accuracy 100.00 %" in out


def test_ten_views_are_the_image_shifted_in_each_direction_and_mirrored() -> None:
    x = torch.arange(2 * 3 * 5 * 7.0).view(2, 3, 5, 7)
    views = views_of(x, 10)
    assert len(views) == 10
    for upright, mirrored in zip(views[::2], views[1::2], strict=True):
        assert torch.equal(upright.flip(-1), mirrored)
    assert torch.equal(views[0], x)
    nothing = slice(0, 0)
    for view, (down, right) in zip(views[2::2], ((1, 0), (-1, 0), (0, 1), (0, -1)), strict=True):
        moved = torch.roll(x, (down, right), dims=(2, 3))
        moved[:, :, {1: 0, -1: 4}.get(down, nothing)] = 0
        moved[:, :, :, {1: 0, -1: 6}.get(right, nothing)] = 0
        assert torch.equal(view, moved)


def test_accuracy_f1_and_confusion_matrix_of_test_sets(capfdbinary: Captured, trained: Path) -> None:
    out, _ = run(capfdbinary, "classify", trained / "run", "--tests")
    assert "on test: 6 images" in out
    assert "accuracy 100.00 %   mean F1 100.00 %" in out
    out, _ = run(capfdbinary, "classify", trained / "run", "--labelled", trained / "test", "--json")
    (found,) = json.loads(out).values()
    assert (found["count"], found["accuracy"], found["confusion"]) == (6, 1.0, [[3, 0], [0, 3]])


def test_a_damaged_image_is_a_user_error(capfdbinary: Captured, trained: Path) -> None:
    file = trained / "cut.png"
    file.write_bytes((trained / "test" / "dark" / "0.png").read_bytes()[:45])
    assert f"{file}: the image is damaged or truncated" in fail(
        capfdbinary, "classify", trained / "run", file
    )


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ([], "there is nothing to classify"),
        (["none.png"], "none.png: no such image"),
        (["a.png", "--tests"], "images and test sets exclude each other"),
        (["--labelled", "none"], "none: no such file or folder"),
        (["--tests", "--top", "2"], "--top: it has no effect when a classifier is evaluated"),
        (["a.png", "--json", "--top", "2"], "--top: it has no effect with --json"),
    ],
)
def test_input_that_cannot_be_classified_is_a_user_error(
    capfdbinary: Captured, trained: Path, arguments: list[str], fact: str
) -> None:
    assert fact in fail(capfdbinary, "classify", trained / "run", *arguments)


@pytest.mark.parametrize("arguments", [["--layer", "1"], ["--words"], ["--specials"]])
def test_options_that_change_no_figure_of_an_image_are_refused(
    capfdbinary: Captured, trained: Path, arguments: list[str]
) -> None:
    image = trained / "test" / "dark" / "0.png"
    told = fail(capfdbinary, "inspect", trained / "run", image, *arguments)
    assert f"{arguments[0]}: it has no effect on the requested output" in told


def test_the_attention_over_an_image_is_inspected(
    capfdbinary: Captured, trained: Path, tmp_path: Path
) -> None:
    image, page, numbers = trained / "test" / "dark" / "0.png", tmp_path / "a.html", tmp_path / "a.json"
    out, _ = run(capfdbinary, "inspect", trained / "run", image)
    assert len(out.split("\n")[1:3]) == 2  # the 2 x 2 patches
    assert "Predicted class: dark. Attention rollout" in out
    run(capfdbinary, "inspect", trained / "run", image, "-o", page, "--json", numbers)
    assert "data:image/png;base64," in page.read_text(encoding="utf-8")
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert [len(head) for head in listed["maps"][0]["heads"]] == [4, 4]
    assert [len(row) for head in listed["attention"][0]["weights"] for row in head] == [5] * 10
    run(capfdbinary, "inspect", trained / "run", image, "-o", tmp_path / "a.svg")
    assert "rollout to 1" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "no such image" in fail(capfdbinary, "inspect", trained / "run", trained / "none.png")
