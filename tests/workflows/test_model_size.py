"""A model too large for the memory is refused before it is built."""

import pytest
import torch

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.recipe import model_kinds
from multihead.system import memory
from multihead.workflows import new_model

CPU = torch.device("cpu")
RECIPES = [
    "multi30k-de-en",
    "student-micro",
    "shakespeare-mixtral",
    "vit-digits",
    "long-listops",
    "detr-shapes",
]


@pytest.mark.parametrize("name", RECIPES)
def test_parameters_are_counted_without_building_the_model(name: str) -> None:
    recipe = recipes.load(name)
    before = torch.random.get_rng_state()
    found = new_model.parameters(recipe)
    assert torch.equal(torch.random.get_rng_state(), before)
    built = model_kinds.load(recipe.kind).Model(recipe.model)
    assert found == sum(parameter.numel() for parameter in built.parameters())


@pytest.mark.parametrize(("device", "least"), [("cpu", 8), ("cuda", 4)])
def test_a_model_that_cannot_fit_is_refused(monkeypatch: pytest.MonkeyPatch, device: str, least: int) -> None:
    recipe = recipes.load("multi30k-de-en")
    needed = least * new_model.parameters(recipe)
    monkeypatch.setattr(new_model, "free_memory", lambda: needed - 1)
    with pytest.raises(UserError, match="a transformer of these sizes has") as error:
        new_model.refuse_too_large(recipe, torch.device(device))
    assert error.value.remedy is not None
    assert "model.d_model (128), model.num_layers (4), model.d_ff (256)" in error.value.remedy
    for enough in (needed, 0):  # 0: not known
        monkeypatch.setattr(new_model, "free_memory", lambda enough=enough: enough)
        new_model.refuse_too_large(recipe, torch.device(device))


def test_the_published_size_is_refused_before_memory_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_model, "free_memory", lambda: 64 * 10**9)
    recipe = recipes.load("shakespeare-char-cpu", {"model.kind": "mixtral"})
    with pytest.raises(UserError, match=r"has 37\.0 billion parameters: they take 296 GB of memory at least"):
        new_model.new_model(recipe, CPU)


def test_a_model_that_needs_real_numbers_to_be_built_is_not_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    class Curious(torch.nn.Linear):
        def __init__(self, settings: object) -> None:
            super().__init__(3, 3)
            assert self.weight.abs().max().item() < 1

    recipe = recipes.load("multi30k-de-en")
    monkeypatch.setattr(model_kinds.load(recipe.kind), "Model", Curious)
    assert new_model.parameters(recipe) == 0
    new_model.refuse_too_large(recipe, CPU)


def test_the_free_memory_is_known_here() -> None:
    assert 10**7 < memory.free_memory() < 10**14
