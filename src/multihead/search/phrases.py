"""Beam search for outputs that contain given phrases, with dynamic beam allocation (Post & Vilar 2018).

The beam is divided among banks: hypotheses that have written equally many tokens of the phrases. A hypothesis
that writes a phrase, at the price of some probability, does not compete with those that have not begun one.
"""

import math
from collections.abc import Collection, Sequence
from typing import NamedTuple, TypeVar

import torch
from torch import Tensor

from multihead.batch import Source
from multihead.search.constraints import Constraint, forbid_
from multihead.search.distribution import log_normaliser
from multihead.search.hypotheses import Hypothesis, best, length_penalty
from multihead.search.phrase import Phrase
from multihead.search.request import DEFAULT, Limits
from multihead.search.stepper import State, Stepper

__all__ = ["Phrase", "phrase_beam"]

S = TypeVar("S", bound=State)
MAX_BEAM = 24
"""Most hypotheses of a sentence alive at a time."""
MOST_ENDED = 3
"""A search ends when this many times the beam size have ended: the first are often too short."""


class _Progress(NamedTuple):
    """The phrases that a hypothesis has written.

    Attributes:
        done: numbers of whole ones.
        begun: (phrase, form, tokens written) of those in writing.
        closed: the phrase that the last token completed, -1 for none.
    """

    done: frozenset[int] = frozenset()
    begun: frozenset[tuple[int, int, int]] = frozenset()
    closed: int = -1


class _Row(NamedTuple):
    tokens: tuple[int, ...]
    total: float
    progress: _Progress
    parent: int


class _Rules(NamedTuple):
    eos_id: int
    alpha: float
    beam_size: int
    min_length: int
    n_best: int
    reserved_X: Tensor


class _Sentence:
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
        self.rows = [_Row(tuple(prefix), 0.0, _Progress(), 0)]
        self.ended: list[Hypothesis] = []
        self.finished = False
        self._banks = 1 + sum(phrase.length for phrase in phrases)

    def advance(self, table: Sequence[Sequence[tuple[float, int]]], scores_RV: Tensor, rules: _Rules) -> None:
        """Extend the hypotheses by a token.

        Args:
            table: for each row the best allowed (log-probability, token).
            scores_RV: log-probabilities of all tokens.
            rules: of the search.
        """
        if self.finished:
            return
        found: list[_Row] = []
        for number, (row, free) in enumerate(zip(self.rows, table, strict=True)):
            if row.total == -math.inf:
                continue
            wanted = self.wanted(row.progress)
            choices = {token: value for value, token in free if value > -math.inf}
            choices |= {token: float(scores_RV[number, token]) for token in wanted}
            full = len(row.tokens) - 1 >= self.longest
            if full:
                choices = {rules.eos_id: float(scores_RV[number, rules.eos_id])}
            plain = _Progress(row.progress.done)
            for token, value in choices.items():
                if token != rules.eos_id:
                    progress = self.after(row.progress, token) if token in wanted else plain
                    found.append(_Row((*row.tokens, token), row.total + value, progress, number))
                elif len(row.progress.done) == len(self.phrases) and len(row.tokens) > rules.min_length:
                    self._end(row, value, rules.alpha, full and value < max(v for v, _ in free))
        self.rows = self._chosen(found)
        self.finished = not self.rows or self._settled(rules)

    def _end(self, row: _Row, value: float, alpha: float, cut: bool) -> None:
        total = row.total + value
        score = total / length_penalty(float(len(row.tokens)), alpha)
        self.ended.append(Hypothesis(row.tokens[1:], total, score, not cut))

    def _settled(self, rules: _Rules) -> bool:
        """Return True if enough hypotheses have ended, or none alive can be among the n best."""
        if len(self.ended) >= max(MOST_ENDED * rules.beam_size, rules.n_best):
            return True
        if len(self.ended) < rules.n_best:
            return False
        lengths = [float(len(self.rows[0].tokens) + 1), float(self.longest + 1)]
        highest = max(row.total for row in self.rows) / max(length_penalty(n, rules.alpha) for n in lengths)
        return highest <= sorted(h.score for h in self.ended)[-rules.n_best]

    def _chosen(self, found: list[_Row]) -> list[_Row]:
        """Divide the beam among the banks; places that a bank cannot fill go to the fullest banks first."""
        banks: dict[int, list[_Row]] = {}
        for row in sorted(found, key=lambda row: -row.total):
            banks.setdefault(self.credit(row.progress), []).append(row)
        share = max(1, self.width // self._banks)
        chosen = [row for credit in sorted(banks, reverse=True) for row in banks[credit][:share]][
            : self.width
        ]
        rest = [row for credit in sorted(banks, reverse=True) for row in banks[credit][share:]]
        return chosen + rest[: self.width - len(chosen)]

    def pad(self, width: int) -> None:
        """Fill the rows up with dead ones."""
        spare = self.rows[0] if self.rows else _Row((0,), -math.inf, _Progress(), 0)
        dead = spare._replace(total=-math.inf, progress=_Progress())
        self.rows = [*self.rows, *[dead] * (width - len(self.rows))][:width]

    def credit(self, progress: _Progress) -> int:
        """Return the number of a hypothesis's bank."""
        whole = sum(self.phrases[number].length for number in progress.done)
        return whole + max(
            (min(at, self.phrases[p].length - 1) for p, _, at in progress.begun if p not in progress.done),
            default=0,
        )

    def wanted(self, progress: _Progress) -> set[int]:
        """Return the tokens that begin or continue a phrase."""
        tokens = {self.phrases[p].forms[form][at] for p, form, at in progress.begun}
        for number, phrase in enumerate(self.phrases):
            if number not in progress.done:
                tokens.update(form[0] for form in phrase.forms)
        return tokens

    def after(self, progress: _Progress, token: int) -> _Progress:
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
            return _Progress(progress.done, frozenset(begun))
        # Of equal phrases each needs its own occurrence; a longer form may still go on.
        closed = next((p for p in whole if p not in progress.done), whole[0])
        longer = {(p, f, at) for p, f, at in begun if p == closed and at < len(self.phrases[p].forms[f])}
        return _Progress(progress.done | {closed}, frozenset(longer), closed)


@torch.inference_mode()
def phrase_beam(
    stepper: Stepper[S],
    source: Source,
    prefixes: Sequence[Sequence[int]],
    phrases: Sequence[Sequence[Phrase]],
    *,
    eos_id: int,
    beam_size: int = 5,
    alpha: float = 0.6,
    n_best: int = 1,
    limits: Limits = DEFAULT,
    constraints: Sequence[Constraint] = (),
    reserved: Collection[int] = (),
) -> list[list[Hypothesis]]:
    """Return the best hypotheses that contain all phrases of their sentence, best first.

    A sentence for which none is found within its length limit gets an empty list.

    Args:
        stepper: the model.
        source: B sentences.
        prefixes: B sequences, each the begin symbol and a forced prefix.
        phrases: the phrases of each sentence; they do not overlap in the output.
        eos_id: the end symbol.
        beam_size: hypotheses alive at a time; more where the phrases have many tokens.
        alpha: exponent of the length penalty.
        n_best: hypotheses to return.
        limits: length limits; phrases may be written beyond them, but not beyond the model's capacity.
        constraints: name the forbidden continuations.
        reserved: tokens that may only be written as part of a phrase.
    """
    device = source.lengths_B.device
    sentences = []
    for prefix, own, limit in zip(prefixes, phrases, limits.longest(source.lengths_B).tolist(), strict=True):
        size = sum(phrase.length for phrase in own)
        most = limit + size if limits.capacity is None else min(limit + size, limits.capacity)
        sentences.append(
            _Sentence(prefix, own, most, min(MAX_BEAM, 3 * beam_size + size if own else beam_size))
        )
    rules = _Rules(
        eos_id,
        alpha,
        beam_size,
        limits.min_length,
        n_best,
        torch.tensor(sorted(reserved), device=device).long(),
    )
    width = max((sentence.width for sentence in sentences), default=0)
    state = stepper.start(source, prefixes)
    size, step = 1, 0
    while not all(sentence.finished for sentence in sentences):
        rows = [row for sentence in sentences for row in sentence.rows]
        logits_RV, state = stepper.step(torch.tensor([row.tokens[-1] for row in rows], device=device), state)
        scores_RV = logits_RV.float()
        scores_RV = scores_RV - log_normaliser(scores_RV, step)[:, None]
        free_RV = _allowed(scores_RV, sentences, rows, constraints, rules)
        values_RK, tokens_RK = free_RV.topk(min(width + 1, free_RV.shape[1]), dim=1)
        table = [
            list(zip(values, tokens, strict=True))
            for values, tokens in zip(values_RK.tolist(), tokens_RK.tolist(), strict=True)
        ]
        for number, sentence in enumerate(sentences):
            own_rows = slice(number * size, (number + 1) * size)
            sentence.advance(table[own_rows], scores_RV[own_rows], rules)
            sentence.pad(width)
        parents = [
            number * size + row.parent for number, sentence in enumerate(sentences) for row in sentence.rows
        ]
        state = state.select(torch.tensor(parents, device=device))
        size, step = width, step + 1
    return [best(sentence.ended, n_best) for sentence in sentences]


def _allowed(
    scores_RV: Tensor,
    sentences: Sequence[_Sentence],
    rows: Sequence[_Row],
    constraints: Sequence[Constraint],
    rules: _Rules,
) -> Tensor:
    """Return the scores of freely chosen tokens, -infinity where a token is not allowed."""
    free_RV = scores_RV.clone()
    longest = max(len(row.tokens) for row in rows)
    history = [[-1] * (longest - len(row.tokens)) + list(row.tokens) for row in rows]
    forbid_(free_RV, torch.tensor(history, device=free_RV.device), constraints)
    free_RV[:, rules.reserved_X] = -torch.inf
    place = 0
    for sentence in sentences:
        for row in sentence.rows:
            closed = row.progress.closed
            follows_V = sentence.phrases[closed].follows_V if closed >= 0 else None
            if follows_V is not None:
                free_RV[place] = free_RV[place].where(
                    torch.as_tensor(follows_V, device=free_RV.device), -torch.inf
                )
            place += 1
    return free_RV
