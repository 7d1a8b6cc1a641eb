"""A changed layer is trained, saved and resumed like any other, or refused with a reason."""

from pathlib import Path

import pytest
import torch
from backwards import Silent, fit, small_transformer, training_in
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.nn import FeedForward
from multihead.nn.modules import Linear
from multihead.run import Run
from multihead.training import space


class Stops(Silent):
    """Asks for the end of the start after a step, as Ctrl-C does."""

    def on_step(self, step: int) -> None:
        if step == 7:
            raise KeyboardInterrupt


def trained(folder: Path, model: Transformer, **changed: object) -> dict[str, Tensor]:
    """Train a model and return its weights."""
    settings = {"steps": 12, **changed}
    fit(training_in(folder, model, settings=settings, validation={"every": 5}))
    return model.state_dict()


def interrupted(folder: Path, model: Transformer, **changed: object) -> None:
    """Train a model until its start ends after seven steps, the last five of them saved."""
    settings = {"steps": 12, **changed}
    training = training_in(folder, model, observer=Stops(), settings=settings, validation={"every": 5})
    with pytest.raises(KeyboardInterrupt):
        fit(training)


# --- layouts of memory --------------------------------------------------------------------------------


def column_by_column() -> Transformer:
    """Return a model whose matrices lie in memory column by column, as those of a decomposition do."""
    made = small_transformer()
    for part in made.modules():
        if isinstance(part, Linear):
            part.weight = nn.Parameter(part.weight.detach().t().contiguous().t())
    return made


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_weights_of_another_layout_are_trained_and_resumed_alike(optimizer: str, tmp_path: Path) -> None:
    expected = trained(tmp_path / "plain", small_transformer(), optimizer=optimizer)
    interrupted(tmp_path / "other", column_by_column(), optimizer=optimizer)
    found = trained(tmp_path / "other", column_by_column(), optimizer=optimizer)
    for name in expected:
        if not name.endswith("w_k.bias"):  # its gradient is 0, up to rounding
            assert_close(found[name], expected[name], rtol=1e-3, atol=1e-3)


def test_a_model_without_a_trained_parameter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no parameter of the model is trained"):
        training_in(tmp_path, small_transformer().requires_grad_(False))


# --- state besides parameters -------------------------------------------------------------------------


def masked() -> Transformer:
    """Return a model with a mask in a buffer."""
    made = small_transformer()
    made.encoder.register_buffer("mask", torch.full((3, 3), -torch.inf).triu(1))
    return made


def test_a_mask_of_infinities_is_saved_averaged_and_resumed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = trained(tmp_path / "whole", masked(), ema=0.9)
    interrupted(tmp_path / "resumed", masked(), ema=0.9)
    found = trained(tmp_path / "resumed", masked(), ema=0.9)
    assert not caplog.messages
    assert_close(found, expected, rtol=0, atol=0)
    for run in map(Run, (tmp_path / "whole", tmp_path / "resumed")):
        (end,) = (event for event in run.metrics() if event["event"] == "end")
        assert end["candidates"].keys() == {"last", "best", "average", "ema"}
        state = run.load_state()
        assert state is not None
        assert torch.equal(state[0]["ema.encoder.mask"], found["encoder.mask"])


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
def test_a_parametrised_layer_ends_with_the_same_bytes(optimizer: str, tmp_path: Path) -> None:
    """Spectral norm improves its estimate whenever the weight is read in training."""

    def normed() -> Transformer:
        made = small_transformer()
        for part in [part for part in made.modules() if isinstance(part, FeedForward)]:
            parametrizations.spectral_norm(part.w_1)
        return made

    expected = trained(tmp_path / "whole", normed(), optimizer=optimizer)
    interrupted(tmp_path / "resumed", normed(), optimizer=optimizer)
    training = training_in(tmp_path / "resumed", normed(), settings={"steps": 12, "optimizer": optimizer})
    space.check(tmp_path, training.model, training.settings)
    fit(training)
    assert_close(training.model.state_dict(), expected, rtol=0, atol=0)


def test_a_state_that_is_no_tensor_is_refused(tmp_path: Path) -> None:
    class Remembering(nn.Module):
        def get_extra_state(self) -> dict[str, int]:
            return {"calls": 7}

        def set_extra_state(self, state: dict[str, int]) -> None:
            pass

    made = small_transformer()
    made.encoder.memory = Remembering()
    with pytest.raises(UserError, match=r"encoder\.memory\._extra_state of the model's state is a dict"):
        training_in(tmp_path, made)
