"""From the settings of a search to the search."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from multihead.batch import Source
from multihead.errors import UserError
from multihead.search.beam import beam
from multihead.search.constraints import Banned, Constraint, no_repeated_ngram
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Observer
from multihead.search.request import Limits
from multihead.search.sampling import sample
from multihead.search.stepper import Stepper
from multihead.settings import SearchSettings
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
) -> list[list[Hypothesis]]:
    """Search as the settings say.

    Args:
        model: one that search can step.
        source: B sentences.
        prefixes: B sequences, each the begin symbol and what the output is forced to begin with.
        settings: how.
        target: the target vocabulary.
        capacity: the most tokens that the model can write; None: any number.
        numbers: B numbers that tell sentences apart, which random samples follow from.
        observer: is shown every step.

    Raises:
        UserError: settings that contradict each other; scores that are no numbers.
    """
    limits = Limits(settings.max_extra, settings.max_length, settings.min_length, capacity)
    constraints: list[Constraint] = [Banned([target.pad_id, target.bos_id])]
    if settings.no_repeat_ngram:
        constraints.append(no_repeated_ngram(settings.no_repeat_ngram))
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
    """The search, given what it alone asks for."""
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
            f"greedy search finds one output, not {settings.n_best}",
            remedy="Choose search.method beam or sample, or search.n_best 1.",
        )
    return greedy
