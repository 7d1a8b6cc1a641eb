"""BERT against Hugging Face's with copied weights, its sizes, and the weights that a classifier reuses."""

from typing import Any

import pytest
import torch
from hugging_face import as_ours
from torch.testing import assert_close
from transformers import BertConfig, BertForPreTraining

from multihead import recipe as recipes
from multihead.apps.huggingface.foreign import bert
from multihead.batch import Input, MaskedBatch
from multihead.models.bert import BERT, Settings
from multihead.models.bert_classifier import BERTClassifier
from multihead.models.bert_classifier import Settings as ClassifierSettings
from multihead.tasks.classification.settings import TrainingSettings
from multihead.training import optimizers

V, D, H, D_FF, LAYERS, LONGEST = 41, 22, 2, 31, 3, 17
SIZES = {
    "vocab_size": V,
    "max_positions": LONGEST,
    "d_model": D,
    "num_heads": H,
    "num_layers": LAYERS,
    "d_ff": D_FF,
}


def some_input() -> Input:
    lengths = torch.tensor([13, 7, 3])
    ids = torch.randint(5, V, (3, 13))
    ids[torch.arange(13) >= lengths[:, None]] = 0
    segments = (torch.arange(13) >= torch.tensor([[6], [4], [9]])).long()
    return Input(ids, segments, lengths)


@torch.no_grad()
def test_both_heads_equal_hugging_faces() -> None:
    config = BertConfig(
        vocab_size=V,
        hidden_size=D,
        num_hidden_layers=LAYERS,
        num_attention_heads=H,
        intermediate_size=D_FF,
        max_position_embeddings=LONGEST,
    )
    theirs: Any = BertForPreTraining(config)
    theirs.eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    settings, weights = as_ours(bert, theirs)
    ours = BERT(Settings(**settings)).eval()
    ours.load_state_dict(weights)
    read = some_input()
    real = torch.arange(13) < read.lengths_B[:, None]
    expected = theirs(read.ids_BN, attention_mask=real.long(), token_type_ids=read.segments_BN)
    guesses, follows = ours(read)
    assert expected.prediction_logits.std() > 0.3
    assert_close(guesses[real], expected.prediction_logits[real], atol=1e-4, rtol=1e-5)
    assert_close(follows, expected.seq_relationship_logits, atol=1e-4, rtol=1e-5)


def test_the_loss_covers_masked_tokens_and_labelled_pairs() -> None:
    model = BERT(Settings.model_validate(SIZES)).eval()
    read = some_input()
    places, answers = torch.tensor([2, 15, 27]), torch.tensor([7, 11, 13])
    batch = MaskedBatch(read, places, answers, torch.tensor([1, -1, 0]), tokens=23, pairs=2)
    guesses, follows = model(read)
    loss = model.loss(batch, 1)
    log_p = guesses.flatten(0, 1)[places].log_softmax(-1)
    assert_close(loss["loss"].sum, -log_p[torch.arange(3), answers].sum())
    log_p = follows.log_softmax(-1)
    assert_close(loss["next_loss"].sum, -(log_p[0, 1] + log_p[2, 0]))
    assert batch.counts == {"masked": 3, "pairs": 2}


@pytest.mark.parametrize(("name", "published"), [("bert-base", 110e6), ("bert-large", 340e6)])
def test_a_recipe_has_the_published_number_of_parameters(name: str, published: float) -> None:
    settings = recipes.load(name).model
    assert isinstance(settings, Settings)
    with torch.device("meta"):
        count = sum(parameter.numel() for parameter in BERT(settings).parameters())
    assert count == pytest.approx(published, rel=0.02)


def test_a_classifier_reuses_the_encoder_and_keeps_its_own_classes() -> None:
    trained = BERT(Settings.model_validate(SIZES)).state_dict()
    model = BERTClassifier(ClassifierSettings.model_validate({**SIZES, "classes": 3}))
    taken = model.taken_from(trained)
    assert set(taken) == {name for name in model.state_dict() if name.startswith("encoder.")}
    other = BERTClassifier(ClassifierSettings.model_validate({**SIZES, "classes": 3}))
    assert set(model.taken_from(other.state_dict())) == set(model.state_dict())


def test_lower_layers_have_greater_depth() -> None:
    model = BERTClassifier(ClassifierSettings.model_validate({**SIZES, "classes": 3}))
    optimizer = optimizers.make_optimizer(model, TrainingSettings(layer_decay=0.5))
    optimizers.set_rate(optimizer, 0.8)
    rates = {id(p): group["lr"] for group in optimizer.param_groups for p in group["params"]}
    assert len(rates) == len(list(model.parameters()))
    for name, rate in {
        "output.weight": 0.8,
        "encoder.pool.bias": 0.8,
        "encoder.stack.layers.2.feed_forward.w_1.weight": 0.4,
        "encoder.stack.layers.0.around_attention.norm.bias": 0.1,
        "encoder.embedding.weight": 0.05,
        "encoder.norm.weight": 0.05,
    }.items():
        assert rates[id(model.get_parameter(name))] == pytest.approx(rate), name
