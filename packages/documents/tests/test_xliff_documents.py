"""XLIFF and TMX: targets are added and replaced in place, with states and languages."""

from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import Document, Markup, Translation, open_document
from multihead_documents.errors import DocumentError
from multihead_documents.xml.document import with_attributes
from multihead_documents.xml.events import xml_events


def opened(folder: Path, name: str, text: str | bytes, **languages: str) -> Document:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_document(folder / name, **languages)


def test_units_come_with_their_state_and_context(tmp_path: Path) -> None:
    document = opened(tmp_path, "one.xlf", samples()["one.xlf"])
    assert [(s.key, str(s.source), str(s.target), s.state) for s in document.segments] == [
        ("1", "Hallo {1}schöne {2/}{/1} Welt ä& <b> ß", "None", "new"),
        ("2", "Zwei", "None", "new"),
        ("4", "Ein.", "하나.", "translated"),
        ("4", "Zwei.", "None", "new"),
        ("5", "Fünf {1}und{/1} {2/}", "{2/} 다섯{1}과{/1}", "needs-review"),
        ("6", "alles fett", "None", "new"),
    ]
    assert (document.segments[0].note, document.segments[0].max_length) == ("Gruß", 40)
    assert (document.source_language, document.target_language) == ("de", None)


def test_a_target_is_added_behind_its_source(tmp_path: Path) -> None:
    text = samples()["one.xlf"].decode()
    document = opened(tmp_path, "one.xlf", text, target_language="ko")
    pieces = [piece if not isinstance(piece, str) else "<" for piece in document.segments[0].source.pieces]
    changed = document.render({0: Translation(Markup.of(*pieces), review=True)}).decode()
    assert changed == text.replace("approved='yes'", "approved='no'").replace(
        "&amp; <![CDATA[<b>]]> ß\t</source>",
        "&amp; <![CDATA[<b>]]> ß\t</source>\n  "
        '<target state="needs-review-translation">'
        ' &lt;<g id="1" ctype=\'bold\'>&lt;<x id="2"/></g>&lt;\t</target>',
    ).replace('datatype="plaintext"', 'datatype="plaintext" target-language="ko"')


def test_an_empty_target_is_filled_and_a_full_one_replaced(tmp_path: Path) -> None:
    text = samples()["one.xlf"].decode()
    document = opened(tmp_path, "one.xlf", text)
    tags = document.segments[4].source.tags
    changed = document.render({1: "둘", 4: Markup.of("다섯", *tags)}).decode()
    assert "<target state='translated'>둘</target>" in changed
    assert (
        '<target  state = "translated">다섯<bpt id="1">&lt;b></bpt><ept id="1">&lt;/b></ept><ph id' in changed
    )
    assert "target-language" not in changed  # nobody said which


def test_segments_of_a_unit_are_filled_one_by_one(tmp_path: Path) -> None:
    text = samples()["one.xlf"].decode()
    document = opened(tmp_path, "one.xlf", text)
    one = document.render({2: "일."}).decode()
    assert '<target state="translated"><mrk mtype="seg" mid="0">일.</mrk></target>' in one
    both = document.render({3: "둘."}).decode()
    assert (
        '<target state="translated"><mrk mtype="seg" mid="0">하나.</mrk> <g id="9"><mrk\n'
        ' mtype="seg" mid="1">둘.</mrk></g></target>'
    ) in both


def test_xliff_2_states_are_its_segments(tmp_path: Path) -> None:
    text = samples()["two.xlf"].decode()
    document = opened(tmp_path, "two.xlf", text, target_language="ko")
    assert [(str(s.source), s.state) for s in document.segments] == [
        ("Hello {1}World{/1}{2/}\n and {3}x{/3}.", "new"),
        ("Bell \a rings", "new"),
        ("Bye", "final"),
    ]
    assert document.segments[0].source.text == "Hello WorldBR\n and x."
    changed = document.render({1: Translation(Markup.of("a\x07<"), review=True), 2: "안녕"}).decode()
    assert changed == text.replace('srcLang="en"', 'srcLang="en" trgLang="ko"').replace(
        "<my:segment state='initial'>", "<my:segment state='translated' subState='multihead:needs-review'>"
    ).replace("<my:target/>", '<my:target>a<my:cp hex="0007"/>&lt;</my:target>').replace(
        'state="final" subState="a:b"', 'state="translated"'
    ).replace("Tschüss", "안녕")


def test_xliff_2_needs_a_target_language(tmp_path: Path) -> None:
    document = opened(tmp_path, "two.xlf", samples()["two.xlf"])
    with pytest.raises(DocumentError, match=r"two\.xlf:2: no target language \(trgLang\)"):
        document.render({0: document.segments[0].source})


def test_a_memory_gets_a_variant_of_the_target_language(tmp_path: Path) -> None:
    text = samples()["memory.tmx"].decode()
    document = opened(tmp_path, "memory.tmx", text)
    assert (document.source_language, document.target_language) == ("de", "en")
    assert [(s.key, str(s.source), str(s.target)) for s in document.segments] == [
        ("a", "Ein {1}Haus{/1} & {2/}.", "A {2/} {1}house{/1}."),
        ("", "Zwei {1}Häuser{/1}", "None"),
        ("", "Drei", "None"),
    ]
    tags = document.segments[1].source.tags
    changed = document.render({1: Markup.of("Two ", *tags), 2: "Three"}).decode()
    assert changed == text.replace(
        "</hi></seg></tuv>", '</hi></seg></tuv><tuv xml:lang="en"><seg>Two <hi type="x"></hi></seg></tuv>'
    ).replace("<seg/>", "<seg>Three</seg>")
    korean = opened(tmp_path, "memory.tmx", text, target_language="ko")
    added = korean.render({0: Markup.of(*korean.segments[0].source.tags)}).decode()
    assert '</tuv>\n  <tuv xml:lang="ko"><seg><bpt i="1">' in added


def test_a_memory_is_translated_from_the_language_that_is_asked_for(tmp_path: Path) -> None:
    document = opened(
        tmp_path, "memory.tmx", samples()["memory.tmx"], source_language="EN", target_language="fr"
    )
    assert [str(s.source) for s in document.segments] == ["A {1/} {2}house{/2}.", "no German here"]


@pytest.mark.parametrize(
    ("tag", "expected"),
    [
        ("<a/>", '<a b="&lt;&quot;"/>'),
        ("<a >", '<a b="&lt;&quot;" >'),
        ("<a xb='1' b = 'x'>", "<a xb='1' b = '&lt;&quot;'>"),
        ("<a c='b=\"1\"'/>", "<a c='b=\"1\"' b='&lt;&quot;'/>"),
    ],
)
def test_an_attribute_is_set_in_the_tags_own_style(tag: str, expected: str) -> None:
    assert with_attributes(tag, {"b": '<"'}) == expected
    assert with_attributes(expected, {"b": None}).replace(" ", "") == tag.replace(" b = 'x'", "").replace(
        " ", ""
    )


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_the_bytes_of_all_events_are_the_files(size: int) -> None:
    for name, data in samples().items():
        if name.endswith((".xlf", ".tmx")):
            chunks = [data[start : start + size] for start in range(0, len(data), size)]
            events = list(xml_events(chunks, name))
            start = events[0].span.start
            assert data[start:] == b"".join(event.raw for event in events)
            assert not data[:start].strip(b"\xef\xbb\xbf\xff\xfe")
            assert all(data[slice(*event.span)] == event.raw for event in events)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_needs_no_byte_order_mark(encoding: str, tmp_path: Path) -> None:
    units = '<tu><tuv xml:lang="de"><seg>Öl</seg></tuv></tu>'
    text = f'<tmx version="1.4"><header srclang="de"/><body>{units}</body></tmx>'
    (tmp_path / "a.tmx").write_bytes(text.encode(encoding))
    changed = open_document(tmp_path / "a.tmx", target_language="ko").render({0: "기름"})
    assert changed.decode(encoding) == text.replace(
        "</tuv>", '</tuv><tuv xml:lang="ko"><seg>기름</seg></tuv>'
    )
