"""What a request may ask."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.serve.request import Question, RefusedError, question

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=7,
)
FIELDS = st.sampled_from(["q", "source", "target", "format", "alternatives", "api_key"])


def test_a_text_a_list_and_a_form_are_read() -> None:
    assert question({"q": "a"}, most_chars=1) == Question(["a"], one=True)
    asked = {"q": ["a", "b\nc"], "source": "auto", "target": "en", "alternatives": 2, "format": "text"}
    assert question(asked, most_chars=4) == Question(["a", "b\nc"], False, "", "en", 2)
    assert question({"q": "a", "alternatives": "3"}, most_chars=9).alternatives == 3


@pytest.mark.parametrize(
    ("asked", "status", "fact"),
    [
        (["a"], 400, "must be a JSON object"),
        ({}, 400, '"q" must be'),
        ({"q": ["a", 3]}, 400, '"q" must be'),
        ({"q": "a\ud800"}, 400, "surrogate"),
        ({"q": ["abc", "de"]}, 413, "more than 4 characters"),
        ({"q": "a", "source": 3}, 400, '"source" must be'),
        ({"q": "a", "format": "html"}, 400, '"format" can only be "text"'),
        ({"q": "a", "alternatives": True}, 400, "from 0 to 9"),
        ({"q": "a", "alternatives": "10"}, 400, "from 0 to 9"),
        ({"q": "a", "alternatives": -1}, 400, "from 0 to 9"),
    ],
)
def test_anything_else_is_refused_with_what_is_wrong(asked: object, status: int, fact: str) -> None:
    with pytest.raises(RefusedError, match=fact) as told:
        question(asked, most_chars=4)
    assert told.value.status == status


@given(JSON | st.dictionaries(FIELDS, JSON))
def test_whatever_comes_is_a_question_or_is_refused(asked: object) -> None:
    try:
        read = question(asked, most_chars=97)
    except RefusedError:
        return
    assert all(isinstance(text, str) for text in read.texts)
    assert sum(map(len, read.texts)) <= 97
    "".join(read.texts).encode()
