"""A translator whose searches go through the fair queue, for one request at a time."""

import copy
import time
from collections.abc import Sequence
from concurrent.futures import CancelledError, Future
from concurrent.futures import TimeoutError as WaitingTimeoutError
from typing import Any, Self

from multihead.apps.serve.fair_queue import DeadlineError, FairQueue, Forced, Work
from multihead.inspect.maps.records import AttentionRecord
from multihead.recipe.settings import SearchSettings
from multihead.search.outputs import Hypothesis
from multihead.search.phrase import Phrase
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.batching import SourceLine
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.translation import Translation


class Ticket:
    """A request in the queue: its client, its deadline, and whether it was given up.

    Args:
        client: identifies the client, for fairness.
        seconds: time until the deadline.
    """

    def __init__(self, client: str = "", seconds: float = float("inf")) -> None:
        self.client = client
        self.deadline = time.monotonic() + seconds
        self._given_up = False
        self._waiting: Future[Any] | None = None

    def give_up(self) -> None:
        """Cancel what is queued; called when the client has left."""
        self._given_up = True
        if self._waiting is not None:
            self._waiting.cancel()

    def check(self) -> None:
        """Raise ``DeadlineError`` if the deadline passed or the client left."""
        if self._given_up or time.monotonic() > self.deadline:
            raise DeadlineError

    def result(self, future: Future[list[Translation]]) -> list[Translation]:
        """Wait for a result.

        Raises:
            DeadlineError: the deadline passed or the client left.
        """
        self._waiting = future
        if self._given_up:  # meanwhile
            future.cancel()
        left = self.deadline - time.monotonic()
        try:
            return future.result(None if left == float("inf") else max(0.0, left))
        except (WaitingTimeoutError, CancelledError):
            future.cancel()
            raise DeadlineError from None


class QueuedTranslator(LineTranslator):
    """Translator that searches in the thread of a queue, together with other requests.

    Args:
        translator: a loaded translator; its models are shared.
        queue: the queue.
        name: equal for translators with the same models; their requests share batches.
    """

    def __init__(self, translator: LineTranslator, queue: FairQueue, name: str) -> None:
        self.__dict__.update(translator.__dict__)
        self._inner, self._queue, self._name = translator, queue, name
        self.ticket = Ticket()

    def for_request(self, ticket: Ticket) -> Self:
        """Return this translator for a request."""
        translator = copy.copy(self)
        translator.ticket = ticket
        return translator

    def _plain(self) -> LineTranslator:
        """Return the inner translator for this one's tokenizers and direction."""
        plain = copy.copy(self._inner)
        plain.source_tokenizer, plain.target_tokenizer = self.source_tokenizer, self.target_tokenizer
        plain.asked = self.asked
        return plain

    def with_models(self) -> Any:
        """Return the ``Translator`` of the same run; its searches do not go through the queue."""
        return self._plain().with_models()

    def search_lines(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Search without the queue; see ``LineTranslator``."""
        return self._plain().search_lines(batch, settings, numbers)

    def attend_source(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionRecord]:
        """Return the model's attention, computed in this request's thread; see ``LineTranslator``.

        Raises:
            DeadlineError: the request's deadline passed or its client left.
        """
        self.ticket.check()
        return self._plain().attend_source(sources, targets)

    def translate_directed(
        self,
        lines: Sequence[str],
        settings: SearchSettings,
        *,
        prefixes: Sequence[str] | None = None,
        progress: OnCount | None = None,
        first_number: int = 0,
        phrases: Sequence[Sequence[Phrase]] | None = None,
    ) -> list[Translation]:
        """Queue lines and wait for their translations; see ``LineTranslator``.

        Raises:
            BusyError: the queue is full.
            DeadlineError: the request's deadline passed or its client left.
        """
        self.ticket.check()
        plain = self._plain()
        forced = None
        if prefixes is not None or phrases is not None:
            none: Sequence[Phrase] = ()
            forced = list(zip(prefixes or [""] * len(lines), phrases or [none] * len(lines), strict=True))
        # In this request's thread, so that no other request waits for it.
        plain.prepare(settings, begun=any(prefixes or ()), phrases=any(phrases or ()))

        def translate_batch(
            batch: Sequence[str], settings: SearchSettings, forced: Sequence[Forced] | None
        ) -> list[Translation]:
            begun, contained = zip(*forced, strict=True) if forced else (None, None)
            return plain.translate(
                batch, settings, prefixes=begun, first_number=first_number, phrases=contained
            )

        work = Work(
            translate_batch,
            lines,
            settings,
            self.ticket.client,
            forced,
            self.ticket.deadline,
            # Marked text has another tokenizer, and each direction has its own tags.
            (self._name, type(self.source_tokenizer).__name__, self.asked and self.asked.symbols),
        )
        return self.ticket.result(self._queue.submit(work))
