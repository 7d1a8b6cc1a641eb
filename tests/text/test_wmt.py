"""Test sets of WMT: .sgm files of one side, .xml files of both; markup is not trained."""

from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text.corpus import read_pairs

XML = """<?xml version='1.0'?><dataset id="t">
<doc id="a"><src lang="de"><p><seg id="1">eins</seg>
<seg id="2">zwei &amp; drei</seg></p></src>
<ref lang="en" translator="A"><p><seg id="2">two &amp; three</seg><seg id="1">one</seg></p></ref>
<ref lang="en" translator="B"><p><seg id="1">ONE</seg></p></ref>
<hyp lang="en"><seg id="1">uno</seg></hyp></doc>
<doc id="b"><src lang="de"><p><seg id="1">vier</seg><seg id="2">ohne</seg></p></src>
<ref lang="en"><p><seg id="1">four</seg></p></ref></doc></dataset>
"""


def sgm(*segments: str) -> str:
    lines = [f'<SEG id="{number}">{text}</seg>' for number, text in enumerate(segments, start=1)]
    return "\n".join(['<srcset setid="t">', "<doc>", "<p>", *lines, "</p>", "</doc>", "</srcset>", ""])


def pairs(folder: Path, source: str, *target: str, **data: str) -> list[tuple[str, str]]:
    return list(read_pairs(DataSettings.model_validate({"dir": str(folder), **data}), [source], target))


def test_segments_of_both_sides_are_paired_in_order(tmp_path: Path) -> None:
    (tmp_path / "t-src.de.sgm").write_text(sgm("eins &lt;1&gt;", "zwei\n  drei <b>4</b>"))
    (tmp_path / "t-ref.en.sgm").write_text(sgm("one &lt;1&gt;", "two"))
    assert pairs(tmp_path, "t-src.de.sgm", "t-ref.en.sgm") == [
        ("eins <1>", "one <1>"),
        ("zwei drei <b>4</b>", "two"),
    ]
    with pytest.raises(UserError, match=r"t-src\.de\.sgm: one side only"):
        pairs(tmp_path, "t-src.de.sgm")
    (tmp_path / "t.en").write_text("one\n")
    with pytest.raises(UserError, match=r"2 segments, but .*t\.en has 1"):
        pairs(tmp_path, "t-src.de.sgm", "t.en")


def test_an_xml_test_set_has_the_first_reference_of_each_segment(tmp_path: Path) -> None:
    (tmp_path / "t.xml").write_text(XML)
    expected = [("eins", "one"), ("zwei & drei", "two & three"), ("vier", "four")]
    assert pairs(tmp_path, "t.xml") == expected
    swapped = pairs(tmp_path, "t.xml", source_language="eng", target_language="de")
    assert sorted(swapped) == sorted((target, source) for source, target in expected)
    with pytest.raises(UserError, match=r"no pair of <src> and <ref> \(languages: de, en\)"):
        pairs(tmp_path, "t.xml", source_language="de", target_language="fr")


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("eins\n", "no <seg> element"),
        ("", "no <seg> element"),
        (sgm("a") + "<seg id='7'>cut", "a <seg> without its end"),
        ("</seg>" * 10007 + "<seg>" * 10007, "no <seg> element"),
    ],
)
def test_a_broken_sgm_file_is_refused(tmp_path: Path, text: str, fact: str) -> None:
    (tmp_path / "a.sgm").write_text(text)
    (tmp_path / "b.sgm").write_text(sgm("a"))
    with pytest.raises(UserError, match=fact):
        pairs(tmp_path, "a.sgm", "b.sgm")


def test_a_file_of_markup_is_not_read_as_lines_unless_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text(sgm("eins", "zwei"))
    (tmp_path / "a.en").write_text(sgm("one", "two"))
    with pytest.raises(
        UserError, match=r'a\.de: most lines are markup \(<srcset setid="t">\).*--data.format'
    ):
        pairs(tmp_path, "a.de", "a.en")
    assert len(pairs(tmp_path, "a.de", "a.en", format="lines")) == 8


def test_tags_within_sentences_are_text(tmp_path: Path) -> None:
    (tmp_path / "a.de").write_text("<s> eins </s>\n<2en> zwei\n<b>drei</b>\n")
    (tmp_path / "a.en").write_text("<s> one </s>\n<br>\nthree\n")
    assert len(pairs(tmp_path, "a.de", "a.en")) == 3
