"""The Transformer as a module: settings, parameter names, dependencies and masking."""

import pytest
import torch
import torch.nn.functional as F
from pydantic import ValidationError
from torch import Tensor
from torch.testing import assert_close

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.models.transformer import Settings, Transformer
from multihead.nn.losses import objective

SOURCES = [[5, 9, 4, 11, 7], [8, 6], [10, 4, 9, 6, 12, 5, 7, 11], [4]]
TARGETS = [[7, 5, 9], [12, 4, 8, 6, 10, 5, 11], [6], [9, 8, 7, 5]]


def small(**changed: object) -> Settings:
    given: dict[str, object] = {
        "source_vocab": 13,
        "target_vocab": 13,
        "d_model": 14,
        "d_ff": 19,
        "num_layers": 2,
        "num_heads": 3,
        "d_k": 5,
        "d_v": 7,
        "dropout": 0.0,
    }
    return Settings.model_validate(given | changed)


def pairs(sources: list[list[int]] = SOURCES, targets: list[list[int]] = TARGETS) -> PairBatch:
    return collate(sources, targets, pad_id=0, bos_id=2, eos_id=3)


def logits(model: Transformer, batch: PairBatch) -> Tensor:
    out: Tensor = model(batch.source.ids_BS, batch.target_in, batch.source.lengths_B)
    return out


VARIANTS = pytest.mark.parametrize(
    "changed",
    [
        {},
        {"norm": "pre", "activation": "gelu"},
        {"positions": "sinusoidal_concatenated", "tied": "decoder", "source_vocab": 17},
        {"positions": "learned", "tied": "none", "max_positions": 23, "decoder_layers": 1},
        {"positions": "none", "d_k": 0, "d_v": 0, "num_heads": 7},
        {"window": 5},
        {"score": "additive", "norm": "none"},
        {"score": "dot", "norm": "batch"},
        {"output_bias": True, "activation": "silu"},
    ],
    ids=["base", "pre-norm", "concatenated", "learned", "none", "window", "additive", "batch norm", "bias"],
)


# --- shapes and names -----------------------------------------------------------------------------


@VARIANTS
def test_it_maps_ids_to_logits(changed: dict[str, object]) -> None:
    model, batch = Transformer(small(**changed)), pairs()
    assert logits(model, batch).shape == (4, 8, 13)


def test_without_lengths_every_source_token_is_real() -> None:
    model, batch = Transformer(small()), pairs(SOURCES[:1], TARGETS[:1])
    assert_close(model(batch.source.ids_BS, batch.target_in), logits(model, batch))


@pytest.mark.parametrize(
    ("tied", "embeddings"),
    [
        ("all", {"source_embedding", "target_embedding", "output"}),
        ("decoder", {"target_embedding", "output"}),
        ("none", set[str]()),
    ],
)
def test_tied_embeddings_are_one_and_the_same_parameter(tied: str, embeddings: set[str]) -> None:
    model = Transformer(small(tied=tied))
    matrices = {name: getattr(model, name) for name in ("source_embedding", "target_embedding", "output")}
    same = {name for name, matrix in matrices.items() if matrix.weight is model.output.weight}
    assert same == (embeddings or {"output"})
    separate = len({id(matrix.weight) for matrix in matrices.values()})
    assert sum(p.shape == (13, 14) for p in model.parameters()) == separate


def test_the_names_of_the_weights_are_those_that_run_folders_hold() -> None:
    attention = [f"w_{part}.{kind}" for part in "qkvo" for kind in ("weight", "bias")]
    feed_forward = [f"feed_forward.w_{part}.{kind}" for part in "12" for kind in ("weight", "bias")]

    def layer(attentions: list[str], arounds: list[str]) -> set[str]:
        names = {f"{name}.{part}" for name in attentions for part in attention} | set(feed_forward)
        return names | {f"around_{name}.norm.{kind}" for name in arounds for kind in ("weight", "bias")}

    encoder = layer(["self_attention"], ["attention", "feed_forward"])
    decoder = layer(["self_attention", "cross_attention"], ["self", "cross", "feed_forward"])
    names = {"source_embedding.weight", "target_embedding.weight", "output.weight"}
    names |= {f"encoder.layers.{number}.{name}" for number in range(2) for name in encoder}
    names |= {f"decoder.layers.{number}.{name}" for number in range(2) for name in decoder}
    assert set(Transformer(small()).state_dict()) == names
    norms = {f"{stack}.norm.{kind}" for stack in ("encoder", "decoder") for kind in ("weight", "bias")}
    assert set(Transformer(small(norm="pre")).state_dict()) == names | norms
    learned = {"source_positions.weight", "target_positions.weight"}
    assert set(Transformer(small(positions="learned")).state_dict()) == names | learned


def test_the_papers_base_model_takes_one_line_and_no_memory_on_the_meta_device() -> None:
    with torch.device("meta"):
        model = Transformer(Settings())
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}
    assert model.output.weight.shape == (37_000, 512)


# --- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"d_k": 0}, "d_model 14 is not a multiple of num_heads 3"),
        ({"source_vocab": 17}, 'tied = "all" needs one vocabulary, not two of 17 and 13'),
        ({"dropout": 1.0}, "less than 1"),
        ({"heads": 3}, "Extra inputs are not permitted"),
        ({"window": 4}, "window 4 is even"),
        ({"residual": False, "norm": "pre"}, 'residual = false needs norm = "post", not "pre"'),
        ({"score": "dot", "attention_dropout": 0.1}, "attention_dropout needs score"),
    ],
)
def test_inconsistent_settings_are_refused(changed: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        small(**changed)


def test_only_learned_positions_limit_the_length() -> None:
    assert Transformer(small()).limit is None
    assert Transformer(small(positions="learned", max_positions=11)).limit == 11


# --- what is seen ---------------------------------------------------------------------------------


@VARIANTS
def test_a_sentence_does_not_depend_on_its_batch(changed: dict[str, object]) -> None:
    model = Transformer(small(**changed)).eval()
    together = logits(model, pairs())
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = logits(model, pairs([source], [target]))[0]
        assert_close(together[number, : len(alone)], alone, atol=1e-5, rtol=1e-4)


@VARIANTS
def test_the_contents_of_padding_do_not_matter(changed: dict[str, object]) -> None:
    model, batch = Transformer(small(**changed)).eval(), pairs()
    real_BS = torch.arange(batch.source.ids_BS.shape[1]) < batch.source.lengths_B[:, None]
    junk = torch.where(real_BS, batch.source.ids_BS, 12)
    assert_close(model(junk, batch.target_in, batch.source.lengths_B), logits(model, batch))


@VARIANTS
def test_no_prediction_depends_on_later_target_tokens(changed: dict[str, object]) -> None:
    model, batch = Transformer(small(**changed)).eval(), pairs(SOURCES[1:2], TARGETS[1:2])
    before = logits(model, batch)
    for place in range(1, batch.target_in.shape[1]):
        target = batch.target_in.clone()
        target[:, place] = 12 if target[0, place] != 12 else 11
        after = model(batch.source.ids_BS, target, batch.source.lengths_B)
        assert_close(after[:, :place], before[:, :place], atol=1e-6, rtol=0)
        assert not torch.allclose(after[:, place], before[:, place])


def test_every_source_token_reaches_every_prediction() -> None:
    model, batch = Transformer(small()).eval(), pairs(SOURCES[:1], TARGETS[:1])
    before = logits(model, batch)
    for place in range(batch.source.ids_BS.shape[1]):
        source = batch.source.ids_BS.clone()
        source[:, place] = 12
        assert ((model(source, batch.target_in) - before).abs().amax(2) > 1e-6).all()


def test_the_sources_order_enters_through_positions_alone() -> None:
    mixed = [[7, 4, 11, 5, 9]]
    for positions, seen in (("none", False), ("sinusoidal", True)):
        model = Transformer(small(positions=positions)).eval()
        one, other = (logits(model, pairs(source, TARGETS[:1])) for source in (SOURCES[:1], mixed))
        assert torch.allclose(one, other, atol=1e-5) is not seen


def test_without_residuals_all_positions_become_alike() -> None:
    """Attention alone is a mean of means (Dong et al. 2021)."""
    ids = torch.randint(4, 13, (1, 11))
    spread = {}
    for residual in (True, False):
        torch.manual_seed(1)
        model = Transformer(small(residual=residual, num_layers=3)).eval()
        spread[residual] = float(model.encode(ids, None).std(dim=1).mean().detach())
    assert spread[False] < spread[True] / 10


# --- loss and score -------------------------------------------------------------------------------


@VARIANTS
def test_loss_and_score_are_those_of_the_logits(changed: dict[str, object]) -> None:
    model, batch = Transformer(small(**changed)).double().eval(), pairs()
    if model.output_bias is not None:
        torch.nn.init.normal_(model.output_bias)
    real_BT = torch.arange(batch.target_out.shape[1]) < batch.target_lengths_B[:, None]
    real, targets = logits(model, batch)[real_BT], batch.target_out[real_BT]
    loss = model.loss(batch, step=1)
    smoothed = F.cross_entropy(real, targets, label_smoothing=0.1, reduction="sum")
    assert_close(loss["loss"].sum, smoothed)
    assert_close(loss["nll"].sum, F.cross_entropy(real, targets, reduction="sum"))
    assert int(loss["accuracy"].sum) == int((real.argmax(1) == targets).sum())
    assert {name: term.weight for name, term in loss.items()} == {"loss": 1, "nll": 0, "accuracy": 0}
    assert {term.per for term in loss.values()} == {"tokens"}
    scores = model.score(batch).double()
    assert scores.shape == batch.target_out.shape
    assert not scores[~real_BT].any()
    assert_close(scores.sum(), -loss["nll"].sum, atol=1e-5, rtol=1e-6)


@VARIANTS
def test_every_parameter_gets_a_gradient(changed: dict[str, object]) -> None:
    model, batch = Transformer(small(**changed)), pairs()
    objective(model.loss(batch, step=1), batch.counts).backward()  # type: ignore[no-untyped-call]
    # A bias of the keys shifts all scores of a query equally, and softmax is invariant to it.
    seen = {name: p.grad for name, p in model.named_parameters() if not name.endswith("w_k.bias")}
    assert all(gradient is not None and gradient.any() for gradient in seen.values())


def test_dropout_is_active_in_training_only() -> None:
    model, batch = Transformer(small(dropout=0.3)), pairs()
    assert not torch.equal(logits(model, batch), logits(model, batch))
    model.eval()
    assert torch.equal(logits(model, batch), logits(model, batch))


def test_under_autocast_everything_stays_close_and_gradients_are_in_fp32() -> None:
    model, batch = Transformer(small(positions="learned", norm="pre")), pairs()
    exact = model.loss(batch, step=1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.loss(batch, step=1)
    assert loss["loss"].sum.dtype == torch.float32
    assert_close(loss["nll"].sum, exact["nll"].sum, rtol=0.02, atol=0)
    objective(loss, batch.counts).backward()  # type: ignore[no-untyped-call]
    assert {p.grad.dtype for p in model.parameters() if p.grad is not None} == {torch.float32}
