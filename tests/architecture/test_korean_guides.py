"""Guides in Korean (NAME.ko.md beside NAME.md): whole, and with the commands of the English ones."""

import re
from collections import Counter
from pathlib import Path

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
GUIDES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.ko.md"))
KOREAN = [
    *(DOCS / guide for guide in GUIDES),
    ROOT / "README.ko.md",
    *sorted((DOCS / "course/ko").glob("*.md")),
]
HANGUL = re.compile("[가-힣]")
COMMENT = re.compile(r"(^|[ \t]+)#.*$", re.MULTILINE)


def read(guide: str) -> tuple[str, str]:
    """Return a guide in English and in Korean."""
    path = DOCS / guide
    english = path.with_name(path.name.replace(".ko.md", ".md"))
    return english.read_text(encoding="utf-8"), path.read_text(encoding="utf-8")


def tokens(text: str) -> list[Token]:
    """Return the blocks of a page."""
    return MarkdownIt().enable("table").parse(text)


def inline(text: str) -> list[Token]:
    """Return what the paragraphs, cells and headings of a page consist of."""
    return [part for block in tokens(text) for part in block.children or ()]


def target(link: str) -> str:
    """Return the page that a link leads to, in either language."""
    return link.replace(".ko.md", ".md").partition("#")[0]


def outline(text: str) -> list[tuple[str, str, str]]:
    """Return the headings, paragraphs, items, cells and code of a page in order; code without comments."""
    return [
        (block.type, block.tag, COMMENT.sub("", block.content) if block.type == "fence" else "")
        for block in tokens(text)
    ]


def details(text: str) -> Counter[tuple[str, str]]:
    """Count the inline code, links and images of a page, whose order depends on the language."""
    return Counter(
        (part.type, part.content or target(str(part.attrs.get("href") or part.attrs["src"])))
        for part in inline(re.sub(r"!\[[^\]]*\]", "![]", text))
        if part.type in ("code_inline", "link_open", "image")
    )


@pytest.mark.parametrize(
    "guide",
    [
        "how-to/documents",
        "how-to/inspect",
        "how-to/models",
        "how-to/serve",
        "start/install",
        "start/your-corpus",
    ],
)
def test_a_newcomers_guide_exists_in_korean(guide: str) -> None:
    assert f"{guide}.ko.md" in GUIDES


@pytest.mark.parametrize("guide", GUIDES)
def test_both_languages_have_the_same_headings_tables_and_commands(guide: str) -> None:
    english, korean = map(outline, read(guide))
    assert korean == english


@pytest.mark.parametrize("guide", GUIDES)
def test_both_languages_name_the_same_options_files_and_links(guide: str) -> None:
    english, korean = map(details, read(guide))
    assert english - korean == Counter()
    assert set(korean) - set(english) == set()


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_links_to_the_other_language(guide: str) -> None:
    english, korean = (text.split("\n")[2] for text in read(guide))
    name = Path(guide).name
    assert english == f"[한국어]({name})"
    assert korean == f"[English]({name.replace('.ko.md', '.md')})"


@pytest.mark.parametrize("path", KOREAN, ids=lambda path: path.name)
def test_a_korean_page_links_to_korean_guides(path: Path) -> None:
    links = re.findall(r"\]\(([^():\s#]+)\.md[#)]", path.read_text(encoding="utf-8"))
    own = path.name.removesuffix(".ko.md")
    assert [name for name in links if name != own and (path.parent / f"{name}.ko.md").exists()] == []


@pytest.mark.parametrize("guide", GUIDES)
def test_no_passage_is_left_in_english(guide: str) -> None:
    prose = re.compile(r"\b[a-z]+ [a-z]+ [a-z]+ [a-z]+\b")
    texts = [
        "".join(part.content for part in block.children or () if part.type == "text")
        for block in tokens(read(guide)[1])
    ]
    assert len(HANGUL.findall("".join(texts))) > 600
    assert [text for text in texts if prose.search(text)] == []


@pytest.mark.parametrize("guide", GUIDES)
def test_every_emphasis_of_a_korean_guide_is_read_as_one(guide: str) -> None:
    assert [
        part.content for part in inline(read(guide)[1]) if part.type == "text" and "*" in part.content
    ] == []


PAGE = "# A\n\n| a | `b` |\n| --- | --- |\n| c | [d](d.md#e) |\n\n```\nmultihead f  # g\n```\n"


def test_a_translated_comment_and_link_are_no_difference() -> None:
    korean = (
        PAGE.replace("# g", "# 가").replace("d.md#e", "d.ko.md#마").replace("| a | `b` |", "| `b` | 가 |")
    )
    assert (outline(korean), details(korean)) == (outline(PAGE), details(PAGE))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# A", "## A"),
        ("multihead f", "multihead h"),
        ("| c | [d](d.md#e) |\n", ""),
        ("`b`", "b"),
        ("d.md", "h.md"),
    ],
)
def test_what_a_translation_lacks_is_found(before: str, after: str) -> None:
    korean = PAGE.replace(before, after)
    assert (outline(korean), details(korean)) != (outline(PAGE), details(PAGE))
