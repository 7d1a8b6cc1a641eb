"""Translations in blocks: lines of text files, whatever a model writes."""

from pathlib import Path

from multihead.apps.corpus.resumable_translation import TranslatedBlocks
from multihead.text.corpus import read_lines


def test_outputs_are_lines_of_a_text_file_that_can_be_read(tmp_path: Path) -> None:
    outputs = ["a\nb", "\0c", "d"]
    blocks = TranslatedBlocks(tmp_path / "blocks", {})
    pairs = blocks.translated(
        ["x", "y", "z"], lambda *given: outputs, stage="", total=3, progress=lambda *given: None
    )
    path = tmp_path / "target"
    path.write_text("".join(f"{output}\n" for _, output in pairs), encoding="utf-8")
    assert list(read_lines(str(path))) == ["a b", " c", "d"]
