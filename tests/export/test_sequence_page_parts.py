"""The pages of BERT and ViT: refusals, scores, attention, ids and pixels against Python's, run by node."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import PIL
import pytest
import torch
from live_pages import in_node, lines
from live_sequences import classifier, image_page, masked, masked_page, vocabulary
from live_texts import HARD
from PIL import Image

from multihead.apps.export.page.sequence_reference import image_logits, masked_logits, model_logits
from multihead.data.images.opening import Form, fit_image
from multihead.errors import UserError
from multihead.inspect.maps import record_sequence
from multihead.models.bert import BERT
from multihead.nn.description import ImageSpec, MaskedSpec, describe
from multihead.nn.feed_forward import FeedForward
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.masked.mask_tokens import encode_masked
from multihead.text.tokenizer import Tokenizer

TOLERANCES = [(True, 1e-5), (False, 0.03)]
BERTS: dict[str, dict[str, Any]] = {"gelu": {}, "relu": {"activation": "relu", "num_layers": 1}}
VITS: dict[str, dict[str, Any]] = {
    "class token": {},
    "mean of patches, grey": {"pooling": "mean", "channels": 1, "patch_size": 5},
    "registers": {"registers": 2},
}
exactness = pytest.mark.parametrize(("exact", "tolerance"), TOLERANCES, ids=["float32", "int8"])


def maps(model: Any, run: Any, length: int) -> np.ndarray:
    return np.stack([one.sentence(0) for one in record_sequence(model, run, length)])


@exactness
@pytest.mark.parametrize("name", BERTS)
def test_predictions_and_attention_of_a_text_are_the_models(
    name: str, exact: bool, tolerance: float, tmp_path: Path
) -> None:
    tokenizer = vocabulary()
    model = masked(tokenizer, **BERTS[name])
    text = "ein Hund [MASK] über die [MASK] grün"
    given = encode_masked(tokenizer, text)
    ids = torch.tensor([tokenizer.bos_id, *given, tokenizer.eos_id])
    requests = [{"kind": "fill", "ids": given, "hidden": []}, {"kind": "shares", "ids": ids.tolist()}]
    found, shares = in_node(masked_page(model, tokenizer, exact=exact), tmp_path, requests)
    own = maps(model, lambda one: model_logits(one, ids), len(ids))
    np.testing.assert_allclose(np.reshape(found["weights"], own.shape), own, atol=tolerance)
    with torch.no_grad():
        expected = model_logits(model, ids).softmax(-1).numpy()
    np.testing.assert_allclose(shares, expected, atol=tolerance)
    if exact:
        filler = MaskFiller(model, tokenizer, device=torch.device("cpu"), precision="fp32").fill(text)
        ways = [one for one in found["predictions"] if one]
        assert len(ways) == len(filler.gaps) == 2
        for one, gap in zip(ways, filler.gaps, strict=True):
            assert [tokenizer.piece(way["id"]) for way in one[:5]] == [way.piece for way in gap]
            np.testing.assert_allclose(
                [way["share"] for way in one[:5]], [way.probability for way in gap], atol=1e-5
            )
        assert tokenizer.decode(found["filled"]) == filler.text


def test_a_hidden_word_is_not_seen_and_a_long_text_is_cut(tmp_path: Path) -> None:
    tokenizer = vocabulary()
    model = masked(tokenizer)
    one, long = tokenizer.encode("ein Hund läuft"), tokenizer.encode(" ".join(lines(9)))
    other = [one[0], tokenizer.encode("zwei")[0], *one[2:]]
    assert one != other
    asked: tuple[tuple[list[int], list[int]], ...] = ((one, [1]), (other, [1]), (one, []), (long, []))
    requests = [{"kind": "fill", "ids": ids, "hidden": places} for ids, places in asked]
    first, second, shown, cut = in_node(masked_page(model, tokenizer), tmp_path, requests)
    assert first == second
    assert first["weights"] != shown["weights"]
    assert cut["left"] == len(long) - 27
    assert cut["N"] == 29


@pytest.mark.parametrize("kind", ["wordpiece", "bpe", "unigram"])
def test_a_text_with_masks_is_segmented_as_python_does(kind: str, tmp_path: Path) -> None:
    tokenizer = vocabulary(kind=kind)
    texts = [*(f"{text} [MASK]{text}" for text in HARD), "[MASK][MASK]", "[MASK"]
    made = masked_page(masked(tokenizer), tokenizer)
    (found,) = in_node(made, tmp_path, [{"kind": "encode", "texts": texts}])
    expected = [encode_masked(tokenizer, text) for text in texts[:-1]] + [tokenizer.encode("[MASK")]
    assert [text for text, ids, row in zip(texts, found, expected, strict=True) if ids != row] == []


@exactness
@pytest.mark.parametrize("name", VITS)
def test_classes_and_attention_of_an_image_are_the_models(
    name: str, exact: bool, tolerance: float, tmp_path: Path
) -> None:
    model = classifier(**VITS[name])
    made = image_page(model, exact=exact)
    pixels = np.random.default_rng(3).integers(0, 256, (made.facts["channels"], 15, 15), dtype=np.uint8)
    planes = pixels.reshape(len(pixels), -1).tolist()
    (found,) = in_node(made, tmp_path, [{"kind": "classify", "planes": planes}])
    read = torch.from_numpy(pixels)[None].float() / 255
    with torch.no_grad():
        expected = model(read)[0].softmax(-1).numpy()
    np.testing.assert_allclose(found["shares"], expected, atol=tolerance)
    own = maps(model, lambda one: one(read), found["N"])
    np.testing.assert_allclose(np.reshape(found["weights"], own.shape), own, atol=tolerance)


@pytest.mark.parametrize("channels", [1, 3])
def test_an_image_is_scaled_and_cropped_to_the_same_pixels_as_in_python(
    channels: int, tmp_path: Path
) -> None:
    made = image_page(classifier(channels=channels))
    chance, expected = np.random.default_rng(1), []
    requests: list[dict[str, Any]] = []
    for number, (height, width) in enumerate(
        [(15, 15), (15, 41), (7, 5), (97, 61), (64, 64), (31, 200), (300, 47)]
    ):
        pixels = chance.integers(0, 256, (height, width, 3), dtype=np.uint8)
        pixels[: height // 2] = pixels[: height // 2] // 128 * 255  # hard edges, which overshoot
        rgba = np.dstack([pixels, np.full((height, width), 255, np.uint8)])
        (tmp_path / f"{number}.rgba").write_bytes(rgba.tobytes())
        requests.append({"kind": "fit", "file": f"{number}.rgba", "height": height, "width": width})
        expected.append(fit_image(Image.fromarray(pixels), Form(15, channels)).reshape(channels, -1).tolist())
    found = in_node(made, tmp_path, requests)
    for one, ours, request in zip(found, expected, requests, strict=True):
        # Before Pillow 13, the rows of a tall image were scaled first.
        if PIL.__version__ >= "13" or request["height"] <= request["width"]:
            assert one == ours


def test_the_descriptions_alone_give_the_models_scores() -> None:
    tokenizer = vocabulary()
    bert, vit, ids = masked(tokenizer), classifier(), torch.tensor(tokenizer.encode("zwei Katzen"))
    with torch.no_grad():
        torch.testing.assert_close(masked_logits(describe(bert, MaskedSpec), ids), model_logits(bert, ids))
        pixels = torch.rand(3, 15, 15)
        torch.testing.assert_close(image_logits(describe(vit, ImageSpec), pixels), vit(pixels[None])[0])


@pytest.mark.parametrize("kind", ["masked", "image"])
def test_weights_that_are_cut_short_are_not_loaded(kind: str, tmp_path: Path) -> None:
    tokenizer = vocabulary()
    made = masked_page(masked(tokenizer), tokenizer) if kind == "masked" else image_page(classifier())
    size = len(made.weights)
    cuts = [3, 61, 997, size // 2, size - 4099, size]
    found = in_node(made, tmp_path, [{"kind": "load", "cut": cut} for cut in cuts])
    assert found == ["damaged"] * 5 + ["loaded"]


def test_models_that_the_page_cannot_express_are_refused() -> None:
    with pytest.raises(UserError, match="the patches or their positions are not those of the paper"):
        image_page(classifier(stem="convolutional", image_size=16, patch_size=4))
    tokenizer = vocabulary()
    content = json.loads(tokenizer.to_json())
    content["model"]["continuing_subword_prefix"] = "##"
    other = Tokenizer.from_json(json.dumps(content))
    with pytest.raises(UserError, match="WordPiece with marks inside words"):
        masked_page(masked(other), other)


def test_models_that_compute_something_else_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Other(BERT):
        pass

    tokenizer = vocabulary()
    model = masked(tokenizer)
    plain = FeedForward.forward
    with monkeypatch.context() as patch:
        patch.setattr(FeedForward, "forward", lambda self, x: 1.5 * plain(self, x))
        with pytest.raises(UserError, match="the page computes a different model"):
            masked_page(model, tokenizer)
        with pytest.raises(UserError, match="the page computes a different model"):
            image_page(classifier())
    model.__class__ = Other
    with pytest.raises(UserError, match="Other inherits a description and has none of its own"):
        masked_page(model, tokenizer)
