"""The tokenizers of a run folder: one file for both sides, or one each for source and target."""

from collections.abc import Sequence
from pathlib import Path

from multihead.errors import UserError
from multihead.run import manifest
from multihead.run.origin import fingerprint
from multihead.text.tokenizer import Tokenizer

AGAIN = "Copy the run folder again as a whole."


def contents(tokenizers: Sequence[Tokenizer]) -> dict[str, str]:
    """Return the texts of the files that hold tokenizers, by file name; the same tokenizer is stored once."""
    different = {tokenizer.fingerprint: tokenizer for tokenizer in tokenizers}.values()
    sides = ("",) if len(different) < 2 else (".source", ".target")
    return {
        f"tokenizer{side}.json": tokenizer.to_json()
        for side, tokenizer in zip(sides, different, strict=False)
    }


def names(folder: Path) -> list[str]:
    """Return the file of the joint tokenizer, or those of source and target; none if one is missing."""
    sides = [f"tokenizer.{side}.json" for side in ("source", "target")]
    if (folder / "tokenizer.json").exists():
        return ["tokenizer.json"]
    return sides if all((folder / side).exists() for side in sides) else []


def fingerprints(folder: Path) -> list[str]:
    """Return the fingerprint of each file that :func:`names` returns."""
    return [fingerprint((folder / name).read_text(encoding="utf-8")) for name in names(folder)]


def load(folder: Path, sizes: Sequence[int], prints: Sequence[str]) -> tuple[Tokenizer, Tokenizer]:
    """Return the tokenizers of source and target, the same object if they share a vocabulary.

    Args:
        folder: the run's folder.
        sizes: sizes of the vocabularies that the model was made for.
        prints: fingerprints of the tokenizers that it was trained with; empty for a run of version 0.1.0.

    Raises:
        UserError: a tokenizer is missing, damaged, or not the one that the model was trained with.
    """
    files = names(folder)
    if not files:
        raise UserError("its tokenizer is missing (tokenizer.json)", place=str(folder), remedy=AGAIN)
    loaded = [Tokenizer.load(folder / name) for name in files]
    source, target = loaded[0], loaded[-1]
    actual_sizes = [source.vocab_size, target.vocab_size]
    if actual_sizes[: len(sizes)] != list(sizes):
        fact = f"tokenizers of {actual_sizes} pieces, but the model was made for {list(sizes)}"
        raise UserError(fact, place=str(folder), remedy=AGAIN)
    expected = list(dict.fromkeys(prints))
    if expected and fingerprints(folder) != expected:
        fact = "not the tokenizer that this model was trained with: another run's, or altered"
        raise UserError(fact, place=str(folder / files[0]), remedy=AGAIN)
    for name in files:
        manifest.check(folder, name)
    return source, target
