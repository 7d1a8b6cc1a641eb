"""Reading parallel corpora, valid and broken."""

import io
import json
import os
import sys
import threading
import tracemalloc
from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.text import corpus
from multihead.text.alignment import first_suspicious_line
from multihead.text.corpus import read_pairs
from multihead.text.lines import file_kind


def write(folder: Path, name: str, content: bytes | str) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def pairs(folder: Path, source: str, target: str = "", **data: str) -> list[tuple[str, str]]:
    targets = [target] if target else []
    return list(read_pairs(DataSettings.model_validate({"dir": str(folder), **data}), [source], targets))


@pytest.mark.parametrize(
    ("name", "kind"), [("a/b.TSV.GZ", ".tsv"), ("a.jsonl", ".jsonl"), ("train.de", ".de"), ("a.gz", "")]
)
def test_the_kind_of_a_file_is_its_extension_without_compression(name: str, kind: str) -> None:
    assert file_kind(name) == kind


def test_moses_files_are_paired_and_chained(tmp_path: Path) -> None:
    for name, content in {
        "a.de": "eins\nzwei\n",
        "a.en": "one\ntwo",
        "b.de": "drei",
        "b.en": "three\n",
    }.items():
        write(tmp_path, name, content)
    found = read_pairs(
        DataSettings.model_validate({"dir": str(tmp_path)}), ["a.de", "b.de"], ["a.en", "b.en"]
    )
    assert list(found) == [("eins", "one"), ("zwei", "two"), ("drei", "three")]


def test_files_of_different_length_are_refused_with_both_counts(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins\nzwei\ndrei\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\nfour\nfive\n")
    for source, target, counts in (
        ("a.de", "a.en", "3 lines.*a.en has 5"),
        ("a.en", "a.de", "5 lines.*a.de has 3"),
    ):
        with pytest.raises(UserError, match=counts):
            pairs(tmp_path, source, target)


@pytest.mark.parametrize("lost", [1, 13])
@pytest.mark.parametrize("swapped", [False, True])
def test_the_line_at_which_files_lose_alignment_is_found(tmp_path: Path, lost: int, swapped: bool) -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    target = [length + number % 3 for number, length in enumerate(source)]
    del target[53 : 53 + lost]
    line = first_suspicious_line(target, source) if swapped else first_suspicious_line(source, target)
    assert line == 54


@pytest.mark.parametrize(
    ("compared", "lost", "found"), [(1000, 1, 54), (61, 1, 54), (61, 13, 54), (5, 40, 6), (41, 1, 42)]
)
def test_it_is_looked_for_among_the_first_lines_and_else_behind_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compared: int, lost: int, found: int
) -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    target = [length + number % 3 for number, length in enumerate(source)]
    del target[53 : 53 + lost]
    write(tmp_path, "a.de", "".join("x" * length + "\n" for length in source))
    write(tmp_path, "a.en", "".join("y" * length + "\n" for length in target))
    monkeypatch.setattr(corpus, "COMPARED", compared)
    for names in (("a.de", "a.en"), ("a.en", "a.de")):
        with pytest.raises(UserError) as error:
            pairs(tmp_path, *names)
        assert f"around line {found}," in str(error.value.remedy)


def test_a_pipe_is_not_read_again_to_find_where_files_part(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins\nzwei\n")
    os.mkfifo(tmp_path / "a.en")
    writer = threading.Thread(target=(tmp_path / "a.en").write_text, args=("one\n",), daemon=True)
    writer.start()
    with pytest.raises(UserError, match=r"2 lines, but .*a\.en has 1") as error:
        pairs(tmp_path, "a.de", "a.en")
    assert error.value.remedy == "Both sides need the same number of lines."


def test_reading_takes_no_memory_for_the_lines_read(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins zwei\n" * 40_009)
    write(tmp_path, "a.en", "one two\n" * 40_009)
    data = DataSettings.model_validate({"dir": str(tmp_path)})
    found = read_pairs(data, ["a.de"], ["a.en"])
    next(found)
    tracemalloc.start()
    try:
        assert sum(1 for _ in found) == 40_008
        assert tracemalloc.get_traced_memory()[1] < 40_009
    finally:
        tracemalloc.stop()


def test_a_file_that_ends_early_is_suspected_at_its_end() -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    assert first_suspicious_line(source, source[:83]) == 84


def test_an_extra_empty_line_is_suspected() -> None:
    source = [5 + 31 * (number * 17 % 7) for number in range(101)]
    assert first_suspicious_line(source, [*source[:29], 0, *source[29:]]) == 30


@pytest.mark.parametrize("empty", ["source", "target", "both"])
def test_an_empty_file_is_refused_by_name(tmp_path: Path, empty: str) -> None:
    write(tmp_path, "a.de", "" if empty != "target" else "eins\n")
    write(tmp_path, "a.en", "" if empty != "source" else "one\n")
    name = "a.en" if empty == "target" else "a.de"
    with pytest.raises(UserError, match=f"{name}: the file is empty"):
        pairs(tmp_path, "a.de", "a.en")
    with pytest.raises(UserError, match=r"b\.tsv: the file is empty"):
        pairs(tmp_path, Path(write(tmp_path, "b.tsv", "")).name)


def test_unusual_separators_keep_the_alignment(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "ei\u2028ns\nzw\u0085ei\ndr\rei\r\n")
    write(tmp_path, "a.en", "one\ntwo\nthree\n")
    found = [("ei\u2028ns", "one"), ("zw\u0085ei", "two"), ("dr\rei", "three")]
    assert pairs(tmp_path, "a.de", "a.en") == found


def test_tsv_has_no_quoting_and_counts_columns_from_one(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", '7\t"one\t\'eins"\n8\ttwo\tzwei\r\n\n')
    assert pairs(tmp_path, "a.tsv") == [("7", '"one'), ("8", "two"), ("", "")]
    swapped = pairs(tmp_path, "a.tsv", source_field="3", target_field="2")
    assert swapped == [("'eins\"", '"one'), ("zwei", "two"), ("", "")]


def test_several_tables_may_be_in_another_encoding(tmp_path: Path) -> None:
    names = [write(tmp_path, f"{name}.tsv", "Bär\tbear\n".encode("latin-1")) for name in "ab"]
    assert list(read_pairs(DataSettings(encoding="latin-1"), names, [])) == [("Bär", "bear")] * 2


def test_a_tsv_line_with_too_few_columns_is_refused(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", "a\tb\nc\n")
    with pytest.raises(UserError, match=r"a\.tsv:2: no column 2: the line has 1"):
        pairs(tmp_path, "a.tsv")


@pytest.mark.parametrize("field", ["0", "-1", "en", "²", "1.5"])
def test_a_tsv_column_must_be_a_number_from_one_or_a_name(tmp_path: Path, field: str) -> None:
    write(tmp_path, "a.tsv", "a\tb\n")
    fact = rf'a\.tsv:1: data\.target_field = "{field}", but the header has the columns a, b\.'
    with pytest.raises(UserError, match=fact):
        pairs(tmp_path, "a.tsv", target_field=field)


def test_a_tsv_column_given_by_name_implies_a_header(tmp_path: Path) -> None:
    write(tmp_path, "a.tsv", "id\tde\t en\n7\teins\tone\n8\tzwei\ttwo\n")
    found = [("eins", "one"), ("zwei", "two")]
    assert pairs(tmp_path, "a.tsv", source_field="de", target_field="en") == found
    assert pairs(tmp_path, "a.tsv", source_field="2", target_field="en") == found
    write(tmp_path, "b.tsv", "de\ten\tde\neins\tone\tEins\n")
    with pytest.raises(UserError, match=r'"de", but the header has it twice'):
        pairs(tmp_path, "b.tsv", source_field="de", target_field="en")
    for nothing in ("de\ten\n", "", "\n"):
        write(tmp_path, "c.tsv", nothing)
        with pytest.raises(UserError, match="the file is empty"):
            pairs(tmp_path, "c.tsv", source_field="de", target_field="en")


def test_jsonl_is_read_by_keys_onto_one_line(tmp_path: Path) -> None:
    rows = [{"source": "ei\nns", "target": "one\u2028", "n": 1}, {"source": "", "target": "\ud83d\ude00"}]
    write(tmp_path, "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    assert pairs(tmp_path, "a.jsonl") == [("ei ns", "one\u2028"), ("", "😀")]
    write(tmp_path, "b.jsonl.x", json.dumps({"de": "eins", "en": "one"}))
    found = pairs(tmp_path, "b.jsonl.x", format="jsonl", source_field="en", target_field="de")
    assert found == [("one", "eins")]


@pytest.mark.parametrize(
    ("line", "fact"),
    [
        ("{", "not JSON"),
        ("[" * 100_003, "not JSON"),
        ("9" * 10_007, "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"source": {"de": "a"}}', "'source' is not a string but"),
        ('{"a": {"de": "a"}, "b": 3}', r"no key 'source'. .*\(keys here: 'a.de', 'b'\)"),
        ('{"target": "a"}', r"no key 'source'. .*\(keys here: 'target'\)"),
        ('{"source": 7, "target": "a"}', "'source' is not a string but 7"),
        ('{"source": "a", "target": null}', "'target' is not a string but null"),
        ('{"source": "a\\u0000", "target": "b"}', "NUL"),
        ('{"source": "a", "target": "\\ud800"}', "surrogate"),
    ],
)
def test_bad_jsonl_is_refused_with_its_line(tmp_path: Path, line: str, fact: str) -> None:
    write(tmp_path, "a.jsonl", '{"source": "a", "target": "b"}\n' + line)
    with pytest.raises(UserError, match=r"a\.jsonl:2: .*" + fact):
        pairs(tmp_path, "a.jsonl")


def test_file_names_must_give_both_sides(tmp_path: Path) -> None:
    write(tmp_path, "a.de", "eins\n")
    write(tmp_path, "a.tsv", "a\tb\n")
    data = DataSettings.model_validate({"dir": str(tmp_path)})
    with pytest.raises(UserError, match=r"a\.de: one side only"):
        list(read_pairs(data, ["a.de"], []))
    with pytest.raises(UserError, match="2 source files but 1 target files"):
        list(read_pairs(data, ["a.de", "a.de"], ["a.de"]))
    with pytest.raises(UserError, match="already holds both sides"):
        list(read_pairs(data, ["a.tsv"], ["a.tsv"]))
    with pytest.raises(UserError, match="standard input named twice"):
        list(read_pairs(data, ["-"], ["-"]))


def test_standard_input_may_be_one_side_or_hold_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "a.en", "one\ntwo\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"eins\nzwei\n")))
    assert pairs(tmp_path, "-", "a.en") == [("eins", "one"), ("zwei", "two")]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"eins\tone\n")))
    assert pairs(tmp_path, "-", format="tsv") == [("eins", "one")]


def test_keys_of_nested_objects_have_a_dot(tmp_path: Path) -> None:
    """As the `datasets` library writes parallel corpora."""
    rows = [
        {"id": 1, "translation": {"de": "ja", "en": "yes"}},
        {"translation.de": "nein", "translation.en": "no"},
    ]
    (tmp_path / "pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    data = DataSettings(dir=str(tmp_path), source_field="translation.de", target_field="translation.en")
    assert list(read_pairs(data, ["pairs.jsonl"], [])) == [("ja", "yes"), ("nein", "no")]


def test_languages_are_keys_of_the_first_object(tmp_path: Path) -> None:
    write(tmp_path, "a.jsonl", json.dumps({"id": 1, "translation": {"de": "ja", "en": "yes"}}))
    assert pairs(tmp_path, "a.jsonl") == [("ja", "yes")]
    assert pairs(tmp_path, "a.jsonl", source_language="eng", target_language="de") == [("yes", "ja")]
    write(tmp_path, "a.jsonl", json.dumps({"de": "ja", "en": "yes", "fr": "oui"}))
    assert pairs(tmp_path, "a.jsonl", source_language="fr", target_language="de") == [("oui", "ja")]
    with pytest.raises(
        UserError, match=r"a\.jsonl:1: two sides are not clear among its columns \(de, en, fr\)"
    ):
        pairs(tmp_path, "a.jsonl")


def test_a_name_like_that_of_a_dataset_is_explained(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no such file. A dataset .* is named hf://datasets/org/name"):
        pairs(tmp_path, "org/name")
