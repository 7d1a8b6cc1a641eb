"""LibreTranslate's API: /translate, /detect, /languages, /suggest, /translate_file, /frontend/settings."""

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from multihead.apps.serve.documents import DocumentApi, download, translated_name
from multihead.apps.serve.handling import while_connected
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TRANSLATE, one_text, parse_request
from multihead.apps.serve.service import ServedDirection, detect_languages
from multihead.text import identify
from multihead.text.languages import language as language_named

DETECT = ("q", "api_key")
SUGGEST = ("q", "s", "source", "target", "api_key")
TRANSLATE_FILE = ("file", "source", "target", "api_key")


class LibreTranslate(DocumentApi):
    """Routes of LibreTranslate's API."""

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
        plain = parsed.format == "text"
        direction = self._service.direction(parsed.source, parsed.target, joined, sure=plain)
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
        if review := [
            place._replace(place=f"{text}{place.place}")._asdict()
            for text, answer in zip(texts, answers, strict=True)
            for place in answer.review
        ]:
            response["review"] = review
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
        path, content = self._documents.upload(fields)
        direction = handling.direction(fields.values, content[:2000].decode("utf-8", "replace"), sure=False)
        handling.spend(request, direction, len(content))
        translating = self._documents.translate(path, content, direction, request.state.client)
        translated = await while_connected(request, translating)
        id = self._documents.keep(request, translated_name(path, direction), translated)
        url = str(request.url_for("download_file", id=id))
        return JSONResponse({"translatedFileUrl": url, **translated.remarks()})

    async def download_file(self, request: Request) -> Response:
        """Return a translated document; its address is its key."""
        document = self._documents.find(request.path_params["id"])
        if document.translated is None:
            raise RefusedError(404, "the document is not translated")
        return download(document.name, document.translated.content)

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
                "supportedFilesFormat": self._documents.endings,
                "language": named,
                "glossaries": list(handling.glossaries.named),
            }
        )


def _detect(text: str, direction: ServedDirection) -> dict[str, object]:
    """Return the source language and its probability among all languages, in percent."""
    chances = {guess.code: guess.probability for guess in identify.identify(text, most=500)}
    return {
        "confidence": round(100 * chances.get(direction.source, 0.0), 1),
        "language": direction.source,
    }
