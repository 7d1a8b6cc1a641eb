"""A prepared corpus is loaded from the cache if it is the same and complete."""

import errno
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from corpora import VALID, WORDS, Corpus, some_pairs, trained_on

from multihead.data.prepare import HELD_OUT, build, prepare
from multihead.data.store import StoreWriter
from multihead.errors import UserError
from multihead.system.disk import cache_root


def test_the_same_corpus_is_loaded_from_the_cache(corpus: Corpus, never_again: Callable[[], None]) -> None:
    first = corpus.prepare()
    never_again()
    second = corpus.prepare()
    assert second.fingerprint == first.fingerprint
    assert second.folder == first.folder
    assert trained_on(second) == trained_on(first)
    assert second.valid_pairs == first.valid_pairs
    assert second.report == first.report
    assert second.source_tokenizer.fingerprint == first.source_tokenizer.fingerprint


def test_a_cache_with_pairs_held_out_by_other_rules_is_built_anew(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    built = []

    def counted(*given: Any) -> dict[str, Any]:
        built.append(given)
        return build(*given)

    monkeypatch.setattr("multihead.data.prepare.build", counted)
    first = corpus.prepare()
    corpus.prepare()
    assert len(built) == 1
    monkeypatch.setattr("multihead.data.prepare.HELD_OUT", HELD_OUT + 1)
    assert corpus.prepare().fingerprint == first.fingerprint
    assert len(built) == 2


def test_file_names_and_settings_without_effect_do_not_change_the_cache_key(
    corpus: Corpus, never_again: Callable[[], None]
) -> None:
    first = corpus.prepare(**VALID)
    (corpus.folder / "elsewhere").mkdir()
    for name in ("train.src", "train.tgt", "valid.src", "valid.tgt"):
        (corpus.folder / name).rename(corpus.folder / "elsewhere" / name)
    never_again()
    moved = corpus.settings(
        dir=str(corpus.folder / "elsewhere"), **VALID, source_language="de", valid_fraction=0.5, seed=7
    )
    again = prepare(moved, WORDS.model_copy(update={"dropout": 0.1}))
    assert again.fingerprint == first.fingerprint


@pytest.mark.parametrize(
    "change",
    [
        {"max_length": 9},
        {"max_chars": 99},
        {"drop_identical": True},
        {"lowercase": True},
        {"encoding": "latin-1"},
    ],
)
def test_settings_with_effect_change_the_fingerprint(corpus: Corpus, change: dict[str, Any]) -> None:
    assert corpus.prepare(**VALID, **change).fingerprint != corpus.prepare(**VALID).fingerprint


def test_contents_and_vocabulary_change_the_fingerprint(corpus: Corpus) -> None:
    first = corpus.prepare(**VALID)
    assert (
        corpus.prepare(WORDS.model_copy(update={"vocab_size": 9}), **VALID).fingerprint != first.fingerprint
    )
    assert corpus.prepare().fingerprint != first.fingerprint
    corpus.write(some_pairs(22, seed=2), "valid")
    assert corpus.prepare(**VALID).fingerprint != first.fingerprint


@pytest.mark.parametrize(
    "name",
    ["train/source.ids.bin", "valid/header.json", "valid.jsonl", "source.tokenizer.json", "report.json"],
)
@pytest.mark.parametrize("damage", ["truncated", "missing"])
def test_a_damaged_store_is_built_again(corpus: Corpus, name: str, damage: str) -> None:
    first = corpus.prepare(**VALID)
    path = first.folder / name
    if damage == "truncated":
        os.truncate(path, path.stat().st_size // 2)
    else:
        path.unlink()
    second = corpus.prepare(**VALID)
    assert trained_on(second) == some_pairs(211)
    assert second.valid_pairs == first.valid_pairs
    assert [path.name for path in second.folder.parent.iterdir()] == [second.folder.name]


def test_a_store_with_another_key_is_built_again(corpus: Corpus) -> None:
    first = corpus.prepare(**VALID)
    report = json.loads((first.folder / "report.json").read_text())
    (first.folder / "report.json").write_text(json.dumps(report | {"key": "0" * 64}))
    assert corpus.prepare(**VALID).fingerprint == first.fingerprint


CHILD = """
import os, sys
from multihead.data.prepare import HELD_OUT, prepare
from multihead.recipe.settings import DataSettings, TokenizerSettings

def progress(stage, done, total):
    if stage == sys.argv[2]:
        os.kill(os.getpid(), 9)

data = DataSettings.model_validate_json(sys.argv[1])
print(prepare(data, TokenizerSettings(kind="words", joint=False), progress=progress).fingerprint)
"""


def test_two_processes_at_once_both_succeed(corpus: Corpus) -> None:
    command = [sys.executable, "-c", CHILD, corpus.settings().model_dump_json(), ""]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    printed = [child.communicate()[0].strip() for child in children]
    assert printed == [corpus.prepare().fingerprint] * 2
    assert len(list((corpus.folder / "cache").iterdir())) == 1


def test_after_a_kill_the_next_call_starts_over(corpus: Corpus) -> None:
    command = [sys.executable, "-c", CHILD, corpus.settings(**VALID).model_dump_json(), "encoding"]
    assert subprocess.run(command, check=False).returncode == -9
    assert trained_on(corpus.prepare(**VALID)) == some_pairs(211)


def test_a_full_disk_is_an_error_and_leaves_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(StoreWriter, "add", full)
    with pytest.raises(UserError, match=r"cache: cannot be written \(No space left on device\).*data.cache"):
        corpus.prepare()
    assert not list((corpus.folder / "cache").iterdir())


def test_a_cache_that_cannot_be_created_is_an_error(corpus: Corpus) -> None:
    (corpus.folder / "cache").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot be written.*data.cache"):
        corpus.prepare()


def test_the_default_cache_is_in_the_users_cache_folder(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(corpus.folder / "xdg"))
    assert corpus.prepare(cache="").folder.parent == corpus.folder / "xdg" / "multihead"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(corpus.folder / "home"))
    assert cache_root("") == corpus.folder / "home" / ".cache" / "multihead"


def test_standard_input_is_read_once(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "".join(f"{source}\t{target}\n" for source, target in some_pairs(211))
    options: dict[str, Any] = {"source": ("-",), "target": (), "format": "tsv"}
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    assert sorted(trained_on(corpus.prepare(**options))) == sorted(trained_on(corpus.prepare()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\tb\nc\n")))
    with pytest.raises(UserError, match=r"^standard input:2: no column 2"):
        corpus.prepare(**options)
