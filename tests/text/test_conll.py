"""CoNLL files: columns, comments, and broken lines with their place."""

from pathlib import Path

import pytest

from multihead.errors import UserError
from multihead.tasks.tagging.conll import read_conll


def written(folder: Path, text: str) -> Path:
    (folder / "a.conll").write_text(text, encoding="utf-8")
    return folder / "a.conll"


def test_sentences_end_at_empty_lines(tmp_path: Path) -> None:
    path = written(tmp_path, "Anna NE B-PER\nwohnt V O\n\n\nBerlin NE B-LOC\n")
    first, second = read_conll(path)
    assert first.words == ("Anna", "wohnt")
    assert first.tags == ("B-PER", "O")
    assert second.place == f"{path}:5"
    (middle, _) = read_conll(path, 1, 2)
    assert middle.tags == ("NE", "V")


def test_tabs_keep_blanks_in_words_and_allow_comments(tmp_path: Path) -> None:
    path = written(tmp_path, "# sent_id = 1\n1\tNew York\tLOC\n#\tx\tO\n# more\n\n")
    (only,) = read_conll(path, 2)
    assert only.words == ("New York", "x")
    hash_first = written(tmp_path, "a O\n# O\n")
    assert next(read_conll(hash_first)).words == ("a", "#")


def test_document_marks_are_skipped(tmp_path: Path) -> None:
    path = written(tmp_path, "-DOCSTART- -X- O\n\nEU NNP B-ORG\n")
    assert [one.words for one in read_conll(path)] == [("EU",)]


def test_multiword_tokens_and_empty_nodes_of_conllu_are_not_words(tmp_path: Path) -> None:
    rest = "\t_" * 6
    lines = ["1-2\tzum\t_\t_", "1\tzu\tzu\tADP", "2\tdem\tder\tDET", "2.1\tgehe\tgehen\tVERB"]
    path = written(tmp_path, "".join(f"{line}{rest}\n" for line in lines))
    (sentence,) = read_conll(path, 2, 4)
    assert sentence.words == ("zu", "dem")
    assert sentence.tags == ("ADP", "DET")
    (sentence,) = read_conll(written(tmp_path, "2-3\tX\n7.5\tY\n"))
    assert sentence.words == ("2-3", "7.5")


@pytest.mark.parametrize(
    ("text", "columns", "told"),
    [
        ("a X O\nb O\n", (1, -1), "a.conll:2: 2 columns, but the first line has 3"),
        ("a X O\nb X Y O\n", (1, -1), "a.conll:2: 4 columns, but the first line has 3"),
        ("a\tO\n\tO\n", (1, -1), "a.conll:2: no word"),
        ("a\tO\nb\t\n", (1, -1), "a.conll:2: no tag"),
        ("a O\n", (1, 3), "there is no column 3; the line has 2"),
        ("a O\n", (0, 1), "there is no column 0; the line has 2"),
        ("a O\n", (1, -3), "there is no column -3; the line has 2"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, text: str, columns: tuple[int, int], told: str) -> None:
    with pytest.raises(UserError) as error:
        list(read_conll(written(tmp_path, text), *columns))
    assert told in str(error.value)


def test_other_line_ends_are_no_line_ends(tmp_path: Path) -> None:
    path = written(tmp_path, "a\u2028b\tX\nc\tY\n")
    (only,) = read_conll(path)
    assert only.words == ("a\u2028b", "c")
