"""The relatives of ViT, and the convolutional network beside them."""

from typing import Any

import pytest
import torch
from pydantic import ValidationError

from multihead import recipe as recipes
from multihead.batch import ImageBatch
from multihead.recipe import model_kinds

B, SIZE, CLASSES = 5, 12, 7
ENCODER: dict[str, Any] = {"d_model": 24, "d_ff": 17, "num_layers": 2, "num_heads": 3}
SIZES: dict[str, Any] = {"image_size": SIZE, "channels": 1, "classes": CLASSES}
FAMILY: dict[str, tuple[str, dict[str, Any]]] = {
    "cct": ("cct", {**ENCODER, "tokenizer_width": 5}),
    "cct-sinusoidal": ("cct", {**ENCODER, "positions": "sinusoidal", "batch_norm": True, "kernel": 5}),
    "cct-no-positions": ("cct", {**ENCODER, "positions": "none", "tokenizer_layers": 1}),
    "small data": ("vit_small_data", {**ENCODER, "patch_size": 4}),
    "small data, shifts alone": ("vit_small_data", {**ENCODER, "patch_size": 4, "locality_attention": False}),
    "small data, locality alone": ("vit_small_data", {**ENCODER, "patch_size": 4, "shifted_patches": False}),
    "simple": ("simple_vit", {**ENCODER, "patch_size": 3}),
    "registers": ("vit_registers", {**ENCODER, "patch_size": 3, "registers": 2}),
    "registers, mean": ("vit_registers", {**ENCODER, "patch_size": 3, "registers": 2, "pooling": "mean"}),
    "patch dropout": ("vit", {**ENCODER, "patch_size": 3, "patch_dropout": 0.4}),
    "convolutions": ("convnet", {"width": 5, "blocks": 2}),
}
EVERY = pytest.mark.parametrize("name", FAMILY)


def made(name: str, **changed: object) -> Any:
    kind, given = FAMILY[name]
    module = model_kinds.load(kind)
    torch.manual_seed(1)
    model = module.Model(module.Settings.model_validate({**SIZES, **given, **changed}))
    torch.nn.init.normal_(model.classifier.weight)
    return model


@EVERY
def test_every_weight_learns_from_images(name: str) -> None:
    model = made(name).train()
    pixels, labels = torch.rand(B, 1, SIZE, SIZE), torch.arange(B) % CLASSES
    batch = ImageBatch(pixels, labels[:, None].expand(B, 2), torch.tensor([[1.0, 0.0]]).expand(B, 2))
    loss = model.loss(batch, 1)["loss"].sum
    loss.backward()
    # The keys' bias and the pool's bias shift all scores equally, and softmax is invariant to it.
    invariant = ("w_k.bias", "pool.g.bias")
    still = [n for n, w in model.named_parameters() if w.grad is None or not w.grad.abs().max() > 0]
    assert [n for n in still if not n.endswith(invariant)] == []


@EVERY
def test_an_image_of_another_shape_is_accepted(name: str) -> None:
    assert made(name).eval()(torch.rand(B, 1, 2 * SIZE, SIZE)).shape == (B, CLASSES)


@EVERY
def test_an_image_does_not_depend_on_its_batch(name: str) -> None:
    model, pixels = made(name).eval(), torch.rand(B, 1, SIZE, SIZE)
    torch.testing.assert_close(model(pixels)[2:3], model(pixels[2:3]))


def test_registers_change_the_classes_only_through_attention() -> None:
    model, pixels = made("registers, mean").eval(), torch.rand(B, 1, SIZE, SIZE)
    before = model(pixels)
    torch.nn.init.normal_(model.registers.weight_Rd)
    assert not torch.allclose(model(pixels), before)
    for layer in model.encoder.layers:
        torch.nn.init.zeros_(layer.self_attention.w_o.weight)
    same = model(pixels)
    torch.nn.init.normal_(model.registers.weight_Rd)
    torch.testing.assert_close(model(pixels), same)


@EVERY
def test_a_network_of_other_classes_begins_with_all_but_the_classifier(name: str) -> None:
    trained, other = made(name).state_dict(), made(name, classes=CLASSES + 2)
    taken = other.taken_from(trained)
    assert set(trained) - set(taken) == {"classifier.weight", "classifier.bias"}
    other.load_state_dict({**other.state_dict(), **taken})
    assert made(name).taken_from(trained).keys() == trained.keys()


def test_fewer_patches_are_read_in_training_alone() -> None:
    model, seen = made("patch dropout"), []
    model.encoder.register_forward_pre_hook(lambda encoder, given: seen.append(given[0].shape[1]))
    for mode in (True, False):
        model.train(mode)(torch.rand(B, 1, SIZE, SIZE))
    assert seen == [10 + 1, 16 + 1]  # of 16 patches 9.6 stay; and the class token


def test_the_recipe_for_fashion_mnist_has_at_most_a_million_parameters() -> None:
    for name in ("cct-fashion", "convnet-fashion"):
        recipe = recipes.load(name)
        module = model_kinds.load(str(recipe.values()["model.kind"]))
        sizes = {"image_size": 28, "channels": 1, "classes": 10}
        model = module.Model(recipe.model.model_copy(update=sizes))
        assert sum(parameter.numel() for parameter in model.parameters()) <= 1_000_000


@pytest.mark.parametrize(
    ("kind", "changes", "fact"),
    [
        ("cct", {"kernel": 4}, "kernel 4 is even"),
        ("cct", {"num_heads": 7}, "d_model 24 is not a multiple of num_heads 7"),
        ("simple_vit", {"d_model": 18, "patch_size": 3}, "a d_model of 8, 12, 16, ..., not 18"),
        ("simple_vit", {"patch_size": 5}, "image_size 12 is not a multiple of patch_size 5"),
        ("vit_small_data", {"patch_size": 5}, "image_size 12 is not a multiple of patch_size 5"),
    ],
)
def test_contradicting_settings_are_refused(kind: str, changes: dict[str, object], fact: str) -> None:
    with pytest.raises(ValidationError, match=fact):
        model_kinds.load(kind).Settings.model_validate({**SIZES, **ENCODER, **changes})
