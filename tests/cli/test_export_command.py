"""The command ``multihead export``."""

from pathlib import Path

import pytest
from command_line import Captured, fail, run
from tokenizers import Tokenizer as Library

from multihead import load
from multihead.recipe.settings import SearchSettings


def test_an_exported_model_translates_the_same_in_ctranslate2(
    trained: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    _, output = run(capfdbinary, "export", trained, "--to", "ctranslate2", "-o", tmp_path / "new" / "int8",
                  "--quantization", "int8")  # fmt: skip
    assert "int8" in output
    run(capfdbinary, "export", trained, "--to", "ctranslate2", "-o", tmp_path / "float32")
    sizes = [(tmp_path / name / "model.bin").stat().st_size for name in ("new/int8", "float32")]
    assert sizes[0] < sizes[1]
    lines = ["eins zwei drei", "sechs", "vier vier eins"]
    ours = load(trained, device="cpu", precision="fp32")
    cut = Library.from_file(str(tmp_path / "float32" / "tokenizer.source.json"))
    pieces = [cut.encode(line, add_special_tokens=False).tokens for line in lines]
    for name in ("float32", "new/int8"):
        theirs = ctranslate2.Translator(str(tmp_path / name), intra_threads=1)
        found = theirs.translate_batch(
            pieces, beam_size=1, max_decoding_length=5, suppress_sequences=[["<s>"], ["<pad>"]]
        )
        if name == "float32":
            settings = SearchSettings(method="greedy", max_length=5, min_length=1)  # CTranslate2's defaults
            words = [translation.text for translation in ours.translate(lines, settings)]
            assert [" ".join(one.hypotheses[0]).replace("▁", "") for one in found] == words


def test_a_folder_with_files_is_not_written(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    (tmp_path / "letter").write_text("mine", encoding="utf-8")
    error = fail(capfdbinary, "export", trained, "--to", "ctranslate2", "-o", tmp_path)
    assert "not an empty folder" in error
    assert (tmp_path / "letter").read_text(encoding="utf-8") == "mine"


def test_a_vocabulary_is_exported_to_sentencepiece_with_the_same_ids(
    tmp_path: Path, training: list[str], capfdbinary: Captured
) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    pieces = ["--tokenizer.kind", "bpe", "--tokenizer.vocab_size", "300", "--training.steps", "1"]
    run(capfdbinary, *training, *pieces, "--run", tmp_path / "run")
    _, output = run(capfdbinary, "export", tmp_path / "run", "--to", "sentencepiece", "-o", tmp_path / "spm")
    assert "spm.model" in output
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "spm" / "spm.model"))
    ours = load(tmp_path / "run", device="cpu").source_tokenizer
    for line in ("eins zwei drei", "fünf und ein Käse 🧀", "  "):
        assert theirs.encode(line) == ours.encode(line)


def test_only_bpe_vocabularies_are_exported(trained: Path, tmp_path: Path, capfdbinary: Captured) -> None:
    error = fail(capfdbinary, "export", trained, "--to", "sentencepiece", "-o", tmp_path / "spm")
    assert "BPE" in error
    assert not (tmp_path / "spm").exists()


def test_a_missing_or_unknown_target_is_a_user_error(trained: Path, capfdbinary: Captured) -> None:
    assert "--to TARGET" in fail(capfdbinary, "export", trained)
    error = fail(capfdbinary, "export", trained, "--to", "paper", "-o", "nowhere")
    assert "--to paper, but it must be one of ctranslate2, " in error
