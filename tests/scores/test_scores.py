"""BLEU, chrF, exact match, perplexity, length buckets and significance."""

import math
import random
import subprocess
import sys

import pytest
import sacrebleu

from multihead.errors import UserError
from multihead.scores import (
    bleu,
    by_length,
    chrf,
    exact_match,
    format_perplexity,
    paired_bootstrap,
    perplexity,
)

REFERENCES = ["The cat sat on the mat .", "a dog, in the park", "two birds sing in a tree", "It rains today!"]
HYPOTHESES = ["the cat sat on a mat .", "a dog in the park", "two birds sing in the tree", "it rains today !"]


def test_bleu_and_chrf_of_two_sentences_by_hand() -> None:
    # 5 of 6 1-grams, 3 of 5 2-grams, 1 of 4 3-grams, none of 3 4-grams (smoothed: a half); the same length.
    score = bleu(["a b c x d e"], ["a b c y d e"], tokenize="none")
    assert score.value == pytest.approx(100 * (5 / 6 * 3 / 5 * 1 / 4 * (1 / 2) / 3) ** 0.25)
    # Half as long as the reference: precision 1 throughout, brevity penalty exp(1 - 2).
    short = bleu(["a b c d e"], ["a b c d e f g h i j"], tokenize="none")
    assert short.value == pytest.approx(100 * math.exp(-1))


def test_bleu_and_chrf_equal_sacrebleus() -> None:
    assert bleu(HYPOTHESES, REFERENCES).value == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES]).score
    lowered = bleu(HYPOTHESES, REFERENCES, lowercase=True, tokenize="intl")
    expected = sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], lowercase=True, tokenize="intl")
    assert lowered.value == expected.score
    assert chrf(HYPOTHESES, REFERENCES).value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES]).score


def test_the_signature_records_the_options() -> None:
    version = sacrebleu.__version__
    cased = bleu(HYPOTHESES, REFERENCES).signature
    assert cased == f"nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:{version}"
    lowered = bleu(HYPOTHESES, REFERENCES, lowercase=True, tokenize="none").signature
    assert lowered == f"nrefs:1|case:lc|eff:no|tok:none|smooth:exp|version:{version}"
    assert chrf(HYPOTHESES, REFERENCES).signature == (
        f"nrefs:1|case:mixed|eff:yes|nc:6|nw:0|space:no|version:{version}"
    )


@pytest.mark.parametrize("tokenize", ["13a", "none", "char", "zh"])
def test_identical_text_scores_100_and_unrelated_text_almost_0(tokenize: str) -> None:
    assert bleu(REFERENCES, REFERENCES, tokenize=tokenize).value == pytest.approx(100)
    assert bleu(["ω ψ χ φ υ"] * 4, REFERENCES, tokenize=tokenize).value < 5


def test_empty_translations_score_0_without_an_error() -> None:
    assert bleu([""] * 4, REFERENCES).value == 0
    assert chrf([""] * 4, REFERENCES).value == 0
    assert bleu(["", *REFERENCES[1:]], REFERENCES).value < 100
    assert exact_match([""], [""]) == 1


def test_different_numbers_of_lines_are_an_error() -> None:
    for score in (bleu, chrf, exact_match):
        with pytest.raises(UserError, match="3 translations, but 4 references"):
            score(HYPOTHESES[:3], REFERENCES)
        with pytest.raises(UserError, match="no sentences"):
            score([], [])


def test_an_unknown_tokenizer_is_an_error_that_lists_the_choices() -> None:
    with pytest.raises(UserError, match=r'no tokenizer "14a".*13a'):
        bleu(HYPOTHESES, REFERENCES, tokenize="14a")


def test_exact_match_counts_outputs_equal_to_their_references() -> None:
    assert exact_match(["forty-two", "forty-three ", "four"], ["forty-two", "forty-three", "Four"]) == 2 / 3


def test_perplexity_is_the_exponential_of_the_mean() -> None:
    assert perplexity(7 * math.log(11), 7) == pytest.approx(11)
    assert perplexity(0, 3) == 1


def test_a_perplexity_too_large_for_a_float_is_infinite() -> None:
    assert perplexity(710, 1) == math.inf
    assert math.isnan(perplexity(math.nan, 1))
    with pytest.raises(ValueError, match="over 0 tokens"):
        perplexity(1, 0)


@pytest.mark.parametrize(
    ("value", "text"), [(3.14159, "3.142"), (1234, "1234"), (1.23456e9, "1.235e+09"), (math.inf, "inf")]
)
def test_perplexities_are_formatted_with_four_digits(value: float, text: str) -> None:
    assert format_perplexity(value) == text


def test_length_buckets_hold_every_sentence_once_and_their_own_bleu() -> None:
    sources = ["x " * n for n in (1, 10, 11, 20, 61, 97)]
    references = [f"{n} b c d e" for n in range(6)]
    hypotheses = [*references[:2], "9 b c d e", *references[3:]]
    buckets = by_length(sources, hypotheses, references)
    assert [(b.shortest, b.longest, b.sentences) for b in buckets] == [(0, 10, 2), (11, 20, 2), (61, None, 2)]
    assert [b.bleu for b in buckets] == [
        bleu(hypotheses[i : i + 2], references[i : i + 2]) for i in (0, 2, 4)
    ]
    assert [b.bleu.value < 99 for b in buckets] == [False, True, False]


def test_different_numbers_of_sources_and_references_are_an_error() -> None:
    with pytest.raises(UserError, match="1 sources, but 2 references"):
        by_length(["a"], ["b", "c"], ["b", "c"])


def noisy(references: list[str], rate: float, seed: int) -> list[str]:
    """References with some wrong words."""
    generator = random.Random(seed)
    return [" ".join("?" if generator.random() < rate else w for w in line.split()) for line in references]


def test_a_large_difference_is_significant_and_one_between_similar_systems_is_not() -> None:
    generator = random.Random(1)
    words = ["the", "a", "cat", "dog", "sits", "runs", "on", "under", "mat", "tree", "green", "small"]
    references = [" ".join(generator.choices(words, k=13)) for _ in range(101)]
    good, like, bad = noisy(references, 0.2, 2), noisy(references, 0.2, 3), noisy(references, 0.3, 4)
    clear, none = paired_bootstrap(bad, good, references), paired_bootstrap(like, good, references)
    for name, score in (("bleu", bleu), ("chrf", chrf)):
        assert clear[name].significant
        assert clear[name].p_value < 0.01
        assert not none[name].significant
        assert clear[name].system.score == pytest.approx(score(good, references).value)
        assert clear[name].baseline.score == pytest.approx(score(bad, references).value)
        assert abs(clear[name].system.mean - clear[name].system.score) < clear[name].system.half_width
    assert paired_bootstrap(bad, good, references) == clear
    assert "bs:1000|seed:12345" in clear["bleu"].signature
    assert "bs:97" in paired_bootstrap(bad, good, references, samples=97)["chrf"].signature


def test_a_system_does_not_differ_from_itself() -> None:
    assert paired_bootstrap(HYPOTHESES, HYPOTHESES, REFERENCES, samples=53)["bleu"].p_value == 1


def test_every_system_needs_a_line_for_each_reference() -> None:
    with pytest.raises(UserError, match="1 translations, but 4 references"):
        paired_bootstrap(HYPOTHESES, HYPOTHESES[:1], REFERENCES)


def test_scores_do_not_import_torch() -> None:
    code = "import sys, multihead.scores; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
