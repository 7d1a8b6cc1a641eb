"""Students begin near the identity: without that, the deep post-norm encoder of `tiny` hardly learns."""

import pytest
import torch
import torch.nn.functional as F

from multihead import recipe as recipes
from multihead.apps.corpus.distilling import STUDENTS
from multihead.models.transformer import Settings, Transformer


def similarity(name: str, **changed: object) -> float:
    """The mean cosine of a position's embedding, normalised, and of what the encoder makes of it."""
    torch.manual_seed(3)
    settings = recipes.load(f"student-{name}").model.model_dump()
    made = Transformer(
        Settings.model_validate({**settings, "source_vocab": 101, "target_vocab": 101, **changed})
    ).eval()
    ids = torch.randint(4, 101, (5, 23))
    with torch.no_grad():
        x = made.source_positions(made.source_embedding(ids))
        read = made.encode(ids, None)
    return F.cosine_similarity(F.layer_norm(x, x.shape[-1:]), read, dim=-1).mean().item()


@pytest.mark.parametrize("name", STUDENTS)
def test_an_encoder_begins_near_the_identity(name: str) -> None:
    assert similarity(name) > 0.97
    assert similarity(name, output_gain=1.0) < 0.8
