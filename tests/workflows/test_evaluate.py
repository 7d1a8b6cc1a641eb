import json
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import sacrebleu
from watching import Silent

from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.translation.evaluate import (
    TestSet,
    compare,
    evaluate,
    perturb_sources,
    read_test_set,
    test_sets,
)
from multihead.tasks.translation.lines import Translator
from multihead.workflows.train import train

test_sets.__test__ = False  # type: ignore[attr-defined]
TestSet.__test__ = False  # type: ignore[attr-defined]
Make = Callable[..., Recipe[Settings]]


@pytest.fixture
def run(tmp_path: Path, small: Make) -> Run:
    train(small(), tmp_path / "run", Silent())
    return Run.open(tmp_path / "run")


def test_scores_are_those_of_sacrebleu_and_of_the_model(run: Run, small: Make) -> None:
    recipe = small()
    test = read_test_set("here", recipe.data, ["train.de", "train.en"])
    translator = Translator.load(run.folder, device="cpu", precision="fp32")
    found = evaluate(translator, test, recipe.search, run=run, tokenise=lambda lines: list(lines))

    assert found.bleu.value == sacrebleu.corpus_bleu(found.outputs, [test.references]).score
    lowered = [[text.lower() for text in texts] for texts in (found.outputs, test.references)]
    expected = sacrebleu.corpus_bleu(lowered[0], [lowered[1]], tokenize="none", force=True).score
    assert found.bleu_tokenised_lowercase is not None
    assert found.bleu_tokenised_lowercase.value == pytest.approx(expected)
    nll = -sum(
        s.log_probability for s in translator.score(list(zip(test.sources, test.references, strict=True)))
    )
    characters = sum(len(reference) + 1 for reference in test.references)
    assert math.log(found.perplexity_character) == pytest.approx(nll / characters, rel=1e-6)
    assert 0 < found.exact + 1e-9 <= 1 + 1e-9
    assert json.loads(json.dumps(found.to_dict()))["bleu"] == round(found.bleu.value, 2)


def test_test_sentences_in_the_training_data_are_counted(run: Run, small: Make, tmp_path: Path) -> None:
    recipe = small()
    (tmp_path / "new.de").write_text("ganz neu hier\nrot rot rot rot rot rot rot rot rot\n", encoding="utf-8")
    (tmp_path / "new.en").write_text("A\nB\n", encoding="utf-8")
    translator = Translator.load(run.folder)
    seen = read_test_set("seen", recipe.data, ["train.de", "train.en"])
    unseen = read_test_set("unseen", recipe.data, [str(tmp_path / "new.de"), str(tmp_path / "new.en")])
    counted = evaluate(translator, seen, recipe.search, run=run).contaminated
    assert counted is not None
    assert 180 < counted < 257  # all but the pairs held out for validation
    assert evaluate(translator, unseen, recipe.search, run=run).contaminated == 0


def test_a_system_does_not_differ_from_itself(run: Run, small: Make) -> None:
    recipe = small()
    test = read_test_set("here", recipe.data, ["train.de", "train.en"])
    found = evaluate(Translator.load(run.folder), test, recipe.search)
    assert not compare(found, found)["chrf"].significant


def test_without_test_sets_the_error_gives_a_remedy(small: Make) -> None:
    with pytest.raises(UserError, match="--src FILE"):
        test_sets(small().data)


def test_sources_are_perturbed_and_references_stay() -> None:
    test = TestSet("news", ["a b c d e", "f g h i j"], ["A B", "F G"])
    worse = perturb_sources(test, "trim", 0.4)
    assert (worse.name, worse.sources, worse.references) == (
        "news, trim 0.4",
        ["a b c", "f g h"],
        test.references,
    )
    first, second = perturb_sources(TestSet("same", ["a b c d e f"] * 2, ["x"] * 2), "permute", 0.5).sources
    assert first != second
