"""Markup of texts: pairs of tags stay nested."""

import random

import numpy as np
import pytest

from multihead.tasks.translation.texts.protected_line import SearchedLine, line
from multihead.tasks.translation.texts.tag_alignment import anchor, as_wholes, proportional, zones
from multihead.tasks.translation.texts.tag_placement import with_tags
from multihead.tasks.translation.texts.text_layout import PlacedTag, SentenceUnit, laid_out, restore
from multihead.text.casing import Casing
from multihead.text.markup import Markup, Piece, Tag, nest

OPEN, CLOSE = Tag("1", "open"), Tag("1", "close")
OTHER, OTHER_END = Tag("2", "open"), Tag("2", "close")


def test_pieces_of_text_are_merged_and_empty_ones_dropped() -> None:
    assert Markup.of("a", "", "b", OPEN, "", CLOSE).pieces == ("ab", OPEN, CLOSE)


def test_a_crossing_pair_becomes_empty_at_its_first_tag() -> None:
    crossing = Markup.of(OPEN, "a", OTHER, "b", CLOSE, "c", OTHER_END)
    assert nest(crossing) == Markup.of(OPEN, "a", OTHER, OTHER_END, "b", CLOSE, "c")
    turned = Markup.of("a", CLOSE, "b", OPEN)
    assert nest(turned) == Markup.of("a", OPEN, CLOSE, "b")


def test_any_order_of_tags_becomes_nested_and_keeps_the_text() -> None:
    chance = random.Random(3)
    for _ in range(499):
        pieces: list[Piece] = [Tag(str(n), kind) for n in range(3) for kind in ("open", "close")]
        pieces += ["a", "b", Tag("x", "alone")]
        chance.shuffle(pieces)
        found = nest(Markup.of(*pieces))
        assert sorted(map(repr, found.tags)) == sorted(repr(p) for p in pieces if isinstance(p, Tag))
        assert found.text == Markup.of(*pieces).text
        opened: list[str] = []
        for tag in found.tags:
            if tag.kind == "open":
                opened.append(tag.id)
            elif tag.kind == "close":
                assert opened.pop() == tag.id


@pytest.mark.parametrize(("source", "text"), [("– !", "a b"), ("ab c", "…"), ("ab c", "")])
def test_tags_are_placed_where_a_side_has_no_words(source: str, text: str) -> None:
    tags = (PlacedTag(0, OPEN), PlacedTag(len(source), CLOSE))
    unit = SentenceUnit(source, tags)
    assert with_tags(unit, text, as_wholes("", "")._replace(rows=[], columns=[])) == Markup.of(
        OPEN, text, CLOSE
    )


def test_spelled_tags_are_paired_by_name_and_the_rest_is_single() -> None:
    source = laid_out(Markup.of("<b>a <i>c</b> d</i> <br> <B>e</b>")).source
    kinds = [(tag.raw, tag.kind) for tag in source.tags]
    assert kinds == [
        ("<b>", "open"), ("<i>", "alone"), ("</b>", "close"), ("</i>", "alone"), ("<br>", "alone"),
        ("<B>", "open"), ("</b>", "close"),
    ]  # fmt: skip


def _line(text: str) -> SearchedLine:
    layout = laid_out(Markup.of(text), "de")
    return line(layout.units[0], frozenset(), None, Casing())


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("Hallo <span>%1$s</span>, du", "%1$s, hello you", "<span>%1$s</span>, hello you"),
        ("Von <b>%s</b> bis <i>%d</i> x", "x %d to %s", "x <i>%d</i> to <b>%s</b>"),
        ("Lies <b>{}</b> gern", "Gladly read {}", "Gladly read <b>{}</b>"),
        ("<a>{name}</a> und <b>100 km</b> x", "x 100 km and {name}", "x <b>100 km</b> and <a>{name}</a>"),
        ("Sieh <b>http://a.de/b-c</b> an", "Look at http://a.de/b-c", "Look at <b>http://a.de/b-c</b>"),
        ("a <b>%%</b> b", "x %% y", "x <b>%%</b> y"),
    ],
)
def test_tags_around_a_placeholder_stay_around_it(source: str, target: str, expected: str) -> None:
    searched = _line(source)
    # Attention that is wrong throughout: every word attends to the last one.
    wrong = proportional(searched.unit.text, target)
    wrong.matrix_TS[:] = np.arange(wrong.matrix_TS.shape[1]) == wrong.matrix_TS.shape[1] - 1
    placed = with_tags(searched.unit, target, anchor(wrong, zones(target, searched)))
    assert restore(placed).text == expected


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (("die Formel ", ", und"), "the formula, and", "the formula ¦, and"),
        (("die Formel ", " gilt"), "the formula holds", "the formula ¦ holds"),
        (("(", ") gilt"), "( ) holds", "(¦) holds"),
        (("Hund", " läuft"), "dog runs", "dog¦ runs"),
        (("公式 ", " 成立"), "公式成立", "¦公式成立"),
    ],
)
def test_a_single_tag_touches_what_it_touched(source: tuple[str, str], target: str, expected: str) -> None:
    before, after = source
    unit = SentenceUnit(before + after, (PlacedTag(len(before), Tag("1", "alone")),))
    placed = with_tags(unit, target, proportional(unit.text, target))
    assert "".join(piece if isinstance(piece, str) else "¦" for piece in placed.pieces) == expected
