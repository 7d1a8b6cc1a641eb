"""The command ``multihead split``."""

from itertools import chain
from pathlib import Path

import pytest
from command_line import Captured, fail, run


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def test_the_sets_make_up_the_corpus_and_share_no_sentence(tmp_path: Path, capfdbinary: Captured) -> None:
    pairs = [(f"eins {i // 2}", f"one\u2028{i}") for i in range(46)]
    corpus = tmp_path / "c.tsv"
    corpus.write_text("".join(f"{english}\t{german}\n" for german, english in pairs), encoding="utf-8")
    columns = ("--source-field", 2, "--target-field", 1, "--source-language", "de", "--target-language", "en")
    out, _ = run(capfdbinary, "split", "--src", corpus, *columns, "--to", tmp_path, "--valid", 4, "--test", 6)
    assert "46 pairs in 23 groups" in out
    found = {
        part: list(zip(lines(tmp_path / f"{part}.de"), lines(tmp_path / f"{part}.en"), strict=True))
        for part in ("train", "valid", "test")
    }
    assert [len(part) for part in found.values()] == [36, 4, 6]
    assert sorted(chain.from_iterable(found.values())) == sorted(pairs)
    german = [{source for source, _ in part} for part in found.values()]
    assert sum(map(len, german)) == 23


def test_sets_of_a_small_corpus_are_small_and_keep_its_file_extensions(
    tmp_path: Path, capfdbinary: Captured
) -> None:
    for ending in ("de", "en"):
        (tmp_path / f"c.{ending}").write_text("".join(f"{ending} {i}\n" for i in range(61)), encoding="utf-8")
    to = tmp_path / "parts"
    out, _ = run(capfdbinary, "split", "--src", tmp_path / "c.de", "--tgt", tmp_path / "c.en", "--to", to)
    assert [len(lines(to / f"{part}.de")) for part in ("train", "valid", "test")] == [55, 3, 3]
    assert f"train --data.dir {to} --src train.de --tgt train.en --valid-src valid.de" in out


def test_a_split_never_overwrites_the_corpus(tmp_path: Path, capfdbinary: Captured) -> None:
    files = [tmp_path / f"train.{ending}" for ending in ("de", "en")]
    for file in files:
        file.write_text("".join(f"{i}\n" for i in range(61)), encoding="utf-8")
    error = fail(capfdbinary, "split", "--src", files[0], "--tgt", files[1], "--to", tmp_path / "." / "")
    assert "would overwrite this input file" in error
    assert len(lines(files[0])) == 61


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        (["--to", ""], "--to is missing"),
        (["--src", "-"], "which standard input does not allow"),
        (["--valid", "-1"], "negative size"),
        (["--test", "7"], "leave none for training"),
        (["--target-language", "source"], "file extensions cannot be"),
        (["--target-language", "../x"], "file extensions cannot be"),
        (["--tgt", "missing"], "missing"),
    ],
)
def test_invalid_input_is_a_user_error_and_nothing_is_written(
    changed: list[str], error: str, tmp_path: Path, capfdbinary: Captured
) -> None:
    for side in ("a", "b"):
        (tmp_path / side).write_text("".join(f"{side}{i}\n" for i in range(7)), encoding="utf-8")
    arguments = {
        "--src": str(tmp_path / "a"),
        "--tgt": str(tmp_path / "b"),
        "--to": str(tmp_path / "out"),
        "--valid": "2",
        "--test": "2",
    }
    arguments |= dict([changed])
    assert error in fail(capfdbinary, "split", *(word for pair in arguments.items() for word in pair))
    assert not (tmp_path / "out").exists()


def test_a_split_never_overwrites_another(tmp_path: Path, capfdbinary: Captured) -> None:
    for ending in ("de", "en"):
        (tmp_path / f"c.{ending}").write_text("".join(f"{ending} {i}\n" for i in range(61)), encoding="utf-8")
    to = tmp_path / "parts"
    command = ("split", "--src", tmp_path / "c.de", "--tgt", tmp_path / "c.en", "--to", to)
    run(capfdbinary, *command)
    before = lines(to / "test.de")
    assert "the folder already contains a split" in fail(capfdbinary, *command, "--seed", 7)
    assert lines(to / "test.de") == before


def test_an_empty_set_is_refused(tmp_path: Path, capfdbinary: Captured) -> None:
    for ending in ("de", "en"):
        (tmp_path / f"c.{ending}").write_text(f"{ending} 1\n{ending} 2\n{ending} 3\n", encoding="utf-8")
    command = ("split", "--src", tmp_path / "c.de", "--tgt", tmp_path / "c.en", "--to", tmp_path / "parts")
    assert "3 pairs leave none for validation" in fail(capfdbinary, *command)
    assert not (tmp_path / "parts").exists()


def test_labels_are_in_every_set(tmp_path: Path, capfdbinary: Captured) -> None:
    corpus = tmp_path / "c.tsv"
    corpus.write_text(
        "".join(f"line {i}\t{'good' if i % 3 else 'bad'}\n" for i in range(211)), encoding="utf-8"
    )
    out, _ = run(capfdbinary, "split", "--src", corpus, "--to", tmp_path, "--valid", 23, "--test", 29)
    assert "only 2 different lines on the target side" in out
    for part, size in (("train", 159), ("valid", 23), ("test", 29)):
        assert len(lines(tmp_path / f"{part}.source")) == size
        assert set(lines(tmp_path / f"{part}.target")) == {"good", "bad"}


def test_a_corpus_that_repetitions_hold_together_is_refused(tmp_path: Path, capfdbinary: Captured) -> None:
    corpus = tmp_path / "c.tsv"
    corpus.write_text("".join(f"{i // 2}\t{(i + 1) // 2}\n" for i in range(101)), encoding="utf-8")
    error = fail(capfdbinary, "split", "--src", corpus, "--to", tmp_path)
    assert "no pair for valid and test: sentences that repeat join 101 of 101 pairs" in error
    assert not (tmp_path / "train.source").exists()
