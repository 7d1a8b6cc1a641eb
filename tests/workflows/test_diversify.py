"""Data diversification, killed between any two of its stages, and translation in blocks."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from rich.console import Console

from multihead.apps.corpus import resumable_translation
from multihead.apps.corpus.diversify import ENSEMBLE, DiversificationRequest, diversify, stages
from multihead.apps.corpus.resumable_translation import TranslatedBlocks
from multihead.errors import UserError
from multihead.run import Run
from multihead.workflows import train as training
from multihead.workflows.progress_display import ProgressDisplay

NUMBERS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five"}
TINY = {
    "tokenizer.kind": "words",
    "tokenizer.vocab_size": 31,
    "tokenizer.dropout": 0,
    "model.d_model": 16,
    "model.d_ff": 24,
    "model.num_layers": 1,
    "model.num_heads": 2,
    "training.steps": 4,
    "training.batch_tokens": 211,
    "training.threads": 1,
    "validation.every": 2,
    "validation.samples": 0,
    "validation.max_examples": 7,
    "validation.patience": 0,
    "search.max_extra": 3,
}
SHOWN = ProgressDisplay(Console(quiet=True))


class Killed(BaseException):
    """Stands for the end of the process."""


def request(folder: Path, cache: Path, **changed: object) -> DiversificationRequest:
    """Return a request for a corpus of number words in reverse order, written into the folder."""
    triples = [(a, b, c) for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    folder.mkdir(exist_ok=True)
    german = "".join(f"{' '.join(each)}\n" for each in triples)
    english = "".join(f"{' '.join(NUMBERS[word] for word in each[::-1])}\n" for each in triples)
    (folder / "train.de").write_text(german, encoding="utf-8")
    (folder / "train.en").write_text(english, encoding="utf-8")
    files = {"source": (f"{folder}/train.de",), "target": (f"{folder}/train.en",)}
    given = {**TINY, "data.cache": str(cache), **changed}
    return DiversificationRequest(None, None, files, given, folder / "run")


def test_killed_before_any_stage_it_ends_with_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(training, "write_reports", lambda *given: None)  # they take most of the time
    whole = request(tmp_path / "whole", tmp_path / "cache")
    compared = diversify(whole, SHOWN)
    assert [name for name, _ in compared] == ["forward-1", "forward-2", ENSEMBLE, "student"]
    killed = request(tmp_path / "killed", tmp_path / "cache")
    for stage in stages(killed):

        def kill(name: str, stage: str = stage) -> None:
            if name == stage:
                raise Killed(name)

        with pytest.raises(Killed):
            diversify(killed, SHOWN, begin=kill)
    again = diversify(killed, SHOWN)
    assert [one.outputs for _, one in again] == [one.outputs for _, one in compared]
    first, second = (Run.open(one.folder / "student").load_model().state_dict() for one in (whole, killed))
    assert all(torch.equal(first[name], second[name]) for name in first)
    for name in ("ensemble.target", "forward-2.target", "back.source", "corpus/train.source"):
        assert (killed.folder / name).read_bytes() == (whole.folder / name).read_bytes(), name
    other = request(tmp_path / "killed", tmp_path / "cache", **{"training.steps": 6})
    with pytest.raises(UserError, match="begun with another corpus, recipe or other settings"):
        diversify(other, SHOWN)


def test_a_translation_killed_in_any_block_repeats_no_finished_block(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resumable_translation, "BLOCK", 7)
    lines = [f"line {number}" for number in range(31)]
    calls: list[int] = []

    def run(limit: int) -> list[tuple[str, str]]:
        def translate(block: Sequence[str], first: int) -> list[str]:
            if len(calls) == limit:
                raise Killed
            calls.append(first)
            return [text.upper() for text in block]

        blocks = TranslatedBlocks(tmp_path / "blocks", {"of": "this"})
        done = blocks.translated(lines, translate, stage="", total=31, progress=lambda *news: None)
        return list(done)

    for limit in range(5):
        with pytest.raises(Killed):
            run(limit)
    assert run(5) == [(text, text.upper()) for text in lines]
    assert calls == [0, 7, 14, 21, 28]
    (tmp_path / "blocks" / "000002.json").write_text('{"lines": ')
    assert run(6) == [(text, text.upper()) for text in lines]
    assert calls[5:] == [14]
    with pytest.raises(UserError, match="begun from other text"):
        TranslatedBlocks(tmp_path / "blocks", {"of": "that"})
