"""Sentences whose adjective decides what "it" refers to: grammar, held-out combinations, files."""

from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.data import coreference

PARTS = coreference.make(1)


def test_pronoun_and_adjective_agree_with_the_noun_that_the_adjective_fits() -> None:
    for example in (example for part in PARTS.values() for example in part):
        tired = example.adjective in coreference.FITTING_ANIMALS
        noun = example.animal if tired else example.place
        assert example.referent is noun
        ending = coreference.ADJECTIVES[example.adjective][noun.feminine]
        assert (" parce qu'elle était " if noun.feminine else " parce qu'il était ") in example.target
        assert example.target.endswith(f" {ending}.")
        first, second = (
            example.source.index(example.animal.english),
            example.source.index(example.place.english),
        )
        assert (second < first) == example.place_first


def test_the_passive_participle_agrees_with_the_place() -> None:
    cow, (bridge, street) = coreference.ANIMALS[6], (coreference.PLACES[0], coreference.PLACES[6])
    assert [coreference.sentence(cow, place, "tired", pattern=2).target for place in (bridge, street)] == [
        "Le pont n'a pas été traversé par la vache parce qu'elle était trop fatiguée.",
        "La rue n'a pas été traversée par la vache parce qu'elle était trop fatiguée.",
    ]


def test_no_combination_is_in_two_parts_and_no_word_is_new() -> None:
    combinations = {
        name: {(one.animal.english, one.place.english, one.adjective) for one in part}
        for name, part in PARTS.items()
    }
    assert not combinations["train"] & (combinations["valid"] | combinations["test"])
    assert not combinations["valid"] & combinations["test"]
    assert combinations["test"] >= coreference.FAMOUS
    for side in ("source", "target"):
        words = {
            name: {word.lower() for one in part for word in getattr(one, side).split()}
            for name, part in PARTS.items()
        }
        assert words["valid"] | words["test"] <= words["train"]
    sources = [one.source for part in PARTS.values() for one in part]
    assert len(set(sources)) == len(sources)


def test_the_command_writes_the_same_bytes_for_a_seed(tmp_path: Path, capfdbinary: Captured) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        run(capfdbinary, "data", "make", "coreference", "--seed", seed, "--to", tmp_path / name)
    a, b, c = (
        {file.name: file.read_bytes() for file in (tmp_path / name).iterdir()} for name in ("a", "b", "c")
    )
    assert a == b
    assert a != c
    assert len(a) == 6
    assert a["test.en"].startswith(b"The animal didn't cross the street because it was too tired.\n")


@pytest.mark.parametrize("option", [("--count", "9"), ("--lengths", "3-9")])
def test_options_without_effect_are_named(
    option: tuple[str, str], tmp_path: Path, capfdbinary: Captured
) -> None:
    message = fail(capfdbinary, "data", "make", "coreference", *option, "--to", tmp_path / "made")
    assert f"{option[0]} has no effect on coreference" in message
