"""Runs exported to the transformers library, and used there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from exported_runs import other_run, sentences, translator_run
from small_models import TEXT

from multihead.apps import huggingface
from multihead.apps.export import manifest
from multihead.apps.huggingface import models as kinds
from multihead.apps.huggingface import verification
from multihead.apps.huggingface.importing import import_folder
from multihead.cli import main
from multihead.errors import UserError
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.settings import TokenizerSettings as MaskedSettings
from multihead.tasks.translation.lines import Translator
from multihead.text import lossless

transformers = pytest.importorskip("transformers", reason="the extra `export` is not installed")

WIDTHS: dict[str, Any] = {"d_model": 12, "num_layers": 2, "num_heads": 3}


@pytest.fixture(scope="module", autouse=True)
def fewer_sentences() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(verification, "SENTENCES", 17)
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return translator_run(tmp_path_factory.mktemp("run") / "run", output_bias=True)


@pytest.fixture(scope="module")
def exported(run: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "hf"
    huggingface.export(run, folder)
    return folder


def test_marian_gives_the_same_tokens_by_the_library_s_own_means(run: Any, exported: Path) -> None:
    lines = [source for source, _ in sentences(61)]
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    model = transformers.AutoModelForSeq2SeqLM.from_pretrained(exported)
    assert type(model).__name__ == "MarianMTModel"
    ours = Translator.load(run.folder, device="cpu", precision="fp32")
    settings = ours.settings.model_copy(update={"method": "greedy", "max_length": 17, "n_best": 1})
    expected = [one.hypotheses[0].tokens for one in ours.translate(lines, settings)]
    read = tokenizer(lines, return_tensors="pt", padding=True, return_token_type_ids=False)
    made = model.generate(**read, num_beams=1, max_new_tokens=18, max_length=None)
    end = ours.target_tokenizer.eos_id
    found = [tuple(row[: row.index(end)] if end in row else row[:17]) for row in made[:, 1:].tolist()]
    assert found == expected
    texts = tokenizer.batch_decode(made, skip_special_tokens=True)
    assert texts[:5] == [one.text for one in ours.translate(lines[:5], settings)]


def test_nothing_is_pickled_and_the_search_is_the_run_s(run: Any, exported: Path) -> None:
    names = {file.name for file in exported.iterdir()}
    assert names >= {"config.json", "model.safetensors", "tokenizer.json", "generation_config.json"}
    assert not any(name.endswith((".bin", ".pt", ".pkl")) for name in names)
    found = json.loads((exported / "generation_config.json").read_text())
    assert found["num_beams"] == run.recipe.search.beam_size == 3


def test_the_export_imports_as_the_same_translator(run: Any, exported: Path, tmp_path: Path) -> None:
    again = import_folder(exported, tmp_path / "again").run
    lines = [source for source, _ in sentences(23)]
    ours, other = (Translator.load(one.folder, precision="fp32") for one in (run, again))
    other.settings = ours.settings
    assert [one.text for one in ours.translate(lines)] == [one.text for one in other.translate(lines)]


def gpt_run(folder: Path, **changed: Any) -> Any:
    tokenizer = lossless.learn([TEXT], "chars", 60, 1)
    given = {"vocab_size": tokenizer.vocab_size, "context": 71, **WIDTHS, **changed}
    return other_run(folder, "gpt", (tokenizer,), **given)


def bert_run(folder: Path, **changed: Any) -> Any:
    tokenizer = masking.learn([TEXT, TEXT], MaskedSettings(vocab_size=70), lowercase=False)
    sizes = {"vocab_size": tokenizer.vocab_size, "max_positions": 43}
    return other_run(folder, "bert", (tokenizer,), **sizes, **WIDTHS, **changed)


def vit_run(folder: Path, **changed: Any) -> Any:
    sizes = {"image_size": 15, "channels": 3, "patch_size": 3, "d_ff": 23, "classes": 2}
    names = ("cat", "dog")
    return other_run(folder, "vit", (), **sizes, **WIDTHS, **{"class_names": names, **changed})


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (gpt_run, "AutoModelForCausalLM"),
        (bert_run, "AutoModelForMaskedLM"),
        (vit_run, "AutoModelForImageClassification"),
    ],
)
def test_other_models_are_verified_and_load_by_the_library_s_own_means(
    make: Any, kind: str, tmp_path: Path
) -> None:
    said = huggingface.export(make(tmp_path / "run"), tmp_path / "hf")
    assert "differ by at most" in said
    model, info = getattr(transformers, kind).from_pretrained(tmp_path / "hf", output_loading_info=True)
    assert not info["missing_keys"]
    if kind == "AutoModelForCausalLM":
        tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "hf")
        assert tokenizer.decode(tokenizer.encode("the king")) == "the king"
    if kind == "AutoModelForImageClassification":
        assert model.config.id2label == {0: "cat", 1: "dog"}
        pixels = np.full((15, 15, 3), 255, np.uint8)
        prepared = transformers.AutoImageProcessor.from_pretrained(tmp_path / "hf", use_fast=False)(pixels)
        assert np.allclose(prepared["pixel_values"][0], 1.0)


def test_every_reason_of_a_refusal_is_named(tmp_path: Path) -> None:
    run = translator_run(tmp_path / "run", steps=0, norm="pre", positions="learned", decoder_cell="ssru")
    with pytest.raises(UserError) as error:
        huggingface.export(run, tmp_path / "hf")
    for reason in ('norm = "pre"', 'positions = "learned"', 'decoder_cell = "ssru"'):
        assert reason in error.value.fact
    assert not (tmp_path / "hf").exists()


def test_models_without_a_counterpart_are_refused(tmp_path: Path) -> None:
    run = gpt_run(tmp_path / "run", positions="none")
    with pytest.raises(UserError, match='positions = "none", not "learned"'):
        huggingface.export(run, tmp_path / "hf")
    relative = bert_run(tmp_path / "relative", positions="relative")
    with pytest.raises(UserError, match='positions = "relative", not "learned"'):
        huggingface.export(relative, tmp_path / "hf")
    mean = vit_run(tmp_path / "mean", pooling="mean")
    with pytest.raises(UserError, match='pooling = "mean"'):
        huggingface.export(mean, tmp_path / "hf")


@pytest.mark.parametrize("make", [gpt_run, bert_run, vit_run])
@pytest.mark.parametrize("attention", ["window", "reformer"])
def test_other_attention_is_refused_however_short_the_examples_are(
    make: Any, attention: str, tmp_path: Path
) -> None:
    run = make(tmp_path / "run", attention=attention)
    with pytest.raises(UserError, match=f'attention = "{attention}", not "full"'):
        huggingface.export(run, tmp_path / "hf")


def test_wrong_weights_are_found_before_the_folder_appears(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marian = kinds.SUPPORTED["transformer"]

    def unordered(ours: Any, settings: Any) -> Any:
        found = marian.weights(ours, settings)
        found["model.shared.weight"] = ours["target_embedding.weight"]
        return found

    monkeypatch.setitem(kinds.SUPPORTED, "transformer", marian._replace(weights=unordered))
    with pytest.raises(UserError, match="does not import as the same model"):
        huggingface.export(run, tmp_path / "hf")
    monkeypatch.setattr(verification, "same_weights", lambda *_: None)
    monkeypatch.setattr("multihead.apps.huggingface.exporting.same_weights", lambda *_: None)
    with pytest.raises(UserError, match="translations differ"):
        huggingface.export(run, tmp_path / "hf")
    assert not (tmp_path / "hf").exists()


def test_a_damaged_export_is_found(exported: Path, tmp_path: Path) -> None:
    for file in exported.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    path = tmp_path / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    assert manifest.faults(tmp_path).keys() == {"model.safetensors"}
    assert main(["verify", str(tmp_path)]) == 1


def test_text_spelt_like_a_symbol_is_text(run: Any, exported: Path) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(exported)
    ours, _ = run.tokenizers()
    for text in ("</s>", "eins </s> zwei", "fünf"):
        assert tokenizer(text)["input_ids"] == [*ours.encode(text), ours.eos_id]
