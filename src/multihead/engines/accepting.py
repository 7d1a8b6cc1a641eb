"""Properties of a model that engines do not support."""

from multihead.description import EncoderDecoderSpec


def declines_window(spec: EncoderDecoderSpec) -> str | None:
    """Return how self-attention is restricted, for engines without windows; None: it is not."""
    if spec.window:
        return f"self-attention is restricted to a window of {spec.window}"
    if any(attention.score.window is not None for attention in spec.attentions):
        return "self-attention is restricted to a window"
    return None


def declines_attention(spec: EncoderDecoderSpec) -> str | None:
    """Return the property of a model's attention that no engine supports; None: all are supported."""
    for attention in spec.attentions:
        if attention.score.kind != "dot":
            return f"the score function is {attention.score.kind}, not a dot product"
        if attention.rotary is not None:
            return "positions are rotary"
    return None
