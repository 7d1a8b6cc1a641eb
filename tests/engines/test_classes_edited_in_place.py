"""Classes edited in place keep their description; the proof finds that the engines compute something else."""

from collections.abc import Callable

import pytest
import torch
from edits_in_place import EDITS
from small_transformer import attentions, model
from torch import Tensor

from multihead.engines.choose import OWN_STEPS, choose
from multihead.engines.cuda.graphs import GraphTransformer
from multihead.engines.proof import disagreement
from multihead.nn import MultiHeadAttention
from multihead.nn.description import EncoderDecoderSpec, describe
from multihead.nn.modules import Linear

CPU = torch.device("cpu")


@pytest.mark.parametrize("edit", EDITS)
def test_the_proof_detects_a_class_edited_in_place(
    edit: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    edit(monkeypatch)
    made = model()
    choice = choose(made, CPU, torch.float32)
    assert choice.engine == OWN_STEPS
    assert choice.refuted
    assert all("differ from the model's own steps" in reason for reason in choice.refuted.values())


@pytest.mark.parametrize("edit", EDITS)
def test_the_proof_reaches_a_beam_that_runs_as_a_whole(
    edit: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The steps of ``GraphTransformer`` are the model's own: only its whole beam search can be wrong."""
    made = model()
    spec = describe(made, EncoderDecoderSpec)

    def found() -> str | None:
        with torch.no_grad():
            return disagreement(made, GraphTransformer(made, spec, torch.float32), CPU, spec)

    assert found() is None
    edit(monkeypatch)
    assert "differ from the model's own steps" in str(found())


def test_shapes_reveal_shared_key_heads_built_in_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of W^K and W^V that leaves the rest of the class unchanged."""
    made = model()
    for attention in attentions(made):
        attention.w_k, attention.w_v = Linear(24, 12), Linear(24, 12)

    def attend(self: MultiHeadAttention, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None) -> Tensor:
        mixed: Tensor = self.w_o(self.score(q, k, v, allowed).transpose(1, 2).flatten(2))
        return mixed

    monkeypatch.setattr(MultiHeadAttention, "attend", attend)
    choice = choose(made, CPU, torch.float32)
    assert choice.engine == OWN_STEPS
    assert all("w_k is (12, 24), its description says (24, 24)" in why for why in choice.declined.values())


def test_a_proof_leaves_the_model_in_training_mode_and_its_gradients_alone() -> None:
    made = model(dropout=0.5).train()
    assert choose(made, CPU, torch.float32).engine != OWN_STEPS
    assert made.training
    assert all(parameter.grad is None and parameter.requires_grad for parameter in made.parameters())
