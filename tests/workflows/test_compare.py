import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu
from watching import Silent

from multihead import recipe as recipes
from multihead.cli import compare as command
from multihead.errors import UserError
from multihead.inspect.report import compare_page
from multihead.inspect.report.compared_numbers import to_dict
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.translation.compare import bounds, comparable_runs, compare_runs, shared_tests
from multihead.tasks.translation.evaluate import TestSet, evaluate
from multihead.tasks.translation.lines import Translator
from multihead.workflows.train import train

TestSet.__test__ = False  # type: ignore[attr-defined]
Make = Callable[..., Recipe[Settings]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture
def runs(made: Path, small: Make, corpus: Path) -> tuple[str, str]:
    """A seq2seq model, and a Transformer whose recipe names a test set; trained once."""
    if not (made / "lstm").exists():
        train(seq2seq_recipe(corpus), made / "lstm", Silent())
        train(small(data__tests={"other": ["train.de", "train.en"]}), made / "transformer", Silent())
    return str(made / "lstm"), str(made / "transformer")


def seq2seq_recipe(corpus: Path) -> Recipe[Settings]:
    settings: dict[str, object] = {
        "name": "lstm",
        "data.dir": str(corpus),
        "data.source": "train.de",
        "data.target": "train.en",
        "tokenizer.kind": "chars",
        "model.kind": "seq2seq",
        "model.d_embedding": 11,
        "model.d_hidden": 13,
        "model.num_layers": 1,
        "training.steps": 4,
        "training.batch_tokens": 523,
        "training.threads": 1,
        "validation.every": 2,
        "validation.max_examples": 11,
    }
    return recipes.from_toml("", overrides=settings)


def some_of(corpus: Path, count: int) -> TestSet:
    texts = [(corpus / f"train.{side}").read_text(encoding="utf-8").split("\n") for side in ("de", "en")]
    return TestSet("some", texts[0][:count], texts[1][:count])


def test_scores_are_those_of_evaluate_and_appear_on_the_page(runs: tuple[str, str], corpus: Path) -> None:
    test = some_of(corpus, 23)
    compared = compare_runs(runs, [test], device="cpu")
    html = re.sub(r"<[^>]*>", "", compare_page(compared).html)
    exported = json.loads(json.dumps(to_dict(compared), allow_nan=False))["tests"]["some"]
    for i, folder in enumerate(runs):
        run = Run.open(folder)
        expected = evaluate(Translator.load(folder, device="cpu"), test, run.recipe.search, run=run)
        numbers, measured = exported["scores"][folder], compared.tests[0].runs[i]
        assert numbers["bleu"]["score"] == pytest.approx(expected.bleu.value)
        assert numbers["bleu_lowercase"]["score"] == pytest.approx(expected.bleu_lowercase.value)
        assert numbers["chrf"]["score"] == pytest.approx(expected.chrf.value)
        assert numbers["perplexity"] == pytest.approx(expected.perplexity)
        assert f"{expected.chrf.value:.2f} ± {measured.cased['chrf'].system.half_width:.2f}" in html
        assert f"{expected.perplexity:.4g}" in html
        assert sum(bucket["sentences"] for bucket in numbers["bleu_by_length"]) == 23
        for sentence in exported["sentences"]:
            line = sentence["line"] - 1
            assert sentence["outputs"][i] == expected.outputs[line]
            alone = sacrebleu.sentence_chrf(expected.outputs[line], [test.references[line]]).score
            assert sentence["chrf"][i] == pytest.approx(alone, abs=0.006)
    spreads = [one.spread for one in compared.tests[0].examples]
    assert spreads == sorted(spreads, reverse=True)
    assert [run.kind for run in compared.runs] == ["seq2seq", "transformer"]
    aligned = compared.tests[0].aligned
    assert aligned
    assert all(one.alignments[0] is None and one.alignments[1] is not None for one in aligned)


def test_runs_that_cannot_be_compared_are_noted_or_refused(runs: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    fit = comparable_runs([*runs, str(tmp_path / "folder")])
    assert fit.folders == runs
    assert "not a run folder" in fit.notes[0]
    with pytest.raises(UserError, match="no such run folder"):
        comparable_runs([runs[0], str(tmp_path / "nowhere")])
    with pytest.raises(UserError, match="not a run folder"):
        comparable_runs([str(tmp_path / "folder")])
    with pytest.raises(UserError, match="named twice"):
        comparable_runs([runs[0], runs[0] + "/"])


def test_a_run_with_other_test_sets_is_named(runs: tuple[str, str]) -> None:
    tests, notes = shared_tests(runs[::-1], {})
    assert [test.name for test in tests] == ["other"]
    assert runs[0] in notes[0]
    assert "no test sets" in notes[0]


def test_the_command_writes_page_and_numbers_and_prints_the_scores(
    runs: tuple[str, str], corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = ["--src", str(corpus / "train.de"), "--tgt", str(corpus / "train.en")]
    page, numbers = tmp_path / "page.html", tmp_path / "numbers.json"
    options = ["-o", str(page), "--json", str(numbers), "--device", "cpu", "--search.method", "greedy"]
    assert command.main([runs[1], *files, *options]) == 0
    exported = json.loads(numbers.read_text(encoding="utf-8"))["tests"]["train.de"]
    out = capsys.readouterr().out
    assert f"{exported['scores'][runs[1]]['chrf']['score']:.2f} ± " in out
    assert "257 pairs" in out
    assert "better than" not in page.read_text(encoding="utf-8")


def test_no_run_at_all_is_refused() -> None:
    with pytest.raises(UserError, match="RUN is missing"):
        command.main([])


@pytest.mark.parametrize(
    ("longest", "expected"),
    [(1, (2,)), (13, (2, 4, 6, 8, 10, 12)), (31, (5, 10, 15, 20, 25, 30)), (63, (10, 20, 30, 40, 50, 60))],
)
def test_lengths_fall_into_a_handful_of_buckets(longest: int, expected: tuple[int, ...]) -> None:
    assert bounds(["a " * longest] * 7) == expected
