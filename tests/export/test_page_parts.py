"""The parts of an exported page: refusals, tokens, attention and ids against those of Python, run by node."""

import base64
import gzip
import hashlib
import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from live_pages import in_node, lines, page_parts, reversing, vocabulary
from numpy.typing import NDArray
from tokenizers import Tokenizer as Library

from multihead.apps.export.page import PageParts
from multihead.apps.export.page.exporting import ENGINE
from multihead.apps.export.page.reference import LEVEL, PageReference
from multihead.batch import PairBatch, Source
from multihead.errors import UserError
from multihead.inspect.maps import record
from multihead.models.transformer import Settings, Transformer
from multihead.nn import DecoderLayer
from multihead.nn.description import EncoderDecoderSpec, describe
from multihead.nn.feed_forward import FeedForward
from multihead.recipe.settings import SearchSettings
from multihead.search.request import LengthLimits
from multihead.system import native
from multihead.text.tokenizer import Tokenizer

needs_native = pytest.mark.skipif(
    LEVEL not in native.LEVELS, reason="the native kernels are not compiled here"
)
SENTENCES = 61
VARIANTS: dict[str, dict[str, Any]] = {
    "post-norm": {},
    "pre-norm, learned positions": {"norm": "pre", "positions": "learned", "max_positions": 83},
    "SSRU": {
        "decoder_cell": "ssru", "first_input": "zero", "positions": "sinusoidal_concatenated",
        "output_bias": True, "decoder_layers": 1, "num_heads": 4,
    },
    "untied, grouped keys, other widths": {
        "tied": "none", "num_heads": 4, "num_kv_heads": 2, "d_v": 7, "norm": "pre",
    },
    "no positions, unscaled": {"positions": "none", "score": "dot", "tied": "decoder"},
}  # fmt: skip


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return vocabulary()


@cache
def variant(name: str) -> Transformer:
    return reversing(vocabulary(), **VARIANTS[name])


@needs_native
@pytest.mark.parametrize("exact", [False, True], ids=["int8", "float32"])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_page_writes_the_tokens_of_the_native_baseline(
    name: str, exact: bool, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = variant(name)
    made = page_parts(model, tokenizer, exact=exact)
    described = describe(model, EncoderDecoderSpec)
    dtype = torch.float32 if exact else torch.int8
    reference = PageReference(described, dtype, (tokenizer.bos_id, tokenizer.eos_id, tokenizer.pad_id))
    sources = [tokenizer.encode(line) for line in lines(SENTENCES, seed=77)]
    limits = LengthLimits(made.facts["max_extra"], 0, 0, made.facts["limit"])
    widths = (1, 4)
    answers = in_node(
        made,
        tmp_path,
        [{"kind": "search", "sources": sources, "beam": beam, "alpha": 0.6} for beam in widths],
    )
    for beam, found in zip(widths, answers, strict=True):
        expected = reference.translate(sources, limits, beam, 0.6)
        same = sum(tuple(one[0]["ids"]) == tokens for one, tokens in zip(found, expected, strict=True))
        assert len(set(expected)) >= SENTENCES // 8
        # Rounding may decide a near tie of this hardly trained model in another way.
        assert same >= SENTENCES - (beam > 1 or not exact)


def recorded(
    model: Transformer, tokenizer: Tokenizer, source: list[int], target: list[int]
) -> dict[str, Any]:
    """Python's weights: (layers, H, rows, columns) by kind."""
    read = [*source, tokenizer.eos_id]
    written = [tokenizer.bos_id, *target, tokenizer.eos_id]
    batch = PairBatch(
        Source(torch.tensor([read]), torch.tensor([len(read)])),
        torch.tensor([written]),
        torch.tensor([len(written) - 1]),
        len(written) - 1,
    )
    found: dict[str, list[NDArray[np.float32]]] = {"encoder": [], "own": [], "cross": []}
    for one in record(model, batch):
        kind = "encoder" if one.module.startswith("encoder") else "cross" if "cross" in one.module else "own"
        found[kind].append(one.sentence(0))
    return {kind: np.stack(maps) for kind, maps in found.items()}


@pytest.mark.parametrize(("exact", "tolerance"), [(True, 1e-5), (False, 0.03)], ids=["float32", "int8"])
def test_the_weights_that_are_drawn_are_the_models(
    exact: bool, tolerance: float, tokenizer: Tokenizer, tmp_path: Path
) -> None:
    model = variant("untied, grouped keys, other widths")
    source, target = (
        tokenizer.encode("zwei Katzen schlafen und ein Hund läuft"),
        tokenizer.encode("Hund ein und"),
    )
    made = page_parts(model, tokenizer, exact=exact)
    request = {"kind": "replay", "source": source, "target": target, "complete": True}
    (found,) = in_node(made, tmp_path, [request])
    expected = recorded(model, tokenizer, source, target)
    for kind, maps in expected.items():
        np.testing.assert_allclose(
            np.array(found[kind]).reshape(maps.shape), maps, atol=tolerance, err_msg=kind
        )
    assert found["ids"] == [*target, tokenizer.eos_id]


def test_alternatives_and_probabilities_are_the_models(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = variant("post-norm")
    source, target = tokenizer.encode("zwei Katzen schlafen"), tokenizer.encode("schlafen Katzen")
    made = page_parts(model, tokenizer, exact=True)
    request = {"kind": "replay", "source": source, "target": target, "complete": True}
    (found,) = in_node(made, tmp_path, [request])
    with torch.no_grad():
        logits = model(
            torch.tensor([[*source, tokenizer.eos_id]]), torch.tensor([[tokenizer.bos_id, *target]])
        )[0]
    shares = logits.softmax(-1)
    chosen = shares[torch.arange(len(target) + 1), torch.tensor([*target, tokenizer.eos_id])]
    np.testing.assert_allclose(found["probabilities"], chosen.numpy(), atol=1e-5)
    shares[:, [tokenizer.pad_id, tokenizer.bos_id]] = 0
    count = found["alternatives"]["count"]
    best = shares.topk(count)
    assert found["alternatives"]["ids"] == best.indices.flatten().tolist()
    np.testing.assert_allclose(
        found["alternatives"]["probabilities"], best.values.flatten().numpy(), atol=1e-5
    )


def test_a_choice_of_the_reader_is_continued_greedily(tokenizer: Tokenizer, tmp_path: Path) -> None:
    model = variant("post-norm")
    source = tokenizer.encode("ein Hund läuft über die Wiese")
    made = page_parts(model, tokenizer)
    replay = {"kind": "replay", "source": source, "complete": False}
    search, whole = in_node(
        made, tmp_path, [{"kind": "search", "sources": [source], "beam": 1}, {**replay, "target": []}]
    )
    assert whole["ids"] == [*search[0][0]["ids"], tokenizer.eos_id]
    beginning = tokenizer.encode("grün grün")
    (other,) = in_node(made, tmp_path, [{**replay, "target": beginning}])
    assert other["ids"][: len(beginning)] == beginning
    assert other["ids"] != whole["ids"]


def test_checksums_are_sha256(tokenizer: Tokenizer, tmp_path: Path) -> None:
    texts = [
        bytes(range(n % 256)) * (1 + n // 100) for n in (0, 1, 3, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1000)
    ]
    made = page_parts(reversing(tokenizer, steps=0), tokenizer)
    request = {"kind": "checksum", "texts": [base64.b64encode(text).decode() for text in texts]}
    (found,) = in_node(made, tmp_path, [request])
    assert found == [hashlib.sha256(text).hexdigest() for text in texts]


def test_weights_that_are_cut_short_are_not_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    made = page_parts(reversing(tokenizer, steps=0), tokenizer)
    requests = [
        {"kind": "load", "cut": cut} for cut in (0, 40, 200, len(made.weights) // 2, len(made.weights))
    ]
    assert in_node(made, tmp_path, requests) == ["damaged"] * 4 + ["loaded"]


def refusal(model: Any, tokenizer: Tokenizer, **given: Any) -> str:
    with pytest.raises(UserError) as found:
        page_parts(model, tokenizer, **given)
    return str(found.value)


@pytest.mark.parametrize(
    ("settings", "reasons"),
    [
        ({"positions": "rotary", "num_heads": 4}, ['positions = "rotary"']),
        ({"activation": "gelu"}, ['activation = "gelu", not "relu"']),
        ({"window": 3, "score": "additive"}, ["window = 3", 'score = "additive"']),
        ({"norm": "batch"}, ["PostBatchNorm"]),
    ],
)
def test_a_model_that_a_page_cannot_express_is_refused_with_every_reason(
    settings: dict[str, Any], reasons: list[str], tokenizer: Tokenizer
) -> None:
    message = refusal(reversing(tokenizer, steps=0, **settings), tokenizer)
    assert "a page cannot express this model" in message
    assert all(reason in message for reason in reasons), message


@pytest.mark.parametrize("kind", ["bpe", "words"])
def test_a_vocabulary_that_the_script_cannot_read_is_refused(kind: str) -> None:
    tokenizer = vocabulary(kind=kind)
    content = {**tokenizer.content, "pre_tokenizer": {"type": "BertPreTokenizer"}}
    foreign = Tokenizer(Library.from_str(json.dumps(content)))
    assert "a pre-tokenizer that multihead does not train" in refusal(reversing(foreign, steps=0), foreign)


def test_a_layer_that_computes_something_else_is_refused(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = reversing(tokenizer, steps=0)
    plain = FeedForward.forward
    monkeypatch.setattr(FeedForward, "forward", lambda self, x: 1.5 * plain(self, x))
    assert "the page computes a different model" in refusal(model, tokenizer)


def test_a_change_that_the_steps_lack_is_reported(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """A page searches by the steps, as the model itself does, and training has computed something else."""
    model = reversing(tokenizer, steps=0)
    plain = DecoderLayer.forward
    monkeypatch.setattr(DecoderLayer, "forward", lambda self, x, *given: x + plain(self, x.flip(-1), *given))
    page_parts(model, tokenizer)
    (message,) = caplog.messages
    assert "Training and search compute different probabilities" in message


def test_a_multilingual_model_carries_the_tags_of_its_directions() -> None:
    tokenizer = vocabulary(symbols=["<2en>", "<2ko>"], vocab_size=301)
    made = page_parts(reversing(tokenizer, steps=0), tokenizer, directions=[("de", "en"), ("de", "ko")])
    tags = [(one["target"], one["tags"]) for one in made.facts["directions"]]
    assert tags == [("en", [tokenizer.symbols["<2en>"]]), ("ko", [tokenizer.symbols["<2ko>"]])]


def test_the_search_settings_of_the_run_are_those_of_the_page(tokenizer: Tokenizer) -> None:
    search = SearchSettings(beam_size=7, length_penalty=1.5, max_extra=13, max_length=29)
    recipe = SimpleNamespace(search=search, data=SimpleNamespace(source_language="de", target_language="en"))
    facts = page_parts(reversing(tokenizer, steps=0), tokenizer, recipe=recipe).facts
    assert [facts[key] for key in ("beam_size", "length_penalty", "max_extra", "max_length")] == [
        7,
        1.5,
        13,
        29,
    ]


def test_a_page_of_two_million_parameters_is_small() -> None:
    settings = {"source_vocab": 6000, "target_vocab": 6000, "d_model": 128, "d_ff": 256, "num_layers": 4}
    model = Transformer(Settings.model_validate({**settings, "num_heads": 4, "norm": "pre"}))
    tokenizer = vocabulary()
    made: PageParts = page_parts(model, tokenizer)
    in_base64 = [4 * len(gzip.compress(content, 9)) / 3 for content in (made.engine, made.weights)]
    assert in_base64[0] <= 150e3
    assert sum(in_base64) <= 3.3e6


def test_the_engine_is_what_its_source_compiles_to(tmp_path: Path) -> None:
    compiler, linker = shutil.which("clang++-19"), shutil.which("wasm-ld-19")
    if not compiler or not linker or not Path("/usr/lib/wasm32-wasi/libc.a").exists():
        pytest.skip("no clang 19 for WebAssembly here (Makefile, wasm)")
    made, root = tmp_path / "engine.wasm", Path(__file__).parents[2]
    command = ["make", "--silent", "wasm", f"WASM={made}", f"WASM_OBJECT={tmp_path / 'page.o'}"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert made.read_bytes() == ENGINE.read_bytes(), "native/ has changed: run `make wasm`"
