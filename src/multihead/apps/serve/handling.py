"""Request handling common to all APIs: fields, keys, rates, and whether the client is still connected."""

import asyncio
from collections.abc import Collection, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from multihead.apps.serve.access import ApiKeys, Rate, key_in
from multihead.apps.serve.corrections import Corrections
from multihead.apps.serve.fields import Fields, read_fields
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.logs import Log, no_log
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TranslationRequest, language, refuse_unknown
from multihead.apps.serve.service import Options, ServedDirection, Service

POLL_SECONDS = 0.25
"""Interval of the check whether a client is still connected."""
FORM_BYTES = 12
"""Maximum bytes of a character in a URL-encoded form."""
MAX_FILE_BYTES = 16 << 20

SIDES = ("source", "target")
"""Fields with the languages of a request."""

T = TypeVar("T")


@dataclass(frozen=True)
class RequestLimits:
    """Limits of a request.

    Attributes:
        chars: characters of all texts of a request.
        file_bytes: bytes of a document.
        rate: characters a minute for each key or address.
    """

    chars: int = 20_000
    file_bytes: int = MAX_FILE_BYTES
    rate: Rate = field(default_factory=lambda: Rate(None, "characters"))

    @property
    def body_bytes(self) -> int:
        """Bytes of a body with texts."""
        return FORM_BYTES * self.chars + 8192


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


class Handling:
    """Reads and checks requests.

    Args:
        service: the translators.
        serving: the server's options.
    """

    def __init__(self, service: Service, serving: Serving) -> None:
        self.service, self.limits, self.keys = service, serving.limits, serving.keys
        self.corrections, self.glossaries = serving.corrections, serving.glossaries
        self._metrics = serving.metrics
        self.used: dict[str, int] = {}
        """Characters translated for each key, or for everybody."""

    async def fields(
        self, request: Request, known: Collection[str], *, max_bytes: int | None = None
    ) -> Fields:
        """Read the fields of a request and check its key.

        Args:
            request: the request.
            known: names of the route's fields.
            max_bytes: limit of its body; None: the limit for texts.

        Raises:
            RefusedError: a malformed request, an unknown field, or no valid key.
        """
        fields = await read_fields(request, self.limits.body_bytes if max_bytes is None else max_bytes)
        self.authorise(request, fields.values)
        refuse_unknown({**fields.values, **fields.files}, known, request.url.path)
        return fields

    async def values(
        self, request: Request, known: Collection[str], *, max_bytes: int | None = None
    ) -> Mapping[str, object]:
        """Read the fields of a request that takes no files; see :meth:`fields`."""
        return (await self.fields(request, known, max_bytes=max_bytes)).values

    def authorise(self, request: Request, values: Mapping[str, object] = {}) -> None:
        """Check the key of a request, and name its client for the log and the queue."""
        request.state.client = request.state.address
        if self.keys is None:
            return
        key = key_in(request.headers, values)
        if key is None:
            raise RefusedError(403, 'an API key is needed: the field "api_key", or an Authorization header')
        name = self.keys.name_of(key)
        if name is None:
            raise RefusedError(403, "the API key is not valid")
        request.state.client = request.state.notes["key"] = name

    def options(self, request: Request, parsed: TranslationRequest, direction: ServedDirection) -> Options:
        """Return the options of a translation. Raises ``RefusedError``: no such glossary."""
        if parsed.glossary is None:
            return Options(parsed.alternatives, parsed.format)
        glossary = self.glossaries.find(
            parsed.glossary, key_name(request), direction.source, direction.target
        )
        return Options(parsed.alternatives, parsed.format, glossary=glossary)

    def direction(
        self, values: Mapping[str, object], text: str, *, sides: Sequence[str] = SIDES, sure: bool = True
    ) -> ServedDirection:
        """Return the direction that a request's fields name, or its text's; see ``Service.direction``."""
        source, target = (language(values, side) for side in sides)
        return self.service.direction(source, target, text, sure=sure)

    def spend(self, request: Request, direction: ServedDirection, chars: int) -> None:
        """Count the characters of a request. Raises ``RefusedError`` above the rate."""
        client = request.state.client
        self.limits.rate.spend(client, chars)
        name = key_name(request)
        self.used[name] = self.used.get(name, 0) + chars
        self._metrics.characters.labels(direction.source, direction.target).inc(chars)
        request.state.notes.update(source=direction.source, target=direction.target, characters=chars)


def key_name(request: Request) -> str:
    """Return the name of a request's key; "" without keys."""
    name: str = request.state.notes.get("key", "")
    return name


def document_path(name: str) -> Path:
    """Return a harmless file name with the ending of an uploaded one."""
    path = Path(name.replace("\\", "/"))
    stem = "".join(char for char in path.stem if char.isalnum() or char in "-_ .")[:80].strip(" .")
    return Path((stem or "document") + path.suffix.lower())


async def while_connected(request: Request, answer: Coroutine[Any, Any, T]) -> T:
    """Await an answer and cancel it if the client disconnects."""
    task = asyncio.ensure_future(answer)
    try:
        while not (await asyncio.wait({task}, timeout=POLL_SECONDS))[0]:
            if await request.is_disconnected():
                raise ClientDisconnect
        return await task
    finally:
        task.cancel()
