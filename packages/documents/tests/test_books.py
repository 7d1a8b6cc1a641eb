"""E-books: chapters in reading order, tables of contents, title and language."""

import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, carry, open_document
from multihead_documents.errors import DocumentError

BOOK = parts("epub")
OPF, CHAPTER = "OEBPS/book.opf", "OEBPS/text/zwei.xhtml"
OPENING = '<html xmlns="http://www.w3.org/1999/xhtml"><body>'


def opened(folder: Path, members: Mapping[str, bytes]) -> Document:
    (folder / "a.epub").write_bytes(packed(members))
    return open_document(folder / "a.epub", target_language="en")


def chapter(folder: Path, text: str) -> Document:
    """Open a book of one chapter."""
    opf = BOOK[OPF].replace(b'<itemref idref="c1" linear="no"/>', b"")
    for part in ("nav.xhtml", "toc.ncx", "text/Kapitel%201.xhtml"):
        opf = opf.replace(f'href="{part}"'.encode(), b'href="none"')
    opf = opf.replace(b'<dc:title id="t">Ein Buch &amp; mehr</dc:title>', b"")
    return opened(folder, {**BOOK, OPF: opf, CHAPTER: f"{OPENING}{text}</body></html>".encode()})


def member(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def sources(document: Document) -> list[str]:
    return [str(segment.source) for segment in document.segments]


def test_paragraphs_of_chapters_are_segments_in_reading_order(tmp_path: Path) -> None:
    document = opened(tmp_path, BOOK)
    assert sources(document) == [
        "Ein Buch & mehr",
        "Das {1}zweite{/1}\xa0Kapitel",
        "Er {1}sah {2/}einen {3}Hund{/3}{/1},{4/}und{5}{/5}ging{6/} weiter.",
        'Ein "Hund"',
        "שלום, {1/} und 안녕.",
        "Grüße",
        "Und {1}mehr{/1}.",
        "Inhalt",
        "Das zweite Kapitel",
        "Ein Buch",
        "Das zweite Kapitel",
    ]
    assert document.segments[1].place.endswith(f"a.epub:{CHAPTER}:4")


def test_only_the_translated_place_and_the_language_change(tmp_path: Path) -> None:
    document = opened(tmp_path, BOOK)
    changed = document.render(
        {0: "A book <", 3: 'a "dog" \b', 6: carry(document.segments[6].source, "more €.")}
    )
    assert member(changed, OPF) == BOOK[OPF].decode().replace("Ein Buch &amp; mehr", "A book &lt;").replace(
        ">de-AT<", ">en<"
    )
    expected = BOOK[CHAPTER].decode().replace('"de"', '"en"')
    expected = expected.replace('"Ein &quot;Hund&quot;"', '"a &quot;dog&quot; \ufffd"')
    assert member(changed, CHAPTER) == expected
    latin = zipfile.ZipFile(io.BytesIO(changed)).read("OEBPS/text/Kapitel 1.xhtml").decode("iso-8859-1")
    assert "Gr\xfc\xdfe" in latin
    assert "&#8364;" in latin
    first = zipfile.ZipFile(io.BytesIO(changed)).infolist()[0]
    assert (first.filename, first.compress_type) == ("mimetype", zipfile.ZIP_STORED)


def test_every_part_stays_well_formed(tmp_path: Path) -> None:
    etree = pytest.importorskip("lxml.etree")
    document = opened(tmp_path, BOOK)
    words = "eins zwei <drei> & vier fünf"
    changed = document.render({s.number: carry(s.source, words) for s in document.segments})
    for name in BOOK:
        if name.endswith(("html", "opf", "ncx")):
            text = zipfile.ZipFile(io.BytesIO(changed)).read(name)
            etree.fromstring(text, etree.XMLParser(resolve_entities=False, no_network=True))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<p>a<br/><br/>b</p>", ["a", "b"]),
        ("<p><b/>a <i>b<b/> c</i></p>", ["{1/}a {2}b{3/} c{/2}"]),
        ("<p>a <![CDATA[<b>]]> c</p>", ["a {1/} c"]),
        ("<p>a <?x y > z?> c</p>", ["a {1/} c"]),
        ("<p>&nbsp;a&eacute;&hellip;&unknown;</p>", ["aé…&unknown;"]),
        ("<p>a<ruby>漢<rp>(</rp><rt>かん</rt></ruby>b</p>", ["a{1}漢{2/}{3/}{/1}b"]),
        ("<div><textarea/><title/>a</div>", ["a"]),
        ("<table><tr><td><table><tr><td>a</td></tr></table></td><td>b</td></tr></table>", ["a", "b"]),
        ("<p dir='rtl'>שלום <bdo dir='ltr'>abc</bdo></p><p><span></span></p>", ["שלום {1}abc{/1}"]),
        ("<m:math xmlns:m='x'><m:mi>x</m:mi></m:math><p>a</p>", ["a"]),
    ],
)
def test_the_syntax_of_xml_is_read(text: str, expected: list[str], tmp_path: Path) -> None:
    document = chapter(tmp_path, text)
    assert sources(document) == expected
    document.render({segment.number: segment.source for segment in document.segments})


def test_a_book_without_text_is_written_as_it_is(tmp_path: Path) -> None:
    document = chapter(tmp_path, "<p/>")
    assert document.segments == []
    assert document.render({}) == (tmp_path / "a.epub").read_bytes()


DRM = BOOK["META-INF/encryption.xml"].replace(b"http://www.idpf.org/2008/embedding", b"xmlenc#aes128-cbc")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"META-INF/encryption.xml": DRM}, r"encrypted against copying \(DRM\)"),
        ({"mimetype": b"application/zip"}, "an archive of another kind"),
        ({"META-INF/container.xml": b"<container/>"}, "container.xml: names no package"),
        ({OPF: b"<package"}, "book.opf:1: not well-formed"),
        ({OPF: BOOK[OPF].replace(b"text/zwei", b"../../../etc/passwd")}, "without etc/passwd.xhtml"),
        (
            {CHAPTER: b'<!DOCTYPE html [<!ENTITY l "ha"><!ENTITY m "&l;&l;">]><html><p>&m;</p></html>'},
            "zwei.xhtml:1: declares an entity",
        ),
        ({CHAPTER: "<html>ä</html>".encode("latin-1")}, r"zwei.xhtml:1: not UTF-8 \(byte 0xE4"),
        ({"OEBPS/toc.ncx": b'<!DOCTYPE x [<!ENTITY e "a">]><x>&e;</x>'}, "toc.ncx:1: declares an entity"),
        ({CHAPTER: b" " * (2 << 20)}, "unpacks to more than 200 times"),
    ],
)
def test_a_hostile_book_is_refused(change: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message) as caught:
        opened(tmp_path, {**BOOK, **change})
    assert caught.value.remedy
    without = {name: data for name, data in BOOK.items() if name != "META-INF/container.xml"}
    with pytest.raises(DocumentError, match=r"no META-INF/container\.xml in it"):
        opened(tmp_path, without)


@pytest.mark.filterwarnings("ignore")
def test_ebooklib_reads_what_is_written(tmp_path: Path) -> None:
    epub = pytest.importorskip("ebooklib.epub")
    book = epub.EpubBook()
    book.set_title("Ein Buch")
    book.set_language("de")
    chapters = [epub.EpubHtml(title=f"Kapitel {n}", file_name=f"text/k {n}.xhtml", lang="de") for n in (1, 2)]
    for page in chapters:
        page.content = f"<h1>{page.title}</h1><p>Ein <b>Hund</b> &amp; eine Katze.</p>"
        book.add_item(page)
    book.toc = tuple(chapters)
    book.spine = ["nav", *reversed(chapters)]
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    epub.write_epub(str(tmp_path / "a.epub"), book)
    ours = open_document(tmp_path / "a.epub", source_language="de", target_language="ko")
    texts = [segment.source.text for segment in ours.segments]
    assert texts.index("Kapitel 2") < texts.index("Kapitel 1") or "Kapitel 1" in texts[:4]
    assert texts.count("Ein Hund & eine Katze.") == 2
    targets = {s.number: carry(s.source, f"{s.source.text} 안녕") for s in ours.segments}
    ours.write(targets, tmp_path / "b.epub")
    again = epub.read_epub(str(tmp_path / "b.epub"))
    assert again.title == "Ein Buch 안녕"
    assert again.get_metadata("DC", "language") == [("ko", {})]
    assert [link.title for link in again.toc] == ["Kapitel 1 안녕", "Kapitel 2 안녕"]
    pages = [again.get_item_with_href(f"text/k {n}.xhtml").get_content().decode() for n in (1, 2)]
    assert all("카" not in page and "안녕</p>" in page and page.count("<b>") == 1 for page in pages)
