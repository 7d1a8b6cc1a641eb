"""Plain text: every line end of Unicode ends a segment, and stays."""

from pathlib import Path

import pytest

from multihead_documents import open_document

ENDS = ["\n", "\r\n", "\r", "\u2028", "\u2029", "\x85", "\f", "\v", "\n\f", " \r\r "]


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_line_end_of_any_kind_ends_a_segment_and_stays(end: str, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(f"Eins.{end}Zwei.{end}Drei.".encode(encoding))
    document = open_document(path)
    assert [segment.source.text for segment in document.segments] == ["Eins.", "Zwei.", "Drei."]
    changed = document.render(dict(enumerate(["One.", f"Two{end}words.", "Three."])))
    assert changed == f"One.{end}Two words.{end}Three.".encode(encoding)


def test_lines_are_counted_as_editors_count_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"a\rb\r\nc\n\nd\x0ce")
    places = [segment.place for segment in open_document(tmp_path / "a.txt").segments]
    assert [place.rpartition(":")[2] for place in places] == ["1", "2", "3", "5", "5"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.srt", "1\n00:00:01,000 --> 00:00:02,000\nHallo\n\n2\n00:00:03,000 --> 00:00:04,000\nWelt\n"),
        ("a.vtt", "WEBVTT\n\n00:01.000 --> 00:02.000\nHallo\n\n00:03.000 --> 00:04.000\nWelt\n"),
        ("a.po", '#, fuzzy\nmsgid "Hallo"\nmsgstr ""\n\n#, c-format\nmsgid "Welt"\nmsgstr ""\n'),
        ("a.properties", "a = Hallo\nb = Welt\n"),
        ("a.md", "# Hallo\n\n- Welt\n"),
    ],
)
def test_files_with_the_line_ends_of_old_macs_are_read(name: str, text: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(text.replace("\n", "\r").encode())
    (tmp_path / f"lf-{name}").write_bytes(text.encode())
    document, expected = (open_document(tmp_path / one) for one in (name, f"lf-{name}"))
    assert [segment.source.text for segment in document.segments] == ["Hallo", "Welt"]
    assert document.render({0: "x", 1: "y"}) == expected.render({0: "x", 1: "y"}).replace(b"\n", b"\r")
    assert [one.place[-2:] for one in document.segments] == [one.place[-2:] for one in expected.segments]
