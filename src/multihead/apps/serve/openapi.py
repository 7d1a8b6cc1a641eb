"""Description of the server's routes in OpenAPI 3.1, for clients and for tests."""

from typing import Any

from multihead.apps.serve import deepl, libretranslate, page_routes, request
from multihead.apps.serve.handling import RequestLimits
from multihead.apps.serve.service import Service

Json = dict[str, Any]
ERRORS = {
    400: "The reason",
    403: "No valid key, or not allowed",
    413: "Too large",
    415: "Another kind of body",
    421: "Another host",
    429: "Above the rate",
    500: "The model failed",
    503: "Busy",
    504: "Past the deadline",
}
OTHERS = {400: "The reason", 404: "Not found", 501: "Not installed"}
STRING: Json = {"type": "string"}
CODE: Json = {"type": "string", "description": 'A language code (BCP 47), "auto" to detect it.'}
FILE: Json = {"type": "string", "contentMediaType": "application/octet-stream"}
TYPE_QUERY: Json = {"name": "type", "schema": {"enum": ["source", "target"]}}
KEY_QUERY: Json = {"name": "document_key", "required": True, "schema": STRING}
KEY: Json = {"type": "string", "description": "API key, if the server needs one."}


def description(service: Service, limits: RequestLimits, *, keys: bool) -> Json:
    """Return the description of a server as JSON.

    Args:
        service: its translators.
        limits: limits of each request.
        keys: whether requests need a key.
    """
    text = {"type": "string", "maxLength": limits.chars}
    texts = {"oneOf": [text, {"type": "array", "items": text, "maxItems": request.MAX_TEXTS}]}
    handle = _body({"document_key": STRING}, ["document_key"], key=False)
    paths: Json = {
        "/translate": _post("Translate a text or a list of texts", _translate(texts), _TRANSLATED),
        "/detect": _post("Identify the language of a text", _body({"q": text}, ["q"]), _DETECTED, 501),
        "/languages": _get("The languages, each with its target languages", _LANGUAGES),
        "/suggest": _post("Keep a correction for the next training", _suggest(text), _SUCCESS),
        "/translate_file": {"post": _file()},
        "/download_file/{id}": _get("A translated document", None, 404, parameters=["id"]),
        "/frontend/settings": _get("What the server offers", {"type": "object"}),
        "/sentences": _post(
            "Translate a text; the answer lists its sentences", _translate(text), {"type": "object"}
        ),
        "/attention": _post("Attention between two sentences", _attention(), {"type": "object"}),
        "/choices": _post("Translations that begin alike", _choices(), {"type": "array"}),
        "/v2/translate": _post("Translate as DeepL does", _deepl(texts), _DEEPL),
        "/v2/document": {"post": _deepl_document()},
        "/v2/document/{id}": {
            **_get("Whether a document is translated", _STATUS, 400, 404, parameters=["id"], query=KEY_QUERY),
            **_post("Whether a document is translated", handle, _STATUS, parameters=["id"]),
        },
        "/v2/document/{id}/result": {
            **_get("A translated document", None, 400, 404, parameters=["id"], query=KEY_QUERY),
            **_post("A translated document", handle, None, parameters=["id"]),
        },
        "/v2/languages": _get("Languages as DeepL lists them", {"type": "array"}, 400, query=TYPE_QUERY),
        "/v2/usage": _get("Characters translated for this key", _USAGE, 400),
        "/v2/glossaries": {
            **_get("The glossaries of this key", _GLOSSARIES),
            **_post("Make a glossary", _glossary(), _GLOSSARY, status=201),
        },
        "/v2/glossaries/{id}": {
            **_get("A glossary", _GLOSSARY, 404, parameters=["id"]),
            "delete": _operation("Delete a glossary", {"204": {"description": "Deleted"}}, [404], ["id"]),
        },
        "/v2/glossaries/{id}/entries": _get("The terms as TSV", None, 404, parameters=["id"]),
        "/v2/glossary-language-pairs": _get("Language pairs of glossaries", {"type": "object"}),
        "/health": _get("Whether the server is up", {"type": "object"}),
        "/metrics": _get("Metrics for Prometheus", None),
    }
    document: Json = {
        "openapi": "3.1.0",
        "info": {
            "title": "multihead serve",
            "version": "2",
            "description": f"Translates {service}. Compatible with LibreTranslate and with DeepL's API v2.",
        },
        "paths": paths,
        "components": {"schemas": {"Error": _ERROR}},
    }
    if keys:
        schemes = {
            "bearer": {"type": "http", "scheme": "bearer"},
            "deepl": {"type": "apiKey", "in": "header", "name": "Authorization"},
        }
        document["components"]["securitySchemes"] = schemes
        document["security"] = [{name: []} for name in schemes]
    return document


def _object(properties: Json, required: list[str]) -> Json:
    return {"type": "object", "properties": properties, "required": required}


def _array(items: Json) -> Json:
    return {"type": "array", "items": items}


_ERROR = _object({"error": STRING, "message": STRING}, ["error", "message"])
_REVIEW = _array(_object({"place": STRING, "reason": STRING}, ["place", "reason"]))
_REMARKS: Json = {
    "cautions": _array(STRING),
    "review": _REVIEW,
    "reviewCount": {"type": "integer", "description": "All places; the list has the first 500."},
}
_STATUS = _object(
    {
        "document_id": STRING,
        "status": {"enum": ["translating", "done", "error"]},
        "billed_characters": {"type": "integer"},
        "error_message": STRING,
        **_REMARKS,
    },
    ["document_id", "status"],
)
_HANDLE = _object({"document_id": STRING, "document_key": STRING}, ["document_id", "document_key"])
_TRANSLATED: Json = {
    **_object(
        {
            "translatedText": {"oneOf": [STRING, _array(STRING)]},
            "alternatives": {"type": "array"},
            "confidence": {"oneOf": [{"type": "number"}, _array({"type": "number"})]},
            "detectedLanguage": {"oneOf": [{"type": "object"}, _array({"type": "object"})]},
            "notes": _array(STRING),
            "review": _REVIEW,
        },
        ["translatedText", "confidence"],
    ),
    "additionalProperties": False,
}
_DETECTED = _array(
    _object({"confidence": {"type": "number"}, "language": STRING}, ["confidence", "language"])
)
_LANGUAGES = _array(
    _object({"code": STRING, "name": STRING, "targets": _array(STRING)}, ["code", "name", "targets"])
)
_SUCCESS = _object({"success": {"const": True}}, ["success"])
_TRANSLATION = _object(
    {"text": STRING, "detected_source_language": STRING}, ["text", "detected_source_language"]
)
_DEEPL = _object({"translations": _array(_TRANSLATION)}, ["translations"])
_USAGE = _object(
    {"character_count": {"type": "integer"}, "character_limit": {"type": "integer"}},
    ["character_count", "character_limit"],
)
_GLOSSARY = _object(
    {"glossary_id": STRING, "name": STRING, "entry_count": {"type": "integer"}},
    ["glossary_id", "name", "entry_count"],
)
_GLOSSARIES = _object({"glossaries": _array(_GLOSSARY)}, ["glossaries"])


def _body(properties: Json, required: list[str], *, key: bool = True) -> Json:
    properties = {**properties, "api_key": KEY} if key else properties
    return {**_object(properties, required), "additionalProperties": False}


def _translate(q: Json) -> Json:
    fields = {
        "q": q,
        "source": CODE,
        "target": CODE,
        "format": {"enum": ["text", "html"]},
        "alternatives": {"type": "integer", "minimum": 0, "maximum": request.MAX_ALTERNATIVES},
        "glossary": {"type": "string", "description": "Name or id of a glossary."},
    }
    assert {*fields, "api_key"} == set(request.TRANSLATE)
    return _body(fields, ["q"])


def _suggest(text: Json) -> Json:
    fields = {"q": text, "s": text, "source": CODE, "target": CODE}
    assert {*fields, "api_key"} == set(libretranslate.SUGGEST)
    return _body(fields, ["q", "s"])


def _attention() -> Json:
    short = {"type": "string", "maxLength": page_routes.MAX_SENTENCE, "minLength": 1}
    fields = {"q": short, "translation": short, "source": CODE, "target": CODE}
    assert {*fields, "api_key"} == set(page_routes.ATTENTION)
    return _body(fields, ["q", "translation"])


def _choices() -> Json:
    short = {"type": "string", "maxLength": page_routes.MAX_SENTENCE}
    fields = {"q": {**short, "minLength": 1}, "prefix": short, "source": CODE, "target": CODE}
    assert {*fields, "api_key"} == set(page_routes.CHOICES)
    return _body(fields, ["q", "prefix"])


def _deepl(texts: Json) -> Json:
    choice = {name: {"enum": list(dict.fromkeys(values))} for name, values in deepl.CHOICES.items()}
    fields = {"text": texts, "source_lang": STRING, "target_lang": STRING, "glossary_id": STRING, **choice}
    assert set(fields) == set(deepl.TRANSLATE)
    return _body(fields, ["text", "target_lang"], key=False)


def _glossary() -> Json:
    fields = {
        "name": STRING,
        "source_lang": STRING,
        "target_lang": STRING,
        "entries": STRING,
        "entries_format": {"enum": ["tsv", "csv"]},
    }
    assert set(fields) == set(deepl.GLOSSARY)
    return _body(fields, ["name", "source_lang", "target_lang", "entries"], key=False)


def _file() -> Json:
    body = _body({"file": FILE, "source": CODE, "target": CODE}, ["file"])
    url = _object({"translatedFileUrl": STRING, **_REMARKS}, ["translatedFileUrl"])
    return _upload("Translate a document", body, "Where it can be downloaded", url)


def _deepl_document() -> Json:
    fields = {
        "file": FILE,
        "filename": STRING,
        "source_lang": STRING,
        "target_lang": STRING,
        "formality": {"enum": list(deepl.CHOICES["formality"])},
        "output_format": STRING,
    }
    assert set(fields) == set(deepl.DOCUMENT)
    body = _body(fields, ["file", "target_lang"], key=False)
    return _upload("Translate a document as DeepL does", body, "The id and key to ask with", _HANDLE)


def _upload(summary: str, schema: Json, about: str, answer: Json) -> Json:
    operation = _operation(summary, {"200": _json(about, answer)}, [501])
    operation["requestBody"] = {"required": True, "content": {"multipart/form-data": {"schema": schema}}}
    return operation


def _post(
    summary: str,
    schema: Json,
    answer: Json | None,
    *others: int,
    status: int = 200,
    parameters: list[str] | None = None,
) -> Json:
    operation = _operation(summary, {str(status): _success(summary, answer)}, [404, *others], parameters)
    kinds = ("application/json", "application/x-www-form-urlencoded", "multipart/form-data")
    operation["requestBody"] = {"required": True, "content": {kind: {"schema": schema} for kind in kinds}}
    return {"post": operation}


def _get(
    summary: str,
    answer: Json | None,
    *others: int,
    parameters: list[str] | None = None,
    query: Json | None = None,
) -> Json:
    operation = _operation(summary, {"200": _success(summary, answer)}, list(others), parameters)
    if query:
        operation.setdefault("parameters", []).append({"in": "query", **query})
    return {"get": operation}


def _success(summary: str, answer: Json | None) -> Json:
    """Return the description of an answer; None: of any kind."""
    if answer is None:
        return {"description": summary, "content": {"*/*": {"schema": {}}}}
    return _json(summary, answer)


def _operation(summary: str, answers: Json, others: list[int], parameters: list[str] | None = None) -> Json:
    named = {**ERRORS, **{code: OTHERS[code] for code in others}}
    reference = {"$ref": "#/components/schemas/Error"}
    answers = {**answers, **{str(code): _json(text, reference) for code, text in named.items()}}
    operation: Json = {"summary": summary, "responses": answers}
    if parameters:
        operation["parameters"] = [
            {"name": name, "in": "path", "required": True, "schema": {"type": "string", "minLength": 1}}
            for name in parameters
        ]
    return operation


def _json(text: str, schema: Json) -> Json:
    return {"description": text, "content": {"application/json": {"schema": schema}}}
