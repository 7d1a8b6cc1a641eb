"""From files to the store: what is kept, what is held out, what is found again."""

import errno
import io
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from multihead.data import prepare as preparing
from multihead.data.folders import cache_root
from multihead.data.hashes import contamination
from multihead.data.prepare import Prepared, prepare
from multihead.data.store import StoreWriter
from multihead.errors import UserError
from multihead.settings import DataSettings, TokenizerSettings
from multihead.text.training import train

WORDS = TokenizerSettings(kind="words", joint=False)
Pair = tuple[str, str]


def some_pairs(count: int, seed: int = 1) -> list[Pair]:
    """Pairs without a common sentence, of 3 to 9 words."""
    rng = random.Random(seed)
    words = ["Haus", "Baum", "Kind", "rot", "grün", "läuft", "steht", "und", "ein", "das", "viele"]
    said = [[f"w{i}", *rng.choices(words, k=rng.randint(2, 8))] for i in range(count)]
    return [(" ".join(words), " ".join(f"{word}en" for word in reversed(words))) for words in said]


@dataclass
class Corpus:
    """Files train.src and train.tgt in a folder, and a cache beside them."""

    folder: Path

    def write(self, pairs: list[Pair], name: str = "train") -> None:
        for side, suffix in enumerate((".src", ".tgt")):
            text = "".join(pair[side] + "\n" for pair in pairs)
            (self.folder / f"{name}{suffix}").write_text(text, encoding="utf-8")

    def settings(self, **changes: Any) -> DataSettings:
        defaults: dict[str, Any] = {
            "dir": str(self.folder),
            "source": ("train.src",),
            "target": ("train.tgt",),
            "cache": str(self.folder / "cache"),
        }
        return DataSettings(**defaults | changes)

    def prepare(self, tokenizer: TokenizerSettings = WORDS, *, seed: int = 1, **changes: Any) -> Prepared:
        return prepare(self.settings(**changes), tokenizer, seed=seed)


VALID: dict[str, Any] = {"valid_source": ("valid.src",), "valid_target": ("valid.tgt",)}


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    corpus = Corpus(tmp_path)
    corpus.write(some_pairs(211))
    corpus.write(some_pairs(23, seed=2), "valid")
    return corpus


@pytest.fixture
def never_again(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Call it to make every further preparation from scratch fail."""

    def fail(*arguments: object) -> None:
        raise AssertionError("prepared anew")

    return lambda: monkeypatch.setattr(preparing, "build", fail)


def trained_on(prepared: Prepared) -> list[Pair]:
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    store = prepared.train
    return [(source.decode(store.source(i)), target.decode(store.target(i))) for i in range(len(store))]


def test_the_store_holds_the_text_in_the_order_of_the_files(corpus: Corpus) -> None:
    prepared = corpus.prepare(**VALID)
    assert trained_on(prepared) == some_pairs(211)
    assert prepared.valid_pairs == some_pairs(23, seed=2)
    assert not prepared.held_out
    assert prepared.report.to_dict() == {"read": 211, "kept": 211, "dropped": {}, "first": {}}


def test_what_is_unfit_is_dropped_and_counted_and_never_cut(corpus: Corpus) -> None:
    good = some_pairs(5)
    unfit = [("", "x"), ("a " * 40, "b"), ("x", "y" * 500), ("lang " * 20, "long " * 20), good[3]]
    corpus.write([*good[:4], *unfit, good[4]])
    prepared = corpus.prepare(**VALID, max_chars=300, max_length=15, max_length_ratio=4)
    assert trained_on(prepared) == good
    assert prepared.report.to_dict() == {
        "read": 10,
        "kept": 5,
        "dropped": {"empty": 1, "too long": 1, "length ratio": 1, "too many pieces": 1, "duplicate": 1},
        "first": {"empty": 5, "too long": 7, "length ratio": 6, "too many pieces": 8, "duplicate": 9},
    }


def test_duplicates_stay_where_they_are_wanted(corpus: Corpus) -> None:
    pair = some_pairs(1)[0]
    corpus.write([pair, pair])
    assert len(corpus.prepare(**VALID, drop_duplicates=False).train) == 2
    assert len(corpus.prepare(**VALID).train) == 1


def test_validation_pairs_are_cleaned_only_of_what_the_model_cannot_take(corpus: Corpus) -> None:
    corpus.write([("kurz", "long " * 14), ("", "x"), ("a b", "c"), ("a b", "c"), ("w " * 20, "y")], "valid")
    prepared = corpus.prepare(**VALID, max_length=15, max_length_ratio=1.5)
    assert prepared.valid_pairs == [("kurz", "long " * 14), ("a b", "c"), ("a b", "c")]
    assert prepared.valid_report is not None
    assert prepared.valid_report.to_dict()["dropped"] == {"empty": 1, "too many pieces": 1}


def test_without_validation_files_pairs_are_held_out(corpus: Corpus) -> None:
    prepared = corpus.prepare()
    assert prepared.held_out
    assert len(prepared.valid_pairs) == len(prepared.valid) == 50
    assert sorted([*trained_on(prepared), *prepared.valid_pairs]) == sorted(some_pairs(211))
    assert corpus.prepare(seed=2).valid_pairs != prepared.valid_pairs


def test_the_same_corpus_is_found_again(corpus: Corpus, never_again: Callable[[], None]) -> None:
    first = corpus.prepare()
    never_again()
    second = corpus.prepare()
    assert second.fingerprint == first.fingerprint
    assert second.folder == first.folder
    assert trained_on(second) == trained_on(first)
    assert second.valid_pairs == first.valid_pairs
    assert second.report == first.report
    assert second.source_tokenizer.fingerprint == first.source_tokenizer.fingerprint


def test_it_is_found_under_another_name_and_with_settings_that_do_not_matter(
    corpus: Corpus, never_again: Callable[[], None]
) -> None:
    first = corpus.prepare(**VALID)
    (corpus.folder / "elsewhere").mkdir()
    for name in ("train.src", "train.tgt", "valid.src", "valid.tgt"):
        (corpus.folder / name).rename(corpus.folder / "elsewhere" / name)
    never_again()
    moved = corpus.settings(
        dir=str(corpus.folder / "elsewhere"), **VALID, source_language="de", valid_fraction=0.5
    )
    again = prepare(moved, WORDS.model_copy(update={"dropout": 0.1}), seed=7)
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
def test_settings_that_matter_change_the_fingerprint(corpus: Corpus, change: dict[str, Any]) -> None:
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
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_store_is_built_again(corpus: Corpus, name: str, damage: str) -> None:
    first = corpus.prepare(**VALID)
    path = first.folder / name
    if damage == "cut":
        os.truncate(path, path.stat().st_size // 2)
    else:
        path.unlink()
    second = corpus.prepare(**VALID)
    assert trained_on(second) == some_pairs(211)
    assert second.valid_pairs == first.valid_pairs
    assert [path.name for path in second.folder.parent.iterdir()] == [second.folder.name]


def test_a_store_of_something_else_is_built_again(corpus: Corpus) -> None:
    first = corpus.prepare(**VALID)
    report = json.loads((first.folder / "report.json").read_text())
    (first.folder / "report.json").write_text(json.dumps(report | {"key": "0" * 64}))
    assert corpus.prepare(**VALID).fingerprint == first.fingerprint


CHILD = """
import os, sys
from multihead.data.prepare import prepare
from multihead.settings import DataSettings, TokenizerSettings

def progress(stage, done, total):
    if stage == sys.argv[2]:
        os.kill(os.getpid(), 9)

data = DataSettings.model_validate_json(sys.argv[1])
print(prepare(data, TokenizerSettings(kind="words", joint=False), seed=1, progress=progress).fingerprint)
"""


def test_two_processes_at_once_both_end_well(corpus: Corpus) -> None:
    command = [sys.executable, "-c", CHILD, corpus.settings().model_dump_json(), ""]
    children = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [child.communicate()[0].strip() for child in children]
    assert told == [corpus.prepare().fingerprint] * 2
    assert len(list((corpus.folder / "cache").iterdir())) == 1


def test_after_a_kill_the_next_call_begins_again(corpus: Corpus) -> None:
    command = [sys.executable, "-c", CHILD, corpus.settings(**VALID).model_dump_json(), "encoding"]
    assert subprocess.run(command, check=False).returncode == -9
    assert trained_on(corpus.prepare(**VALID)) == some_pairs(211)


def test_a_full_disk_is_told_and_leaves_nothing(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(StoreWriter, "add", full)
    with pytest.raises(UserError, match=r"cache: cannot be written \(No space left on device\).*data.cache"):
        corpus.prepare()
    assert not list((corpus.folder / "cache").iterdir())


def test_a_cache_that_cannot_be_made_is_told(corpus: Corpus) -> None:
    (corpus.folder / "cache").write_text("in the way")
    with pytest.raises(UserError, match=r"cannot be written.*data.cache"):
        corpus.prepare()


def test_the_cache_is_the_users_own_by_default(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
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
    with pytest.raises(UserError, match=r"^standard input:2: column 2 wanted"):
        corpus.prepare(**options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"source": ("train.de.gz",)},
            r"train.de.gz: no such file.*--data.dir DIR.*multihead data get multi30k",
        ),
        ({"source": ("mine.txt",)}, r"mine.txt: no such file.*--data.dir"),
        ({"source": (".",)}, "is a directory"),
        ({"source": ()}, "no training files are named.*--src"),
        ({"source": ("-",), "target": ("-",)}, "standard input is named twice"),
        ({"valid_target": ("valid.tgt",)}, "data.valid_target: .* data.valid_source"),
        ({"target": ("valid.tgt",)}, "211 lines, but .* has 23"),
        ({"max_chars": 5}, r"no pair is left of the 211 read \(dropped: 211 too long\)"),
        ({"max_length": 1}, r"no training pair is left .* too many pieces\).*data.max_length"),
    ],
)
def test_bad_input_is_told(corpus: Corpus, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        corpus.prepare(**changes)
    assert not (corpus.folder / "cache").exists() or not list((corpus.folder / "cache").iterdir())


def test_too_few_or_too_similar_pairs_to_hold_some_out(corpus: Corpus) -> None:
    corpus.write(some_pairs(1))
    with pytest.raises(UserError, match=r"too few.*data.valid_source"):
        corpus.prepare()
    corpus.write([(source, "ja") for source, _ in some_pairs(99)])
    with pytest.raises(UserError, match="too alike"):
        corpus.prepare()


def test_validation_pairs_that_are_all_unfit_are_told(corpus: Corpus) -> None:
    corpus.write([("", "x")], "valid")
    with pytest.raises(UserError, match=r"no validation pair is left of the 1 read \(dropped: 1 empty\)"):
        corpus.prepare(**VALID)


def test_test_sentences_that_were_trained_on_are_counted(corpus: Corpus) -> None:
    prepared = corpus.prepare()
    trained = [source for source, _ in trained_on(prepared)]
    held = [source for source, _ in prepared.valid_pairs]
    assert contamination(prepared.folder, [*trained[:7], *held, "something else", ""]) == 7
    assert contamination(prepared.folder, []) == 0


def test_lower_casing_is_the_tokenizers(corpus: Corpus) -> None:
    prepared = corpus.prepare(**VALID, lowercase=True)
    assert trained_on(prepared) == [(source.lower(), target.lower()) for source, target in some_pairs(211)]
    assert prepared.valid_pairs == some_pairs(23, seed=2)


def test_a_joint_vocabulary_is_one_tokenizer_now_and_when_found_again(corpus: Corpus) -> None:
    joint = TokenizerSettings(kind="words")
    for _ in range(2):
        prepared = corpus.prepare(joint, **VALID)
        assert prepared.source_tokenizer is prepared.target_tokenizer
    apart = corpus.prepare(WORDS, **VALID)
    assert apart.source_tokenizer.encode("Hausen") == [apart.source_tokenizer.unk_id]
    assert prepared.source_tokenizer.encode("Hausen") != [prepared.source_tokenizer.unk_id]


def test_given_tokenizers_are_used_and_none_is_trained(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides = list(zip(*some_pairs(3), strict=True))
    given = train(sides[0], WORDS), train(sides[1], WORDS)
    monkeypatch.delattr("multihead.data.vocabularies.train")
    prepared = prepare(corpus.settings(**VALID), WORDS, seed=1, init_tokenizers=given)
    assert prepared.train.source(0).tolist() == given[0].encode(some_pairs(1)[0][0])
    assert prepared.target_tokenizer.fingerprint == given[1].fingerprint

    given[0].save(corpus.folder / "a.json")
    given[1].save(corpus.folder / "b.json")
    files = {"file": str(corpus.folder / "a.json"), "target_file": str(corpus.folder / "b.json")}
    named = corpus.prepare(WORDS.model_copy(update=files), **VALID)
    assert named.fingerprint == prepared.fingerprint


def test_a_second_file_for_a_joint_vocabulary_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UserError, match=r"tokenizer.target_file.*tokenizer.joint"):
        corpus.prepare(TokenizerSettings(target_file="x.json"))


def test_a_vocabulary_larger_than_the_corpus_supports_is_refused(corpus: Corpus) -> None:
    with pytest.raises(UserError, match=r"tokenizer.vocab_size: 8,000 pieces .* at most \d+") as told:
        corpus.prepare(TokenizerSettings(vocab_size=8000), **VALID)
    assert told.value.remedy is not None
    possible = int(told.value.remedy.rstrip(".").split()[-1])
    prepared = corpus.prepare(TokenizerSettings(vocab_size=possible), **VALID)
    assert prepared.source_tokenizer.vocab_size == possible


def test_progress_is_told_for_every_stage(corpus: Corpus) -> None:
    told: list[tuple[str, int, int | None]] = []
    prepare(corpus.settings(), WORDS, seed=1, progress=lambda *news: told.append(news))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert stages == ["reading", "learning the vocabulary", "encoding"]
    assert ("reading", 211, 211) in told
    assert told[-1] == ("encoding", 161, 161)
