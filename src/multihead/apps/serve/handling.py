"""Request handling common to all APIs: fields, keys, rates, and whether the client is still connected."""

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

from multihead.apps.serve.access import ApiKeys, Rate, key_in
from multihead.apps.serve.corrections import Corrections
from multihead.apps.serve.fields import Fields, read_fields
from multihead.apps.serve.glossaries import Glossaries
from multihead.apps.serve.metrics import Metrics
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TranslationRequest
from multihead.apps.serve.service import Options, ServedDirection, Service

POLL_SECONDS = 0.25
"""Interval of the check whether a client is still connected."""
FORM_BYTES = 12
"""Maximum bytes of a character in a URL-encoded form."""
MAX_FILE_BYTES = 16 << 20

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


class Handling:
    """Reads and checks requests.

    Args:
        service: the translators.
        limits: limits of each request.
        keys: keys that may use the server; None: everybody may.
        corrections: stores corrections; None: they are refused.
        glossaries: terms that requests may name.
        metrics: counts characters.
    """

    def __init__(
        self,
        service: Service,
        *,
        limits: RequestLimits,
        keys: ApiKeys | None,
        corrections: Corrections | None,
        glossaries: Glossaries,
        metrics: Metrics,
    ) -> None:
        self.service, self.limits, self.keys = service, limits, keys
        self.corrections, self.glossaries, self.metrics = corrections, glossaries, metrics
        self.used: dict[str, int] = {}
        """Characters translated for each key, or for everybody."""

    async def fields(self, request: Request, *, max_bytes: int | None = None, open: bool = False) -> Fields:
        """Read the fields of a request and check its key.

        Args:
            request: the request.
            max_bytes: limit of its body; None: the limit for texts.
            open: whether the route works without a key.

        Raises:
            RefusedError: a malformed request, or no valid key.
        """
        fields = await read_fields(request, self.limits.body_bytes if max_bytes is None else max_bytes)
        if not open:
            self.authorise(request, fields.values)
        return fields

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
        owner = request.state.notes.get("key", "")
        glossary = self.glossaries.find(parsed.glossary, owner, direction.source, direction.target)
        return Options(parsed.alternatives, parsed.format, glossary=glossary)

    def spend(self, request: Request, direction: ServedDirection, chars: int) -> None:
        """Count the characters of a request. Raises ``RefusedError`` above the rate."""
        client = request.state.client
        self.limits.rate.spend(client, chars)
        name = request.state.notes.get("key", "")
        self.used[name] = self.used.get(name, 0) + chars
        self.metrics.characters.labels(direction.source, direction.target).inc(chars)
        request.state.notes.update(source=direction.source, target=direction.target, characters=chars)


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
