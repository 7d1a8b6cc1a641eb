"""The command ``multihead translate RUN DOCUMENT``."""

from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.cli._translating_document import named_target


def test_a_document_is_translated_into_a_file(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>eins <b>zwei</b> drei<pre>eins</pre>", encoding="utf-8")
    out, err = run(capfdbinary, "translate", trained, page, "-o", tmp_path / "b.html")
    assert out == ""
    assert f"{tmp_path / 'b.html'}: 1 segments: 1 translated" in err
    text = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert text.endswith("<pre>eins</pre>")
    assert text.count("<b>") == text.count("</b>") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "b.html"]


def test_a_report_says_what_to_review_and_why(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    pages = [tmp_path / name for name in ("a.txt", "b.txt")]
    for page in pages:
        page.write_text("eins zwei {x}\n", encoding="utf-8")
    terms, memory, report = (tmp_path / name for name in ("terms.tsv", "memory.po", "report.tsv"))
    terms.write_text("zwei\tunausweichlich\n", encoding="utf-8")
    memory.write_text('msgid "eins zwei {y}"\nmsgstr "one two {y}"\n', encoding="utf-8")
    options = ("-o", tmp_path / "out", "--glossary", terms, "--tm", memory, "--report", report)
    _, err = run(capfdbinary, "translate", trained, *pages, *options)
    header, *rows = (line.split("\t") for line in report.read_text(encoding="utf-8").splitlines())
    assert header == ["place", "reason", "source", "translation"]
    assert {row[0] for row in rows} == {f"{page}:1" for page in pages}
    assert {row[2] for row in rows} == {"eins zwei {x}"}
    assert sum("one two {y}" in row[1] for row in rows) == 2
    assert f'{pages[0]}:1: "eins zwei {{x}}" {rows[0][1]}' in err
    assert "on lines" in fail(capfdbinary, "translate", trained, "-i", pages[0], "--report", report)


def test_comments_are_written_where_a_document_has_them(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    page, catalogue = tmp_path / "a.txt", tmp_path / "a.po"
    page.write_text("eins\n", encoding="utf-8")
    catalogue.write_text('msgid "eins zwei {x}"\nmsgstr ""\n', encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("zwei\tunausweichlich\n", encoding="utf-8")
    options = ("--glossary", tmp_path / "terms.tsv", "-o", tmp_path / "out")
    run(capfdbinary, "translate", trained, page, catalogue, *options, "--review-comments")
    assert "\n# multihead: " in "\n" + (tmp_path / "out" / "a.po").read_text(encoding="utf-8")
    run(capfdbinary, "translate", trained, page, catalogue, *options)
    assert "multihead" not in (tmp_path / "out" / "a.po").read_text(encoding="utf-8")
    assert "--report FILE" in fail(capfdbinary, "translate", trained, page, "--review-comments")
    assert "on lines" in fail(capfdbinary, "translate", trained, "-i", page, "--review-comments")


def test_lines_of_several_sentences_are_split_unless_told_otherwise(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    (tmp_path / "in").write_text("eins. zwei.\neins zwei\n", encoding="utf-8")
    (tmp_path / "each").write_text("eins.\nzwei.\n", encoding="utf-8")
    split, _ = run(capfdbinary, "translate", trained, "-i", tmp_path / "in")
    each, _ = run(capfdbinary, "translate", trained, "-i", tmp_path / "each", "--lines")
    assert split.split("\n")[0] == " ".join(each.split("\n")[:2]).strip()
    assert split.count("\n") == 2


def test_misplaced_options_are_refused(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    page = tmp_path / "a.html"
    page.write_text("<p>eins", encoding="utf-8")
    (tmp_path / "terms.tsv").write_text("eins\tuno\n")
    assert "on a document" in fail(capfdbinary, "translate", trained, page, "--scores")
    assert "one translation" in fail(capfdbinary, "translate", trained, page, "--n-best", 2)
    assert "on lines" in fail(capfdbinary, "translate", trained, "-i", page, "--tm", "x.tmx")
    assert "Name it without -i" in fail(capfdbinary, "translate", trained, "-i", page)
    assert "--n-best" in fail(
        capfdbinary, "translate", trained, "--glossary", tmp_path / "terms.tsv", "--n-best", 2
    )
    assert "2 documents" in fail(capfdbinary, "translate", trained, page, page)
    assert "no such file" in fail(
        capfdbinary, "translate", trained, tmp_path / "x.html", "-o", tmp_path / "y.html"
    )
    assert not (tmp_path / "y.html").exists()


@pytest.mark.parametrize("terms", ["eins\tuno\neins\tdos\n", "\tuno\n", "a\tb\nb\ta\n", ""])
def test_a_broken_glossary_is_refused(
    trained: Path, tmp_path: Path, capfdbinary: Captured, terms: str
) -> None:
    (tmp_path / "terms.tsv").write_text(terms)
    (tmp_path / "a.txt").write_text("eins\n")
    error = fail(
        capfdbinary,
        "translate",
        trained,
        tmp_path / "a.txt",
        "-o",
        tmp_path / "b.txt",
        "--glossary",
        tmp_path / "terms.tsv",
    )
    assert "terms.tsv" in error
    assert not (tmp_path / "b.txt").exists()


def test_a_document_names_the_language_that_it_is_translated_to(tmp_path: Path) -> None:
    header = 'msgid ""\nmsgstr "Language: {}\\n"\n'
    for name, expected in (("fr_CA", "fr"), ("ko", None), ("", None)):
        (tmp_path / "a.po").write_text(header.format(name))
        assert named_target(tmp_path / "a.po", ["en", "fr"], None) == expected
    assert named_target(tmp_path / "missing.po", ["en", "fr"], None) is None
