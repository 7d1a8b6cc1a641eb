"""Changed layers and outside models in each of several processes that train together."""

import os
from pathlib import Path
from typing import Any, cast

import torch
from backwards import fit, small_transformer, training_in
from torch import Tensor, nn

from multihead import recipe
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.system import parallel
from multihead.workflows.same_start import recipe_of_first


class Wrapped(nn.Module):
    """A network beside which a changed part stands."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner


class Lora(Wrapped):
    """A low-rank update in bf16 (Hu et al. 2022)."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.down = nn.Parameter(torch.randn(24, 3, dtype=torch.bfloat16))
        self.up = nn.Parameter(torch.zeros(3, 24, dtype=torch.bfloat16))

    def forward(self, x: Tensor) -> Tensor:
        added: Tensor = self.inner(x) + x.bfloat16() @ self.down @ self.up
        return added


class Centred(Wrapped):
    """Subtracts a running mean, a buffer."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.mean: Tensor
        self.register_buffer("mean", torch.zeros(24))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        if self.training:
            with torch.no_grad():
                self.mean.lerp_(out.mean((0, 1)), 0.1)
        return out - self.mean


class WiderByRank(Wrapped):
    """Has another width in each process."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.gain = nn.Parameter(torch.ones(24 + parallel.rank()))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x) * self.gain[:24]
        return out


def changed(kind: type[Wrapped]) -> Transformer:
    made = small_transformer()
    (layer,) = made.encoder.layers
    layer.feed_forward = kind(cast(nn.Module, layer.feed_forward))
    return made


def trained(kind: type[Wrapped], **settings: object) -> dict[str, str]:
    """Train for a few updates and return the weights."""
    torch.set_num_threads(1)
    folder = Path(os.environ["TEST_FOLDER"], f"{kind.__name__}-{len(settings)}", str(parallel.rank()))
    given = {"accumulate": 2, "steps": 3, "log_every": 2, **settings}
    training = training_in(folder, changed(kind), settings=given, follows=not parallel.first())
    fit(training)
    return {n: w.view(torch.uint8).numpy().tobytes().hex() for n, w in training.model.state_dict().items()}


def refused(kind: type[Wrapped], **settings: object) -> str:
    try:
        trained(kind, **settings)
    except UserError as error:
        return str(error)
    return ""


def named() -> str:
    """Return the name of the model of a recipe that the first process alone reads."""
    path = os.environ["TEST_MODEL"]
    return recipe_of_first(lambda: recipe.from_toml("", overrides={"model.kind": path})).kind


def all_of_them() -> dict[str, Any]:
    return {
        "lora": trained(Lora),
        "lora, sharded optimiser": trained(Lora, shard_optimizer=True),
        "centred": refused(Centred),
        "centred, divided weights": refused(Centred, shard_weights=True),
        "wider": refused(WiderByRank),
        "named": named(),
    }
