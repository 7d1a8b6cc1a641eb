"""Names that both sides of a pair share, and new ones in their places, from which a model learns to copy."""

import random
from collections.abc import Iterable, Sequence

import regex

NAME = regex.compile(r"(?<![\p{L}\p{N}_.@:~+/-])\p{Lu}\p{Ll}{2,40}(?![\p{L}\p{N}_]|[.@:~+/-][\p{L}\p{N}])")
"""A word with a capital at its start and nowhere else, not a part of an identifier."""


def shared_names(source: str, target: str) -> list[str]:
    """Return the names that each side has exactly once, in the order of the source."""
    names = NAME.findall(target)
    return [
        name
        for name in NAME.findall(source)
        if source.count(name) == target.count(name) == 1 and name in names
    ]


def learn_names(pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the different names that both sides of some pair share."""
    return list(dict.fromkeys(name for pair in pairs for name in shared_names(*pair)))


def make_up(names: Sequence[str], chance: random.Random) -> str:
    """Return a new name: the beginning of one of these and the end of another."""
    begin, end = chance.choice(names), chance.choice(names)
    return begin[: chance.randint(1, len(begin))] + end[chance.randint(1, len(end) - 1) :]


def rename(source: str, target: str, names: Sequence[str], chance: random.Random) -> tuple[str, str]:
    """Return a pair with each name that both sides share replaced by another, or by a made-up one."""
    for name in shared_names(source, target):
        new = chance.choice(names) if chance.random() < 0.5 else make_up(names, chance)
        source, target = source.replace(name, new), target.replace(name, new)
    return source, target
