"""Translations of Qt Linguist."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from document_samples import samples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Markup, Translation, open_document
from multihead_documents.errors import DocumentError

SAMPLE = samples()["app.ts"].decode()


def opened(folder: Path, text: str, target: str | None = None) -> Document:
    (folder / "a.ts").write_text(text, encoding="utf-8", newline="")
    return open_document(folder / "a.ts", target_language=target)


def message(translation: str, attributes: str = "", source: str = "Ja") -> str:
    return (
        f'<TS version="2.1" language="ko"><context><name>A</name><message{attributes}>'
        f"<source>{source}</source>{translation}</message></context></TS>"
    )


def translations(page: str) -> list[tuple[str | None, list[str]]]:
    """Return type and texts of the translations, as an independent parser finds them."""
    return [
        (
            node.get("type"),
            [form.text or "" for form in node.findall("numerusform")] or ["".join(node.itertext())],
        )
        for node in ElementTree.fromstring(page).iter("translation")
    ]


def test_messages_come_with_their_state_and_context(tmp_path: Path) -> None:
    found = [
        (s.source.text, str(s.target or ""), s.state, s.context) for s in opened(tmp_path, SAMPLE).segments
    ]
    assert found == [
        ("&Datei öffnen …", "", "new", "MainWindow | Menü"),
        ("Zweite\nZeile <b>fett</b>\x07 und %1", "", "new", "MainWindow"),
        ("Fertig", "완료", "translated", "MainWindow"),
        ("Vielleicht", "아마", "needs-review", "MainWindow"),
        ("%n Datei(en)", "", "new", "MainWindow"),
        ("%n Datei(en)", "", "new", "MainWindow"),
    ]
    document = opened(tmp_path, SAMPLE)
    assert [s.note for s in document.segments[:4]] == ["Kurz halten", "", "", "unsicher"]
    assert document.segments[1].key == "id.two"
    assert [s.plural.index for s in document.segments if s.plural] == [0, 1]


def test_translations_are_filled_and_marked(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE, "ko")
    targets = {s.number: Translation(Markup.of(f"<{s.number}> &"), s.number == 2) for s in document.segments}
    page = document.render(targets).decode()
    assert translations(page) == [
        (None, ["<0> &"]),
        (None, ["<1> &"]),
        ("unfinished", [" <2> & "]),
        (None, ["<3> &"]),
        (None, ["<4> &", "<5> &"]),
        ("vanished", ["끝"]),
        (None, ["길다"]),
    ]
    assert '<TS version="2.1" sourcelanguage="de" language="ko">' in page
    assert page.count("<!DOCTYPE TS>") == 1


@pytest.mark.parametrize(
    ("before", "review", "after"),
    [
        ("<translation/>", False, "<translation>네</translation>"),
        ("<translation/>", True, '<translation type="unfinished">네</translation>'),
        ("<translation type='unfinished' />", False, "<translation>네</translation>"),
        (
            '<translation type="unfinished">ja</translation>',
            True,
            '<translation type="unfinished">네</translation>',
        ),
        (
            '<translation x="y">ja</translation>',
            True,
            '<translation x="y" type="unfinished">네</translation>',
        ),
        ("<translation><!-- a -->ja</translation>", False, "<translation>네</translation>"),
    ],
)
def test_a_translation_in_any_form_is_filled(before: str, review: bool, after: str, tmp_path: Path) -> None:
    document = opened(tmp_path, message(before))
    assert document.target_language == "ko"
    assert document.render({}).decode() == message(before)
    assert document.render({0: Translation(Markup.of("네"), review)}).decode() == message(after)


def test_a_plural_is_finished_with_its_last_form(tmp_path: Path) -> None:
    forms = "<numerusform></numerusform><numerusform/>"
    page = message(f'<translation type="unfinished">{forms}</translation>', ' numerus="yes"')
    document = opened(tmp_path, page)
    assert translations(document.render({0: "a"}).decode()) == [("unfinished", ["a", ""])]
    assert translations(document.render({0: "a", 1: "b"}).decode()) == [(None, ["a", "b"])]


def test_obsolete_messages_and_other_lengths_are_kept(tmp_path: Path) -> None:
    for kept in (
        '<translation type="obsolete">a</translation>',
        '<translation type="vanished"/>',
        '<translation variants="yes"><lengthvariant>a</lengthvariant></translation>',
        "",
    ):
        assert not opened(tmp_path, message(kept)).segments
    assert not opened(tmp_path, message("<translation/>", source="")).segments


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("export const text: string = 'a';\n", "no translations of Qt Linguist"),
        ("G@\x00\x10", "no translations of Qt Linguist"),
        ("<T>(a: T): T => a;", "it begins with <T>, not with <TS>"),
        ("\n<tmx/>", r"a\.ts:2: not a file of Qt Linguist: it begins with <tmx>"),
        ('<!DOCTYPE TS [<!ENTITY a "b">]><TS/>', "declares an entity"),
        ("<TS><context><message><source>a", "not well-formed"),
    ],
)
def test_a_typescript_file_or_another_is_refused_with_a_remedy(text: str, fact: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=fact) as caught:
        opened(tmp_path, text)
    assert caught.value.place
    assert caught.value.remedy


SPICE = st.sampled_from(["<", "&", "]]>", "\r", "\n", "  ", "\x07", "\x1b", "%n", "é", "\ufffe"])
TEXTS = st.lists(SPICE | st.text(max_size=2), max_size=8).map("".join)


@given(TEXTS, st.sampled_from(["<translation/>", "<translation>a</translation>"]))
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_independent_parser_reads_any_translation(tmp_path: Path, text: str, before: str) -> None:
    text = re.sub("[\0\ud800-\udfff\ufffe\uffff]", "\ufffd", text).strip()
    if not text:
        return
    page = opened(tmp_path, message(before)).render({0: text}).decode()
    spelled = re.sub(r'<byte value="x([0-9a-f]+)"/>', lambda found: f"&#xe0{int(found[1], 16):02x};", page)
    ((kind, [found]),) = translations(spelled)
    held = "".join(chr(0xE000 + ord(c)) if c < " " and c not in "\t\n\r" else c for c in text)
    assert kind is None
    assert found == held
    assert str(opened(tmp_path, page).segments[0].target) == text
