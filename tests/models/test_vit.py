"""The vision transformer: sizes, shapes, images of other sizes, and its loss."""

import pytest
import torch
from pydantic import ValidationError
from torch.testing import assert_close

from multihead import recipe as recipes
from multihead.batch import ImageBatch
from multihead.models.vit import Settings, VisionTransformer

B, C, PATCH, GRID, D, H, LAYERS, CLASSES = 3, 3, 5, 2, 14, 7, 2, 11


def settings(**changes: object) -> Settings:
    given = {
        "image_size": GRID * PATCH,
        "channels": C,
        "classes": CLASSES,
        "patch_size": PATCH,
        "d_model": D,
        "d_ff": 17,
        "num_layers": LAYERS,
        "num_heads": H,
    }
    return Settings.model_validate({**given, **changes})


def with_a_classifier(model: VisionTransformer) -> VisionTransformer:
    torch.nn.init.normal_(model.classifier.weight)
    return model.eval()


@pytest.mark.parametrize(("name", "millions"), [("vit-b16", 86), ("vit-l16", 305.5), ("vit-h14", 632)])
def test_recipes_have_the_papers_number_of_parameters_to_two_percent(name: str, millions: float) -> None:
    """Table 1: 86, 307 and 632 M; Large is 304 M with a classifier of 1,000 classes."""
    model = recipes.load(name).model
    assert isinstance(model, Settings)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in VisionTransformer(model).parameters())
    assert abs(count / 1e6 / millions - 1) < 0.02


@pytest.mark.parametrize("pooling", ["class", "mean"])
@pytest.mark.parametrize("stem", ["linear", "convolutional"])
def test_images_become_logits_and_every_weight_learns(pooling: str, stem: str) -> None:
    size = 4 if stem == "convolutional" else PATCH
    s = settings(pooling=pooling, stem=stem, stem_width=3, patch_size=size, image_size=GRID * size)
    model = with_a_classifier(VisionTransformer(s)).train()
    logits = model(torch.rand(B, C, GRID * size, GRID * size))
    assert logits.shape == (B, CLASSES)
    logits.square().sum().backward()
    # The keys' bias shifts all scores of a query equally, and softmax is invariant to it.
    still = [n for n, w in model.named_parameters() if w.grad is None or not w.grad.abs().max() > 0]
    assert [name for name in still if "w_k.bias" not in name] == []


def test_an_image_of_another_size_and_shape_is_accepted() -> None:
    model = with_a_classifier(VisionTransformer(settings()))
    assert model(torch.rand(B, C, 3 * PATCH, 5 * PATCH)).shape == (B, CLASSES)


def test_an_untrained_classifier_gives_all_classes_equal_probability() -> None:
    logits = VisionTransformer(settings()).eval()(torch.rand(B, C, GRID * PATCH, GRID * PATCH))
    assert torch.equal(logits, torch.zeros(B, CLASSES))


def test_the_loss_of_a_mixture_is_the_mixture_of_the_losses() -> None:
    model = with_a_classifier(VisionTransformer(settings(label_smoothing=0.1)))
    pixels = torch.rand(B, C, GRID * PATCH, GRID * PATCH)
    one, other = torch.tensor([0, 1, 2]), torch.tensor([3, 5, 7])

    def loss(first: float) -> torch.Tensor:
        shares = torch.tensor([first, 1 - first]).expand(B, 2)
        batch = ImageBatch(pixels, torch.stack([one, other], dim=1), shares)
        return model.loss(batch, 1)["loss"].sum

    expected = torch.nn.functional.cross_entropy(model(pixels), one, label_smoothing=0.1, reduction="sum")
    assert_close(loss(1.0), expected)
    assert_close(loss(0.3), 0.3 * loss(1.0) + 0.7 * loss(0.0))


def test_accuracy_counts_the_label_of_the_larger_share() -> None:
    model = with_a_classifier(VisionTransformer(settings()))
    pixels = torch.rand(B, C, GRID * PATCH, GRID * PATCH)
    guess = model(pixels).argmax(dim=1)
    batch = ImageBatch(
        pixels, torch.stack([(guess + 1) % CLASSES, guess], dim=1), torch.tensor([[0.4, 0.6]]).expand(B, 2)
    )
    assert model.loss(batch, 1)["accuracy"].sum.item() == B


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"num_heads": 5}, "d_model 14 is not a multiple of num_heads 5"),
        ({"image_size": 13}, "image_size 13 is not a multiple of patch_size 5"),
        ({"stem": "convolutional"}, "needs a patch_size that is a power of 2, not 5"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(changes: dict[str, object], fact: str) -> None:
    with pytest.raises(ValidationError, match=fact):
        settings(**changes)
