"""The tokenizers of both sides: given, read from files, or trained on a sample of the corpus."""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from pathlib import Path

from multihead.errors import UserError
from multihead.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

Pairs = Iterable[tuple[str, str]]
Tokenizers = tuple[Tokenizer, Tokenizer]
"""Source and target; the same object twice for a joint vocabulary."""

JOINT, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


def from_files(settings: TokenizerSettings, given: Tokenizers | None) -> list[Tokenizer | None]:
    """Return the tokenizers that need no training: [joint], or [source, target]; None where one is missing.

    Raises:
        UserError: a file is missing or no tokenizer, or two are named for a joint vocabulary.
    """
    if given is not None:
        return list(given[:1] if given[0] is given[1] else given)
    if settings.joint and settings.target_file:
        fact = "a second vocabulary is named, though both sides share one"
        remedy = "Leave it out, or set tokenizer.joint to false."
        raise UserError(fact, place="tokenizer.target_file", remedy=remedy)
    files = [settings.file] if settings.joint else [settings.file, settings.target_file]
    return [Tokenizer.load(file) if file else None for file in files]


def trained(
    found: list[Tokenizer | None],
    corpus: Callable[[], Pairs],
    total: int,
    settings: TokenizerSettings,
    *,
    lowercase: bool,
) -> Tokenizers:
    """Return both sides' tokenizers; train those that are still missing.

    Args:
        found: what ``from_files`` returned.
        corpus: begins to read the training pairs from the start.
        total: how many they are.
        settings: kind and size, and how many pairs to train on.
        lowercase: whether the tokenizers lower-case.

    Raises:
        UserError: the vocabulary wanted does not go with the corpus, or the two not with each other.
    """
    sides = [_both] if len(found) == 1 else [_source, _target]
    ready = []
    for tokenizer, side in zip(found, sides, strict=True):
        if tokenizer is None:
            sample = side(spread(corpus(), total, settings.sample_pairs))
            tokenizer = train(sample, settings, lowercase)
            _check_size(tokenizer, settings)
        ready.append(tokenizer.lowercased() if lowercase else tokenizer)
    _check_symbols(ready[0], ready[-1])
    return ready[0], ready[-1]


def _check_size(tokenizer: Tokenizer, settings: TokenizerSettings) -> None:
    """Refuse a vocabulary that ended smaller than was asked for; words and characters are limited anyway."""
    if settings.kind not in ("chars", "words", "spaced") and tokenizer.vocab_size < settings.vocab_size:
        fact = f"{settings.vocab_size:,} pieces are more than the corpus supports"
        remedy = f"Set it to at most {tokenizer.vocab_size}."
        raise UserError(fact, place="tokenizer.vocab_size", remedy=remedy)


def _check_symbols(source: Tokenizer, target: Tokenizer) -> None:
    """Refuse vocabularies whose control symbols differ: a batch has one number for each symbol."""
    numbers = [(t.pad_id, t.bos_id, t.eos_id) for t in (source, target)]
    if numbers[0] != numbers[1]:
        fact = "padding, begin and end symbol have other numbers in the source than in the target"
        remedy = "Use two vocabularies of one make, or one for both sides."
        raise UserError(f"{fact}: {numbers[0]}, {numbers[1]}", place="tokenizer", remedy=remedy)


def spread(pairs: Pairs, total: int, most: int) -> Iterator[tuple[str, str]]:
    """Yield at most ``most`` of the pairs, at even distances over all ``total``."""
    wanted = min(most, total)
    for index, pair in enumerate(pairs):
        if index * wanted // total != (index + 1) * wanted // total:
            yield pair


def _both(pairs: Pairs) -> Iterator[str]:
    return chain.from_iterable(pairs)


def _source(pairs: Pairs) -> Iterator[str]:
    return (source for source, _ in pairs)


def _target(pairs: Pairs) -> Iterator[str]:
    return (target for _, target in pairs)


def save(tokenizers: Tokenizers, folder: Path) -> None:
    """Write one file for a joint vocabulary, or one for each side."""
    source, target = tokenizers
    if source is target:
        source.save(folder / JOINT)
    else:
        source.save(folder / SOURCE)
        target.save(folder / TARGET)


def load(folder: Path) -> Tokenizers:
    """Return what ``save`` wrote."""
    if (folder / JOINT).exists():
        joint = Tokenizer.load(folder / JOINT)
        return joint, joint
    return Tokenizer.load(folder / SOURCE), Tokenizer.load(folder / TARGET)
