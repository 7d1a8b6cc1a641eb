"""Documents: their translation, and the store from which they are downloaded."""

import asyncio
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response

from multihead.apps.serve.fields import Fields
from multihead.apps.serve.handling import Handling, document_path, key_name
from multihead.apps.serve.queued import Ticket
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.service import Review, ServedDirection, for_request
from multihead.data.documents import about_documents
from multihead.errors import UserError
from multihead.tasks.translation.texts.text_translator import TextTranslator

KEPT_SECONDS, KEPT_BYTES, KEPT_DOCUMENTS = 600, 256 << 20, 100
"""Time, total size and number of the documents that are kept for download."""
MAX_REVIEW = 500
"""Number of places to review in an answer."""


class TranslatedDocument(NamedTuple):
    """A translated document.

    Attributes:
        content: the document.
        cautions: disagreements between its languages and the translator's.
        review: places to review.
    """

    content: bytes
    cautions: list[str]
    review: list[Review]

    def remarks(self) -> dict[str, object]:
        """Return what an answer says about the document besides its content."""
        remarks: dict[str, object] = {"cautions": self.cautions} if self.cautions else {}
        if self.review:
            remarks["review"] = [place._asdict() for place in self.review[:MAX_REVIEW]]
            remarks["reviewCount"] = len(self.review)
        return remarks


TranslateDocument = Callable[[TextTranslator, ServedDirection, str, bytes], TranslatedDocument]
"""Translates a document: translator, its direction, file name with its ending, content."""


@dataclass
class StoredDocument:
    """A document for download.

    Attributes:
        name: name of the file.
        owner: name of the key that it was sent with.
        size: bytes of the upload.
        until: time at which it is dropped; None while it is being translated.
        translated: its translation; None: not finished.
        error: the reason why it could not be translated.
    """

    name: str
    owner: str
    size: int
    until: float | None = None
    translated: TranslatedDocument | None = None
    error: str = ""

    @property
    def bytes(self) -> int:
        """Bytes in memory."""
        return len(self.translated.content) if self.translated else 0 if self.until else self.size


class Documents:
    """Translates documents and keeps them for download, within ``KEPT_...``.

    Args:
        handling: reads and checks requests.
        translate: translates a document; None: documents are refused.
    """

    def __init__(self, handling: Handling, translate: TranslateDocument | None) -> None:
        self._handling, self._translate = handling, translate
        self._stored: OrderedDict[str, StoredDocument] = OrderedDict()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def endings(self) -> list[str]:
        """Extensions of the files that are translated."""
        if self._translate is None:
            return []
        library = about_documents("multihead.data.documents.library", "documents")
        return sorted(set(library.BY_ENDING) - library.TABLES)

    def upload(self, fields: Fields) -> tuple[Path, bytes]:
        """Return the harmless name and the content of an uploaded document. Raises ``RefusedError``."""
        upload = fields.files.get("file")
        if upload is None:
            raise RefusedError(400, '"file" must be an uploaded file')
        if self._translate is None:
            raise RefusedError(501, "this server does not translate documents")
        name = fields.values.get("filename")
        path = document_path(name if isinstance(name, str) else upload.name)
        if path.suffix not in self.endings:
            raise RefusedError(400, f"files ending in {path.suffix or 'nothing'} are not supported")
        return path, upload.content

    async def translate(
        self, path: Path, content: bytes, direction: ServedDirection, client: str
    ) -> TranslatedDocument:
        """Translate a document. Raises ``RefusedError``: it cannot be read; see ``Service.run``."""
        translate = self._translate
        assert translate is not None

        def compute(ticket: Ticket) -> TranslatedDocument:
            return translate(for_request(direction, ticket), direction, path.name, content)

        try:
            return await self._handling.service.run(compute, client)
        except UserError as error:  # caused by the document
            raise RefusedError(400, str(error)) from None

    def keep(self, request: Request, name: str, translated: TranslatedDocument) -> str:
        """Keep a translated document; return its id."""
        document = StoredDocument(name, key_name(request), 0)
        id = self._store(document, len(translated.content))
        document.translated, document.until = translated, time.monotonic() + KEPT_SECONDS
        return id

    def begin(self, request: Request, path: Path, content: bytes, direction: ServedDirection) -> str:
        """Begin to translate a document; return the id under which it will be kept.

        Raises:
            RefusedError: too many documents are being translated.
        """
        document = StoredDocument(translated_name(path, direction), key_name(request), len(content))
        id = self._store(document, len(content))

        async def work() -> None:
            try:
                document.translated = await self.translate(path, content, direction, request.state.client)
            except RefusedError as error:
                document.error = error.fact
            except Exception:
                document.error = "the document could not be translated"
                raise
            finally:
                document.until = time.monotonic() + KEPT_SECONDS

        task = asyncio.create_task(work())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return id

    def find(self, id: str) -> StoredDocument:
        """Return a stored document. Raises ``RefusedError``: there is none."""
        self._make_room(0, 0)
        if (document := self._stored.get(id)) is None:
            raise RefusedError(404, "there is no such document; they are kept for ten minutes")
        return document

    def _store(self, document: StoredDocument, size: int) -> str:
        self._make_room(1, size)
        id = secrets.token_urlsafe(16)
        self._stored[id] = document
        return id

    def _make_room(self, number: int, size: int) -> None:
        """Drop expired documents, then the oldest finished ones until there is room for more."""
        now = time.monotonic()
        finished = [(id, document.until) for id, document in self._stored.items() if document.until]
        for id, until in sorted(finished, key=lambda item: item[1]):
            total = size + sum(document.bytes for document in self._stored.values())
            if until > now and total <= KEPT_BYTES and len(self._stored) + number <= KEPT_DOCUMENTS:
                return
            del self._stored[id]
        total = size + sum(document.bytes for document in self._stored.values())
        if number and (total > KEPT_BYTES or len(self._stored) + number > KEPT_DOCUMENTS):
            raise RefusedError(503, "too many documents at once; try again in a moment", retry=10)


class DocumentApi:
    """An API that translates documents too.

    Args:
        handling: reads and checks requests.
        documents: translates and keeps documents.
    """

    def __init__(self, handling: Handling, documents: Documents) -> None:
        self._handling, self._service = handling, handling.service
        self._documents = documents


def translated_name(path: Path, direction: ServedDirection) -> str:
    """Return the name of a translated file."""
    return f"{path.stem}.{direction.target}{path.suffix}"


def download(name: str, content: bytes) -> Response:
    """Return a file for download."""
    response = Response(content, media_type="application/octet-stream")
    plain = name.encode("ascii", "replace").decode().replace("?", "_").replace('"', "_")
    response.headers["content-disposition"] = f'attachment; filename="{plain}"'
    return response
