"""Hostile documents, glossaries and memories, given to ``multihead translate``."""

import functools
import io
import zipfile
from pathlib import Path

import pytest
from archive_samples import packed, parts
from command_line import Captured, fail, run
from hostile_documents import ANSWERED, REFUSED

from multihead.tasks.translation.lines import Translator

EARLIER = "an earlier translation"


@pytest.fixture(autouse=True)
def loaded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Load the run once for all commands of a test."""
    load = functools.cache(Translator.load)
    monkeypatch.setattr(Translator, "load", load)


def refused(capture: Captured, trained: Path, document: Path, *options: object) -> str:
    """Return the error of a command that must leave everything as it is."""
    output = document.with_name(f"out{document.suffix}")
    output.write_text(EARLIER)
    before = {path.name for path in document.parent.iterdir()}
    error = fail(capture, "translate", trained, document, "-o", output, *options)
    assert error.count("\n") == 1
    assert "Traceback" not in error
    assert output.read_text() == EARLIER
    assert {path.name for path in document.parent.iterdir()} == before
    return error


def test_a_hostile_document_is_refused_and_nothing_is_written(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    assert len(REFUSED) >= 25
    for number, (name, (file, data, _)) in enumerate(REFUSED.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / file).write_bytes(data)
        assert file in refused(capfdbinary, trained, folder / file), name


def test_a_strange_document_is_translated(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    for number, (name, (file, text, _)) in enumerate(ANSWERED.items()):
        if len(text) > 1000:
            continue  # long ones take a model long; the documents' own tests read them
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / file).write_text(text)
        out = folder / f"out{Path(file).suffix}"
        run(capfdbinary, "translate", trained, folder / file, "-o", out)
        assert out.exists(), name


def test_a_deeply_nested_page_is_translated(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    page = tmp_path / "a.html"
    page.write_text("<div>" * 10_000 + "eins <b>zwei</b>" + "</div>" * 10_000)
    run(capfdbinary, "translate", trained, page, "-o", tmp_path / "b.html")
    text = (tmp_path / "b.html").read_text()
    assert text.count("<div>") == text.count("</div>") == 10_000
    assert text.count("<b>") == 1


def test_archives_that_lie_or_explode_are_refused(
    trained: Path, tmp_path: Path, capfdbinary: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    members = parts("docx")
    cases = {
        "not a zip": b"PK\3\4 nothing",
        "half": packed(members)[:900],
        "an entity": packed(
            {**members, "word/document.xml": b'<!DOCTYPE x [<!ENTITY a "b">]>' + members["word/document.xml"]}
        ),
        "no document": packed({name: data for name, data in members.items() if name != "word/document.xml"}),
        "another name": packed(parts("odt")),
    }
    for number, (name, data) in enumerate(cases.items()):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "a.docx").write_bytes(data)
        assert "a.docx" in refused(capfdbinary, trained, folder / "a.docx"), name
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        archive.writestr("word/media/bomb.xml", bytes(300 << 20))
    (tmp_path / "a.docx").write_bytes(bomb.getvalue())
    assert "a.docx" in refused(capfdbinary, trained, tmp_path / "a.docx")


def test_a_gigabyte_of_nothing_is_refused(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    with (tmp_path / "a.txt").open("wb") as file:
        file.truncate(1 << 30)
    assert "Split it" in refused(capfdbinary, trained, tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ("eins\tuno\neins\tdos\n", "here and"),
        ("eins\t\n", "empty target"),
        ("\tuno\n", "empty source"),
        ("eins\tzwei\nzwei\teins\n", "translate each other"),
        ("a\tb\nb\tc\nc\ta\n", "translate each other"),
        ("", "no terms"),
        ("# nothing\n", "no terms"),
        ("a\tb\tc\tshouting\n", "no rule of case"),
        ("a\tb\tc\texact\te\tf\n", "columns"),
        ("source\ttarget\tfurther\n", "no column"),
        ("x" * 300 + "\ty\n", "more than 200"),
    ],
)
def test_a_broken_glossary_is_refused(
    trained: Path, tmp_path: Path, capfdbinary: Captured, terms: str, message: str
) -> None:
    glossary = tmp_path / "terms.tsv"
    glossary.write_text(terms)
    (tmp_path / "a.txt").write_text("eins\n")
    error = refused(capfdbinary, trained, tmp_path / "a.txt", "--glossary", glossary)
    assert "terms.tsv" in error
    assert message in error


def test_a_broken_memory_is_refused(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "a.txt").write_text("eins\n")
    for number, data in enumerate((REFUSED["a billion laughs"][1], b"", b"<tmx/>", b"\xff")):
        (tmp_path / f"{number}.tmx").write_bytes(data)
        assert f"{number}.tmx" in refused(
            capfdbinary, trained, tmp_path / "a.txt", "--tm", tmp_path / f"{number}.tmx"
        )


def test_terms_inside_terms_take_the_longest(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "terms.tsv").write_text("eins\tone\neins zwei\ttwelve\nzwei\ttwo\n")
    (tmp_path / "a.txt").write_text("eins zwei drei\nzwei eins\n")
    run(
        capfdbinary,
        "translate",
        trained,
        tmp_path / "a.txt",
        "-o",
        tmp_path / "b.txt",
        "--glossary",
        tmp_path / "terms.tsv",
    )
    first, second = (tmp_path / "b.txt").read_text().splitlines()
    assert "twelve" in first.split()
    assert {"one", "two"} <= set(second.split())


def test_a_text_full_of_symbols_comes_back_with_them(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    text = "<ph0> </term> {0} %s {{x}} <2de> \\<ph1>\n"
    (tmp_path / "a.txt").write_text(text)
    run(capfdbinary, "translate", trained, tmp_path / "a.txt", "-o", tmp_path / "b.txt")
    for part in ("<ph0>", "</term>", "{0}", "%s", "{{x}}"):
        assert part in (tmp_path / "b.txt").read_text()
