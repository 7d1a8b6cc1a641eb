"""The name of a training example is its file and line, also after cleaning and in a mixture of corpora."""

from pathlib import Path

import numpy as np

from multihead.data.batches import BatchStream, PairList
from multihead.data.directions import Directed, MixedStream
from multihead.data.prepare import prepare
from multihead.data.store import LINES, StoreWriter, TokenStore
from multihead.recipe.settings import DataSettings, TokenizerSettings

SYMBOLS = {"pad_id": 0, "bos_id": 2, "eos_id": 3, "batch_tokens": 97, "seed": 1}


def test_a_pair_is_named_by_its_line_in_the_file_also_after_lines_that_were_dropped(tmp_path: Path) -> None:
    words = ["ein", "zwei", "drei", "vier", "elf", "zwölf", "neun"]
    lines = [f"{a} {b}" for a in words for b in words]
    lines[3] = lines[17] = ""
    for side in ("de", "en"):
        (tmp_path / f"t.{side}").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    data = DataSettings(dir=str(tmp_path), source=("t.de",), target=("t.en",), cache=str(tmp_path / "cache"))
    found = prepare(data, TokenizerSettings(kind="words", vocab_size=31))
    stream = BatchStream(found.train, place="t.de", **SYMBOLS)  # type: ignore[arg-type]
    names = stream.names(np.arange(len(found.train)))
    assert len(names) == len(found.train) < len(lines)
    for index, name in enumerate(names):
        file, _, line = name.partition(":")
        assert file == "t.de"
        assert found.source_tokenizer.decode(found.train.source(index)) == lines[int(line) - 1]


def store(folder: Path, lines: list[int]) -> TokenStore:
    with StoreWriter(folder, (31, 31)) as writer:
        for line in lines:
            writer.add([5, 7], [7], line)
    return TokenStore(folder)


def test_a_pair_of_a_mixture_is_named_by_its_corpus_and_line(tmp_path: Path) -> None:
    parts = [
        Directed(store(tmp_path / "a", [2, 3]), [11]),
        store(tmp_path / "b", [7, 11, 13]),
        PairList([[5]], [[7]]),
    ]
    stream = MixedStream(parts, [2, 3, 1], labels=["de-en", "fr-en", "made"], **SYMBOLS)  # type: ignore[arg-type]
    assert stream.names(np.array([0, 1, 4, 2, 5])) == ["de-en:2", "de-en:3", "fr-en:13", "fr-en:7", "made:0"]


def test_a_store_of_an_earlier_version_has_no_lines(tmp_path: Path) -> None:
    store(tmp_path, [2, 3])
    (tmp_path / LINES).unlink()
    header = tmp_path / "header.json"
    header.write_text(
        header.read_text().replace('"lines.bin": 16,\n', "").replace("lines.bin", "source.ids.bin")
    )
    found = TokenStore(tmp_path)
    assert found.lines is None
    assert BatchStream(found, **SYMBOLS).names(np.array([1])) == ["example 1"]  # type: ignore[arg-type]
