"""The web page, and the routes that only it uses."""

import asyncio
import importlib
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from multihead.apps.serve.handling import Handling, while_connected
from multihead.apps.serve.queued import Ticket
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TRANSLATE, one_text, parse_request, refuse_unknown
from multihead.apps.serve.service import ServedDirection, TranslatedText, for_request
from multihead.errors import UserError

FOLDER = Path(__file__).with_name("page")
ASSETS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
    "form-action 'none'; base-uri 'none'; frame-ancestors 'none'"
)
"""Content security policy of the page: it loads from this server only, and runs no inline script."""
MAX_SENTENCE = 500
"""Characters of a sentence whose attention is shown: the matrix grows with the square of its length."""
MAX_INSPECTIONS = 8
"""Maximum number of inspections running or waiting; more are refused."""
ATTENTION = ("q", "translation", "source", "target", "api_key")
CHOICES = ("q", "prefix", "source", "target", "api_key")
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}

InspectSentence = Callable[[str, str], str]
"""Returns the attention page for a run's name and a sentence."""


class PageRoutes:
    """The page and its own routes.

    Args:
        handling: reads and checks requests.
        inspect_sentence: makes the attention page of a sentence.
    """

    def __init__(self, handling: Handling, inspect_sentence: InspectSentence) -> None:
        self._handling, self._service = handling, handling.service
        self._inspect_sentence = inspect_sentence
        self._one_at_a_time = asyncio.Semaphore(1)
        self._inspections = 0

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/", self.page, methods=["GET"]),
            Route("/assets/{name}", self.asset, methods=["GET"]),
            Route("/sentences", self.sentences, methods=["POST"]),
            Route("/attention", self.attention, methods=["POST"]),
            Route("/choices", self.choices, methods=["POST"]),
            Route("/inspect", self.inspect, methods=["GET"]),
        ]

    async def page(self, request: Request) -> Response:
        """Return the page."""
        return HTMLResponse(_assets()["page.html"], headers=HEADERS)

    async def asset(self, request: Request) -> Response:
        """Return a script or style sheet of the page."""
        name = request.path_params["name"]
        kind = ASSETS.get(Path(name).suffix)
        if kind is None or name not in _assets():
            raise RefusedError(404, "there is no such file")
        headers = {**HEADERS, "Cache-Control": "no-cache"}
        return Response(_assets()[name], media_type=kind, headers=headers)

    async def sentences(self, request: Request) -> Response:
        """Translate one text; the answer lists its sentences. Fields as in /translate."""
        handling = self._handling
        values = await handling.values(request, TRANSLATE)
        parsed = parse_request(values, max_chars=handling.limits.chars)
        if not parsed.single or parsed.format != "text":
            raise RefusedError(400, '"q" must be one plain text')
        direction = self._service.direction(parsed.source, parsed.target, parsed.texts[0])
        handling.spend(request, direction, len(parsed.texts[0]))
        translating = self._service.translate(
            parsed.texts, direction, handling.options(request, parsed, direction), request.state.client
        )
        (answer,) = await while_connected(request, translating)
        return JSONResponse(_sentences(answer, direction))

    async def attention(self, request: Request) -> Response:
        """Return the words of a sentence and of its translation, and the attention between them."""
        values = await self._handling.values(request, ATTENTION)
        text, translation = (self._sentence(values, name) for name in ("q", "translation"))
        direction = self._handling.direction(values, text)

        def compute(ticket: Ticket) -> Any:
            return _words().words_of(for_request(direction, ticket).translator, text, translation)

        alignment = await while_connected(request, self._service.run(compute, request.state.client))
        return JSONResponse(
            {
                "source": alignment.source,
                "target": alignment.target,
                "weights": alignment.weights_TS,
                "probabilities": alignment.probabilities,
            }
        )

    async def choices(self, request: Request) -> Response:
        """Return translations with the same beginning and different next words."""
        handling = self._handling
        values = await handling.values(request, CHOICES)
        text = self._sentence(values, "q")
        prefix = one_text(values, "prefix", MAX_SENTENCE)
        direction = handling.direction(values, text)
        handling.spend(request, direction, len(text))

        def compute(ticket: Ticket) -> Any:
            translator = for_request(direction, ticket).translator
            return _words().choices(translator, text, prefix.rstrip(), direction.settings)

        translations = await while_connected(request, self._service.run(compute, request.state.client))
        return JSONResponse(
            [{"text": translation, "probability": round(chance, 4)} for translation, chance in translations]
        )

    async def inspect(self, request: Request) -> Response:
        """Return the page that shows every layer and head for a sentence."""
        values = dict(request.query_params)
        self._handling.authorise(request, values)
        refuse_unknown(values, ("q", "source", "target", "api_key"), "/inspect")
        sentence = self._sentence(values, "q").strip()
        direction = self._handling.direction(values, sentence)
        try:
            html = await while_connected(request, self._inspect(direction.name, sentence))
        except UserError as error:  # caused by the sentence, since the run is already loaded
            raise RefusedError(400, str(error)) from None
        return HTMLResponse(html)

    async def _inspect(self, run: str, sentence: str) -> str:
        if self._inspections >= MAX_INSPECTIONS:
            raise RefusedError(503, "too many inspections at once; try again in a moment", retry=1)
        self._inspections += 1
        try:
            async with self._one_at_a_time:
                return await run_in_threadpool(self._inspect_sentence, run, sentence)
        finally:
            self._inspections -= 1

    def _sentence(self, values: Mapping[str, object], name: str) -> str:
        text = one_text(values, name, self._handling.limits.chars)
        if not text.strip() or "\n" in text or len(text) > MAX_SENTENCE:
            fact = f'"{name}" must be one sentence of at most {MAX_SENTENCE} characters'
            raise RefusedError(400, fact)
        return text


def _sentences(answer: TranslatedText, direction: ServedDirection) -> dict[str, object]:
    return {
        "translatedText": answer.text,
        "source": direction.source,
        "target": direction.target,
        "confidence": round(answer.confidence, 3),
        "alternatives": answer.alternatives,
        "notes": answer.notes,
        "sentences": [
            {
                "source": sentence.source,
                "text": sentence.text,
                "confidence": round(sentence.confidence, 3),
                "alternatives": sentence.alternatives,
                "doubtful": sentence.doubtful,
                "searched": sentence.searched,
                "terms": [{"source": term.source, "target": term.target} for term in sentence.terms],
            }
            for sentence in answer.sentences
        ],
    }


@cache
def _assets() -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}


def _words() -> Any:
    """Return ``serve.words``, which is imported on first use because it needs PyTorch."""
    return importlib.import_module("multihead.apps.serve.words")
