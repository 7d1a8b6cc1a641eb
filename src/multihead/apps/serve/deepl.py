"""DeepL's API, version 2, for its official clients (``server_url``): texts, documents, glossaries."""

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from multihead.apps.serve.documents import DocumentApi, StoredDocument, download
from multihead.apps.serve.glossaries import Made, as_tsv, entries_of
from multihead.apps.serve.handling import key_name, while_connected
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import checked_texts, language, one_text
from multihead.apps.serve.service import Options
from multihead.text.languages import language as language_named

TRANSLATE = (
    "text",
    "source_lang",
    "target_lang",
    "glossary_id",
    "split_sentences",
    "preserve_formatting",
    "formality",
    "tag_handling",
    "show_billed_characters",
    "model_type",
)
DOCUMENT = ("file", "filename", "source_lang", "target_lang", "formality", "output_format")
ID_LETTERS = 8
"""Letters of a stored document's name that are its id; the others are its key."""
GLOSSARY = ("name", "source_lang", "target_lang", "entries", "entries_format")
UNLIMITED = 1_000_000_000_000
"""The limit that DeepL reports for an account without one."""
CHOICES: dict[str, tuple[object, ...]] = {
    "split_sentences": ("0", "1", "nonewlines", 0, 1, True, False),
    "preserve_formatting": ("0", "1", 0, 1, True, False),
    "formality": ("default", "prefer_more", "prefer_less"),
    "tag_handling": ("html",),
    "show_billed_characters": ("0", "1", "true", "false", 0, 1, True, False),
    "model_type": ("quality_optimized", "prefer_quality_optimized", "latency_optimized"),
}
"""Accepted values of each option; others are refused, never ignored."""


class DeepL(DocumentApi):
    """Routes of DeepL's API."""

    @property
    def routes(self) -> list[Route]:
        """The routes."""
        return [
            Route("/v2/translate", self.translate, methods=["POST"]),
            Route("/v2/document", self.upload_document, methods=["POST"]),
            Route("/v2/document/{id}", self.document_status, methods=["GET", "POST"]),
            Route("/v2/document/{id}/result", self.document_result, methods=["GET", "POST"]),
            Route("/v2/languages", self.languages, methods=["GET", "POST"]),
            Route("/v2/usage", self.usage, methods=["GET", "POST"]),
            Route("/v2/glossaries", self.glossaries, methods=["GET"]),
            Route("/v2/glossaries", self.make_glossary, methods=["POST"]),
            Route("/v2/glossaries/{id}", self.glossary, methods=["GET"]),
            Route("/v2/glossaries/{id}", self.delete_glossary, methods=["DELETE"]),
            Route("/v2/glossaries/{id}/entries", self.entries, methods=["GET"]),
            Route("/v2/glossary-language-pairs", self.pairs, methods=["GET"]),
        ]

    async def translate(self, request: Request) -> Response:
        """Translate texts."""
        handling = self._handling
        values = await handling.values(request, TRANSLATE)
        _check_choices(values)
        texts = checked_texts(values.get("text"), "text", handling.limits.chars)
        source, target = language(values, "source_lang"), language(values, "target_lang")
        if not target:
            raise RefusedError(400, '"target_lang" must be a language code')
        plain = "tag_handling" not in values
        direction = self._service.direction(source, target, "\n".join(texts), sure=plain)
        chars = sum(map(len, texts))
        handling.spend(request, direction, chars)
        glossary = None
        if (id := values.get("glossary_id")) is not None:
            if not isinstance(id, str) or not source:
                raise RefusedError(400, '"glossary_id" needs "source_lang"')
            glossary = handling.glossaries.find(id, key_name(request), direction.source, direction.target)
        options = Options(
            format="html" if values.get("tag_handling") == "html" else "text",
            sentences=values.get("split_sentences") not in ("0", 0, False),
            glossary=glossary,
        )
        translating = self._service.translate(texts, direction, options, request.state.client)
        answers = await while_connected(request, translating)
        billed = values.get("show_billed_characters") in ("1", "true", 1, True)
        translations: list[dict[str, object]] = []
        for text, answer in zip(texts, answers, strict=True):
            translation: dict[str, object] = {
                "detected_source_language": direction.source.upper(),
                "text": answer.text,
            }
            if billed:
                translation["billed_characters"] = len(text)
            if answer.notes:
                translation["notes"] = answer.notes
            translations.append(translation)
        return JSONResponse({"translations": translations})

    async def upload_document(self, request: Request) -> Response:
        """Begin to translate a document; the answer has the id and the key to ask for it."""
        handling = self._handling
        fields = await handling.fields(request, DOCUMENT, max_bytes=handling.limits.file_bytes)
        _check_choices(fields.values)
        path, content = self._documents.upload(fields)
        if not language(fields.values, "target_lang"):
            raise RefusedError(400, '"target_lang" must be a language code')
        if fields.values.get("output_format", path.suffix[1:]) != path.suffix[1:]:
            raise RefusedError(400, f'"output_format" must be "{path.suffix[1:]}", as the document\'s')
        text = content[:2000].decode("utf-8", "replace")
        sides = "source_lang", "target_lang"
        direction = handling.direction(fields.values, text, sides=sides, sure=False)
        handling.spend(request, direction, len(content))
        id = self._documents.begin(request, path, content, direction)
        return JSONResponse({"document_id": id[:ID_LETTERS], "document_key": id[ID_LETTERS:]})

    async def document_status(self, request: Request) -> Response:
        """Report whether a document is translated."""
        document = await self._document(request)
        status: dict[str, object] = {
            "document_id": request.path_params["id"],
            "status": "done" if document.translated else "error" if document.until else "translating",
        }
        if document.translated:
            status.update(billed_characters=document.size, **document.translated.remarks())
        elif document.until:
            status["error_message"] = document.error
        return JSONResponse(status)

    async def document_result(self, request: Request) -> Response:
        """Return a translated document."""
        document = await self._document(request)
        if document.error:
            raise RefusedError(400, document.error)
        if document.translated is None:
            raise RefusedError(503, "the document is not translated yet", retry=1)
        return download(document.name, document.translated.content)

    async def _document(self, request: Request) -> StoredDocument:
        values = await self._handling.values(request, ("document_key",))
        key = one_text(values, "document_key", 64)
        document = self._documents.find(request.path_params["id"] + key)
        if document.owner != key_name(request):
            raise RefusedError(404, "there is no such document of this key")
        return document

    async def languages(self, request: Request) -> Response:
        """List source or target languages."""
        values = await self._handling.values(request, ("type",))
        if values.get("type", "source") not in ("source", "target"):
            raise RefusedError(400, '"type" must be "source" or "target"')
        wants_target = values.get("type") == "target"
        codes = self._service.targets if wants_target else self._service.sources
        languages: list[dict[str, object]] = [
            {"language": code.upper(), "name": language_named(code).name} for code in codes
        ]
        if wants_target:
            languages = [{**language, "supports_formality": False} for language in languages]
        return JSONResponse(languages)

    async def usage(self, request: Request) -> Response:
        """Report the characters translated for this key since the server started."""
        await self._handling.values(request, ())
        used = self._handling.used.get(key_name(request), 0)
        return JSONResponse({"character_count": used, "character_limit": UNLIMITED})

    async def make_glossary(self, request: Request) -> Response:
        """Make a glossary."""
        handling = self._handling
        values = await handling.values(request, GLOSSARY, max_bytes=handling.limits.file_bytes)
        name = one_text(values, "name", 1024)
        codes = [language(values, side) for side in ("source_lang", "target_lang")]
        if not all(codes):
            raise RefusedError(400, '"source_lang" and "target_lang" must be language codes')
        direction = self._service.direction(codes[0], codes[1])
        text = one_text(values, "entries", handling.limits.file_bytes)
        pairs = entries_of(text, str(values.get("entries_format", "tsv")))
        glossary = handling.glossaries.make(
            name, direction.source, direction.target, pairs, key_name(request)
        )
        return JSONResponse(_describe(glossary), 201)

    async def glossaries(self, request: Request) -> Response:
        """List the glossaries of this key."""
        self._handling.authorise(request)
        made = self._handling.glossaries.of_owner(key_name(request))
        descriptions = [_describe(glossary) for glossary in made]
        return JSONResponse({"glossaries": descriptions})

    async def glossary(self, request: Request) -> Response:
        """Describe a glossary."""
        return JSONResponse(_describe(self._named(request)))

    async def delete_glossary(self, request: Request) -> Response:
        """Delete a glossary."""
        glossary = self._named(request)
        self._handling.glossaries.delete(glossary.id, glossary.owner)
        return Response(status_code=204)

    async def entries(self, request: Request) -> Response:
        """Return the entries of a glossary as TSV."""
        return PlainTextResponse(as_tsv(self._named(request).entries), media_type="text/tab-separated-values")

    async def pairs(self, request: Request) -> Response:
        """List the language pairs that glossaries can have."""
        self._handling.authorise(request)
        pairs = [
            {"source_lang": direction.source.lower(), "target_lang": direction.target.lower()}
            for direction in self._service.directions
        ]
        return JSONResponse({"supported_languages": pairs})

    def _named(self, request: Request) -> Made:
        self._handling.authorise(request)
        return self._handling.glossaries.of(request.path_params["id"], key_name(request))


def _check_choices(values: Mapping[str, object]) -> None:
    for name, choices in CHOICES.items():
        if name in values and values[name] not in choices:
            words = dict.fromkeys(str(choice).lower() for choice in choices)
            raise RefusedError(400, f'"{name}" must be one of {", ".join(words)}')


def _describe(glossary: Made) -> dict[str, object]:
    return {
        "glossary_id": glossary.id,
        "name": glossary.name,
        "ready": True,
        "source_lang": glossary.source.lower(),
        "target_lang": glossary.target.lower(),
        "creation_time": glossary.created,
        "entry_count": len(glossary.entries),
    }
