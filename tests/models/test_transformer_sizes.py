"""Parameter counts against the closed formula, and against the paper's Table 3."""

import pytest
import torch

from multihead.models.transformer import Settings, Transformer


def counted(settings: Settings) -> int:
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in Transformer(settings).parameters())


def by_formula(s: Settings) -> int:
    d, h = s.d_model, s.num_heads
    d_k = s.d_k or d // h
    d_v = s.d_v or d_k
    attention = 2 * (d + 1) * h * d_k + (d + 1) * h * d_v + (h * d_v + 1) * d
    feed_forward = (d + 1) * s.d_ff + (s.d_ff + 1) * d
    norm = 2 * d
    encoder = s.num_layers * (attention + feed_forward + 2 * norm)
    decoder = (s.decoder_layers or s.num_layers) * (2 * attention + feed_forward + 3 * norm)
    vocabularies = {
        "all": s.target_vocab,
        "decoder": s.source_vocab + s.target_vocab,
        "none": s.source_vocab + 2 * s.target_vocab,
    }[s.tied]
    learned = 2 * s.max_positions * d if s.positions == "learned" else 0
    last_norms = 2 * norm if s.norm == "pre" else 0
    return encoder + decoder + vocabularies * d + learned + last_norms


BIG = Settings(d_model=1024, d_ff=4096, num_heads=16)


@pytest.mark.parametrize(
    "settings",
    [
        Settings(),
        BIG,
        Settings(d_k=16),
        Settings(d_k=13, d_v=11, norm="pre", tied="none", source_vocab=31, target_vocab=37),
        Settings(tied="decoder", positions="learned", max_positions=101, decoder_layers=2, num_layers=5),
    ],
)
def test_the_closed_formula_counts_the_parameters(settings: Settings) -> None:
    assert counted(settings) == by_formula(settings)


def test_base_and_big_at_the_papers_vocabulary() -> None:
    assert counted(Settings()) == 63_082_496
    assert counted(BIG) == 214_245_376
