"""BLEU (Papineni et al. 2002) and chrF (Popović 2015) of a corpus, by sacreBLEU (Post 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from multihead.errors import UserError
from multihead.scores.pairs import check


@dataclass(frozen=True, slots=True)
class Score:
    """A number from 0 to 100, and the signature that says how it was computed."""

    value: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """Corpus BLEU, one reference a sentence.

    Args:
        hypotheses: translations, as text.
        references: what they should be.
        lowercase: compare without case.
        tokenize: sacreBLEU's tokenizer: "13a", "none" (text is tokenised already), "char" (languages
            without spaces), "intl", "zh", "ja-mecab", "ko-mecab", ...

    Raises:
        UserError: no sentences, not as many references, an unknown tokenizer or one that is not installed.
    """
    check(hypotheses, references)
    metric = bleu_metric(lowercase, tokenize)
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(found.score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Corpus chrF2, one reference a sentence; arguments and errors as :func:`bleu`."""
    check(hypotheses, references)
    metric = chrf_metric(lowercase)
    found = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(found.score, str(metric.get_signature()))


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """chrF2 of each sentence by itself, cased. Raises ``UserError`` as :func:`bleu`."""
    check(hypotheses, references)
    metric = chrf_metric(lowercase=False)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def bleu_metric(lowercase: bool, tokenize: str) -> BLEU:
    """Return sacreBLEU's metric. Raises ``UserError`` for a tokenizer that is not there."""
    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(
            f'there is no tokenizer "{tokenize}"',
            remedy=f"Choose one of {', '.join(sorted(BLEU.TOKENIZERS))}.",
        )
    try:
        # "force" silences the warning about tokenised text, which is what "none" is for.
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f'the tokenizer "{tokenize}" is not installed ({error})',
            remedy='Install what sacreBLEU asks for, or choose "13a" or "char".',
        ) from error


def chrf_metric(lowercase: bool) -> CHRF:
    """Return sacreBLEU's metric."""
    return CHRF(lowercase=lowercase)
