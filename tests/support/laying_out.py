"""Small models, and their layout by an engine without its proof: tests compare what it would refuse."""

from typing import Any

import torch
from torch import Tensor, nn

from multihead.batch import Source
from multihead.engines.choose import ENGINES
from multihead.models.transformer import Settings, Transformer
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.search.stepper import Stepper


def noisy_transformer(noise: float, **settings: object) -> Transformer:
    """Return a small Transformer with noise on every weight, norms and biases included."""
    sizes = {"source_vocab": 31, "target_vocab": 31, "d_model": 22, "d_ff": 37, "num_heads": 2}
    made = Transformer(Settings.model_validate({**sizes, "num_layers": 2, **settings})).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * noise)
    return made


def lay_out(model: nn.Module, dtype: torch.dtype, device: str = "cpu", *, only: str = "") -> Any:
    """Return the stepper of the first engine that accepts a model, or None; ``only`` names one engine."""
    try:
        spec = describe(model, EncoderDecoderSpec)
    except UndescribedError:
        return None
    with torch.no_grad():
        for engine in ENGINES:
            wanted = engine.device == device and only in ("", engine.name)
            if wanted and engine.declines(spec, dtype) is None:
                return engine.lay_out(model, spec, dtype)
    return None


def walk(
    stepper: Stepper[Any], asked: Source, prefixes: list[list[int]], steps: int, vocabulary: int
) -> list[Tensor]:
    """Return the logits along a search that branches, exchanges rows and drops sentences, always alike."""
    chance = torch.Generator().manual_seed(7)
    seen = []
    with torch.inference_mode():
        state = stepper.start(asked, prefixes)
        tokens, each, sentences = torch.tensor([prefix[-1] for prefix in prefixes]), 1, len(prefixes)
        for step in range(steps):
            logits, state = stepper.step(tokens, state)
            seen.append(logits.float())
            if step in (4, 9) and sentences > 1:
                kept = torch.arange(sentences - 1)
                state, sentences = state.keep(kept), sentences - 1
            parents = torch.randint(each, (sentences, 3), generator=chance)
            rows = (torch.arange(sentences)[:, None] * each + parents).flatten()
            state, each = state.select(rows), 3
            tokens = torch.randint(4, vocabulary, (sentences * 3,), generator=chance)
    return seen
