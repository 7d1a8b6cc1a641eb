"""The proof of an engine: a small example, computed by the engine and by the model's own steps.

A description cannot reveal that its class was edited in place. So an engine that accepts a description is
compared with the model's own steps, in float32, before it is used.
"""

from typing import Any, cast

import torch
from torch import Tensor, nn

from multihead.batch import Source
from multihead.search.stepper import Stepper

LENGTHS = (3, 2)
"""Source lengths of the example's sentences; the second is padded."""
PARENTS = ((0, 0, 1, 1), (1, 0, 3, 2))
"""Rows that the beam selects after each step but the last, so that caches are reordered."""
TOLERANCE = 1e-3
"""Tolerance of log-probabilities, relative to their range; rounding in float32 causes about 1e-6."""


def disagreement(model: nn.Module, engine: Stepper[Any], device: torch.device, *, tokens: int) -> str | None:
    """Return the difference between an engine and the model's own steps on an example; None: they agree.

    Args:
        model: has steps of its own.
        engine: laid out in float32.
        device: the device of both.
        tokens: size of the smaller vocabulary.
    """
    own, training = cast(Stepper[Any], model), model.training
    model.eval()
    try:
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            expected = _log_probabilities(own, device, tokens)
            actual = _log_probabilities(engine, device, tokens)
    except (ValueError, RuntimeError, IndexError) as error:
        return f"its proof ends in an error: {error}"
    finally:
        model.train(training)
    if not bool(expected.isfinite().all()):
        return None  # diverged weights: search reports them with the step, by any engine
    spread = (expected.amax() - expected.amin()).clamp(min=1.0)
    error_size = float((expected - actual).abs().amax() / spread)
    if error_size <= TOLERANCE:
        return None
    fact = f"its log-probabilities differ from the model's own steps by {error_size:.1e} of their range"
    return f"{fact}: the layers compute something that their description does not mention"


def _log_probabilities(stepper: Stepper[Any], device: torch.device, tokens: int) -> Tensor:
    """Log-probabilities of the next token in all steps, (rows of all steps, V)."""

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
