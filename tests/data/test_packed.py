"""Running text packed on disk, and the windows that training reads."""

from pathlib import Path

import numpy as np
import pytest
import torch

from multihead.data.stream import StreamPosition
from multihead.errors import UserError
from multihead.tasks.language import packed
from multihead.tasks.language.packed import PackedText, pack
from multihead.tasks.language.settings import DataSettings, TokenizerSettings
from multihead.tasks.language.windows import WindowStream, evaluation_batches

TEXT = "".join(f"line {number}\n" for number in range(211))


def silent(stage: str, done: int, total: int | None) -> None:
    pass


def packing(folder: Path, **given: object) -> PackedText:
    data = DataSettings.model_validate({"dir": str(folder), "cache": str(folder / "cache"), **given})
    return pack(data, TokenizerSettings(kind="chars"), progress=silent)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    (tmp_path / "b.txt").write_text("other\nlines\n", encoding="utf-8")
    return tmp_path


def test_the_end_of_the_text_is_held_out(folder: Path) -> None:
    text = packing(folder, files=("a.txt",), valid_fraction=0.3)
    cut = int(len(TEXT) * 0.7)
    assert text.tokenizer.decode(text.train) == TEXT[:cut]
    assert text.tokenizer.decode(text.valid) == TEXT[cut:]
    assert text.characters == (cut, len(TEXT) - cut)


def test_validation_files_do_not_enter_the_vocabulary_and_unknown_tokens_are_counted(folder: Path) -> None:
    text = packing(folder, files=("a.txt",), valid_files=("b.txt",))
    assert text.tokenizer.decode(text.train) == TEXT
    assert text.unknown == (0, sum(letter in "othrs" for letter in "otherlines"))


def test_end_tokens_separate_documents(folder: Path) -> None:
    text = packing(folder, files=("b.txt", "a.txt"), valid_fraction=0.2)
    ids = text.train.tolist()
    assert ids.count(text.tokenizer.eos_id) == 1
    assert text.tokenizer.decode(ids[: ids.index(text.tokenizer.eos_id)]) == "other\nlines\n"
    lines = packing(folder, files=("a.txt",), documents="line")
    assert lines.tokenizer.decode(lines.train[: lines.train.tolist().index(3)]) == "line 0"


def test_a_text_is_prepared_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = packing(folder, files=("a.txt",))
    monkeypatch.setattr(packed, "_build", lambda *_: pytest.fail("built again"))
    again = packing(folder, files=("a.txt",))
    assert again.fingerprint == first.fingerprint
    assert np.array_equal(again.train, first.train)


def test_the_fingerprint_depends_on_the_text(folder: Path) -> None:
    first = packing(folder, files=("a.txt",))
    (folder / "a.txt").write_text(TEXT + "x\n", encoding="utf-8")
    assert packing(folder, files=("a.txt",)).fingerprint != first.fingerprint


def test_a_truncated_cache_is_built_again(folder: Path) -> None:
    first = packing(folder, files=("a.txt",))
    before = first.train.copy()
    (store,) = (folder / "cache").glob("*/train.ids.bin")
    store.write_bytes(store.read_bytes()[:-2])
    assert np.array_equal(packing(folder, files=("a.txt",)).train, before)


def test_no_files_and_missing_files_are_refused(folder: Path) -> None:
    with pytest.raises(UserError, match="no text files are named"):
        packing(folder)
    with pytest.raises(UserError, match=r"c\.txt: no such file"):
        packing(folder, files=("c.txt",))


# --- windows ------------------------------------------------------------------------------------------


def stream(length: int = 1009, position: StreamPosition = StreamPosition(), tokens: int = 47) -> WindowStream:  # noqa: B008
    return WindowStream(np.arange(length), context=7, batch_tokens=tokens, seed=3, position=position)


def test_an_epoch_covers_the_text_once_in_adjacent_windows() -> None:
    plan = stream().plan(0)
    assert all(len(rows) == 6 for rows in plan)
    starts = np.sort(np.concatenate(plan))
    assert len(set((starts % 7).tolist())) == 1
    assert len(set(starts.tolist())) == len(starts) > 1009 / 7 - 8
    assert not np.array_equal(np.concatenate(stream().plan(1)), np.concatenate(plan))


def test_a_window_predicts_the_next_token() -> None:
    batch, _ = next(iter(stream()))
    assert batch.text_in.shape == (6, 7)
    assert torch.equal(batch.text_out, batch.text_in + 1)
    assert batch.tokens == 42


def test_a_stream_of_windows_resumes_from_a_position() -> None:
    batches = [batch for batch, _ in zip(stream(), range(60), strict=False)]
    (_, at) = batches[29]
    assert at.epoch == 1
    rest = [batch for batch, _ in zip(stream(position=at), range(30), strict=False)]
    for (one, place), (other, same) in zip(batches[30:], rest, strict=True):
        assert place == same
        assert torch.equal(one.ids_BT, other.ids_BT)


def test_a_short_text_is_refused() -> None:
    with pytest.raises(UserError, match=r"14 tokens is too short for a context of 7"):
        stream(14)


def test_evaluation_predicts_every_token_but_the_first_once() -> None:
    ids = np.arange(1009)
    predicted = [
        t
        for b in evaluation_batches(ids, context=7, batch_tokens=47, most=10_000)
        for t in b.text_out.flatten()
    ]
    assert sorted(map(int, predicted)) == list(range(1, 1009))
    some = list(evaluation_batches(ids, context=7, batch_tokens=47, most=100))
    assert sum(batch.tokens for batch in some) == 98
    (short,) = evaluation_batches(np.arange(5), context=7, batch_tokens=47, most=100)
    assert short.ids_BT.tolist() == [[0, 1, 2, 3, 4]]
