"""Weight averaging: the mean of the last checkpoints, and an exponential moving average."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

Weights = Mapping[str, Tensor]


def mean(checkpoints: Iterable[Weights]) -> dict[str, Tensor]:
    """Return the element-wise mean of the weights, summed in float64 (Vaswani et al. 2017, sec. 6.1)."""
    total: dict[str, Tensor] = {}
    dtypes: dict[str, torch.dtype] = {}
    count = 0
    for count, weights in enumerate(checkpoints, start=1):  # noqa: B007
        for name, weight in weights.items():
            dtypes[name] = weight.dtype
            total[name] = total[name] + weight if name in total else weight.double()
    return {name: (value / count).to(dtypes[name]) for name, value in total.items()}


class MovingAverage:
    """Exponential moving average of the weights (Polyak and Juditsky 1992).

    ema = decay * ema + (1 - decay) * weights after every update. Early on, the decay is
    (1 + step) / (10 + step), so that the random initialisation is forgotten soon.
    """

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.decay = decay
        self.weights = {name: weight.detach().clone() for name, weight in model.state_dict().items()}
        # The mean of two infinities is not a number.
        self._copied = {
            name
            for name, buffer in model.named_buffers(remove_duplicate=False)
            if not buffer.is_floating_point() or bool(buffer.isinf().any())
        }

    @torch.no_grad()
    def update(self, model: nn.Module, step: int) -> None:
        """Add the weights after update ``step``."""
        decay = min(self.decay, (1 + step) / (10 + step))
        averages, weights = [], []
        for name, weight in model.state_dict().items():
            if weight.is_floating_point() and name not in self._copied:
                averages.append(self.weights[name])
                # Of a weight that is divided among processes, the average of this one's part.
                weights.append(weight.to_local() if hasattr(weight, "to_local") else weight)
            else:
                self.weights[name].copy_(weight)
        torch._foreach_lerp_(averages, weights, 1 - decay)
