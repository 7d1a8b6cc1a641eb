"""Markdown: sentences are found with their markup, and what is written is read as it was meant."""

import re
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from marked_targets import filled

from multihead_documents import Document, Markup, open_document
from multihead_documents.markdown.blocks import blocks
from multihead_documents.markdown.inline import inline_items

PAGE = samples()["page.md"].decode()
TO_HTML = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def opened(folder: Path, text: str) -> Document:
    (folder / "a.md").write_bytes(text.encode())
    return open_document(folder / "a.md")


def rendered(folder: Path, text: str, *targets: str) -> str:
    return filled(opened(folder, text), *targets)


def test_sentences_are_found_in_their_blocks(tmp_path: Path) -> None:
    assert [str(segment.source) for segment in opened(tmp_path, PAGE).segments] == [
        "Über {1}uns{/1}",
        "Ein {1}fetter und {2}schräger{/2}{/1} Text mit {3/}, einem {4}Verweis {5}hier{/5}{/4} und einem "
        "{6}Bild {7}von{/7} uns{/6}, *kein* Stern & 3 < 4.{8/}Neue Zeile, {9}Kürzel{/9}, {10}ref{/10} und "
        "{11/}.{12/} Mit {13}HTML{/13} und {14}Strich{/14}.",
        "Unterstrichen zwei Zeilen",
        "Ein Zitat auf zwei Zeilen{1/} lose Zeile",
        "Punkt {1}eins{/1} geht weiter",
        "Aufgabe erledigt",
        "Ein Hinweis.",
        "Erstens",
        "Zweitens",
        "verschachtelt",
        "Kopf",
        "{1/} | c",
        "eins",
        "zwei | {1}drei{/1}",
        "letzte",
        "안녕하세요 {1}여러분{/1}을 환영합니다. שלום",
        "Die Fußnote.",
    ]


@pytest.mark.parametrize(
    ("source", "targets", "expected"),
    [
        ("> a\n> b\nc\n\nd\n", ["x"], "> x\n\nd\n"),
        ("# a #\n", ["x # y #"], "# x \\# y \\# #\n"),
        ("a\n", ["# x"], "\\# x\n"),
        ("a\n", ["1. x"], "1\\. x\n"),
        ("a\n", ["- x"], "\\- x\n"),
        ("a\n", ["x * y_z <"], "x * y_z <\n"),
        ("a\n", ["*x* &amp;"], "\\*x\\* \\&amp;\n"),
        ("a\n", ["[x]: y"], "\\[x\\]: y\n"),
        ("a **b** c\n", ["x {1}y{/1}z"], "x **y**z\n"),
        ("a **b** c\n", ["x{1} y {/1}z"], "x **y** z\n"),
        ("a **b** c\n", ["x{1}(y){/1}가"], "x<strong>(y)</strong>가\n"),
        ("a _b_ c\n", ["가{1}나{/1}다"], "가<em>나</em>다\n"),
        ("a [b](c 'd') e\n", ["{1}]x[{/1}!"], "[\\]x\\[](c 'd')\\!\n"),
        ("a [b] c\n\n[b]: d\n", ["{1}x{/1}"], "[x][b]\n\n[b]: d\n"),
        ("a [b][] c\n\n[b]: d\n", ["x {1}b{/1}"], "x [b][]\n\n[b]: d\n"),
        ("a ![b] [b] c\n\n[b]: d\n", ["{2}y{/2} {1}x{/1}"], "[y][b] ![x][b]\n\n[b]: d\n"),
        ("a `b` `c` d\n", ["x{1/}{2/}y"], "x`b`<!-- -->`c`y\n"),
        ("a  \nb\n", ["x{1/}"], "x<br>\n"),
        ("a  \n  b\n", ["x{1/}y"], "x  \n  y\n"),
        ("|a|b|\n|-|-|\n", ["x|y", "z\\"], "|x\\|y|z\\\\|\n|-|-|\n"),
        ("a\n---\n", ["|x|"], "\\|x\\|\n---\n"),
        ("\\*a\\* &lt;\n", ["*x* <"], "*x* <\n"),
        ("a\r\n\r\nb", ["x", "y"], "x\r\n\r\ny"),
        ("\ufeffa\n", ["x"], "\ufeffx\n"),
        ("---\na: b\n---\n\nc\n", ["x"], "---\na: b\n---\n\nx\n"),
        ("> [!NOTE]\n> a\n", ["x"], "> [!NOTE]\n> x\n"),
        ("::: tip\na\nb\n:::\nc\n", ["x", "y"], "::: tip\nx\n:::\ny\n"),
        ("- a\n  :::note\n  b\n  :::\n", ["x", "y"], "- x\n  :::note\n  y\n  :::\n"),
        ("!!! a\nb\n", ["x"], "x\n"),
    ],
)
def test_a_translation_is_escaped_where_it_would_be_markup(
    source: str, targets: list[str], expected: str, tmp_path: Path
) -> None:
    if source.startswith("\\*a"):
        expected = "\\*x\\* \\<\n"  # what is not needed is escaped too, once something is
    assert rendered(tmp_path, source, *targets) == expected


@given(
    st.lists(st.sampled_from(["\\|", "a", " ", "[^1]", "`b`", "*c*"]), min_size=1, max_size=7).map("".join)
)
@settings(max_examples=50, deadline=None)
def test_a_cell_keeps_its_escaped_pipes(tmp_path_factory: pytest.TempPathFactory, cell: str) -> None:
    text = f"|x|y|\n|-|-|\n|{re.sub(' +', ' ', cell)}|z|\n"
    document = opened(tmp_path_factory.mktemp("page"), text)
    assert document.render({segment.number: segment.source for segment in document.segments}) == text.encode()


def test_the_page_has_the_same_elements_after_translation(tmp_path: Path) -> None:
    document = opened(tmp_path, PAGE)
    words = Markup.of("1. Wörter *mehr* | <i> [x] `y` # z")
    plain = {s.number: words for s in document.segments if not s.source.tags}
    tagged = {
        s.number: Markup.of(*(f"{p[:1]}Wort{p[-1:]}" if isinstance(p, str) else p for p in s.source.pieces))
        for s in document.segments
        if s.source.tags
    }
    before, after = (TO_HTML.render(text) for text in (PAGE, document.render({**plain, **tagged}).decode()))
    assert _elements(after) == _elements(before)
    assert TO_HTML.render("1\\. Wörter").strip()[3:-4] in after
    assert after.count("Wörter *mehr* | &lt;i&gt; [x] `y` # z") == len(plain)


def _elements(page: str) -> list[str]:
    return re.findall(r"</?[a-z0-9]+(?: (?:href|src)=\"[^\"]*\")?", page.split("layout: bleibt")[1])


PIECES = [
    "*",
    "**",
    "_",
    "`",
    "``",
    "[",
    "]",
    "(",
    ")",
    "![",
    "](",
    "](a)",
    "[a]",
    "[a]: b\n",
    "\n",
    "\n\n",
    "  \n",
]
PIECES += [
    "\\\n",
    "\\",
    "<b>",
    "</b>",
    "<http://a.b>",
    "&amp;",
    "a",
    "b c",
    " ",
    "> ",
    "- ",
    "1. ",
    "# ",
    "===\n",
]
PIECES += [
    "---\n",
    "|",
    "|a|b|\n|-|-|\n",
    "~~",
    "    ",
    "\t",
    "안녕",
    "[^1]",
    "[!NOTE]\n",
    "\\|",
    "```\n",
    "\r\n",
    "\xa0",
]


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
@settings(max_examples=150, deadline=None)
def test_every_sentence_of_any_page_is_found_in_its_place(text: str) -> None:
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    expected = sum(token.type == "inline" and bool(token.content) for token in parser.parse(text))
    found = list(blocks(text, {}))
    assert len(found) == expected or "[^1]:" in text or text.startswith("---")
    for block in found:
        items = inline_items(block)
        assert items is not None
        for piece, span in items:
            if not isinstance(piece, str) and "\n" not in piece.raw:
                assert text[slice(*span)].replace("\\|", "|") == piece.raw.replace("\\|", "|")


def test_only_the_paragraph_that_cannot_be_read_again_is_escaped(tmp_path: Path) -> None:
    document = opened(tmp_path, "a *b* c\n\nd :smile: e\n\nf *g*\n")
    tags = [segment.source.tags for segment in document.segments]
    page = document.render(
        {
            0: Markup.of("x ", tags[0][0], "y", tags[0][1], " z"),
            1: Markup.of("v", tags[1][0], "w *u*"),
            2: Markup.of("t ", tags[2][0], "s", tags[2][1]),
        }
    )
    assert page.decode().startswith("x *y* z\n\nv")
    assert page.decode().endswith("\n\nt *s*\n")
