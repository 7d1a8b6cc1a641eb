"""Train with a score function of your own: python examples/layer.py [RUN]; needs examples/train.py's corpus."""

import sys
from pathlib import Path

from torch import Tensor
from torch.nn.functional import normalize

import multihead
from multihead.models.transformer import Settings, Transformer
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.score_functions import ScoreFunction


class CosineScore(ScoreFunction):
    """score(q, k) = 10 cos(q, k) (after Luo et al. 2018)."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:  # noqa: D102
        return 10 * normalize(q_BHQd, dim=-1) @ normalize(k_BHKd, dim=-1).mT


class Model(Transformer):
    """The Transformer with that score in every layer."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        for module in self.modules():
            if isinstance(module, MultiHeadAttention):
                module.score = CosineScore()


if __name__ == "__main__":
    run = Path(sys.argv[1] if len(sys.argv) > 1 else "runs/example-layer")
    sides = {side: run.parent / f"numbers.{end}" for side, end in (("source", "de"), ("target", "en"))}
    small = {"model.d_model": 64, "model.d_ff": 128, "model.num_layers": 1, "model.num_heads": 4}
    multihead.train(run=run, **sides, settings={"model.kind": __file__, "training.steps": 20, **small})
