"""Decisions by the data: a table of tiny made-up corpora, what must be chosen, and the reason."""

import random
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from made_up_pairs import (
    Pair,
    acted,
    acted_in_words,
    corpus,
    from_hebrew,
    inflected,
    inflected_by_tags,
    into_chinese,
    into_cyrillic,
    pronounced,
    query_pair,
    read_aloud,
    romanised,
    sequence,
    tagged,
    translated,
    transliterated,
    word,
    words,
)

from multihead import recipe as recipes
from multihead.data.vocabularies import train_tokenizers
from multihead.tasks.translation.suggest import CorpusProfile, RequestedSettings, profile, suggest
from multihead.text.cleaning import rejection_reason
from multihead.text.pieces import normalizer

TABLE = [
    (pronounced, ("chars", "spaced"), False, "wer", "symbols between spaces"),
    (acted, ("spaced", "spaced"), False, "exact", "of a closed set: 5 different ones"),
    (tagged, ("bpe", "spaced"), False, "wer", "of a closed set: 4 different ones"),
    (transliterated, ("chars", "chars"), False, "cer", "short lines, spelt"),
    (romanised, ("chars", "chars"), False, "cer", "strings whose other side is spelt"),
    (read_aloud, ("chars", "spaced"), False, "wer", "symbols between spaces"),
    (inflected, ("chars", "chars"), True, "cer", "short lines, spelt"),
    (inflected_by_tags, ("chars", "chars"), True, "cer", "the other side is spelt in the same letters"),
    (sequence, ("chars", "chars"), True, "cer", "strings without spaces, of 4 different characters"),
    (query_pair, ("bpe", "bpe"), True, "exact", "running text"),
    (translated, ("bpe", "bpe"), True, "bleu", "running text"),
    (into_cyrillic, ("bpe", "bpe"), False, "bleu", "running text"),
    (from_hebrew, ("bpe", "bpe"), False, "bleu", "running text"),
    (into_chinese, ("bpe", "bpe"), False, "chrf", "running text"),
]


@pytest.mark.parametrize(("make", "kinds", "joint", "metric", "reason"), TABLE)
def test_a_corpus_gets_the_pieces_that_suit_it(
    make: Callable[[random.Random], Pair], kinds: tuple[str, str], joint: bool, metric: str, reason: str
) -> None:
    found = suggest(profile(corpus(make)))
    recipe = recipes.from_toml("", overrides=found.settings)
    assert recipe.tokenizer.kinds == kinds
    assert recipe.tokenizer.joint == joint
    assert recipe.validation.metric == metric
    assert recipe.search.stop == ("exact" if kinds[1] in ("chars", "spaced") else "first")
    side = "target_kind" if kinds[0] != kinds[1] else "kind"
    assert reason in found.reasons[f"tokenizer.{side}"]
    assert (recipe.tokenizer.dropout > 0) == ("bpe" in kinds and metric != "exact")
    recipes.refuse_contradictions(recipe)


@pytest.mark.parametrize(("make", "kinds", "joint", "metric", "reason"), TABLE)
def test_what_was_asked_for_is_kept(
    make: Callable[[random.Random], Pair], kinds: tuple[str, str], joint: bool, metric: str, reason: str
) -> None:
    measured = profile(corpus(make))
    asked = recipes.from_toml("", overrides=suggest(measured, RequestedSettings(kind="bpe")).settings)
    assert asked.tokenizer.kinds == ("bpe", "bpe")
    together = suggest(measured, RequestedSettings(joint=True)).settings
    assert recipes.from_toml("", overrides=together).tokenizer.joint
    other = suggest(measured, RequestedSettings(target_kind="unigram", joint=False)).settings
    assert recipes.from_toml("", overrides=other).tokenizer.kinds == (kinds[0], "unigram")


def test_a_formal_language_gets_less_dropout_than_prose_and_its_reason_is_named() -> None:
    formal, prose = suggest(profile(corpus(query_pair))), suggest(profile(corpus(translated)))
    assert formal.settings["model.dropout"] == pytest.approx(0.2)
    assert prose.settings["model.dropout"] == pytest.approx(0.3)
    assert "a formal language: " in formal.reasons["validation.metric"]


def test_lines_without_words_and_endless_ones_are_judged_too() -> None:
    pairs = [("", "\t" * n if n % 2 else f"a ({n}) " * 999) for n in range(1, 53)]
    assert not profile(pairs).structure.is_formal
    assert not profile(pair for n, pair in enumerate(pairs) if n < 13).structure.is_formal


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda chance: (word(chance), f"{word(chance)}, {word(chance)}"), id="lists"),
        pytest.param(lambda chance: (line := f"({words(chance, 9)})".replace(" ", "-"), line), id="copies"),
        pytest.param(lambda chance: (word(chance), f"{word(chance)}!"), id="exclamations"),
        pytest.param(lambda chance: (word(chance), chance.choice(["+", "-", "?"])), id="few labels"),
        pytest.param(acted_in_words, id="a closed set without signs"),
    ],
)
def test_signs_alone_and_few_words_alone_are_no_formal_language(
    make: Callable[[random.Random], Pair],
) -> None:
    assert not profile(corpus(make)).structure.is_formal


def measured(*lines: str) -> CorpusProfile:
    return profile((line, line) for line in lines)


def test_a_profile_counts_what_it_says() -> None:
    side = measured("one two", "two", "a b c d").source
    assert (side.lines, side.words, side.single) == (3, 7, 4)
    assert side.line_words == pytest.approx(7 / 3)
    assert side.line_characters == pytest.approx((7 + 3 + 7) / 3)
    assert side.growth == pytest.approx(5 / 7)
    assert side.long_line == 7


def test_composed_and_decomposed_letters_are_one() -> None:
    side = measured("é", unicodedata.normalize("NFD", "é")).source
    assert dict(side.characters) == {"é": 2}


def test_a_script_is_known_by_its_letters() -> None:
    assert measured("你好, world").source.scripts == pytest.approx({"LATIN": 5 / 7, "CJK": 2 / 7})
    assert measured("สวัสดีชาวโลก").source.unspaced


def test_long_outputs_of_symbols_are_searched_greedily() -> None:
    def beam(length: int) -> object:
        pairs = corpus(lambda chance: ("go on", " ".join(chance.choices("NVAP", k=length))))
        return suggest(profile(pairs)).settings["search.beam_size"]

    assert (beam(7), beam(13)) == (5, 1)


@pytest.mark.parametrize("make", [row[0] for row in TABLE])
def test_ordinary_pairs_keep_the_usual_limits(make: Callable[[random.Random], Pair]) -> None:
    found = suggest(profile(corpus(make))).settings
    assert not found.keys() & {"data.max_length", "data.max_length_ratio"}


@pytest.mark.parametrize("flip", [False, True])
def test_definitions_and_titles_are_not_dropped_for_their_lengths(flip: bool) -> None:
    def defined(chance: random.Random) -> Pair:
        pair = word(chance), " ".join(word(chance) for _ in range(chance.randint(40, 60)))
        return pair[::-1] if flip else pair

    pairs = list(corpus(defined))
    suggested = suggest(profile(pairs))
    recipe = recipes.from_toml("", overrides=suggested.settings)
    assert "in 100% of the pairs" in suggested.reasons["data.max_length_ratio"]
    reasons = [rejection_reason(*pair, recipe.data) for pair in pairs]
    assert not any(reasons)
    # One that is unequal beyond what this corpus is used to is dropped all the same.
    assert rejection_reason("a", "b" * 4999, recipe.data) == "length ratio"


def test_a_few_unequal_pairs_among_others_are_errors() -> None:
    def seldom(chance: random.Random) -> Pair:
        return (word(chance), 40 * "word ") if chance.random() < 0.01 else translated(chance)

    assert "data.max_length_ratio" not in suggest(profile(corpus(seldom))).settings


@pytest.mark.parametrize(("model", "count", "most"), [("transformer", 301, 384), ("conv_s2s", 1999, 1024)])
def test_long_lines_are_not_dropped_for_their_lengths(model: str, count: int, most: int) -> None:
    pairs = corpus(lambda chance: (" ".join(chance.choices("ACGT", k=count)), "yes " * (count // 3)), 53)
    found = suggest(profile(pairs), RequestedSettings(model=model))
    assert found.settings["data.max_length"] == most
    assert f"up to about {count + 1:,} tokens" in found.reasons["data.max_length"]
    recipes.refuse_contradictions(recipes.from_toml("", overrides={**found.settings, "model.kind": model}))


def test_long_lines_of_few_words_are_not_dropped_for_their_characters() -> None:
    pairs = list(corpus(lambda chance: (" ".join(chance.choices(("symbols", "tokens"), k=900)), "yes"), 53))
    found = suggest(profile(pairs))
    recipe = recipes.from_toml("", overrides=found.settings)
    assert "99 % of the lines have up to" in found.reasons["data.max_chars"]
    assert not any(rejection_reason(*pair, recipe.data) for pair in pairs)


def test_a_symbol_for_each_character_makes_the_other_side_characters() -> None:
    pairs = list(corpus(read_aloud))
    for found in (suggest(profile(pairs)), suggest(profile(pair[::-1] for pair in pairs))):
        assert {found.settings[f"tokenizer.{side}"] for side in ("kind", "target_kind")} == {
            "chars",
            "spaced",
        }


def test_the_longest_output_of_one_symbol_is_one_symbol() -> None:
    found = suggest(profile(corpus(lambda chance: (word(chance), chance.choice(["good", "bad", "none"])))))
    assert "99 % of the outputs have 1 token" in found.reasons["search.max_extra"]


def test_batches_are_counted_by_the_side_that_fills_them() -> None:
    def summed_up(chance: random.Random) -> Pair:
        return " ".join(word(chance) for _ in range(50)), word(chance)

    pairs = list(corpus(summed_up))
    batches = "training.batch_tokens"
    found, turned = suggest(profile(pairs)), suggest(profile(pair[::-1] for pair in pairs))
    assert "source tokens" in found.reasons[batches]
    assert "target tokens" in turned.reasons[batches]
    assert found.settings[batches] == turned.settings[batches]


@pytest.mark.parametrize("pairs", [1, 2, 53])
def test_a_handful_of_pairs_is_enough_for_a_decision(pairs: int) -> None:
    for make, *_ in TABLE:
        recipes.from_toml("", overrides=suggest(profile(corpus(make, pairs))).settings)


def with_apostrophes(kinds: str) -> Callable[[random.Random], str]:
    """Lines in which every word has one of these apostrophes inside."""

    def line(chance: random.Random) -> str:
        return " ".join(f"{word(chance)}{chance.choice(kinds)}{word(chance)}" for _ in range(5))

    return line


APOSTROPHES = [
    ("'", "'", True, "'", "100% of the source's apostrophes are U+0027"),
    ("’", "’", True, "’", "100% of the source's apostrophes are U+2019"),
    ("'" * 29 + "’", "'", True, "'", "of the source's apostrophes are U+0027"),
    ("’", "'", True, "", "the two sides have different kinds"),
    ("’", "'", False, "’", "100% of the source's apostrophes are U+2019"),
    ("'ʻ", "'", True, "", "several kinds of apostrophes"),  # both mean something, as in Hawaiian
]


@pytest.mark.parametrize(("source", "target", "joint", "chosen", "reason"), APOSTROPHES)
def test_what_users_type_for_an_apostrophe_is_read_as_the_corpus_writes_it(
    source: str, target: str, joint: bool, chosen: str, reason: str
) -> None:
    chance = random.Random(3)
    make, other = with_apostrophes(source), with_apostrophes(target)
    found = suggest(
        profile([(make(chance), other(chance)) for _ in range(211)]), RequestedSettings(joint=joint)
    )
    assert found.settings["tokenizer.apostrophe"] == chosen
    assert reason in found.reasons["tokenizer.apostrophe"]


def test_a_corpus_without_apostrophes_gets_no_decision_about_them() -> None:
    chance = random.Random(3)
    found = suggest(profile([translated(chance) for _ in range(211)]))
    assert "tokenizer.apostrophe" not in found.settings


ODD = st.text(st.sampled_from("ab c\t\u00a0\u3000\x1f\u0301가힣漢字ก🙂▁’0١"), max_size=13)


@settings(max_examples=151, deadline=None)
@given(st.lists(st.tuples(st.text() | ODD, ODD), min_size=2, max_size=53))
def test_the_vocabularies_decided_on_can_be_trained(pairs: list[Pair]) -> None:
    """On a part of the corpus too: some of it is held out."""
    recipe = recipes.from_toml("", overrides=suggest(profile(pairs)).settings)
    sides = [None] if recipe.tokenizer.joint else [None, None]
    part = pairs[: max(1, len(pairs) - 3)]
    normal = normalizer(lowercase=False)
    assume(all(any(normal.normalize_str(pair[side]) for pair in part) for side in (0, 1)))
    train_tokenizers([*sides], lambda: iter(part), len(part), recipe.tokenizer, lowercase=False)
