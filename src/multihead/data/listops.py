"""ListOps: nested operations on digits, made by the published rule (Nangia and Bowman 2018, sec. 3).

``[MAX 2 9 [MIN 4 7 ] 0 ]`` is 9. A node is a digit with probability 3/4, else an operation with 2 to
``MAX_ARGUMENTS`` arguments: minimum, maximum, median (rounded down) or sum modulo 10. Lengths are counted in
tokens, without the parentheses of binary trees. Long Range Arena (Tay et al. 2021) keeps lengths of 500 to
2,000 with at most 10 arguments and a depth of at most 10.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from multihead.errors import UserError
from multihead.system import randomness

MAX_ARGUMENTS, MAX_DEPTH = 10, 10
OPERATION_SHARE = 0.25
"""Probability that a node is an operation (the authors' code: VALUE_P)."""
OPERATIONS = {"[MIN": "m", "[MAX": "M", "[MED": "D", "[SM": "S"}
"""Each operation's token, and the letter for it in the column ``symbols``."""
SHARES = {"train": 0.96, "valid": 0.02, "test": 0.02}
"""Each file, and its share of the examples; Long Range Arena: 96,000, 2,000, 2,000."""
HEADER = "label\ttext\tsymbols\n"
MOST_TRIES = 100_000
"""Trees that may be drawn in a row without one of the right length."""


@dataclass(frozen=True, slots=True)
class ListOpsExample:
    """An expression and its value, 0 to 9."""

    tokens: tuple[str, ...]
    value: int

    @property
    def symbols(self) -> str:
        """The expression with one character a token, for a tokenizer of characters."""
        return "".join(OPERATIONS.get(token, token) for token in self.tokens)

    def line(self) -> str:
        """A line of the files: label, text, symbols."""
        return f"{self.value}\t{' '.join(self.tokens)}\t{self.symbols}\n"


def value_of(operation: str, arguments: list[int]) -> int:
    """Return the value of an operation, 0 to 9."""
    if operation == "[MIN":
        return min(arguments)
    if operation == "[MAX":
        return max(arguments)
    return int(median(arguments)) if operation == "[MED" else sum(arguments) % 10


def make(count: int, shortest: int, longest: int, seed: int) -> Iterator[ListOpsExample]:
    """Yield different expressions of ``shortest`` to ``longest`` tokens.

    Raises:
        UserError: hardly any tree has such a length.
    """
    numbers = random.Random(randomness.derive(seed, "listops"))
    seen: set[tuple[str, ...]] = set()
    tries = 0
    while len(seen) < count:
        tokens: list[str] = []
        value = _tree(numbers, tokens, longest, 1)
        tries += 1
        if value is not None and shortest <= len(tokens) and tuple(tokens) not in seen:
            seen.add(tuple(tokens))
            tries = 0
            yield ListOpsExample(tuple(tokens), value)
        elif tries == MOST_TRIES:
            fact = f"after {len(seen):,} expressions no other of {shortest} to {longest} tokens was found"
            raise UserError(fact, place="--lengths", remedy="Give a wider range, or a smaller --count.")


def _tree(numbers: random.Random, tokens: list[str], longest: int, depth: int) -> int | None:
    """Append a tree's tokens and return its value; None as soon as it is too long."""
    if len(tokens) >= longest:
        return None
    if depth >= MAX_DEPTH or numbers.random() > OPERATION_SHARE:
        value = _below(numbers, 10)
        tokens.append(str(value))
        return value
    operation = [*OPERATIONS][_below(numbers, len(OPERATIONS))]
    tokens.append(operation)
    arguments = []
    for _ in range(2 + _below(numbers, MAX_ARGUMENTS - 1)):
        found = _tree(numbers, tokens, longest, depth + 1)
        if found is None:
            return None
        arguments.append(found)
    if len(tokens) >= longest:
        return None
    tokens.append("]")
    return value_of(operation, arguments)


def _below(numbers: random.Random, n: int) -> int:
    # random() gives the same numbers in every version of Python, randrange() does not.
    return int(numbers.random() * n)


def files(examples: Sequence[ListOpsExample]) -> dict[str, str]:
    """Return the content of train.tsv, valid.tsv and test.tsv, with columns label, text and symbols."""
    sizes = {name: max(1, round(share * len(examples))) for name, share in SHARES.items()}
    sizes["train"] = len(examples) - sizes["valid"] - sizes["test"]
    found, start = {}, 0
    for name, size in sizes.items():
        found[f"{name}.tsv"] = HEADER + "".join(example.line() for example in examples[start : start + size])
        start += size
    return found
