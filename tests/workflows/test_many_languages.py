"""One model of several directions: it switches by tag, resumes exactly, and learns another language later."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from watching import Silent

from multihead import recipe as recipes
from multihead.data.prepare_corpora import prepare_corpora
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.translation.direction_validation import DirectionsValidator
from multihead.tasks.translation.evaluate import evaluate, requested_test_sets
from multihead.tasks.translation.lines import Translator
from multihead.workflows.train import train

LETTERS = "bdfgklmnprt"
Make = Callable[..., Recipe[Settings]]


def spoken(line: str, language: str) -> str:
    """Return a line in a made-up language: other words, "qab" in reverse order too."""
    words = [f"{word}{language[-1]}" for word in line.split()]
    return " ".join(reversed(words) if language == "qab" else words)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Lines of one-letter words in "en", and in three made-up languages; files for each pair with "en"."""
    folder = tmp_path_factory.mktemp("languages")
    chance = random.Random(11)
    for language in ("qaa", "qab", "qac"):
        for part, count in (("train", 331), ("test", 37)):
            lines = [" ".join(chance.choices(LETTERS, k=chance.randint(2, 4))) for _ in range(count)]
            there = [spoken(line, language) for line in lines]
            (folder / f"{part}.{language}.en").write_text("\n".join([*lines, ""]), encoding="utf-8")
            (folder / f"{part}.{language}").write_text("\n".join([*there, ""]), encoding="utf-8")
    for name, languages in {"two": ("qaa", "qab"), "three": ("qaa", "qab", "qac")}.items():
        text = "".join(
            f'[[corpus]]\nsource_language = "en"\ntarget_language = "{language}"\n'
            f'source = "train.{language}.en"\ntarget = "train.{language}"\n'
            f"both_directions = {str(language == 'qab').lower()}\n"
            f'tests.test = ["test.{language}.en", "test.{language}"]\n'
            for language in languages
        )
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def make(folder: Path) -> Make:
    def make(corpora: str = "two.toml", **overrides: object) -> Recipe[Settings]:
        settings: dict[str, object] = {
            "name": "languages",
            "data.dir": str(folder),
            "data.corpora": corpora,
            "data.temperature": 2.0,
            "tokenizer.kind": "words",
            "tokenizer.vocab_size": 100,
            "model.d_model": 32,
            "model.d_ff": 48,
            "model.num_heads": 2,
            "model.num_layers": 1,
            "model.norm": "pre",
            "model.dropout": 0.0,
            "model.tied": "all",
            "training.steps": 6,
            "training.batch_tokens": 401,
            "training.optimizer": "muon",
            "training.learning_rate": 1e-2,
            "training.warmup_steps": 3,
            "training.log_every": 1,
            "training.threads": 1,
            "training.precision": "fp32",
            "validation.every": 2,
            "validation.max_examples": 31,
            "validation.samples": 2,
        }
        settings |= {key.replace("__", "."): value for key, value in overrides.items()}
        return recipes.from_toml("", overrides=settings)

    return make


@pytest.fixture(scope="module")
def trained(make: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that has learned en-qaa, en-qab and qab-en."""
    run = tmp_path_factory.mktemp("trained") / "run"
    recipe = make(training__steps=500, validation__every=250, training__warmup_steps=20)
    train(recipe, run, Silent())
    return run


def weights(run: Path) -> bytes:
    return (run / "model.safetensors").read_bytes()


def test_a_model_switches_its_language_by_the_tag(trained: Path, folder: Path) -> None:
    translator = Translator.load(trained, device="cpu", precision="fp32")
    lines = (folder / "test.qaa.en").read_text(encoding="utf-8").split("\n")[:-1]
    for language in ("qaa", "qab"):
        found = [one.text for one in translator.translate(lines, to=language)]
        right = sum(text == spoken(line, language) for text, line in zip(found, lines, strict=True))
        # Another language's words are never right; how many are learned depends on the processor's rounding.
        assert right >= 0.5 * len(lines), (language, found[:5], lines[:5])


def test_every_direction_is_validated_and_their_mean_is_the_metric(trained: Path) -> None:
    event = [event for event in Run.open(trained).metrics() if event["event"] == "validation"][-1]
    names = ("en-qaa", "en-qab", "qab-en")
    for metric in ("loss", "bleu", "chrf"):
        assert event[metric] == pytest.approx(sum(event[f"{metric} {name}"] for name in names) / 3)
    assert (trained / "report.html").exists()


def test_every_direction_is_evaluated_on_its_own_sentences(trained: Path) -> None:
    run = Run.open(trained)
    translator = Translator.load(trained, device="cpu", precision="fp32")
    tests = requested_test_sets(run.recipe.data, None, None)
    assert [test.name for test in tests] == ["en-qaa test", "en-qab test", "qab-en test"]
    assert (tests[2].sources, tests[2].references) == (tests[1].references, tests[1].sources)
    found = [evaluate(translator, test, run.recipe.search, run=run) for test in tests]
    assert all(one.exact >= 0.5 for one in found), [one.exact for one in found]
    assert all(one.contaminated is not None for one in found)
    # The tag decides: with the other one the references are improbable.
    swapped = evaluate(
        translator.toward("qab"),
        tests[0].__class__("", tests[0].sources, tests[0].references),
        run.recipe.search,
    )
    assert swapped.perplexity > 5 * found[0].perplexity


def test_a_direction_is_named_known_and_trained_or_refused(trained: Path) -> None:
    translator = Translator.load(trained, device="cpu")
    with pytest.raises(UserError, match=r"several languages\. Name one with --to: qaa, qab, en"):
        translator.translate(["b d"])
    with pytest.raises(UserError, match="several languages"):
        translator.score([("b d", "bb db")])
    with pytest.raises(UserError, match='does not translate to "fr"'):
        translator.translate(["b d"], to="fr")
    with pytest.raises(UserError, match='does not translate from "fr"'):
        translator.translate(["b d"], to="en", source="fr")
    with pytest.raises(UserError, match=r"never trained to translate from qab to qaa.*--zero-shot"):
        translator.translate(["b d"], to="qaa", source="qab")
    with pytest.raises(UserError, match="from en to en"):
        translator.toward("en", "en", zero_shot=True)
    with pytest.raises(UserError, match="not trained with the tag <domain-law>"):
        translator.toward("qaa", tags=["law"])
    with pytest.warns(UserWarning, match="never trained to translate from qab to qaa"):
        translator.translate(["bb db"], to="qaa", source="qab", zero_shot=True)
    assert translator.toward(source="qab").asked == ("en", "qab", (), False)


def test_text_that_is_spelt_like_a_tag_does_not_switch(trained: Path) -> None:
    directed = Translator.load(trained, device="cpu").toward("qaa")
    ids = directed.source_tokenizer.encode("<2qab> b d")
    assert [id for id in ids if id in directed.target_tokenizer.symbols.values()] == [
        directed.target_tokenizer.symbols["<2qaa>"]
    ]


@pytest.fixture(scope="module")
def whole(make: Make, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A short training that was never interrupted."""
    run = tmp_path_factory.mktemp("whole") / "run"
    train(make(), run, Silent())
    return run


@pytest.mark.parametrize("moment", [1, 5])
def test_a_resumed_training_ends_with_the_same_bytes(
    tmp_path: Path, make: Make, whole: Path, moment: int
) -> None:

    def object_at(event: dict[str, object]) -> None:
        if event["step"] == moment:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        train(make(), tmp_path / "cut", Silent(object_at))
    train(make(), tmp_path / "cut", Silent())
    assert weights(tmp_path / "cut") == weights(whole)


def test_other_weights_of_corpora_are_another_training(make: Make, whole: Path, folder: Path) -> None:
    text = (folder / "two.toml").read_text(encoding="utf-8")
    heavier = text.replace("both_directions", "weight = 2\nboth_directions")
    (folder / "two.toml").write_text(heavier, encoding="utf-8")
    try:
        with pytest.raises(UserError, match="started with other data"):
            train(make(), whole, Silent())
    finally:
        (folder / "two.toml").write_text(text, encoding="utf-8")


def test_a_corpus_of_weight_0_is_evaluated_in_a_direction_without_training_data(
    make: Make, folder: Path, tmp_path: Path
) -> None:
    held_out = (
        '[[corpus]]\nsource_language = "qaa"\ntarget_language = "{}"\nweight = 0\n'
        'source = "train.qaa"\ntarget = "train.qaa.en"\ntests.test = ["test.qaa", "test.qaa.en"]\n'
    )
    two = (folder / "two.toml").read_text(encoding="utf-8")
    (folder / "held.toml").write_text(two + held_out.format("en"), encoding="utf-8")
    train(make("held.toml"), tmp_path / "run", Silent())
    run = Run.open(tmp_path / "run")
    assert ("qaa", "en") not in run.directions
    *_, held = requested_test_sets(run.recipe.data, None, None)
    found = evaluate(Translator.load(run.folder, device="cpu"), held, run.recipe.search, run=run)
    assert len(found.outputs) == 37
    # A language that nothing teaches is refused before the training.
    (folder / "held.toml").write_text(two + held_out.format("qac"), encoding="utf-8")
    with pytest.raises(UserError, match=r'no corpus with a weight teaches "qac".*qaa-qac.*weight is 0'):
        train(make("held.toml"), tmp_path / "other", Silent())


def test_a_language_is_added_to_a_trained_model(trained: Path, make: Make, tmp_path: Path) -> None:
    recipe = make("three.toml", training__steps=2, training__learning_rate=1e-9, training__optimizer="adam")
    train(recipe, tmp_path / "more", Silent(), init=trained)
    before, after = Run.open(trained), Run.open(tmp_path / "more")
    old, new = before.tokenizers()[0], after.tokenizers()[0]
    assert "<2qac>" not in old.symbols
    assert new.symbols["<2qac>"] == old.vocab_size == new.vocab_size - 1
    kept, grown = before.load_model().state_dict(), after.load_model().state_dict()
    for name, weight in kept.items():
        rows = grown[name][: len(weight)] if weight.shape[:1] == (old.vocab_size,) else grown[name]
        torch.testing.assert_close(rows, weight, atol=1e-6, rtol=0)
    assert any(grown[name].shape[0] == new.vocab_size for name in grown)
    assert after.directions == [*before.directions, ("en", "qac")]
    translator = Translator.load(tmp_path / "more", device="cpu")
    old_translator = Translator.load(trained, device="cpu")
    lines = ["b d f", "k l"]
    again = [[one.text for one in each.translate(lines, to="qab")] for each in (translator, old_translator)]
    assert again[0] == again[1]
    assert len(translator.translate(lines, to="qac")) == 2


def test_the_directions_share_the_validation_pairs(make: Make) -> None:
    recipe = make()
    prepared = prepare_corpora(recipe.data, recipe.tokenizer)
    validators = DirectionsValidator(prepared, recipe, torch.device("cpu")).validators
    counts = {name: len(validator.text) for name, validator in validators.items()}
    assert counts == {"en-qaa": 10, "en-qab": 10, "qab-en": 10}  # of 31
