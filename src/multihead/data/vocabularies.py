"""The tokenizers of both sides: passed in, loaded from files, or trained on a sample of the corpus."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from multihead.errors import UserError
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import reserve
from multihead.text.symbols import choose_symbols
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

Pairs = Iterable[tuple[str, str]]
Tokenizers = tuple[Tokenizer, Tokenizer]
"""(source, target); the same object twice if the vocabulary is joint."""

JOINT, SOURCE, TARGET = "tokenizer.json", "source.tokenizer.json", "target.tokenizer.json"


def from_files(settings: TokenizerSettings, tokenizers: Tokenizers | None) -> list[Tokenizer | None]:
    """Return the available tokenizers: [joint] or [source, target], with None for each to be trained.

    Raises:
        UserError: a file is missing, not a tokenizer, or cannot reserve the requested symbols; or a joint
            vocabulary has a second file.
    """
    if tokenizers is not None:
        return list(tokenizers[:1] if tokenizers[0] is tokenizers[1] else tokenizers)
    if settings.joint and settings.target_file:
        fact = "a second tokenizer is named, but the vocabulary is joint"
        remedy = "Omit it, or set tokenizer.joint to false."
        raise UserError(fact, place="tokenizer.target_file", remedy=remedy)
    files = [settings.file] if settings.joint else [settings.file, settings.target_file]
    reserved = choose_symbols(settings.symbols)
    return [reserve(Tokenizer.load(file), reserved) if file else None for file in files]


def train_tokenizers(
    loaded: list[Tokenizer | None],
    corpus: Callable[[], Pairs],
    total: int,
    settings: TokenizerSettings,
    *,
    lowercase: bool,
) -> Tokenizers:
    """Return the tokenizers of both sides, training those that are missing.

    Args:
        loaded: the result of ``from_files``.
        corpus: returns a new iterator over the training pairs.
        total: number of training pairs.
        settings: kind and size of the vocabulary, and size of the training sample.
        lowercase: make the tokenizers lower-case their input.

    Raises:
        UserError: see ``text.training.train``; the special tokens of the two vocabularies have different ids.
    """
    joint = len(loaded) == 1
    ready = []
    for side, tokenizer in enumerate(loaded):
        if tokenizer is None:
            side_settings = settings.target if side else settings
            pairs = evenly_spaced(corpus(), total, side_settings.sample_size)
            sample = (text for pair in pairs for text in (pair if joint else pair[side : side + 1]))
            tokenizer = train(sample, side_settings, lowercase)
        ready.append(tokenizer.with_lowercasing() if lowercase else tokenizer)
    _check_special_ids(ready[0], ready[-1])
    return ready[0], ready[-1]


def _check_special_ids(source: Tokenizer, target: Tokenizer) -> None:
    """Refuse vocabularies whose special tokens have different ids, because a batch has one id for each."""
    numbers = [(t.pad_id, t.bos_id, t.eos_id) for t in (source, target)]
    if numbers[0] != numbers[1]:
        fact = "the ids of padding, begin and end token differ between source and target"
        remedy = "Use two tokenizers from the same tool, or a joint one."
        raise UserError(f"{fact}: {numbers[0]}, {numbers[1]}", place="tokenizer", remedy=remedy)


def evenly_spaced(pairs: Pairs, total: int, most: int) -> Iterator[tuple[str, str]]:
    """Yield at most ``most`` of the ``total`` pairs, evenly spaced."""
    count = min(most, total)
    for index, pair in enumerate(pairs):
        if index * count // total != (index + 1) * count // total:
            yield pair


def save(tokenizers: Tokenizers, folder: Path) -> None:
    """Write one file for a joint vocabulary, else one for each side."""
    source, target = tokenizers
    if source is target:
        source.save(folder / JOINT)
    else:
        source.save(folder / SOURCE)
        target.save(folder / TARGET)


def load(folder: Path) -> Tokenizers:
    """Load the tokenizers that ``save`` wrote."""
    if (folder / JOINT).exists():
        joint = Tokenizer.load(folder / JOINT)
        return joint, joint
    return Tokenizer.load(folder / SOURCE), Tokenizer.load(folder / TARGET)
