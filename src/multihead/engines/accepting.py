"""Properties of a model that no engine supports."""

from multihead.description import EncoderDecoderSpec


def declines_attention(spec: EncoderDecoderSpec) -> str | None:
    """Return the property of a model's attention that no engine supports; None: all are supported."""
    if spec.window:
        return f"self-attention is restricted to a window of {spec.window}"
    for attention in spec.attentions:
        if attention.score.window is not None:
            return "self-attention is restricted to a window"
        if attention.score.kind != "dot":
            return f"the score function is {attention.score.kind}, not a dot product"
        if attention.rotary is not None:
            return "positions are rotary"
    return None
