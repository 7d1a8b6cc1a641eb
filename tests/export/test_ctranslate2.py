"""Exported models: our search against CTranslate2's on the same weights, token by token."""

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from multihead.apps.export.ctranslate2 import not_expressible, specification
from multihead.batch import PairBatch, Source
from multihead.errors import UserError
from multihead.models.transformer import Settings, Transformer
from multihead.nn.description import EncoderDecoderSpec, describe
from multihead.nn.losses import objective
from multihead.search.beam import beam
from multihead.search.greedy import greedy
from multihead.search.hypotheses import Hypothesis
from multihead.search.request import LengthLimits

PAD, UNKNOWN, BEGIN, END = 0, 1, 2, 3
VOCABULARY = 41
SIZES = {
    "source_vocab": VOCABULARY,
    "target_vocab": VOCABULARY,
    "d_model": 22,
    "d_ff": 37,
    "num_heads": 2,
    "dropout": 0,
}
NAMES = ["<pad>", "<unk>", "<s>", "</s>", *(f"w{number}" for number in range(4, VOCABULARY))]


def model(**settings: object) -> Transformer:
    """Return a Transformer half trained to copy its source, so that its outputs differ and end."""
    torch.manual_seed(3)
    made = Transformer(Settings.model_validate({"num_layers": 2, "dropout": 0, **SIZES, **settings}))
    optimizer = torch.optim.Adam(made.parameters(), lr=4e-3)
    for _ in range(40):
        lines = sources(53)
        target = [[BEGIN, *line, END] for line in lines]
        width = max(map(len, target))
        target_BT = torch.tensor([line + [PAD] * (width - len(line)) for line in target])
        lengths_B = torch.tensor([len(line) - 1 for line in target])
        batch = PairBatch(as_source(lines), target_BT, lengths_B, int(lengths_B.sum()))
        optimizer.zero_grad()
        objective(made.loss(batch, 0), batch.counts).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return made.eval()


def sources(count: int) -> list[list[int]]:
    lengths = [1 + number % 13 for number in range(count)]
    return [torch.randint(4, VOCABULARY, (length,)).tolist() for length in lengths]


def theirs(model: Transformer, folder: Path) -> Any:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    spec = specification(model)
    spec.register_source_vocabulary(NAMES)
    spec.register_target_vocabulary(NAMES)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    folder.mkdir(exist_ok=True)
    spec.save(str(folder))
    return ctranslate2.Translator(str(folder), inter_threads=1, intra_threads=1, compute_type="float32")


def as_source(batch: list[list[int]]) -> Source:
    width = max(map(len, batch)) + 1
    ids = [[*one, END] + [PAD] * (width - len(one) - 1) for one in batch]
    return Source(torch.tensor(ids), torch.tensor([len(one) + 1 for one in batch]))


def search_lines(translator: Any, batch: list[list[int]], **settings: Any) -> list[Any]:
    named = [[NAMES[number] for number in one] for one in batch]
    found: list[Any] = translator.translate_batch(
        named,
        max_decoding_length=LONGEST,
        return_scores=True,
        length_penalty=0,
        min_decoding_length=0,
        **settings,
    )
    return found


LONGEST = 23
LIMITS = LengthLimits(max_length=LONGEST)
VARIANTS: dict[str, dict[str, object]] = {
    "as published": {},
    "pre-norm": {"norm": "pre"},
    "the authors' positions": {"positions": "sinusoidal_concatenated"},
    "learned positions": {"positions": "learned", "max_positions": 29},
    "no positions": {"positions": "none"},
    "GELU": {"activation": "gelu"},
    "SiLU, and a bias in the output layer": {"activation": "silu", "output_bias": True},
    "decoder's matrices tied": {"tied": "decoder"},
    "nothing tied": {"tied": "none"},
    "a decoder of one layer": {"decoder_layers": 1},
    "grouped queries": {"d_model": 24, "num_heads": 4, "num_kv_heads": 2},
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_greedy_outputs_and_scores_are_the_same_token_by_token(variant: str, tmp_path: Path) -> None:
    ours, batch = model(**VARIANTS[variant]), sources(17)
    found = search_lines(theirs(ours, tmp_path), batch, beam_size=1)
    begun = [[BEGIN]] * len(batch)
    hypotheses = greedy(ours, as_source(batch), begun, eos_id=END, alpha=0, limits=LIMITS)
    assert len({h.tokens for (h,) in hypotheses}) > 4
    same(hypotheses, found)


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_a_beam_without_length_penalty_finds_the_same(norm: str, tmp_path: Path) -> None:
    ours, batch = model(norm=norm), sources(23)
    # CTranslate2 stops after beam_size * patience finished hypotheses; with patience 5, hardly before us.
    found = search_lines(theirs(ours, tmp_path), batch, beam_size=5, patience=5)
    begun = [[BEGIN]] * len(batch)
    hypotheses = beam(ours, as_source(batch), begun, eos_id=END, alpha=0, limits=LIMITS)
    same(hypotheses, found)


def same(ours: list[list[Hypothesis]], theirs: list[Any]) -> None:
    ended = 0
    for (one,), other in zip(ours, theirs, strict=True):
        if len(one.tokens) == LONGEST:
            continue  # CTranslate2 stops there; our hypothesis has the end symbol, which counts in its score
        assert [NAMES[number] for number in one.tokens] == other.hypotheses[0]
        assert one.score == pytest.approx(other.scores[0], rel=1e-4, abs=1e-3)
        ended += 1
    assert ended > 7


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"d_k": 7}, "d_k = 7"),
        ({"d_v": 7}, "d_v = 7"),
        ({"score": "additive"}, "score = additive"),
        ({"score": "dot"}, "unscaled scores"),
        ({"positions": "rotary", "d_model": 24}, "rotary positions"),
        ({"window": 3}, "window = 3"),
    ],
)
def test_properties_that_ctranslate2_cannot_express_are_named(
    settings: dict[str, object], reason: str
) -> None:
    assert not_expressible(described({})) == []
    assert reason in not_expressible(described(settings))


def described(settings: dict[str, object]) -> EncoderDecoderSpec:
    sizes = {"num_layers": 2, **SIZES, **settings}
    return describe(Transformer(Settings.model_validate(sizes)), EncoderDecoderSpec)


@pytest.mark.parametrize("settings", [{"norm": "batch"}, {"norm": "none"}, {"residual": False}])
def test_a_model_without_a_description_is_refused(settings: dict[str, object]) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    with pytest.raises(UserError, match="does not describe itself"):
        specification(Transformer(Settings.model_validate({**SIZES, **settings})))


def test_another_model_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    with pytest.raises(UserError, match="cannot express this model"):
        specification(nn.Linear(2, 3))
    with pytest.raises(UserError, match="window = 5"):
        specification(Transformer(Settings.model_validate({**SIZES, "window": 5})))


def test_without_ctranslate2_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ctranslate2.specs", None)
    with pytest.raises(UserError, match="multihead\\[export\\]"):
        specification(Transformer(Settings.model_validate(SIZES)))
