"""The proof of an engine: a small example, computed by the engine and by the model's own steps.

A description cannot reveal that its class was edited in place. So an engine that accepts a description is
compared with the model's own steps, in float32, before it is used: step by step, and in a whole beam search
if it runs one. An edit that matters only beyond the example's length, such as a wide window, is not found.
"""

from collections.abc import Iterator
from typing import Any, cast

import torch
from torch import Tensor, nn

from multihead.batch import Source
from multihead.nn.description import EncoderDecoderSpec
from multihead.search.beam import beam
from multihead.search.request import BeamRequest, LengthLimits
from multihead.search.stepper import Stepper

LENGTHS = (41, 23)
"""Source lengths of the example's sentences; the second is padded."""
PREFIXES = (19, 31)
"""Target lengths before the first step; the first is aligned on the right."""
PARENTS = ((0, 0, 1, 1), (1, 0, 3, 2))
"""Rows that the beam selects after each step but the last, so that caches are reordered."""
LONGEST = 7
"""Tokens of the example's outputs in a whole search."""
TOLERANCE = 1e-3
"""Tolerance of log-probabilities, relative to their range; rounding in float32 causes about 1e-6."""


def disagreement(
    model: nn.Module, engine: Stepper[Any], device: torch.device, spec: EncoderDecoderSpec
) -> str | None:
    """Return the difference between an engine and the model's own steps on an example; None: they agree.

    Args:
        model: has steps of its own.
        engine: laid out in float32.
        device: the device of both.
        spec: the model's description.
    """
    stepper, training = cast(Stepper[Any], model), model.training
    example = _Example(spec, device)
    model.eval()
    try:
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            expected, actual = example.log_probabilities(stepper), example.log_probabilities(engine)
            if not bool(expected.isfinite().all()):
                return None  # diverged weights: search reports them with the step, by any engine
            differences = [*_relative(expected, actual), *example.search_differences(stepper, engine)]
    except (ValueError, RuntimeError, IndexError) as error:
        return f"its proof ends in an error: {error}"
    finally:
        model.train(training)
    if max(differences) <= TOLERANCE:
        return None
    fact = f"its log-probabilities differ from the model's own steps by {max(differences):.1e} of their range"
    return f"{fact}: the layers compute something that their description does not mention"


def _relative(expected: Tensor, actual: Tensor) -> Iterator[float]:
    spread = (expected.amax() - expected.amin()).clamp(min=1.0)
    yield float((expected - actual).abs().amax() / spread)


class _Example:
    """Two sentences of different lengths, and prefixes of their translations."""

    def __init__(self, spec: EncoderDecoderSpec, device: torch.device) -> None:
        self._device, self._tokens = device, spec.smallest_vocabulary
        learned = [part.weight for part in (spec.source_positions, spec.target_positions)]
        most = min((len(weight) for weight in learned if weight is not None), default=max(LENGTHS))
        self._longest = max(1, min(LONGEST, most - 1))
        lengths = [max(1, min(length, most)) for length in LENGTHS]
        # The steps need as many positions again, and the search one for the end symbol.
        self._prefixes = [
            self._ids(row, max(1, min(length, most - len(PARENTS) - 1))).tolist()
            for row, length in enumerate(PREFIXES)
        ]
        ids_BS = torch.stack([self._ids(row, max(lengths)) for row in range(len(lengths))])
        self._source = Source(ids_BS, torch.tensor(lengths, device=device))

    def log_probabilities(self, stepper: Stepper[Any]) -> Tensor:
        """Log-probabilities of the next token in all steps, (rows of all steps, V)."""
        tokens_R = torch.tensor([prefix[-1] for prefix in self._prefixes], device=self._device)
        logits_RV, state = stepper.step(tokens_R, stepper.start(self._source, self._prefixes))
        steps = [logits_RV.float().log_softmax(1)]
        for step, parents in enumerate(PARENTS):
            state = state.select(torch.tensor(parents, device=self._device))
            logits_RV, state = stepper.step(self._ids(step, len(parents)), state)
            steps.append(logits_RV.float().log_softmax(1))
        return torch.cat(steps)

    def search_differences(self, own: Stepper[Any], engine: Stepper[Any]) -> Iterator[float]:
        """Yield how far the best outputs of a search that the engine runs as a whole are from the beam's."""
        if not hasattr(engine, "beam"):
            return
        longest_B = torch.full((len(LENGTHS),), self._longest, device=self._device)
        request = BeamRequest(0, 1 % self._tokens, (), 2, 0.6, 1, "exact")
        whole = engine.beam(self._source, longest_B, request)
        if whole is None:
            return
        limits = LengthLimits(max_length=self._longest)
        expected = beam(own, self._source, [[0], [0]], eos_id=request.eos_id, beam_size=2, limits=limits)
        for ours, theirs in zip(expected, whole, strict=True):
            difference = abs(ours[0].score - theirs[0].score)
            yield difference / max(1.0, abs(ours[0].score))

    def _ids(self, row: int, length: int) -> Tensor:
        """Ids that depend on the row and on the position."""
        places = torch.arange(length, device=self._device)
        return (places * (row + 2) + places // 3 + row) % self._tokens
