"""Corpus BLEU (Papineni et al. 2002) and chrF (Popović 2015), computed by sacreBLEU (Post 2018)."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from multihead.errors import UserError
from multihead.scores.pairs import check


@dataclass(frozen=True, slots=True)
class Score:
    """A score from 0 to 100, with sacreBLEU's signature."""

    value: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False, tokenize: str = "13a"
) -> Score:
    """Return corpus BLEU with one reference per sentence.

    Args:
        hypotheses: translations, as text.
        references: reference translations.
        lowercase: ignore case.
        tokenize: sacreBLEU's tokenizer: "13a", "none" (tokenised text), "char" (languages without spaces),
            "intl", "zh", "ja-mecab", "ko-mecab", ...

    Raises:
        UserError: no sentences, another number of references, or a tokenizer unknown or not installed.
    """
    check(hypotheses, references)
    metric = bleu_metric(lowercase, tokenize)
    score = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(score.score, str(metric.get_signature()))


def chrf(hypotheses: Sequence[str], references: Sequence[str], *, lowercase: bool = False) -> Score:
    """Return corpus chrF2 with one reference per sentence; arguments and errors as :func:`bleu`."""
    check(hypotheses, references)
    metric = chrf_metric(lowercase)
    score = metric.corpus_score(list(hypotheses), [list(references)])
    return Score(score.score, str(metric.get_signature()))


def sentence_chrf(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return cased chrF2 of each sentence. Raises ``UserError`` as :func:`bleu`."""
    check(hypotheses, references)
    metric = chrf_metric(lowercase=False)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def sentence_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> list[float]:
    """Return cased BLEU of each sentence; n-grams longer than it are left out. Raises as :func:`bleu`."""
    check(hypotheses, references)
    metric = BLEU(effective_order=True)
    pairs = zip(hypotheses, references, strict=True)
    return [metric.sentence_score(hypothesis, [reference]).score for hypothesis, reference in pairs]


def bleu_metric(lowercase: bool, tokenize: str) -> BLEU:
    """Return sacreBLEU's BLEU metric. Raises ``UserError`` for an unavailable tokenizer."""
    if tokenize not in BLEU.TOKENIZERS:
        raise UserError(
            f'no tokenizer "{tokenize}"',
            remedy=f"Choose one of {', '.join(sorted(BLEU.TOKENIZERS))}.",
        )
    try:
        # "force" silences the warning about tokenised text, which "none" expects.
        return BLEU(lowercase=lowercase, tokenize=tokenize, force=tokenize == "none")
    except (ImportError, RuntimeError) as error:
        raise UserError(
            f'the tokenizer "{tokenize}" is not installed ({error})',
            remedy='Install the package that sacreBLEU asks for, or choose "13a" or "char".',
        ) from error


def chrf_metric(lowercase: bool) -> CHRF:
    """Return sacreBLEU's chrF2 metric."""
    return CHRF(lowercase=lowercase)
