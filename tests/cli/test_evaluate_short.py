"""Evaluation where references are too short for BLEU."""

from pathlib import Path

import pytest

from multihead.cli import main


@pytest.mark.parametrize(("reference", "told"), [("yes indeed so", True), ("yes it is indeed", False)])
def test_a_bleu_without_four_words_is_explained(
    trained: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], reference: str, told: bool
) -> None:
    (tmp_path / "t.src").write_text("eins zwei\ndrei\n", encoding="utf-8")
    (tmp_path / "t.tgt").write_text(f"no\n{reference}\n", encoding="utf-8")
    files = ["--src", str(tmp_path / "t.src"), "--tgt", str(tmp_path / "t.tgt")]
    assert main(["evaluate", str(trained), *files]) == 0
    out = capfd.readouterr().out
    assert "exact match" in out
    assert ("BLEU counts up to four words" in out) == told
