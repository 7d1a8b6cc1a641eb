"""LibreTranslate's API: /translate, /detect, /languages, /suggest, /translate_file, /frontend/settings."""

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multihead.apps.serve.handling import Handling, document_path, while_connected
from multihead.apps.serve.queued import Ticket
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TRANSLATE, one_text, parse_request
from multihead.apps.serve.service import ServedDirection, detect_languages, for_request
from multihead.data.documents import about_documents
from multihead.errors import UserError
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text import identify
from multihead.text.languages import language as language_named

KEPT_SECONDS, KEPT_BYTES = 600, 256 << 20
"""Time and total size for which translated documents are kept for download."""
DETECT = ("q", "api_key")
SUGGEST = ("q", "s", "source", "target", "api_key")
TRANSLATE_FILE = ("file", "source", "target", "api_key")

TranslateDocument = Callable[[TextTranslator, ServedDirection, str, bytes], tuple[bytes, list[str]]]
"""Translates a document: translator, its direction, file name with its ending, content."""


@dataclass(frozen=True)
class _Kept:
    name: str
    content: bytes
    until: float


class LibreTranslate:
    """Routes of LibreTranslate's API.

    Args:
        handling: reads and checks requests.
        translate_document: translates documents; None: /translate_file is refused.
    """

    def __init__(self, handling: Handling, translate_document: TranslateDocument | None) -> None:
        self._handling, self._service = handling, handling.service
        self._translate_document = translate_document
        self._kept: OrderedDict[str, _Kept] = OrderedDict()

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/translate", self.translate, methods=["POST"]),
            Route("/detect", self.detect, methods=["POST"]),
            Route("/languages", self.languages, methods=["GET"]),
            Route("/suggest", self.suggest, methods=["POST"]),
            Route("/translate_file", self.translate_file, methods=["POST"]),
            Route("/download_file/{id}", self.download_file, methods=["GET"]),
            Route("/frontend/settings", self.settings, methods=["GET"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translate a text or a list of texts."""
        handling = self._handling
        values = await handling.values(request, TRANSLATE)
        parsed = parse_request(values, max_chars=handling.limits.chars)
        joined = "\n".join(parsed.texts)
        direction = self._service.direction(parsed.source, parsed.target, joined)
        handling.spend(request, direction, sum(map(len, parsed.texts)))
        options = handling.options(request, parsed, direction)
        translating = self._service.translate(parsed.texts, direction, options, request.state.client)
        answers = await while_connected(request, translating)
        response: dict[str, object] = {"translatedText": [answer.text for answer in answers]}
        if parsed.alternatives:
            response["alternatives"] = [answer.alternatives for answer in answers]
        response["confidence"] = [round(answer.confidence, 3) for answer in answers]
        if not parsed.source and identify.available():
            response["detectedLanguage"] = [_detect(text, direction) for text in parsed.texts]
        if parsed.single:
            response = {name: values[0] for name, values in response.items()}  # type: ignore[index]
        texts = [f"text {number}, " if len(answers) > 1 else "" for number in range(1, len(answers) + 1)]
        if notes := [
            f"{text}{note}" for text, answer in zip(texts, answers, strict=True) for note in answer.notes
        ]:
            response["notes"] = notes
        return JSONResponse(response)

    async def detect(self, request: Request) -> Response:
        """Identify the language of a text."""
        values = await self._handling.values(request, DETECT)
        text = one_text(values, "q", self._handling.limits.chars)
        guesses = await self._service.run(lambda ticket: detect_languages(text), request.state.client)
        languages = [
            {"confidence": round(100 * guess.probability, 1), "language": guess.code}
            for guess in guesses
            if guess.probability >= 0.005
        ]
        return JSONResponse(languages)

    async def languages(self, request: Request) -> Response:
        """List the languages, each with its target languages."""
        targets: dict[str, list[str]] = {
            code: [] for code in (*self._service.sources, *self._service.targets)
        }
        for direction in self._service.directions:
            targets[direction.source].append(direction.target)
        return JSONResponse(
            [
                {"code": code, "name": language_named(code).name, "targets": target_codes}
                for code, target_codes in targets.items()
            ]
        )

    async def suggest(self, request: Request) -> Response:
        """Keep a correction for the next training."""
        handling = self._handling
        values = await handling.values(request, SUGGEST)
        if handling.corrections is None:
            raise RefusedError(403, "this server keeps no corrections; see --corrections")
        text, correction = (one_text(values, name, handling.limits.chars) for name in ("q", "s"))
        direction = handling.direction(values, text)
        handling.corrections.add(text, correction, direction.source, direction.target)
        return JSONResponse({"success": True})

    async def translate_file(self, request: Request) -> Response:
        """Translate a document; the answer has the address to download it from."""
        handling = self._handling
        fields = await handling.fields(request, TRANSLATE_FILE, max_bytes=handling.limits.file_bytes)
        upload = fields.files.get("file")
        if upload is None:
            raise RefusedError(400, '"file" must be an uploaded file')
        if self._translate_document is None:
            raise RefusedError(501, "this server does not translate documents")
        path = document_path(upload.name)
        if path.suffix not in _endings():
            raise RefusedError(400, f"files ending in {path.suffix or 'nothing'} are not supported")
        direction = handling.direction(fields.values, upload.content[:2000].decode("utf-8", "replace"))
        handling.spend(request, direction, len(upload.content))
        translate = self._translate_document

        def compute(ticket: Ticket) -> tuple[bytes, list[str]]:
            return translate(for_request(direction, ticket), direction, path.name, upload.content)

        try:
            content, cautions = await while_connected(
                request, self._service.run(compute, request.state.client)
            )
        except UserError as error:  # caused by the document
            raise RefusedError(400, str(error)) from None
        id = self._keep(f"{path.stem}.{direction.target}{path.suffix}", content)
        answer: dict[str, object] = {"translatedFileUrl": str(request.url_for("download_file", id=id))}
        if cautions:
            answer["cautions"] = cautions
        return JSONResponse(answer)

    def _keep(self, name: str, content: bytes) -> str:
        id = secrets.token_urlsafe(16)
        self._forget(len(content))
        self._kept[id] = _Kept(name, content, time.monotonic() + KEPT_SECONDS)
        return id

    def _forget(self, room: int) -> None:
        """Drop expired documents, then the oldest until there is room."""
        total = room + sum(len(document.content) for document in self._kept.values())
        while self._kept:
            oldest = next(iter(self._kept))
            document = self._kept[oldest]
            if total <= KEPT_BYTES and document.until > time.monotonic():
                return
            total -= len(document.content)
            del self._kept[oldest]

    async def download_file(self, request: Request) -> Response:
        """Return a translated document; its address is its key."""
        self._forget(0)
        document = self._kept.get(request.path_params["id"])
        if document is None:
            raise RefusedError(404, "there is no such document; they are kept for ten minutes")
        response = Response(document.content, media_type="application/octet-stream")
        plain = document.name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
        response.headers["content-disposition"] = f'attachment; filename="{plain}"'
        return response

    async def settings(self, request: Request) -> Response:
        """Report the server's settings to a page."""
        first = self._service.directions[0]
        named = {
            side: {"code": code, "name": language_named(code).name}
            for side, code in (("source", first.source), ("target", first.target))
        }
        handling = self._handling
        return JSONResponse(
            {
                "apiKeys": handling.keys is not None,
                "keyRequired": handling.keys is not None,
                "charLimit": handling.limits.chars,
                "frontendTimeout": 300,
                "suggestions": handling.corrections is not None,
                "supportedFilesFormat": sorted(_endings()) if self._translate_document else [],
                "language": named,
                "glossaries": list(handling.glossaries.named),
            }
        )


def _endings() -> set[str]:
    """Return the extensions of documents that are translated."""
    library = about_documents("multihead.data.documents.library", "/translate_file")
    endings: set[str] = set(library.BY_ENDING) - library.TABLES
    return endings


def _detect(text: str, direction: ServedDirection) -> dict[str, object]:
    """Return the source language and its probability among all languages, in percent."""
    chances = {guess.code: guess.probability for guess in identify.identify(text, most=500)}
    return {
        "confidence": round(100 * chances.get(direction.source, 0.0), 1),
        "language": direction.source,
    }
