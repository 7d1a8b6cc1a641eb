"""PO files: flags, plural forms, wrapping and encodings as gettext has them."""

from pathlib import Path

import pytest
from document_samples import samples

from multihead_documents import Document, Markup, Translation, open_document
from multihead_documents.errors import DocumentError
from multihead_documents.strings.po_syntax import plural_forms, quote, unescape

HEADER = 'msgid ""\nmsgstr "Plural-Forms: nplurals={}; plural={};\\n"\n\n'
FILES = 'msgid "{}"\nmsgid_plural "%d files"\n'


def opened(folder: Path, text: str | bytes) -> Document:
    (folder / "a.po").write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_document(folder / "a.po")


def test_a_message_comes_with_its_context(tmp_path: Path) -> None:
    first, second, third, fourth = opened(tmp_path, samples()["ko.po"]).segments
    assert (first.source.text, first.context, first.note) == ('Open "%s"\t now', "menu", "Für den Übersetzer")
    assert (first.flags, first.state, first.target) == (("c-format",), "new", None)
    assert (second.state, second.note, second.target) == ("needs-review", "auch hier", Markup.of("긴 텍스트"))
    assert third.plural
    assert (third.source.text, third.plural.count, third.plural.numbers) == ("%d files", 1, (0, 1, 2, 3, 4))
    assert (fourth.state, fourth.translated) == ("translated", True)


@pytest.mark.parametrize(
    ("count", "rule", "singular", "sources"),
    [
        (2, "n != 1", "one file", ["one file", "%d files"]),
        (2, "n > 1", "one file", ["one file", "%d files"]),
        (1, "0", "one file", ["%d files"]),
        # Slavic: the first form is for 1, 21, 31: "one file" would leave their number out
        (3, "n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2", "one file", ["%d files"] * 3),
        (3, "n%10==1 && n%100!=11 ? 0 : n != 0 ? 1 : 2", "%d file", ["%d file", "%d files", "%d files"]),
        (
            4,
            "n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : 3",
            "one file",
            ["%d files", "one file", "%d files", "%d files"],
        ),
    ],
)
def test_each_plural_form_has_the_source_of_its_numbers(
    count: int, rule: str, singular: str, sources: list[str], tmp_path: Path
) -> None:
    text = HEADER.format(count, rule) + FILES.format(singular) + 'msgstr[0] ""\nmsgstr[1] ""\n'
    document = opened(tmp_path, text)
    assert [segment.source.text for segment in document.segments] == sources
    filled = document.render({segment.number: f"form {segment.number}" for segment in document.segments})
    assert [str(segment.target) for segment in opened(tmp_path, filled).segments] == [
        f"form {number}" for number in range(count)
    ]


def test_forms_that_the_file_lacks_are_added(tmp_path: Path) -> None:
    text = HEADER.format(3, "n==1 ? 0 : n==2 ? 1 : 2") + FILES.format("one file") + 'msgstr[0] ""\n\n# end\n'
    changed = opened(tmp_path, text).render({0: "a", 1: "b", 2: "c"}).decode()
    assert changed == text.replace('msgstr[0] ""\n', 'msgstr[0] "a"\nmsgstr[1] "b"\nmsgstr[2] "c"\n')


def test_a_blank_line_does_not_end_a_message(tmp_path: Path) -> None:
    text = HEADER.format(2, "n != 1") + FILES.format("one file") + 'msgstr[0] ""\n\nmsgstr[1] ""\n'
    changed = opened(tmp_path, text).render({0: "a", 1: "b"}).decode()
    assert changed.endswith('msgstr[0] "a"\n\nmsgstr[1] "b"\n')


def test_flags_say_what_needs_review(tmp_path: Path) -> None:
    text = '#, c-format\nmsgid "a"\nmsgstr ""\n\n#, fuzzy\n#| msgid "old"\nmsgid "b"\nmsgstr "B"\n\n'
    text += 'msgid "c"\nmsgstr ""\n'
    document = opened(tmp_path, text)
    changed = document.render({0: _review("A"), 1: "B2", 2: _review("C")}).decode()
    assert changed == (
        '#, fuzzy, c-format\nmsgid "a"\nmsgstr "A"\n\nmsgid "b"\nmsgstr "B2"\n\n'
        '#, fuzzy\nmsgid "c"\nmsgstr "C"\n'
    )
    assert document.render({1: _review("B")}).decode() == text


def _review(text: str) -> Translation:
    return Translation(Markup.of(text), review=True)


def test_a_flag_goes_only_when_all_forms_are_new(tmp_path: Path) -> None:
    text = (
        HEADER.format(2, "n != 1")
        + "#, fuzzy\n"
        + FILES.format("one file")
        + 'msgstr[0] "x"\nmsgstr[1] "y"\n'
    )
    document = opened(tmp_path, text)
    assert "fuzzy" in document.render({0: "a"}).decode()
    assert "fuzzy" not in document.render({0: "a", 1: "b"}).decode()


def test_line_feeds_around_a_message_stay(tmp_path: Path) -> None:
    changed = opened(tmp_path, 'msgid "\\n one\\n"\nmsgstr ""\n').render({0: "eins\nzwei"}).decode()
    assert changed == 'msgid "\\n one\\n"\nmsgstr ""\n"\\n"\n" eins\\n"\n"zwei\\n"\n'


def test_lines_are_wrapped_where_the_file_wraps() -> None:
    text = "word " * 30
    lines = quote(text, 7, "\n", wrap=True).split("\n")
    assert max(map(len, lines)) <= 79
    assert "".join(unescape(line[1:-1]) for line in lines) == text
    assert quote(text, 7, "\n", wrap=False) == f'"{text}"'
    assert quote("short", 7, "\n", wrap=True) == '"short"'


def test_a_file_is_written_in_its_own_charset(tmp_path: Path) -> None:
    text = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=EUC-KR\\n"\n\nmsgid "a"\nmsgstr "가"\n'
    document = opened(tmp_path, text.encode("euc-kr"))
    assert str(document.segments[0].target) == "가"
    assert document.render({0: "나"}) == text.replace("가", "나").encode("euc-kr")
    with pytest.raises(DocumentError, match="'ü' cannot be written in EUC-KR"):
        document.render({0: "ü"})


@pytest.mark.parametrize(
    "header",
    ["", "Plural-Forms: nplurals=INTEGER; plural=EXPRESSION;\n", "Plural-Forms: nplurals=0; plural=0;\n"],
)
def test_a_header_without_plural_forms_gives_none(header: str) -> None:
    assert plural_forms(header) is None
