"""Routes of the server: a web page, and an HTTP API compatible with LibreTranslate."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route

from multihead.errors import UserError
from multihead.serve.request import RefusedError, parse_request
from multihead.serve.service import Service

PAGE = Path(__file__).with_name("page.html")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
"""Content security policy of the page: it may connect to this server only."""
POLL_SECONDS = 0.5
"""Interval of the check whether a client is still connected."""
MAX_INSPECTED_CHARS = 500
"""Limit for an inspected sentence, because its page grows with the square of its length."""

MAX_INSPECTIONS = 8
"""Number of inspections running or waiting; further ones are refused."""

T = TypeVar("T")
InspectSentence = Callable[[str, str], str]
"""Returns the attention page for a run's name and a sentence."""


def application(
    service: Service, inspect_sentence: InspectSentence, *, max_chars: int = 20_000, origin: str | None = None
) -> Starlette:
    """Return the ASGI application.

    Args:
        service: the translators.
        inspect_sentence: makes the attention page of a sentence.
        max_chars: limit for all texts of a request together.
        origin: web origin whose pages may send requests from a browser, "*" for any; None: only the server's
            own page.
    """
    inspecting = asyncio.Semaphore(1)
    inspections = 0

    async def translate(request: Request) -> Response:
        body = await _body(request, 8 * max_chars + 4096)
        wanted = parse_request(body, max_chars=max_chars)
        answer = await _while_connected(request, service.answer(wanted))
        response: dict[str, object] = {"translatedText": answer.texts[0] if wanted.single else answer.texts}
        if wanted.alternatives:
            response["alternatives"] = answer.alternatives[0] if wanted.single else answer.alternatives
        if answer.notes:
            response["notes"] = answer.notes
        return JSONResponse(response)

    async def inspect(request: Request) -> Response:
        sentence = request.query_params.get("q", "").strip()
        if not sentence or "\n" in sentence or len(sentence) > MAX_INSPECTED_CHARS:
            raise RefusedError(400, f'"q" must be one sentence of at most {MAX_INSPECTED_CHARS} characters')
        languages = (request.query_params.get(side, "") for side in ("source", "target"))
        direction = service.direction(*languages)
        try:
            return HTMLResponse(await _while_connected(request, inspected(direction.name, sentence)))
        except UserError as error:  # caused by the sentence, since the run is already loaded
            raise RefusedError(400, str(error)) from None

    async def inspected(run: str, sentence: str) -> str:
        nonlocal inspections
        if inspections >= MAX_INSPECTIONS:
            raise RefusedError(503, "too many inspections at once; try again in a moment")
        inspections += 1
        try:
            async with inspecting:
                return await run_in_threadpool(inspect_sentence, run, sentence)
        finally:
            inspections -= 1

    async def languages(request: Request) -> Response:
        return JSONResponse(service.languages())

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def page(request: Request) -> Response:
        headers = {"Content-Security-Policy": POLICY}
        return HTMLResponse(PAGE.read_text(encoding="utf-8"), headers=headers)

    routes = [
        Route("/", page),
        Route("/translate", translate, methods=["POST"]),
        Route("/languages", languages),
        Route("/inspect", inspect),
        Route("/health", health),
    ]
    cors = [Middleware(CORSMiddleware, allow_origins=[origin], allow_methods=["*"])] if origin else []
    return Starlette(
        routes=routes,
        middleware=cors,
        exception_handlers={
            RefusedError: _refused,
            UserError: _server_error,
            ClientDisconnect: _disconnected,
            HTTPException: _http_error,
        },
    )


async def _while_connected(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """Await an answer and cancel it if the client disconnects."""
    task = asyncio.ensure_future(answer)
    try:
        while not (await asyncio.wait({task}, timeout=POLL_SECONDS))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return await task
    finally:
        task.cancel()


async def _body(request: Request, max_bytes: int) -> object:
    """Parse a JSON or form body, reading no more than ``max_bytes``."""
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > max_bytes:
            raise RefusedError(413, "the body is too large; split the request")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # By default curl labels its body as a form, even if it is JSON.
    if kind == "application/x-www-form-urlencoded" and not read.lstrip().startswith(b"{"):
        return _form(bytes(read))
    if kind.startswith("multipart/"):
        raise RefusedError(415, f"{kind} is not supported; send JSON, or a form as curl -d does")
    try:
        return json.loads(bytes(read))
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON ({error})") from None


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise RefusedError(400, "the fields of the form are not UTF-8") from None
    return dict(fields)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    headers = {"Retry-After": "1"} if error.status == 503 else {}
    return JSONResponse({"error": error.fact}, error.status, headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    fact = {
        404: f"there is no {request.url.path}",
        405: f"{request.url.path} does not accept {request.method}",
    }
    return JSONResponse(
        {"error": fact.get(error.status_code, error.detail)}, error.status_code, error.headers
    )


async def _disconnected(request: Request, error: Exception) -> Response:
    """Close a request whose client has disconnected."""
    return Response(status_code=400)


async def _server_error(request: Request, error: Exception) -> Response:
    """Answer with an error of the model itself, such as non-finite scores."""
    return JSONResponse({"error": str(error)}, 500)
