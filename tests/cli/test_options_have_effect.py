"""An option without effect is refused by name; none is silently ignored."""

import re
from pathlib import Path

import pytest
from command_line import Captured, fail, run

from multihead.cli import compare, evaluate, main, score, serve
from multihead.recipe.settings import DataSettings, SearchSettings


def filled(arguments: list[str], trained: Path, corpus: tuple[Path, Path]) -> list[str]:
    """Put a run and a corpus in the places of their names."""
    places = {"RUN": str(trained), "SRC": str(corpus[0]), "TGT": str(corpus[1]), "OTHER": str(trained / "x")}
    return [places.get(word, word) for word in arguments]


FILES = ["--src", "SRC", "--tgt", "TGT"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["evaluate", "RUN", "--data.max_pairs", "3"],
            "--data.max_pairs: `multihead evaluate` does not use it",
        ),
        (["evaluate", "RUN", "--data.lowercase"], "--data.lowercase: `multihead evaluate` does not"),
        (["evaluate", "RUN", "--n-best", "3"], "--search.n_best: `multihead evaluate` does not use it"),
        (["evaluate", "RUN", *FILES, "--data.dir", "x"], "--data.dir: it has no effect on files that --src"),
        (["evaluate", "RUN", *FILES, "--data.tests.a", "x"], "--data.tests.a: it has no effect on files"),
        (["evaluate", "RUN", "--data.target_language", "en"], "it has no effect without --tokenise"),
        (["evaluate", "RUN", "--rate", "0.5"], "--rate: it has no effect without --perturb"),
        (["evaluate", "RUN", *FILES, "--data.source_field", "2"], "it has no effect on plain lines"),
        (["evaluate", "RUN", "--data.target_field", "2"], "it has no effect on plain lines"),
        (
            ["evaluate", "RUN", "--temperature", "2"],
            "no effect with search.method beam; it is for sample",
        ),
        (
            ["evaluate", "RUN", "--method", "greedy", "--beam-size", "2"],
            "no effect with search.method greedy",
        ),
        (
            ["compare", "RUN", "--data.max_pairs", "3"],
            "--data.max_pairs: `multihead compare` does not use it",
        ),
        (["compare", "RUN", "--n-best", "3"], "--search.n_best: `multihead compare` does not use it"),
        (["compare", "RUN", *FILES, "--data.dir", "x"], "--data.dir: it has no effect on files that --src"),
        (["compare", "RUN", "--top-k", "2"], "no effect with search.method beam"),
        (["compare", "RUN", *FILES, "--data.source_field", "2"], "it has no effect on plain lines"),
        (["score", "RUN", *FILES, "--data.dir", "x"], "--data.dir: `multihead score` does not use it"),
        (
            ["score", "RUN", *FILES, "--data.max_chars", "9"],
            "--data.max_chars: `multihead score` does not use it",
        ),
        (["score", "RUN", *FILES, "--encoding", "utf-8", "--data.encoding", "ascii"], "beside --encoding"),
        (["score", "RUN", *FILES, "--data.source_field", "2"], "it has no effect on plain lines"),
        (["translate", "RUN", "-i", "SRC", "--top-p", "0.5"], "no effect with search.method beam"),
        (
            ["translate", "RUN", "-i", "SRC", "--method", "sample", "--stop", "exact"],
            "it is for beam",
        ),
        (
            ["translate", "RUN", "-i", "SRC", "--prefix", "a", "--prefixes", "TGT"],
            "--prefix: it has no effect beside",
        ),
        (
            ["serve", "RUN", "--port", "0", "--n-best", "2"],
            "--search.n_best: `multihead serve` does not use it",
        ),
        (["serve", "RUN", "--port", "0", "--temperature", "2"], "no effect with search.method beam"),
        (
            ["export", "RUN", "--to", "sentencepiece", "-o", "OTHER", "--quantization", "int8"],
            "no effect on the export of a vocabulary",
        ),
        (["inspect", "RUN", "eins", "--full"], "--full: it has no effect on the requested output"),
        (
            ["inspect", "RUN", "eins", "--head", "1", "--combine", "max"],
            "--combine: it has no effect on a single head",
        ),
        (["data", "list", "multi30k"], "--name: it has no effect on `multihead data list`"),
        (["data", "get", "multi30k", "--cache", "x"], "--cache: it has no effect on `multihead data get`"),
        (["data", "cache", "--from", "x"], "--from: it has no effect on `multihead data cache`"),
        (["quickstart", "--data.source", "a.de"], "--data.source: it has no effect in the quickstart"),
        (["quickstart", "--steps", "3", "--training.steps", "4"], "it has no effect beside --steps"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_has_no_effect_is_refused(
    trained: Path, corpus: tuple[Path, Path], arguments: list[str], told: str, capfdbinary: Captured
) -> None:
    capfdbinary.readouterr()
    assert main(filled(arguments, trained, corpus)) == 2
    error = capfdbinary.readouterr().err.decode()
    assert told in error
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "arguments",
    [
        ["translate", "RUN", "-i", "SRC", "--method", "sample", "--top-k", "2", "--max-extra", "1"],
        ["score", "RUN", *FILES, "--data.encoding", "utf-8"],
        ["evaluate", "RUN", *FILES, "--method", "greedy", "--max-extra", "1", "--data.encoding", "utf-8"],
        ["inspect", "RUN", "eins zwei", "--layer", "1", "--words", "--combine", "max"],
    ],
    ids=" ".join,
)
def test_what_has_an_effect_is_taken(
    trained: Path, corpus: tuple[Path, Path], arguments: list[str], capfdbinary: Captured
) -> None:
    assert run(capfdbinary, *filled(arguments, trained, corpus))[0]


@pytest.mark.parametrize("command", [evaluate, compare, score, serve], ids=lambda module: module.__name__)
def test_help_lists_the_keys_that_are_used_and_no_others(
    command: object, capsys: pytest.CaptureFixture[str]
) -> None:
    name = command.__name__.rpartition(".")[2]  # type: ignore[attr-defined]
    with pytest.raises(SystemExit):
        main([name, "--help-all"])
    shown = set(re.findall(r"--data\.(\w+)", capsys.readouterr().out))
    used = {"evaluate": evaluate.USED["data"], "compare": compare.USED["data"], "score": score.USED["data"]}
    assert shown == set(used.get(name, ()))
    assert shown <= DataSettings.model_fields.keys()


def test_help_of_the_search_leaves_out_what_is_not_used(capsys: pytest.CaptureFixture[str]) -> None:
    for name, without in {"evaluate": {"n-best"}, "serve": {"n-best"}, "translate": set()}.items():
        with pytest.raises(SystemExit):
            main([name, "--help-all"])
        help_ = capsys.readouterr().out
        for key in SearchSettings.model_fields:
            option = key.replace("_", "-")
            assert (f"--{option}" in help_) == (option not in without), (name, option)


def test_a_key_that_is_not_used_is_not_suggested(trained: Path, capfdbinary: Captured) -> None:
    assert "Did you mean" not in fail(capfdbinary, "evaluate", trained, "--max_pairs", "3")
