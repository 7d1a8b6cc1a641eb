"""YAML messages: texts are found by their keys, and what is written is read by PyYAML as it was meant."""

import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from document_samples import samples
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from multihead_documents import Document, Markup, open_document
from multihead_documents.errors import DocumentError

SAMPLE = samples()["de.yml"].decode()


def opened(folder: Path, text: str) -> Document:
    (folder / "a.yml").write_text(text, encoding="utf-8", newline="")
    return open_document(folder / "a.yml", source_language="de", target_language="en")


def test_texts_are_found_by_their_keys(tmp_path: Path) -> None:
    found = {segment.key: segment.source.text for segment in opened(tmp_path, SAMPLE).segments}
    assert found == {
        "de.greeting": "Guten Tag",
        "de.quoted": 'Ein "Zitat" mit Umbruch',
        "de.single": "Es 'ist' so",
        "de.list.0": "eins",
        "de.list.1": "zwei",
        "de.map.a": "Apfel",
        "de.map.b": "Birne",
        "de.map.c": "Ei",
        "de.long": "Erste Zeile\nzweite Zeile\n\nletzte",
        "de.folded": "gefaltet hier und dort",
        "de.items.0": "Punkt eins",
        "de.items.1": "mehrere Zeilen ohne Anführung",
        "de.count": "%{count} Dinge",
    }


def test_translations_keep_the_style_where_they_can(tmp_path: Path) -> None:
    document = opened(tmp_path, SAMPLE)
    words = iter(
        [
            "Hi",
            'a "b"',
            "it",
            "one, two",
            "2",
            "a, b",
            "pear",
            "true",
            "x\n y\n\nz",
            "f",
            "- g",
            "h",
            "%{count}",
        ]
    )
    page = document.render({segment.number: next(words) for segment in document.segments}).decode()
    assert (
        page
        == """# Kommentar, bleibt
en:
  greeting: Hi   # bleibt
  "quoted": "a \\"b\\""
  single: 'it'
  yes: true
  number: 12
  date: 2026-01-01
  list: ["one, two", "2", 3]
  map: {a: "a, b", b: 'pear', c: "true"}
  long: |
    x
     y

    z
  folded: >-
    f

  anchor: &x bleibt
  alias: *x
  tagged: !!binary bleibt
  items:
    - "- g"
    - h
  count: "%{count}"
"""
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("de: a\nen: b\n", "de: X\nen: X\n"),
        ("fr:\n  a: b\n", "fr:\n  a: X\n"),
        ("de_AT:\n  a: b\n", "en:\n  a: X\n"),
        ("'de':\n  a: b\n", "'en':\n  a: X\n"),
        ("- a\n- [b, {c: d}]\n", "- X\n- [X, {c: X}]\n"),
        ("? [a, b]\n: c\n", "? [X, X]\n: X\n"),
        ("a: b\r\nc: 'd'\r\n", "a: X\r\nc: 'X'\r\n"),
        ("<<: *x\n", None),
        ("a: |+\n  b\n\nc: d\n", "a: |+\n  X\n\nc: X\n"),
        ("--- a\n...\n--- b\n", "--- X\n...\n--- X\n"),
        ("\ufeffa: b\n", "\ufeffa: X\n"),
        ("a:\nb: ''\nc: ~\n", "a:\nb: ''\nc: ~\n"),
    ],
)
def test_what_is_no_text_is_kept(text: str, expected: str | None, tmp_path: Path) -> None:
    if expected is None:
        document = opened(tmp_path, text)
        assert not document.segments
        return
    document = opened(tmp_path, text)
    assert document.render({segment.number: "X" for segment in document.segments}).decode() == expected


@pytest.mark.parametrize(
    "text",
    [
        "a: [b\n",
        "a: 'b\n",
        "\ta: b\n",
        "a: b: c\n",
        'a: "\\q"\n',
        "[" * 101,
        "a: \x01\n",
        "%YAML 9\n---\n",
        "a: @b\n",
    ],
)
def test_a_fault_is_named_with_its_place(text: str, tmp_path: Path) -> None:
    with pytest.raises(DocumentError) as error:
        opened(tmp_path, text)
    assert error.value.place
    assert error.value.remedy


@pytest.mark.timeout(60)
@pytest.mark.parametrize(
    "text", ["[" * 200_000, "a: &x [" * 9000, "- " * 9000, "'" * 200_001, "a: b\n" * 20_000]
)
def test_a_hostile_file_takes_linear_time(text: str, tmp_path: Path) -> None:
    with suppress(DocumentError):
        assert opened(tmp_path, text).segments


def test_characters_that_yaml_excludes_are_escaped(tmp_path: Path) -> None:
    page = opened(tmp_path, "a: b\n").render({0: "x\ufffe\uffff"}).decode()
    assert page == 'a: "x\\ufffe\\uffff"\n'
    assert yaml.safe_load(page) == {"a": "x\ufffe\uffff"}


LETTERS = "aé안 \n:#-'\"[]{},&*!|>%@`?~=<\\.0\u2028\x85\t"
TEXTS = st.text(st.sampled_from(LETTERS), min_size=1, max_size=12)
TREES = st.recursive(
    TEXTS | st.booleans() | st.integers(-9, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(
    st.dictionaries(TEXTS, TREES, min_size=2, max_size=4),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.sampled_from([None, True, False]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pyyaml_reads_what_was_meant(
    tmp_path: Path, tree: dict[str, Any], style: str | None, flow: bool | None, chance: random.Random
) -> None:
    text = yaml.safe_dump(tree, default_style=style, default_flow_style=flow, allow_unicode=True, width=20)
    assume(yaml.safe_load(text) == tree)  # PyYAML does not read all that it writes
    document = opened(tmp_path, text)
    assert document.render({}).decode() == text
    new = {s.number: "".join(chance.choices(LETTERS, k=9)).strip() or "x" for s in document.segments}
    written = document.render({number: Markup.of(word) for number, word in new.items()}).decode()
    (tmp_path / "b.yml").write_bytes(written.encode())
    again = open_document(tmp_path / "b.yml")
    assert [segment.source.text for segment in again.segments] == [*new.values()]
    assert [segment.key for segment in again.segments] == [segment.key for segment in document.segments]
    assert _shape(yaml.safe_load(written)) == _shape(tree)


def _shape(tree: Any) -> Any:
    if isinstance(tree, str):
        return "text" if tree.strip() else tree
    if isinstance(tree, list):
        return [_shape(one) for one in tree]
    return {key: _shape(one) for key, one in tree.items()} if isinstance(tree, dict) else tree
