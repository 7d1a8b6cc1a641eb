"""Train a Transformer whose layers have a score function of your own: python examples/layer.py.

`multihead train --model.kind FILE` trains a model of your own too (docs/how-to/extending.md).
"""

import torch
from torch import Tensor
from torch.nn.functional import normalize

from multihead.data.batches import collate
from multihead.models.transformer import Settings, Transformer
from multihead.nn.losses import objective
from multihead.nn.multi_head import MultiHeadAttention
from multihead.nn.score_functions import ScoreFunction


class CosineScore(ScoreFunction):
    """score(q, k) = 10 cos(q, k)."""

    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:  # noqa: D102
        return 10 * normalize(q_BHQd, dim=-1) @ normalize(k_BHKd, dim=-1).mT


torch.manual_seed(1)
model = Transformer(
    Settings(source_vocab=13, target_vocab=13, d_model=32, d_ff=64, num_layers=1, num_heads=4)
)
for module in model.modules():
    if isinstance(module, MultiHeadAttention):
        module.score = CosineScore()

optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
for step in range(101):
    sources = torch.randint(3, 13, (31, 7)).tolist()
    batch = collate(sources, [row[::-1] for row in sources], pad_id=0, bos_id=1, eos_id=2)
    loss = objective(model.loss(batch, step), batch.counts)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(f"step {step}: loss {loss.item():.2f}")
