"""Comparison of a model's methods on a small example: training, scoring and search use one distribution.

The example's sentences are also computed one by one: commands and the server make batches as it suits them.

A step of search reads keys and values from a cache, so it may run other code than ``forward``. A layer whose
``forward`` alone is changed, or that has a hook, is then trained and scored with the change and searched
without it. Each method by itself is plausible; only a comparison shows it.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

import torch
from torch import Tensor, nn

from multihead.batch import PairBatch, Source, TextBatch

LOG = logging.getLogger(__name__)

_warned: WeakSet[nn.Module] = WeakSet()

SOURCE_LENGTHS, TARGET_LENGTHS = (11, 7), (9, 13)
"""Lengths of the example's sentences, of which one side of each pair is padded."""
TOLERANCE, ROUNDED = 1e-3, 5e-2
"""Tolerances of log-probabilities, relative to the largest; the second if weights have less than 32 bits."""


def example(source_vocabulary: int, target_vocabulary: int, begin: int, limit: int | None) -> PairBatch:
    """Return two pairs of made-up sentences.

    Args:
        source_vocabulary: number of source tokens.
        target_vocabulary: number of target tokens.
        begin: the target's begin symbol.
        limit: longest sequence of the model; None: no limit.
    """
    ids_BS, lengths_B = _ids(SOURCE_LENGTHS, source_vocabulary, limit)
    ids_BT, target_lengths_B = _ids(TARGET_LENGTHS, target_vocabulary, limit)
    target_BT = torch.cat([torch.full((len(ids_BT), 1), begin), ids_BT], dim=1)
    return PairBatch(Source(ids_BS, lengths_B), target_BT, target_lengths_B, int(target_lengths_B.sum()))


def warn(model: nn.Module, differs: str | None) -> None:
    """Log how a model's methods differ, once for each model: training searches at every validation."""
    if differs and model not in _warned:
        _warned.add(model)
        LOG.warning("%s.", differs[0].upper() + differs[1:])


def inconsistency(model: nn.Module, pairs: PairBatch, device: torch.device) -> str | None:
    """Return how a translator's ``loss``, ``score`` and steps differ on an example; None: they agree.

    A model without ``score`` is not compared, nor one that fails: its use reports the error.

    Args:
        model: on its device; its mode is left unchanged.
        pairs: see :func:`example`.
        device: the model's.
    """
    untyped: Any = model
    if not all(callable(getattr(model, name, None)) for name in ("score", "loss", "start", "step")):
        return None
    pairs = pairs.to(device)
    try:
        with plainly(model, device):
            scored_BT, again_BT = untyped.score(pairs).float(), untyped.score(pairs).float()
            alone = [(row, untyped.score(_row(pairs, row))[0].float()) for row in range(len(scored_BT))]
            walked_BT = _walk(untyped, pairs.source, pairs.target_BT)
            nll = untyped.loss(pairs, 0).get("nll")
    except Exception:  # whatever the model's code raises
        return None
    real_BT = torch.arange(walked_BT.shape[1], device=device) < pairs.target_lengths_B[:, None]
    by_time = float((scored_BT - again_BT)[real_BT].abs().max())
    by_batch = max(float((scored_BT[row, : len(one_T)] - one_T).abs().max()) for row, one_T in alone)
    differences = {"the steps of search": float((walked_BT - scored_BT)[real_BT].abs().max())}
    if nll is not None:
        differences["`loss`"] = abs(float(nll.sum + scored_BT.sum())) / pairs.tokens
    allowed = tolerance(model, float(scored_BT.abs().max()))
    return _report(by_time, differences, "`score`", by_batch, allowed)


def text_inconsistency(model: nn.Module, vocabulary: int, context: int, device: torch.device) -> str | None:
    """Return how a language model's ``loss`` and steps differ on an example; None: they agree.

    Args:
        model: on its device; its mode is left unchanged.
        vocabulary: number of tokens.
        context: its context length.
        device: the model's.
    """
    untyped: Any = model
    ids_BT = _ids((TARGET_LENGTHS[1],) * 2, vocabulary, context + 1)[0].to(device)
    nothing = Source(ids_BT[:, :0], ids_BT.new_zeros(len(ids_BT)))
    try:
        with plainly(model, device):
            walked_BT, nll = _walk(untyped, nothing, ids_BT), untyped.loss(TextBatch(ids_BT), 0)["loss"].sum
            again = untyped.loss(TextBatch(ids_BT), 0)["loss"].sum
            alone = sum(untyped.loss(TextBatch(ids_T[None]), 0)["loss"].sum for ids_T in ids_BT)
    except Exception:  # whatever the model's code raises
        return None
    by_time, by_batch = (float((nll - other).abs()) / walked_BT.numel() for other in (again, alone))
    difference = abs(float(nll + walked_BT.sum())) / walked_BT.numel()
    allowed = tolerance(model, float(walked_BT.abs().max()))
    return _report(by_time, {"the steps of search": difference}, "`loss`", by_batch, allowed)


def drawing_inconsistency(model: nn.Module, device: torch.device) -> str | None:
    """Return how a DALL-E's decoder computes the codes of an image, at once and step by step; None: alike.

    Two rows of codes are walked, and a few more.

    Args:
        model: on its device; its mode is left unchanged.
        device: the model's.
    """
    untyped: Any = model
    try:
        s, decoder = untyped.settings, untyped.decoder
        text_BT, lengths_B = _ids(SOURCE_LENGTHS, s.vocab_size, s.text_length)
        codes_Bn = _ids((s.grid**2,) * 2, s.codes, None)[0].to(device)
        text_BT, lengths_B = text_BT.to(device), lengths_B.to(device)
        walked = min(s.grid**2, 2 * s.grid + 3)
        with plainly(model, device):
            once, again = (
                _take(decoder(text_BT, lengths_B, codes_Bn)[1], codes_Bn)[:, :walked] for _ in range(2)
            )
            alone = [
                _take(
                    decoder(text_BT[row, None, :length], lengths_B[row, None], codes_Bn[row, None])[1],
                    codes_Bn[row, None],
                )[0, :walked]
                for row, length in enumerate(lengths_B.tolist())
            ]
            logits_BK, caches = decoder.begin(text_BT, lengths_B, codes_Bn[:, :0])
            steps = [logits_BK]
            for code_B in codes_Bn.T[: walked - 1]:
                steps.append(decoder.step(code_B, caches))
            stepped = _take(torch.stack(steps, dim=1), codes_Bn[:, :walked])
    except Exception:  # whatever the model's code raises
        return None
    by_batch = max(float((once[row] - logits).abs().max()) for row, logits in enumerate(alone))
    differences = {"the steps of drawing": float((stepped - once).abs().max())}
    by_time = float((once - again).abs().max())
    return _report(by_time, differences, "`loss`", by_batch, tolerance(model, float(once.abs().max())))


@contextmanager
def plainly(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Evaluation mode, without autocast and gradients, inside the block."""
    modes = [(part, part.training) for part in model.modules()]
    model.eval()
    try:
        with torch.inference_mode(), torch.autocast(device.type, enabled=False):
            yield
    finally:
        for part, training in modes:
            part.training = training


def _report(
    by_time: float, by_method: Mapping[str, float], other: str, by_batch: float, allowed: float
) -> str | None:
    """Return the first difference of log-probabilities a token that is larger than allowed."""
    what = "sentence", "a token's log-probability"
    for name, difference in by_method.items():
        if difference > allowed >= by_time:
            return (
                f"training and search compute different probabilities: {name} and {other} differ by "
                f"{difference:.2g} in {what[1]}: a changed forward, or a hook, is not part of both"
            )
    return by_rows(by_time, by_batch, allowed, *what)


def by_rows(by_time: float, by_batch: float, allowed: float, row: str, output: str) -> str | None:
    """Return that outputs depend on the time, or on the batch, if they differ by more than is allowed."""
    if by_time > allowed:
        return (
            f"the same {row} computed twice differs by {by_time:.2g} in {output}: a layer draws random "
            "numbers, or changes itself, in evaluation mode too"
        )
    if by_batch > allowed:
        return (
            f"a {row} alone and in a batch differs by {by_batch:.2g} in {output}: a layer reads padding, or "
            f"the batch's other {row}s, so that outputs depend on the batch"
        )
    return None


def tolerance(model: nn.Module, largest: float) -> float:
    """Return the difference of two outputs that rounding may cause, of which the largest is given."""
    rounded = any(
        parameter.is_floating_point() and parameter.element_size() < 4 for parameter in model.parameters()
    )
    return (ROUNDED if rounded else TOLERANCE) * max(1.0, largest)


def _row(pairs: PairBatch, row: int) -> PairBatch:
    """Return one pair as a batch without padding."""
    source, targets = int(pairs.source.lengths_B[row]), int(pairs.target_lengths_B[row])
    rows = slice(row, row + 1)
    return PairBatch(
        Source(pairs.source.ids_BS[rows, :source], pairs.source.lengths_B[rows]),
        pairs.target_BT[rows, : targets + 1],
        pairs.target_lengths_B[rows],
        targets,
    )


def _walk(model: Any, source: Source, ids_BT: Tensor) -> Tensor:
    """Log-probability of each token but the first by the model's own steps, (B, T - 1)."""
    state = model.start(source, ids_BT[:, :1].tolist())
    steps = []
    for tokens_B, next_B in zip(ids_BT.T[:-1], ids_BT.T[1:], strict=True):
        logits_BV, state = model.step(tokens_B, state)
        steps.append(logits_BV.float().log_softmax(-1).gather(1, next_B[:, None]))
    return torch.cat(steps, dim=1)


def _take(logits_BnK: Tensor, codes_Bn: Tensor) -> Tensor:
    """Log-probability of each code, (B, n)."""
    return logits_BnK.float().log_softmax(-1).gather(2, codes_Bn[..., None])[..., 0]


def _ids(lengths: tuple[int, ...], vocabulary: int, limit: int | None) -> tuple[Tensor, Tensor]:
    """Ids that depend on the row and on the position, and the rows' lengths."""
    lengths_B = torch.tensor([length if limit is None else min(length, limit) for length in lengths])
    places, reserved = torch.arange(int(lengths_B.max())), min(4, vocabulary - 1)
    rows = [(places * (row + 2) + places // 3 + row) % (vocabulary - reserved) for row in range(len(lengths))]
    return torch.stack(rows) + reserved, lengths_B
