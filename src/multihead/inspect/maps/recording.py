"""Records attention weights by a second, teacher-forced pass over the output.

The weights come from the modules' ``weights(q, k, allowed)``, the paper's equation: they equal the weights of
``forward``, whichever kernel computed it.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.inspect.maps import calls
from multihead.inspect.maps.calls import Call
from multihead.inspect.maps.records import AttentionRecord, Kind


def record(model: nn.Module, batch: PairBatch, *, keep_inputs: bool = False) -> list[AttentionRecord]:
    """Record the attention of an encoder-decoder on given pairs, teacher-forced.

    The model runs in evaluation mode, in fp32, eagerly and without gradients. Its mode, weights and hooks
    are left unchanged.

    A module may declare its kind in an attribute ``kind``. Otherwise the kind follows from the shapes: the
    batch is padded until source and target differ in width. A module that a recurrent decoder
    calls once per target position gives one record; a module shared by several layers gives one per layer.

    Args:
        model: a model with ``score(batch)``; its attention modules have ``forward(q, k, v, allowed)`` and
            ``weights(q, k, allowed)``, which returns (B, H, Q, K).
        batch: B pairs, on any device.
        keep_inputs: also keep q, k and v.

    Returns:
        The records in the order the modules ran; empty for a model without attention.

    Raises:
        ValueError: a module declares no kind and its shapes match none.
    """
    batch = calls.pad_to_distinct_widths(batch.to(next(model.parameters()).device))
    source, target = batch.source.lengths_B, batch.target_lengths_B
    layers: defaultdict[Kind, int] = defaultdict(int)
    records = []
    for call in _capture(model, lambda plain: plain.score(batch)):
        kind = call.kind or calls.kind_by_shape(call, batch)
        layers[kind] += 1
        queries = source if kind == "encoder self" else target
        keys = target if kind == "decoder self" else source
        records.append(_record(call, kind, layers[kind], queries, keys, keep_inputs))
    return records


def record_sequence(
    model: nn.Module, run: Callable[[Any], object], length: int, *, keep_inputs: bool = False
) -> list[AttentionRecord]:
    """Record the self-attention of a model with a single sequence, such as GPT, BERT or ViT.

    As in :func:`record`, the model runs in evaluation mode, in fp32, eagerly and without gradients.

    Args:
        model: a model whose attention modules are all self-attention.
        run: feeds the sequence, a batch of one, to a model (which may be an fp32 copy).
        length: length of the sequence without padding.
        keep_inputs: also keep q, k and v.

    Returns:
        Records of kind "self", in the order the modules ran.
    """
    lengths = torch.tensor([length])
    return [
        _record(call, "self", layer, lengths, lengths, keep_inputs)
        for layer, call in enumerate(_capture(model, run), start=1)
    ]


def record_cross(model: nn.Module, run: Callable[[Any], object]) -> NDArray[np.float32]:
    """Record every layer's attention to another sequence: its modules named "cross_attention".

    The model runs as in :func:`record`.

    Args:
        model: a model with the same numbers of heads, queries and keys in every cross-attention.
        run: feeds a batch of one to a model.

    Returns:
        Weights (L, H, Q, K), in the order the layers ran.
    """
    crossing = [call for call in _capture(model, run) if "cross_attention" in call.module.split(".")]
    return np.stack([call.weights_BHQK[0].float().cpu().numpy() for call in crossing])


def _capture(model: nn.Module, run: Callable[[Any], object]) -> list[Call]:
    """Run the model and return the calls of its attention modules."""

    def capture(plain: nn.Module) -> list[Call]:
        with calls.capture(plain) as out:
            run(plain)
        return out

    return calls.join_steps(calls.in_its_formats(model, capture))


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
