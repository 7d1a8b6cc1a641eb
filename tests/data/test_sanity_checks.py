"""What a person is told of a corpus that cannot be what was meant."""

from corpora import VALID, Corpus, some_pairs

from multihead.data.sanity_checks import doubts


def test_nothing_is_said_of_an_ordinary_corpus(corpus: Corpus) -> None:
    assert doubts(corpus.prepare(**VALID)) == []
    assert doubts(corpus.prepare()) == []


def test_validation_files_the_wrong_way_round_are_told(corpus: Corpus) -> None:
    corpus.write([(target, source) for source, target in some_pairs(23, seed=2)], "valid")
    assert ["validation files" in told for told in doubts(corpus.prepare(**VALID))] == [True]


def test_two_sides_of_the_same_text_are_told(corpus: Corpus) -> None:
    pairs = some_pairs(211)
    corpus.write(
        [(source, source if number % 7 else target) for number, (source, target) in enumerate(pairs)]
    )
    [told] = doubts(corpus.prepare(**VALID))
    assert "the source is the target in 180 of 211 pairs" in told


def test_texts_that_are_corrected_are_not_doubted(corpus: Corpus) -> None:
    pairs = some_pairs(211)
    corpus.write(
        [(source, source if number % 2 else target) for number, (source, target) in enumerate(pairs)]
    )
    assert doubts(corpus.prepare()) == []
