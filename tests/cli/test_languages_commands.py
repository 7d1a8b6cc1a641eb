"""Commands on a model of several directions: train, translate, evaluate, inspect, serve."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from command_line import fail, run

import multihead
from multihead.apps.serve.fair_queue import FairQueue
from multihead.cli.serve import Options, _directions
from multihead.run import Run

Captured = pytest.CaptureFixture[bytes]
WORDS = {
    "eins": ("one", "un"),
    "zwei": ("two", "deux"),
    "drei": ("three", "trois"),
    "vier": ("four", "quatre"),
}
TINY = {
    "--tokenizer.kind": "words",
    "--tokenizer.vocab_size": "90",
    "--tokenizer.dropout": "0",
    "--model.d_model": "16",
    "--model.d_ff": "24",
    "--model.num_layers": "1",
    "--model.num_heads": "2",
    "--training.steps": "4",
    "--training.batch_tokens": "211",
    "--training.threads": "1",
    "--validation.every": "2",
    "--validation.max_examples": "8",
    "--search.max_extra": "5",
}
SETTINGS = [word for pair in TINY.items() for word in pair]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numbers")
    triples = [[a, b, c] for a in WORDS for b in WORDS for c in (*WORDS, "null")]
    english = [[WORDS.get(word, ("nil", "nul"))[0] for word in words] for words in triples]
    french = [[WORDS.get(word, ("nil", "nul"))[1] for word in words] for words in triples]
    for code, texts in {"de": triples, "en": english, "fr": french}.items():
        lines = "".join(f"{' '.join(words)}\n" for words in texts)
        (folder / f"train.{code}").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def many(folder: Path) -> Path:
    """A run of de-en, en-de and de-fr, trained through Python for four updates."""
    text = (
        '[[corpus]]\nsource_language = "de"\ntarget_language = "en"\n'
        'source = "train.de"\ntarget = "train.en"\n'
        'both_directions = true\ntests.same = ["train.de", "train.en"]\n[[corpus]]\nsource_language = "de"\n'
        'target_language = "fr"\nsource = "train.de"\ntarget = "train.fr"\ntags = ["counting"]\n'
    )
    (folder / "corpora.toml").write_text(text, encoding="utf-8")
    settings = {
        key.removeprefix("--"): int(value) if value.isdecimal() else value for key, value in TINY.items()
    }
    return multihead.train(
        corpora=folder / "corpora.toml", run=folder / "many", settings=settings, quiet=True
    )


def test_corpora_are_named_on_the_command_line(folder: Path, capfdbinary: Captured) -> None:
    corpora = [f"{pair}={folder}/train.{pair[:2]},{folder}/train.{pair[3:]}" for pair in ("de-en", "fr-en")]
    out, _ = run(capfdbinary, "train", "--corpus", *corpora, "--run", folder / "listed", *SETTINGS)
    assert "direction de-en: " in out
    assert "corpus fr-en: 80 pairs read, 80 kept; validation: " in out
    assert Run.open(folder / "listed").directions == [("de", "en"), ("fr", "en")]
    # The same command goes on; and so does the run by its name.
    out, _ = run(capfdbinary, "train", "--corpus", *corpora, "--run", folder / "listed", *SETTINGS)
    assert "nothing left to do" in out
    out, _ = run(capfdbinary, "train", "--run", folder / "listed")
    assert "nothing left to do" in out
    # One target language needs no --to.
    (folder / "text").write_text("eins zwei\n", encoding="utf-8")
    out, err = run(capfdbinary, "translate", folder / "listed", "-i", folder / "text")
    assert out.count("\n") == 1
    assert "multihead:" not in err


def test_lines_are_translated_to_the_language_that_is_named(
    folder: Path, many: Path, capfdbinary: Captured
) -> None:
    (folder / "text").write_text("eins zwei\n\n", encoding="utf-8")
    words = ["translate", many, "-i", folder / "text"]
    for chosen in (["--to", "en"], ["--to", "EN-US", "--from", "deu"], ["--to", "fr", "--tag", "counting"]):
        out, err = run(capfdbinary, *words, *chosen)
        assert out.count("\n") == 2
        assert "zero-shot" not in err
    assert "Name one with --to: en, de, fr" in fail(capfdbinary, *words)
    assert 'does not translate to "ko"' in fail(capfdbinary, *words, "--to", "ko")
    assert "--zero-shot" in fail(capfdbinary, *words, "--to", "fr", "--from", "en")
    assert "not trained with the tag <domain-law>" in fail(capfdbinary, *words, "--to", "fr", "--tag", "law")
    assert "is not a language code" in fail(capfdbinary, *words, "--to", "French")
    _, err = run(capfdbinary, *words, "--to", "fr", "--from", "en", "--zero-shot")
    assert "caution: zero-shot: the model was never trained to translate from en to fr" in err


def test_all_directions_are_evaluated_in_one_table(folder: Path, many: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "evaluate", many)
    rows = re.findall(r"^ *(de-en same|en-de same|mean) +([\d,]+) ", out, re.MULTILINE)
    assert rows == [("de-en same", "80"), ("en-de same", "80"), ("mean", "160")]
    found = json.loads(run(capfdbinary, "evaluate", many, "--to", "de", "--json")[0])
    assert list(found) == ["en-de same"]
    files = ["--src", folder / "train.de", "--tgt", folder / "train.fr"]
    out, _ = run(capfdbinary, "evaluate", many, *files, "--to", "fr")
    assert "train.de: 80 pairs" in out
    assert "Name one with --to" in fail(capfdbinary, "evaluate", many, *files)
    assert "no test set in this direction" in fail(capfdbinary, "evaluate", many, "--to", "fr")
    assert list(multihead.evaluate(many, to="en")) == ["de-en same"]


def test_a_direction_is_inspected(many: Path, capfdbinary: Captured) -> None:
    out, _ = run(capfdbinary, "inspect", many, "eins zwei", "--to", "fr", "--specials")
    assert "<2fr>" in out
    assert "several languages" in fail(capfdbinary, "inspect", many, "eins zwei")
    assert r"\u003c2en>" in multihead.load(many).inspect("eins zwei", to="en").html


def test_pairs_are_scored_in_a_direction(folder: Path, many: Path, capfdbinary: Captured) -> None:
    files = ["score", many, "--src", folder / "train.de", "--tgt", folder / "train.fr"]
    french, _ = run(capfdbinary, *files, "--to", "fr")
    english, _ = run(capfdbinary, *files, "--to", "en")
    assert french.count("\n") == english.count("\n") == 80
    assert french != english
    assert "Name one with --to" in fail(capfdbinary, *files)


def test_every_direction_is_served(many: Path) -> None:
    with FairQueue() as queue:
        directions = _directions(str(many), Options(runs=(str(many),)), {}, queue)
        assert [(one.source, one.target) for one in directions] == [("de", "en"), ("en", "de"), ("de", "fr")]
        queued = [one.texts.translator for one in directions]
        found = [one.translate(["eins zwei"])[0].text for one in queued]
    to = [("de", "en"), ("en", "de"), ("de", "fr")]
    translator = multihead.load(many)
    lines = [translator.translate(["eins zwei"], source=a, to=b)[0].text for a, b in to]
    assert found == lines


def test_a_model_of_one_direction_takes_no_language(
    folder: Path, capfdbinary: Captured, tmp_path: Path
) -> None:
    files = ["--src", folder / "train.de", "--tgt", folder / "train.en"]
    run(capfdbinary, "train", *files, "--run", tmp_path / "one", *SETTINGS)
    error = fail(capfdbinary, "translate", tmp_path / "one", "-i", folder / "train.de", "--to", "en")
    assert "one direction" in error


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        (["--corpus", "de-en"], '"de-en" names no languages and files'),
        (["--corpus", "de-en=a,b", "de-en=c,d"], "de-en is named twice"),
        (["--corpus", "de-en=none.de,none.en"], "none.de: no such file"),
        (["--corpus", "de-dx=none.de,none.en"], '"dx" is a language code that no standard lists'),
        (["--corpus", "de-de=none.de,none.en"], "the same language"),
        (["--corpora", "none.toml"], "none.toml: cannot be read"),
        (["--corpora", "none.toml", "--src", "a"], "files in addition to --corpora"),
        (
            ["--corpus", "de-en=a,b", "--data.target_language", "en"],
            "has no effect together with several corpora, which",
        ),
    ],
)
def test_bad_corpora_are_named(words: list[str], fact: str, capfdbinary: Captured) -> None:
    assert fact in fail(capfdbinary, "train", *words)


def test_a_temperature_without_corpora_is_refused(folder: Path, capfdbinary: Captured) -> None:
    files = ["--src", folder / "train.de", "--tgt", folder / "train.en"]
    assert "several corpora" in fail(capfdbinary, "train", *files, "--data.temperature", "3")


@pytest.mark.parametrize(
    ("words", "languages"), [(["--to", "fra"], ["fr", "de"]), (["--to", "en", "--from", "de"], ["en", "de"])]
)
def test_translated_text_becomes_a_corpus_with_its_languages(
    words: list[str], languages: list[str], folder: Path, many: Path, tmp_path: Path, capfdbinary: Captured
) -> None:
    out = tmp_path / "synthetic"
    run(capfdbinary, "synthesise", many, folder / "train.de", "-o", out, "--method", "sample", *words)
    (table,) = tomllib.loads((out / "corpora.toml").read_text(encoding="utf-8"))["corpus"]
    assert [table["source_language"], table["target_language"]] == languages
    assert (out / table["source"]).exists()
    assert (out / table["target"]).exists()
