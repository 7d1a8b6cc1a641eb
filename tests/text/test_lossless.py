"""Lossless tokenizers, and running text in blocks."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multihead.errors import UserError
from multihead.text import documents
from multihead.text.documents import read_blocks, split_at
from multihead.text.lossless import learn, unknown_characters
from multihead.text.tokenizer import SPECIAL_TOKENS

TEXT = "To be, or\tnot to be:\n\n  that is  the question…\n\nÄh? 아니 🙂\n" * 7


@pytest.mark.parametrize(("kind", "size"), [("chars", 53), ("bpe", 293)])
def test_decoding_restores_the_text(kind: str, size: int) -> None:
    tokenizer = learn([TEXT], kind, size, 2)  # type: ignore[arg-type]
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT
    assert tokenizer.vocab_size <= size
    assert [tokenizer.piece(i) for i in range(4)] == list(SPECIAL_TOKENS)


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_byte_level_bpe_knows_every_character(text: str) -> None:
    tokenizer = BYTES
    assert tokenizer.decode(tokenizer.encode(text)) == text
    assert not tokenizer.special_ids & set(tokenizer.encode(text))


BYTES = learn([TEXT], "bpe", 277, 2)


def test_unknown_characters_are_listed() -> None:
    tokenizer = learn(["abc \n"], "chars", 53, 1)
    assert unknown_characters(tokenizer, "a 가 b 나 가\n") == ["가", "나"]


def test_a_vocabulary_size_that_is_too_small_is_refused_with_the_minimum() -> None:
    with pytest.raises(UserError, match="Set it to at least 7"):
        learn(["abc"], "chars", 6, 1)
    with pytest.raises(UserError, match="Set it to at least 260"):
        learn(["abc"], "bpe", 259, 1)
    with pytest.raises(UserError, match="no text"):
        learn([], "chars", 100, 1)


def test_blocks_are_tokenised_like_the_whole_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "BLOCK", 11)
    path = tmp_path / "text.txt"
    path.write_text(TEXT, encoding="utf-8")
    blocks = list(read_blocks([path, path], "file"))
    assert len(blocks) > 9
    assert "".join(text for text, _ in blocks) == 2 * TEXT
    assert sum(ends for _, ends in blocks) == 2
    in_blocks = [i for text, _ in blocks[: len(blocks) // 2] for i in BYTES.encode(text)]
    assert in_blocks == BYTES.encode(TEXT)


def test_a_line_can_be_a_document(tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("one\n\n two\r\nthree", encoding="utf-8")
    assert list(read_blocks([path], "line")) == [("one", True), (" two", True), ("three", True)]


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.txt"
    for content in ("", "\n \n"):
        path.write_text(content, encoding="utf-8")
        with pytest.raises(UserError, match=r"empty\.txt: no text"):
            list(read_blocks([path], "file"))


@given(st.lists(st.text("abc", max_size=5), max_size=7), st.integers(0, 23))
def test_a_split_is_exact_and_loses_nothing(texts: list[str], place: int) -> None:
    blocks = [(text, True) for text in texts]
    found = list(split_at(iter(blocks), place))
    before = "".join(text for (text, _), behind in found if not behind)
    after = "".join(text for (text, _), behind in found if behind)
    assert before == "".join(texts)[:place]
    assert before + after == "".join(texts)
    assert sum(ends for (_, ends), _ in found) == len(texts)
