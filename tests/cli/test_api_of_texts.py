"""``multihead.load(run)`` translates one text, and says what it is."""

from pathlib import Path

import pytest

import multihead
from multihead.errors import UserError
from multihead.text.lexicon import Lexicon


def test_one_text_gives_one_text(trained: Path) -> None:
    loaded = multihead.load(trained, task="translation")
    assert isinstance(loaded.translate("eins zwei\ndrei"), str)
    assert loaded.translate("") == ""
    assert loaded.translate("eins zwei drei") == loaded.translate(["eins zwei drei"])[0].text
    assert (
        loaded.translate("eins zwei drei", beam_size=1)
        == loaded.translate(["eins zwei drei"], beam_size=1)[0].text
    )


def test_texts_are_translated_with_a_glossary(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "terms.tsv").write_text("zwei\ttwo\n")
    loaded = multihead.load(trained, task="translation")
    (found,) = loaded.translate_texts(["eins zwei drei"], glossary=tmp_path / "terms.tsv")
    assert "two" in found.text.split()
    assert not found.missing
    assert 0 <= found.confidence <= 1


def test_the_files_of_a_run_are_read_once(trained: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[object] = []

    def noted(folder: object) -> Lexicon:
        read.append(folder)
        return Lexicon()

    monkeypatch.setattr(Lexicon, "load", noted)
    loaded = multihead.load(trained, task="translation")
    assert loaded.translate("eins zwei") == loaded.translate("eins zwei")
    assert len(read) == 1


def test_unknown_settings_are_refused(trained: Path) -> None:
    with pytest.raises(UserError, match="no setting"):
        multihead.load(trained, task="translation").translate("eins", beams=3)  # type: ignore[call-overload]


def test_a_translator_says_what_it_is(trained: Path) -> None:
    loaded = multihead.load(trained, task="translation")
    assert repr(loaded).startswith(f"<Translator {trained}, de-en: ")
    assert repr(loaded).endswith(" parameters on cpu>")
    both = multihead.load(trained, trained, task="translation")
    assert "2 models" in repr(both)
