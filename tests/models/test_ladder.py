"""Properties of every translation model, from RNN to Transformer: dependencies, masking, loss."""

import pytest
import torch
import torch.nn.functional as F
from ladder import EVERY, SOURCES, TARGETS, VARIANTS, V, model_of, pairs
from torch.testing import assert_close

from multihead.batch import Source
from multihead.nn.losses import objective

RECURRENT = pytest.mark.parametrize("name", [name for name in VARIANTS if "conv" not in name])


@EVERY
def test_it_maps_ids_to_logits(name: str) -> None:
    batch = pairs()
    assert model_of(name)(batch.source, batch.target_in).shape == (4, 8, V)


@EVERY
@torch.no_grad()
def test_a_sentence_does_not_depend_on_its_batch(name: str) -> None:
    model, batch = model_of(name), pairs()
    together = model(batch.source, batch.target_in)
    for number, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        one = pairs([source], [target])
        alone = model(one.source, one.target_in)[0]
        assert_close(together[number, : len(alone)], alone, atol=1e-5, rtol=0)


@EVERY
@torch.no_grad()
def test_the_contents_of_padding_do_not_matter(name: str) -> None:
    model, batch = model_of(name), pairs()
    real_BS = torch.arange(batch.source.ids_BS.shape[1]) < batch.source.lengths_B[:, None]
    junk = Source(torch.where(real_BS, batch.source.ids_BS, 12), batch.source.lengths_B)
    assert_close(model(junk, batch.target_in), model(batch.source, batch.target_in))


@EVERY
@torch.no_grad()
def test_no_prediction_depends_on_later_target_tokens(name: str) -> None:
    model, batch = model_of(name), pairs(SOURCES[1:2], TARGETS[1:2])
    before = model(batch.source, batch.target_in)
    for place in range(1, batch.target_in.shape[1]):
        target = batch.target_in.clone()
        target[:, place] = 12 if target[0, place] != 12 else 11
        after = model(batch.source, target)
        assert_close(after[:, :place], before[:, :place], atol=1e-6, rtol=0)
        assert not torch.allclose(after[:, place], before[:, place], atol=1e-6)


@EVERY
@torch.no_grad()
def test_every_source_token_reaches_every_prediction(name: str) -> None:
    model, batch = model_of(name), pairs(SOURCES[:1], TARGETS[:1])
    model.double()
    before = model(batch.source, batch.target_in)
    for place in range(batch.source.ids_BS.shape[1]):
        ids = batch.source.ids_BS.clone()
        ids[:, place] = 12
        after = model(Source(ids, batch.source.lengths_B), batch.target_in)
        assert ((after - before).abs().amax(2) > 1e-9).all()


@EVERY
@torch.no_grad()
def test_predictions_depend_on_the_sources_order(name: str) -> None:
    model = model_of(name)
    one, other = pairs([[5, 9, 4]], [[6, 8]]), pairs([[4, 9, 5]], [[6, 8]])
    assert not torch.allclose(
        model(one.source, one.target_in), model(other.source, other.target_in), atol=1e-6
    )


@EVERY
def test_loss_and_score_are_those_of_the_logits(name: str) -> None:
    model, batch = model_of(name, label_smoothing=0.1).double(), pairs()
    real_BT = torch.arange(batch.target_out.shape[1]) < batch.target_lengths_B[:, None]
    real, targets = model(batch.source, batch.target_in)[real_BT], batch.target_out[real_BT]
    loss = model.loss(batch, 1)
    assert_close(loss["loss"].sum, F.cross_entropy(real, targets, label_smoothing=0.1, reduction="sum"))
    assert_close(loss["nll"].sum, F.cross_entropy(real, targets, reduction="sum"))
    assert int(loss["accuracy"].sum) == int((real.argmax(1) == targets).sum())
    assert {part: term.weight for part, term in loss.items()} == {"loss": 1, "nll": 0, "accuracy": 0}
    assert {term.per for term in loss.values()} == {"tokens"}
    scores = model.score(batch).double()
    assert scores.shape == batch.target_out.shape
    assert not scores[~real_BT].any()
    assert_close(scores.sum(), -loss["nll"].sum, atol=1e-5, rtol=1e-6)


@EVERY
def test_every_parameter_gets_a_gradient(name: str) -> None:
    model, batch = model_of(name), pairs()
    objective(model.loss(batch, 1), batch.counts).backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and p.grad.any() for p in model.parameters())


@EVERY
def test_dropout_is_active_in_training_only(name: str) -> None:
    model, batch = model_of(name, dropout=0.3), pairs()
    assert torch.equal(model(batch.source, batch.target_in), model(batch.source, batch.target_in))
    model.train()
    assert not torch.equal(model(batch.source, batch.target_in), model(batch.source, batch.target_in))


@EVERY
def test_under_autocast_everything_stays_close_and_gradients_are_in_fp32(name: str) -> None:
    model, batch = model_of(name), pairs()
    exact = model.loss(batch, 1)
    with torch.autocast("cpu", torch.bfloat16):
        loss = model.loss(batch, 1)
    assert loss["loss"].sum.dtype == torch.float32
    assert_close(loss["nll"].sum, exact["nll"].sum, rtol=0.02, atol=0)
    objective(loss, batch.counts).backward()  # type: ignore[no-untyped-call]
    assert {p.grad.dtype for p in model.parameters()} == {torch.float32}


@RECURRENT
def test_scheduled_sampling_is_training_only_and_follows_the_step(name: str) -> None:
    batch = pairs()
    right, own = model_of(name), model_of(name, teacher_forcing=0.0, teacher_forcing_steps=100)

    def loss(model: torch.nn.Module, step: int) -> float:
        return float(model.loss(batch, step)["loss"].sum.detach())  # type: ignore[operator]

    assert loss(own, 200) == loss(right, 200)
    own.train()
    assert loss(own, 0) == pytest.approx(loss(right, 0))
    assert loss(own, 200) != pytest.approx(loss(right, 200), rel=1e-4)
    objective(own.loss(batch, 200), batch.counts).backward()  # type: ignore[no-untyped-call]
    assert all(p.grad is not None and p.grad.any() for p in own.parameters())


@RECURRENT
@torch.no_grad()
def test_scheduled_samplings_predictions_are_those_of_greedy_search(name: str) -> None:
    """With teacher_forcing 0, the decoder reads greedy search's output."""
    model, batch = model_of(name, teacher_forcing=0.0), pairs()
    state, token = model.start(batch.source, [[2]] * 4), torch.full((4,), 2)
    logits = []
    for _ in range(batch.target_in.shape[1]):
        scores, state = model.step(token, state)
        logits.append(scores)
        token = scores.argmax(1)
    model.train()
    hidden = model.hidden_in_training(batch, 1)
    assert_close(model.output.logits(hidden), torch.stack(logits, dim=1))
