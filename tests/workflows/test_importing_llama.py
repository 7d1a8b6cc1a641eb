"""Import of Llama and Mixtral from random transformers models: equal logits, and errors."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from command_line import Captured, fail, run
from tokenizers import Tokenizer, models, pre_tokenizers
from torch.testing import assert_close
from transformers import LlamaConfig, LlamaForCausalLM, MixtralConfig, MixtralForCausalLM

from multihead.run import Run

NAMES = ["<|begin_of_text|>", "<|end_of_text|>", *(f"w{n}" for n in range(30))]


@pytest.fixture(params=["llama"])
def folder(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Any]:
    kind: str = request.param
    path = tmp_path / kind
    path.mkdir()
    library = Tokenizer(models.WordLevel({name: n for n, name in enumerate(NAMES)}, unk_token=NAMES[1]))
    library.pre_tokenizer = pre_tokenizers.Whitespace()
    library.add_special_tokens(NAMES[:2])
    library.save(str(path / "tokenizer.json"))
    config: Any = LlamaConfig if kind == "llama" else MixtralConfig
    model: Any = LlamaForCausalLM if kind == "llama" else MixtralForCausalLM
    theirs: Any = model(
        config(
            vocab_size=32,
            hidden_size=24,
            num_hidden_layers=2,
            num_attention_heads=6,
            num_key_value_heads=2,
            intermediate_size=29,
            max_position_embeddings=17,
            **({"num_local_experts": 3, "num_experts_per_tok": 2} if kind == "mixtral" else {}),
        )
    )
    if kind == "mixtral":
        theirs.set_experts_implementation("eager")
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    theirs.eval().save_pretrained(path)
    return path, theirs


@torch.no_grad()
@pytest.mark.parametrize("folder", ["llama", "mixtral"], indirect=True)
def test_an_imported_model_has_equal_logits_and_generates(
    folder: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    path, theirs = folder
    out, _ = run(capfdbinary, "import", path, "-o", tmp_path / "run")
    assert "generate" in out
    ids = torch.randint(0, 32, (3, 11))
    ours = Run.open(tmp_path / "run").load_model()
    assert_close(ours(ids), theirs(ids).logits, atol=1e-4, rtol=1e-4)
    out, _ = run(capfdbinary, "generate", tmp_path / "run", "--prompt", "w3 w5", "--max-tokens", "4")
    assert out.startswith("w3 w5")


@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"attention_bias": True}, "attention_bias = True is not supported, only False"),
        ({"rope_scaling": {"rope_type": "yarn"}, "rope_parameters": None}, 'of the type "yarn"'),
        ({"hidden_act": "relu2"}, 'hidden_act "relu2" is not supported; supported are silu'),
        ({"intermediate_size": 31}, "the weights do not match config.json"),
        ({"rope_parameters": [1]}, "not a llama model in the format of the transformers library"),
    ],
)
def test_what_our_llama_cannot_express_is_refused(
    changes: dict[str, Any], fact: str, folder: tuple[Path, Any], tmp_path: Path, capfdbinary: Captured
) -> None:
    path, _ = folder
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps({**config, **changes}))
    assert fact in fail(capfdbinary, "import", path, "-o", tmp_path / "new")
    assert not (tmp_path / "new").exists()
