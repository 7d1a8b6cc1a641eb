from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from made_up import sentences
from watching import Silent

from multihead import recipe as recipes
from multihead.data.prepare import prepare
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import DataSettings, Settings
from multihead.system import hardware
from multihead.tasks.translation.suggest import RequestedSettings, measure, suggest
from multihead.workflows.dry_run import dry_run
from multihead.workflows.suggested_recipe import languages
from multihead.workflows.train import train

Make = Callable[..., Recipe[Settings]]


@pytest.mark.parametrize("pairs", [1, 53, 9_973, 29_000, 166_618, 1_000_003, 10_000_019])
def test_suggestions_are_a_valid_recipe_whatever_the_size(pairs: int) -> None:
    recipe = recipes.from_toml("", overrides=suggest(sentences(pairs)).settings)
    assert 1 <= recipe.validation.every <= recipe.training.steps
    assert recipe.training.warmup_steps < recipe.training.steps


@pytest.mark.parametrize("steps", [1, 7, 53, 2003, 100_003])
def test_what_follows_from_the_number_of_updates_follows_from_the_one_that_was_given(steps: int) -> None:
    recipe = recipes.from_toml(
        "", overrides=suggest(sentences(9_973), RequestedSettings(steps=steps)).settings
    )
    assert recipe.training.steps == steps
    assert recipe.training.warmup_steps <= steps / 10
    assert recipe.validation.every <= steps


def test_the_rate_is_that_of_the_optimiser_which_was_asked_for() -> None:
    def settings(optimizer: str, schedule: str = "cosine") -> dict[str, object]:
        return dict(
            suggest(sentences(9_973), RequestedSettings(optimizer=optimizer, schedule=schedule)).settings
        )

    rates = {name: settings(name)["training.learning_rate"] for name in ("adam", "muon")}
    assert rates == {"adam": 3e-3, "muon": 6e-3}
    assert settings("")["training.optimizer"] == "muon"
    assert settings("", "")["training.learning_rate"] == pytest.approx(0.6 * 6e-3)


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "conv_s2s"])
@pytest.mark.parametrize("pairs", [9_973, 29_000, 166_618])
def test_whatever_the_kind_of_model_it_has_about_as_many_parameters(kind: str, pairs: int) -> None:
    def parameters(kind: str) -> int:
        settings = {**suggest(sentences(pairs), RequestedSettings(model=kind)).settings, "model.kind": kind}
        settings["model.source_vocab"] = settings["model.target_vocab"] = settings["tokenizer.vocab_size"]
        recipe = recipes.from_toml("", overrides=settings)
        with torch.device("meta"):
            model = model_kinds.load(kind).Model(recipe.model)
        return sum(parameter.numel() for parameter in model.parameters())

    assert 0.7 < parameters(kind) / parameters("transformer") < 1.4


def test_larger_corpora_get_larger_models_and_less_dropout() -> None:
    found = [suggest(sentences(pairs)).settings for pairs in (5_003, 29_000, 166_618, 1_000_003, 10_000_019)]
    widths = [settings["model.d_model"] for settings in found]
    drops = [settings["model.dropout"] for settings in found]
    assert widths == sorted(widths)  # type: ignore[type-var]
    assert drops == sorted(drops, reverse=True)  # type: ignore[type-var]


HANZI = "".join(chr(0x4E00 + i) for i in range(2003))


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(lambda i: f"a{i % 7} b{i % 11} c{i % 13}", id="few words of letters and digits"),
        pytest.param(lambda i: "".join(HANZI[(7 * i + j) % 2003] for j in range(23)), id="many characters"),
        pytest.param(lambda i: f"only{'x' * (i % 5)}", id="five words"),
        pytest.param(lambda i: f"{'abcdefghijklmnop'[i % 13 : i % 13 + 3]}{i}" * 2, id="every word but once"),
        pytest.param(lambda i: "!" * (1 + i % 97), id="rows of one sign"),
    ],
)
def test_the_corpus_supports_the_suggested_vocabulary(line: Callable[[int], str], tmp_path: Path) -> None:
    for side, shift in (("a", 0), ("b", 1)):
        text = "".join(f"{line(i + shift)} {i % 101}\n" for i in range(211))
        (tmp_path / side).write_text(text, encoding="utf-8")
    place = str(tmp_path)
    files: dict[str, object] = {"source": ["a"], "target": ["b"], "dir": place, "cache": place}
    named = {f"data.{key}": value for key, value in files.items()}
    corpus = measure(recipes.from_toml("", overrides=named).data)
    recipe = recipes.from_toml("", overrides={**named, **suggest(corpus).settings})
    prepared = prepare(recipe.data, recipe.tokenizer)
    assert prepared.source_tokenizer.vocab_size == recipe.tokenizer.vocab_size


def test_a_tiny_corpus_trains_with_the_suggested_settings(tmp_path: Path, corpus: Path) -> None:
    files = {"data.dir": str(corpus), "data.source": "train.de", "data.target": "train.en"}
    size = measure(recipes.from_toml("", overrides=files).data)
    assert size.pairs == 257
    short = {"training.steps": 2, "training.warmup_steps": 1, "validation.every": 1, "training.threads": 1}
    recipe = recipes.from_toml("", overrides={**files, **suggest(size).settings, **short})
    assert train(recipe, tmp_path / "run", Silent()).status == "finished"


def test_a_dry_run_estimates_training_and_leaves_no_files(
    tmp_path: Path, small: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = dry_run(small(training__steps=100), Silent())
    assert found.parameters > 1000
    assert found.batches_per_epoch >= 2
    assert found.epochs == pytest.approx(100 / found.batches_per_epoch)
    assert found.dtype == hardware.training_precision("auto", torch.device("cpu"))
    assert found.hours > 0
    assert found.peak_memory > 50 << 20
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("train.de", "train.en", ["de", "en"]),
        ("a.fur.gz", "a.lij.txt", ["fur", "lij"]),
        ("train.src", "train.tgt", []),  # Sardinian and Tagbanwa, by their letters
        ("train.src", "train.trg", []),
        ("x.in", "x.out", []),
        ("pairs.txt", "others.txt", []),
    ],
)
def test_endings_of_files_name_languages_where_they_are_no_sides(
    source: str, target: str, expected: list[str]
) -> None:
    data = DataSettings(source=(source,), target=(target,))
    assert list(languages(data).values()) == expected
