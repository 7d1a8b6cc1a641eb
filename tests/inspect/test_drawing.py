"""Attention from image positions to caption words in a text-to-image model."""

import json
from pathlib import Path

import numpy as np
import pytest
import small_models
from PIL import Image

from multihead.errors import UserError
from multihead.inspect.maps import AlignmentHead
from multihead.inspect.page import PageOptions
from multihead.tasks.drawing import page as drawing_page
from multihead.tasks.drawing.attention import inspect_drawing
from multihead.tasks.drawing.page import explore_drawing
from multihead.tasks.drawing.settings import SearchSettings

CAPTION = "a large green circle"
TEXT, N = 11, 49


def test_word_weights_are_part_of_the_whole_sequences_weights() -> None:
    inspection = inspect_drawing(small_models.image_generator(), CAPTION)
    assert [word.text for word in inspection.words] == ["[begin]", *CAPTION.split(), "[padding]"]
    assert inspection.layouts == ("row", "column", "convolution")
    for record, to_words in zip(inspection.records, inspection.word_weights(), strict=True):
        for head, weights in enumerate(record.sentence(0).tolist()):
            assert len(weights) == TEXT + N
            for position in range(N):
                row = weights[TEXT + position]  # the query is the previous token
                np.testing.assert_allclose(to_words[head, position, :5], row[:5], atol=1e-7)
                assert to_words[head, position, 5] == pytest.approx(sum(row[5 : TEXT + 1]), abs=1e-6)


def test_the_first_image_position_attends_only_to_the_text() -> None:
    for to_words in inspect_drawing(small_models.image_generator(), CAPTION).word_weights():
        np.testing.assert_allclose(to_words[:, 0].sum(axis=1), 1, atol=1e-5)


def test_a_caption_of_full_length_has_no_padding() -> None:
    image_generator = small_models.image_generator(text_length=4)
    inspection = inspect_drawing(image_generator, CAPTION)
    assert [word.text for word in inspection.words] == ["[begin]", *CAPTION.split()]
    assert inspection.word_weights()[0].shape == (3, N, 5)


def test_the_inspected_image_is_the_generated_one() -> None:
    image_generator, settings = small_models.image_generator(), SearchSettings(seed=5, candidates=3)
    inspection = inspect_drawing(image_generator, CAPTION, settings)
    drawn = image_generator.draw(CAPTION, 1, settings)[0]
    np.testing.assert_array_equal(inspection.pixels_Chw.transpose(1, 2, 0), np.asarray(drawn.image))
    assert inspection.similarity == pytest.approx(drawn.fits)


def test_a_given_image_is_inspected_through_its_codes(tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 255, (28, 28, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    image_generator = small_models.image_generator()
    given, drawn = (
        inspect_drawing(image_generator, CAPTION, given=tmp_path / "a.png"),
        inspect_drawing(image_generator, CAPTION),
    )
    assert given.similarity is None
    assert np.abs(given.word_weights()[1] - drawn.word_weights()[1]).max() > 1e-3
    assert explore_drawing(given).content["heading"][1] == ["image", ["given"]]


def test_all_weights_are_exported_and_a_missing_layer_is_a_user_error() -> None:
    image_generator = small_models.image_generator()
    inspection = inspect_drawing(image_generator, CAPTION)
    listed = json.loads(json.dumps(explore_drawing(inspection).listed))
    assert np.array(listed["looks"][2]["heads"]).shape == (3, N, 6)
    assert np.array(listed["attention"][0]["weights"]).shape == (3, TEXT + N, TEXT + N)
    with pytest.raises(UserError, match="there is no layer 4"):
        explore_drawing(inspection, PageOptions(choice=AlignmentHead(layer=4)))


def test_layers_beyond_the_size_limit_are_omitted_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    image_generator = small_models.image_generator()
    inspection = inspect_drawing(image_generator, CAPTION)
    monkeypatch.setattr(drawing_page, "MAX_BYTES", 2 * 3 * N * 6 * 4 // 3 + 1)
    content = explore_drawing(inspection, PageOptions(choice=AlignmentHead(layer=3))).content
    assert [layer["layer"] for layer in content["image"]["layers"]] == [1, 2]
    assert ["attention to the caption in layers {} to {}", 3, 3] in content["omitted"]
    assert content["start"]["layer"] == 2
    full = explore_drawing(inspection, PageOptions(full=True)).content
    assert len(full["image"]["layers"]) == 3


def test_a_caption_with_unknown_words_is_refused() -> None:
    with pytest.raises(UserError, match="not in the vocabulary: cat"):
        inspect_drawing(small_models.image_generator(), "a green cat")
