"""Beam search for outputs that contain given phrases, with dynamic beam allocation (Post & Vilar 2018).

The beam is divided among banks: hypotheses that have written equally many tokens of the phrases. A hypothesis
that writes a phrase, at the price of some probability, does not compete with those that have not begun one.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from multihead.search.outputs import Hypothesis, best, length_penalty
from multihead.search.phrase import Phrase
from multihead.search.plain import LengthLimits, check_wanted
from multihead.system import native_library
from multihead.system.native_library import Array

MAX_BEAM = 24
"""Most hypotheses of a sentence alive at a time."""

KEPT = 0.75
"""Finished sentences are dropped when at most this share of a batch is left."""

Forbid = Callable[[Array, Sequence[Sequence[int]]], None]
"""Sets the scores of what must not follow to -infinity, in place, given what each row has written."""


class Steps(Protocol):
    """A model that scores the next token of every row, step by step."""

    def scores(self, tokens: Sequence[int], parents: Sequence[int] | None) -> Array:
        """Append a token to each row; return the log-probabilities of the next one, (R, V), float32.

        Args:
            tokens: one for each row, as many rows for each sentence.
            parents: the row of the step before that each extends; None: the same, in the first step.
        """
        ...

    def keep(self, sentences: Sequence[int]) -> None:
        """Keep these sentences, in ascending order; the next parents are rows of theirs alone."""
        ...


class PhraseProgress(NamedTuple):
    """The phrases that a hypothesis has written.

    Attributes:
        done: numbers of whole ones.
        begun: (phrase, form, tokens written) of those in writing.
        closed: the phrase that the last token completed, -1 for none.
    """

    done: frozenset[int] = frozenset()
    begun: frozenset[tuple[int, int, int]] = frozenset()
    closed: int = -1


class PhraseHypothesis(NamedTuple):
    """A hypothesis: the begin symbol and its tokens, their log-probability, and the row that it extends."""

    tokens: tuple[int, ...]
    total: float
    progress: PhraseProgress
    parent: int


class Continuation(NamedTuple):
    """A row and one more token, the log-probability of both, and the phrases written then."""

    total: float
    token: int
    progress: PhraseProgress
    row: int


class PhraseSearchRules(NamedTuple):
    """The arguments of ``search_phrases`` that are equal for all sentences."""

    eos_id: int
    alpha: float
    beam_size: int
    min_length: int
    n_best: int
    reserved: tuple[int, ...]


class PhraseSentence:
    """The phrases of one sentence, and its hypotheses.

    Args:
        prefix: begin symbol and forced prefix.
        phrases: that the output must contain.
        longest: most tokens of the output.
        width: hypotheses alive at a time.
    """

    def __init__(self, prefix: Sequence[int], phrases: Sequence[Phrase], longest: int, width: int) -> None:
        self.phrases, self.width = phrases, width
        self.longest = max(longest, len(prefix))
        self.rows = [PhraseHypothesis(tuple(prefix), 0.0, PhraseProgress(), 0)]
        self.ended: list[Hypothesis] = []
        self.finished = False
        self._banks = 1 + sum(phrase.length for phrase in phrases)

    def advance(
        self, table: Sequence[Sequence[tuple[float, int]]], scores_RV: Array, rules: PhraseSearchRules
    ) -> None:
        """Extend the hypotheses by a token.

        Args:
            table: for each row the best allowed (log-probability, token).
            scores_RV: log-probabilities of all tokens.
            rules: the search's rules.
        """
        if self.finished:
            return
        continuations: list[Continuation] = []
        for number, (row, free) in enumerate(zip(self.rows, table, strict=True)):
            if row.total == -math.inf:
                continue
            required = self.next_phrase_tokens(row.progress)
            choices = {token: value for value, token in free if value > -math.inf}
            choices |= {token: float(scores_RV[number, token]) for token in required}
            full = len(row.tokens) - 1 >= self.longest
            if full:
                choices = {rules.eos_id: float(scores_RV[number, rules.eos_id])}
            plain = PhraseProgress(row.progress.done)
            for token, value in choices.items():
                if token != rules.eos_id:
                    progress = self.after(row.progress, token) if token in required else plain
                    continuations.append(Continuation(row.total + value, token, progress, number))
                elif len(row.progress.done) == len(self.phrases) and len(row.tokens) > rules.min_length:
                    self._end(row, value, rules.alpha, full and value < max(v for v, _ in free))
        self.rows = [
            PhraseHypothesis((*self.rows[row].tokens, token), total, progress, row)
            for total, token, progress, row in self._choose(continuations)
        ]
        self.finished = not self.rows or self._is_settled(rules)

    def _end(self, row: PhraseHypothesis, value: float, alpha: float, cut: bool) -> None:
        total = row.total + value
        score = total / length_penalty(float(len(row.tokens)), alpha)
        self.ended.append(Hypothesis(row.tokens[1:], total, score, not cut))

    def _is_settled(self, rules: PhraseSearchRules) -> bool:
        """Return True if the n best have ended and no live hypothesis, ended here, would be among them.

        A number of ended hypotheses must not settle it: those that write all phrases at once end first.
        """
        if len(self.ended) < rules.n_best:
            return False
        length = float(len(self.rows[0].tokens) + 1)
        highest = max(row.total for row in self.rows) / length_penalty(length, rules.alpha)
        return highest <= sorted(h.score for h in self.ended)[-rules.n_best]

    def _choose(self, continuations: list[Continuation]) -> list[Continuation]:
        """Divide the beam among the banks; places that a bank cannot fill go to the fullest banks first."""
        credits = {progress: self.credit(progress) for progress in {row.progress for row in continuations}}
        banks: dict[int, list[Continuation]] = {}
        for row in sorted(continuations, key=lambda row: -row.total):
            banks.setdefault(credits[row.progress], []).append(row)
        share = max(1, self.width // self._banks)
        survivors = [row for credit in sorted(banks, reverse=True) for row in banks[credit][:share]][
            : self.width
        ]
        rest = [row for credit in sorted(banks, reverse=True) for row in banks[credit][share:]]
        return survivors + rest[: self.width - len(survivors)]

    def pad(self, width: int) -> None:
        """Fill the rows up with dead ones."""
        spare = self.rows[0] if self.rows else PhraseHypothesis((0,), -math.inf, PhraseProgress(), 0)
        dead = spare._replace(total=-math.inf, progress=PhraseProgress())
        self.rows = [*self.rows, *[dead] * (width - len(self.rows))][:width]

    def credit(self, progress: PhraseProgress) -> int:
        """Return the number of a hypothesis's bank."""
        whole = sum(self.phrases[number].length for number in progress.done)
        return whole + max(
            (min(at, self.phrases[p].length - 1) for p, _, at in progress.begun if p not in progress.done),
            default=0,
        )

    def next_phrase_tokens(self, progress: PhraseProgress) -> set[int]:
        """Return the tokens that begin or continue a phrase."""
        tokens = {self.phrases[p].forms[form][at] for p, form, at in progress.begun}
        for number, phrase in enumerate(self.phrases):
            if number not in progress.done:
                tokens.update(form[0] for form in phrase.forms)
        return tokens

    def after(self, progress: PhraseProgress, token: int) -> PhraseProgress:
        """Return the progress after one more token."""
        begun = {
            (p, form, at + 1) for p, form, at in progress.begun if self.phrases[p].forms[form][at] == token
        }
        begun |= {
            (p, number, 1)
            for p, phrase in enumerate(self.phrases)
            if p not in progress.done
            for number, form in enumerate(phrase.forms)
            if form[0] == token
        }
        whole = sorted(p for p, form, at in begun if at == len(self.phrases[p].forms[form]))
        if not whole:
            return PhraseProgress(progress.done, frozenset(begun))
        # Of equal phrases each needs its own occurrence; a longer form may still go on.
        closed = next((p for p in whole if p not in progress.done), whole[0])
        longer = {(p, f, at) for p, f, at in begun if p == closed and at < len(self.phrases[p].forms[f])}
        return PhraseProgress(progress.done | {closed}, frozenset(longer), closed)


def search_phrases(
    steps: Steps,
    forbid: Forbid,
    prefixes: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Phrase]],
    longest_B: Sequence[int],
    *,
    eos_id: int,
    beam_size: int,
    alpha: float,
    n_best: int,
    limits: LengthLimits,
    reserved: Collection[int],
) -> list[list[Hypothesis]]:
    """Return the best hypotheses that contain all phrases of their sentence, best first.

    Args:
        steps: the model; one row per sentence at the beginning.
        forbid: the constraints.
        prefixes: B sequences, each the begin symbol and a forced prefix.
        phrases: the phrases of each sentence; they do not overlap in the output.
        longest_B: most tokens of each output, the phrases apart.
        eos_id: the end symbol.
        beam_size: hypotheses alive at a time; more if the phrases have many tokens.
        alpha: exponent of the length penalty.
        n_best: hypotheses to return.
        limits: length limits; phrases may be written beyond them, but not beyond the model's capacity.
        reserved: tokens that may only be written as part of a phrase.
    """
    sentences = []
    for prefix, constraints, limit in zip(prefixes, phrases, longest_B, strict=True):
        size = sum(phrase.length for phrase in constraints)
        most = limit + size if limits.capacity is None else min(limit + size, limits.capacity)
        width = min(MAX_BEAM, 3 * beam_size + size if constraints else beam_size)
        sentences.append(PhraseSentence(prefix, constraints, most, width))
    rules = PhraseSearchRules(eos_id, alpha, beam_size, limits.min_length, n_best, tuple(sorted(reserved)))
    live, size, parents = sentences, 1, None
    while any(not sentence.finished for sentence in live):
        check_wanted()
        rows = [row for sentence in live for row in sentence.rows]
        scores_RV = steps.scores([row.tokens[-1] for row in rows], parents)
        free_RV = _allow(scores_RV, live, rows, forbid, rules)
        width = max(sentence.width for sentence in live)
        table = _largest(free_RV, width + 1)
        for number, sentence in enumerate(live):
            own_rows = slice(number * size, (number + 1) * size)
            sentence.advance(table[own_rows], scores_RV[own_rows], rules)
        unfinished = [number for number, sentence in enumerate(live) if not sentence.finished]
        if 0 < len(unfinished) <= KEPT * len(live):
            steps.keep(unfinished)
            live = [live[number] for number in unfinished]
            width = max(sentence.width for sentence in live)
        for sentence in live:
            sentence.pad(width)
        parents = [
            number * size + row.parent for number, sentence in enumerate(live) for row in sentence.rows
        ]
        size = width
    return [best(sentence.ended, n_best) for sentence in sentences]


def _largest(scores_RV: Array, count: int) -> list[list[tuple[float, int]]]:
    """Return the largest entries of each row with their columns, descending."""
    rows, vocabulary = scores_RV.shape
    count = min(count, vocabulary)
    if native_library.level():
        values_RK, columns_RK = np.empty((rows, count), np.float32), np.empty((rows, count), np.int64)
        native_library.call("top", "float32", scores_RV, values_RK, columns_RK, rows, vocabulary, count)
        return _pairs(values_RK, columns_RK)
    columns_RK = np.argpartition(-scores_RV, count - 1, axis=1)[:, :count]
    columns_RK = np.sort(columns_RK, axis=1)
    values_RK = np.take_along_axis(scores_RV, columns_RK, axis=1)
    order_RK = np.argsort(-values_RK, axis=1, kind="stable")
    in_order = (np.take_along_axis(part_RK, order_RK, axis=1) for part_RK in (values_RK, columns_RK))
    return _pairs(*in_order)


def _pairs(values_RK: Array, columns_RK: Array) -> list[list[tuple[float, int]]]:
    pairs = zip(values_RK.tolist(), columns_RK.tolist(), strict=True)
    return [list(zip(*row, strict=True)) for row in pairs]


def _allow(
    scores_RV: Array,
    sentences: Sequence[PhraseSentence],
    rows: Sequence[PhraseHypothesis],
    forbid: Forbid,
    rules: PhraseSearchRules,
) -> Array:
    """Return the scores of freely chosen tokens, -infinity where a token is not allowed."""
    free_RV: Array = scores_RV.copy()
    forbid(free_RV, [row.tokens for row in rows])
    free_RV[:, list(rules.reserved)] = -np.inf
    place = 0
    for sentence in sentences:
        for row in sentence.rows:
            closed = row.progress.closed
            follows_V = sentence.phrases[closed].follows_V if closed >= 0 else None
            if follows_V is not None:
                free_RV[place, ~follows_V] = -np.inf
            place += 1
    return free_RV
