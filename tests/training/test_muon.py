"""Muon against its equations, and against PyTorch's implementation."""

import pytest
import torch
from backwards import small_transformer
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.models.seq2seq import Seq2Seq
from multihead.models.seq2seq import Settings as Seq2SeqSettings
from multihead.nn.modules import Linear
from multihead.recipe.settings import TrainingSettings
from multihead.training import optimizers
from multihead.training.muon import ITERATIONS, Muon, orthogonalize
from multihead.training.optimizer_state import OptimizerState

FORMATS = [torch.float32, torch.bfloat16]
RATE = 0.02


def muon_of(model: nn.Module, **given: object) -> torch.optim.Optimizer:
    settings = TrainingSettings.model_validate({"optimizer": "muon", "precision": "fp32"} | given)
    optimizer = optimizers.make_optimizer(model, settings)
    optimizers.set_rate(optimizer, RATE)
    return optimizer


@given(
    K=st.integers(1, 5),
    m=st.integers(1, 53),
    n=st.integers(1, 53),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
    dtype=st.sampled_from(FORMATS),
    seed=st.integers(0, 99),
)
def test_orthogonalising_keeps_singular_vectors_and_levels_singular_values(
    K: int, m: int, n: int, scale: float, dtype: torch.dtype, seed: int
) -> None:
    torch.manual_seed(seed)
    u, v = (torch.linalg.qr(torch.randn(K, size, min(m, n)))[0] for size in (m, n))
    # Much smaller singular values would need more iterations.
    singular = 0.1 + 0.9 * torch.rand(K, 1, min(m, n))
    found = u.mT @ orthogonalize(scale * (u * singular) @ v.mT, dtype) @ v
    sizes, rest = found.diagonal(dim1=1, dim2=2), found - torch.diag_embed(found.diagonal(dim1=1, dim2=2))
    assert 0.6 < sizes.min() <= sizes.max() < 1.3
    assert rest.abs().max() < (1e-3 if dtype == torch.float32 else 0.12)


@pytest.mark.parametrize("dtype", FORMATS)
def test_a_zero_matrix_stays_zero(dtype: torch.dtype) -> None:
    assert torch.equal(orthogonalize(torch.zeros(2, 7, 5), dtype), torch.zeros(2, 7, 5))


@pytest.mark.parametrize("weight_decay", [0.0, 0.5])
def test_a_step_equals_that_of_torch_optim_muon(weight_decay: float) -> None:
    shapes = [(37, 53), (53, 37), (37, 53), (31, 31)]
    layers = [Linear(n, m, bias=False) for m, n in shapes]
    others = [nn.Parameter(layer.weight.detach().clone()) for layer in layers]
    ours = muon_of(nn.ModuleList(layers), weight_decay=weight_decay)
    theirs = torch.optim.Muon(
        others, RATE, weight_decay=weight_decay, adjust_lr_fn="match_rms_adamw", ns_steps=ITERATIONS
    )
    for _ in range(3):
        before = [p.detach().clone() for p in others]
        for layer, other in zip(layers, others, strict=True):
            other.grad = torch.randn_like(other)
            layer.weight.grad = other.grad.clone()
        ours.step()
        theirs.step()  # type: ignore[no-untyped-call]
        for layer, other, old in zip(layers, others, before, strict=True):
            moved, expected = layer.weight.detach() - old, other.detach() - old
            assert_close(moved.norm(), expected.norm(), rtol=0.02, atol=0)  # PyTorch computes in bf16
            assert torch.cosine_similarity(moved.flatten(), expected.flatten(), dim=0) > 0.995
            with torch.no_grad():
                layer.weight.copy_(other)


def test_embeddings_norms_and_biases_are_updated_by_adam() -> None:
    model = small_transformer(dropout=0.0)
    optimizer, adam = muon_of(model, weight_decay=0.1), small_transformer(dropout=0.0)
    other = optimizers.make_optimizer(adam, TrainingSettings(optimizer="adamw", weight_decay=0.1))
    optimizers.set_rate(other, RATE)
    for one, another in zip(model.parameters(), adam.parameters(), strict=True):
        one.grad = torch.randn_like(one)
        another.grad = one.grad.clone()
    optimizer.step()
    other.step()
    saved = OptimizerState(optimizer, model).tensors()
    moved = {name.removeprefix("optimizer.momentum.") for name in saved if ".momentum." in name}
    expected = {name for name, p in model.named_parameters() if p.dim() == 2 and "layers" in name}
    assert moved == expected
    assert len(moved) == 16  # 4 for each of 3 attention sublayers, 2 for each of 2 feed-forward sublayers
    twin: dict[str, Tensor] = dict(adam.named_parameters())
    for name, parameter in model.named_parameters():
        if name not in moved:
            assert_close(parameter, twin[name])
        assert parameter.grad is not None


def test_frozen_parameters_and_those_without_a_gradient_stay() -> None:
    layers = [Linear(5, 7), Linear(7, 5), Linear(5, 7)]
    layers[0].weight.requires_grad_(False)
    optimizer = muon_of(nn.ModuleList(layers))
    before = [layer.weight.detach().clone() for layer in layers]
    layers[2].weight.grad = torch.ones_like(layers[2].weight)
    optimizer.step()
    assert [torch.equal(layer.weight, old) for layer, old in zip(layers, before, strict=True)] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
def test_without_gradients_of_hidden_matrices_the_others_still_move(weight_decay: float) -> None:
    model = small_transformer()
    optimizer = muon_of(model, weight_decay=weight_decay)
    embedding: Tensor = model.source_embedding.weight
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    embedding.grad = torch.ones_like(embedding)
    optimizer.step()
    moved = [name for name, p in model.named_parameters() if not torch.equal(p, before[name])]
    assert moved == ["source_embedding.weight"]


def test_orthogonalisation_uses_the_precision_of_training() -> None:
    for precision, dtype in {"fp32": torch.float32, "bf16": torch.bfloat16}.items():
        optimizer = muon_of(small_transformer(), precision=precision)
        assert isinstance(optimizer, Muon)
        assert optimizer.dtype == dtype


def test_a_model_without_hidden_matrices_is_refused() -> None:
    settings = Seq2SeqSettings(source_vocab=11, target_vocab=11, d_embedding=7, d_hidden=7)
    with pytest.raises(UserError, match=r"attention and feed-forward.*none"):
        muon_of(Seq2Seq(settings))


def test_a_learning_rate_in_a_tensor_acts_as_a_number_does() -> None:
    """CUDA graphs read the learning rate from a tensor."""
    models = [small_transformer(), small_transformer()]
    for model, captured in zip(models, (False, True), strict=True):
        optimizer = muon_of(model, weight_decay=0.1)
        if captured:
            for group in optimizer.param_groups:
                group["lr"] = torch.zeros(())
        torch.manual_seed(1)
        for step in range(1, 4):
            optimizers.set_rate(optimizer, RATE * step)
            for parameter in model.parameters():
                parameter.grad = torch.randn_like(parameter)
            optimizer.step()
    for one, another in zip(*(model.parameters() for model in models), strict=True):
        assert torch.equal(one, another)
