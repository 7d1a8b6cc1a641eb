"""Routes translation requests to the translators of their languages."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from multihead.errors import UserError
from multihead.generation import Translation
from multihead.serve.batching import Batcher, BusyError
from multihead.serve.languages import name
from multihead.serve.request import RefusedError, TranslationRequest
from multihead.settings import SearchSettings


@dataclass(frozen=True)
class Direction:
    """A served translator.

    Attributes:
        name: run folder.
        source: source language.
        target: target language.
        batcher: queue in front of the translator.
        settings: search settings.
    """

    name: str
    source: str
    target: str
    batcher: Batcher
    settings: SearchSettings


@dataclass(frozen=True)
class Answer:
    """Translations of a request.

    Attributes:
        texts: the best translation of each text.
        alternatives: the next best translations of each text, best first; as many as were found.
        notes: warnings for the user, such as truncated outputs.
    """

    texts: list[str]
    alternatives: list[list[str]]
    notes: list[str]


class Service:
    """All served translators.

    Raises:
        UserError: two translators have the same pair of languages.
    """

    def __init__(self, directions: Sequence[Direction]) -> None:
        self.directions = tuple(directions)
        seen: dict[tuple[str, str], str] = {}
        for one in directions:
            other = seen.setdefault((one.source, one.target), one.name)
            if other != one.name:
                raise UserError(
                    f"{other} and {one.name} both translate from {one.source} to {one.target}",
                    remedy="Serve one of them, or start a second server with another --port.",
                )

    def languages(self) -> list[dict[str, object]]:
        """Return each source language with its target languages."""
        targets: dict[str, list[str]] = {}
        for one in self.directions:
            targets.setdefault(one.source, []).append(one.target)
        return [{"code": code, "name": name(code), "targets": found} for code, found in targets.items()]

    async def answer(self, request: TranslationRequest) -> Answer:
        """Translate the texts of a request.

        Raises:
            RefusedError: no translator for these languages, a line too long for the model, or a full queue.
        """
        direction = self.direction(request.source, request.target)
        settings = direction.settings
        if count := request.alternatives:
            beam = max(settings.beam_size, count + 1)
            settings = settings.model_copy(update={"n_best": count + 1, "beam_size": beam, "method": "beam"})
        parts = [text.split("\n") for text in request.texts]
        lines = [line.removesuffix("\r") for part in parts for line in part]
        try:
            found = await asyncio.wrap_future(direction.batcher.submit(lines, settings))
        except BusyError:
            raise RefusedError(503, "the queue is full; try again in a moment") from None
        _check(found)
        notes = [f"line {number}: {one.note}" for number, one in enumerate(found, 1) if one.note]
        rest = iter(found)
        texts = [[next(rest) for _ in part] for part in parts]
        best = ["\n".join(line.text for line in text) for text in texts]
        others = [[_alternative(text, rank) for rank in range(1, _count(text))] for text in texts]
        return Answer(best, others, notes)

    def direction(self, source: str, target: str) -> Direction:
        """Return the first translator between two languages, "" for any."""
        for one in self.directions:
            if source in ("", one.source) and target in ("", one.target):
                return one
        served = ", ".join(f"{one.source} to {one.target}" for one in self.directions)
        raise RefusedError(
            400,
            f"no translator from {source or 'any language'} to {target or 'any language'}; "
            f"this server translates {served}",
        )


def _check(found: Sequence[Translation]) -> None:
    """Refuse the request if any line was not translated, since a gap in the answer could go unnoticed."""
    for number, one in enumerate(found, start=1):
        if one.note and not one.hypotheses:
            raise RefusedError(400, f"line {number}: {one.note}")


def _count(text: Sequence[Translation]) -> int:
    """Return the number of translations of a text, including the best."""
    return max((len(line.hypotheses) for line in text), default=0)


def _alternative(text: Sequence[Translation], rank: int) -> str:
    """Join the translations of this rank of each line; a line with fewer contributes its last."""
    return "\n".join(
        line.hypotheses[min(rank, len(line.hypotheses) - 1)].text if line.hypotheses else line.text
        for line in text
    )
