"""Tables of reStructuredText are drawn again around translations, and are tables for docutils."""

from pathlib import Path

import pytest
from rst_pages import found, nodes, opened, rendered

GRID = """+-------+------+
| Wort  | Art  |
+=======+======+
| Hund  | ein  |
|       | Tier |
+-------+------+
| 서울  |      |
+-------+------+
"""
SIMPLE = """====  ====
Wort  Art
====  ====
Hund  ein Tier
Haus  aus
      Stein

Baum
====  ====
"""


GROWN_GRID = """+-----------+-----------+
| word      | kind      |
+===========+===========+
| dog       | an animal |
+-----------+-----------+
| 수도 서울 |           |
+-----------+-----------+
"""
GROWN_SIMPLE = """=====  ========
word   kind
=====  ========
hound  animal
house  of stone

tree
=====  ========
"""


@pytest.mark.parametrize(
    ("page", "segments", "targets", "expected"),
    [
        (GRID, "Wort|Art|Hund|ein Tier|서울", "word|kind|dog|an animal|수도 서울", GROWN_GRID),
        (
            SIMPLE,
            "Wort|Art|Hund|ein Tier|Haus|aus Stein|Baum",
            "word|kind|hound|animal|house|of stone|tree",
            GROWN_SIMPLE,
        ),
    ],
)
def test_a_table_grows_around_its_cells(
    page: str, segments: str, targets: str, expected: str, tmp_path: Path
) -> None:
    assert found(tmp_path, page) == segments.split("|")
    result = rendered(tmp_path, page, *targets.split("|"))
    assert result == expected
    assert [name for name, _ in nodes(result)] == [name for name, _ in nodes(page)]


def test_a_table_in_a_list_keeps_its_place_and_line_ends(tmp_path: Path) -> None:
    page = "- a\n\n  +---+\n  | b |\n  +---+\n\nc\n".replace("\n", "\r\n")
    result = rendered(tmp_path, page, "A", "long")
    assert result == "- A\n\n  +------+\n  | long |\n  +------+\n\nc\n".replace("\n", "\r\n")


def test_paragraphs_in_a_cell_are_texts_and_what_stands_between_them_is_kept(tmp_path: Path) -> None:
    page = (
        "+-------+----------+\n"
        "| Eins  | So::     |\n"
        "| zwei. |          |\n"
        "|       |   code   |\n"
        "| Drei  |          |\n"
        "|       |          |\n"
        "| - a   |   code   |\n"
        "| - b   |          |\n"
        "|       | Weiter.  |\n"
        "|   c   |          |\n"
        "|       | Noch::   |\n"
        "| Vier  |          |\n"
        "|       | > Zitat  |\n"
        "+-------+----------+\n"
    )
    assert found(tmp_path, page) == ["Eins zwei.", "Drei", "Weiter.", "Vier"]
    result = rendered(tmp_path, page, "One two.", "three", "Go on, and on.", "four")
    assert result == (
        "+----------+----------------+\n"
        "| One two. | So::           |\n"
        "|          |                |\n"
        "| three    |   code         |\n"
        "|          |                |\n"
        "| - a      |                |\n"
        "| - b      |   code         |\n"
        "|          |                |\n"
        "|   c      | Go on, and on. |\n"
        "|          |                |\n"
        "| four     | Noch::         |\n"
        "|          |                |\n"
        "|          | > Zitat        |\n"
        "+----------+----------------+\n"
    )
    assert [name for name, _ in nodes(result)] == [name for name, _ in nodes(page)]


@pytest.mark.parametrize(
    "page",
    [
        "+---+---+\n| a b   |\n+---+---+\n| c | d |\n+---+---+\n",  # a cell over two columns
        "+---+---+\n| a | b |\n+   +---+\n|   | c |\n+---+---+\n",  # over two rows
        "+---+---+\n| a | b |\n+---+---+\n| c | d \n+---+---+\n",  # an open line
        "+---+---+\n| a | b |\n",  # no end
        "==  ==\na   b\n======\nc   d\n==  ==\n",
        "==  ==\na   b\n------\nc   d\n==  ==\n",
        "==  ==\nabcd b\n==  ==\n",
        "==  ==\n    b\n==  ==\n",
        "==  ==\na\tb\n==  ==\n",
    ],
)
def test_what_spans_columns_or_is_broken_is_kept(tmp_path: Path, page: str) -> None:
    document = opened(tmp_path, f"Text\n\n{page}\nEnde\n")
    assert [str(segment.source) for segment in document.segments] == ["Text", "Ende"]
    assert document.render({0: document.segments[0].source}).decode() == f"Text\n\n{page}\nEnde\n"


def test_a_reference_leads_to_its_title_and_shows_its_translation(tmp_path: Path) -> None:
    page = (
        "Der Anfang\n==========\n\nSiehe `Der Anfang`_ und :ref:`Ende`.\n\n"
        "Ende\n----\n\nZum `Start <Der Anfang_>`__\n"
    )
    result = rendered(tmp_path, page, "The start", "See {1/} and {2/}.", "End", "To the {1}beginning{/1}")
    assert result == (
        ".. _`Der Anfang`:\n\nThe start\n=========\n\n"
        "See `The start <Der Anfang_>`__ and :ref:`Ende`.\n\n"
        ".. _`Ende`:\n\nEnd\n---\n\n"
        "To the `beginning <Der Anfang_>`__\n"
    )
    texts = [text for name, text in nodes(result.replace(":ref:`Ende`", "Ende_")) if name == "reference"]
    assert texts == ["Thestart", "Ende", "beginning"]


@pytest.mark.parametrize(
    "page",
    [
        "Titel\n=====\n\nText\n",  # nobody refers to it
        ".. _Titel:\n\nTitel\n=====\n\nTitel_\n",  # it has a target
        "Titel\n=====\n\nTitel_\n\n.. _titel: http://a.b\n",
        "A\n=\n\nTitel\n-----\n\nTitel_\n\nB\n=\n\nTitel\n-----\n\nx\n",  # docutils knows neither
    ],
)
def test_a_title_gets_a_target_only_where_it_needs_one(tmp_path: Path, page: str) -> None:
    document = opened(tmp_path, page)
    result = document.render(
        {segment.number: "Wort" for segment in document.segments if not segment.source.tags}
    )
    assert result.decode().count(".. _") == page.count(".. _")
