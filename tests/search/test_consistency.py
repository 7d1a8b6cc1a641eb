"""A change that reaches training or search alone is found; every translator of the package is consistent."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from small_transformer import BEGIN, VOCABULARY, attentions, model
from torch import Tensor, nn

from multihead.batch import PairBatch
from multihead.models.dalle import DALLE
from multihead.models.dalle import Settings as DALLESettings
from multihead.models.transformer import Transformer
from multihead.nn import DecoderLayer, FeedForward, MultiHeadAttention, TokenEmbedding
from multihead.nn.losses import Loss, LossTerm
from multihead.recipe import model_kinds
from multihead.search.consistency import drawing_inconsistency, example, inconsistency, text_inconsistency

CPU = torch.device("cpu")


def found(made: nn.Module, vocabulary: int = VOCABULARY) -> str | None:
    return inconsistency(made, example(vocabulary, vocabulary, BEGIN, getattr(made, "limit", None)), CPU)


class Gated(MultiHeadAttention):
    def forward(self, x_BQd: Tensor, memory_BKd: Tensor, allowed: Tensor | None = None) -> Tensor:
        return super().forward(x_BQd, memory_BKd, allowed) * torch.sigmoid(x_BQd)


class Halved(DecoderLayer):
    def forward(self, x_BTd: Tensor, *given: Any) -> Tensor:
        return 0.5 * (x_BTd + super().forward(x_BTd, *given))


class Shifted(FeedForward):
    """Reads the position before its own, which a step does not receive."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + x.roll(1, 1))


class Capped(TokenEmbedding):
    def logits(self, x: Tensor, bias_V: Tensor | None = None) -> Tensor:
        return 3 * torch.tanh(super().logits(x, bias_V) / 3)


def of_class(kind: type[nn.Module], other: type[nn.Module]) -> Callable[[nn.Module], None]:
    def change(made: nn.Module) -> None:
        for part in made.modules():
            if type(part) is kind:
                part.__class__ = other

    return change


def steered(made: Transformer) -> None:
    made.decoder.layers[0].register_forward_hook(
        lambda module, given, out: out + 1.5 * torch.ones(24).cumsum(0)
    )


def a_hook_on_an_attention(made: Transformer) -> None:
    attentions(made)[-1].register_forward_hook(lambda module, given, out: 0 * out)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (of_class(MultiHeadAttention, Gated), "the steps of search"),
        (of_class(DecoderLayer, Halved), "the steps of search"),
        (of_class(FeedForward, Shifted), "the steps of search"),
        (steered, "the steps of search"),
        (a_hook_on_an_attention, "the steps of search"),
        (of_class(TokenEmbedding, Capped), "`loss`"),
    ],
)
def test_a_change_of_one_path_is_found(change: Callable[[Transformer], None], what: str) -> None:
    made = model().train()
    change(made)
    assert f"{what} and `score` differ by" in str(found(made))
    assert made.training


class Blurred(FeedForward):
    """A convolution over time that reads the padding."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + x.roll(-1, 1) if x.shape[1] > 1 else 2 * x)


class OverTheBatch(FeedForward):
    """Compares a sentence with the others of its batch."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x - x.mean(0, keepdim=True))


class Noisy(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x + torch.randn_like(x))


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (Blurred, "a sentence alone and in a batch differs by"),
        (OverTheBatch, "a sentence alone and in a batch differs by"),
        (Noisy, "the same sentence computed twice differs by"),
    ],
)
def test_a_layer_that_depends_on_the_batch_or_on_chance_is_found(other: type[nn.Module], what: str) -> None:
    made = model()
    of_class(FeedForward, other)(made.encoder)
    assert what in str(found(made))
    written = language_model("gpt")
    with torch.no_grad():
        for parameter in written.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    of_class(FeedForward, other)(written)
    if other is not Blurred:  # texts have no padding
        assert what in str(text_inconsistency(written, 37, 64, CPU))


class Regrouped(Transformer):
    """A loss of one's own, without the likelihood."""

    def loss(self, batch: PairBatch, step: int) -> Loss:
        return {"loss": LossTerm(1.0, -self.score(batch).clamp(min=-2).sum(), per="tokens")}


def test_a_loss_of_ones_own_is_not_compared() -> None:
    made = model()
    made.__class__ = Regrouped
    assert found(made) is None


def test_lower_precision_is_no_difference() -> None:
    assert found(model().to(torch.bfloat16)) is None


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        *((kind, {}) for kind in ("seq2seq", "rnn_attention", "conv_s2s", "gnmt", "transformer")),
        *(("transformer", {"positions": each}) for each in ("rotary", "alibi", "relative", "none")),
        ("transformer", {"positions": "learned", "max_positions": 6}),
        ("transformer", {"window": 3}),
        ("transformer", {"decoder_cell": "ssru", "first_input": "zero"}),
        ("transformer", {"norm": "batch"}),
    ],
)
def test_the_packages_translators_are_consistent(kind: str, given: Mapping[str, object]) -> None:
    torch.manual_seed(5)
    of = model_kinds.load(kind)
    sizes = {"source_vocab": 37, "target_vocab": 37, "d_model": 24, "num_layers": 2, "num_heads": 3, **given}
    sizes |= {"d_embedding": 13, "d_hidden": 24}
    settings = of.Settings(
        **{name: value for name, value in sizes.items() if name in of.Settings.model_fields}
    )
    assert found(of.Model(settings), 37) is None


LANGUAGE = [
    *(("gpt", {"attention": each}) for each in ("full", "window", "reformer", "linear")),
    ("gpt", {"positions": "none"}),
    ("gpt", {"context": 5}),
    ("llama", {}),
    ("mixtral", {}),
]


def language_model(kind: str, **given: object) -> Any:
    torch.manual_seed(5)
    of = model_kinds.load(kind)
    sizes = {
        "vocab_size": 37,
        "context": 64,
        "d_model": 24,
        "num_layers": 2,
        "num_heads": 3,
        "num_kv_heads": 3,
    }
    known = {name: value for name, value in {**sizes, **given}.items() if name in of.Settings.model_fields}
    return of.Model(of.Settings(**known))


@pytest.mark.parametrize(("kind", "given"), LANGUAGE)
def test_the_packages_language_models_are_consistent(kind: str, given: Mapping[str, object]) -> None:
    made = language_model(kind, **given)
    assert text_inconsistency(made, 37, made.context, CPU) is None


def test_a_language_model_that_is_searched_without_its_change_is_found() -> None:
    made = language_model("gpt")
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    assert text_inconsistency(made, 37, 64, CPU) is None
    for part in made.modules():
        if type(part) is MultiHeadAttention:
            part.__class__ = Gated
    assert "the steps of search and `loss` differ" in str(text_inconsistency(made, 37, 64, CPU))


def drawing_model(attention: str = "sparse") -> nn.Module:
    settings = DALLESettings(
        **{
            "vocab_size": 37,
            "text_length": 13,
            "image_size": 20,
            "codes": 17,
            "d_code": 7,
            "dvae_width": 8,
        },
        **{"d_model": 24, "num_layers": 3, "num_heads": 2, "kernel": 3, "attention": attention},
    )
    made = DALLE(settings).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    return made


@pytest.mark.parametrize("attention", ["sparse", "full"])
@pytest.mark.parametrize(
    ("kind", "other", "what"),
    [
        (None, None, "None"),
        (MultiHeadAttention, Gated, "the steps of drawing and `loss` differ"),
        (FeedForward, Shifted, "the steps of drawing and `loss` differ"),
        (FeedForward, Noisy, "computed twice differs"),
    ],
)
def test_a_change_that_drawing_leaves_out_is_found(
    attention: str, kind: type[nn.Module] | None, other: type[nn.Module] | None, what: str
) -> None:
    made = drawing_model(attention)
    if kind and other:
        of_class(kind, other)(made.decoder)  # type: ignore[arg-type]
    assert what in str(drawing_inconsistency(made, CPU))
    assert not made.training
