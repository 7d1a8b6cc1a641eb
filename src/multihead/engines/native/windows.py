"""Windows of restricted self-attention, as the native kernels compute them (Vaswani et al. 2017, sec. 4).

An encoder's position sees as many positions on either side; a decoder's, its own and as many before it. A
hypothesis's slots are in the order of its positions, so a decoder's window is the last slots that it sees.
"""

import numpy as np

from multihead.description import EncoderDecoderSpec, WindowSpec
from multihead.system.native_library import Array

WIDEST = 2**30
"""Reaches are cut to this; no text is as long."""
ALL = -1
"""The kernels' reach without a window."""


def declines(spec: EncoderDecoderSpec) -> str | None:
    """Return why the kernels cannot compute a model's windows; None: they can, or there are none."""
    if any(layer.cross_attention.score.window is not None for layer in spec.decoder.layers):
        return "attention over the source is restricted to a window"
    expected = spec.window // 2 if spec.window else ALL
    for layers, causal in ((spec.encoder.layers, False), (spec.decoder.layers, True)):
        for layer in layers:
            attention = getattr(layer, "self_attention", None)
            if attention is None:
                continue
            window = attention.score.window
            if window is not None and not _plain(window, causal):
                return "self-attention is restricted to a window with gaps, global positions or uneven sides"
            if reach(window) != expected:
                return f"a layer's window is not the model's, {spec.window}"
    return None


def reach(window: WindowSpec | None) -> int:
    """The positions before its own that a position sees; ``ALL`` without a window."""
    return ALL if window is None else min(window.before, WIDEST)


def within(bias_NKS: Array | None, shape: tuple[int, int, int], before: int) -> Array:
    """Hide, for each hypothesis, all slots that it sees but the last ``before + 1``.

    Args:
        bias_NKS: 0 where a hypothesis sees a slot, else -infinity; None: all are seen.
        shape: (N, K, slots).
        before: positions before its own that a position sees.
    """
    bias = np.zeros(shape, np.float32) if bias_NKS is None else bias_NKS
    seen = bias == 0
    later = np.cumsum(seen[..., ::-1], axis=2)[..., ::-1]  # slots seen from this one on
    return np.where(seen & (later <= before + 1), np.float32(0), np.float32(-np.inf))


def _plain(window: WindowSpec, causal: bool) -> bool:
    sides = window.after == (0 if causal else window.before)
    return window.before >= 0 and sides and window.dilation == 1 and not window.places
