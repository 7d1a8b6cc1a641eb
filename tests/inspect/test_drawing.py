"""Which words each place of a drawn picture was drawn from."""

import json
from pathlib import Path

import looking
import numpy as np
import pytest
from PIL import Image

from multihead.attention_maps import Choice
from multihead.errors import UserError
from multihead.inspect.drawing import paint
from multihead.inspect.page import Asked, drawn
from multihead.inspect.page.drawn import explore_painting
from multihead.settings.tasks.drawing import SearchSettings

CAPTION = "a large green circle"
TEXT, N = 11, 49


def test_what_places_take_from_words_stands_in_the_whole_sequences_weights() -> None:
    painting = paint(looking.artist(), CAPTION)
    assert [word.text for word in painting.words] == ["[begin]", *CAPTION.split(), "[no word]"]
    assert painting.layouts == ("row", "column", "convolution")
    for record, look in zip(painting.records, painting.looks(), strict=True):
        for head, weights in enumerate(record.sentence(0).tolist()):
            assert len(weights) == TEXT + N
            for place in range(N):
                row = weights[TEXT + place]  # what stands before the place
                np.testing.assert_allclose(look[head, place, :5], row[:5], atol=1e-7)
                assert look[head, place, 5] == pytest.approx(sum(row[5 : TEXT + 1]), abs=1e-6)


def test_the_first_place_of_the_picture_sees_nothing_but_the_text() -> None:
    for look in paint(looking.artist(), CAPTION).looks():
        np.testing.assert_allclose(look[:, 0].sum(axis=1), 1, atol=1e-5)


def test_a_caption_that_fills_the_text_has_no_fillers() -> None:
    artist = looking.artist(text_length=4)
    painting = paint(artist, CAPTION)
    assert [word.text for word in painting.words] == ["[begin]", *CAPTION.split()]
    assert painting.looks()[0].shape == (3, N, 5)


def test_the_picture_is_the_one_that_is_drawn() -> None:
    artist, settings = looking.artist(), SearchSettings(seed=5, candidates=3)
    painting = paint(artist, CAPTION, settings)
    drawn = artist.draw(CAPTION, 1, settings)[0]
    np.testing.assert_array_equal(painting.pixels_Chw.transpose(1, 2, 0), np.asarray(drawn.picture))
    assert painting.fits == pytest.approx(drawn.fits)


def test_a_given_picture_is_looked_at_through_its_codes(tmp_path: Path) -> None:
    pixels = np.random.default_rng(3).integers(0, 255, (28, 28, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    artist = looking.artist()
    given, drawn = paint(artist, CAPTION, given=tmp_path / "a.png"), paint(artist, CAPTION)
    assert given.fits is None
    assert np.abs(given.looks()[1] - drawn.looks()[1]).max() > 1e-3
    assert explore_painting(given).content["told"][1] == ["is given", "this picture"]


def test_all_numbers_can_be_had_and_no_layer_that_there_is_not() -> None:
    artist = looking.artist()
    painting = paint(artist, CAPTION)
    listed = json.loads(json.dumps(explore_painting(painting).listed))
    assert np.array(listed["looks"][2]["heads"]).shape == (3, N, 6)
    assert np.array(listed["attention"][0]["weights"]).shape == (3, TEXT + N, TEXT + N)
    with pytest.raises(UserError, match="there is no layer 4"):
        explore_painting(painting, Asked(choice=Choice(layer=4)))


def test_layers_that_would_make_the_page_large_are_left_out_and_told(monkeypatch: pytest.MonkeyPatch) -> None:
    artist = looking.artist()
    painting = paint(artist, CAPTION)
    monkeypatch.setattr(drawn, "MOST_BYTES", 2 * 3 * N * 6 * 4 // 3 + 1)
    content = explore_painting(painting, Asked(choice=Choice(layer=3))).content
    assert [layer["layer"] for layer in content["picture"]["layers"]] == [1, 2]
    assert "which words places look at in layers 3 to 3" in content["leftOut"]
    assert content["start"]["layer"] == 2
    full = explore_painting(painting, Asked(full=True)).content
    assert len(full["picture"]["layers"]) == 3


def test_a_caption_with_unknown_words_is_refused() -> None:
    with pytest.raises(UserError, match="words not in the vocabulary: cat"):
        paint(looking.artist(), "a green cat")
