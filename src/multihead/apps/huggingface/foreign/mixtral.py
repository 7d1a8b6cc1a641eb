"""Import of Mixtral: Mistral's shape, with experts."""

from collections.abc import Iterator, Mapping

from torch import Tensor

from multihead.apps.huggingface.foreign import llama, mistral
from multihead.apps.huggingface.foreign._folder import Folder
from multihead.apps.huggingface.foreign._parts import layers, without
from multihead.apps.huggingface.foreign.llama import FILES, missing, tokenizers

__all__ = ["FILES", "KIND", "missing", "settings", "tokenizers", "weights"]

KIND = "mixtral"
EXPERT = {"w_g": "w1", "w_1": "w3", "w_2": "w2"}
"""An expert's matrices in files, by our names."""


def settings(folder: Folder) -> dict[str, object]:
    """Return the settings that follow from config.json; raises as ``llama.settings``."""
    config = folder.config
    return {
        **mistral.settings(folder),
        "model.experts": config["num_local_experts"],
        "model.experts_per_token": config["num_experts_per_tok"],
        "model.balance": config.get("router_aux_loss_coef") or 0.0,
    }


def weights(theirs: Mapping[str, Tensor], folder: Folder) -> dict[str, Tensor]:
    """Return our weights by name; theirs have a matrix per expert (in files) or one for all (in memory)."""
    unprefixed = without("model.", theirs)
    ours = llama.weights(theirs, folder, parts={k: v for k, v in llama.PARTS.items() if "mlp" not in v})
    for i in layers(unprefixed, "layers."):
        at = f"stack.layers.{i}.feed_forward"
        stacked = f"layers.{i}.mlp.gate.weight" in unprefixed
        block = f"layers.{i}." + ("mlp" if stacked else "block_sparse_moe")
        ours[f"{at}.router.weight"] = unprefixed[f"{block}.gate.weight"]
        experts = _stack(unprefixed, block) if stacked else _single(unprefixed, block, folder)
        for number, name, weight in experts:
            ours[f"{at}.experts.{number}.{name}.weight"] = weight
    return ours


def _single(weights: Mapping[str, Tensor], block: str, folder: Folder) -> Iterator[tuple[int, str, Tensor]]:
    for number in range(folder.config["num_local_experts"]):
        for our, their in EXPERT.items():
            yield number, our, weights[f"{block}.experts.{number}.{their}.weight"]


def _stack(weights: Mapping[str, Tensor], block: str) -> Iterator[tuple[int, str, Tensor]]:
    both, down = weights[f"{block}.experts.gate_up_proj"], weights[f"{block}.experts.down_proj"]
    for number, (gate_up, w_2) in enumerate(zip(both, down, strict=True)):
        w_g, w_1 = gate_up.chunk(2)
        yield from ((number, "w_g", w_g), (number, "w_1", w_1), (number, "w_2", w_2))
