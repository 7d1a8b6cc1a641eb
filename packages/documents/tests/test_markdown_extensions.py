"""Markdown as site builders have it: admonitions, tabs, notes, definitions, math, template code."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multihead_documents import Markup, open_document
from multihead_documents.markdown.blocks import blocks
from multihead_documents.markdown.front_matter import Entry
from multihead_documents.markdown.inline import inline_items
from multihead_documents.splice import Span


def translated(folder: Path, text: str) -> tuple[list[str], str]:
    """Return the segments, and the document with every word in upper case."""
    (folder / "a.md").write_bytes(text.encode())
    document = open_document(folder / "a.md")
    targets = {
        s.number: Markup.of(*(p.upper() if isinstance(p, str) else p for p in s.source.pieces))
        for s in document.segments
    }
    return [str(s.source) for s in document.segments], document.render(targets).decode()


@pytest.mark.parametrize(
    ("source", "segments", "expected"),
    [
        ('!!! note "a"\n    b\n\nc\n', ["a", "b", "c"], '!!! note "A"\n    B\n\nC\n'),
        ('!!! note "a "b" c"\n\n    d\n', ['a "b" c', "d"], '!!! note "A "B" C"\n\n    D\n'),
        ("??? tip inline end\n    - a\n      b\n\n    c\nd\n", ["a b", "c", "d"], None),
        ("???+ tip\n\tb\n", ["b"], "???+ tip\n\tB\n"),
        ("!!! note\n\n        code\n\n    b\n", ["b"], "!!! note\n\n        code\n\n    B\n"),
        ("!!! note\n    ```\n    code\n    ```\n    b\n", ["b"], None),
        ("- a\n\n    !!! note\n        b\n", ["a", "b"], "- A\n\n    !!! note\n        B\n"),
        ("> !!! note\n>     b\n", ["b"], "> !!! note\n>     B\n"),
        ('=== "a"\n\n    b\n\n=== "c"\n\n    d\n', ["a", "b", "c", "d"], None),
        ("a\n===\n\n    code\n", ["a"], "A\n===\n\n    code\n"),
        ("::: tip a b\nc\n:::\n", ["a b", "c"], "::: tip A B\nC\n:::\n"),
        (":::tip[a b]\nc\n:::\n", ["a b", "c"], ":::tip[A B]\nC\n:::\n"),
        ("::: {.note #x}\nc\n:::\n", ["c"], "::: {.note #x}\nC\n:::\n"),
        ("::::: warning ::::\nc\n:::::\n", ["c"], "::::: warning ::::\nC\n:::::\n"),
        (":::{note}\n:class: dropdown\nc\n:::\n", ["c"], ":::{note}\n:class: dropdown\nC\n:::\n"),
        ("/// note | a\nb\n///\n", ["a", "b"], "/// note | A\nB\n///\n"),
        ("```{note} a\n:class: tip\nb **c**\n\nd\n```\ne\n", ["a", "b {1}c{/1}", "d", "e"], None),
        ("````{tip}\n```\ncode\n```\nb\n````\n", ["b"], "````{tip}\n```\ncode\n```\nB\n````\n"),
        ("```{code-block} python\nb\n```\nc\n", ["c"], "```{code-block} python\nb\n```\nC\n"),
        ("a\n\n+++ {\"b\": []}\n\nc\n\n+++\n", ["a", "c"], "A\n\n+++ {\"b\": []}\n\nC\n\n+++\n"),
        ("(a-b)=\n# c\n\n(d e)=\nf\n", ["c", "f"], "(a-b)=\n# C\n\n(d e)=\nF\n"),
        ("```{figure} a.png\n:name: b\n:alt: c\n\nd *e*\n\nf\n```\n", ["c", "d {1}e{/1}", "f"],
            "```{figure} a.png\n:name: b\n:alt: C\n\nD *E*\n\nF\n```\n"),
        (":::{figure-md} name\n![a](b.png)\n\nc\n:::\nd\n", ["a", "c", "d"],
            ":::{figure-md} name\n![A](b.png)\n\nC\n:::\nD\n"),
        ("```{figure-md} name\n:class: x\n![a](b.png)\n\nc\n```\n", ["a", "c"], None),
        ("```{prf:theorem} a b\n:label: c\n\nd\n```\n", ["a b", "d"],
            "```{prf:theorem} A B\n:label: c\n\nD\n```\n"),
        ("```{solution} name\na\n```\n", ["a"], "```{solution} name\nA\n```\n"),
        ("```{solution-start} name\n:class: x\n```\na\n```{solution-end}\n```\n", ["a"], None),
        ("````{tab-set}\n```{tab-item} a\nb\n```\n````\n", ["a", "b"],
            "````{tab-set}\n```{tab-item} A\nB\n```\n````\n"),
        ("::::{tab-set}\n:::{tab-item} a\n:sync: b\nc\n:::\n::::\nd\n", ["a", "c", "d"], None),
        ("```{glossary}\na b\n: c\nd\n\ne\n: f\n```\n", ["c d", "f"],
            "```{glossary}\na b\n: C D\n\ne\n: F\n```\n"),
        ("```{glossary}\na b\n  c\n  d\n\ne\n    f\n```\n", ["c d", "f"], None),
        ("```{list-table} a\n---\nheader-rows: 1\n---\n* - b\n  - c\n```\n", ["a", "b", "c"], None),
        ("```{versionadded} 1.2 a\nb\n```\n", ["a", "b"], "```{versionadded} 1.2 A\nB\n```\n"),
        (":::{code-block} python\na\n:::\n:::{image} a.png\n:alt: b\n:::\nc\n", ["b", "c"], None),
        ("[^1]: a\n\n    b\n\n        code\n\n    c\n", ["a", "b", "c"], None),
        ("[^1]: a\n\n    b\n\n        code\n", ["a", "b"], "[^1]: A\n\n    B\n\n        code\n"),
        ("[^1]: a\nb\n\n    c\n", ["a b", "c"], "[^1]: A B\n\n    C\n"),
        ("[^1]: a\n[^2]: b\nc\n[^3]:\n    d\n", ["a", "b c", "d"], "[^1]: A\n[^2]: B C\n[^3]:\n    D\n"),
        ("a [^1]:\n\n    code\n", ["a"], None),
        ("a\n\n    code\n", ["a"], "A\n\n    code\n"),
        ("a\n:   b\n    c\n\n    d\n\n:   e\n", ["a", "b c", "d", "e"], "A\n:   B C\n\n    D\n\n:   E\n"),
        ("a\n\n: b\n\n  c\n", ["a", "b", "c"], "A\n\n: B\n\n  C\n"),
        ("a\nb\n: c\nd\n", ["a b", "c d"], "A B\n: C D\n"),
        ("a $x_i * y_j$ b\n", ["a {1/} b"], "A $x_i * y_j$ B\n"),
        ("a $x$, \\(y_1\\) $$z^2$$ b\n", ["a {1/}, {2/} {3/} b"], "A $x$, \\(y_1\\) $$z^2$$ B\n"),
        ("a 5$ b 6$ c $5 d $6, US$5 and A$b\n", ["a 5$ b 6$ c $5 d $6, US$5 and A$b"], None),
        ("$5 for a and $6 for b$\n", ["$5 for a and $6 for b$"], "$5 FOR A AND $6 FOR B$\n"),
        ("a\n$$\nx = y\n\nz\n$$ {#eq:a}\nb\n", ["a", "b"], "A\n$$\nx = y\n\nz\n$$ {#eq:a}\nB\n"),
        ("a\n\\[\nx\n\\]\nb\n", ["a", "b"], "A\n\\[\nx\n\\]\nB\n"),
        ("\\begin{align*}\nx\n\\end{align*}\nb\n", ["b"], "\\begin{align*}\nx\n\\end{align*}\nB\n"),
        ("$$\nno end\n\nb\n", ["$$ no end", "b"], None),
        ("{{< note >}}\na\n{{< /note >}}\n", ["a"], "{{< note >}}\nA\n{{< /note >}}\n"),
        ("a {{< ref \"b.md\" >}} c\n", ["a {1/} c"], "A {{< ref \"b.md\" >}} C\n"),
        ("{% include a.html b=\"c\" %}\nd\n", ["d"], "{% include a.html b=\"c\" %}\nD\n"),
        ("{% include\n  a.html %}\nd\n", ["d"], "{% include\n  a.html %}\nD\n"),
        ("{{<figure\n  src=\"a\" >}}\nd\n", ["d"], "{{<figure\n  src=\"a\" >}}\nD\n"),
        ("import A from '@b/a';\n\nd\n", ["d"], "import A from '@b/a';\n\nD\n"),
        ("import goods from 'abroad' now\n", ["import goods from 'abroad' now"], None),
        ("# a {#b .c d=\"e f\"}\n", ["a"], "# A {#b .c d=\"e f\"}\n"),
        ("a\n{: .b #c }\n\nd\n", ["a", "d"], "A\n{: .b #c }\n\nD\n"),
        ("a [b](c){: target=\"_blank\" } d\n", ["a {1}b{/1} d"], "A [B](c){: target=\"_blank\" } D\n"),
        ("![a](b.png){ width=50 }\n", ["a"], "![A](b.png){ width=50 }\n"),
        ("a `b`{.python} c\n", ["a {1/} c"], "A `b`{.python} C\n"),
        ("see {ref}`b` c\n", ["see {1/}{2/} c"], "SEE {ref}`b` C\n"),
        ("a :smile: b :+1:\n", ["a {1/} b"], "A :smile: B :+1:\n"),
        ("at 10:30:00 a:b:c\n", ["at 10:30:00 a:b:c"], "AT 10:30:00 A:B:C\n"),
        ("a [[b c|d]] e [@f2020, p. 3]\n", ["a {1/} e {2/}"], "A [[b c|d]] E [@f2020, p. 3]\n"),
        ("*[HTML]: hyper text\n", ["hyper text"], "*[HTML]: HYPER TEXT\n"),
        ("[TOC]\n\na\n", ["a"], "[TOC]\n\nA\n"),
    ],
)  # fmt: skip
def test_extensions_are_kept_and_their_text_is_translated(
    source: str, segments: list[str], expected: str | None, tmp_path: Path
) -> None:
    found, page = translated(tmp_path, source)
    assert found == segments
    if expected is not None:
        assert page == expected


def test_a_placeholder_stays_as_it_is_where_other_signs_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a {{ b_c }} d\n", encoding="utf-8")
    document = open_document(tmp_path / "a.md")
    assert document.render({0: Markup.of("*x* {{ b_c }} :y: $z$ {#w}")}).decode() == (
        "\\*x\\* {{ b_c }} \\:y: \\$z$ \\{\\#w}\n"
    )


@pytest.mark.parametrize(
    "text", ["!!! x", '=== "x"', ": x", "::: x", "/// x", "$$", "{% x %}", "[^1]: x", "$x_1$"]
)
def test_a_translation_that_looks_like_an_extension_is_escaped(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a\n\nb\n\n    c\n\nd\n", encoding="utf-8")
    document = open_document(tmp_path / "a.md")
    page = document.render({number: Markup.of(text) for number in range(len(document.segments))})
    (tmp_path / "b.md").write_bytes(page)
    again = open_document(tmp_path / "b.md")
    assert ["".join(p for p in s.source.pieces if isinstance(p, str)) for s in again.segments] == [text] * 3


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{'    ' * depth}!!! note\n\n" for depth in range(300)) + "    " * 300 + "a\n",
        "$x " * 4000,
        "{% a " * 4000,
        "{{< a " * 4000,
        "$$\n" * 4001,
        "\\begin{a}\n" * 4000,
        "```{note}\n" * 4000,
        "a\n\n" + "    b\n\n" * 4000,
        "a\n" + ": b\n" * 4000,
        "[^1]: b\n" * 4000,
        ":a" * 4000,
        "{#" + "a" * 20_000,
        "{a=" * 4000,
    ],
    ids=str.split(
        "nested dollars liquid shortcodes display environments directives code definitions notes names"
        " id keys"
    ),
)
def test_hostile_pages_take_linear_time(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text(text, encoding="utf-8")
    document = open_document(tmp_path / "a.md")
    page = document.render({s.number: s.source for s in document.segments}).decode()
    assert page.split() == text.split()


PIECES = [
    *("!!! a\n", '!!! a "b"\n', "??? c\n", '=== "d"\n', "    ", "\n", "\n\n", "e f", " ", ": ", "::: g\n"),
    *(":::\n", "/// h | i\n", "///\n", "```{note}\n", "```\n", "[^1]: ", "$", "$$", "$$\n", "\\[\n", "\\]\n"),
    *("\\(", "\\)", "{% j %}", "{{< k >}}", "{{ l }}", "{#m}", "{: .n}\n", ":o:", "[[p]]", "*", "**", "_"),
    *("`", "[", "](q)", "|", "> ", "- ", "1. ", "# ", "\t", "\\", "|a|b|\n|-|-|\n", "---\n", "<b>", "안녕"),
    *("\r\n", "{", "}"),
]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=16).map("".join))
@settings(max_examples=200, deadline=None)
def test_every_sentence_of_any_extended_page_is_found_in_its_place(text: str) -> None:
    places = []
    for block in blocks(text, {}):
        items = inline_items(block)
        assert items is not None
        for piece, span in items:
            places.append(span)
            raw = piece if isinstance(piece, str) else piece.raw
            if "\n" not in raw and "\\" not in text and "|" not in text and raw.strip():
                assert text[slice(*span)] == raw
    assert all(before.end <= after.start for before, after in pairwise(places))


@pytest.mark.parametrize(
    ("front", "text", "expected"),
    [
        ("title: a b", "X y", "title: X y"),
        ("title: a # c", "x", "title: x # c"),
        ('title: "a \\"b\\""', 'x "y"', 'title: "x \\"y\\""'),
        ("title: 'it''s'", "x", "title: 'x'"),
        ("title: 'a'", "it's", 'title: "it\'s"'),
        ("description: a", "x: y", 'description: "x: y"'),
        ("description: a", "x:y", "description: x:y"),
        ("sidebar_label:  a  ", "- x", 'sidebar_label:  "- x"  '),
        ("title: a", "x #y", 'title: "x #y"'),
        ("title: a", "True", 'title: "True"'),
        ("title: a", "3 Dinge", 'title: "3 Dinge"'),
    ],
)
def test_titles_of_front_matter_are_translated(front: str, text: str, expected: str, tmp_path: Path) -> None:
    page = f"---\nlayout: post\n{front}\ntags: [a, b]\n---\n\nc\n"
    (tmp_path / "a.md").write_text(page, encoding="utf-8")
    document = open_document(tmp_path / "a.md")
    assert len(document.segments) == 2
    written = document.render({0: Markup.of(text), 1: Markup.of("d")}).decode()
    assert written == page.replace(front, expected).replace("\nc\n", "\nd\n")
    (tmp_path / "b.md").write_text(written, encoding="utf-8")
    assert open_document(tmp_path / "b.md").segments[0].source.text == text


@pytest.mark.parametrize(
    "front",
    [
        "title: |\n  a",
        "title: >-\n  a",
        "title: [a, b]",
        "title:",
        "nested:\n  title: a",
        "title: &x a",
        "titles: a",
    ],
)
def test_other_front_matter_is_kept(front: str, tmp_path: Path) -> None:
    segments, _ = translated(tmp_path, f"---\n{front}\n---\n\nc\n")
    assert segments == ["c"]


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("---\n## a\n\nb\n\n---\nc\n", ["a", "b", "c"]),
        ("---\n\na b\n\n---\n", ["a b"]),
        ("---\n# a comment\n\nlayout: b\n---\nc\n", ["c"]),
        ("---\n---\nc\n", ["c"]),
        ("---\r\na: b\r\n...\r\nc\r\n", ["c"]),
    ],
)
def test_text_between_two_rules_is_no_front_matter(text: str, segments: list[str], tmp_path: Path) -> None:
    assert translated(tmp_path, text)[0] == segments


def test_titles_in_toml_are_translated(tmp_path: Path) -> None:
    segments, page = translated(
        tmp_path, '+++\ntitle = "a \\"b\\""\ndate = 2026-01-01\ndescription = \'c\'\n+++\nd\n'
    )
    assert segments == ['a "b"', "c", "d"]
    assert page == '+++\ntitle = "A \\"B\\""\ndate = 2026-01-01\ndescription = \'C\'\n+++\nD\n'


YAML = st.sampled_from(
    [
        *"a:#-'\"[]{}&*!|>%@`,?~=<é안\\ ",
        ": ",
        " #",
        "true",
        "null",
        "2.5",
        "2026-01-01",
        "12:30",
        ".inf",
        "- ",
    ]
)


@given(
    st.lists(YAML, min_size=1, max_size=6).map("".join).map(str.strip).filter(bool),
    st.sampled_from(["", "'", '"']),
)
@settings(max_examples=300, deadline=None)
def test_any_title_is_read_by_yaml_as_it_was_meant(text: str, quote: str) -> None:
    yaml: Any = pytest.importorskip("yaml")
    spelled = Entry("title", "", Span(0, 0), quote).spell(text)
    assert yaml.safe_load(f"title: {spelled}\n") == {"title": text}


def test_a_directive_whose_text_is_not_translated_is_named(tmp_path: Path) -> None:
    page = "---\na: b\n---\n\n```{my-own}\na\n```\n\n```{math}\nx\n```\n\n```{code-cell} ipython3\ny\n```\n"
    (tmp_path / "a.md").write_text(page, encoding="utf-8")
    document = open_document(tmp_path / "a.md")
    assert document.notes == [(f"{tmp_path}/a.md:5", "the text of {my-own} is not translated")]
