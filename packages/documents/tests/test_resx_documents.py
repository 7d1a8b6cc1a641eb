"""Resources of .NET: strings are translated, objects and properties of forms are kept."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from document_samples import samples
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, open_document
from multihead_documents.errors import DocumentError

SAMPLE = samples()["form.resx"].decode()


def opened(folder: Path, text: str, name: str = "a.resx") -> Document:
    (folder / name).write_text(text, encoding="utf-8", newline="")
    return open_document(folder / name)


def values(page: str) -> dict[str, str | None]:
    """Return the values of a file by name, as an independent parser finds them."""
    return {
        node.get("name", ""): node.findtext("value") for node in ElementTree.fromstring(page).iter("data")
    }


def test_strings_are_found_by_their_names_with_their_comments(tmp_path: Path) -> None:
    found = [(s.key, s.source.text, s.note) for s in opened(tmp_path, SAMPLE).segments]
    assert found == [
        ("Greeting", "Hallo {0}, schön & gut", "Gruß an den Benutzer"),
        ("Lines", "Erste Zeile\n  zweite <b>Zeile</b>", ""),
        ("Section", 'a < b & "c"', ""),
        ("$this.Text", "Fenster", ""),
        ("label1.Text", "Name:", ""),
    ]


def test_all_else_is_kept(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    page = document.render({segment.number: "<x> & ]]>" for segment in document.segments}).decode()
    before, after = values(SAMPLE), values(page)
    chosen = {segment.key for segment in document.segments}
    for name, value in before.items():
        expected = "\n<x> & ]]>\n" if name == "Lines" else "<x> & ]]>" if name in chosen else value
        assert after[name] == expected
    assert (
        '<data name="Section" xml:space="preserve"><value><![CDATA[<x> & ]]]]><![CDATA[>]]></value>' in page
    )
    assert "<comment>Gruß an den Benutzer</comment>" in page


def test_names_with_a_dot_are_text_outside_forms(tmp_path: Path) -> None:
    text = '<root><data name="Home.Name"><value>Heim</value></data>{}</root>'
    assert [s.key for s in opened(tmp_path, text.format("")).segments] == ["Home.Name"]
    form = '<data name="&gt;&gt;$this.Type"><value>Form</value></data>'
    assert not opened(tmp_path, text.format(form)).segments
    assert opened(tmp_path, text.format(""), "Resources.resw").kind == "resx"


def test_another_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        DocumentError, match=r"a\.resx:2: XML that begins with <html>, not with <root>"
    ) as caught:
        opened(tmp_path, "\n<html/>")
    assert caught.value.remedy


TEXTS = st.lists(
    st.sampled_from(["<", "&", "]]>", "\r", "\n", "\t", "  ", "{0}", '"', "é", "\x07", "\ufffe"])
    | st.text(max_size=2),
    max_size=8,
).map("".join)


@given(TEXTS, st.sampled_from(["x", "<![CDATA[x]]>", " x&#160;", "<!-- a -->x"]))
@example("a\r]]>", "<![CDATA[x]]>")
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_independent_parser_reads_any_translation(tmp_path: Path, text: str, source: str) -> None:
    text = text.strip()
    if not text:
        return
    page = f'<root><data name="a"><value>{source}</value></data></root>'
    changed = opened(tmp_path, page).render({0: text}).decode()
    held = re.sub("[\0-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "\ufffd", text)
    assert (values(changed)["a"] or "").strip() == held.strip()
