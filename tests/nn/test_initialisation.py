"""Initialisation: variances against the papers' formulas."""

import pytest
import torch
from torch import nn

from multihead.models.transformer import Settings, Transformer
from multihead.nn import TokenEmbedding
from multihead.nn.initialisation import METHODS, initialise

FAN_IN, FAN_OUT = 211, 307


@pytest.mark.parametrize(
    ("method", "variance"),
    [
        ("xavier", 2 / (FAN_IN + FAN_OUT)),
        ("xavier_normal", 2 / (FAN_IN + FAN_OUT)),
        ("lecun", 1 / FAN_IN),
        ("lecun_uniform", 1 / FAN_IN),
        ("kaiming", 2 / FAN_IN),
        ("normal", 0.02**2),
    ],
)
def test_every_method_has_its_variance(method: str, variance: float) -> None:
    linear = nn.Linear(FAN_IN, FAN_OUT)
    initialise(nn.Sequential(nn.ReLU(), nn.Sequential(linear)), method)
    found = linear.weight.detach()
    # The relative error of a variance of n samples is at most a few times sqrt(2 / n).
    assert abs(found.var().item() / variance - 1) < 5 * (2 / found.numel()) ** 0.5
    assert abs(found.mean().item()) < 5 * (variance / found.numel()) ** 0.5
    assert not linear.bias.any()


def test_xavier_is_uniform() -> None:
    weight = torch.empty(FAN_OUT, FAN_IN)
    METHODS["xavier"](weight)
    bound = (6 / (FAN_IN + FAN_OUT)) ** 0.5
    assert 0.99 * bound < weight.abs().max() <= bound


def test_lecun_is_uniform_too() -> None:
    weight = torch.empty(FAN_OUT, FAN_IN)
    METHODS["lecun_uniform"](weight)
    bound = (3 / FAN_IN) ** 0.5
    assert 0.99 * bound < weight.abs().max() <= bound


def test_a_layer_without_bias_and_other_modules_are_left_alone() -> None:
    norm = nn.LayerNorm(5)
    initialise(nn.Sequential(norm, nn.Linear(5, 7, bias=False)), "xavier")
    assert (norm.weight == 1).all()


def test_embeddings_start_at_unit_size_and_logits_too() -> None:
    V, D = 1009, 128
    embedding = TokenEmbedding(V, D)
    embedded = embedding(torch.arange(V))
    assert abs(embedded.std().item() - 1) < 0.02
    logits = embedding.logits(torch.randn(101, D))
    assert abs(logits.std().item() - 1) < 0.02


def test_embeddings_are_scaled_by_the_root_of_their_width() -> None:
    embedding = TokenEmbedding(11, 49)
    ids = torch.tensor([[3, 5], [7, 3]])
    assert torch.equal(embedding(ids), 7.0 * embedding.weight[ids])


def test_logits_are_the_products_with_every_embedding() -> None:
    embedding = TokenEmbedding(11, 5)
    x = torch.randn(2, 3, 5)
    torch.testing.assert_close(embedding.logits(x), x @ embedding.weight.T)


@pytest.mark.parametrize("cell", ["attention", "ssru"])
def test_outputs_of_sublayers_are_shrunk_and_nothing_else(cell: str) -> None:
    sizes = {
        "source_vocab": 31,
        "target_vocab": 31,
        "d_model": 22,
        "d_ff": 37,
        "num_heads": 2,
        "num_layers": 3,
    }

    def made(gain: float) -> dict[str, torch.Tensor]:
        torch.manual_seed(7)
        settings = Settings.model_validate({**sizes, "decoder_cell": cell, "output_gain": gain})
        return dict(Transformer(settings).named_parameters())

    before, after = made(1.0), made(0.25)
    shrunk = {name for name in before if not torch.equal(before[name], after[name])}
    # 3 encoder layers of 2 sublayers, 3 decoder layers of 3.
    assert len(shrunk) == 3 * 2 + 3 * 3
    for name in shrunk:
        assert torch.equal(0.25 * before[name], after[name])
        assert before[name].shape[0] == 22
