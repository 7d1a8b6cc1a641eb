"""The ASGI application: a web page, LibreTranslate's API, DeepL's API, metrics and an OpenAPI description."""

from collections.abc import Collection
from dataclasses import dataclass, field

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multihead.apps.serve.access import ApiKeys, Rate
from multihead.apps.serve.corrections import Corrections
from multihead.apps.serve.deepl import DeepL
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.guard import Guard
from multihead.apps.serve.handling import Handling, RequestLimits
from multihead.apps.serve.libretranslate import LibreTranslate, TranslateDocument
from multihead.apps.serve.logs import Log, no_log
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.openapi import description
from multihead.apps.serve.page_routes import InspectSentence, PageRoutes
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.service import Service
from multihead.errors import UserError


@dataclass(frozen=True)
class Serving:
    """Options of a server.

    Attributes:
        limits: limits of each request.
        keys: keys that may use it; None: everybody may.
        requests: number of requests a minute for each address.
        corrections: stores corrections; None: they are refused.
        glossaries: terms that requests may name.
        origin: web origin whose pages may use it, "*" for any; None: only its own.
        names: host names, besides addresses and localhost.
        log: writes one record for each request.
        metrics: the server's metrics.
    """

    limits: RequestLimits = field(default_factory=RequestLimits)
    keys: ApiKeys | None = None
    requests: Rate = field(default_factory=lambda: Rate(None, "requests"))
    corrections: Corrections | None = None
    glossaries: Glossaries = field(default_factory=Glossaries)
    origin: str | None = None
    names: Collection[str] = ()
    log: Log = no_log
    metrics: Metrics = field(default_factory=Metrics)


def application(
    service: Service,
    inspect_sentence: InspectSentence,
    *,
    translate_document: TranslateDocument | None = None,
    serving: Serving | None = None,
) -> Starlette:
    """Return the ASGI application.

    Args:
        service: the translators.
        inspect_sentence: makes the attention page of a sentence.
        translate_document: translates documents; None: they are refused.
        serving: the server's options.
    """
    settings = serving or Serving()
    metrics = settings.metrics
    metrics.watch_queue(lambda: service.queue.waiting)
    handling = Handling(
        service,
        limits=settings.limits,
        keys=settings.keys,
        corrections=settings.corrections,
        glossaries=settings.glossaries,
        metrics=metrics,
    )

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def expose(request: Request) -> Response:
        handling.authorise(request)
        return Response(metrics.text(), media_type=metrics.content_type)

    async def openapi(request: Request) -> Response:
        return JSONResponse(description(service, settings.limits, keys=settings.keys is not None))

    routes = [
        *PageRoutes(handling, inspect_sentence).routes,
        *LibreTranslate(handling, translate_document).routes,
        *DeepL(handling).routes,
        Route("/health", health, methods=["GET"]),
        Route("/metrics", expose, methods=["GET"]),
        Route("/openapi.json", openapi, methods=["GET"]),
    ]
    middleware = [
        Middleware(
            Guard,
            names=settings.names,
            origin=settings.origin,
            requests=settings.requests,
            routes=[route.path for route in routes],
            metrics=metrics,
            log=settings.log,
        )
    ]
    if settings.origin:
        middleware.append(
            Middleware(
                CORSMiddleware, allow_origins=[settings.origin], allow_methods=["*"], allow_headers=["*"]
            )
        )
    return Starlette(
        routes=routes,
        middleware=middleware,
        exception_handlers={
            RefusedError: _refusal,
            UserError: _server_error,
            ClientDisconnect: _close_disconnected,
            HTTPException: _http_error,
        },
    )


def _error(status: int, fact: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as LibreTranslate's clients read it ("error") and as DeepL's do ("message")."""
    return JSONResponse({"error": fact, "message": fact}, status, headers)


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    headers = {} if error.retry is None else {"Retry-After": str(error.retry)}
    return _error(error.status, error.fact, headers)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    facts = {
        404: f"there is no {request.url.path}",
        405: f"{request.url.path} does not accept {request.method}",
    }
    fact = facts.get(error.status_code, error.detail)
    return _error(error.status_code, fact, dict(error.headers or {}))


async def _close_disconnected(request: Request, error: Exception) -> Response:
    """Close a request whose client has disconnected."""
    return Response(status_code=499)


async def _server_error(request: Request, error: Exception) -> Response:
    """Answer with an error of the model itself, such as non-finite scores."""
    return _error(500, str(error))
