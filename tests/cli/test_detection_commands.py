"""Object detection from training to use: `train`, `detect`, `evaluate`, `inspect`, and Python."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from command_line import Captured, fail, run
from PIL import Image
from watching import Silent

pytest.importorskip("scipy", reason="the extra [detect] is not installed")

import multihead
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.models import detr
from multihead.tasks.detection.attention import inspect_detection
from multihead.tasks.detection.detections import QueryMap, draw_boxes, draw_queries
from multihead.tasks.detection.detector import DetectedObject, Detector
from multihead.tasks.detection.objects import prepare_scenes
from multihead.tasks.detection.scenes import SceneMaker, ShapeStencils
from multihead.workflows.dry_run import dry_run
from multihead.workflows.train import train

MODEL = {
    "model.kind": "detr",
    "model.stem_width": 4,
    "model.d_model": 16,
    "model.d_ff": 24,
    "model.num_heads": 2,
    "model.encoder_layers": 1,
    "model.decoder_layers": 2,
    "model.queries": 5,
    "model.dropout": 0.0,
    "model.norm": "pre",
    "model.anchors": True,
    "data.generate": "shapes",
    "data.generated": 24,
    "data.generated_tests": 7,
    "data.image_size": 48,
    "data.most_objects": 3,
    "training.steps": 6,
    "training.batch_images": 4,
    "training.threads": 1,
    "training.log_every": 1,
    "training.average": 1,
    "training.final": "last",
    "training.learning_rate": 1e-3,
    "training.warmup_steps": 2,
    "validation.every": 3,
}


def recipe(**more: object) -> Any:
    return recipes.from_toml("", overrides={**MODEL, **more})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in COCO's format: five scenes, the last without objects."""
    folder = tmp_path_factory.mktemp("coco")
    maker = SceneMaker(ShapeStencils(), 60, 3, 1)
    images: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    for number in range(5):
        scene = maker.scene(number)
        pixels = scene.pixels_Chw.transpose(1, 2, 0)[:40]
        Image.fromarray(np.ascontiguousarray(pixels)).save(folder / f"{number}.png")
        images.append({"id": number, "file_name": f"{number}.png", "width": 60, "height": 40})
        if number == 4:
            continue
        for box, kind in zip(scene.boxes_M4.tolist(), scene.classes_M.tolist(), strict=True):
            if box[1] < 35:
                sides = [box[0], box[1], box[2] - box[0], min(box[3], 40) - box[1]]
                entry = {"id": len(annotations), "image_id": number, "category_id": kind, "bbox": sides}
                annotations.append(entry)
    categories = [{"id": kind, "name": name} for kind, name in enumerate(ShapeStencils().names)]
    content = {"images": images, "annotations": annotations, "categories": categories}
    (folder / "boxes.json").write_text(json.dumps(content), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("runs") / "shapes"
    outcome = train(recipe(), path, Silent())
    assert outcome.metrics is not None
    assert outcome.metrics.keys() >= {"loss", "ap", "ap50", "ap75"}
    return path


def test_a_resumed_training_ends_with_the_same_bytes(trained: Path, tmp_path: Path) -> None:
    def object_at_4(event: dict[str, object]) -> None:
        if event["step"] == 4:
            raise KeyError("pulled the plug")

    with pytest.raises(KeyError):
        train(recipe(), tmp_path / "cut", Silent(object_at_4))
    train(recipe(), tmp_path / "cut", Silent())
    same = [(path / "model.safetensors").read_bytes() for path in (tmp_path / "cut", trained)]
    assert same[0] == same[1]


def test_objects_are_listed_drawn_and_inside_the_image(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out, _ = run(
        capfdbinary, "detect", trained, folder / "0.png", "--threshold", "0", "-o", tmp_path / "a.png"
    )
    lines = [line.split("\t") for line in out.splitlines()]
    assert 0 < len(lines) <= 5
    scores = [float(line[2]) for line in lines]
    assert scores == sorted(scores, reverse=True)
    for _, name, _, box in lines:
        assert name in ShapeStencils().names
        left, top, width, height = map(float, box.split())
        assert left >= 0
        assert top >= 0
        assert left + width <= 60.1
        assert top + height <= 40.1
    assert Image.open(tmp_path / "a.png").size[0] > 600


@pytest.mark.parametrize("size", [(9000, 2), (2, 9000)])
def test_a_strip_is_drawn_in_a_figure_of_moderate_size(size: tuple[int, int], tmp_path: Path) -> None:
    image, path = Image.new("RGB", size), tmp_path / "strip.png"
    width, height = size
    found = DetectedObject("blob", 0.9, (width / 4, height / 4, width * 3 / 4, height * 3 / 4))
    draw_boxes(image, [found], ["blob"], path)
    with Image.open(path) as drawn:
        assert max(drawn.size) == 10 * min(drawn.size)
        assert drawn.convert("RGB").getpixel((drawn.width * 3 // 4, drawn.height // 2)) == (213, 94, 0)
        assert drawn.convert("RGB").getpixel((drawn.width // 2, drawn.height // 2)) == (0, 0, 0)
    draw_queries(image, [QueryMap(found, 0, np.ones((1, 1), np.float32))], ["blob"], "", path)


def test_a_folder_is_detected_as_json(trained: Path, folder: Path, capfdbinary: Captured) -> None:
    found = json.loads(run(capfdbinary, "detect", trained, folder, "--threshold", "0", "--json")[0])
    assert [Path(one["image"]).name for one in found] == [f"{number}.png" for number in range(5)]
    assert found[0]["objects"][0].keys() == {"name", "score", "box"}
    out, err = run(capfdbinary, "detect", trained, folder / "0.png", "--threshold", "1")
    assert out == ""
    assert "no object with a score of at least 1" in err


def test_files_of_a_folder_that_are_no_images_are_counted(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "a.heic").write_bytes(b"not readable here")
    (tmp_path / "._b.png").write_bytes(b"a resource fork of macOS")
    assert "no images; 1 other files left out (.heic)" in fail(capfdbinary, "detect", trained, tmp_path)


def test_generated_scenes_and_coco_folders_are_evaluated(
    trained: Path, folder: Path, capfdbinary: Captured
) -> None:
    found = json.loads(run(capfdbinary, "evaluate", trained, "--json")[0])["generated"]
    assert found["images"] == 7
    assert 0 <= found["AP"] <= 1
    assert found["AP large"] is None
    for more in (["--src", folder], ["--src", folder / "boxes.json", "--tgt", folder]):
        (found,) = json.loads(run(capfdbinary, "evaluate", trained, *more, "--json")[0]).values()
        assert found["images"] == 5
        assert found["objects"] > 4
    assert "undefined" in run(capfdbinary, "evaluate", trained, "--src", folder)[0]


def test_classes_are_matched_by_name(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    content = json.loads((folder / "boxes.json").read_text(encoding="utf-8"))
    for kind in content["categories"]:
        kind["id"] = 90 - kind["id"]
    for entry in content["annotations"]:
        entry["category_id"] = 90 - entry["category_id"]
    used = {entry["category_id"] for entry in content["annotations"]}
    content["categories"] = [kind for kind in content["categories"] if kind["id"] in used]
    (tmp_path / "other.json").write_text(json.dumps(content), encoding="utf-8")
    given = ["--src", folder], ["--src", tmp_path / "other.json", "--tgt", folder]
    own, other = (json.loads(run(capfdbinary, "evaluate", trained, *more, "--json")[0]) for more in given)
    assert list(other.values()) == list(own.values())
    train = {"data.train": json.dumps([str(tmp_path / "other.json"), str(folder)])}
    scenes = prepare_scenes(
        recipe(**train, **{"data.generate": "", "data.valid": json.dumps([str(folder)])}).data,
        progress=lambda *_: None,
    )
    assert len(scenes.names) == len(used)


def test_wrong_input_is_a_clear_error(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    content = json.loads((folder / "boxes.json").read_text(encoding="utf-8"))
    content["annotations"][0]["bbox"] = [70, 5, 10, 10]
    (tmp_path / "outside.json").write_text(json.dumps(content), encoding="utf-8")
    message = fail(capfdbinary, "evaluate", trained, "--src", tmp_path / "outside.json", "--tgt", folder)
    assert "outside.json: annotations, entry 1: the box [70, 5, 10, 10] has no part in" in message
    content = json.loads((folder / "boxes.json").read_text(encoding="utf-8"))
    content["categories"][1]["name"] = "blob"
    (tmp_path / "other.json").write_text(json.dumps(content), encoding="utf-8")
    message = fail(capfdbinary, "evaluate", trained, "--src", tmp_path / "other.json", "--tgt", folder)
    assert 'the class "blob" is not one of circle, ' in message
    content = json.loads((folder / "boxes.json").read_text(encoding="utf-8"))
    content["images"][1] |= {"width": 40, "height": 60}
    (tmp_path / "turned.json").write_text(json.dumps(content), encoding="utf-8")
    message = fail(capfdbinary, "evaluate", trained, "--src", tmp_path / "turned.json", "--tgt", folder)
    assert "1.png: the image has 60 x 40 pixels, but the annotations say 40 x 60" in message
    assert "Give a number from 0 to 1" in fail(
        capfdbinary, "detect", trained, folder / "0.png", "--threshold", "2"
    )
    assert "do not fit into one figure" in fail(capfdbinary, "detect", trained, folder, "-o", "x.png")
    assert "extension" in fail(capfdbinary, "detect", trained, folder / "0.png", "-o", "x.txt")
    assert "not a readable image" in fail(capfdbinary, "detect", trained, folder / "boxes.json")
    assert "no such image" in fail(capfdbinary, "detect", trained, folder / "9.png")
    assert "trained for object detection" in fail(capfdbinary, "classify", trained, folder / "0.png")


def test_a_coco_folder_is_trained_on(folder: Path, tmp_path: Path) -> None:
    given = {"data.generate": "", "data.dir": str(folder), "data.train": '["."]', "data.valid": '["."]'}
    outcome = train(recipe(**given, **{"training.flip": True}), tmp_path / "own", Silent())
    assert outcome.metrics is not None
    assert Detector.load(tmp_path / "own").names == ShapeStencils().names
    with pytest.raises(UserError, match=r"model\.queries: 1 object queries, but an image has"):
        dry_run(recipe(**given, **{"model.queries": 1}), Silent())


def test_boxes_without_width_or_height_are_left_out_and_counted(
    trained: Path, folder: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfdbinary: Captured
) -> None:
    content = json.loads((folder / "boxes.json").read_text(encoding="utf-8"))
    objects = len(content["annotations"])
    content["annotations"] += [
        {"id": 1000 + number, "image_id": 0, "category_id": 1, "bbox": [9, 9, *sides]}
        for number, sides in enumerate([(0, 0), (7, 0), (0, 7.0)])
    ]
    (tmp_path / "boxes.json").write_text(json.dumps(content), encoding="utf-8")
    train = json.dumps([str(tmp_path / "boxes.json"), str(folder)])
    given = {"data.generate": "", "data.train": train, "data.valid": json.dumps([str(folder)])}
    report = prepare_scenes(recipe(**given).data, progress=lambda *_: None).report
    assert f"with {objects:,} objects" in report
    left_out = [f"{tmp_path / 'boxes.json'}: 3 boxes left out: their width or height is 0"]
    assert caplog.messages == left_out
    caplog.clear()
    run(capfdbinary, "evaluate", trained, "--src", tmp_path / "boxes.json", "--tgt", folder)
    assert caplog.messages == left_out


def test_proposals_have_no_more_queries_than_places() -> None:
    given = {"model.proposals": True, "model.patch_size": 16, "model.queries": 10}
    with pytest.raises(UserError, match=r"10 object queries, .* at each of 9 places\. Set it to at most 9"):
        dry_run(recipe(**given), Silent())
    assert dry_run(recipe(**given | {"model.queries": 9}), Silent()).parameters


def test_scenes_of_garments_come_from_labelled_images(shared_data: Path, tmp_path: Path) -> None:
    garments = shared_data / "fashion-mnist"
    if not garments.is_dir():
        pytest.skip("no fashion-mnist beside the repository")
    files = '["t10k-images-idx3-ubyte.gz", "t10k-labels-idx1-ubyte.gz"]'
    given = {"data.generate": "garments", "data.dir": str(garments), "data.train": files}
    found = dry_run(recipe(**given), Silent())
    assert found.sizes["classes"] == "10"


def detector() -> Detector:
    """A detector whose weights are so large that its attention is not uniform."""
    torch.manual_seed(4)
    sizes = {key.removeprefix("model."): value for key, value in MODEL.items() if key.startswith("model.")}
    del sizes["kind"]
    names = ("circle", "<b>square", "cross")
    settings = detr.Settings.model_validate({**sizes, "image_size": 48, "classes": 3, "class_names": names})
    model = detr.Model(settings)
    for part in model.modules():
        if isinstance(part, torch.nn.Linear):
            torch.nn.init.normal_(part.weight, std=0.4)
    return Detector(model.eval(), device=torch.device("cpu"))


def test_the_attention_of_every_query_is_recorded(folder: Path) -> None:
    found = detector()
    seen = inspect_detection(found, folder / "0.png")
    assert seen.weights_LHQrc.shape == (2, 2, 5, 4, 6)  # 60 x 40 pixels on 48 x 48
    assert seen.weights_LHQrc.sum(axis=(3, 4)).max() <= 1.0001
    maps = seen.maps(0.0)
    assert [one.detection.score for one in maps] == sorted(
        (one.detection.score for one in maps), reverse=True
    )
    single = seen.maps(0.0, layer=1, head=2)
    assert (single[0].weights_rc == seen.weights_LHQrc[0, 1, single[0].query]).all()
    largest = seen.maps(0.0, largest=True)
    assert (largest[0].weights_rc >= maps[0].weights_rc - 1e-6).all()
    with pytest.raises(UserError, match="there is no layer 3"):
        seen.maps(0.0, layer=3)


def test_an_inspection_is_a_page_a_figure_and_numbers(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, figure, numbers = (tmp_path / name for name in ("p.html", "f.png", "n.json"))
    monkeypatch.setattr("multihead.tasks.detection.inspection.THRESHOLD", 0.0)
    run(capfdbinary, "inspect", trained, folder / "0.png", "-o", page, "--json", numbers)
    written = page.read_text(encoding="utf-8")
    assert written.count("data:image/png;base64") == 3
    assert "Decoder layer 2" in written
    assert "디코더 2층" in written
    listed = json.loads(numbers.read_text(encoding="utf-8"))
    assert np.array(listed["objects"][0]["attention"]).shape == (2, 2, 4, 6)
    run(capfdbinary, "inspect", trained, folder / "0.png", "-o", figure, "--layer", "1", "--head", "2")
    assert Image.open(figure).size[0] > 500
    out, _ = run(capfdbinary, "inspect", trained, folder / "0.png")
    assert "(query " in out
    assert "no layer 9" in fail(capfdbinary, "inspect", trained, folder / "0.png", "--layer", "9")


def test_an_image_without_objects_is_inspected(
    trained: Path, folder: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("multihead.tasks.detection.inspection.THRESHOLD", 1.1)
    run(capfdbinary, "inspect", trained, folder / "4.png", "-o", tmp_path / "p.html")
    assert "no object" in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "no object with a score" in fail(capfdbinary, "inspect", trained, folder / "4.png")


def test_the_convolutional_detector_takes_the_same_commands(
    folder: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    given = {key: value for key, value in MODEL.items() if not key.startswith("model.")}
    given |= {"model.kind": "conv_detector", "model.stem_width": 4, "model.width": 8, "model.blocks": 1}
    train(recipes.from_toml("", overrides=given), tmp_path / "conv", Silent())
    run(capfdbinary, "detect", tmp_path / "conv", folder / "0.png")
    assert "generated" in run(capfdbinary, "evaluate", tmp_path / "conv")[0]
    assert "no object queries" in fail(capfdbinary, "inspect", tmp_path / "conv", folder / "0.png")


def test_a_detector_is_loaded_in_python(trained: Path, folder: Path) -> None:
    loaded = multihead.load(trained, task="detection")
    found = loaded.detect([folder / "0.png", folder / "1.png"], threshold=0.0)
    assert len(found) == 2
    (alone,) = loaded.detect([folder / "1.png"], threshold=0.0)
    assert [one.score for one in alone] == pytest.approx([one.score for one in found[1]], abs=1e-4)
