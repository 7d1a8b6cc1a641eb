"""Back-translated, copied and corrected pairs beside a corpus."""

import json
from pathlib import Path
from typing import Any

import pytest

from multihead.data.added import MANIFEST, added_kinds
from multihead.data.directions import MixedStream
from multihead.data.prepare import PreparedCorpus, prepare
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings, TokenizerSettings
from multihead.tasks.translation.data import mixed_counts
from multihead.text.marked import MarkedTokenizer

WORDS = TokenizerSettings(kind="words", vocab_size=97)
NUMBERS = {"eins": "one", "zwei": "two", "drei": "three", "vier": "four", "fünf": "five"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    triples = [(a, b, c) for a in NUMBERS for b in NUMBERS for c in NUMBERS]
    write(tmp_path / "train.de", [" ".join(each) for each in triples])
    write(tmp_path / "train.en", [" ".join(NUMBERS[word] for word in each) for each in triples])
    write(tmp_path / "valid.de", ["eins eins sieben"])
    write(tmp_path / "valid.en", ["one one seven"])
    (tmp_path / "bt").mkdir()
    mono = [f"{a} {b}" for a in NUMBERS.values() for b in NUMBERS.values()]
    write(tmp_path / "bt" / "synthetic.en", [*mono, "one one seven"])
    write(tmp_path / "bt" / "synthetic.de", ["eins zwei"] * 26)
    (tmp_path / "bt" / MANIFEST).write_text(json.dumps({"source": "synthetic.de", "target": "synthetic.en"}))
    write(tmp_path / "mono.en", ["four four four four", "five five", "one one seven", "five five"])
    fixes = [f"{a} {b} eins\t{NUMBERS[a].upper()} {NUMBERS[b]} one" for a in NUMBERS for b in NUMBERS]
    write(tmp_path / "fixes.tsv", fixes)
    return tmp_path


def write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def prepared(folder: Path, **given: object) -> PreparedCorpus:
    files = {"source": ("train.de",), "target": ("train.en",)}
    files |= {"valid_source": ("valid.de",), "valid_target": ("valid.en",)}
    settings = {"dir": str(folder), "cache": str(folder / "cache"), **files, **given}
    return prepare(DataSettings.model_validate(settings), WORDS)


def sources(found: PreparedCorpus, part: int) -> list[str]:
    tokenizer, train = MarkedTokenizer(found.source_tokenizer), found.added[part].train
    return [tokenizer.decode(train.source(number)) for number in range(len(train))]


def test_synthetic_and_copied_sources_begin_with_their_tags_and_hold_no_validation_sentence(
    folder: Path,
) -> None:
    found = prepared(folder, synthetic=("bt",), copied=("mono.en",))
    assert sources(found, 0) == ["<bt> eins zwei"] * 25
    assert sources(found, 1) == ["<copy> four four four four", "<copy> five five"]
    copied = found.added[1]
    assert copied.report.dropped == {"held out": 1, "duplicate": 1}
    assert len(found.train) == 125
    assert not any(id in found.source_tokenizer.symbols.values() for id in found.train.source(0))


def test_corrections_replace_pairs_of_the_corpus_and_a_tenth_is_held_out(folder: Path) -> None:
    found = prepared(folder, corrections=("fixes.tsv",))
    (fixes,) = found.added
    assert found.report.dropped == {"corrected": 25}
    assert len(found.train) == 100
    assert len(fixes.train) + len(fixes.held_out) == 25
    assert 0 < len(fixes.held_out) < 9
    assert not {source for source, _ in fixes.held_out} & set(sources(found, 0))
    assert prepared(folder, corrections=("fixes.tsv",)).added[0].held_out == fixes.held_out


@pytest.mark.parametrize(
    ("given", "weight"),
    [
        ({"synthetic": ("bt",)}, 1.0),
        ({"synthetic": ("bt",), "synthetic_weight": 0.25}, 0.25),
        ({"copied": ("mono.en",)}, 1.0),
        ({"corrections": ("fixes.tsv",)}, 1.0),
        ({"corrections": ("fixes.tsv",), "corrections_weight": 7.0}, 7.0),
    ],
)
def test_each_kind_has_a_weight(given: dict[str, object], weight: float, folder: Path) -> None:
    found = prepared(folder, **given)
    (one,) = found.added
    assert one.weight == weight
    sizes = len(found.train), len(one.train)
    counts = mixed_counts(found)
    assert sum(counts) == sum(sizes)
    assert counts[1] == pytest.approx(sum(sizes) * weight * sizes[1] / (sizes[0] + weight * sizes[1]), abs=1)


def test_weights_are_chosen_by_the_sizes() -> None:
    data = DataSettings.model_validate({"copied": ("a",), "corrections": ("b.tsv",)})
    copied, corrections = added_kinds(data)
    assert copied.chosen_weight(1000, 4000) == 0.25
    assert copied.chosen_weight(1000, 100) == 1.0
    assert corrections.chosen_weight(30_000, 1000) == 3.0
    assert corrections.chosen_weight(30_000, 30) == 16.0
    assert corrections.chosen_weight(30_000, 30_000) == 1.0


def test_a_mixed_stream_repeats_from_any_position(folder: Path) -> None:
    found = prepared(folder, synthetic=("bt",))
    parts = [found.train, found.added[0].train]
    ids: dict[str, Any] = {"pad_id": 0, "bos_id": 2, "eos_id": 3, "batch_tokens": 61, "seed": 3}
    batches = [batch for _, (batch, _) in zip(range(9), MixedStream(parts, [125, 25], **ids), strict=False)]
    again = [batch for _, (batch, _) in zip(range(9), MixedStream(parts, [125, 25], **ids), strict=False)]
    assert all((a.source.ids_BS == b.source.ids_BS).all() for a, b in zip(batches, again, strict=True))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"synthetic": ("train.de",)}, "no synthetic.json in it"),
        ({"synthetic": ("nowhere",)}, "no synthetic.json in it"),
        ({"copied": ("nowhere.en",)}, "no such file"),
        ({"corrections": ("nowhere.tsv",)}, "no such file"),
        ({"corrections": ("mono.en",)}, "one side only"),
        ({"copied": ("-",)}, "standard input"),
    ],
)
def test_bad_additions_are_refused_before_training(
    given: dict[str, object], message: str, folder: Path
) -> None:
    with pytest.raises(UserError, match=message):
        prepared(folder, **given)


@pytest.mark.parametrize(
    "text", ["", "[]", '{"source": 3, "target": "a"}', '{"source": "../a", "target": "b"}']
)
def test_a_damaged_manifest_is_refused(text: str, folder: Path) -> None:
    (folder / "bt" / MANIFEST).write_text(text)
    with pytest.raises(UserError, match="damaged"):
        prepared(folder, synthetic=("bt",))
