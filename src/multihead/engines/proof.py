"""The proof of an engine: a small example, computed by the engine and by the model's own steps.

A description cannot say what a class does that was edited in place. So an engine that accepts a description
is compared with the model's own steps, in float32, before it is used.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn

from multihead.batch import Source
from multihead.search.stepper import Stepper

LENGTHS = (3, 2)
"""Source tokens of the example's sentences: one of them is padded."""
PARENTS = ((0, 0, 1, 1), (1, 0, 3, 2))
"""After each step but the last: the rows that the beam keeps, so that caches are reordered."""
TOLERANCE = 1e-3
"""Of log-probabilities, relative to their spread; float32 alone is off by some millionths."""


def disagreement(model: nn.Module, engine: Stepper[Any], device: torch.device, *, tokens: int) -> str | None:
    """Return how an engine differs from a model's own steps on an example; None: it does not.

    Args:
        model: has steps of its own.
        engine: laid out in float32.
        device: where both are.
        tokens: size of the smaller vocabulary.
    """
    own, training = cast(Stepper[Any], model), model.training
    model.eval()
    try:
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            wanted = _log_probabilities(own, device, tokens)
            found = _log_probabilities(engine, device, tokens)
    except (ValueError, RuntimeError, IndexError) as error:
        return f"the example that proves it ends in an error: {error}"
    finally:
        model.train(training)
    if not bool(wanted.isfinite().all()):
        return None  # diverged weights: search reports them with the step, whichever engine runs
    spread = (wanted.amax() - wanted.amin()).clamp(min=1.0)
    off = float((wanted - found).abs().amax() / spread)
    if off <= TOLERANCE:
        return None
    fact = f"its log-probabilities differ from the model's own steps by {off:.1e} of their spread"
    return f"{fact}: the layers compute something that their description does not say"


def _log_probabilities(stepper: Stepper[Any], device: torch.device, tokens: int) -> Tensor:
    """Log-probabilities of every next token in all steps, (rows of all steps, V)."""

    def numbers(*values: int) -> Tensor:
        return torch.tensor(values, device=device) % tokens

    ids_BS = torch.stack([numbers(*range(row, row + max(LENGTHS))) for row in range(len(LENGTHS))])
    state = stepper.start(Source(ids_BS, torch.tensor(LENGTHS, device=device)), [[0], [0, 1 % tokens]])
    logits_RV, state = stepper.step(numbers(0, 1), state)
    found = [logits_RV.float().log_softmax(1)]
    for step, parents in enumerate(PARENTS):
        state = state.select(torch.tensor(parents, device=device))
        logits_RV, state = stepper.step(numbers(step, 2, 3, step + 1), state)
        found.append(logits_RV.float().log_softmax(1))
    return torch.cat(found)
