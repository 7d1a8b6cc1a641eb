"""Classifiers, taggers and detectors warn of a layer whose outputs depend on the batch."""

import logging
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from small_models import image_classifier, text_classifier
from torch import Tensor, nn

from multihead.batch import Input
from multihead.models import detr
from multihead.nn import FeedForward
from multihead.tasks.detection.detector import Detector
from multihead.tasks.rows_alone import RowsAlone


class OverTheBatch(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(0))


class OverPadding(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(1, keepdim=True))


class Noisy(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + torch.randn_like(x))


def changed(model: nn.Module, other: type[nn.Module] | None) -> None:
    for part in model.modules():
        if other and type(part) is FeedForward:
            part.__class__ = other  # type: ignore[assignment]


TEXTS = ["the king said", "the", "so is it that the king"]


@pytest.mark.parametrize(
    ("other", "fact"),
    [
        (None, ""),
        (OverTheBatch, "A row alone and in a batch differs by"),
        (OverPadding, "A row alone and in a batch differs by"),
        (Noisy, "The same row computed twice differs by"),
    ],
)
def test_a_text_classifier_warns_once(
    other: type[nn.Module] | None, fact: str, caplog: pytest.LogCaptureFixture
) -> None:
    classifier = text_classifier()
    changed(classifier.model, other)
    with caplog.at_level(logging.WARNING):
        classifier.classify(TEXTS[:1])
        assert not caplog.messages
        classifier.classify(TEXTS)
        classifier.classify(TEXTS)
    assert len(caplog.messages) == bool(fact)
    assert all(message.startswith(fact) for message in caplog.messages)


@pytest.mark.parametrize("other", [None, OverTheBatch])
def test_images_are_compared_too(
    other: type[nn.Module] | None, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    files = [tmp_path / f"{number}.png" for number in range(3)]
    for number, file in enumerate(files):
        Image.new("RGB", (15, 15), (70 * number, 90, 10)).save(file)
    settings = detr.Settings(
        image_size=32, d_model=16, d_ff=24, num_heads=2, encoder_layers=1, decoder_layers=1, queries=3,
        stem_width=4, classes=2, class_names=("a", "b"),
    )  # fmt: skip
    torch.manual_seed(5)
    model = detr.Model(settings)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    for tool in (image_classifier(), Detector(model, device=torch.device("cpu"))):
        caplog.clear()
        changed(tool.model, other)
        use: Any = tool.classify if hasattr(tool, "classify") else tool.detect
        with caplog.at_level(logging.WARNING):
            list(use(files))
        assert len(caplog.messages) == (other is not None)


def test_outputs_of_each_position_are_compared_without_padding(caplog: pytest.LogCaptureFixture) -> None:
    ids = torch.tensor([[5, 6, 7, 8], [5, 6, 0, 0]])
    batch = Input(ids, torch.zeros_like(ids), torch.tensor([4, 2]))
    embedding = nn.Embedding(9, 3)

    class Positions(nn.Module):
        def forward(self, read: Input) -> Tensor:
            found: Tensor = embedding(read.ids_BN)
            return found

    class Blurred(Positions):
        def forward(self, read: Input) -> Tensor:
            return super().forward(read).cumsum(1).flip(1).cumsum(1).flip(1)

    with caplog.at_level(logging.WARNING):
        RowsAlone(Positions()).compare(batch)
        assert not caplog.messages
        RowsAlone(Blurred()).compare(batch)
    assert len(caplog.messages) == 1
