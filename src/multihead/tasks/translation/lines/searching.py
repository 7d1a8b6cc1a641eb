"""Dispatch of search settings to greedy search, beam search or sampling; batches of source lines."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch

from multihead.batch import Source
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.search.beam import beam
from multihead.search.constraints import Banned, Constraint, NoRepeatedNgram
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer
from multihead.search.phrases import Phrase, phrase_beam
from multihead.search.request import LengthLimits
from multihead.search.sampling import sample
from multihead.search.stepper import Stepper
from multihead.tasks.translation.lines.batching import SourceLine, pad_lines
from multihead.text.tokenizer import Tokenizer


def search(
    model: Stepper[Any],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    settings: SearchSettings,
    *,
    target: Tokenizer,
    capacity: int | None,
    numbers: Sequence[int],
    observer: Observer | None = None,
    phrases: Sequence[Sequence[Phrase]] = (),
) -> list[list[Hypothesis]]:
    """Decode a batch with the method of ``settings``; with phrases, always by beam search.

    Args:
        model: a stepper.
        source: B sentences.
        prefixes: B token sequences: the begin symbol and the forced prefix of the output.
        settings: search settings.
        target: the target tokenizer.
        capacity: most tokens the model can write; None: unlimited.
        numbers: B numbers that identify the sentences; they seed random samples.
        observer: called with the branches of every step.
        phrases: phrases that each output must contain; other outputs are dropped.

    Raises:
        UserError: contradictory settings; scores that are not finite.
    """
    limits = LengthLimits(settings.max_extra, settings.max_length, settings.min_length, capacity)
    constraints: list[Constraint] = [Banned([target.pad_id, target.bos_id])]
    if settings.no_repeat_ngram:
        constraints.append(NoRepeatedNgram(settings.no_repeat_ngram))
    if any(phrases):
        return phrase_beam(
            model,
            source,
            prefixes,
            phrases,
            eos_id=target.eos_id,
            beam_size=settings.beam_size,
            alpha=settings.length_penalty,
            n_best=settings.n_best,
            limits=limits,
            constraints=constraints,
            reserved=target.symbols.values(),
        )
    return _method(settings, numbers)(
        model,
        source,
        prefixes,
        eos_id=target.eos_id,
        alpha=settings.length_penalty,
        limits=limits,
        constraints=constraints,
        observer=observer,
    )


def _method(settings: SearchSettings, numbers: Sequence[int]) -> Callable[..., list[list[Hypothesis]]]:
    """Return the search function with the arguments that only it takes."""
    if settings.method == "beam":
        return partial(beam, beam_size=settings.beam_size, n_best=settings.n_best, stop=settings.stop)
    if settings.method == "sample":
        return partial(
            sample,
            seed=settings.seed,
            numbers=numbers,
            samples=settings.n_best,
            temperature=settings.temperature,
            top_k=settings.top_k,
            top_p=settings.top_p,
        )
    if settings.n_best > 1:
        raise UserError(
            f"greedy search returns one output, not {settings.n_best}",
            remedy="Set search.method to beam or sample, or search.n_best to 1.",
        )
    return greedy


def collate_sources(lines: Sequence[SourceLine], *, pad_id: int, eos_id: int) -> Source:
    """Return the lines as one padded batch, each line followed by the end symbol."""
    ids_BS, lengths_B = pad_lines(lines, pad_id=pad_id, eos_id=eos_id)
    return Source(torch.from_numpy(ids_BS), torch.from_numpy(lengths_B))
