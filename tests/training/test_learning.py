"""End to end: batches, loop, schedule, checkpoints and search learn to reverse unseen strings."""

from pathlib import Path

from backwards import BOS, EOS, PAD, fit, pairs_of, small_transformer, strings, training_in
from torch import nn

from multihead.data.batches import collate
from multihead.models.transformer import Transformer
from multihead.search.greedy import greedy
from multihead.training import Validation


def exact(model: nn.Module, sources: list[list[int]]) -> float:
    """Return the share of strings that are reversed exactly."""
    assert isinstance(model, Transformer)
    source = collate(sources, sources, pad_id=PAD, bos_id=BOS, eos_id=EOS).source
    found = greedy(model, source, [[BOS]] * len(sources), eos_id=EOS)
    right = [list(best.tokens) == string[::-1] for (best,), string in zip(found, sources, strict=True)]
    return sum(right) / len(right)


def test_reversal_is_learned_in_seconds(tmp_path: Path) -> None:
    known = strings(3307, 8, seed=1)
    seen, unseen = known[:3000], known[3000:]
    model = small_transformer(
        d_model=48, d_ff=96, num_layers=1, num_heads=3, norm="pre", dropout=0.0, label_smoothing=0.0
    )
    assert exact(model, unseen) < 0.01
    outcome = fit(
        training_in(
            tmp_path,
            model,
            pairs_of(seen),
            validate=lambda model, step: Validation({"loss": 1 - exact(model, unseen)}),
            settings={
                "steps": 400,
                "horizon": 400,
                "batch_tokens": 512,
                "schedule": "cosine",
                "learning_rate": 0.01,
                "warmup_steps": 80,
                "log_every": 100,
            },
            validation={"every": 400},
        )
    )
    assert outcome.metrics is not None
    assert 1 - outcome.metrics["loss"] >= 0.95
