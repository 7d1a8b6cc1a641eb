"""The Python API: one loaded class per task."""

import base64
import copy
import gzip
import random
import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_type

import numpy as np
import pytest
import torch
from PIL import Image

import multihead
from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.inspect.page import HtmlPage
from multihead.recipe import model_kinds
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.run import Run
from multihead.system.notebook import ResultList
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.loaded import LoadedImageGenerator
from multihead.tasks.masked import mask_tokens as masking
from multihead.tasks.masked.loaded import LoadedMaskFiller
from multihead.tasks.translation.lines.translation import Output, Translation
from multihead.tasks.translation.text_methods import SearchKeys
from multihead.text import lossless
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

SMALL = {"d_model": 12, "num_heads": 2, "num_layers": 1, "d_ff": 14}
WORDS = [f"{size} {colour} circle" for size in ("large", "small") for colour in ("green", "red", "blue")]


def made(folder: Path, kind: str, tokenizer: Tokenizer | None, sizes: dict[str, Any], **keys: object) -> Path:
    """Write a run folder with an untrained model."""
    given = {"model.kind": kind, **{f"model.{key}": value for key, value in sizes.items()}, **keys}
    recipe = recipes.from_toml("", overrides=given)
    tokenizers = () if tokenizer is None else (tokenizer,)
    with Run.create(folder, recipe, tokenizers, {}) as run:
        run.save_model(model_kinds.load(kind).Model(recipe.model).state_dict(), {})
    return folder


def shown(page: HtmlPage) -> str:
    """Return the HTML that a notebook displays."""
    [inside] = re.findall(r'srcdoc="([^"]*)"', page._repr_html_())
    [packed] = re.findall(r'atob\("([^"]*)"\)', unescape(inside))
    assert gzip.decompress(base64.b64decode(packed)).decode() == page.html
    return page.html


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return train(WORDS, TokenizerSettings(kind="words", vocab_size=31))


def test_a_loaded_translator_translates(trained: Path) -> None:
    one, empty = multihead.load(trained).translate(["eins zwei", ""])
    assert one.hypotheses
    assert empty.text == ""
    [three] = multihead.load(trained).translate(["eins zwei"], n_best=3, beam_size=3, prefixes=["one"])
    assert len(three.hypotheses) == 3
    assert all(one.text.startswith("one") for one in three.hypotheses)
    with pytest.raises(UserError, match=r"beam_size = 0, but it must be"):
        multihead.load(trained).translate(["eins zwei"], beam_size=0)
    with pytest.raises(UserError, match='no setting "beam"'):
        multihead.load(trained).translate(["eins zwei"], beam=3)  # type: ignore[call-overload]
    both = multihead.load(trained, str(trained), precision="fp32", task="translation")
    assert len(both.models) == 2
    assert both.translate(["eins zwei"])[0].hypotheses


def test_search_settings_without_effect_are_refused(trained: Path, corpus: tuple[Path, Path]) -> None:
    with pytest.raises(UserError, match=r"search\.temperature: it has no effect with search\.method beam"):
        multihead.load(trained).translate(["eins"], temperature=2.0)
    with pytest.raises(UserError, match=r"search\.beam_size: it has no effect with search\.method greedy"):
        multihead.evaluate(trained, source=corpus[0], target=corpus[1], method="greedy", beam_size=3)
    with pytest.raises(UserError, match=r"search\.n_best: it has no effect in an evaluation"):
        multihead.evaluate(trained, source=corpus[0], target=corpus[1], n_best=3)


@pytest.mark.parametrize("precision", ["float32", "int4", ""])
def test_an_unknown_precision_is_a_user_error(trained: Path, precision: Any) -> None:
    with pytest.raises(UserError, match=f"no precision '{precision}'. Use auto, fp32, bf16 or int8"):
        multihead.load(trained, precision=precision)


def test_a_language_model_continues_a_prompt(tmp_path: Path) -> None:
    tokenizer = lossless.learn(["abc abd"], "chars", 31, 1)
    sizes = {**SMALL, "vocab_size": tokenizer.vocab_size, "context": 11}
    writer = multihead.load(made(tmp_path / "gpt", "gpt", tokenizer, sizes), device="cpu", task="language")
    text = writer.generate("ab", max_tokens=7, temperature=0)
    assert text == "ab" + "".join(
        writer.write("ab", writer.settings.model_copy(update={"max_tokens": 7, "temperature": 0}))
    )
    assert text == writer.generate("ab", max_tokens=7, temperature=0)
    with pytest.raises(UserError, match=r"top_p = 1\.5, but it must be a number of at most 1 and above 0"):
        writer.generate("ab", top_p=1.5)
    with pytest.raises(UserError, match='no setting "beam_size"'):
        writer.generate("ab", beam_size=5)
    assert "next token" in shown(writer.inspect("abc abd"))
    with pytest.raises(UserError, match="gpt: precision can be set for translators only"):
        multihead.load(tmp_path / "gpt", precision="fp32")


def test_a_bert_fills_masks(tmp_path: Path, words: Tokenizer) -> None:
    tokenizer = masking.with_mask(words)
    sizes = {**SMALL, "vocab_size": tokenizer.vocab_size, "max_positions": 13}
    filler = multihead.load(made(tmp_path / "bert", "bert", tokenizer, sizes), device="cpu")
    assert isinstance(filler, LoadedMaskFiller)
    assert len(filler.fill("a [MASK] circle").gaps) == 1
    assert '"target":"[MASK]"' in shown(filler.inspect("a [MASK] circle"))


def test_texts_and_images_are_classified(tmp_path: Path, words: Tokenizer) -> None:
    names = ("dark", "bright", "grey")
    sizes: dict[str, Any] = {
        **SMALL,
        "vocab_size": words.vocab_size,
        "max_positions": 13,
        "classes": 3,
        "class_names": names,
    }
    folder = made(tmp_path / "texts", "bert_classifier", words, sizes, **{"data.max_length": 13})
    texts = multihead.load(folder, device="cpu", task="classification")
    guesses = texts.classify(["large green circle", ""])
    assert '"target":"class"' in shown(texts.inspect("large green circle"))
    assert set(guesses[0].probabilities) == set(names)
    assert guesses[1].name == ""

    sizes = {**SMALL, "image_size": 6, "patch_size": 3, "channels": 1, "classes": 3, "class_names": names}
    Image.fromarray(np.zeros((7, 11), dtype=np.uint8)).save(tmp_path / "a.png")
    images = multihead.load(made(tmp_path / "images", "vit", None, sizes), device="cpu", task="images")
    found = images.classify([tmp_path / "a.png"] * 2)
    assert '"rollout":' in shown(images.inspect(tmp_path / "a.png"))
    assert [set(guess.probabilities) for guess in found] == [set(names)] * 2


def test_a_dalle_generates_and_completes_images(tmp_path: Path, words: Tokenizer) -> None:
    sizes = {
        "vocab_size": words.vocab_size,
        "text_length": 5,
        "image_size": 8,
        "codes": 11,
        "d_code": 6,
        "dvae_width": 6,
        "dvae_halvings": 1,
        "d_model": 12,
        "num_layers": 1,
        "num_heads": 2,
        "ranker_width": 10,
        "ranker_layers": 1,
    }
    torch.manual_seed(3)
    artist = multihead.load(made(tmp_path / "dalle", "dalle", words, sizes), device="cpu")
    assert isinstance(artist, LoadedImageGenerator)
    drawn = artist.draw("large green circle", 2)
    assert [drawing.image.size for drawing in drawn] == [(8, 8)] * 2
    drawn[0].image.save(tmp_path / "a.png")
    [again] = artist.draw("large green circle", temperature=0, complete=str(tmp_path / "a.png"))
    cold = artist.settings.model_copy(update={"temperature": 0})
    [same] = ImageGenerator.draw(artist, "large green circle", settings=cold, complete=tmp_path / "a.png")
    assert again.codes == same.codes
    with pytest.raises(UserError, match='no setting "hue"'):
        artist.draw("large green circle", hue=3)
    assert '["generated, cosine with the caption {}",' in shown(artist.inspect("large green circle"))
    assert '["image",["given"]]' in shown(artist.inspect("large green circle", tmp_path / "a.png"))


def test_runs_are_compared(trained: Path, corpus: tuple[Path, Path], tmp_path: Path) -> None:
    few = [tmp_path / path.name for path in corpus]
    for path, short in zip(corpus, few, strict=True):
        lines = path.read_text(encoding="utf-8").split("\n")[:13]
        short.write_text("\n".join(lines) + "\n", encoding="utf-8")
    compared = multihead.compare(trained, source=few[0], target=few[1], device="cpu")
    assert compared.numbers["tests"][few[0].name]["pairs"] == 13
    compared.page.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


def test_runs_that_cannot_be_loaded_are_user_errors(tmp_path: Path, trained: Path, words: Tokenizer) -> None:
    with pytest.raises(UserError, match="no run folder was given"):
        multihead.load()
    with pytest.raises(UserError, match="no such run folder"):
        multihead.load(tmp_path / "nowhere")
    with pytest.raises(UserError, match="trained for translation and not for text generation"):
        multihead.load(trained, task="language")
    sizes = {**SMALL, "vocab_size": words.vocab_size, "context": 11}
    gpt = made(tmp_path / "gpt", "gpt", words, sizes)
    with pytest.raises(UserError, match="2 runs were given, but only translators can form an ensemble"):
        multihead.load(gpt, gpt)


def test_torch_is_not_imported_before_it_is_used() -> None:
    code = "import sys, multihead; multihead.__version__; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_misspelt_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'lode'"):
        _ = multihead.lode


def test_a_method_of_another_kind_of_run_lists_the_available_methods(trained: Path) -> None:
    translator = multihead.load(trained)
    with pytest.raises(AttributeError, match=r"no method 'generate'; available are .*translate\(\)"):
        translator.generate("eins")  # type: ignore[attr-defined]
    assert not hasattr(translator, "_private")
    assert copy.copy(translator).translate(["eins"]) == translator.translate(["eins"])


def test_what_is_displayed_is_short(trained: Path, corpus: tuple[Path, Path]) -> None:
    translator = multihead.load(trained)
    large = translator.inspect(" ".join(["eins", "zwei", "drei"] * 13))
    assert len(repr(large)) < 100
    for page in (large, translator.inspect("eins"), HtmlPage(random.Random(3).randbytes(200_000).hex())):
        assert len(page._repr_html_()) <= 200_000
    results = multihead.evaluate(trained, source=corpus[0], target=corpus[1], beam_size=1)
    assert len(repr(results)) < 400
    html = results._repr_html_()  # type: ignore[attr-defined]
    assert "BLEU" in html
    assert str(results[corpus[0].name].outputs) not in html


def test_translations_are_displayed_as_a_table() -> None:
    outputs = [Output(text, (5,), -0.5, -0.5, cut=False) for text in ("a <b>", "c")]
    html = Translation.of("x & y", outputs)._repr_html_()
    assert "<td" in html
    assert "x &amp; y" in html
    assert "a &lt;b&gt;" in html
    assert "Alternatives" in html
    assert "Note" not in html
    many = ResultList([Translation("t", f"line {number}") for number in range(53)])
    assert many == list(many)
    assert "line 49" in many._repr_html_()
    assert "line 50" not in many._repr_html_()
    assert "3 more" in many._repr_html_()


def test_the_completed_search_keys_are_those_of_the_settings() -> None:
    assert set(SearchKeys.__annotations__) == set(SearchSettings.model_fields)


if TYPE_CHECKING:  # read by mypy, which also refuses an ignored error that is none
    _translator = multihead.load("runs/de-en")
    assert_type(_translator.translate("eins", beam_size=3), str)
    assert_type(_translator.translate(["eins"], n_best=2), list[Translation])
    _translator.translate("eins", beam_sise=3)  # type: ignore[call-overload]
    _translator.translate("eins", beam_size="3")  # type: ignore[call-overload]
