"""A changed norm, linear layer or dropout takes effect, also where a kernel would compute it."""

from collections.abc import Callable

import pytest
import torch
from small_transformer import VOCABULARY, model
from torch import Tensor, nn
from torch.nn.utils import prune
from torch.testing import assert_close

from multihead.models.transformer import Transformer
from multihead.nn import ops
from multihead.nn.modules import Dropout, LayerNorm, Linear
from multihead.system import native

PARTS = {"norm": LayerNorm, "linear layer": Linear, "dropout": Dropout}

Change = Callable[[nn.Module, pytest.MonkeyPatch], object]


def subclass(part: nn.Module, patch: pytest.MonkeyPatch) -> None:
    kind = type(part)
    doubled = {"forward": lambda self, x: 2 * kind.forward(self, x)}
    part.__class__ = type("Doubled", (kind,), doubled)


def edited_in_place(part: nn.Module, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(type(part), "forward", lambda self, x: 0.5 * x[..., :1].expand_as(x))


CHANGES: dict[str, Change] = {
    "a subclass": subclass,
    "a class edited in place": edited_in_place,
    "a hook": lambda part, _: part.register_forward_hook(lambda module, given, out: 2 * out),
    "a hook before": lambda part, _: part.register_forward_pre_hook(
        lambda module, given: (given[0].flip(-1),)
    ),
    "a replaced forward": lambda part, _: setattr(part, "forward", lambda x: 0.5 * x[..., :1].expand_as(x)),
}


def parts(made: Transformer, kind: type[nn.Module]) -> list[nn.Module]:
    of = ("around_attention.norm", "self_attention.w_q", "around_attention.dropout", "around_self.dropout")
    return [part for name, part in made.named_modules() if type(part) is kind and name.endswith(of)]


def logits(made: Transformer) -> Tensor:
    source, target = torch.arange(4, 18).view(2, 7), torch.arange(6, 16).view(2, 5)
    found: Tensor = made(source % VOCABULARY, target % VOCABULARY)
    return found


@pytest.mark.parametrize("kind", PARTS)
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_changed_part_is_computed(
    kind: str, change: str, norm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = model(norm=norm)
    before = logits(made)
    for part in parts(made, PARTS[kind]):
        CHANGES[change](part, monkeypatch)
    after = logits(made)
    with native.use(""):
        expected = logits(made)
    assert (after - before).abs().max() > 0.01
    assert_close(after, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["w_1", "w_q", "norm"])
def test_gradient_hooks_of_a_part_are_called(name: str) -> None:
    made, seen = model(), []
    watched = [part for path, part in made.named_modules() if path.endswith(f".{name}")]
    for part in watched:
        part.register_full_backward_hook(lambda module, given, out: seen.append(module))
    torch.autograd.backward(logits(made).square().mean())
    assert {id(part) for part in seen} == {id(part) for part in watched}


def test_pruned_layers_are_trained() -> None:
    made = model()
    pruned = [part for path, part in made.named_modules() if path.endswith((".w_1", ".w_q"))]
    for part in pruned:
        prune.l1_unstructured(part, "weight", amount=0.3)  # type: ignore[no-untyped-call]
    optimizer = torch.optim.SGD(made.parameters(), 0.1)
    losses = []
    for _ in range(5):
        loss = (logits(made) - 1).square().mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    logits(made)
    assert all(bool((part.weight[part.weight_mask == 0] == 0).all()) for part in pruned)


def test_another_class_of_dropout_serves() -> None:
    made = model(dropout=0.5).train()
    for part in list(made.modules()):
        for name, child in list(part.named_children()):
            if type(child) is Dropout:
                setattr(part, name, nn.Dropout(0.5))
    torch.manual_seed(3)
    first = logits(made)
    torch.manual_seed(3)
    assert_close(logits(made), first)
    assert ops.has_kernels(first) == native.ON
