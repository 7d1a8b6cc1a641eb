"""The routes: a page for people, LibreTranslate's interface for programs."""

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
from multihead.serve.request import RefusedError, question
from multihead.serve.service import Service

PAGE = Path(__file__).with_name("page.html")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
"""The page fetches nothing but translations, from here."""
PATIENCE = 0.5
"""Seconds between two looks whether somebody still waits."""
MOST_INSPECTED = 500
"""Characters of a sentence that is looked into: its page grows with the square."""

MOST_WAITING = 8
"""Sentences that wait to be looked into; more are refused."""

T = TypeVar("T")
Look = Callable[[str, str], str]
"""From a run's name and a sentence to a page that shows what the model looks at."""


def application(
    service: Service, look: Look, *, most_chars: int = 20_000, origin: str | None = None
) -> Starlette:
    """Return the ASGI application.

    Args:
        service: who translates.
        look: makes the page that looks into a translation.
        most_chars: of all texts of a request.
        origin: a web page's origin that may ask from a browser, "*" for any; None: only the page served here.
    """
    looking = asyncio.Semaphore(1)
    waiting = 0

    async def translate(request: Request) -> Response:
        asked = question(await _body(request, 8 * most_chars + 4096), most_chars=most_chars)
        answer = await _unless_gone(request, service.answer(asked))
        told: dict[str, object] = {"translatedText": answer.texts[0] if asked.one else answer.texts}
        if asked.alternatives:
            told["alternatives"] = answer.alternatives[0] if asked.one else answer.alternatives
        if answer.notes:
            told["notes"] = answer.notes
        return JSONResponse(told)

    async def inspect(request: Request) -> Response:
        sentence = request.query_params.get("q", "").strip()
        if not sentence or "\n" in sentence or len(sentence) > MOST_INSPECTED:
            raise RefusedError(400, f'"q" must be one sentence of at most {MOST_INSPECTED} characters')
        languages = (request.query_params.get(side, "") for side in ("source", "target"))
        direction = service.direction(*languages)
        try:
            return HTMLResponse(await _unless_gone(request, looked(direction.name, sentence)))
        except UserError as error:  # of this sentence: the run itself is loaded
            raise RefusedError(400, str(error)) from None

    async def looked(run: str, sentence: str) -> str:
        nonlocal waiting
        if waiting >= MOST_WAITING:
            raise RefusedError(503, "too many sentences are being looked into; ask again")
        waiting += 1
        try:
            async with looking:
                return await run_in_threadpool(look, run, sentence)
        finally:
            waiting -= 1

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
    allowed = [Middleware(CORSMiddleware, allow_origins=[origin], allow_methods=["*"])] if origin else []
    return Starlette(
        routes=routes,
        middleware=allowed,
        exception_handlers={
            RefusedError: _refused,
            UserError: _wrong,
            ClientDisconnect: _gone,
            HTTPException: _nowhere,
        },
    )


async def _unless_gone(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """Wait for an answer as long as somebody waits for it; what nobody wants any more is not translated."""
    task = asyncio.ensure_future(answer)
    try:
        while not (await asyncio.wait({task}, timeout=PATIENCE))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return await task
    finally:
        task.cancel()


async def _body(request: Request, most_bytes: int) -> object:
    """Return what a body says, JSON's or a form's; no more of it is read than it may have."""
    read = bytearray()
    async for part in request.stream():
        read += part
        if len(read) > most_bytes:
            raise RefusedError(413, "the body is too large; ask in parts")
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    # What curl sends without being told a kind is called a form, and may be JSON all the same.
    if kind == "application/x-www-form-urlencoded" and not read.lstrip().startswith(b"{"):
        return _form(bytes(read))
    if kind.startswith("multipart/"):
        raise RefusedError(415, f"{kind} is not read here; send JSON, or a form as curl -d does")
    try:
        return json.loads(bytes(read))
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON ({error})") from None


def _form(body: bytes) -> dict[str, str]:
    try:
        fields = parse_qsl(body.decode("utf-8"), keep_blank_values=True, errors="strict")
    except ValueError:
        raise RefusedError(400, "the form's fields are not UTF-8") from None
    return dict(fields)


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    headers = {"Retry-After": "1"} if error.status == 503 else {}
    return JSONResponse({"error": error.fact}, error.status, headers)


async def _nowhere(request: Request, error: Exception) -> Response:
    """Tell what does not lead anywhere, or not like this."""
    assert isinstance(error, HTTPException)
    fact = {
        404: f"there is no {request.url.path} here",
        405: f"{request.method} is not for {request.url.path}",
    }
    return JSONResponse(
        {"error": fact.get(error.status_code, error.detail)}, error.status_code, error.headers
    )


async def _gone(request: Request, error: Exception) -> Response:
    """Nobody is left to be told."""
    return Response(status_code=400)


async def _wrong(request: Request, error: Exception) -> Response:
    """What the model itself refuses, such as scores that are no numbers."""
    return JSONResponse({"error": str(error)}, 500)
