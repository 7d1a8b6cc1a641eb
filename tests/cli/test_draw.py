"""DALL-E end to end: training, resuming, generating and completing images."""

import json
from pathlib import Path
from unittest import mock

import numpy as np
import pytest
import torch
from command_line import Captured, fail, run
from PIL import Image
from watching import Silent

from multihead import recipe as recipes
from multihead.data.images.opening import Form, fit_image, open_image
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.tasks.drawing.gallery import nearest
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.settings import SearchSettings
from multihead.workflows.train import train

SIZE, PATCH = 8, 2


@pytest.fixture(scope="module")
def squares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write images with one colour above another."""
    folder = tmp_path_factory.mktemp("squares")
    colours = {"red": (230, 20, 20), "green": (20, 200, 20), "blue": (20, 20, 230), "black": (0, 0, 0)}
    lines = ["file,caption"]
    for above, upper in colours.items():
        for below, lower in colours.items():
            image = Image.new("RGB", (SIZE, SIZE), upper)
            image.paste(lower, (0, SIZE // 2, SIZE, SIZE))
            image.save(folder / f"{above}-{below}.png")
            lines.append(f"{above}-{below}.png,{above} above {below}")
    (folder / "list.csv").write_text("\n".join(lines) + "\n")
    return folder


def small(folder: Path, **overrides: object) -> Recipe[Settings]:
    given: dict[str, object] = {
        "name": "squares",
        "data.dir": str(folder),
        "data.captions": "list.csv",
        "data.train_fraction": 0.8,
        "tokenizer.vocab_size": 20,
        "model.kind": "dalle",
        "model.dvae_steps": 4,
        "model.codes": 11,
        "model.d_code": 6,
        "model.dvae_width": 14,
        "model.dvae_halvings": 1,
        "model.d_model": 22,
        "model.num_layers": 3,
        "model.num_heads": 2,
        "model.kernel": 3,
        "model.ranker_width": 10,
        "model.ranker_layers": 1,
        "training.steps": 8,
        "training.batch_images": 5,
        "training.learning_rate": 3e-3,
        "training.warmup_steps": 2,
        "training.log_every": 1,
        "training.precision": "fp32",
        "training.device": "cpu",
        "training.threads": 1,
        "training.save_minutes": 1e-9,
        "validation.every": 4,
    }
    return recipes.from_toml("", overrides={**given, **overrides})


@pytest.fixture(scope="module")
def trained(squares: Path) -> Path:
    observer = Silent()
    train(small(squares), squares / "run", observer)
    first, second = observer.validations
    assert {"reconstruction", "codes_used"} <= first.keys()
    assert {"loss", "accuracy", "exact", "exact_shape", "whole", "ranked_first"} <= second.keys()
    return squares / "run"


@pytest.mark.parametrize("moment", [3, 6])
def test_a_training_interrupted_in_either_stage_resumes_to_the_same_bytes(
    tmp_path: Path, squares: Path, trained: Path, moment: int
) -> None:
    def pulled(event: dict[str, object]) -> None:
        if event["step"] == moment:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(small(squares), tmp_path / "cut", Silent(pulled))
    train(small(squares), tmp_path / "cut", Silent())
    weights = [(folder / "model.safetensors").read_bytes() for folder in (trained, tmp_path / "cut")]
    assert weights[0] == weights[1]


def test_guidance_of_one_equals_no_guidance(trained: Path) -> None:
    artist = ImageGenerator.load(trained, "cpu")
    ids = artist.encode_text("red above blue")
    plain = artist.codes([ids] * 3, SearchSettings(), keys=[1, 2, 3])
    almost = artist.codes(
        [ids] * 3, SearchSettings(guidance=1 + 1e-9), keys=[1, 2, 3]
    )  # takes the guided path
    assert torch.equal(plain, almost)
    assert not torch.equal(plain[0], plain[1])


def test_an_image_depends_on_its_key_and_not_on_its_batch(trained: Path) -> None:
    artist = ImageGenerator.load(trained, "cpu")
    ids, longer = artist.encode_text("red"), artist.encode_text("blue above red")
    together = artist.codes([longer, ids], SearchSettings(), keys=[5, 6])
    assert torch.equal(artist.codes([ids], SearchSettings(), keys=[6])[0], together[1])


def test_images_are_arranged_in_a_grid(capfdbinary: Captured, trained: Path, tmp_path: Path) -> None:
    file = tmp_path / "grid.png"
    _, err = run(capfdbinary, "draw", trained, "red above blue", "-n", 5, "-o", file, "--candidates", 7)
    assert "5 images in" in err
    width, height = Image.open(file).size
    assert (width, height) == (3 * (SIZE * 16 + 2) + 2, 2 * (SIZE * 16 + 2) + 2)


@pytest.mark.parametrize("half", [True, False])
def test_a_completed_image_keeps_its_upper_part(trained: Path, tmp_path: Path, half: bool) -> None:
    whole = open_image(trained.parent / "red-blue.png")
    begun = whole.crop((0, 0, SIZE, SIZE // 2)) if half else whole
    begun.save(tmp_path / "half.png")
    artist = ImageGenerator.load(trained, "cpu")
    (drawing,) = artist.draw("red above blue", complete=tmp_path / "half.png")
    pixels = torch.from_numpy(fit_image(whole, Form(SIZE, 3)))[None].float() / 255
    codes = artist.model.codes(pixels)
    given = artist.upper_codes(tmp_path / "half.png")
    assert torch.equal(given, codes[:, : len(codes[0]) // 2])
    assert np.asarray(drawing.image).shape == (SIZE, SIZE, 3)


def test_only_the_visible_part_of_a_narrow_image_is_scaled(trained: Path, tmp_path: Path) -> None:
    """Scaled as a whole, the image would take 11 GiB."""
    Image.new("RGB", (1, 60_000), "red").save(tmp_path / "narrow.png")
    Image.new("RGB", (1, 1), "red").save(tmp_path / "square.png")
    artist = ImageGenerator.load(trained, "cpu")
    with mock.patch.object(Image.Image, "resize", autospec=True, side_effect=Image.Image.resize) as scaled:
        narrow = artist.upper_codes(tmp_path / "narrow.png")
    assert all(max(call.args[1]) <= SIZE for call in scaled.call_args_list)
    assert torch.equal(narrow, artist.upper_codes(tmp_path / "square.png"))


def test_a_page_shows_generated_images_next_to_the_nearest_training_image(
    capfdbinary: Captured, trained: Path, tmp_path: Path
) -> None:
    run(capfdbinary, "draw", trained, "--page", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert page.count("data:image/png;base64,") == 4 * (8 + 3)  # 13 training images and 3 held-out ones
    assert "Captions not seen in training" in page
    assert "://" not in page.replace("http://www.w3.org", "")


def test_the_nearest_image_has_the_smallest_difference() -> None:
    among = np.random.default_rng(1).integers(0, 256, (2053, 1, 3, 3), dtype=np.uint8)
    other = among[2050].copy()
    other[0, 1, 1] ^= 3
    place, difference = nearest(other, among)
    assert place == 2050
    assert 0 < difference <= 1


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ([], "a caption or --page is needed"),
        (["purple above red"], "words not in the vocabulary: purple"),
        ([" "], "empty caption"),
        (["red above red above red above red"], "7 tokens; the model accepts at most 3"),
        (["red", "-n", "0"], "--number 0. Give at least 1."),
        (["red", "-o", "grid.txt"], "not that of a supported image format"),
        (["red", "-o", "grid.psd"], "grid.psd: the file extension is not that of a supported image format"),
        (["red", "-o", "grid.xbm"], "not that of a supported image format"),
        (["red", "--scale", "-1"], "--scale -1. Give at least 0."),
        (["red", "--complete", "none.png"], "none.png: no such image"),
        (["red", "--guidance", "-1"], "it must be a number of at least 0"),
        (["red", "--temperature", "0", "--seed", "2"], "--search.seed: it has no effect at temperature 0"),
        (["red", "-n", "8", "--candidates", "4"], "no effect unless it exceeds the number of images, 8"),
        (["--page", "a.html", "--scale", "2"], "--scale: it has no effect with --page"),
        (["--page", "a.html", "-o", "grid.png"], "--output: it has no effect with --page"),
    ],
)
def test_input_that_cannot_be_drawn_is_a_user_error(
    capfdbinary: Captured, trained: Path, arguments: list[str], fact: str
) -> None:
    assert fact in fail(capfdbinary, "draw", trained, *arguments)


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        (["--words"], "--words: it has no effect on the requested output"),
        (["--layer", "1", "-o", "a.svg"], "--layer: it has no effect on the requested output"),
        (["--full"], "--full: it has no effect"),
    ],
)
def test_options_that_change_no_figure_of_a_drawing_are_refused(
    capfdbinary: Captured, trained: Path, tmp_path: Path, arguments: list[str], fact: str
) -> None:
    given = [str(tmp_path / word) if word.endswith(".svg") else word for word in arguments]
    assert fact in fail(capfdbinary, "inspect", trained, "red above blue", *given)


def test_the_attention_to_a_caption_is_inspected(
    trained: Path, squares: Path, capfdbinary: Captured, tmp_path: Path
) -> None:
    out, _ = run(capfdbinary, "inspect", trained, "red above blue")
    assert [line.split()[0] for line in out.split("\n")[1:5]] == ["row"] * 4
    assert "Attention of the image's rows to the words of the caption" in out
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    given = ("--target", squares / "red-blue.png")
    run(capfdbinary, "inspect", trained, "red above blue", *given, "-o", page, "--json", numbers)
    assert '"given"' in page.read_text(encoding="utf-8")
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert listed["words"][:4] == ["[begin]", "red", "above", "blue"]
    run(capfdbinary, "inspect", trained, "red above blue", "-o", tmp_path / "a.svg")
    assert "3: above" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert "words not in the vocabulary: cat" in fail(capfdbinary, "inspect", trained, "red cat")
