"""Recording attention: the chosen output is run once more, and the weights are recomputed as it passes.

Inspection knows only the attention modules. Each has a method ``weights(q, k, allowed)``, the paper's
equation; whatever kernel its ``forward`` picks, these are the weights that it used.
"""

import copy
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multihead.attention_maps import calls
from multihead.attention_maps.calls import Call, Kind
from multihead.batch import PairBatch


@dataclass(frozen=True, slots=True)
class AttentionRecord:
    """What one attention module did with a batch. Axes as in ``multihead.batch``.

    Row i of the target side is the query from which output token i (``target_out``) was predicted; as a
    key, target position i is the token read there (``target_in``).

    Attributes:
        module: its path in the model, "decoder.layers.0.cross_attention.score".
        kind: who looks at whom.
        layer: counted from 1 among the modules of its kind, in the order in which they ran.
        weights_BHQK: rows sum to 1 over the allowed keys; as long as the longest sentence, no longer.
        allowed_BHQK: which keys a query was allowed to look at; None: all of them.
        query_lengths_B: true lengths, special symbols included.
        key_lengths_B: true lengths, special symbols included.
        q_BHQd: the queries, if they were to be kept.
        k_BHKd: the keys, if they were to be kept.
        v_BHKd: the values, if they were to be kept.
    """

    module: str
    kind: Kind
    layer: int
    weights_BHQK: NDArray[np.float32]
    allowed_BHQK: NDArray[np.bool_] | None
    query_lengths_B: NDArray[np.int64]
    key_lengths_B: NDArray[np.int64]
    q_BHQd: NDArray[np.float32] | None = None
    k_BHKd: NDArray[np.float32] | None = None
    v_BHKd: NDArray[np.float32] | None = None

    @property
    def num_heads(self) -> int:
        """H."""
        return int(self.weights_BHQK.shape[1])

    def sentence(self, index: int) -> NDArray[np.float32]:
        """The weights of one sentence, without any padding, (H, Q, K)."""
        queries, keys = self.query_lengths_B[index], self.key_lengths_B[index]
        return self.weights_BHQK[index, :, :queries, :keys]


def record(model: nn.Module, batch: PairBatch, *, keep_inputs: bool = False) -> list[AttentionRecord]:
    """Run given pairs through a model, teacher-forced, and record every attention module on the way.

    Evaluation mode, no gradients, fp32 and eager, whatever the model is used in otherwise; it is left as
    it was found.

    A module may say what it is by an attribute ``kind``. Otherwise its shapes tell: the batch is padded so
    that source and target are of different widths. A module that is called once a target position (by a
    recurrent decoder) gives one record; a module that several layers share gives one a layer.

    Args:
        model: has ``score(batch)``; its attention modules have ``forward(q, k, v, allowed)`` and
            ``weights(q, k, allowed)``, which returns (B, H, Q, K).
        batch: B pairs, on any device.
        keep_inputs: keep q, k and v too.

    Returns:
        The records in the order in which the modules ran; none for a model without attention.

    Raises:
        ValueError: the shapes do not tell the kind of a module that does not name it.
    """
    batch = calls.told_apart(batch.to(next(model.parameters()).device))
    source, target = batch.source.lengths_B, batch.target_lengths_B
    layers: defaultdict[Kind, int] = defaultdict(int)
    records = []
    for call in _heard(model, lambda read: read.score(batch)):
        kind = call.kind or calls.kind_by_shape(call, batch)
        layers[kind] += 1
        queries = source if kind == "encoder self" else target
        keys = target if kind == "decoder self" else source
        records.append(_record(call, kind, layers[kind], queries, keys, keep_inputs))
    return records


def record_sequence(
    model: nn.Module, run: Callable[[Any], object], length: int, *, keep_inputs: bool = False
) -> list[AttentionRecord]:
    """Run one sequence through a model that reads nothing else, and record every attention module on the way.

    As :func:`record`: evaluation mode, no gradients, fp32, eager.

    Args:
        model: its attention modules look from the sequence at itself.
        run: gives the model, which may be a copy in fp32, the sequence: a batch of one.
        length: places of the sequence, padding after it not counted.
        keep_inputs: keep q, k and v too.

    Returns:
        Records of kind "self", in the order in which the modules ran.
    """
    lengths = torch.tensor([length])
    return [
        _record(call, "self", layer, lengths, lengths, keep_inputs)
        for layer, call in enumerate(_heard(model, run), start=1)
    ]


def _heard(model: nn.Module, run: Callable[[Any], object]) -> list[Call]:
    """What the attention modules were called with while the model ran."""
    if any(p.is_floating_point() and p.dtype != torch.float32 for p in model.parameters()):
        model = copy.deepcopy(model).float()
    device = next(model.parameters()).device
    with ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        stack.enter_context(torch.autocast(device.type, enabled=False))
        stack.enter_context(torch.compiler.set_stance("force_eager"))
        stack.enter_context(calls.evaluating(model))
        made = stack.enter_context(calls.listening(model))
        run(model)
    return calls.wholes(made)


def _record(
    call: Call, kind: Kind, layer: int, queries: Tensor, keys: Tensor, keep_inputs: bool
) -> AttentionRecord:
    Q, K = int(queries.max()), int(keys.max())
    allowed = call.allowed_BHQK
    return AttentionRecord(
        module=call.module,
        kind=kind,
        layer=layer,
        weights_BHQK=call.weights_BHQK[:, :, :Q, :K].float().numpy(force=True),
        allowed_BHQK=None if allowed is None else allowed[:, :, :Q, :K].numpy(force=True),
        query_lengths_B=queries.numpy(force=True),
        key_lengths_B=keys.numpy(force=True),
        q_BHQd=call.q_BHQd[:, :, :Q].float().numpy(force=True) if keep_inputs else None,
        k_BHKd=call.k_BHKd[:, :, :K].float().numpy(force=True) if keep_inputs else None,
        v_BHKd=call.v_BHKd[:, :, :K].float().numpy(force=True) if keep_inputs else None,
    )
