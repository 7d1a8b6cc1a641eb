"""Hostile documents end in a clear error or in the right answer, never in a crash."""

import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from multihead.documents import open_document, reading
from multihead.documents.parallel import read_pairs
from multihead.errors import UserError

X1 = '<xliff version="1.2"><file source-language="de"><body>{}</body></file></xliff>'
X2 = '<xliff version="2.0" srcLang="de"><file id="f">{}</file></xliff>'
TMX = '{}<tmx version="1.4"><header srclang="de"/><body>{}</body></tmx>'
UNIT = '<trans-unit id="1"><source>{}</source></trans-unit>'
LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
DEEP = 10_000

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "a billion laughs": (
        "a.tmx",
        TMX.format(f'<!DOCTYPE tmx [<!ENTITY l0 "ha">{LAUGHS}]>', "<tu>&l9;</tu>").encode(),
        r"a\.tmx:1: declares an entity \(l0\)",
    ),
    "an external entity": (
        "a.xlf",
        (
            '<!DOCTYPE xliff [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + X1.format(UNIT.format("&x;"))
        ).encode(),
        "declares an entity",
    ),
    "an external parameter entity": (
        "a.xlf",
        ('<!DOCTYPE xliff [\n<!ENTITY % x SYSTEM "http://127.0.0.1:9/x">%x;]>' + X1.format("")).encode(),
        r"a\.xlf:2: declares an entity",
    ),
    "an unknown entity": (
        "a.tmx",
        TMX.format(
            '<!DOCTYPE tmx SYSTEM "tmx14.dtd">', '<tu><tuv xml:lang="de"><seg>&nbsp;</seg></tuv></tu>'
        ).encode(),
        "unknown entity &nbsp;",
    ),
    "elements that never close": ("a.xlf", b"<xliff version='1.2'>" + b"<g>" * DEEP, "not well-formed"),
    "crossing elements": ("a.xlf", X1.format(UNIT.format("<g>a<x></g></x>")).encode(), "mismatched tag"),
    "half a document": ("a.xlf", X1.encode()[:40], "not well-formed XML"),
    "latin-1 that says UTF-8": (
        "a.xlf",
        X1.format("\n" + UNIT.format("Grün")).encode("latin-1"),
        r"a\.xlf:2: not UTF-8 \(byte 0xFC at column 30\)",
    ),
    "latin-1 in a text": (
        "a.txt",
        "eins\nGrün".encode("latin-1"),
        r"a\.txt:2: not UTF-8 \(byte 0xFC at column 3\)",
    ),
    "an unknown encoding": ("a.tmx", b'<?xml version="1.0" encoding="martian"?><tmx/>', "encoding"),
    "an unknown charset": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=martian\\n"\n',
        "martian",
    ),
    "a charset that loses bytes": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=utf-7\\n"\n',
        "utf-7",
    ),
    "a codec that is no text": (
        "a.po",
        b'msgid ""\nmsgstr "Content-Type: text/plain; charset=zlib\\n"\n',
        "zlib",
    ),
    "UTF-16 without a mark": ("a.txt", "eins\nzwei".encode("utf-16-le"), r"a\.txt:1: a NUL character"),
    "nothing": ("a.txt", b"", "empty"),
    "a page for a memory": (
        "a.tmx",
        b"<html><body>404</body></html>",
        "not a TMX file: it begins with <html>",
    ),
    "a PDF": ("a.txt", b"%PDF-1.7\n%\xe2\xe3", "a document of another kind"),
    "a variant without a language": (
        "a.tmx",
        TMX.format("", "<tu><tuv><seg>a</seg></tuv></tu>").encode(),
        "xml:lang",
    ),
    "a language that is not there": (
        "a.tmx",
        TMX.format("", '<tu><tuv xml:lang="fr"><seg>a</seg></tuv></tu>').encode(),
        "no segments in de. Name one of fr",
    ),
    "XLIFF of the future": ("a.xlf", b"<xliff version='9.9'/>", "version '9.9'"),
    "a string without an end": ("a.po", b'msgid "a\nmsgstr "b"\n', r"a\.po:1: not a line of a PO file"),
    "a translation of nothing": ("a.po", b'msgstr "b"\n', r"a\.po:1: msgstr where none belongs"),
    "a billion plural forms": ("a.po", b'msgid "a"\nmsgid_plural "b"\nmsgstr[999999999] "c"\n', "not a line"),
    "times that are none": ("a.srt", b"1\n00:00 bis 00:01\nHallo\n", r"a\.srt:2: no times of a subtitle"),
    "no WEBVTT": ("a.vtt", b"1\n00:00.000 --> 00:01.000\nHallo\n", r"a\.vtt:1: no WEBVTT"),
    "10,000 lists in one another": ("a.json", b"[" * DEEP + b"]" * DEEP, r"a\.json:1: more than 100 objects"),
    "half of a list": ("a.json", b'["a",\n', r"a\.json:2: not JSON \(a value is missing\)"),
    "JSON with comments": ("a.json", b'{"a": "b"} // c', r"a\.json:1: not JSON \(something behind its end\)"),
    "a string over two lines": ("a.json", b'["a\nb"]', r"not JSON \(invalid control character"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_hostile_document_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    file, data, message = REFUSED[name]
    (tmp_path / file).write_bytes(data)
    with pytest.raises(UserError, match=message) as caught:
        open_document(tmp_path / file)
    assert str(caught.value).startswith(str(tmp_path / file))
    assert caught.value.remedy


def _gentle(text: str) -> str:
    return X1.format(UNIT.format(text))


ANSWERED: dict[str, tuple[str, str, list[str]]] = {
    "10,000 elements deep": ("a.xlf", _gentle("<g>" * DEEP + "a" + "</g>" * DEEP), ["a"]),
    "10,000 containers around units": (
        "a.xlf",
        X1.format("<group>" * DEEP + UNIT.format("a") + "</group>" * DEEP),
        ["a"],
    ),
    "10,000 codes inside one another": ("a.xlf", _gentle("b" + "<ph>" * DEEP + "c" + "</ph>" * DEEP), ["b"]),
    "10,000 tags of subtitles": ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\n" + "<i>" * DEEP + "a", ["a"]),
    "only closing tags": ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\n" + "</i>" * DEEP + "a", ["a"]),
    "10,000 elements of a page": ("a.html", "<div>" * DEEP + "a" + "<b>" * 9 + "c" + "</div>" * DEEP, ["ac"]),
    "a page of halves": ("a.html", "<b>" * DEEP + "a" + "</i>" * DEEP + "<p translate=no><a>" * DEEP, ["a"]),
    "10,000 quotes": ("a.md", ">" * DEEP + " a\n\nb\n", ["b"]),
    "10,000 brackets": ("a.md", "[" * DEEP + "a", ["[" * DEEP + "a"]),
    "10,000 stars": ("a.md", "*a " * DEEP, ["*a " * (DEEP - 1) + "*a"]),
    "a rule that divides by nothing": (
        "a.po",
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=1/(n-n);\\n"\nmsgid "a"\nmsgid_plural "b"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n',
        ["a", "b"],
    ),
    "a rule that imports": (
        "a.po",
        'msgid ""\nmsgstr "Plural-Forms: nplurals=2; plural=__import__(1);\\n"\nmsgid "a"\nmsgid_plural "b"\n'
        'msgstr[0] ""\nmsgstr[1] ""\n',
        ["a", "b"],
    ),
    "a DTD far away": (
        "a.tmx",
        TMX.format(
            '<!DOCTYPE tmx SYSTEM "http://127.0.0.1:9/x.dtd">', '<tu><tuv lang="de"><seg>a</seg></tuv></tu>'
        ),
        ["a"],
    ),
}


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
    assert document.rendered({}) == text.encode()
    (tmp_path / file).write_bytes(document.rendered({s.number: s.source for s in document.segments}))
    again = open_document(tmp_path / file)
    assert [segment.source for segment in again.segments] == [segment.source for segment in document.segments]


def test_a_gigabyte_of_nothing_is_refused_unread(tmp_path: Path) -> None:
    for name in ("a.txt", "a.po", "a.tmx", "a.xlf", "a.srt"):
        path = tmp_path / name
        with path.open("wb") as file:
            file.truncate(1 << 30)
        begun = time.monotonic()
        with pytest.raises(UserError, match=r"1,073,741,824 bytes.* Split it"):
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

    monkeypatch.setattr("multihead.documents.parallel._chunks", chunks)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(UserError, match=r"more than 8 MiB without|no unit in both"):
        list(read_pairs(tmp_path / "a.tmx", "de", "en"))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10


def test_a_device_or_a_folder_is_no_document(tmp_path: Path) -> None:
    (tmp_path / "zero.txt").symlink_to("/dev/zero")
    (tmp_path / "folder.txt").mkdir()
    for name in ("zero.txt", "folder.txt", "missing.txt"):
        with pytest.raises(UserError):
            open_document(tmp_path / name)


def test_too_many_tags_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multihead.documents.inline.MAX_ITEMS", 7)
    (tmp_path / "a.html").write_text("<p>a<p>" + "b<i>c</i>" * 2 + "d")
    with pytest.raises(UserError, match=r"a\.html:1: a paragraph of more than 7 texts and tags"):
        open_document(tmp_path / "a.html")


def test_too_many_segments_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multihead.documents.document.MAX_SEGMENTS", 7)
    (tmp_path / "a.txt").write_text("a\n" * 8)
    with pytest.raises(UserError, match="more than 7 segments"):
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
        ("a.html", lambda n: "<!--" * n + "<a b='" * n),
        ("a.html", lambda n: "&" * n + "<![" * n),
        ("a.html", lambda n: "<p translate=no><b>" + "<i>" * n + "</b><b>" * n),
        ("a.html", lambda n: "<a " + "b='c' " * n),
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
        document.rendered({segment.number: segment.source for segment in document.segments})
        return time.process_time() - begun

    seconds(100)
    assert seconds(16_000) < 64 * seconds(1000) + 0.3


def test_what_is_too_large_is_bounded_by_a_constant() -> None:
    assert reading.MAX_BYTES <= 1 << 26
