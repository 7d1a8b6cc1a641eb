"""Validation of translation requests."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import TRANSLATE, TranslationRequest, parse_request, refuse_unknown

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=7,
)
FIELDS = st.sampled_from(["q", "source", "target", "format", "alternatives", "api_key"])


def test_a_text_a_list_and_a_form_are_parsed() -> None:
    assert parse_request({"q": "a"}, max_chars=1) == TranslationRequest(["a"], single=True)
    body = {"q": ["a", "b\nc"], "source": "auto", "target": "en", "alternatives": 2, "format": "text"}
    assert parse_request(body, max_chars=4) == TranslationRequest(["a", "b\nc"], False, "", "en", 2)
    assert parse_request({"q": "a", "alternatives": "3"}, max_chars=9).alternatives == 3


@pytest.mark.parametrize(
    ("body", "status", "fact"),
    [
        ({}, 400, '"q" must be'),
        ({"q": ["a", 3]}, 400, '"q" must be'),
        ({"q": "a\ud800"}, 400, "surrogate"),
        ({"q": ["abc", "de"]}, 413, "more than 4 characters"),
        ({"q": "a", "source": 3}, 400, '"source" must be'),
        ({"q": "a", "format": "pdf"}, 400, '"format" must be "text" or "html"'),
        ({"q": "a", "source": "German"}, 400, 'Write "de"'),
        ({"q": "a", "glossary": 3}, 400, '"glossary" must be'),
        ({"q": ["a"] * 1001}, 413, "more than 1,000 texts"),
        ({"q": "a", "alternatives": True}, 400, "from 0 to 9"),
        ({"q": "a", "alternatives": "10"}, 400, "from 0 to 9"),
        ({"q": "a", "alternatives": -1}, 400, "from 0 to 9"),
    ],
)
def test_an_invalid_request_is_refused_with_its_reason(
    body: dict[str, object], status: int, fact: str
) -> None:
    with pytest.raises(RefusedError, match=fact) as raised:
        parse_request(body, max_chars=4)
    assert raised.value.status == status


def test_unknown_fields_are_refused_by_name() -> None:
    with pytest.raises(
        RefusedError, match='unknown field "Q", "api-key"; /translate takes q, source'
    ) as raised:
        refuse_unknown({"q": "a", "Q": "b", "api-key": "c"}, TRANSLATE, "/translate")
    assert raised.value.status == 400


@given(st.dictionaries(FIELDS | st.text(max_size=3), JSON))
def test_any_json_is_parsed_or_refused(body: dict[str, object]) -> None:
    try:
        request = parse_request(body, max_chars=97)
    except RefusedError:
        return
    assert all(isinstance(text, str) for text in request.texts)
    assert sum(map(len, request.texts)) <= 97
    "".join(request.texts).encode()
