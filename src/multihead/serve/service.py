"""Questions to the translators that answer them."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from multihead.errors import UserError
from multihead.generation import Translation
from multihead.serve.batching import Batcher, BusyError
from multihead.serve.languages import name
from multihead.serve.request import Question, RefusedError
from multihead.settings import SearchSettings


@dataclass(frozen=True)
class Direction:
    """A translator that is served.

    Attributes:
        name: its run's.
        source: language that it translates from.
        target: language that it translates to.
        waiting: where it is asked.
        settings: how it searches.
    """

    name: str
    source: str
    target: str
    waiting: Batcher
    settings: SearchSettings


@dataclass(frozen=True)
class Answer:
    """Translations of a question's texts.

    Attributes:
        texts: a translation of each.
        alternatives: of each text the next best translations, best first; as many as were found.
        notes: what the reader should know: outputs that were cut.
    """

    texts: list[str]
    alternatives: list[list[str]]
    notes: list[str]


class Service:
    """All translators that are served.

    Raises:
        UserError: two of them translate between the same languages.
    """

    def __init__(self, directions: Sequence[Direction]) -> None:
        self.directions = tuple(directions)
        seen: dict[tuple[str, str], str] = {}
        for one in directions:
            other = seen.setdefault((one.source, one.target), one.name)
            if other != one.name:
                raise UserError(
                    f"{other} and {one.name} both translate from {one.source} to {one.target}",
                    remedy="Serve one of them; or both, each on a --port of its own.",
                )

    def languages(self) -> list[dict[str, object]]:
        """Return each source language with those that it is translated to."""
        targets: dict[str, list[str]] = {}
        for one in self.directions:
            targets.setdefault(one.source, []).append(one.target)
        return [{"code": code, "name": name(code), "targets": found} for code, found in targets.items()]

    async def answer(self, asked: Question) -> Answer:
        """Translate.

        Raises:
            RefusedError: no such languages here; a line that the model cannot read; too many requests.
        """
        direction = self.direction(asked.source, asked.target)
        settings = direction.settings
        if wanted := asked.alternatives:
            beam = max(settings.beam_size, wanted + 1)
            settings = settings.model_copy(update={"n_best": wanted + 1, "beam_size": beam, "method": "beam"})
        parts = [text.split("\n") for text in asked.texts]
        lines = [line.removesuffix("\r") for part in parts for line in part]
        try:
            found = await asyncio.wrap_future(direction.waiting.submit(lines, settings))
        except BusyError:
            raise RefusedError(503, "too many requests are waiting; ask again in a moment") from None
        _check(found)
        notes = [f"line {number}: {one.note}" for number, one in enumerate(found, 1) if one.note]
        rest = iter(found)
        texts = [[next(rest) for _ in part] for part in parts]
        best = ["\n".join(line.text for line in text) for text in texts]
        others = [[_alternative(text, rank) for rank in range(1, _found(text))] for text in texts]
        return Answer(best, others, notes)

    def direction(self, source: str, target: str) -> Direction:
        """Return the translator between two languages, "" for any; the first, where several fit."""
        for one in self.directions:
            if source in ("", one.source) and target in ("", one.target):
                return one
        there = ", ".join(f"{one.source} to {one.target}" for one in self.directions)
        raise RefusedError(
            400, f"nothing here translates from {source or 'any'} to {target or 'any'}; there is {there}"
        )


def _check(found: Sequence[Translation]) -> None:
    """Refuse the whole question where a line was not translated: an answer with a hole could pass unseen."""
    for number, one in enumerate(found, start=1):
        if one.note and not one.hypotheses:
            raise RefusedError(400, f"line {number}: {one.note}")


def _found(text: Sequence[Translation]) -> int:
    """How many translations there are of a text, the best included."""
    return max((len(line.hypotheses) for line in text), default=0)


def _alternative(text: Sequence[Translation], rank: int) -> str:
    """Each line's next best translation of that rank; its last where it has no more."""
    return "\n".join(
        line.hypotheses[min(rank, len(line.hypotheses) - 1)].text if line.hypotheses else line.text
        for line in text
    )
