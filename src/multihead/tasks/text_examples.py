"""Examples of texts that fit into memory: read or generated, held out, and their tokenizer."""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from multihead.data.hashes import file_sha256
from multihead.data.held_out_texts import held_out_texts
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system import randomness
from multihead.system.progress import OnProgress
from multihead.tasks.masked.mask_tokens import learn, with_mask
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.text.bpe_dropout import BPEDropout
from multihead.text.tokenizer import Tokenizer

T = TypeVar("T")
FILES = {"dir", "tests", "generated_tests", "files", "valid_files"}
"""Settings that stand for contents of files, or that training does not depend on."""


def pretrained_tokenizer(init_run: Run | None, task: str) -> Tokenizer | None:
    """Return the tokenizer of the run to start from: one of a task, or a masked language model.

    Raises:
        UserError: a run of another task.
    """
    if init_run is None:
        return None
    return (init_run if init_run.task == task else init_run.fit_for("masked")).tokenizers()[0]


def existing_tokenizer(
    settings: TokenizerSettings, init_tokenizer: Tokenizer | None, *, lowercase: bool
) -> Tokenizer | None:
    """Return a trained model's tokenizer, or that of a file, with [MASK]; None if one is to be trained."""
    tokenizer = init_tokenizer
    if tokenizer is None and settings.file:
        tokenizer = with_mask(Tokenizer.load(settings.file))
    return tokenizer.with_lowercasing() if tokenizer is not None and lowercase else tokenizer


def prepare_tokenizer(
    texts: Iterable[str],
    settings: TokenizerSettings,
    init_tokenizer: Tokenizer | None,
    *,
    lowercase: bool,
    progress: OnProgress,
) -> Tokenizer:
    """Return an existing tokenizer (see :func:`existing_tokenizer`), or train one on the first texts."""
    tokenizer = existing_tokenizer(settings, init_tokenizer, lowercase=lowercase)
    if tokenizer is None:
        progress("training the tokenizer", 0, None)
        tokenizer = learn(islice(texts, settings.sample_size), settings, lowercase=lowercase)
    return tokenizer


def bpe_dropout(recipe: Recipe[Settings], tokenizer: Tokenizer) -> BPEDropout | None:
    """Return the BPE-dropout of training texts; None: they are always encoded alike.

    Raises:
        UserError: the tokenizer is not BPE.
    """
    rate, seed = recipe.tokenizer.dropout, randomness.derive(recipe.training.seed, "texts")
    return BPEDropout(tokenizer, rate, seed) if rate else None


def training_and_validation(
    data: Any,
    read: Callable[[Any, Sequence[str]], Iterator[T]],
    generate: Callable[[Any, int, int], Iterator[T]],
    text: Callable[[T], str],
) -> tuple[list[T], list[T]]:
    """Return the training and the validation examples.

    Args:
        data: settings that name the files, or the examples to generate.
        read: ``read(data, names)`` yields the examples of files.
        generate: ``generate(data, count, seed)`` yields generated examples.
        text: the text of an example; examples of equal texts are held out together.

    Raises:
        UserError: no files are named; see ``read``.
    """
    if data.generate:
        count = max(1, round(data.valid_fraction * data.generated))
        seeds = [randomness.derive(data.seed, name) for name in ("training", "validation")]
        return list(generate(data, data.generated, seeds[0])), list(generate(data, count, seeds[1]))
    if not data.files:
        raise UserError("no files are named", place="data", remedy="Give --data.files FILE.")
    examples = list(read(data, data.files))
    if data.valid_files:
        return examples, list(read(data, data.valid_files))
    is_held_out = held_out_texts(map(text, examples), data.valid_fraction, data.seed)
    sides: tuple[list[T], list[T]] = [], []
    for example in examples:
        sides[is_held_out(text(example))].append(example)
    return sides


def fingerprint(version: int, data: Any, tokenizer: Tokenizer, unused: Iterable[str] = ()) -> str:
    """Return a hash of the files, of all settings but the unused ones, and of the tokenizer."""
    files = [file_sha256(Path(data.dir) / name) for name in (*data.files, *data.valid_files)]
    settings = data.model_dump(mode="json", exclude=FILES | set(unused))
    basis = (version, files, len(data.files), sorted(settings.items()), tokenizer.fingerprint)
    return hashlib.sha256(repr(basis).encode()).hexdigest()
