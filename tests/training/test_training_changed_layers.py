"""A changed layer is trained, saved and resumed like any other, or refused with a reason."""

import random
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from backwards import Silent, fit, small_transformer, training_in
from torch import Tensor, nn
from torch.nn.utils import parametrizations
from torch.testing import assert_close

from multihead import recipe as recipes
from multihead.errors import UserError
from multihead.models.transformer import Settings, Transformer
from multihead.nn import FeedForward
from multihead.nn.modules import Linear
from multihead.recipe import model_kinds
from multihead.run import Run
from multihead.training import disk_space as space
from multihead.workflows.new_model import new_model


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


# --- state that no checkpoint holds -------------------------------------------------------------------


class Centred(nn.Module):
    """Subtracts a running mean of what a network returns."""

    kept: Any

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out - self.mean(out.detach()) if self.training else out

    def mean(self, out: Tensor) -> Any:
        raise NotImplementedError


class Persistent(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.register_buffer("kept", torch.zeros(24))

    def mean(self, out: Tensor) -> Any:
        return self.kept.lerp_(out.mean((0, 1)), 0.1)


class NotPersistent(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.register_buffer("kept", torch.zeros(24), persistent=False)

    def mean(self, out: Tensor) -> Any:
        return self.kept.lerp_(out.mean((0, 1)), 0.1)


class Plain(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.kept = torch.zeros(24)

    def mean(self, out: Tensor) -> Any:
        self.kept = 0.9 * self.kept + 0.1 * out.mean((0, 1))
        return self.kept


class MadeLate(Centred):
    kept = None

    def mean(self, out: Tensor) -> Any:
        new = out.mean((0, 1))
        self.kept = new if self.kept is None else 0.9 * self.kept + 0.1 * new
        return self.kept


class Counting(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.kept = 0

    def mean(self, out: Tensor) -> Any:
        self.kept += 1
        return 1 / self.kept


class InADict(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.kept = {"mean": 0.0}

    def mean(self, out: Tensor) -> Any:
        self.kept["mean"] += 0.1 * float(out.mean())
        return self.kept["mean"]


class Drawing(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.kept = torch.Generator().manual_seed(7)

    def mean(self, out: Tensor) -> Any:
        return torch.rand((), generator=self.kept)


class OfNumpy(Centred):
    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.kept = np.random.default_rng(7)

    def mean(self, out: Tensor) -> Any:
        return self.kept.random()


class Caching(Centred):
    """Keeps masks that it makes on demand, and a table that grows."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__(inner)
        self.masks: dict[int, Tensor] = {}
        self.table: Tensor
        self.register_buffer("table", torch.zeros(1), persistent=False)
        self.seen: Tensor | None = None

    def mean(self, out: Tensor) -> Any:
        length = out.shape[1]
        self.masks.setdefault(length, torch.ones(length))
        if len(self.table) < length:
            self.table = torch.arange(length).float()
        self.seen = out
        return self.masks[length].mean()


class Recording(Centred):
    recorded = ("last",)

    def mean(self, out: Tensor) -> Any:
        self.last = float(out.mean())
        return 0.0


class GlobalNumbers(Centred):
    """Draws from the generators that Python and NumPy share among all."""

    def mean(self, out: Tensor) -> Any:
        return random.random() + float(np.random.rand())


def around(kind: type[Centred]) -> Transformer:
    made = small_transformer()
    (layer,) = made.encoder.layers
    layer.feed_forward = kind(cast(nn.Module, layer.feed_forward))
    return made


@pytest.mark.parametrize("kind", [NotPersistent, Plain, MadeLate, Counting, InADict, Drawing, OfNumpy])
def test_a_value_that_training_changes_and_no_checkpoint_holds_is_named_once(
    kind: type[Centred], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trained(tmp_path, around(kind))
    (message,) = caplog.messages
    assert message.startswith(
        "Training changes encoder.layers.0.feed_forward.kept, which no checkpoint holds:"
    )
    assert 'recorded = ("kept",)' in message


def test_it_is_named_before_anything_is_saved(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class StopsEarly(Silent):
        def on_step(self, step: int) -> None:
            if step == 2:
                raise KeyboardInterrupt

    training = training_in(tmp_path, around(Counting), observer=StopsEarly())
    with pytest.raises(KeyboardInterrupt):
        fit(training)
    assert len(caplog.messages) == 1


@pytest.mark.parametrize("kind", [Persistent, Caching, Recording, GlobalNumbers])
def test_other_changes_end_with_the_same_bytes_and_without_a_word(
    kind: type[Centred], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    expected = trained(tmp_path / "whole", around(kind))
    interrupted(tmp_path / "resumed", around(kind))
    assert_close(trained(tmp_path / "resumed", around(kind)), expected, rtol=0, atol=0)
    assert not caplog.messages


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_the_older_norms_of_weights_are_known(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    made = small_transformer()
    for part in [part for part in made.modules() if isinstance(part, FeedForward)]:
        nn.utils.spectral_norm(part.w_1)
        nn.utils.weight_norm(part.w_2)
    trained(tmp_path, made)
    assert not caplog.messages


class Projected(Centred):
    """Projects by a random matrix that is no buffer."""

    def __init__(self, inner: nn.Module, how: str) -> None:
        super().__init__(inner)
        if how == "plain":
            self.kept = torch.randn(24, 24)
        if how == "buffer":
            self.register_buffer("kept", torch.empty(24).normal_(), persistent=False)
        if how == "generator":
            self.kept = random.Random()
        if how == "teacher":
            self.kept = [nn.Linear(3, 3).requires_grad_(False)]
        if how == "seeded":
            self.kept = torch.randn(24, 24, generator=torch.Generator().manual_seed(7))
        if how == "persistent":
            self.register_buffer("kept", torch.randn(24, 24))


@pytest.mark.parametrize("how", ["plain", "buffer", "generator", "teacher", "seeded", "persistent"])
def test_a_value_that_is_drawn_at_random_and_not_saved_is_refused(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(settings: Settings) -> nn.Module:
        model = Transformer(settings)
        model.encoder.extra = Projected(nn.Identity(), how)
        return model

    recipe = recipes.load("student-micro")
    monkeypatch.setattr(model_kinds.load(recipe.kind), "Model", made)
    if how in ("seeded", "persistent"):
        new_model(recipe, torch.device("cpu"))
        return
    with pytest.raises(UserError, match=r"encoder\.extra\.kept of the model is drawn at random"):
        new_model(recipe, torch.device("cpu"))
