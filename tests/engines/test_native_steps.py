"""Single steps of a native model against the model itself, on random trees of hypotheses."""

import numpy as np
import pytest
import torch
from laying_out import lay_out, noisy_transformer

from multihead.batch import Source
from multihead.engines.native.steps import NativeSteps
from multihead.engines.transformer import LaidOutTransformer
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.system import native

pytestmark = pytest.mark.skipif(not native.LEVELS, reason="the native part was not compiled")

BEGIN, VOCABULARY, SENTENCES = 2, 31, 5
VARIANTS: dict[str, dict[str, object]] = {
    "as published": {},
    "learned positions": {"positions": "learned", "max_positions": 11},
    "no positions": {"positions": "none", "norm": "pre"},
    "a zero first input": {"first_input": "zero"},
    "a window": {"window": 5},
    "a recurrent decoder": {"decoder_cell": "ssru", "norm": "pre", "output_bias": True},
}


def laid_out(**settings: object) -> tuple[Transformer, LaidOutTransformer]:
    made = noisy_transformer(0.1, **settings)
    found = lay_out(made, torch.float32)
    assert isinstance(found, LaidOutTransformer)
    return made, found


def source() -> Source:
    return Source(torch.randint(4, VOCABULARY, (SENTENCES, 11)), torch.tensor([11, 7, 5, 3, 2]))


LEFT = {2: [0, 2, 4], 7: [1]}
"""Sentences that are kept after a step; slots are dropped after the eighth."""


@pytest.mark.parametrize("variant", VARIANTS)
def test_scores_are_the_models(variant: str) -> None:
    made, prepared = laid_out(**VARIANTS[variant])
    asked = source()
    assert prepared._native is not None
    steps = NativeSteps(prepared._native, asked.ids_BS.numpy(), asked.lengths_B.numpy())
    chance = np.random.default_rng(7)
    with torch.inference_mode():
        state, rows, tokens, parents = made.start(asked, [[BEGIN]] * SENTENCES), 1, [BEGIN] * SENTENCES, None
        sentences = SENTENCES
        for step in range(11):
            if parents is not None:
                state = state.select(torch.tensor(parents))
            logits, state = made.step(torch.tensor(tokens), state)
            found = steps.scores(tokens, parents)
            np.testing.assert_allclose(found, logits.log_softmax(1).numpy(), rtol=1e-4, atol=1e-4)
            if step in LEFT:
                steps.keep(LEFT[step])
                state, sentences = state.keep(torch.tensor(LEFT[step])), len(LEFT[step])
            wider = 1 + step % 4
            own = chance.integers(0, rows, (sentences, wider)) + rows * np.arange(sentences)[:, None]
            rows, parents = wider, own.ravel().tolist()
            tokens = chance.integers(4, VOCABULARY, sentences * wider).tolist()
    if variant == "learned positions":
        with pytest.raises(ValueError, match="position 12 is beyond the 11 learned positions"):
            steps.scores(tokens, parents)


def test_scores_that_are_not_finite_are_reported() -> None:
    made, _ = laid_out(output_bias=True)
    with torch.no_grad():
        assert made.output_bias is not None
        made.output_bias[7] = torch.nan
    broken = lay_out(made, torch.float32)
    assert isinstance(broken, LaidOutTransformer)
    asked = source()
    assert broken._native is not None
    steps = NativeSteps(broken._native, asked.ids_BS.numpy(), asked.lengths_B.numpy())
    with pytest.raises(UserError, match=r"search, step 1: .*not finite"):
        steps.scores([BEGIN] * SENTENCES, None)
