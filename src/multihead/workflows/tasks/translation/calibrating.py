"""Calibration of a translator's confidence on its validation pairs, at the end of training."""

from collections.abc import Mapping, Sequence

from torch import nn

from multihead.generation.confidence import NAME, fit, piece_rates, raw_scores
from multihead.settings import SearchSettings
from multihead.workflows.tasks.translation.validation import Validator

MOST, LEAST = 500, 50
"""Validation pairs that are translated, and those that a calibration needs."""


def calibration_files(
    validators: Sequence[Validator], model: nn.Module, search: SearchSettings
) -> Mapping[str, str]:
    """Return confidence.json of a trained model by name; nothing where there are too few validation pairs.

    Args:
        validators: of all directions.
        model: the trained model.
        search: settings of the translations.
    """
    search = search.model_copy(update={"n_best": 1})
    scores: list[tuple[float, float]] = []
    rates: list[float] = []
    for validator in validators:
        text = validator.text[: MOST // len(validators)]
        if text:
            translator, sources = validator.translator(model), [source for source, _ in text]
            found = translator.translate(sources, search)
            rates += piece_rates(translator.source_tokenizer, sources)
            scores += raw_scores(found, [reference for _, reference in text])
    if len(scores) < LEAST:
        return {}
    means, qualities = zip(*scores, strict=True)
    return {NAME: fit(means, qualities, rates).to_json()}
