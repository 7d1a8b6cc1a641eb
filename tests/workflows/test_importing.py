"""Import of GPT-2 and BERT from random transformers models: equal logits, and errors."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Captured, fail, run
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.testing import assert_close
from transformers import BertConfig, BertForPreTraining, BertModel, GPT2Config, GPT2LMHeadModel

from multihead.batch import Input
from multihead.run import Run

WORDS = [f"w{n}" for n in range(31)]


def write_tokenizer(folder: Path, specials: list[str]) -> int:
    vocabulary = {word: number for number, word in enumerate([*specials, *WORDS])}
    library = Tokenizer(models.WordLevel(vocabulary, unk_token=specials[0]))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.add_special_tokens(specials)
    library.save(str(folder / "tokenizer.json"))
    return len(vocabulary)


def randomised(model: Any) -> Any:
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


@pytest.fixture
def gpt2(tmp_path: Path) -> tuple[Path, Any]:
    folder = tmp_path / "gpt2"
    folder.mkdir()
    size = write_tokenizer(folder, ["<|endoftext|>"])
    theirs = randomised(
        GPT2LMHeadModel(GPT2Config(vocab_size=size, n_positions=13, n_embd=14, n_layer=2, n_head=2))
    )
    theirs.save_pretrained(folder)
    return folder, theirs


@pytest.fixture
def bert(tmp_path: Path) -> tuple[Path, Any]:
    folder = tmp_path / "bert"
    folder.mkdir()
    size = write_tokenizer(folder, ["[UNK]", "[PAD]", "[CLS]", "[SEP]", "[MASK]"])
    config = BertConfig(
        vocab_size=size,
        hidden_size=14,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=17,
        max_position_embeddings=19,
    )
    theirs = randomised(BertForPreTraining(config))
    theirs.save_pretrained(folder)
    return folder, theirs


@torch.no_grad()
def test_an_imported_gpt2_has_equal_logits_and_generates(
    gpt2: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs = gpt2
    out, _ = run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    assert "generate" in out
    ids = torch.randint(0, 32, (3, 11))
    ours = Run.open(tmp_path / "run").load_model()
    assert_close(ours(ids), theirs(ids).logits, atol=1e-4, rtol=1e-5)
    out, _ = run(capfdbinary, "generate", tmp_path / "run", "--prompt", "w3 w5", "--max-tokens", "4")
    assert out.startswith("w3 w5")


@torch.no_grad()
def test_an_imported_bert_has_equal_logits_and_fills_masks(
    bert: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs = bert
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    ids = torch.randint(5, 36, (3, 11))
    read = Input(ids, torch.zeros_like(ids), torch.full((3,), 11))
    predictions, is_next = Run.open(tmp_path / "run").load_model()(read)
    expected = theirs(ids)
    assert_close(predictions, expected.prediction_logits, atol=1e-4, rtol=1e-5)
    assert_close(is_next, expected.seq_relationship_logits, atol=1e-4, rtol=1e-5)
    out, _ = run(capfdbinary, "fill", tmp_path / "run", "w1 [MASK] w2", "--top", "2")
    assert out.count("%") == 2


@torch.no_grad()
def test_berts_encoder_alone_is_imported_for_fine_tuning(
    bert: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, theirs = bert
    BertModel.from_pretrained(folder).save_pretrained(folder)
    out, _ = run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    assert "no masked-language-model head" in out
    assert "train --init" in out
    ids = torch.randint(5, 36, (3, 11))
    read = Input(ids, torch.zeros_like(ids), torch.full((3,), 11))
    encoder: Any = Run.open(tmp_path / "run").load_model().encoder
    assert_close(encoder(read), theirs.bert(ids).last_hidden_state, atol=1e-4, rtol=1e-5)


def test_fine_tuning_starts_from_an_import(
    gpt2: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _ = gpt2
    run(capfdbinary, "import", folder, "-o", tmp_path / "run")
    (tmp_path / "text.txt").write_text("w1 w2 w3 w4\n" * 97, encoding="utf-8")
    small = {"steps": 2, "warmup_steps": 1, "batch_tokens": 53, "threads": 1, "learning_rate": 1e-9}
    keys = [part for key, value in small.items() for part in (f"--training.{key}", value)]
    keys += ["--validation.every", 2, "--data.files", str(tmp_path / "text.txt")]
    run(capfdbinary, "train", "--init", tmp_path / "run", *keys, "--run", tmp_path / "tuned")
    before, after = (Run.open(tmp_path / name).load_model().state_dict() for name in ("run", "tuned"))
    assert all((before[name] - after[name]).abs().max() < 1e-6 for name in before)


def test_a_malformed_folder_is_refused(bert: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured) -> None:
    folder, _ = bert
    weights, words = load_file(folder / "model.safetensors"), "bert.embeddings.word_embeddings.weight"
    vector = {**weights, words: weights[words][:, 0].contiguous()}
    unnumbered = {**weights, "bert.encoder.layer.x.weight": torch.zeros(3)}
    for odd in (vector, unnumbered):
        save_file(odd, folder / "model.safetensors")
        error = fail(capfdbinary, "import", folder, "-o", tmp_path / "new")
        assert "not a bert model in the format of the transformers library" in error
    (folder / "model.safetensors.index.json").write_text('{"weight_map": ["model.safetensors"]}')
    error = fail(capfdbinary, "import", folder, "-o", tmp_path / "new")
    assert "not a bert model in the format of the transformers library" in error
    assert not (tmp_path / "new").exists()


def test_an_unsupported_model_is_refused(
    gpt2: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    folder, _ = gpt2
    new = tmp_path / "new"

    def error(directory: Path = folder) -> str:
        message = fail(capfdbinary, "import", directory, "-o", new)
        assert not new.exists()
        return message

    assert "no such folder" in error(tmp_path / "nowhere")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "model_type": "mamba"}))
    assert 'model_type "mamba" is not supported; supported are bert, gpt2, ' in error()
    (folder / "config.json").write_text(json.dumps({**config, "layer_norm_epsilon": 1e-3}))
    assert "layer_norm_epsilon = 0.001 is not supported, only 1e-05" in error()
    (folder / "config.json").write_text(json.dumps({**config, "n_inner": 15}))
    assert "the weights do not match config.json" in error()
    for key, odd in itertools.product(
        ("n_layer", "n_embd", "n_positions", "vocab_size"), (10**9, 2**63, 2**70)
    ):
        (folder / "config.json").write_text(json.dumps({**config, key: odd}))
        assert "config.json" in error() or "not a gpt2 model in the format" in error()
    (folder / "config.json").write_text(json.dumps(config))

    weights = load_file(folder / "model.safetensors")
    save_file({name: w for name, w in weights.items() if "h.1.mlp" not in name}, folder / "model.safetensors")
    assert "'h.1.mlp" in error()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    assert "pytorch_model.bin is a pickle" in error()
    assert "transformers.GPT2LMHeadModel.from_pretrained(DIR).save_pretrained(NEW)" in error()
    (folder / "pytorch_model.bin").rename(folder / "model.safetensors")
    save_file(weights, folder / "model.safetensors")
    (folder / "tokenizer.json").unlink()
    assert "there is no tokenizer.json" in error()
    write_tokenizer(folder, ["<|endoftext|>", "<more>"])
    assert "33 tokens, but the model has 32" in error()


def test_source_and_target_files_are_for_translators(capfdbinary: Captured) -> None:
    error = fail(capfdbinary, "train", "shakespeare-char-cpu", "--src", "a", "--tgt", "b")
    assert "are for translators" in error
