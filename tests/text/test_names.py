"""Names that both sides share, and new ones in their places."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.text.names import NAME, learn_names, make_up, rename, shared_names

NAMES = ["Epiphany", "Flock", "Österreich", "Lua", "Ångström"]


@pytest.mark.parametrize(
    ("source", "target", "names"),
    [
        ("Epiphany and Flock", "Flock und Epiphany", ["Epiphany", "Flock"]),
        ("the Flock of Flock", "Flock", []),  # twice on one side
        ("Flock", "Flocks", []),
        ("libFlock Flock.h KDE GTK3 Lua-5", "libFlock Flock.h KDE GTK3 Lua-5", []),  # identifiers
        ("A b", "A b", []),
        ("«Österreich»", "(Österreich)", ["Österreich"]),
        ("파이썬 Python을", "Python", []),
        ("", "", []),
    ],
)
def test_names_stand_once_on_each_side(source: str, target: str, names: list[str]) -> None:
    assert shared_names(source, target) == names


def test_a_corpus_has_each_name_once() -> None:
    pairs = [("Lua is small", "Lua ist klein"), ("use Lua", "nimm Lua"), ("Flock", "Flock"), ("Mr", "Herr")]
    assert learn_names(pairs) == ["Lua", "Flock"]


@given(st.integers(0, 2**31))
def test_made_up_names_are_names(seed: int) -> None:
    name = make_up(NAMES, random.Random(seed))
    assert name[0].isupper()
    assert any(other.startswith(name[0]) for other in NAMES)
    assert NAME.fullmatch(name) or len(name) < 3


@given(st.integers(0, 2**31))
def test_both_sides_get_the_same_name_and_all_else_stays(seed: int) -> None:
    source, target = rename("Use Lua here", "Hier nimmt man Lua.", NAMES, random.Random(seed))
    new = source.removeprefix("Use ").removesuffix(" here")
    assert source == f"Use {new} here"
    assert target == f"Hier nimmt man {new}."
