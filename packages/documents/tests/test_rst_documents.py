"""reStructuredText: sentences are found, and docutils reads what is written as it was meant."""

import re
from itertools import zip_longest
from pathlib import Path

import pytest
from document_samples import samples
from hypothesis import given, settings
from hypothesis import strategies as st
from rst_pages import bare, found, nodes, opened, rendered

from multihead_documents import Markup, Tag, carry, repair

PAGE = samples()["page.rst"].decode()


def test_sentences_of_a_page_are_found(tmp_path: Path) -> None:
    assert found(tmp_path, PAGE) == [
        "Erste Schritte mit multi",
        "Eine Seite, wie sie bei Sphinx steht.",
        "Inhalt",
        "Was es ist",
        "Ein {1}kurzer{/1} Text mit {2}fetten{/2} Wörtern, {3/}, einem {4}Verweis auf Beispiele{/4}, "
        "einem {5/}, einer Fußnote {6/} und {7/}. Siehe {8}die Einleitung{/8}, {9/} und {10}Datei "
        "öffnen{/10}. Das kostet 2 * 3 Euro{11}lich{/11}.",
        "Ein Punkt auf zwei Zeilen",
        "noch einer",
        "mit zweitem Absatz",
        "erstens",
        "zweitens",
        "verschachtelt",
        "2024. war ein gutes Jahr für Listen.",
        "Begriff",
        "Seine Erklärung, die weitergeht.",
        "Zweiter",
        "Noch eine Erklärung.",
        "Ein Zitat im Absatz",
        "Befehle",
        "Ein Hinweis, der weitergeht.",
        "Mit zweitem Absatz.",
        "Nicht anfassen.",
        "Die Sache mit dem Hut.",
        "Ein Bild von *uns*",
        "Die Bildunterschrift.",
        "Die Legende.",
        "Ein Beispiel",
        "Inhalt",
        "Liest eine Datei.",
        "Name der Datei",
        "ihre Zeilen",
        "Eine Liste",
        "Kopf",
        "Wert",
        "Zelle",
        "42",
        *("a", "b", "c", "d"),
        *("Kopf", "Wert", "a", "b"),
        "Eine Zeile",
        "noch eine, die weitergeht",
        "eingerückt",
        "Ein Zitat.",
        "Jemand Kluges",
        "Schreibt dorthin.",
        "Sagt mehr.",
        "Ein Gewicht für jedes Wort.",
        "die letzte Ausgabe",
        "Der Text der Fußnote, auf zwei Zeilen.",
        "안녕하세요",
        "Letzter Absatz",
        "Ende.",
    ]


@pytest.mark.parametrize(
    ("source", "targets", "expected"),
    [
        ("a\nb\n\nc\n", ["x", "y"], "x\n\ny\n"),
        ("ab\n==\n", ["안녕하세요"], "안녕하세요\n==========\n"),
        ("ab\n==========\n", ["xyz"], "xyz\n==========\n"),
        ("====\n ab\n====\n", ["xyz"], "=====\n xyz\n=====\n"),
        ("ab\r\n--\r\n", ["xyz"], "xyz\r\n---\r\n"),
        ("*ab*\n----\n", ["xyz"], "*xyz*\n-----\n"),
        ("- a\n  b\n", ["x"], "- x\n"),
        ("a\n", ["- x"], "\\- x\n"),
        ("a\n", ["1. x"], "\\1. x\n"),
        ("a\n", ["(a) x"], "\\(a) x\n"),
        ("a\n", [":x: y"], "\\:x: y\n"),
        ("a\n", [".. x"], "\\.. x\n"),
        ("a\n", ["*x* `y` z_ a_b |c|"], "\\*x\\* \\`y\\` z\\_ a_b \\|c\\|\n"),
        ("a\n", ["x::"], "x:\\:\n"),
        ("a::\n\n  b\n", ["x"], "x::\n\n  b\n"),
        ("a\n", ["===="], "\\====\n"),
        ("a *b* c\n", ["x{1}y{/1}z"], "x\\ *y*\\ z\n"),
        ("a *b* c\n", ["{1}한국어{/1}는"], "*한국어*\\ 는\n"),
        ("a **b** c\n", ["({1}x{/1})."], "(**x**).\n"),
        ("a *b* c\n", ["x{1} y {/1}z"], "x *y* z\n"),
        ("a *b* c\n", ['"{1}"x{/1}'], '"\\ *"x*\n'),
        ("a *b* c\n", ["x {1}{/1}y"], "x y\n"),
        ("a ``b`` ``c``\n", ["x{1/}{2/}"], "x\\ ``b``\\ ``c``\n"),
        ("a ``b c`` d_\n", ["{2/}는 {1/}x"], "d_\\ 는 ``b c``\\ x\n"),
        ("a `b <c_d>`_ e\n", ["{1}x y{/1}y"], "`x y <c_d>`_\\ y\n"),
        ("a `b <c>`_ e\n", ["x {1}{/1}"], "x `<c>`_\n"),
        ("a *b* ``c``\n", ["{1}x {2/} y{/1}"], "*x* ``c`` y\n"),
        (":ref:`b <c>` d\n", ["{1}x{/1}y"], ":ref:`x <c>`\\ y\n"),
        ("a\n  b\n", ["x : y"], "x \\: y\n  b\n"),
        (".. image:: a.png\n   :alt: b\n", ["*x*"], "   :alt: *x*\n"),
        (".. note:: a\n   b\n", ["x"], ".. note:: x\n"),
        (".. deprecated:: 1.0 a\n", ["x"], ".. deprecated:: 1.0 x\n"),
        ("| a\n| b\n", ["x", "y"], "| x\n| y\n"),
        ("\ufeffa\n", ["x"], "\ufeffx\n"),
    ],
)
def test_a_translation_is_written_so_that_it_is_read(
    source: str, targets: list[str], expected: str, tmp_path: Path
) -> None:
    result = rendered(tmp_path, source, *targets)
    assert expected in result
    again = [re.sub(r"\{/?\d/?\}| ", "", text) for text in found(tmp_path, result)[: len(targets)]]
    assert again == [re.sub(r"\{/?\d/?\}| ", "", text) for text in targets]


@pytest.mark.parametrize(
    ("source", "segments"),
    [
        (".. a comment\n   of lines\n\nb\n", ["b"]),
        ("..\n\n  b\n", ["b"]),
        (".. _a: b\n.. |c| image:: d\n__ e\n", []),
        (".. unknown:: a\n\n   b\n", []),
        (".. code-block:: c\n\n   a\n\nb\n", ["b"]),
        ("+---+\n| a |\n\nb\n", ["b"]),
        (">>> a\nb\n\nc\n", ["c"]),
        ("::\n\n  a\n\nb\n", ["b"]),
        ("a\nb\n  c\n", ["c"]),
        ("----\n\na\n", ["a"]),
        (":Author: a\n:Unknown: b\n", []),
        ("*a `b **c ``d |e _`f [g]\n", ["*a `b **c ``d |e _`f [g]"]),
        ("a_b a*b*c 2*3 *.py (*) x:y:`z`\n", ["a_b a*b*c 2*3 {1}.py ({/1}) x:y:{2/}"]),
        ("(*) a *.py\n", ["(*) a *.py"]),
        ("a\\ *b*\\ c \\`d\\`\n", ["a{1}b{/1}c `d`"]),
        ("`a`_ `b`__ c__ [1]_ [#]_ [#x]_ |d|_ _`e` f\n", ["{1/} {2/} {3/} {4/} {5/} {6/} {7/} {8/} f"]),
    ],
)
def test_what_is_no_text_is_kept(source: str, segments: list[str], tmp_path: Path) -> None:
    assert found(tmp_path, source) == segments


TEMPLATES = [
    "Wort\n",
    "a *b* c\n",
    "a **b** c ``d`` e\n",
    "Titel\n=====\n\nText\n",
    "=====\nTitel\n=====\n\nx\n",
    "- Punkt\n- zwei\n",
    "1. Punkt\n2. zwei\n",
    "Begriff\n  Erklärung\n",
    ":Abstract: Text\n",
    ".. note:: Wort\n",
    ".. note::\n\n   Wort\n\n   - zwei\n",
    ".. [1] Wort\n",
    "| Zeile\n| zwei\n",
    "  Zitat\n\n  -- Autor\n",
    ".. figure:: a.png\n   :alt: Bild\n\n   Bildtext\n",
    "a `b <http://x.y>`_ c\n",
    "a :sub:`b` c |d| e\n\n.. |d| replace:: Wort\n",
    ".. topic:: Titel\n\n   Text\n",
    "Text::\n\n   code\n",
    "-a  Option\n",
    "a [1]_ b\n\n.. [1] c\n",
    "a x_ b\n\n.. _x: http://a.b\n",
    ".. list-table:: Titel\n\n   * - a\n     - b\n",
    "+---+------+\n| a | *b*  |\n+===+======+\n| c | d `e |\n|   | f`_  |\n+---+------+\n",
    "+----+-----+\n| a  | b:: |\n|    |     |\n| c  |  d  |\n|    |     |\n| -e | f   |\n+----+-----+\n",
    "- a\n\n  ==  ====\n  b    c d\n  ==  ====\n  e   f\n      g\n\n  h\n  ==  ====\n",
    "Titel\n=====\n\nSiehe Titel_ und `Titel`_\n",
]
SIGNS = [
    *"*`_|\\:.-+<>()[]{}'\"=#!~,;/ ",
    "::",
    "..",
    "1.",
    "(a)",
    "a_",
    "word",
    "한글",
    "x",
    "\n",
    "\u2028",
    "—",
]
WORDS = st.lists(st.sampled_from(SIGNS), max_size=5).map("".join)


@given(st.sampled_from(TEMPLATES), st.lists(WORDS, min_size=9, max_size=9), st.integers(0, 9), st.booleans())
@settings(max_examples=400, deadline=None)
def test_docutils_reads_any_translation_as_it_was_meant(
    tmp_path_factory: pytest.TempPathFactory, source: str, words: list[str], choice: int, turned: bool
) -> None:
    document = opened(tmp_path_factory.mktemp("rst"), source)
    segment = document.segments[choice % len(document.segments)]
    tags = segment.source.tags[:: -1 if turned else 1]
    pieces: list[str | Tag] = []
    for word, tag in zip_longest(words, tags, fillvalue=""):
        pieces += [word, tag]
    target = repair(segment.source, Markup.of(*pieces)).strip()
    expected = bare("".join(piece for piece in target.pieces if isinstance(piece, str)))
    if not expected:
        return
    result = document.render({segment.number: target}).decode()
    again = opened(tmp_path_factory.mktemp("rst"), result)
    assert len(again.segments) == len(document.segments)
    new = again.segments[segment.number].source
    assert bare("".join(piece for piece in new.pieces if isinstance(piece, str))) == expected
    seen = nodes(result)
    assert [name for name, _ in seen if name not in INLINE] == [
        name for name, _ in nodes(source) if name not in INLINE
    ]
    if not tags and "::" not in source.replace(".. ", ""):
        assert expected in [text for _, text in seen]


INLINE = ("emphasis", "strong", "literal", "reference", "subscript", "target", "footnote_reference")


def test_docutils_finds_the_same_page_after_translation(tmp_path: Path) -> None:
    page = re.sub(
        r"(?ms)^\.\. (?:toctree|py:function|glossary|versionadded|unbekannt)::.*?(?=^\S)", "\n", PAGE
    )
    page = re.sub(r":(?:ref|func|guilabel):`[^`]*`|   :caption: .*\n", "", page)
    document = opened(tmp_path, page)
    words = "*Wörter* & `mehr` [x]_ 한국어"
    targets = {s.number: carry(s.source, f"{words} {s.number}") for s in document.segments}
    result = document.render(targets).decode()
    assert [name for name, _ in nodes(result)] == [name for name, _ in nodes(page)]


def test_a_page_cut_anywhere_is_read(tmp_path: Path) -> None:
    for end in range(1, len(PAGE), 7):
        document = opened(tmp_path, PAGE[:end])
        assert document.render({}).decode() == PAGE[:end]
        document.render({segment.number: segment.source for segment in document.segments})
