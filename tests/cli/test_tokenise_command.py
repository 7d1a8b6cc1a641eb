"""The command ``multihead tokenise``."""

import gzip
from pathlib import Path

import pytest
from command_line import Captured, fail, run


def test_each_line_is_tokenised(tmp_path: Path, capfdbinary: Captured) -> None:
    pytest.importorskip("sacremoses", reason="the extra [published] is not installed")
    corpus, written = tmp_path / "c.de.gz", tmp_path / "cut.de"
    corpus.write_bytes(gzip.compress(b"Ein Hund, z.B.\n\n(Katze)\n"))
    rules = ("--rules", "moses", "--language", "de")
    out, _ = run(capfdbinary, "tokenise", corpus, *rules)
    assert out == "Ein Hund , z.B.\n\n( Katze )\n"
    run(capfdbinary, "tokenise", corpus, *rules, "-o", written)
    assert written.read_text(encoding="utf-8") == out


def test_a_missing_language_or_file_is_a_user_error(tmp_path: Path, capfdbinary: Captured) -> None:
    pytest.importorskip("sacremoses", reason="the extra [published] is not installed")
    assert "--language" in fail(capfdbinary, "tokenise", tmp_path / "c.de")
    rules = ("--rules", "moses", "--language", "de")
    assert "c.de" in fail(capfdbinary, "tokenise", tmp_path / "c.de", *rules)
