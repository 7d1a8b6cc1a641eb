"""Every engine and export computes a changed layer correctly, or declines it with a reason.

Each mutation is a typical experiment: a subclass or a replaced part. Classes edited in place have a file of
their own (test_classes_edited_in_place.py).
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from edits_in_place import EDITS
from laying_out import lay_out, walk
from small_transformer import BEGIN, END, PAD, UNKNOWN, VOCABULARY, attentions, model
from torch import Tensor, nn
from torch.testing import assert_close

from multihead.apps.export.ctranslate2 import specification, verify
from multihead.batch import Source
from multihead.engines.choose import ENGINES, OWN_STEPS, EngineChoice, choose
from multihead.errors import UserError
from multihead.models.transformer import Transformer
from multihead.nn import DotProductAttention, FeedForward, MultiHeadAttention, PostNorm, PreNorm
from multihead.nn.feed_forward import ACTIVATIONS
from multihead.nn.modules import LayerNorm, Linear
from multihead.nn.parts.ssru import SSRU
from multihead.nn.positions import SinusoidalPositions
from multihead.nn.residual import Sublayer
from multihead.nn.score_functions import DotScore, ScoreFunction
from multihead.search.beam import beam
from multihead.search.request import LengthLimits
from multihead.system import native

CPU = torch.device("cpu")

Mutation = Callable[[Transformer], None]


# --- what people try ----------------------------------------------------------------------------------


class LinearBias(DotProductAttention):
    """ALiBi in a subclass (Press et al. 2022), as in a quick experiment."""

    def weights(self, q: Tensor, k: Tensor, allowed: Tensor | None = None) -> Tensor:
        back_QK = torch.arange(k.shape[2]) - torch.arange(k.shape[2] - q.shape[2], k.shape[2])[:, None]
        scores = q @ k.mT / q.shape[-1] ** 0.5 + 0.5 * back_QK
        found: Tensor = (scores if allowed is None else scores.masked_fill(~allowed, -1e9)).softmax(-1)
        return found

    def forward(self, q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None = None) -> Tensor:
        return self.weights(q, k, allowed) @ v


class Cosine(ScoreFunction):
    def scores(self, q_BHQd: Tensor, k_BHKd: Tensor) -> Tensor:
        return 5 * F.normalize(q_BHQd, dim=-1) @ F.normalize(k_BHKd, dim=-1).mT


class Gated(MultiHeadAttention):
    """Another computation with the same parameters."""

    def attend(self, q_BHQd: Tensor, k_BGKd: Tensor, v_BGKd: Tensor, allowed: Tensor | None) -> Tensor:
        return super().attend(q_BHQd, k_BGKd, v_BGKd, allowed) * 0.5


class Scaled(PostNorm):
    def forward(self, x: Tensor, sublayer: Sublayer) -> Tensor:
        out: Tensor = self.norm(1.3 * x + sublayer(x))
        return out


class Squared(FeedForward):
    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.w_2(F.relu(self.w_1(x)) ** 2)
        return out


class Reversed(SinusoidalPositions):
    def forward(self, x_BNd: Tensor, start: int = 0, shift_B: Tensor | None = None) -> Tensor:
        return 2 * x_BNd - super().forward(x_BNd, start, shift_B)


class Forgetful(SSRU):
    """Another cell with the same parameters."""

    def _gates(self, x_BTd: Tensor) -> tuple[Tensor, Tensor]:
        forget, added = super()._gates(x_BTd)
        return 0.5 * forget, added


class Doubled(Linear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class Rms(LayerNorm):
    def forward(self, x: Tensor) -> Tensor:
        return x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt() * self.weight


def with_scores(kind: Callable[[], nn.Module], model: Transformer) -> None:
    for attention in attentions(model):
        attention.score = kind()


def with_class(of: type[nn.Module], other: type[nn.Module], model: Transformer) -> None:
    for part in model.modules():
        if type(part) is of:
            part.__class__ = other


def extra_bias(model: Transformer) -> None:
    attention = attentions(model)[0]
    attention.register_parameter("sink", nn.Parameter(torch.randn(3)))


def other_activation(model: Transformer) -> None:
    for part in model.modules():
        if isinstance(part, FeedForward):
            part.activation = lambda x: F.relu(x) ** 2


def a_hook(model: Transformer) -> None:
    model.decoder.layers[0].register_forward_hook(lambda module, inputs, output: output)
    attentions(model)[1].w_q.register_forward_hook(lambda module, inputs, output: 1.1 * output)


def another_forward(model: Transformer) -> None:
    network = model.encoder.layers[0].feed_forward
    assert isinstance(network, FeedForward)
    network.forward = lambda x: 0.7 * FeedForward.forward(network, x)  # type: ignore[method-assign]


def one_layer_of_another_width(model: Transformer) -> None:
    model.decoder.layers[1].feed_forward = FeedForward(24, 53)


def one_layer_pre_norm(model: Transformer) -> None:
    layer = model.decoder.layers[1]
    layer.around_self, layer.around_cross = PreNorm(24, 0.0).eval(), PreNorm(24, 0.0).eval()


def without_biases(model: Transformer) -> None:
    for attention in attentions(model):
        attention.w_q.register_parameter("bias", None)
        attention.w_k.register_parameter("bias", None)


def fewer_cross_heads(model: Transformer) -> None:
    for layer in model.decoder.layers:
        layer.cross_attention = MultiHeadAttention(24, 2)


def other_epsilon(model: Transformer) -> None:
    for part in model.decoder.modules():
        if isinstance(part, nn.LayerNorm):
            part.eps = 0.3


MUTATIONS: dict[str, Mutation] = {
    "a subclass of the score": partial(with_scores, LinearBias),
    "a score function of one's own": partial(with_scores, Cosine),
    "scores that are not scaled": partial(with_scores, DotScore),
    "a subclass of the attention": partial(with_class, MultiHeadAttention, Gated),
    "a subclass of the residual connection": partial(with_class, PostNorm, Scaled),
    "a subclass of the feed-forward network": partial(with_class, FeedForward, Squared),
    "a subclass of the positions": partial(with_class, SinusoidalPositions, Reversed),
    "a subclass of the linear layer": partial(with_class, Linear, Doubled),
    "another norm": partial(with_class, LayerNorm, Rms),
    "an extra parameter": extra_bias,
    "another activation": other_activation,
    "a hook": a_hook,
    "another forward on a module": another_forward,
    "one layer of another width": one_layer_of_another_width,
    "one layer with pre-norm": one_layer_pre_norm,
    "no biases of queries and keys": without_biases,
    "other heads over the source": fewer_cross_heads,
    "another epsilon": other_epsilon,
}
SETTINGS: dict[str, dict[str, object]] = {
    "as published": {},
    "two key/value heads": {"num_kv_heads": 2},
    "one key/value head": {"num_kv_heads": 1},
    "wide values": {"d_k": 7, "d_v": 11},
    "pre-norm": {"norm": "pre"},
    "GELU": {"activation": "gelu"},
    "rotary positions": {"positions": "rotary"},
    "linear biases": {"positions": "alibi"},
    "relative positions": {"positions": "relative"},
    "query-key norm": {"score": "query_key_norm"},
    "RMS norm": {"norm": "pre_rms"},
    "SwiGLU": {"activation": "swiglu"},
    "GeGLU with pre-norm": {"activation": "geglu", "norm": "pre"},
    "rotary positions and shared heads": {"positions": "rotary", "num_kv_heads": 2},
    "additive scores": {"score": "additive"},
    "a window": {"window": 3},
    "batch norm": {"norm": "batch"},
    "no norm": {"norm": "none"},
    "a zero first input": {"first_input": "zero"},
    "an SSRU decoder": {"decoder_cell": "ssru"},
    "an SSRU decoder with pre-norm": {"decoder_cell": "ssru", "norm": "pre"},
    "a student": {
        "decoder_cell": "ssru",
        "first_input": "zero",
        "output_bias": True,
        "norm_epsilon": 1e-6,
        "positions": "sinusoidal_concatenated",
        "decoder_layers": 3,
        "d_model": 32,
    },
    "no residual": {"residual": False},
}
VARIANTS: dict[str, tuple[Mutation, dict[str, object]]] = {
    **{name: (mutation, {}) for name, mutation in MUTATIONS.items()},
    "a subclass of the SSRU": (partial(with_class, SSRU, Forgetful), {"decoder_cell": "ssru"}),
    **{name: (lambda made: None, settings) for name, settings in SETTINGS.items()},
}


def mutated(variant: str) -> Transformer:
    mutation, settings = VARIANTS[variant]
    made = model(**settings)
    mutation(made)
    return made.eval()


def sources(count: int) -> Source:
    lengths = torch.tensor([1 + number % 5 for number in range(count)])
    return Source(torch.randint(4, VOCABULARY, (count, 5)), lengths)


# --- engines ------------------------------------------------------------------------------------------


def agrees(made: Transformer, stepper: Any, asked: Source) -> None:
    begun = [[BEGIN, 7 + number % 3][: 1 + number % 2] for number in range(len(asked.lengths_B))]
    assert_close(
        walk(stepper, asked, begun, 6, VOCABULARY),
        walk(made, asked, begun, 6, VOCABULARY),
        rtol=1e-3,
        atol=1e-3,
    )
    limits = LengthLimits(max_length=11)
    whole = [[BEGIN]] * len(begun)
    ours = beam(made, asked, whole, eos_id=END, beam_size=3, limits=limits)
    theirs = beam(stepper, asked, whole, eos_id=END, beam_size=3, limits=limits)
    assert [[h.tokens for h in found] for found in theirs] == [[h.tokens for h in found] for found in ours]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("engine", [engine.name for engine in ENGINES])
def test_an_engine_that_accepts_a_mutated_layer_computes_it(engine: str, variant: str) -> None:
    if engine == "native kernels" and not native.LEVELS:
        pytest.skip("the native part is not installed")
    made = mutated(variant)
    (chosen,) = (each for each in ENGINES if each.name == engine)
    with torch.inference_mode():
        stepper = lay_out(made, torch.float32, chosen.device, only=engine)
        if stepper is not None:
            agrees(made, stepper, sources(7))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_chosen_engine_agrees_and_the_others_give_their_reasons(variant: str) -> None:
    made = mutated(variant)
    with torch.inference_mode():
        choice = choose(made, CPU, torch.float32)
        agrees(made, choice.stepper, sources(7))
    assert all(choice.declined.values())
    assert not choice.refuted
    if choice.engine == OWN_STEPS:
        assert len(choice.declined) == sum(engine.device == "cpu" for engine in ENGINES)


def accepted(variant: str) -> EngineChoice:
    return choose(mutated(variant), CPU, torch.float32)


@pytest.mark.skipif(not native.LEVELS, reason="the native part is not installed")
@pytest.mark.parametrize(
    "variant",
    ["as published", "two key/value heads", "one key/value head", "wide values", "pre-norm",
     "scores that are not scaled", "no biases of queries and keys", "another epsilon", "a zero first input",
     "an SSRU decoder", "an SSRU decoder with pre-norm", "a student", "a window"],
)  # fmt: skip
def test_the_native_engine_accepts_all_that_it_can_compute(variant: str) -> None:
    assert accepted(variant).engine == "native kernels"


@pytest.mark.skipif(not native.LEVELS, reason="the native part is not installed")
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.int8])
def test_an_ssrus_state_survives_many_steps_in_bf16(dtype: torch.dtype) -> None:
    """A state that is stored in bf16 alone would stand still where it changes by less than 1/256 a step."""
    made = model(decoder_cell="ssru", decoder_layers=1, num_layers=1)
    with torch.no_grad():
        for part in made.modules():
            if isinstance(part, SSRU):
                part.w_f.bias.fill_(5.0)  # f is about 0.993
    asked, begun = sources(1), [[BEGIN]]
    exact = walk(made, asked, begun, 160, VOCABULARY)
    found = walk(lay_out(made, dtype, only="native kernels"), asked, begun, 160, VOCABULARY)
    spread = max(float(one.std()) for one in exact)
    errors = [float((one - other).abs().mean()) / spread for one, other in zip(exact, found, strict=True)]
    assert max(errors[-20:]) < 2 * max(errors[:20]) + 0.01


@pytest.mark.parametrize(
    "variant",
    ["GELU", "SwiGLU", "GeGLU with pre-norm", "one layer of another width", "one layer with pre-norm"],
)
def test_the_laid_out_layers_take_what_the_native_kernels_decline(variant: str) -> None:
    assert accepted(variant).engine == "laid-out layers"


@pytest.mark.parametrize(
    ("variant", "reason"),
    [
        ("a subclass of the score", "LinearBias inherits a description and has none of its own"),
        ("a score function of one's own", "Cosine does not describe itself"),
        ("an extra parameter", "a parameter that its description does not mention: sink"),
        ("a hook", "has a hook"),
        ("another forward on a module", "has a replaced forward"),
        ("another activation", "activation"),
        ("another norm", "Rms is not a layer norm"),
        ("rotary positions", "positions are rotary"),
        ("linear biases", "the score function is linear biases, not a dot product"),
        ("relative positions", "RelativePositions does not describe itself"),
        ("query-key norm", "QueryKeyNorm does not describe itself"),
        ("RMS norm", "the norm is a root mean square norm"),
        ("a subclass of the SSRU", "Forgetful inherits a description and has none of its own"),
    ],
)
def test_the_reason_names_what_was_changed(variant: str, reason: str) -> None:
    choice = accepted(variant)
    assert choice.engine == OWN_STEPS
    assert all(reason in why for why in choice.declined.values())


def test_activations_are_known_by_their_names() -> None:
    assert {"relu", "gelu", "gelu_tanh", "silu"} == ACTIVATIONS.keys()


# --- exports ------------------------------------------------------------------------------------------


class Words:
    """The part of a vocabulary that an export needs."""

    vocab_size, pad_id, unk_id, bos_id, eos_id = VOCABULARY, PAD, UNKNOWN, BEGIN, END

    def piece(self, number: int) -> str:
        return ["<pad>", "<unk>", "<s>", "</s>", *(f"w{n}" for n in range(4, VOCABULARY))][number]


def complete(spec: Any) -> Any:
    names = [Words().piece(number) for number in range(VOCABULARY)]
    spec.register_source_vocabulary(names)
    spec.register_target_vocabulary(names)
    spec.config.add_source_eos = True
    spec.validate()
    spec.optimize()
    return spec


WORDS: Any = (Words(), Words())


@pytest.mark.parametrize("variant", VARIANTS)
def test_ctranslate2_computes_a_mutated_layer_or_its_export_is_refused(variant: str) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    made = mutated(variant)
    spec = None
    with suppress(UserError):  # the next test lists those that must be accepted
        spec = specification(made)
    if spec is not None:
        verify(made, complete(spec), WORDS)


@pytest.mark.parametrize("variant", ["as published", "two key/value heads", "pre-norm", "GELU"])
def test_ctranslate2_accepts_what_it_can_compute(variant: str) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    made = mutated(variant)
    verify(made, complete(specification(made)), WORDS)


@pytest.mark.parametrize("edit", EDITS)
def test_an_export_of_a_class_edited_in_place_is_refused(
    edit: Callable[[pytest.MonkeyPatch], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("ctranslate2", reason="the extra `export` is not installed")
    edit(monkeypatch)
    made = model()
    with pytest.raises(UserError, match="CTranslate2 computes a different model"):
        verify(made, complete(specification(made)), WORDS)
