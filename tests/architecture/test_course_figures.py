"""Figures of the course: figure 1 of the paper with a model's own numbers."""

import re
from typing import Any
from xml.etree import ElementTree

import pytest
import torch

from multihead.apps.course import images, terms, transformer_figure
from multihead.apps.course.figures import COLOURS
from multihead.errors import UserError
from multihead.models.transformer import Settings, Transformer


def transformer(**settings: Any) -> Transformer:
    """A Transformer of 3 encoder and 5 decoder layers, 7 heads 2 wide, 31 units inside."""
    sizes = {"d_model": 14, "d_ff": 31, "num_heads": 7, "num_layers": 3, "decoder_layers": 5}
    return Transformer(Settings(source_vocab=11, target_vocab=13, **{"tied": "none", **sizes, **settings}))


def texts(svg: str) -> list[str]:
    """Return the texts of a drawing."""
    return [
        element.text or "" for element in ElementTree.fromstring(svg).iter() if element.tag.endswith("text")
    ]


@pytest.mark.parametrize("norm", ["post", "pre"])
@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("tied", ["none", "decoder"])
def test_the_parts_add_up_to_the_model(norm: str, positions: str, tied: str) -> None:
    model = transformer(norm=norm, positions=positions, tied=tied, output_bias=True)
    drawing = transformer_figure(model).svg
    total = sum(parameter.numel() for parameter in model.parameters())
    assert sum(map(int, re.findall(r'data-parameters="(\d+)"', drawing))) == total
    assert f"The Transformer: {total:,} parameters" in texts(drawing)


def test_every_part_has_its_own_numbers() -> None:
    model = transformer()
    shown = texts(transformer_figure(model).svg)
    attention = 4 * (14 * 14 + 14)
    network = 14 * 31 + 31 + 31 * 14 + 14
    assert shown.count(f"{attention:,}") == 3
    assert shown.count("7 heads, d_k = 2") == 3
    assert shown.count(f"{network:,}") == 2
    assert shown.count("14 → 31 → 14") == 2
    assert shown.count("28") == 5  # norms: two vectors of 14
    assert f"3 × {attention + network + 2 * 28:,}" in shown
    assert f"5 × {2 * attention + network + 3 * 28:,}" in shown
    assert shown.count("14 → 13") == 1


def test_korean_labels_are_korean() -> None:
    shown = texts(transformer_figure(transformer(tied="decoder"), "ko").svg)
    words = [text for text in shown if re.search("[A-Za-z]{2}", text)]
    assert words == []
    assert "마스크 멀티 헤드 어텐션" in shown


@pytest.mark.parametrize("settings", [{"decoder_cell": "ssru"}, {"norm": "none"}, {"residual": False}])
def test_a_model_unlike_the_figure_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError, match="figure 1 has no") as caught:
        transformer_figure(transformer(**settings))
    assert caught.value.remedy


def test_an_unknown_language_lists_the_known_ones() -> None:
    with pytest.raises(UserError, match="no labels in 'de'") as caught:
        transformer_figure(transformer(), "de")  # type: ignore[arg-type]
    assert "en, ko" in str(caught.value.remedy)


def test_a_dot_product_is_written_out() -> None:
    assert terms(torch.tensor([1.0, -0.5]), torch.tensor([0.25, 2.0])) == "1.00·0.25 + (-0.50)·2.00"
    with pytest.raises(ValueError, match="zip"):
        terms(torch.zeros(3), torch.zeros(2))


def test_boxes_have_the_name_and_the_colour_of_their_class() -> None:
    boxes = [[(2, (0.1, 0.2, 0.5, 0.6)), (0, (0.5, 0.5, 0.9, 0.9))], [(2, (-0.2, 0.2, 0.5, 1.6))]]
    svg = images(torch.zeros(2, 1, 5, 7), ["ja", "nein"], boxes=boxes, names=["네모", "별", "원"]).svg
    assert sorted(text for text in texts(svg) if re.search("[가-힣]", text)) == ["네모", "원", "원"]
    assert [svg.count(f"fill: none; stroke: {colour}") for colour in COLOURS[:3]] == [1, 0, 2]
    assert "stroke: #0" not in images(torch.zeros(2, 1, 5, 7), ["ja", "nein"]).svg
