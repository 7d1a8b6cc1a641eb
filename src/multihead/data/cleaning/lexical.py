"""Evidence that the two sides of a pair belong together, from a lexicon of this very corpus.

Each half of the corpus is judged by the lexicon of the other half. Logistic regression separates the pairs of
the corpus from the same lines paired with their neighbours and with random lines. So in any languages, a
score is the log-odds that the sides belong together.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from multihead.data.cleaning.lexicon import ConditionalLexicon, Side
from multihead.data.cleaning.shifts import line_shifts
from multihead.data.plan import shuffle_indices
from multihead.recipe.settings import TokenizerSettings
from multihead.text.pieces import BYTES, alphabet, normalizer
from multihead.text.tokenizer import SPECIAL_TOKENS
from multihead.text.training import train

MOST_TOKENS = 32
"""Maximum number of tokens read from a line, the first."""
MOST_CELLS = 10_000_000
"""Maximum number of token pairs to learn a lexicon from, and to look up at a time."""
MOST_TEXTS = 20_000
"""Maximum number of lines to learn a side's pieces from."""
PIECES, FEW_LINES, FEW_PIECES = 4_000, 4_000, 1_000
"""Pieces of a side, and of a side with fewer than FEW_LINES lines: the lexicon grows with their square."""
MOST_CHARACTERS = 500
"""Maximum number of distinct characters of a side that are tokens."""
SPELT_LENGTH, SPELT_WORDS = 24.0, 3.0
"""Maximum mean characters and words per line of a side of words or strings."""
INSIDE_NUMBER = re.compile(r"(?<=\d)(?=\d)")
"""A number is read digit by digit: most numbers are rare, and digits are known."""
BLOCK = 64
"""Consecutive lines are in one half, so that a shifted passage is judged by a lexicon without it."""
STEPS, RIDGE = 12, 1e-3
"""Newton steps of the regression, and its penalty."""

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
View = tuple[Side, Side]
"""Both sides as tokens of one kind."""


PROBED = 4_000
"""Number of lines that a shift of the whole corpus is detected from."""
CLEARLY = 0.05
"""Nats per token that such a shift must gain."""
MOVED = 0.02
"""Share of shifted lines above which the models are retrained on the lines that belong together."""


@dataclass(frozen=True)
class Evidence:
    """Evidence about N pairs.

    Attributes:
        direct: log-odds that each source belongs to its own target, (N,).
        moved: number of lines the targets are shifted by, (N,), see ``shifts.line_shifts``.
        separation: probability that a pair of the corpus has more evidence than a random one (the area under
            the ROC curve); 0.5 if the sides have nothing to do with each other.
    """

    direct: Floats
    moved: Ints
    separation: float


def evidence(sources: Sequence[str], targets: Sequence[str]) -> Evidence:
    """Return the evidence about all pairs of a corpus, in order.

    The models learn from lines that belong together. A shift by one line, of the whole corpus or a part of
    it, is detected first.
    """
    views = [(tokens(sources), tokens(targets))]
    if is_spelt(sources, targets):
        views.append((characters(sources), characters(targets)))
    lengths = [np.log1p(np.array([len(line) for line in lines])) for lines in (sources, targets)]
    shift = np.full(len(sources), _constant_shift(*views[0]))
    estimate = _judge(views, lengths, shift)
    if np.mean(estimate.moved != shift) > MOVED:
        estimate = _judge(views, lengths, estimate.moved)
    return estimate


def _constant_shift(source: Side, target: Side) -> int:
    """Return the number of lines most targets are shifted by: 0, 1 or -1."""
    count = min(len(source), PROBED)
    halves = [np.arange(1, count // 2), np.arange(count // 2, count - 1)]
    explained = {}
    for shift in (0, 1, -1):
        lexicon = ConditionalLexicon(source.chosen(halves[0]), target.chosen(halves[0] + shift))
        gain, _ = lexicon.gain(source.chosen(halves[1]), target.chosen(halves[1] + shift))
        explained[shift] = float(gain.mean())
    best = max(explained, key=explained.__getitem__)
    return best if explained[best] > explained[0] + CLEARLY else 0


def _judge(views: Sequence[View], lengths: Sequence[Floats], shift: Ints) -> Evidence:
    """Return the evidence of models trained on each source and the target at this shift."""
    count = len(lengths[0])
    places = np.arange(count)
    partner = np.clip(places + shift, 0, count - 1)
    others = {
        "direct": places,
        "later": (places + 1) % count,
        "earlier": (places - 1) % count,
        "true": partner,
        "false": (partner + 1) % count,
        "random": shuffle_indices(count, 1, "mispaired"),
    }
    if not shift.any():
        del others["true"], others["false"]
    gains = [_gains(source, target, partner, others) for source, target in views]
    usual = np.median(lengths[0] - lengths[1][partner])
    features = {}
    for name, paired in others.items():
        columns = [np.abs(lengths[0] - lengths[1][paired] - usual)]
        for view_gains in gains:
            columns += [*view_gains[name].T, np.minimum(view_gains[name][:, 0], view_gains[name][:, 2])]
        features[name] = np.stack(columns, axis=1)
    true = features.get("true", features["direct"])
    false = features.get("false", features["later"])
    weights = _regression(true, np.concatenate([features["random"], false]))
    direct, later, earlier = (_with_one(features[name]) @ weights for name in ("direct", "later", "earlier"))
    separation = _separation(*(_with_one(table) @ weights for table in (true, features["random"])))
    return Evidence(direct, line_shifts(direct, later, earlier), separation)


def _gains(source: Side, target: Side, partner: Ints, others: Mapping[str, Ints]) -> dict[str, Floats]:
    """Return ``ConditionalLexicon.gain`` in both directions, (N, 4), for each order of the targets.

    The lexicons learn from the ``partner`` targets; ``others`` are target numbers by the name of the order.
    """
    half = np.arange(len(source)) // BLOCK % 2
    gains = {name: np.zeros((len(source), 4)) for name in others}
    for part in (0, 1):
        judged = np.flatnonzero(half == part)
        fitted = np.flatnonzero(half != part)
        fitted = fitted[:: 1 + int(_cells(source, target, fitted).sum()) // MOST_CELLS]
        fit_source, fit_target = source.chosen(fitted), target.chosen(partner[fitted])
        there, back = ConditionalLexicon(fit_source, fit_target), ConditionalLexicon(fit_target, fit_source)
        for name, paired in others.items():
            for rows in np.array_split(judged, 1 + int(_cells(source, target, judged).sum()) // MOST_CELLS):
                a, b = source.chosen(rows), target.chosen(paired[rows])
                gains[name][rows] = np.stack([*there.gain(a, b), *back.gain(b, a)], axis=1)
    return gains


def _separation(true: Floats, false: Floats) -> float:
    """Return the probability that a true score exceeds a false one; ties count half."""
    ordered = np.sort(false)
    below = [np.searchsorted(ordered, true, side=side) for side in ("left", "right")]
    return float(np.mean(below) / len(false))


def _cells(source: Side, target: Side, rows: Ints) -> Floats:
    """Return the number of token pairs of each line, (N,)."""
    lengths = [np.diff(side.starts)[rows].astype(np.float64) for side in (source, target)]
    cells: Floats = (lengths[0] + 1) * lengths[1]
    return cells


def tokens(lines: Sequence[str]) -> Side:
    """Return the first pieces of each line, with a vocabulary learned from these lines."""
    normal = normalizer(lowercase=True)
    lines = [INSIDE_NUMBER.sub(" ", line) for line in lines]
    sample = [normal.normalize_str(line) for line in lines[:: -(-len(lines) // MOST_TEXTS)]]
    wished = PIECES if len(lines) >= FEW_LINES else FEW_PIECES
    # Scripts of many characters get some room for words too.
    letters = len(SPECIAL_TOKENS) + len(BYTES) + len(alphabet(sample))
    settings = TokenizerSettings(kind="bpe", vocab_size=max(wished, letters + wished // 2))
    tokenizer = train(sample, settings, lowercase=True)
    cut = [line[: 12 * MOST_TOKENS] for line in lines]
    ids = [pieces[:MOST_TOKENS] for pieces in tokenizer.encode_batch(cut)]
    return Side.of(ids, tokenizer.vocab_size)


def characters(lines: Sequence[str]) -> Side:
    """Return the first characters of each line; all rare characters share an id."""
    normal = normalizer(lowercase=False)
    cut = [normal.normalize_str(line)[:MOST_TOKENS] for line in lines]
    usual = [character for character, _ in Counter(chain.from_iterable(cut)).most_common(MOST_CHARACTERS)]
    number = {character: place for place, character in enumerate(usual, 1)}
    return Side.of([[number.get(character, 0) for character in line] for line in cut], len(number) + 1)


def is_spelt(sources: Sequence[str], targets: Sequence[str]) -> bool:
    """Return True if one side is words or strings rather than sentences, and the other is not long text.

    Such pieces are rare or many; characters show better which lines belong together.
    """
    sizes = [
        (sum(map(len, lines)) / len(lines), sum(len(line.split()) for line in lines) / len(lines))
        for lines in (sources, targets)
    ]
    words = any(length <= SPELT_LENGTH and count <= SPELT_WORDS for length, count in sizes)
    return words and all(length <= 2 * MOST_TOKENS for length, _ in sizes)


def log_odds(features: Floats, true: Floats, false: Floats) -> Floats:
    """Return the log-odds (N,) of features (N, F) by a regression that separates true from false ones."""
    return _with_one(features) @ _regression(true, false)


def _regression(true: Floats, false: Floats) -> Floats:
    """Return the weights (constant first) that separate two classes of equal weight."""
    table = _with_one(np.concatenate([true, false]))
    labels = np.concatenate([np.ones(len(true)), np.zeros(len(false))])
    mass = np.concatenate([np.full(len(true), 1 / len(true)), np.full(len(false), 1 / len(false))])
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (mass * (labels - probability)) - RIDGE * weights
        curve = (table * (mass * probability * (1 - probability))[:, None]).T @ table + RIDGE * np.eye(
            len(weights)
        )
        weights = weights + np.linalg.solve(curve, slope)
    return weights


def _with_one(table: Floats) -> Floats:
    return np.concatenate([np.ones((len(table), 1)), table], axis=1)
