"""Attention maps and rollout of a vision transformer."""

import base64
import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from small_models import image_classifier

from multihead.errors import UserError
from multihead.inspect.maps import AlignmentHead
from multihead.inspect.page import PageOptions, make_page
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.page import explore_image, patch_distances


@pytest.fixture
def image(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(3).integers(0, 255, (15, 15, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    return tmp_path / "a.png"


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_maps_are_the_attention_of_the_classifiers_input(image: Path, pooling: str) -> None:
    inspection = inspect_image(image_classifier(pooling), image)
    for record, heads in zip(inspection.records, inspection.maps(), strict=True):
        for weights, found in zip(record.sentence(0).tolist(), heads, strict=True):
            if pooling == "class":
                expected = weights[0][1:]
            else:
                expected = [sum(row[patch] for row in weights) / 25 for patch in range(25)]
            np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize("pooling", ["class", "mean"])
def test_the_rollout_of_the_classifiers_input_agrees_with_a_plain_loop(image: Path, pooling: str) -> None:
    inspection = inspect_image(image_classifier(pooling), image)
    N = len(inspection.tokens.pieces)
    have = [[float(i == j) for j in range(N)] for i in range(N)]
    for record in inspection.records:
        weights_NN = record.sentence(0).mean(axis=0).tolist()
        mixed = [[weights_NN[i][j] / 2 + float(i == j) / 2 for j in range(N)] for i in range(N)]
        have = [[sum(row[m] * have[m][j] for m in range(N)) for j in range(N)] for row in mixed]
    expected = have[0][1:] if pooling == "class" else [sum(row[j] for row in have) / N for j in range(N)]
    np.testing.assert_allclose(inspection.rollout()[-1], expected, atol=1e-6)


def test_predictions_are_those_of_the_classifier(image: Path) -> None:
    classifier = image_classifier()
    [guess] = classifier.classify([image])
    assert inspect_image(classifier, image).predictions.probabilities == pytest.approx(guess.probabilities)


def test_patch_distances_are_euclidean() -> None:
    distances_NN = patch_distances((2, 3), before=1)
    assert distances_NN.shape == (7, 7)
    assert (distances_NN[0] == 0).all()
    assert distances_NN[1, 6] == pytest.approx(5**0.5)  # one row down, two columns across


def test_the_page_contains_the_image_and_every_map(image: Path) -> None:
    classifier = image_classifier()
    inspection = inspect_image(classifier, image)
    explored = explore_image(
        inspection, classifier.model, PageOptions(name="<script>run", choice=AlignmentHead(2, 1))
    )
    content = explored.content
    assert content["start"]["overlay"] == "head"
    assert content["image"]["rows"] == content["image"]["columns"] == 5
    for packed, heads in zip(content["image"]["maps"], inspection.maps(), strict=True):
        held = np.frombuffer(base64.b64decode(packed), "<f4").reshape(3, 25)
        np.testing.assert_array_equal(held, heads)
    assert json.loads(json.dumps(explored.listed))["grid"] == [5, 5]
    page = make_page(explored).html
    assert "<script>run" not in page
    assert "<b>cat" not in page
    near = content["image"]["near"]
    table_Pd = classifier.model.get_parameter("positions.weight").detach().numpy()
    unit_Pd = table_Pd / np.linalg.norm(table_Pd, axis=1, keepdims=True)
    cosines = np.frombuffer(base64.b64decode(near["data"]), np.int8).reshape(25, 25) * near["unit"]
    np.testing.assert_allclose(cosines, unit_Pd @ unit_Pd.T, atol=0.005)
    with pytest.raises(UserError, match="there is no layer 4"):
        explore_image(inspection, classifier.model, PageOptions(choice=AlignmentHead(layer=4)))
