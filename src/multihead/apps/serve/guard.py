"""Checks before every request (Host, Origin, rate), and its log record and metrics."""

import ipaddress
import logging
import socket
import time
import traceback
from collections.abc import Collection, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from multihead.apps.serve.access import Rate
from multihead.apps.serve.logs import Log
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.refusal import RefusedError, error_response, refusal

LEFT = 499
"""Status of a request whose client left before it was answered."""
PREFIXES = ("/download_file/", "/v2/document/", "/v2/glossaries/", "/assets/")
"""Prefixes of paths that end in a parameter."""


def host_name(host: str) -> str:
    """Return the name or address in a Host header, without port and brackets, in lower case; "" for none.

    >>> host_name("[::1]:8000"), host_name("Example.org:80")
    ('::1', 'example.org')
    """
    try:
        return (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return ""


def is_known_host(host: str, names: Collection[str]) -> bool:
    """Return whether a Host header names this server.

    An attacker's page reaches a server behind a firewall by DNS rebinding, but always under a name of the
    attacker's own. An address, "localhost", this machine's name and configured names are therefore safe.
    """
    name = host_name(host)
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return name in {"localhost", socket.gethostname().lower(), *(alias.lower() for alias in names)}
    return True


def is_allowed_origin(origin: str, host: str, allowed: str | None) -> bool:
    """Return whether a page of this origin may use the server: its own, or the allowed one ("*": any)."""
    if allowed in ("*", origin):
        return True
    try:
        parts = urlsplit(origin)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


class Guard:
    """ASGI middleware.

    Args:
        app: the application.
        names: host names of the server, besides addresses, "localhost" and the machine's name.
        origin: web origin whose pages may use it, "*" for any; None: only its own.
        requests: number of requests a minute for each address.
        routes: paths that exist.
        metrics: counts requests.
        log: writes one record for each request.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        names: Collection[str],
        origin: str | None,
        requests: Rate,
        routes: Collection[str],
        metrics: Metrics,
        log: Log,
    ) -> None:
        self._app, self._names, self._origin, self._requests = app, names, origin, requests
        self._routes, self._metrics, self._log = frozenset(routes), metrics, log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        state: MutableMapping[str, Any] = scope.setdefault("state", {})
        address = (scope.get("client") or ("", 0))[0]
        state["address"] = address
        notes = state["notes"] = {}
        status = LEFT
        began = time.perf_counter()

        async def forward(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            try:
                self._check(scope, address)
            except RefusedError as error:
                await refusal(error)(scope, receive, forward)
                return
            await self._app(scope, receive, forward)
        except Exception as error:  # a bug: its message may have texts, its place has none
            notes["error"] = _place(error)
            logging.getLogger(__name__).error("internal error: %s", notes["error"])
            if status == LEFT:
                await error_response(500, "internal error")(scope, receive, forward)
        finally:
            seconds = time.perf_counter() - began
            route = self._route(scope["path"])
            self._metrics.requests.labels(route, str(status)).inc()
            self._metrics.seconds.labels(route).observe(seconds)
            self._log(
                route=route, method=scope["method"], status=status, ms=round(1000 * seconds, 1),
                address=address, **notes,
            )  # fmt: skip

    def _check(self, scope: Scope, address: str) -> None:
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        if not is_known_host(host, self._names):
            raise RefusedError(421, "the Host header names another server; see --name")
        origin = headers.get("origin")
        if origin is not None and not is_allowed_origin(origin, host, self._origin):
            raise RefusedError(403, "pages of this origin may not use this server; see --origin")
        self._requests.spend(address, 1)

    def _route(self, path: str) -> str:
        """Return the path without parameters; unknown paths are "other", since they may contain anything."""
        if path in self._routes:
            return path
        return next((f"{prefix}*" for prefix in PREFIXES if path.startswith(prefix)), "other")


def _place(error: Exception) -> str:
    """Return the type of an exception and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
