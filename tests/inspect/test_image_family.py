"""Attention of ViT's relatives: pooled sequences, registers, and a network without attention."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from multihead.errors import UserError
from multihead.inspect.page import make_page
from multihead.recipe import model_kinds
from multihead.tasks.images.attention import inspect_image
from multihead.tasks.images.image_classifier import ImageClassifier
from multihead.tasks.images.page import explore_image

SIZES: dict[str, Any] = {"image_size": 15, "channels": 3, "classes": 2, "class_names": ["cat", "dog"]}
WIDTHS: dict[str, Any] = {"d_model": 12, "d_ff": 23, "num_layers": 2, "num_heads": 3}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    pixels = np.random.default_rng(3).integers(0, 255, (15, 15, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    return tmp_path / "a.png"


def classifier(kind: str, **given: object) -> ImageClassifier:
    torch.manual_seed(11)
    module = model_kinds.load(kind)
    return ImageClassifier(
        module.Model(module.Settings.model_validate({**SIZES, **given})), device=torch.device("cpu")
    )


def test_the_maps_of_a_pooled_sequence_are_weighted_as_it_is(image: Path) -> None:
    made = classifier("cct", **WIDTHS, tokenizer_width=5)
    torch.nn.init.normal_(made.model.pool.g.weight)  # type: ignore[union-attr, arg-type]
    seen: list[torch.Tensor] = []
    made.model.encoder.register_forward_hook(lambda *given: seen.append(given[2]))  # type: ignore[union-attr]
    inspection = inspect_image(made, image)
    assert inspection.readout == "the pooled sequence"
    assert inspection.grid == (4, 4)
    shares = made.model.pool.shares(seen[0])[0]  # type: ignore[union-attr, operator]
    for record, heads in zip(inspection.records, inspection.maps(), strict=True):
        expected = torch.einsum("q,hqk->hk", shares, torch.tensor(record.sentence(0)))
        np.testing.assert_allclose(heads, expected.detach(), atol=1e-6)


@pytest.mark.parametrize(("pooling", "before"), [("class", 3), ("mean", 2)])
def test_registers_are_labelled_and_left_out_of_the_maps(image: Path, pooling: str, before: int) -> None:
    made = classifier("vit_registers", **WIDTHS, patch_size=3, registers=2, pooling=pooling)
    inspection = inspect_image(made, image)
    pieces = [token.text for token in inspection.tokens.pieces]
    assert pieces[before - 2 : before + 1] == ["[register 1]", "[register 2]", "1,1"]
    assert len(pieces) == before + 25
    assert all(one.shape == (3, 25) for one in inspection.maps())
    assert "[register 1]" in make_page(explore_image(inspection, made.model)).html


def test_a_network_without_attention_is_refused_with_a_remedy(image: Path) -> None:
    with pytest.raises(UserError, match=r"ConvNet has no attention.*multihead classify"):
        inspect_image(classifier("convnet"), image)
