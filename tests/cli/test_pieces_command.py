"""The command ``multihead pieces``."""

import json
from pathlib import Path

import pytest
from command_line import Captured, fail, run
from rich.cells import cell_len

from multihead.cli.pieces import columns
from multihead.recipe.settings import TokenizerSettings
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.settings import TokenizerSettings as MaskedSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

LINES = ["der Hund schläft", "die Katze schläft nicht", "한국어 문장입니다", "der Hund"]


@pytest.fixture
def vocabulary(tmp_path: Path) -> Path:
    train(LINES, TokenizerSettings(kind="bpe", vocab_size=330)).save(tmp_path / "tokenizer.json")
    return tmp_path / "tokenizer.json"


def test_every_piece_is_shown_with_its_id_in_80_columns(vocabulary: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "pieces", vocabulary)
    lines = out.splitlines()
    size = Tokenizer.load(vocabulary).vocab_size
    assert f"{size} pieces (4 special, 256 bytes, {size - 260} others)" in lines[0]
    assert all(cell_len(line) <= 80 for line in lines[1:])
    words = " ".join(lines[1:]).split()
    shown = {int(words[i]): words[i + 1] for i in range(0, len(words), 2)}
    assert shown == {number: Tokenizer.load(vocabulary).piece(number) for number in range(size)}


def test_special_tokens_masks_and_reserved_symbols_are_filtered(
    tmp_path: Path, capfdbinary: Captured
) -> None:
    masked = masking.learn(LINES, MaskedSettings(vocab_size=60), lowercase=False)
    masked.save(tmp_path / "masked.json")
    (found,) = json.loads(run(capfdbinary, "pieces", tmp_path / "masked.json", "--special", "--json")[0])
    assert [one["piece"] for one in found["pieces"]] == ["<pad>", "<unk>", "<s>", "</s>", "[MASK]"]
    assert all(one["special"] for one in found["pieces"])
    reserved = train(LINES, TokenizerSettings(kind="bpe", vocab_size=340, symbols=("<2de>", "<ph0>")))
    reserved.save(tmp_path / "reserved.json")
    out, _ = run(capfdbinary, "pieces", tmp_path / "reserved.json", "--special")
    assert "<2de>" in out
    assert "<ph0>" in out
    assert "Hund" not in out


def test_a_search_ignores_case_and_counts_come_most_frequent_first(
    vocabulary: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    (found,) = json.loads(run(capfdbinary, "pieces", vocabulary, "--search", "HUND", "--json")[0])
    assert found["pieces"]
    assert all("hund" in one["piece"].lower() for one in found["pieces"])
    text = tmp_path / "text.txt"
    text.write_text("die Katze\n" * 3 + "der Hund\n", encoding="utf-8")
    (counted,) = json.loads(
        run(capfdbinary, "pieces", vocabulary, "--count", text, "--top", "5", "--json")[0]
    )
    counts = [one["count"] for one in counted["pieces"]]
    tokenizer = Tokenizer.load(vocabulary)
    everything = [id for line in ("die Katze",) * 3 + ("der Hund",) for id in tokenizer.encode(line)]
    assert counts == sorted(counts, reverse=True)
    assert all(one["count"] == everything.count(one["id"]) for one in counted["pieces"])


def test_a_run_shows_its_own_pieces(trained: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "pieces", trained, "--search", "eins")
    assert "tokenizer.source.json: 10 pieces" in out
    assert "tokenizer.target.json: 10 pieces" in out
    assert "eins" in out


def test_a_piece_with_control_characters_is_escaped(vocabulary: Path, capfdbinary: Captured) -> None:
    content = json.loads(vocabulary.read_text(encoding="utf-8"))
    content["model"]["vocab"]["\x1b[2J"] = len(content["model"]["vocab"])
    vocabulary.write_text(json.dumps(content), encoding="utf-8")
    out, _ = run(capfdbinary, "pieces", vocabulary, "--search", "[2J")
    assert "\\x1b[2J" in out
    assert "\x1b" not in out


def test_columns_respect_wide_characters() -> None:
    texts = [f"{number} {'한국' * (number % 3)}" for number in range(29)]
    lines = columns(texts, 37)
    assert max(map(cell_len, lines)) <= 37
    assert len(lines) < len(texts)
    assert {word for line in lines for word in line.split()} == {w for text in texts for w in text.split()}


def test_what_is_no_vocabulary_is_a_user_error(tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "x.json").write_text("{}", encoding="utf-8")
    assert "not a tokenizer" in fail(capfdbinary, "pieces", tmp_path / "x.json")
    assert "cannot be read" in fail(capfdbinary, "pieces", tmp_path / "nothing.json")
    assert "RUN|FILE is missing" in fail(capfdbinary, "pieces")
    assert "--top 0" in fail(capfdbinary, "pieces", tmp_path / "x.json", "--top", "0")


def test_a_text_is_shown_in_pieces_over_their_ids(vocabulary: Path, capfdbinary: Captured) -> None:
    tokenizer = Tokenizer.load(vocabulary)
    out, _ = run(capfdbinary, "pieces", vocabulary, "die Katze [UNK] 漢字 [SEP]")
    pieces, ids = out.splitlines()[1::2], out.splitlines()[2::2]
    expected = [*tokenizer.encode("die Katze"), tokenizer.unk_id, *tokenizer.encode("漢字"), tokenizer.eos_id]
    assert [int(number) for line in ids for number in line.split()] == expected
    assert [piece for line in pieces for piece in line.split()] == [tokenizer.piece(n) for n in expected]
    assert max(map(cell_len, pieces)) <= 80


def test_a_mask_in_a_text_is_one_piece(tmp_path: Path, capfdbinary: Captured) -> None:
    masked = masking.learn(LINES, MaskedSettings(vocab_size=60), lowercase=False)
    masked.save(tmp_path / "masked.json")
    (listed,) = json.loads(
        run(capfdbinary, "pieces", tmp_path / "masked.json", "[CLS] der [MASK][MASK] [SEP]", "--json")[0]
    )
    special = [piece["piece"] for piece in listed["pieces"] if piece.get("special")]
    assert special == ["<s>", "[MASK]", "[MASK]", "</s>"]


def test_an_empty_text_has_no_piece(vocabulary: Path, capfdbinary: Captured) -> None:
    assert run(capfdbinary, "pieces", vocabulary, "")[0].splitlines()[1:] == ["", ""]


def test_options_of_the_list_are_refused_beside_a_text(vocabulary: Path, capfdbinary: Captured) -> None:
    assert "list the vocabulary" in fail(capfdbinary, "pieces", vocabulary, "der Hund", "--top", "3")
