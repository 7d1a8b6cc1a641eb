"""Reserved symbols pass through CTranslate2 as the tokens that they are."""

from pathlib import Path

import pytest
import torch

from multihead.apps.export.ctranslate2 import specification
from multihead.batch import PairBatch, Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn.losses import objective
from multihead.recipe.settings import TokenizerSettings
from multihead.text.marked import MarkedTokenizer
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train

TEXTS = ["abc <ph0> bca <g0>cab</g0> <x3/>", "<2de> cab <ph1>bc <ph0>", "<term> a <trans> b </term> <ph2>"]


def copying(whole: MarkedTokenizer) -> Transformer:
    """A Transformer that has learned to say these texts again."""
    tokenizer = whole.tokenizer
    torch.manual_seed(3)
    size = tokenizer.vocab_size
    settings = {"source_vocab": size, "target_vocab": size, "d_model": 22, "d_ff": 37, "num_heads": 2}
    model = Transformer(Settings.model_validate({**settings, "num_layers": 1, "dropout": 0}))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    rows = [[tokenizer.bos_id, *whole.encode(text), tokenizer.eos_id] for text in TEXTS]
    target_BT = padded(rows, tokenizer.pad_id)
    source = Source(
        padded([row[1:] for row in rows], tokenizer.pad_id), torch.tensor([len(row) - 1 for row in rows])
    )
    lengths_B = torch.tensor([len(row) - 1 for row in rows])
    batch = PairBatch(source, target_BT, lengths_B, int(lengths_B.sum()))
    for _ in range(97):
        optimizer.zero_grad()
        objective(model.loss(batch, 0), batch.counts).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    return model.eval()


def padded(rows: list[list[int]], pad: int) -> torch.Tensor:
    width = max(map(len, rows))
    return torch.tensor([row + [pad] * (width - len(row)) for row in rows])


def test_ctranslate2_reads_and_writes_symbols_by_their_names(tmp_path: Path) -> None:
    ctranslate2 = pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    settings = TokenizerSettings(kind="bpe", vocab_size=313, symbols=("standard", "<2de>"))
    tokenizer: Tokenizer = train(["abc bca cab"] * 3, settings)
    whole = MarkedTokenizer(tokenizer)
    names = [tokenizer.piece(id) for id in range(tokenizer.vocab_size)]
    spec = specification(copying(whole))
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    spec.save(str(tmp_path))
    translator = ctranslate2.Translator(str(tmp_path), inter_threads=1, intra_threads=1)
    pieces = [[names[id] for id in whole.encode(text)] for text in TEXTS]
    found = [result.hypotheses[0] for result in translator.translate_batch(pieces, beam_size=1)]
    assert found == pieces
    assert {"<ph0>", "<g0>", "</g0>", "<x3/>", "<2de>", "</term>"} <= {
        piece for row in found for piece in row
    }
    assert [whole.decode(map(names.index, row)) for row in found] == TEXTS
