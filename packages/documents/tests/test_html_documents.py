"""Web pages: paragraphs and attributes are found as browsers find them, judged by html5lib."""

import html
from pathlib import Path
from typing import Any

import pytest
from document_samples import samples
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Markup, carry, open_document
from multihead_documents.web.tokens import html_tokens

PAGE = samples()["page.html"]


def opened(folder: Path, text: str | bytes, name: str = "a.html") -> Document:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_document(folder / name)


def texts(folder: Path, body: str) -> list[str]:
    return [str(segment.source) for segment in opened(folder, body).segments]


def test_paragraphs_and_attributes_are_segments(tmp_path: Path) -> None:
    document = opened(tmp_path, PAGE)
    assert [(segment.context, str(segment.source)) for segment in document.segments] == [
        ("", "Titel & mehr"),
        ("meta content", 'Eine "Seite"'),
        ("", "Über uns"),
        ("a title", 'Zum "Ziel"'),
        ("", "Ein {1}fetter und {2}schräger{/2}{/1} Text,{3/} der {4}weitergeht{/4}\xa0… mit {5/}."),
        ("img alt", "Bild"),
        ("img alt", "Noch ein Bild"),
        ("", "Ohne Ende-Tag {1/} und {2/} dazwischen"),
        ("", "Eins"),
        ("", "Zwei"),
        ("", "Mit {1/}"),
        ("", "a < b"),
        ("", "3 < 4 &unknown; AB"),
        ("input value", "Senden"),
        ("input placeholder", "Name?"),
        ("", "שלום {1}עולם{/1}"),
        ("", "안녕하세요,"),
        ("", "여러분."),
        ("", "verschränkt {1}fett {2/}beides{/1} schräg{3/} Ende"),
        ("", "Ende & {1}aus{/1}"),
    ]
    assert document.segments[4].source.tags[-1].raw == "<code>x &lt; <var>y</var></code>"


def test_links_side_by_side_are_words_of_their_own(tmp_path: Path) -> None:
    page = "<nav><a href=1>Start</a><a href=2>Mein <b>K</b>onto</a> <A>Ende</A><A>Neu</A></nav>"
    document = opened(tmp_path, page)
    assert [segment.source.text for segment in document.segments] == ["Start Mein Konto Ende Neu"]
    assert document.render({0: document.segments[0].source}).decode() == page


def test_an_attribute_in_a_sentence_is_translated_with_it(tmp_path: Path) -> None:
    document = opened(tmp_path, "<p>Ein <img src=x alt=Bild> <a href=y title='Ein \"Ziel\"'>Wort</a></p>")
    sentence = Markup.of("One ", *document.segments[2].source.tags)
    changed = document.render({0: 'pic"ture', 1: "a 'goal'", 2: sentence}).decode()
    assert changed == ("<p>One <img src=x alt=\"pic&quot;ture\"><a href=y title='a &#39;goal&#39;'></a></p>")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<ul><li translate=no>a<li>b</ul>", ["b"]),
        ("<ul><li translate=no><ul><li>a</ul><li>b</ul>c", ["b", "c"]),
        ("<p translate=no>a<p>b", ["b"]),
        ("<div translate=no><p>a<p>b</div>c", ["c"]),
        ("<table><tr><td translate='no'>a<td>b<tr translate=no><td>c<tr><td>d</table>e", ["b", "d", "e"]),
        ("<p>a <code>b</p><p>c</code>d", ["a {1/}", "c{1/}d"]),
        ("<p>a <svg><title>b</title><p/><path/></svg> c", ["a {1/} c"]),
        ("<p>a <math><mi>x</mi></math>", ["a {1/}"]),
        ("<script>'</p>a'</script>b", ["b"]),
        ("<textarea>a <b></textarea>b", ["b"]),
        ("a<!-- b -->c", ["a{1/}c"]),
        ("<!-- a --> b <!-- c -->", ["b"]),
        ("a<br>b<br> <br>c", ["a{1/}b", "c"]),
        ("<b><a name=x></a>a b</b>", ["a b"]),
        ("<button>a</button> <button>b</button>", ["a", "b"]),
        ("<p>a &copy b &amp;lt; &#8364;&#x20AC; &#0; &notit;", ["a © b &lt; €€ \ufffd ¬it;"]),
        ("<a title='?a=1&copy=2&amp;b'></a>", ["?a=1&copy=2&b"]),
        ("<a title=a title=b alt=''></a>", ["a"]),
        ("&nbsp;<p>&nbsp;a&nbsp;</p>", ["a"]),
        ("<plaintext>a</plaintext>", []),
        ("<a title='b", []),
    ],
)
def test_ends_that_are_missing_are_found(body: str, expected: list[str], tmp_path: Path) -> None:
    assert texts(tmp_path, body) == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("<p>Hallo <%= user.name %>, du.</p>", ["Hallo <%= user.name %>, du."]),
        ("<p>a <% if x > 3 && y < 2 %>b<% end %></p>", ["a", "b"]),
        ("<?php if ($a > 3): ?><p>a</p><?php endif; ?>", ["a"]),
        ("<p>a <?php echo $b->c(); ?> d <?= $e ?></p><?php f('<p>g</p>')", ["a {1/} d <?= $e ?>"]),
        ("{% if a < b %}a{% else %}b {{ c }}!{%- endif -%}", ["a", "b {{ c }}!"]),
        ("<p>a: {{ b > c ? \"d\" : f('e') }}", ["a: {{ b > c ? \"d\" : f('e') }}"]),
        ("a{# <b>b</b> #}c {{!-- d }} e --}} f {{! g }} h", ["a{1/}c {2/} f {3/} h"]),
        ("{{#if x}}a{{else}}b{{/if}} {{{c}}} {{> d}}", ["a", "b"]),
        ('<p class="{{ "a" if b > c }}" <%= d %>>e', ["e"]),
        ("<td>{{ a }}</td><img alt='<%= b %>'><img alt=\"{{ b }} & c\">", ["{{ b }} & c"]),
        ("<img alt='{% if a %}b{% endif %}'>c", ["c"]),
        ("<script>if (a<b) {{ c() }}</script>d<style>a{b:c}}</style>", ["d"]),
        ("a {{ b</p><p>c }}", ["a {{ b", "c }}"]),
        ("{% trans %}a{% endtrans %}", ["a"]),
    ],
)
def test_template_code_is_neither_translated_nor_changed(
    body: str, expected: list[str], tmp_path: Path
) -> None:
    document = opened(tmp_path, body)
    assert [str(segment.source) for segment in document.segments] == expected
    same = document.render({segment.number: segment.source for segment in document.segments}).decode()
    assert same == body.replace("& c", "&amp; c")


def test_template_code_that_the_page_lacks_is_escaped(tmp_path: Path) -> None:
    document = opened(tmp_path, '<p title="a {{ b > "c" }}">d {{ e & f }}</p>')
    changed = document.render({0: '{{ b > "c" }} "<', 1: "{{ e & f }} {{ g & h }}"}).decode()
    assert changed == '<p title="{{ b > "c" }} &quot;&lt;">{{ e & f }} {{ g &amp; h }}</p>'


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [
        ("<meta charset=euc-kr>", "cp949"),
        ("<meta http-equiv=content-type content='text/html; charset=ISO-8859-1'>", "cp1252"),
        ("<?xml version='1.0' encoding='Shift_JIS'?>", "cp932"),
    ],
)
def test_a_page_is_read_and_written_in_the_encoding_that_it_declares(
    declared: str, encoding: str, tmp_path: Path
) -> None:
    word = {"cp949": "똠방각하", "cp1252": "„Grün“", "cp932": "①漢字"}[encoding]
    document = opened(tmp_path, f"{declared}<p>{word}".encode(encoding))
    assert document.segments[0].source.text == word
    assert document.render({0: "שלום"}) == f"{declared}<p>&#1513;&#1500;&#1493;&#1501;".encode()


def _kept(element: Any) -> bool:
    return (
        element.tag.rpartition("}")[2] in ("code", "pre", "script", "style", "svg", "var", "input")
        or element.get("translate") == "no"
        or "notranslate" in (element.get("class") or "")
    )


def _shown(element: Any) -> str:
    """Return the text of a tree of html5lib that is to be translated."""
    if not isinstance(element.tag, str):
        return ""
    own = "" if _kept(element) else (element.text or "") + "".join(map(_shown, element))
    return own + (element.tail or "")


def test_no_text_that_a_browser_shows_is_missed(tmp_path: Path) -> None:
    html5lib = pytest.importorskip("html5lib")
    document = opened(tmp_path, PAGE)
    found = " ".join(segment.source.text for segment in document.segments if not segment.context)
    assert "".join(found.split()) == "".join(_shown(html5lib.parse(PAGE.decode())).split())


def test_a_browser_finds_the_same_elements_after_translation(tmp_path: Path) -> None:
    html5lib = pytest.importorskip("html5lib")
    document = opened(tmp_path, PAGE)
    words = '<b>Wörter</b> & "mehr" </p><!-- 안녕'
    changed = document.render({s.number: carry(s.source, words) for s in document.segments})
    before, after = (html5lib.parse(page.decode()) for page in (PAGE, changed))
    shown = ("title", "alt", "content", "placeholder", "value")
    for old, new in zip(before.iter(), after.iter(), strict=True):
        assert old.tag == new.tag
        assert {k: v for k, v in old.items() if k not in shown} == {
            k: v for k, v in new.items() if k not in shown
        }
    assert "".join(_shown(after).split()).count("".join(words.split())) == len(
        [s for s in document.segments if not s.context]
    )


MARKUP = [
    "<",
    "</",
    ">",
    "<!--",
    "-->",
    "--!>",
    "<!",
    "<?",
    "/>",
    "=",
    '"',
    "'",
    " ",
    "\n",
    "a",
    "p",
    "-",
    "!",
    "é",
]
MARKUP += [
    "<script>",
    "<script",
    "</script",
    "<title>",
    "</title>",
    "<style>",
    "</style ",
    "<![CDATA[",
    "]]>",
]
MARKUP += ["<!doctype", "/", "<textarea", "</textarea>", "<b c='d'>", "<i e=f>", "<p>", "</p>", "--", "\t"]
STATES = {"script": "scriptDataState", "title": "rcdataState", "textarea": "rcdataState"}


@given(st.lists(st.sampled_from(MARKUP), max_size=14).map("".join))
@settings(max_examples=150, deadline=None)
def test_tokens_are_those_of_html5lib(text: str) -> None:
    pytest.importorskip("html5lib")
    tokenizer = pytest.importorskip("html5lib._tokenizer").HTMLTokenizer(text)
    types = pytest.importorskip("html5lib.constants").tokenTypes
    expected: list[tuple[Any, ...]] = []
    for token in tokenizer:
        if token["type"] in (types["Characters"], types["SpaceCharacters"]):
            expected.append(("text", token["data"]))
        elif token["type"] == types["StartTag"]:
            expected.append(("start", token["name"], dict(token["data"])))
            if state := STATES.get(token["name"], "rawtextState" if token["name"] == "style" else ""):
                tokenizer.state = getattr(tokenizer, state)
        elif token["type"] == types["EndTag"]:
            expected.append(("end", token["name"]))
    assert _merged(_ours(text)) == _merged(expected)


def _ours(text: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    place = 0
    for token in html_tokens(text):
        assert token.span.start == place
        place = token.span.end
        raw = text[slice(*token.span)]
        if token.kind in ("text", "raw"):
            found.append(("text", html.unescape(raw) if token.kind == "text" else raw))
        elif token.kind == "start":
            values = {a.name: text[slice(*a.value)] for a in reversed(token.attributes)}
            found.append(("start", token.name, values))
        elif token.kind == "end":
            found.append(("end", token.name))
    assert place == len(text)
    return found


def _merged(tokens: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    result: list[tuple[Any, ...]] = []
    for token in tokens:
        if token[0] == "text" and result and result[-1][0] == "text":
            result[-1] = ("text", result[-1][1] + token[1])
        else:
            result.append(token)
    return result
