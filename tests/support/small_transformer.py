"""A small Transformer with random weights everywhere, and its attentions."""

import torch

from multihead.models.transformer import Settings, Transformer
from multihead.nn import MultiHeadAttention

PAD, UNKNOWN, BEGIN, END, VOCABULARY = 0, 1, 2, 3, 41


def model(**given: object) -> Transformer:
    torch.manual_seed(7)
    sizes = {"source_vocab": VOCABULARY, "target_vocab": VOCABULARY, "d_model": 24, "d_ff": 37}
    made = Transformer(Settings.model_validate({**sizes, "num_heads": 4, "num_layers": 2, **given})).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return made


def attentions(model: Transformer) -> list[MultiHeadAttention]:
    return [part for part in model.modules() if isinstance(part, MultiHeadAttention)]
