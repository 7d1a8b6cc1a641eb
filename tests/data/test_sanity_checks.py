"""Warnings about corpora with swapped or identical files."""

from corpora import VALID, Corpus, some_pairs

from multihead.data.sanity_checks import sanity_warnings


def test_an_ordinary_corpus_gives_no_warning(corpus: Corpus) -> None:
    assert sanity_warnings(corpus.prepare(**VALID)) == []
    assert sanity_warnings(corpus.prepare()) == []


def test_swapped_validation_files_give_a_warning(corpus: Corpus) -> None:
    corpus.write([(target, source) for source, target in some_pairs(23, seed=2)], "valid")
    assert ["swapped" in warning for warning in sanity_warnings(corpus.prepare(**VALID))] == [True]


def test_identical_sides_give_a_warning(corpus: Corpus) -> None:
    pairs = some_pairs(211)
    corpus.write(
        [(source, source if number % 7 else target) for number, (source, target) in enumerate(pairs)]
    )
    [warning] = sanity_warnings(corpus.prepare(**VALID))
    assert "source and target are identical in 180 of 211 sampled pairs" in warning


def test_corrected_text_gives_no_warning(corpus: Corpus) -> None:
    pairs = some_pairs(211)
    corpus.write(
        [(source, source if number % 2 else target) for number, (source, target) in enumerate(pairs)]
    )
    assert sanity_warnings(corpus.prepare()) == []


def test_a_target_of_classes_is_named(corpus: Corpus) -> None:
    pairs = some_pairs(211)
    corpus.write([(source, ("yes", "no")[number % 2]) for number, (source, _) in enumerate(pairs)])
    warnings = sanity_warnings(corpus.prepare())
    assert ["sampled pairs are 2 different lines only (no, yes)" in one for one in warnings] == [True]
