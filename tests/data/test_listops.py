"""ListOps: values against another evaluation, the rule's shares, files."""

import re
from collections import Counter
from itertools import islice
from pathlib import Path
from statistics import median

import pytest
from command_line import Captured, fail, run

from multihead.data import listops


def evaluated(tokens: list[str]) -> int:
    """Evaluate by rewriting the innermost operation until a digit is left."""
    text = " ".join(tokens)
    while match := re.search(r"\[(MIN|MAX|MED|SM)((?: \d)+) \]", text):
        arguments = [int(digit) for digit in match[2].split()]
        value = {
            "MIN": min(arguments),
            "MAX": max(arguments),
            "MED": int(median(arguments)),
            "SM": sum(arguments) % 10,
        }[match[1]]
        text = text[: match.start()] + str(value) + text[match.end() :]
    return int(text)


def test_values_are_those_of_the_expressions() -> None:
    examples = [*listops.make(150, 20, 200, 7)]
    assert [one.value for one in examples] == [evaluated(list(one.tokens)) for one in examples]
    assert all(20 <= len(one.tokens) <= 200 for one in examples)
    assert len({one.tokens for one in examples}) == 150
    assert set(Counter(one.value for one in examples)) == set(range(10))


@pytest.mark.parametrize(
    ("operation", "arguments", "value"),
    [("[MIN", [4, 2, 9], 2), ("[MAX", [4, 2, 9], 9), ("[MED", [4, 2, 9, 3], 3), ("[SM", [4, 2, 9], 5)],
)
def test_operations_have_their_published_values(operation: str, arguments: list[int], value: int) -> None:
    assert listops.value_of(operation, arguments) == value


def test_trees_follow_the_published_rule() -> None:
    examples = [*listops.make(300, 2, 60, 3)]
    first = Counter(one.tokens[0] for one in examples if len(one.tokens) > 1)
    assert min(first[operation] for operation in listops.OPERATIONS) > 40
    deepest = 0
    for one in examples:
        open_ones = 0
        for token in one.tokens:
            open_ones += token.startswith("[") - (token == "]")
            deepest = max(deepest, open_ones)
    assert deepest < listops.MAX_DEPTH


def test_the_same_seed_makes_the_same_expressions() -> None:
    assert [*listops.make(9, 20, 90, 5)] == [*listops.make(9, 20, 90, 5)]
    assert [*listops.make(9, 20, 90, 5)] != [*listops.make(9, 20, 90, 6)]
    # Recorded, so that a later version makes the same corpus.
    (one,) = islice(listops.make(1, 5, 12, 1), 1)
    assert (" ".join(one.tokens), one.value) == RECORDED


RECORDED = ("[MED [SM 5 3 8 3 ] 5 2 6 ]", 5)


def test_a_symbol_is_a_character() -> None:
    one = listops.ListOpsExample(("[SM", "4", "[MED", "7", "7", "]", "]"), 1)
    assert one.symbols == "S4D77]]"
    assert one.line() == "1\t[SM 4 [MED 7 7 ] ]\tS4D77]]\n"


def test_the_command_writes_three_files(tmp_path: Path, capfdbinary: Captured) -> None:
    said, _ = run(
        capfdbinary, "data", "make", "listops", "--lengths", "10-60", "--count", 100, "--to", tmp_path
    )
    assert said.startswith("100 expressions of ")
    rows = {name: (tmp_path / f"{name}.tsv").read_text().split("\n")[1:-1] for name in listops.SHARES}
    assert {name: len(lines) for name, lines in rows.items()} == {"train": 96, "valid": 2, "test": 2}
    lines = [line for each in rows.values() for line in each]
    assert len(set(lines)) == 100
    for line in lines:
        label, text, symbols = line.split("\t")
        assert int(label) == evaluated(text.split(" "))
        assert len(symbols) == len(text.split(" "))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["lists"], "no generated corpus 'lists'"),
        ([], "no corpus was given"),
        (["shapes", "--lengths", "3-9"], "--lengths is for listops"),
        (["shapes", "--count", "0"], "--count 0. Give a number from 1 to 99,999."),
        (["listops", "--lengths", "9"], "--lengths 9. Give the shortest and the longest"),
        (["listops", "--lengths", "9-3"], "--lengths 9-3"),
        (["listops", "--count", "3"], "--count 3. Give at least 50."),
        (["listops", "--lengths", "1-1", "--count", "60"], "after 10 expressions no other of 1 to 1 tokens"),
        (["listops", "--from", "x"], "--from is for nsmc-documents"),
    ],
)
def test_wrong_options_are_named(
    options: list[str], told: str, tmp_path: Path, capfdbinary: Captured
) -> None:
    to = tmp_path / "made"
    assert told in fail(capfdbinary, "data", "make", *options, "--to", to)
    assert not to.exists()
