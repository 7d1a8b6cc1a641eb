"""Hostile documents end in a clear error or in the right answer, never in a crash."""

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile_documents import ANSWERED, CATALOGUE, QT, REFUSED, STRING, TMX, X2

from multihead_documents import open_document, reading
from multihead_documents.errors import DocumentError
from multihead_documents.parallel import read_pairs


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    file, data, message = REFUSED[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(DocumentError, match=message) as caught:
        open_document(tmp_path / file)
    assert str(caught.value).startswith(str(tmp_path / file))
    assert caught.value.remedy


@pytest.mark.parametrize("name", ANSWERED)
def test_a_strange_document_is_read_and_written(name: str, tmp_path: Path) -> None:
    file, text, expected = ANSWERED[name]
    (tmp_path / file).write_text(text)
    document = open_document(tmp_path / file, target_language="en")
    texts = [
        "".join(piece for piece in segment.source.pieces if isinstance(piece, str))
        for segment in document.segments
    ]
    assert texts == expected
    assert document.render({}) == text.encode()
    (tmp_path / file).write_bytes(document.render({s.number: s.source for s in document.segments}))
    again = open_document(tmp_path / file)
    assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]


def test_a_gigabyte_of_nothing_is_refused_unread(tmp_path: Path) -> None:
    for name in ("a.txt", "a.po", "a.tmx", "a.xlf", "a.srt"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(1 << 30)
        begun = time.monotonic()
        with pytest.raises(DocumentError, match=r"1,073,741,824 bytes.* Split it"):
            open_document(path)
        assert time.monotonic() - begun < 1


@pytest.mark.parametrize(
    ("begin", "end"), [(b"<!--", b"-->"), (b'<a b="', b'"/>'), (b"<?x ", b"?>"), (b"", b"")]
)
def test_a_memory_without_end_is_bounded(
    begin: bytes, end: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pairs are streamed: a megabyte of memory more is all that 200 MB of nothing may take."""
    text = [TMX.format("", "").split("<body>")[0].encode(), b"<body>", begin]

    def chunks(path: Path) -> Iterator[bytes]:
        yield from text
        for _ in range(200):
            yield b" " * (1 << 20)
        yield end + b"</body></tmx>"

    monkeypatch.setattr("multihead_documents.parallel._chunks", chunks)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(DocumentError, match=r"more than 8 MiB without|no unit in both"):
        list(read_pairs(tmp_path / "a.tmx", "de", "en"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_device_or_a_folder_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "folder.txt").mkdir()
    for name in ("zero.txt", "folder.txt", "missing.txt"):
        with pytest.raises(DocumentError):
            open_document(tmp_path / name)


def test_too_many_tags_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multihead_documents.inline.MAX_ITEMS", 7)
    (tmp_path / "a.html").write_text("<p>a<p>" + "b<i>c</i>" * 2 + "d")
    with pytest.raises(DocumentError, match=r"a\.html:1: a paragraph of more than 7 texts and tags"):
        open_document(tmp_path / "a.html")


def test_too_many_segments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multihead_documents.document.MAX_SEGMENTS", 7)
    (tmp_path / "a.txt").write_text("a\n" * 8)
    with pytest.raises(DocumentError, match="more than 7 segments"):
        open_document(tmp_path / "a.txt")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("a.srt", lambda n: "1\n00:00:01,000 --> 00:00:02,000\n" + "<i" * n),
        ("a.vtt", lambda n: "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "<&" * n),
        ("a.po", lambda n: 'msgid ""\n' + '"\\\\"\n' * n + 'msgstr ""\n'),
        ("a.po", lambda n: "# \n" * n + 'msgid "a"\nmsgstr ""\n'),
        ("a.txt", lambda n: " " * n + "a" + " " * n),
        ("a.json", lambda n: '{"' + "k" * n + '": [' + '"a",' * n + '"b"]}'),
        ("a.properties", lambda n: "a=b\\\n" * n),
        ("a.properties", lambda n: "#\\\n" * n + "a = " + "\\" * n),
        ("a.md", lambda n: "---\r\n" + "a\r\n" * n),
        ("a.md", lambda n: "[a](" * (n // 8) + "`a" * (n // 8) + "_a_" * (n // 8)),
        ("a.tex", lambda n: "{" * n + "a" + "}" * n),
        ("a.tex", lambda n: "\\footnote{a" * (n // 8) + "}" * (n // 8)),
        ("a.tex", lambda n: "\\def\\a\\[\\item[$" * (n // 8)),
        ("a.tex", lambda n: "\\begin{verbatim" * (n // 8) + "\\url{\\verb|" * (n // 8)),
        ("a.rst", lambda n: "- " * n + "a"),
        ("a.rst", lambda n: "*a `a **a |a ``a _`a :a:`a [a]_ " * (n // 32)),
        ("a.rst", lambda n: "a\nb_" * (n // 5) + "\n=====\n" * (n // 8)),
        ("a.rst", lambda n: ".. a\n" * (n // 5) + "== ==\n" * (n // 6) + "| a\n" * (n // 4)),
        ("a.html", lambda n: "<!--" * n + "<a b='" * n),
        ("a.html", lambda n: "&" * n + "<![" * n),
        ("a.html", lambda n: "<p translate=no><b>" + "<i>" * n + "</b><b>" * n),
        ("a.html", lambda n: "<a " + "b='c' " * n),
        ("strings.xml", lambda n: STRING.format("a" + "\\'" * n + ' "' * n)),
        ("strings.xml", lambda n: STRING.format("a" + "é&amp;" * n + "<b>a</b> " * (n // 4))),
        (
            "strings.xml",
            lambda n: "<resources>" + "<!-- a -->" * n + "<string name='a'>b</string></resources>",
        ),
        ("strings.xml", lambda n: "<resources>" + "<plurals><item>b</item></plurals>" * n + "</resources>"),
        ("a.resx", lambda n: "<root>" + "<data><value>b</value></data>" * n + "</root>"),
        ("a.ts", lambda n: QT.format("a" + "<byte value='x7'/>" * n)),
        ("a.ts", lambda n: QT.format("a</source></message><message><source>" * n)),
        ("a.strings", lambda n: "/* a */ // b\n" * n + '"a" = "' + "\\U00e4" * n + '";'),
        ("a.strings", lambda n: '"a" = "b";' * n),
        ("a.stringsdict", lambda n: "<plist><dict>" + "<key>a</key><dict/>" * n + "</dict></plist>"),
        ("a.xcstrings", lambda n: CATALOGUE.format("{" + ",".join(f'"{i}": {{}}' for i in range(n)) + "}")),
        (
            "a.xcstrings",
            lambda n: CATALOGUE.format(
                '{"a": {"localizations": {' + ",".join(f'"a{i}": {{}}' for i in range(n)) + "}}}"
            ),
        ),
        (
            "a.xlf",
            lambda n: X2.format(
                "<unit id='1'><segment><source>" + "&amp;" * n + "</source></segment></unit>"
            ),
        ),
    ],
)
def test_time_grows_with_the_size_alone(name: str, make: Callable[[int], str], tmp_path: Path) -> None:
    """Sixteen times the size takes about sixteen times as long; anything quadratic takes 256 times."""

    def seconds(size: int) -> float:
        (tmp_path / name).write_text(make(size))
        begun = time.process_time()
        document = open_document(tmp_path / name, target_language="en")
        document.render({segment.number: segment.source for segment in document.segments})
        return time.process_time() - begun

    seconds(100)
    assert seconds(16_000) < 64 * seconds(1000) + 0.3


def test_what_is_too_large_is_bounded_by_a_constant() -> None:
    assert reading.MAX_BYTES <= 1 << 26
