"""The vision transformer against Hugging Face's with the same weights."""

from typing import Any

import pytest
import torch
from torch import nn
from torch.testing import assert_close
from transformers import ViTConfig, ViTForImageClassification

from multihead.models.vit import Settings, VisionTransformer
from multihead.nn import EncoderLayer

B, C, PATCH, GRID, D, D_FF, H, LAYERS, CLASSES = 3, 3, 5, 3, 42, 53, 3, 2, 11


def theirs() -> Any:
    config: Any = ViTConfig
    model: Any = ViTForImageClassification(
        config(
            hidden_size=D,
            num_hidden_layers=LAYERS,
            num_attention_heads=H,
            intermediate_size=D_FF,
            image_size=GRID * PATCH,
            patch_size=PATCH,
            num_channels=C,
            num_labels=CLASSES,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )
    model.eval()
    for name, parameter in model.named_parameters():
        mean = 1.0 if "norm" in name and "weight" in name else 0.0
        nn.init.normal_(parameter, mean=mean, std=0.2)
    return model


def ours(model: Any) -> VisionTransformer:
    """Our model with their weights."""
    vit = VisionTransformer(
        Settings(
            image_size=GRID * PATCH,
            channels=C,
            classes=CLASSES,
            patch_size=PATCH,
            d_model=D,
            d_ff=D_FF,
            num_layers=LAYERS,
            num_heads=H,
        )
    ).eval()
    table = {name: weight.detach() for name, weight in model.state_dict().items()}
    places = table["vit.embeddings.position_embeddings"][0]
    with torch.no_grad():
        vit.patches.get_submodule("project").load_state_dict(
            {
                "weight": table["vit.embeddings.patch_embeddings.projection.weight"].flatten(1),
                "bias": table["vit.embeddings.patch_embeddings.projection.bias"],
            }
        )
        assert vit.class_token is not None
        vit.class_token.copy_(table["vit.embeddings.cls_token"][0, 0] + places[0])
        vit.positions.get_parameter("weight").copy_(places[1:])
        for part, name in ((vit.encoder.norm, "vit.layernorm"), (vit.classifier, "classifier")):
            _copy(part, table, name)
        for number, layer in enumerate(vit.encoder.layers):
            assert isinstance(layer, EncoderLayer)
            for name, part in _parts(layer).items():
                _copy(part, table, f"vit.layers.{number}.{name}")
    return vit


def _parts(layer: EncoderLayer) -> dict[str, nn.Module]:
    """Our parts of a layer by Hugging Face's names."""
    attention, feed_forward = layer.self_attention, layer.feed_forward
    return {
        "attention.q_proj": attention.w_q,
        "attention.k_proj": attention.w_k,
        "attention.v_proj": attention.w_v,
        "attention.o_proj": attention.w_o,
        "mlp.fc1": feed_forward.get_submodule("w_1"),
        "mlp.fc2": feed_forward.get_submodule("w_2"),
        "layernorm_before": layer.around_attention.get_submodule("norm"),
        "layernorm_after": layer.around_feed_forward.get_submodule("norm"),
    }


def _copy(part: nn.Module, table: dict[str, torch.Tensor], name: str) -> None:
    part.load_state_dict({"weight": table[f"{name}.weight"], "bias": table[f"{name}.bias"]})


def test_logits_are_hugging_faces() -> None:
    model = theirs()
    pixels = torch.rand(B, C, GRID * PATCH, GRID * PATCH)
    with torch.no_grad():
        wanted = model(pixel_values=2 * pixels - 1).logits  # their processor rescales 0..1 to -1..1
        assert_close(ours(model)(pixels), wanted, atol=1e-4, rtol=0)
        assert wanted.std() > 0.1  # varied enough for a meaningful comparison


@pytest.mark.parametrize("grid", [2, 5])
def test_logits_of_images_of_another_size_are_hugging_faces(grid: int) -> None:
    model = theirs()
    pixels = torch.rand(B, C, grid * PATCH, grid * PATCH)
    with torch.no_grad():
        wanted = model(pixel_values=2 * pixels - 1, interpolate_pos_encoding=True).logits
        assert_close(ours(model)(pixels), wanted, atol=1e-4, rtol=0)
