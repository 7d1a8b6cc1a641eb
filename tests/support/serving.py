"""A server in this process whose translators reverse their lines, and a client for it."""

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import uvicorn

from multihead.apps.serve.app import Serving, application
from multihead.apps.serve.connections import READ_SECONDS, timed_protocol
from multihead.apps.serve.documents import TranslatedDocument, TranslateDocument
from multihead.apps.serve.fair_queue import FairQueue
from multihead.apps.serve.queued import QueuedTranslator
from multihead.apps.serve.service import Review, ServedDirection, Service
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.lines import Output, Translation, Translator
from multihead.tasks.translation.texts.text_translator import TextTranslator

SLOW = threading.Event()
"""A line "slow" is translated once this is set."""


class Letters:
    """Tokenizer whose tokens are characters."""

    unk_id = -1

    def encode_batch(self, lines: Sequence[str]) -> list[list[int]]:
        return [list(map(ord, line)) for line in lines]


class Reverser(Translator):
    """Translator that reverses lines; alternatives are upper-cased and lower-cased.

    A line "broken" fails, one of more than 30 characters is too long.
    """

    def __init__(self) -> None:
        self.directions = self.asked = self.limit = None
        self.models = ()
        self.source_tokenizer = self.target_tokenizer = Letters()  # type: ignore[assignment]
        self.settings = SearchSettings(method="beam", beam_size=2)

    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **_: Any
    ) -> list[Translation]:
        if "broken" in lines:
            raise UserError("scores are not finite")
        if "slow" in lines:
            assert SLOW.wait(30)
        count = settings.n_best if settings else 1
        return [_reversed(line, count) for line in lines]


def _reversed(line: str, count: int) -> Translation:
    if len(line) > 30:
        return Translation("", line, note="too long")
    variants = [line[::-1], line[::-1].upper(), line[::-1].lower()][:count]
    outputs = tuple(Output(text, (), 0.0, -0.1 * len(line), cut=False) for text in variants)
    return Translation(line[::-1], line, outputs if line else (), "cut" if line == "cut" else None)


def inspected(run: str, sentence: str) -> str:
    if sentence == "_":
        raise UserError("the sentence has no words")
    if sentence == "slow":
        assert SLOW.wait(30)
    return f"<p>{run}: {len(sentence)}"


def upper(
    translator: TextTranslator, direction: ServedDirection, name: str, content: bytes
) -> TranslatedDocument:
    """Translate a document to capitals; an XLIFF file names another language, and has a place to review."""
    if name.endswith(".po"):
        raise UserError("malformed", place=name)
    is_xliff = name.endswith(".xlf")
    review = [Review(f"{name}:3", "low confidence")] if is_xliff else []
    return TranslatedDocument(content.upper(), ["names another language"] if is_xliff else [], review)


@contextmanager
def service(
    *pairs: tuple[str, str], seconds: float = 60.0, translator: Translator | None = None
) -> Iterator[Service]:
    """Yield a service that translates between these languages."""
    with FairQueue() as queue:
        directions = []
        for a, b in pairs:
            own = translator or Reverser()
            texts = TextTranslator(QueuedTranslator(own, queue, f"{a}-{b}"), a, b)
            directions.append(ServedDirection(f"runs/{a}-{b}", a, b, texts, own.settings))
        yield Service(directions, queue, seconds=seconds)


@contextmanager
def running(
    served: Service,
    serving: Serving | None = None,
    *,
    translate_document: TranslateDocument | None = None,
    read_seconds: float = READ_SECONDS,
    idle_seconds: int = 30,
) -> Iterator[str]:
    """Yield the address of a running server."""
    with closing(socket.create_server(("127.0.0.1", 0), backlog=1024)) as at:
        app = application(served, inspected, translate_document=translate_document, serving=serving)
        config = uvicorn.Config(
            app,
            http=timed_protocol(read_seconds),
            log_level="critical",
            lifespan="off",
            ws="none",
            timeout_keep_alive=idle_seconds,
            timeout_graceful_shutdown=5,
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [at]})
        thread.start()
        try:
            while not server.started:
                time.sleep(0.01)
            yield f"http://127.0.0.1:{at.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def reversing(
    *pairs: tuple[str, str], serving: Serving | None = None, seconds: float = 60.0, **options: Any
) -> Iterator[str]:
    """Yield the address of a server that reverses lines between these languages."""
    with ExitStack() as stack:
        served = stack.enter_context(service(*(pairs or (("de", "en"),)), seconds=seconds))
        yield stack.enter_context(running(served, serving, **options))


def send(
    url: str,
    body: bytes | None = None,
    kind: str | None = "application/json",
    *,
    method: str | None = None,
    headers: Mapping[str, str] = {},
) -> tuple[int, str, Mapping[str, str]]:
    """Send a request and return status, body and headers of the answer."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=30)
    given = {**({"Content-Type": kind} if kind and body is not None else {}), **headers}
    path = parts.path + (f"?{parts.query}" if parts.query else "")
    with closing(connection):
        connection.request(method or ("GET" if body is None else "POST"), path, body, given)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), {k.lower(): v for k, v in answer.getheaders()}


def post(url: str, **fields: object) -> tuple[int, Any]:
    """Send fields as JSON and return status and answer."""
    status, answer, _ = send(url, json.dumps(fields).encode())
    return status, json.loads(answer)
