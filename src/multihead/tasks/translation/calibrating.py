"""Confidence, lexicon and casing files, which are learned at the end of training."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import nn

from multihead.data.batches import Pairs
from multihead.data.word_pairs import sample_pairs, sample_texts
from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.texts.calibration import fit, raw_scores
from multihead.tasks.translation.texts.carrying import translate_lines
from multihead.tasks.translation.texts.confidence import NAME
from multihead.tasks.translation.validation import Validator
from multihead.text.casing import NAME as CASING
from multihead.text.casing import Casing
from multihead.text.changed_kinds import (
    INTEGERS,
    changed_kinds,
    keeps_integers,
    kept_identifiers,
    translated_words,
)
from multihead.text.lexicon import NAME as LEXICON
from multihead.text.lexicon import Lexicon
from multihead.text.tokenizer import Tokenizer

MOST, LEAST = 500, 50
"""Most validation pairs to translate for a calibration, and the fewest that it needs."""
MOST_CELLS = 2_500_000
"""Most pairs of a source and a target word to learn a lexicon from: they bound time and memory."""
MOST_SENTENCES = 100_000
"""Most sentences to learn casing from."""


def find_changed(parts: Sequence[tuple[Pairs, Tokenizer, Tokenizer]]) -> Mapping[str, Any]:
    """Return what ``text.changed_kinds.not_kept`` reads, for environment.json; empty if there is nothing.

    The keys are ``changed``, kinds of placeholders that translations change; ``kept``, forms of identifiers
    and integers that they keep; and ``translated``, words that they translate, in one string.

    Args:
        parts: the pairs of each direction, with their tokenizers.
    """
    pairs = sample_texts(parts)
    words = translated_words(pairs)
    forms = kept_identifiers(pairs, words)
    facts = {
        "changed": list(changed_kinds(pairs)),
        "kept": [*forms, *([INTEGERS] if keeps_integers(pairs) else [])],
        "translated": " ".join(words) if forms else "",
    }
    return {key: value for key, value in facts.items() if value}


def word_files(parts: Sequence[tuple[Pairs, Tokenizer, Tokenizer]]) -> Mapping[str, str]:
    """Return lexicon.json and casing.json by name, learned from samples of the training pairs.

    Args:
        parts: the pairs of each direction, with their tokenizers.
    """
    sampled = (
        (source.decode(store.source(row)), target.decode(store.target(row)))
        for store, source, target in parts
        for row in sample_pairs(store, MOST_CELLS // len(parts))
    )
    sources = [
        source.decode(store.source(row))
        for store, source, _ in parts
        for row in range(0, len(store), 1 + len(store) * len(parts) // MOST_SENTENCES)
    ]
    return {
        LEXICON: Lexicon.learn(sampled).to_json(),
        CASING: Casing.learn(sources).to_json(),
    }


def calibration_files(
    validators: Sequence[Validator], model: nn.Module, search: SearchSettings
) -> Mapping[str, str]:
    """Return confidence.json of a trained model by name; empty if there are too few validation pairs.

    Args:
        validators: the validators of all directions.
        model: the trained model.
        search: search settings.
    """
    search = search.model_copy(update={"n_best": 1})
    scores: list[tuple[float, float]] = []
    pairs: list[tuple[str, str]] = []
    for validator in validators:
        text = validator.text[: MOST // len(validators)]
        if text:
            translator, sources = validator.translator(model), [source for source, _ in text]
            translations = translate_lines(translator, sources, search, validator.known, validator.changed)
            scores += raw_scores(translations, [reference for _, reference in text])
            pairs += text
    if len(scores) < LEAST:
        return {}
    means, qualities = zip(*scores, strict=True)
    return {NAME: fit(means, qualities, pairs).to_json()}
