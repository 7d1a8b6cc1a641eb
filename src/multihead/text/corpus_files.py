"""The files of a corpus in a folder or an archive, chosen by their names: ``train.de`` and ``train.en``."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from multihead.errors import UserError
from multihead.system import archives
from multihead.system.addresses import is_address, list_folder, local_copy
from multihead.text.languages import is_known, primary
from multihead.text.lines import without_compression

NO_LANGUAGES = ("txt", "srt", "vtt", "src", "tgt", "trg", "ref", "hyp", "in", "out", "tok", "bpe", "ids")
"""Endings that name a format or a side (``train.src``, ``train.tgt``), though some are codes of languages."""
_PLAIN = (".txt", ".sgm", ".sgml", ".srt", ".vtt")
"""Endings after a language's, as in ``train.de.txt``."""
_IGNORED = re.compile(r"(?i)(^|.*/)([._]|cache-|(readme|licen[cs]e|copying)\b).*|.*\.(md|html?|pdf|json)")
_CODE = re.compile(r"[A-Za-z]{2,3}([-_][A-Za-z]{2,4})?")
_SHARD = re.compile(r"[-_.]?\d{5}-of-\d{5}")
_SIDE = re.compile(r"(?i)(?<![a-z])(src|ref|source|target|reference)(?![a-z])")
_SPLITS = {
    "train": ("train", "training"),
    "valid": ("valid", "val", "validation", "dev", "devel"),
    "test": ("test", "tests", "devtest", "eval", "evaluation", "newstest", "newsdev"),
}
_MOST_FILES = 100_000
_LISTED = 4
"""Files that an error lists."""

Sides = tuple[list[str], list[str]]
"""Source files, and target files; none for files that hold both sides."""


class CorpusFiles(NamedTuple):
    """Training and validation files, the latter none if they are not there or not clear."""

    train: Sides
    valid: Sides = ([], [])


def list_files(folder: str, name: str) -> Sequence[str] | None:
    """Return the files in a folder or an archive, as paths below it; None for any other file.

    Raises:
        UserError: see ``archives.members``, ``addresses.list_folder``.
    """
    path = Path(folder) / name
    if is_address(name):
        if not archives.ends_as_archive(name):
            return list_folder(name)
        path = local_copy(name)
    elif path.is_dir():
        files = (file for file in path.rglob("*") if file.is_file())
        return sorted(file.relative_to(path).as_posix() for file in islice(files, _MOST_FILES))
    return archives.members(path) if archives.is_archive(path) else None


def choose_files(
    names: Iterable[str], languages: tuple[str, str], place: str, holds_both: Callable[[str], bool]
) -> CorpusFiles:
    """Choose the files of a corpus by their names.

    Args:
        names: all files, as paths below a folder or an archive.
        languages: codes of source and target, "" for one that is not named.
        place: the folder or the archive.
        holds_both: whether a file holds both sides, by its name.

    Raises:
        UserError: no file fits, several do, or the languages leave the choice open.
    """
    names = [name for name in names if not _IGNORED.fullmatch(name)]
    groups: dict[str, dict[str, str]] = defaultdict(dict)
    whole: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names, key=lambda name: (len(name), name), reverse=True):
        if holds_both(name):
            whole[_SHARD.sub("", name)].append(name)
        elif code := language_ending(name):
            key = without_compression(name)
            groups[_SIDE.sub("", key[: key.rindex(code)]).rstrip("._-")][code] = name  # the shortest is kept
    groups = {key: group for key, group in groups.items() if len(group) > 1}
    if groups:
        sets = _in_languages(groups, languages, place)
    else:
        if not whole and len(names) == 1:
            whole[names[0]] = names
        sets = {key: (sorted(files), []) for key, files in whole.items()}
        named = {key: sides for key, sides in sets.items() if _names_both(key, languages)}
        sets = named or sets
    if not sets:
        listed = ", ".join(names[:_LISTED]) or "nothing"
        fact = f"no two files of two languages, as train.de and train.en (it holds {listed})"
        raise UserError(fact, place=place, remedy="Name the files: --src FILE --tgt FILE.")
    valid = [sides for key, sides in sets.items() if _split(key) == "valid"]
    return CorpusFiles(_training(sets, place), valid[0] if len(valid) == 1 else ([], []))


def language_ending(name: str) -> str:
    """Return the code of a language at the end of a file's name, or "".

    >>> [language_ending(name) for name in ("a/train.de.gz", "train.zh_CN", "part-en.txt", "train.src")]
    ['de', 'zh_CN', 'en', '']
    """
    stem = without_compression(PurePosixPath(name).name)
    plain = next((ending for ending in _PLAIN if stem.lower().endswith(ending)), "")
    stem = stem[: len(stem) - len(plain)]
    code = stem.rpartition(".")[2]
    if plain and not _CODE.fullmatch(code):
        code = re.split(r"[._-]", stem)[-1]
    listed = _CODE.fullmatch(code) and ("." in stem or plain) and code.lower() not in NO_LANGUAGES
    return code if listed and is_known(code) else ""


def _in_languages(
    groups: dict[str, dict[str, str]], languages: tuple[str, str], place: str
) -> dict[str, Sides]:
    """Return the files of both languages in each group that has them."""
    sets: dict[str, Sides] = {}
    is_open = not any(languages)
    for key, group in groups.items():
        sides = [[code for code in group if primary(code) == primary(want)] for want in languages if want]
        if len(sides) == 1 and len(group) == 2 and len(sides[0]) == 1:
            other = [code for code in group if code not in sides[0]]
            sides = [sides[0], other] if languages[0] else [other, sides[0]]
        if len(sides) == 2 and all(sides) and sides[0] != sides[1]:
            source, target = (
                want if want in side else side[0] for side, want in zip(sides, languages, strict=True)
            )
            sets[key] = ([group[source]], [group[target]])
        is_open = is_open or (len(sides) == 1 and len(sides[0]) == 1)
    if is_open or not sets:
        codes = sorted({code for group in groups.values() for code in group})
        listed = f"it holds {', '.join(codes[:20])}"
        example = codes if len(codes) == 2 else ("de", "en")
        remedy = f"Name both: --source-language {example[0]} --target-language {example[1]}."
        if all(languages):
            raise UserError(f"no pair of {' and '.join(languages)} ({listed})", place=place, remedy=remedy)
        raise UserError(f"from which language to which is not named ({listed})", place=place, remedy=remedy)
    return sets


def _names_both(key: str, languages: tuple[str, str]) -> bool:
    """Return whether a path names both languages, as ``de-en/train.parquet`` does."""
    codes = {primary(token) for token in re.split(r"[^A-Za-z]+", key) if 2 <= len(token) <= 3}
    return all(languages) and {primary(code) for code in languages} <= codes


def _split(key: str) -> str:
    """Return "train", "valid" or "test" if a path names one, else ""; the file's own name comes first."""
    for part in reversed(PurePosixPath(key).parts):
        tokens = re.split(r"[^a-z]+", part.lower())
        for split, words in _SPLITS.items():
            if not set(words).isdisjoint(tokens):
                return split
    return ""


def _training(sets: dict[str, Sides], place: str) -> Sides:
    """Return the training files; raise ``UserError`` if several fit."""
    splits = {key: _split(key) for key in sets}
    fitting = (
        [key for key, split in splits.items() if split == "train"]
        or [key for key, split in splits.items() if not split]
        or list(sets)
    )
    depth = min(key.count("/") for key in fitting)
    highest = [key for key in fitting if key.count("/") == depth]
    if len(highest) > 1:
        files = [" and ".join(name for side in sets[key] for name in side[:1]) for key in sorted(highest)]
        listed = "; ".join(files[:_LISTED]) + ("; ..." if len(files) > _LISTED else "")
        source, target = (side[0] if side else "" for side in sets[sorted(highest)[0]])
        remedy = f"Name them, as --src {place}/{source}" + (f" --tgt {place}/{target}." if target else ".")
        raise UserError(f"several files fit: {listed}", place=place, remedy=remedy)
    return sets[highest[0]]
