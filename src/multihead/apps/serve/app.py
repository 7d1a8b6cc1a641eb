"""The ASGI application: a web page, LibreTranslate's API, DeepL's API, metrics and an OpenAPI description."""

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multihead.apps.serve.deepl import DeepL
from multihead.apps.serve.documents import Documents, TranslateDocument
from multihead.apps.serve.guard import Guard
from multihead.apps.serve.handling import Handling, Serving
from multihead.apps.serve.libretranslate import LibreTranslate
from multihead.apps.serve.openapi import description
from multihead.apps.serve.page_routes import InspectSentence, PageRoutes
from multihead.apps.serve.refusal import RefusedError, error_response, refusal
from multihead.apps.serve.service import Service
from multihead.errors import UserError

__all__ = ["Serving", "application"]


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
    handling = Handling(service, settings)
    documents = Documents(handling, translate_document)

    async def health(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def expose(request: Request) -> Response:
        handling.authorise(request)
        return Response(metrics.text(), media_type=metrics.content_type)

    async def openapi(request: Request) -> Response:
        return JSONResponse(description(service, settings.limits, keys=settings.keys is not None))

    routes = [
        *PageRoutes(handling, inspect_sentence).routes,
        *LibreTranslate(handling, documents).routes,
        *DeepL(handling, documents).routes,
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


async def _refusal(request: Request, error: Exception) -> Response:
    assert isinstance(error, RefusedError)
    return refusal(error)


async def _http_error(request: Request, error: Exception) -> Response:
    """Answer requests for unknown paths and methods."""
    assert isinstance(error, HTTPException)
    facts = {
        404: f"there is no {request.url.path}",
        405: f"{request.url.path} does not accept {request.method}",
    }
    fact = facts.get(error.status_code, error.detail)
    return error_response(error.status_code, fact, dict(error.headers or {}))


async def _close_disconnected(request: Request, error: Exception) -> Response:
    """Close a request whose client has disconnected."""
    return Response(status_code=499)


async def _server_error(request: Request, error: Exception) -> Response:
    """Answer with an error of the model itself, such as non-finite scores."""
    return error_response(500, str(error))
