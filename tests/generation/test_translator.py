import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from gru import Gru
from torch import Tensor, nn

from multihead.errors import UserError
from multihead.models.transformer import Settings as TransformerSettings
from multihead.models.transformer import Transformer
from multihead.recipe import load, with_horizon
from multihead.recipe.settings import SearchSettings, TokenizerSettings
from multihead.run import Run
from multihead.system import native
from multihead.tasks.translation.lines import Translator
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

CPU = torch.device("cpu")
LINES = [
    "ein Hund",
    "eine Katze und ein Hund",
    "",
    "Katze",
    "  ",
    "und und und und",
    "ein",
    "Hund und Katze ein",
]
SHORT = SearchSettings(max_extra=5, beam_size=3)


@pytest.fixture(scope="module")
def german() -> Tokenizer:
    return train(["ein Hund und eine Katze"] * 3, TokenizerSettings(vocab_size=300))


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return train(["a dog and a cat"] * 3, TokenizerSettings(vocab_size=290))


def gru(german: Tokenizer, english: Tokenizer, seed: int = 1) -> Gru:
    torch.manual_seed(seed)
    return Gru(german.vocab_size, english.vocab_size)


def transformer(german: Tokenizer, english: Tokenizer, **settings: object) -> Transformer:
    given = {"d_model": 12, "d_ff": 17, "num_layers": 1, "num_heads": 3, "tied": "decoder", **settings}
    sizes = {"source_vocab": german.vocab_size, "target_vocab": english.vocab_size}
    return Transformer(TransformerSettings.model_validate({**given, **sizes}))


@pytest.fixture
def translator(german: Tokenizer, english: Tokenizer) -> Translator:
    return Translator([gru(german, english)], german, english, device=CPU, precision="fp32", settings=SHORT)


def test_translations_come_in_order_whatever_the_batches(translator: Translator) -> None:
    together = translator.translate(LINES)
    assert [t.source for t in together] == LINES
    in_pieces = translator.translate(LINES, SHORT.model_copy(update={"batch_tokens": 11}))
    alone = [translator.translate([line])[0] for line in LINES]
    for one, other, third in zip(together, in_pieces, alone, strict=True):
        assert one.text == other.text == third.text
        assert [h.tokens for h in one.hypotheses] == [h.tokens for h in third.hypotheses]
    assert len({t.text for t in together}) > 3


def test_an_empty_line_stays_an_empty_line(translator: Translator) -> None:
    for translation in translator.translate(["", "   ", "\t"])[:2]:
        assert translation.text == ""
        assert translation.hypotheses == ()
        assert translation.note is None
    assert translator.translate([]) == []
    assert translator.score([]) == []


def test_the_best_outputs_come_first_with_scores_that_scoring_confirms(translator: Translator) -> None:
    settings = SHORT.model_copy(update={"n_best": 3, "length_penalty": 1.0})
    translations = translator.translate(LINES[:2], settings)
    for translation in translations:
        assert translation.text == translation.hypotheses[0].text
        for h in translation.hypotheses:
            assert h.text == translator.target_tokenizer.decode(h.tokens)
            assert h.score == pytest.approx(h.log_probability * 6 / (5 + len(h.tokens) + 1))
        scores = [h.score for h in translation.hypotheses]
        assert scores == sorted(scores, reverse=True)


def test_the_best_outputs_differ_in_their_text(german: Tokenizer, english: Tokenizer) -> None:
    """A model that can spell one text by several token sequences has it several times in its beam."""
    model = gru(german, english)
    with torch.no_grad():
        model.output.bias[[english.eos_id, *english.encode("a dog and cat d o g c t n")]] = 9.0
    translator = Translator([model], german, english, device=CPU, precision="fp32")
    settings = SHORT.model_copy(update={"beam_size": 29, "max_extra": 1})
    (every,) = translator.translate(["ein Hund"], settings.model_copy(update={"n_best": 29}))
    texts = [h.text for h in every.hypotheses]
    assert len({*texts}) == len(texts) < 29
    assert every.text == texts[0]
    (few,) = translator.translate(["ein Hund"], settings.model_copy(update={"n_best": 5}))
    assert [h.text for h in few.hypotheses] == texts[:5]


def test_the_log_probability_of_a_translation_is_that_of_the_pair(
    german: Tokenizer, english: Tokenizer
) -> None:
    model = gru(german, english)
    with torch.no_grad():
        # Whole words only, so that the text is tokenised into the same tokens again.
        model.output.bias[[english.eos_id, *english.encode("a dog and cat")]] = 9.0
    translator = Translator([model], german, english, device=CPU, precision="fp32")
    settings = SHORT.model_copy(update={"method": "sample", "n_best": 5})
    for translation in translator.translate(LINES[:2], settings):
        assert len(translation.hypotheses) > 1
        scored = translator.score([(translation.source, h.text) for h in translation.hypotheses])
        for output, score in zip(translation.hypotheses, scored, strict=True):
            assert output.log_probability == pytest.approx(score.log_probability, rel=1e-4)
            assert len(score.token_log_probabilities) == len(output.tokens) + 1


def test_a_cut_translation_has_a_note(translator: Translator) -> None:
    settings = SHORT.model_copy(update={"max_length": 2, "min_length": 2})
    (translation,) = translator.translate(["ein Hund"], settings)
    assert translation.hypotheses[0].cut
    assert translation.note == "the translation was cut after 2 tokens"


def test_a_line_longer_than_the_limit_has_a_note_and_the_others_are_translated(
    german: Tokenizer, english: Tokenizer
) -> None:
    model = transformer(german, english, positions="learned", max_positions=13)
    translator = Translator([model], german, english, device=CPU, settings=SHORT)
    long = "Katze " * 17
    length = len(german.encode(long))
    first, second, third = translator.translate(["ein", long, "Hund"])
    assert first.hypotheses
    assert third.hypotheses
    assert (second.text, second.hypotheses) == ("", ())
    assert second.note == f"the line has {length} tokens; the model accepts at most 12"
    # The limit holds for the output too: 12 tokens and the end symbol.
    assert all(len(t.hypotheses[0].tokens) <= 12 for t in (first, third))
    (scored,) = translator.score([("ein", "dog " * 19)])
    assert math.isnan(scored.log_probability)
    assert "the translation has" in str(scored.note)


def test_a_line_of_a_megabyte_has_a_note_even_if_the_model_has_no_limit(translator: Translator) -> None:
    (translation,) = translator.translate(["Hund" * 250_000])
    assert translation.text == ""
    assert "the model accepts at most 2,048" in str(translation.note)


def test_a_translation_begins_with_its_prefix(translator: Translator, english: Tokenizer) -> None:
    prefixes = ["a cat", "", "dog and a"]
    for translation, prefix in zip(
        translator.translate(LINES[:2] + LINES[3:4], prefixes=prefixes), prefixes, strict=True
    ):
        forced = english.encode(prefix)
        assert list(translation.hypotheses[0].tokens[: len(forced)]) == forced
        assert translation.text.startswith(prefix)
    with pytest.raises(UserError, match="8 lines, but 3 prefixes"):
        translator.translate(LINES, prefixes=prefixes)


def test_samples_do_not_depend_on_chunks_or_batches(translator: Translator) -> None:
    settings = SHORT.model_copy(update={"method": "sample", "temperature": 2.0})
    whole = [t.text for t in translator.translate(LINES * 2, settings)]
    parts = [
        translator.translate((LINES * 2)[start : start + 3], settings, first_number=start)
        for start in range(0, 2 * len(LINES), 3)
    ]
    assert [t.text for part in parts for t in part] == whole
    small = settings.model_copy(update={"batch_tokens": 7})
    assert [t.text for t in translator.translate(LINES * 2, small)] == whole
    assert whole[: len(LINES)] != whole[len(LINES) :]


def test_progress_ends_with_every_line_done(translator: Translator) -> None:
    seen: list[tuple[int, int | None]] = []
    settings = SHORT.model_copy(update={"batch_tokens": 11})
    translator.translate(LINES, settings, progress=lambda done, total: seen.append((done, total)))
    assert seen == sorted(seen)
    assert seen[-1] == (len(LINES), len(LINES))
    assert len(seen) > 2


def test_greedy_search_has_one_output_and_no_repeated_ngram_repeats_none(translator: Translator) -> None:
    greedy = SHORT.model_copy(update={"method": "greedy", "max_extra": 31})
    plain = translator.translate(LINES[:2], greedy)
    varied = translator.translate(LINES[:2], greedy.model_copy(update={"no_repeat_ngram": 1}))
    assert any(len(set(t.hypotheses[0].tokens)) < len(t.hypotheses[0].tokens) for t in plain)
    assert all(len(set(t.hypotheses[0].tokens)) == len(t.hypotheses[0].tokens) for t in varied)
    with pytest.raises(UserError, match="greedy search returns one output, not 2"):
        translator.translate(LINES, greedy.model_copy(update={"n_best": 2}))


def test_padding_and_the_begin_symbol_are_never_written(german: Tokenizer, english: Tokenizer) -> None:
    model = gru(german, english)
    with torch.no_grad():
        model.output.bias[[english.pad_id, english.bos_id]] = 9.0
    translator = Translator([model], german, english, device=CPU, settings=SHORT)
    for translation in translator.translate(LINES[:2]):
        assert not {english.pad_id, english.bos_id} & set(translation.hypotheses[0].tokens)


def test_a_model_in_training_is_evaluated_and_left_in_training(german: Tokenizer, english: Tokenizer) -> None:
    model = transformer(german, english, dropout=0.9)
    model.encoder.eval()
    modes = [module.training for module in model.modules()]
    translator = Translator([model], german, english, device=CPU, settings=SHORT)
    assert translator.translate(LINES) == translator.translate(LINES)
    assert [module.training for module in model.modules()] == modes
    assert translator.score([("ein", "a")]) == translator.score([("ein", "a")])


@pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")
def test_int8_translates_and_its_scores_are_those_of_the_model(german: Tokenizer, english: Tokenizer) -> None:
    model = transformer(german, english)
    exact, coarse = (
        Translator([model], german, english, device=CPU, precision=precision, settings=SHORT)
        for precision in ("fp32", "int8")
    )
    found = coarse.translate(LINES)
    assert [one.source for one in found] == LINES
    assert found[2].text == found[4].text == ""
    pairs = [(one.source, one.text) for one in found if one.text]
    for one, other in zip(exact.score(pairs), coarse.score(pairs), strict=True):
        assert other.log_probability == pytest.approx(one.log_probability, rel=0.02)


def test_an_ensemble_scores_pairs_by_the_mean_of_the_probabilities(
    german: Tokenizer, english: Tokenizer
) -> None:
    models = [gru(german, english, 2), transformer(german, english)]
    pairs = [("ein Hund", "a dog"), ("Katze", ""), ("eine Katze und", "a cat and a dog and a cat")]
    found = Translator(models, german, english, device=CPU, precision="fp32").score(pairs)
    each = [Translator([m], german, english, device=CPU, precision="fp32").score(pairs) for m in models]
    for n, score in enumerate(found):
        tokens = [one[n].token_log_probabilities for one in each]
        expected = [math.log((math.exp(a) + math.exp(b)) / 2) for a, b in zip(*tokens, strict=True)]
        assert score.token_log_probabilities == pytest.approx(expected, rel=1e-5)
        assert score.log_probability == pytest.approx(sum(expected), rel=1e-5)
    assert len(found[1].token_log_probabilities) == 1


def test_scores_of_pairs_come_in_order_whatever_the_batches(translator: Translator) -> None:
    pairs = [(line, "a dog and " * (n % 4)) for n, line in enumerate(LINES)]
    together = translator.score(pairs)
    for pair, score in zip(pairs, together, strict=True):
        (alone,) = translator.score([pair], batch_tokens=1)
        assert score.log_probability == pytest.approx(alone.log_probability, rel=1e-5)


class Broken(Gru):
    """A model whose training has diverged."""

    def step(self, tokens_R: Tensor, state: object) -> tuple[Tensor, object]:  # type: ignore[override]
        logits, state = super().step(tokens_R, state)  # type: ignore[arg-type]
        return logits * math.nan, state


def test_a_diverged_model_is_a_clear_error(german: Tokenizer, english: Tokenizer) -> None:
    model = Broken(german.vocab_size, english.vocab_size)
    with pytest.raises(UserError, match="the model's scores are not finite numbers"):
        Translator([model], german, english, device=CPU).translate(LINES)


def save(folder: Path, model: nn.Module, tokenizers: tuple[Tokenizer, Tokenizer]) -> Path:
    assert isinstance(model, Transformer)
    recipe = replace(load("quickstart"), model=model.settings, search=SHORT)
    with Run.create(folder, with_horizon(recipe), tokenizers, {"data": {}}) as run:
        run.save_model(model.state_dict(), {"step": 1})
    return folder


def test_runs_are_loaded_alone_and_together(tmp_path: Path, german: Tokenizer, english: Tokenizer) -> None:
    torch.manual_seed(1)
    models = [transformer(german, english), transformer(german, english, d_model=15)]
    folders = [save(tmp_path / str(n), model, (german, english)) for n, model in enumerate(models)]
    alone = Translator.load(folders[0], precision="fp32")
    assert alone.settings == SHORT
    here = Translator([models[0]], german, english, device=CPU, precision="fp32", settings=SHORT)
    assert alone.translate(LINES) == here.translate(LINES)
    both = Translator.load(*folders, device="cpu", precision="fp32")
    here = Translator(models, german, english, device=CPU, precision="fp32", settings=SHORT)
    assert both.translate(LINES) == here.translate(LINES)


def test_runs_of_different_vocabularies_are_refused(
    tmp_path: Path, german: Tokenizer, english: Tokenizer
) -> None:
    other = train(["a bird and a fish"] * 3, TokenizerSettings(vocab_size=290))
    one = save(tmp_path / "one", transformer(german, english), (german, english))
    two = save(tmp_path / "two", transformer(german, other), (german, other))
    with pytest.raises(UserError, match=r"its target vocabulary differs from that of .*one"):
        Translator.load(one, two)
