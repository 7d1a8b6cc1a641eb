"""Corpus-level sanity checks: swapped or identical files, doubtful pairs, classes."""

from collections.abc import Sequence

from multihead.data.plan import evenly_spaced
from multihead.data.prepare import PreparedCorpus

SAMPLE_SIZE = 1000
"""Training and validation pairs that are checked, evenly spaced over the corpus."""
MAX_IDENTICAL = 0.75
"""Fraction of pairs with identical sides above which to warn. Corpora of corrected text reach a half."""
MIN_RATIO = 1.5
"""Warn of swapped sides if both sides share this many times more words with the other side."""

MOST_CLASSES, TIMES = 20, 10
"""Targets are classes if they have at most MOST_CLASSES distinct lines, each TIMES times on average."""

Texts = Sequence[str]


def sanity_warnings(prepared: PreparedCorpus) -> list[str]:
    """Return the warnings about a corpus, one line each."""
    train, sample = prepared.train, evenly_spaced(len(prepared.train), SAMPLE_SIZE).tolist()
    source = prepared.source_tokenizer.decode_batch(train.source(number) for number in sample)
    target = prepared.target_tokenizer.decode_batch(train.target(number) for number in sample)
    warnings = [f"caution: {doubt}" for doubt in prepared.doubts]
    same = sum(left == right for left, right in zip(source, target, strict=True))
    if same > MAX_IDENTICAL * len(source):
        sampled = f"{same:,} of {len(source):,} sampled pairs"
        warnings.append(f"caution: source and target are identical in {sampled}; are these the right files?")
    classes = sorted({*target})
    if 1 < len(classes) <= MOST_CLASSES and len(target) >= TIMES * len(classes):
        named = ", ".join(classes[:3]) + (", ..." if len(classes) > 3 else "")
        warnings.append(
            f"caution: the targets of {len(target):,} sampled pairs are {len(classes)} different lines only "
            f"({named}); `multihead train small-bert-classes` makes a classifier (docs/how-to/models.md)"
        )
    if not prepared.held_out:
        valid = prepared.valid_pairs
        pairs = [valid[number] for number in evenly_spaced(len(valid), SAMPLE_SIZE).tolist()]
        sides = [left for left, _ in pairs], [right for _, right in pairs]
        straight = _coverage(sides[0], source), _coverage(sides[1], target)
        crossed = _coverage(sides[0], target), _coverage(sides[1], source)
        if crossed[0] > MIN_RATIO * straight[0] and crossed[1] > MIN_RATIO * straight[1]:
            warnings.append("caution: source and target of the validation files seem to be swapped")
    return warnings


def _coverage(texts: Texts, others: Texts) -> float:
    """Return the fraction of the words of ``texts`` that occur in ``others``, ignoring case."""
    words = [word for text in texts for word in text.casefold().split()]
    vocabulary = {word for text in others for word in text.casefold().split()}
    return sum(word in vocabulary for word in words) / max(1, len(words))
