"""Random numbers are a function of the seed and the place of use."""

import subprocess
import sys

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from multihead.system import randomness

keys = st.lists(st.integers(-5, 5) | st.text(max_size=3), max_size=3).map(tuple)


def drawn(seed: int, *at: int | str) -> list[float]:
    with randomness.at(seed, *at):
        return torch.rand(3).tolist()


@given(st.integers(0, 9), keys, st.integers(0, 9), keys)
def test_random_numbers_depend_on_seed_and_keys_alone(
    seed: int, one: tuple[int | str, ...], other_seed: int, other: tuple[int | str, ...]
) -> None:
    torch.rand(7)
    assert (drawn(seed, *one) == drawn(other_seed, *other)) is ((seed, one) == (other_seed, other))


def test_a_number_and_its_text_are_different_keys() -> None:
    assert randomness.derive(1, 2) != randomness.derive(1, "2")
    assert randomness.derive(1, "a", "b") != randomness.derive(1, "a\0b")
    assert randomness.derive(12) != randomness.derive(1, 2)


def test_the_generator_is_restored_after_the_block() -> None:
    torch.manual_seed(3)
    expected = torch.rand(5)
    torch.manual_seed(3)
    drawn(1, "elsewhere")
    with pytest.raises(KeyError), randomness.at(1):
        raise KeyError
    assert torch.equal(torch.rand(5), expected)


def test_seeds_are_the_same_in_every_process() -> None:
    program = "from multihead.system import randomness; print(randomness.derive(11, 'update', 13))"
    there = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(there.stdout) == randomness.derive(11, "update", 13)
    assert 0 <= int(there.stdout) < 2**63
