"""Import of MarianMT from random transformers models: equal logits, equal translations, and errors."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from command_line import Captured, fail, run
from torch.testing import assert_close
from transformers import MarianConfig, MarianMTModel, MarianTokenizer

from multihead.batch import Source
from multihead.recipe.settings import SearchSettings
from multihead.run import Run
from multihead.tasks.translation.lines import Translator

sentencepiece = pytest.importorskip("sentencepiece", reason="the optional sentencepiece is not installed")
WORDS = ["haus", "baum", "hund", "katze", "rot", "blau", "grau", "klein", "gross", "sieht", "läuft"]
LINES = [" ".join(WORDS[(i * j + j) % 11] for j in range(1, 3 + i % 5)) for i in range(211)]


def spm(lines: list[str]) -> bytes:
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=made,
        vocab_size=47,
        hard_vocab_limit=False,
        minloglevel=2,
        num_threads=1,
    )
    return made.getvalue()


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with source.spm, target.spm and vocab.json; the end symbol comes first, padding last."""
    folder = tmp_path_factory.mktemp("vocabulary")
    pieces: dict[str, None] = {"</s>": None, "<unk>": None}
    for name, lines in (("source.spm", LINES), ("target.spm", [line.upper() for line in LINES])):
        (folder / name).write_bytes(model := spm(lines))
        library = sentencepiece.SentencePieceProcessor(model_proto=model)
        pieces |= {library.id_to_piece(number): None for number in range(3, library.get_piece_size())}
    numbers = {piece: number for number, piece in enumerate([*pieces, "<pad>"])}
    (folder / "vocab.json").write_text(json.dumps(numbers))
    return folder


Made = tuple[Path, Any, Any]
"""A folder, its model, its tokenizer."""


@pytest.fixture
def marian(vocabulary: Path, tmp_path: Path) -> Callable[..., Made]:
    def make(**keys: Any) -> Made:
        folder = tmp_path / "marian"
        files = [str(vocabulary / name) for name in ("source.spm", "target.spm", "vocab.json")]
        cut: Any = MarianTokenizer
        tokenizer, kind = cut(*files), cast(Any, MarianConfig)
        config = kind(
            vocab_size=tokenizer.vocab_size,
            d_model=22,
            encoder_layers=3,
            decoder_layers=2,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=37,
            decoder_ffn_dim=37,
            max_position_embeddings=101,
            scale_embedding=True,
            pad_token_id=tokenizer.pad_token_id,
            decoder_start_token_id=tokenizer.pad_token_id,
            eos_token_id=tokenizer.eos_token_id,
            forced_eos_token_id=None,
            bad_words_ids=[[tokenizer.pad_token_id]],
            **{"activation_function": "swish", **keys},
        )
        theirs: Any = MarianMTModel(config)
        torch.manual_seed(7)
        for name, parameter in theirs.named_parameters():
            if parameter.requires_grad:
                mean, std = float("norm.weight" in name), 0.1 if parameter.dim() == 1 else 1.0
                torch.nn.init.normal_(parameter, mean=mean, std=0.06 if "shared" in name else std)
        torch.nn.init.normal_(theirs.final_logits_bias, std=0.05)
        theirs.eval().save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder, theirs, tokenizer

    return make


@pytest.mark.parametrize("activation", ["swish", "relu", "gelu"])
@torch.no_grad()
def test_an_imported_marian_has_equal_logits(
    activation: str, marian: Callable[..., Made], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs, _ = marian(activation_function=activation)
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    ours = Run.open(tmp_path / "run").load_model()
    lengths = torch.tensor([11, 7, 1])
    ids, target = torch.randint(2, 43, (3, 11)), torch.randint(2, 43, (3, 13))
    real = torch.arange(11) < lengths[:, None]
    source = Source(torch.where(real, ids, theirs.config.pad_token_id), lengths)
    expected = theirs(source.ids_BS, attention_mask=real.long(), decoder_input_ids=target).logits
    assert expected.std() > 0.2
    assert_close(ours(source.ids_BS, target, source.lengths_B), expected, atol=1e-4, rtol=1e-5)


def test_an_imported_marian_translates_as_the_original(
    marian: Callable[..., Made], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs, tokenizer = marian()
    out, _ = run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    assert "translate" in out
    lines = LINES[:23]
    (tmp_path / "in").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    # In fp32, because bf16 breaks near ties differently.
    translator = Translator.load(tmp_path / "run", device="cpu", precision="fp32")
    settings = SearchSettings(method="greedy", max_length=17, max_extra=99, replace_unknown=False)
    found = translator.translate(lines, settings)
    read = tokenizer(lines, return_tensors="pt", padding=True)
    written = theirs.generate(**read, num_beams=1, do_sample=False, max_new_tokens=17)
    for one, row in zip(found, written[:, 1:].tolist(), strict=True):
        expected = row[: row.index(0)] if 0 in row else row
        assert list(one.hypotheses[0].tokens)[:17] == expected
        if tokenizer.unk_token_id not in expected:
            assert one.text.split() == tokenizer.decode(expected).split()
    assert len({one.text for one in found}) > 2
    out, _ = run(capfdbinary, "translate", tmp_path / "run", "-i", tmp_path / "in", "--max-length", 17)
    assert out.count("\n") == 23
    files = ["--src", tmp_path / "in", "--tgt", tmp_path / "in"]
    out, _ = run(capfdbinary, "evaluate", tmp_path / "run", *files, "--max-length", 17)
    assert "BLEU" in out
    run(capfdbinary, "inspect", tmp_path / "run", lines[3], "-o", tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_a_tokenizer_json_serves_both_sides(
    marian: Callable[..., Made], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _, _ = marian()
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    converted = (tmp_path / "run" / "tokenizer.target.json").read_text(encoding="utf-8")
    (folder / "tokenizer.json").write_text(converted, encoding="utf-8")
    (folder / "source.spm").unlink()
    run(capfdbinary, "import", folder, "-o", tmp_path / "other")
    source, target = Run.open(tmp_path / "other").tokenizers()
    assert source is target
    assert source.encode("HAUS") == Run.open(tmp_path / "run").tokenizers()[1].encode("HAUS")


def test_an_imported_marian_can_be_fine_tuned(
    marian: Callable[..., Made], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _, _ = marian(dropout=0.0)
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    for name, lines in (("train.de", LINES), ("train.en", [line.upper() for line in LINES])):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    keys = {
        "training.steps": 2,
        "training.warmup_steps": 1,
        "training.learning_rate": 1e-9,
        "training.batch_tokens": 211,
        "training.threads": 1,
        "validation.every": 2,
        "validation.max_examples": 3,
        "search.max_length": 5,
        "data.cache": tmp_path / "cache",
    }
    given = [str(part) for key, value in keys.items() for part in (f"--{key}", value)]
    corpus = ["--src", tmp_path / "train.de", "--tgt", tmp_path / "train.en"]
    run(capfdbinary, "train", "--init", tmp_path / "run", *corpus, *given, "--run", tmp_path / "tuned")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("run", "tuned"))
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in before)
    assert any((before[name] != after[name]).any() for name in before)


def test_an_unsupported_marian_is_refused(
    marian: Callable[..., Made], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _, tokenizer = marian()
    config = json.loads((folder / "config.json").read_text())

    def error(**keys: object) -> str:
        (folder / "config.json").write_text(json.dumps({**config, **keys}))
        message = fail(capfdbinary, "import", folder, "-o", tmp_path / "run")
        assert not (tmp_path / "run").exists()
        return message

    assert "normalize_before = True is not supported" in error(normalize_before=True)
    assert "share_encoder_decoder_embeddings = False is not" in error(share_encoder_decoder_embeddings=False)
    assert "scale_embedding = False" in error(scale_embedding=False)
    assert "not a marian model in the format of the transformers library" in error(d_model="22")
    assert "encoder_ffn_dim = 37 and decoder_ffn_dim = 41" in error(decoder_ffn_dim=41)
    assert 'activation_function "tanh" is not supported' in error(activation_function="tanh")
    assert f"decoder_start_token_id = 3, but {tokenizer.pad_token_id} in the tokenizer" in error(
        decoder_start_token_id=3
    )
    (folder / "source.spm").write_bytes(b"damaged")
    assert "source.spm: not a SentencePiece model" in error()
    (folder / "source.spm").unlink()
    assert "neither source.spm, target.spm and vocab.json nor a tokenizer.json" in error()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "transformers.MarianMTModel.from_pretrained(DIR)" in error()
