"""Fields of a request: from the query string and from a JSON, form or multipart body."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import parse_qsl

from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.requests import Request
from starlette.types import Message

from multihead.apps.serve.refusal import RefusedError

FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
MAX_FIELDS = 1_000
"""Number of fields of a form; a text of a list is a field of its own."""


@dataclass(frozen=True)
class Upload:
    """An uploaded file: its name as the client gave it, and its content."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Fields:
    """Fields of a request.

    Attributes:
        values: values by name; a repeated field of a form or query string is a list.
        files: uploaded files by name of their field.
    """

    values: Mapping[str, object]
    files: Mapping[str, Upload]


async def read_fields(request: Request, max_bytes: int) -> Fields:
    """Read the fields of a request; at most ``max_bytes`` of its body.

    Raises:
        RefusedError: a body that is too large or malformed; a field both in the query string and in the body.
    """
    query = _pairs(request.url.query)
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body, files = await _body(request, kind, max_bytes)
    if twice := sorted(query.keys() & (body.keys() | files.keys())):
        raise RefusedError(400, f'"{twice[0]}" is both in the query string and in the body')
    return Fields({**query, **body}, files)


async def _body(request: Request, kind: str, max_bytes: int) -> tuple[dict[str, object], dict[str, Upload]]:
    if kind == MULTIPART:
        return await _multipart(request, max_bytes)
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > max_bytes:
            raise _too_large(max_bytes)
    if kind.startswith("multipart/"):
        raise RefusedError(415, f"{kind} is not supported; send {MULTIPART}, a form or JSON")
    # By default curl labels its body as a form, even if it is JSON.
    if kind == FORM and not body.lstrip().startswith(b"{"):
        return _pairs(bytes(body)), {}
    if not body:
        return {}, {}
    try:
        values = json.loads(bytes(body))
    except (ValueError, RecursionError) as error:
        raise RefusedError(400, f"the body is not JSON ({error})") from None
    if not isinstance(values, dict):
        raise RefusedError(400, "the body must be a JSON object, a form or a multipart form")
    return values, {}


def _pairs(text: str | bytes) -> dict[str, object]:
    """Parse a query string or a URL-encoded form."""
    try:
        decoded = text if isinstance(text, str) else text.decode("utf-8")
        pairs = parse_qsl(decoded, keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS)
    except UnicodeDecodeError:
        raise RefusedError(400, "the fields are not UTF-8") from None
    except ValueError:
        raise RefusedError(413, f"more than {MAX_FIELDS:,} fields") from None
    return _group(pairs)


def _group(pairs: list[tuple[str, str]]) -> dict[str, object]:
    """Collect pairs by name; a repeated name has a list."""
    values: dict[str, object] = {}
    for name, value in pairs:
        before = values.get(name)
        if before is None:
            values[name] = value
        elif isinstance(before, list):
            before.append(value)
        else:
            values[name] = [before, value]
    return values


async def _multipart(request: Request, max_bytes: int) -> tuple[dict[str, object], dict[str, Upload]]:
    size = 0

    async def receive() -> Message:
        nonlocal size
        message = await request.receive()
        size += len(message.get("body", b""))
        if size > max_bytes:
            raise _too_large(max_bytes)
        return message

    pairs: list[tuple[str, str]] = []
    files: dict[str, Upload] = {}
    try:
        async with Request(request.scope, receive).form(
            max_files=1, max_fields=MAX_FIELDS, max_part_size=max_bytes
        ) as form:
            for name, value in form.multi_items():
                if isinstance(value, str):
                    pairs.append((name, value))
                else:
                    files[name] = Upload(value.filename or "", await value.read())
    except (MultiPartException, HTTPException, KeyError, ValueError, LookupError) as error:
        detail = getattr(error, "detail", None) or getattr(error, "message", None) or str(error)
        raise RefusedError(400, f"the multipart form is malformed ({detail})") from None
    return _group(pairs), files


def _too_large(max_bytes: int) -> RefusedError:
    return RefusedError(413, f"the body is larger than {max_bytes:,} bytes; split the request")
