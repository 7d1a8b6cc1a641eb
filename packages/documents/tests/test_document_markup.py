"""Tags are carried through a translation: none lost, none twice, none crossing another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead_documents.markup import Markup, Piece, Tag, carry, faults, repair
from multihead_documents.splice import Edit, Span, splice


def tag(name: str) -> Tag:
    """Return the tag of a short name: ``1<`` opens, ``1>`` closes, ``1`` stands alone."""
    return Tag(name[0], "open" if name.endswith("<") else "close" if name.endswith(">") else "alone")


def markup(spelled: str) -> Markup:
    """Return markup of words; those that begin with a digit are tags."""
    return Markup.of(*(tag(word) if word[0].isdigit() else f"{word} " for word in spelled.split()))


SOURCE = markup("press 1< enter 2< now 2> 1> 3 end")


@pytest.mark.parametrize(
    ("translation", "found"),
    [
        ("1< a 2< b 2> 1> c 3", []),
        ("3 2< 2> a 1< 1>", []),
        ("1< a 2< b 1> 2> c 3", ["{/1} does not close the last pair that was opened"]),
        ("1> 1< 2< 2> 3", ["{/1} does not close the last pair that was opened"]),
        ("1< 1> 2< 2>", ["{3/} is lost"]),
        ("1< 1> 2< 2> 3 3", ["{3/} occurs 2 times"]),
        ("1< 1> 2< 2> 3 4", ["{4/} is not in the source"]),
    ],
)
def test_faults_are_named(translation: str, found: list[str]) -> None:
    assert faults(SOURCE, markup(translation)) == found


@pytest.mark.parametrize(
    ("translation", "expected"),
    [
        ("a 1< b 2< c 2> 1> 3", "a {1}b {2}c {/2}{/1}{3/}"),
        ("a 1< b 2< c 1> 2> 3", "a {1}b {2}{/2}c {/1}{3/}"),
        ("a 2< 2> 3 3 9", "a {2}{/2}{3/}{1}{/1}"),
        ("1> a 1< 2< b 2> 3", "{1}{/1}a {2}b {/2}{3/}"),
        ("2> a 3", "{2}{/2}a {3/}{1}{/1}"),
    ],
)
def test_a_spoilt_translation_is_repaired(translation: str, expected: str) -> None:
    assert str(repair(SOURCE, markup(translation))) == expected


PIECES = st.lists(
    st.sampled_from(["a ", "b", *(tag(f"{n}{kind}") for n in "1234" for kind in ("<", ">", ""))]), max_size=12
)


@given(PIECES, PIECES)
def test_a_repaired_translation_has_no_faults(source: list[Piece], translation: list[Piece]) -> None:
    """Whatever a source's tags are (halves of pairs, too), as long as they nest and none occurs twice."""
    base = repair(Markup.of(*dict.fromkeys(p for p in source if isinstance(p, Tag))), Markup.of("x"))
    if faults(base, base):
        return
    result = repair(base, Markup.of(*translation))
    assert faults(base, result) == []
    assert "".join(p for p in result.pieces if isinstance(p, str)) == "".join(
        p for p in translation if isinstance(p, str)
    )


@given(PIECES, st.text(max_size=20))
def test_a_plain_translation_carries_every_tag_in_order(source: list[Piece], text: str) -> None:
    base = Markup.of(*source)
    result = carry(base, text)
    assert result.tags == base.tags
    assert result.text == text


def test_tags_are_carried_to_proportional_places_between_words() -> None:
    source = Markup.of("one ", tag("1<"), "two", tag("1>"), " three four", tag("2"))
    assert str(carry(source, "하나 둘 셋 넷")) == "하나 {1}둘{/1} 셋 넷{2/}"


def test_edits_leave_the_rest_and_may_contain_others() -> None:
    text = "0123456789"
    edits: list[Edit[str]] = [
        Edit(Span(1, 8), ["<", Span(5, 7), "|", Span(2, 4), ">"]),
        Edit(Span(3, 4), ["c"]),
        Edit(Span(4, 5), ["lost: in no part of the outer edit"]),
        Edit(Span(9, 9), ["+"]),
        Edit(Span(9, 10), ["n"]),
    ]
    assert splice(text, edits) == "0<56|2c>8+n"


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.text("ab", max_size=2)), max_size=5))
def test_disjoint_edits_do_what_slices_do(found: list[tuple[int, int, str]]) -> None:
    text = expected = "0123456789"
    edits: list[Edit[str]] = []
    last = 11
    for start, end, new in sorted(found, reverse=True):
        if start <= end < last:
            edits.append(Edit(Span(start, end), [new]))
            expected = expected[:start] + new + expected[end:]
            last = start
    assert splice(text, edits) == expected
