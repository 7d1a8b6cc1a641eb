"""PowerPoint presentations: slides in their order, with tables, SmartArt and notes."""

import io
import re
import time
import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts

from multihead_documents import Document, carry, open_document
from multihead_documents.errors import DocumentError

SLIDE = "ppt/slides/slide2.xml"
DECK = parts("pptx")


def opened(folder: Path, members: dict[str, bytes]) -> Document:
    (folder / "a.pptx").write_bytes(packed(members))
    return open_document(folder / "a.pptx")


def slide(folder: Path, *paragraphs: str) -> Document:
    """Open a presentation with a slide of these paragraphs' content."""
    head, _, tail = DECK[SLIDE].decode().partition("<p:sp>")
    body = "".join(f"<a:p>{paragraph}</a:p>" for paragraph in paragraphs)
    text = f"{head}<p:sp><p:txBody>{body}</p:txBody></p:sp></p:spTree></p:cSld></p:sld>"
    assert tail
    return opened(folder, {**DECK, SLIDE: text.encode()})


def member(data: bytes, name: str) -> str:
    return zipfile.ZipFile(io.BytesIO(data)).read(name).decode()


def sources(document: Document) -> list[str]:
    return [str(segment.source) for segment in document.segments]


def test_paragraphs_of_slides_are_segments_in_the_order_of_the_slides(tmp_path: Path) -> None:
    document = opened(tmp_path, DECK)
    assert sources(document) == [
        "Bild",
        "Ein Titel",
        "Ein {1}fettes{/1} Wort, ein {2}Verweis{/2}{3/}auf{4/}Seite & {5/}",
        "In der <Gruppe>",
        "שלום עולם",
        "Erster Schritt",
        "Eine Notiz",
        "안녕하세요.",
    ]
    assert document.segments[6].place.endswith("a.pptx:ppt/notesSlides/notesSlide1.xml, paragraph 1")


def test_only_the_text_of_a_run_changes(tmp_path: Path) -> None:
    document = opened(tmp_path, DECK)
    changed = member(document.render({4: "hello <world>"}), SLIDE)
    assert changed == DECK[SLIDE].decode().replace("> שלום עולם <", "> hello &lt;world&gt; <")
    changed = member(document.render({1: "A title"}), SLIDE)
    title = (
        '<a:p><a:r><a:rPr lang="de-DE" dirty="0"/><a:t>A title</a:t></a:r><a:endParaRPr lang="de-DE"/></a:p>'
    )
    assert title in changed


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (
            "<a:r><a:t>a</a:t></a:r><a:r><a:rPr/><a:t>b</a:t></a:r><a:r><a:rPr lang='x'></a:rPr><a:t/></a:r>",
            "ab",
        ),
        ("<a:r><a:rPr b='1'/><a:t>a</a:t></a:r><a:br/><a:r><a:rPr b='1'/><a:t>b</a:t></a:r>", "a{1/}b"),
        ("<a:br/><a:r><a:t> a</a:t></a:r><a:br/><a:endParaRPr/>", "a"),
        ("<a:r><a:t>a_x000B_b_x0041_</a:t></a:r>", "a{1/}b_x0041_"),
        ("<a:r><a:t>a</a:t></a:r><m:m xmlns:m='m'><m:r><m:t>x</m:t></m:r></m:m>", "a{1/}"),
        ("<!-- c --><a:r><a:t>a<!-- c -->b</a:t></a:r>", "ab"),
    ],
)
def test_the_text_of_a_paragraph_is_found_in_its_runs(content: str, expected: str, tmp_path: Path) -> None:
    document = slide(tmp_path, content)
    assert sources(document)[0] == expected
    (tmp_path / "a.pptx").write_bytes(document.render({0: document.segments[0].source}))
    assert sources(open_document(tmp_path / "a.pptx")) == sources(document)


@pytest.mark.parametrize("prefix", ["", "d:"])
def test_strict_documents_and_any_prefix_are_read(prefix: str, tmp_path: Path) -> None:
    def changed(data: bytes) -> bytes:
        text = data.decode().replace("http://schemas.openxmlformats.org/drawingml/2006/main", "urn:a")
        text = re.sub("http://schemas.openxmlformats.org/(officeDocument|presentationml)/2006", STRICT, text)
        text = text.replace("urn:a", "http://purl.oclc.org/ooxml/drawingml/main")
        text = re.sub(r"<(/?)a:", rf"<\1{prefix}", text)
        return text.replace("xmlns:a=", f"xmlns{':' * bool(prefix)}{prefix[:-1]}=").encode()

    strict = {n: changed(data) if n[0] != "[" and n[-3:] != "png" else data for n, data in DECK.items()}
    document = opened(tmp_path, strict)
    assert sources(document) == sources(opened(tmp_path, DECK))
    assert f"<{prefix}t>Title</{prefix}t>" in member(document.render({1: "Title"}), SLIDE)


STRICT = r"http://purl.oclc.org/ooxml/\1"


def test_a_presentation_without_text_is_written_as_it_is(tmp_path: Path) -> None:
    main = re.sub(rb"<p:sldIdLst>.*</p:sldIdLst>", b"", DECK["ppt/presentation.xml"])
    document = opened(tmp_path, {**DECK, "ppt/presentation.xml": main})
    assert document.segments == []
    assert document.render({}) == (tmp_path / "a.pptx").read_bytes()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"[Content_Types].xml": b"<Types/>"}, "no slides of PowerPoint's in it"),
        ({"ppt/_rels/presentation.xml.rels": b"<Relationships/>"}, "<sldId> refers to no part"),
        (
            {
                "ppt/_rels/presentation.xml.rels": DECK["ppt/_rels/presentation.xml.rels"].replace(
                    b'"slides/slide2', b'"../../../../etc/passwd'
                )
            },
            "an archive without etc/passwd",
        ),
        (
            {SLIDE: b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><x>&e;</x>'},
            r"slide2.xml:1: declares an entity \(e\)",
        ),
        ({SLIDE: DECK[SLIDE][:-9]}, "slide2.xml:6: not well-formed XML"),
        ({SLIDE: b" " * (2 << 20)}, "unpacks to more than 200 times"),
        (
            {SLIDE: DECK[SLIDE].decode().replace("UTF-8", "UTF-16").encode("utf-16")},
            "not UTF-8. Save it again in PowerPoint",
        ),
    ],
)
def test_a_hostile_presentation_is_refused(change: dict[str, bytes], message: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=message):
        opened(tmp_path, {**DECK, **change})


def test_another_document_in_the_name_of_a_presentation_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="no slides of PowerPoint's"):
        opened(tmp_path, parts("docx"))
    (tmp_path / "a.pptx").write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(5000))
    with pytest.raises(DocumentError, match=r"with a password: save it as .*\.pptx"):
        open_document(tmp_path / "a.pptx")


def test_python_pptx_reads_what_is_written(tmp_path: Path) -> None:
    pptx = pytest.importorskip("pptx")
    deck = pptx.Presentation()
    page = deck.slides.add_slide(deck.slide_layouts[1])
    page.shapes.title.text = "Überschrift"
    first = page.placeholders[1].text_frame.paragraphs[0]
    for text, bold, link in (("Ein ", None, None), ("fettes", True, None), (" Wort & ", None, "http://a.b/")):
        run = first.add_run()
        run.text, run.font.bold, run.hyperlink.address = text, bold, link
    first.add_line_break()
    first.add_run().text = "zweite Zeile"
    table = page.shapes.add_table(1, 2, 0, 0, 9999, 9999).table
    table.cell(0, 1).text = "Zelle"
    page.notes_slide.notes_text_frame.text = "Notiz"
    deck.save(str(tmp_path / "a.pptx"))
    ours = open_document(tmp_path / "a.pptx")
    assert sources(ours) == [
        "Überschrift",
        "Ein {1}fettes{/1}{2} Wort & {/2}{3/}zweite Zeile",
        "Zelle",
        "Notiz",
    ]
    words = ["제목", "A bold & <word> second line", "שלום", "Note"]
    targets = {n: carry(ours.segments[n].source, text) for n, text in enumerate(words)}
    ours.write(targets, tmp_path / "b.pptx")
    again = pptx.Presentation(str(tmp_path / "b.pptx")).slides[0]
    assert again.shapes.title.text == words[0]
    runs = again.placeholders[1].text_frame.paragraphs[0].runs
    assert [run.font.bold for run in runs if run.font.bold is not None] == [True]
    assert [run.hyperlink.address for run in runs if run.hyperlink.address] == ["http://a.b/"]
    assert again.placeholders[1].text.replace("\v", "") == words[1]
    assert [shape.table.cell(0, 1).text for shape in again.shapes if shape.has_table] == [words[2]]
    assert again.notes_slide.notes_text_frame.text == words[3]


def test_two_thousand_slides_take_time_in_proportion(tmp_path: Path) -> None:
    count = 2000
    slides = [f"ppt/slides/s{number}.xml" for number in range(count)]
    main = "".join(f'<p:sldId id="{256 + number}" r:id="r{number}"/>' for number in range(count))
    related = "".join(
        f'<Relationship Id="r{number}" Type="x/slide" Target="/{name}"/>'
        for number, name in enumerate(slides)
    )
    members = {
        **DECK,
        "ppt/presentation.xml": re.sub(
            "<p:sldIdLst>.*</p:sldIdLst>", main, DECK["ppt/presentation.xml"].decode()
        ).encode(),
        "ppt/_rels/presentation.xml.rels": f"<Relationships>{related}</Relationships>".encode(),
        **dict.fromkeys(slides, DECK["ppt/slides/slide1.xml"]),
    }
    with zipfile.ZipFile(tmp_path / "a.pptx", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    begun = time.process_time()
    document = open_document(tmp_path / "a.pptx")
    assert len(document.segments) == count
    document.render({segment.number: "a" for segment in document.segments})
    assert time.process_time() - begun < 20
