"""BERT's classifier of pairs and its spans against Hugging Face's with copied weights."""

from typing import Any

import pytest
import torch
from hugging_face import as_ours
from torch.testing import assert_close
from transformers import BertConfig, BertForQuestionAnswering, BertForSequenceClassification

from multihead.apps.huggingface.foreign import bert
from multihead.batch import Input, SpanBatch
from multihead.models import bert_classifier, bert_spans
from multihead.models.bert import BERT
from multihead.models.bert_spans import best_spans, inside_text, span_loss

V, D, N = 41, 22, 13
CONFIG: dict[str, Any] = {
    "vocab_size": V,
    "hidden_size": D,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "intermediate_size": 31,
    "max_position_embeddings": 17,
}


def some_pairs() -> Input:
    lengths, borders = torch.tensor([13, 7, 11]), torch.tensor([[6], [4], [2]])
    ids = torch.randint(5, V, (3, N))
    ids[torch.arange(N) >= lengths[:, None]] = 0
    segments = ((torch.arange(N) >= borders) & (torch.arange(N) < lengths[:, None])).long()
    return Input(ids, segments, lengths)


def with_their_weights(theirs: Any, module: Any, **more: object) -> Any:
    theirs.eval()
    torch.manual_seed(3)
    for name, parameter in theirs.named_parameters():
        torch.nn.init.normal_(parameter, std=0.4, mean=float("LayerNorm.weight" in name))
    settings, weights = as_ours(bert, theirs)
    ours = module.Model(module.Settings(**settings, **more)).eval()
    encoder = {name: weight for name, weight in weights.items() if name in ours.state_dict()}
    missing, unexpected = ours.load_state_dict(encoder, strict=False)
    assert all(name.startswith("output.") for name in missing)
    assert not unexpected
    return ours


@torch.no_grad()
def test_a_classifier_of_pairs_equals_hugging_faces() -> None:
    theirs: Any = BertForSequenceClassification(BertConfig(**{**CONFIG, "num_labels": 3}))
    ours = with_their_weights(theirs, bert_classifier, classes=3)
    ours.output.load_state_dict(theirs.classifier.state_dict())
    read = some_pairs()
    mask = (torch.arange(N) < read.lengths_B[:, None]).long()
    expected = theirs(read.ids_BN, attention_mask=mask, token_type_ids=read.segments_BN).logits
    assert_close(ours(read), expected, atol=1e-4, rtol=1e-5)
    single = theirs(read.ids_BN, attention_mask=mask).logits
    assert (expected - single).abs().max() > 0.1  # the segments matter


@torch.no_grad()
def test_start_and_end_equal_hugging_faces() -> None:
    theirs: Any = BertForQuestionAnswering(BertConfig(**CONFIG))
    ours = with_their_weights(theirs, bert_spans)
    ours.output.weight.copy_(theirs.qa_outputs.weight)
    theirs.qa_outputs.bias.zero_()  # changes no probability, and ours has none
    read = some_pairs()
    real = torch.arange(N) < read.lengths_B[:, None]
    expected = theirs(read.ids_BN, attention_mask=real.long(), token_type_ids=read.segments_BN)
    start, end = ours(read)
    assert expected.start_logits.std() > 0.1
    assert_close(start[real], expected.start_logits[real], atol=1e-4, rtol=1e-5)
    assert_close(end[real], expected.end_logits[real], atol=1e-4, rtol=1e-5)


def test_the_loss_is_the_mean_of_two_cross_entropies_over_the_text_and_cls() -> None:
    read = some_pairs()
    start, end = torch.randn(2, 3, N).requires_grad_().unbind(0)
    answers = torch.tensor([[7, 9], [0, 0], [3, 3]])
    batch = SpanBatch(read, answers[:, 0], answers[:, 1], tokens=31)
    expected = torch.zeros(())
    for logits, wanted in ((start, answers[:, 0]), (end, answers[:, 1])):
        # [CLS], and the text between the first [SEP] and the last.
        for row, (first, last) in enumerate([(6, 12), (4, 6), (2, 10)]):
            allowed = [0, *range(first, last)]
            log_p = logits[row, allowed].log_softmax(0)
            expected = expected - log_p[allowed.index(int(wanted[row]))] / 2
    loss = span_loss(start, end, batch)
    assert_close(loss["loss"].sum, expected)
    assert batch.counts == {"windows": 3}
    (gradient,) = torch.autograd.grad(loss["loss"].sum, start)
    assert gradient.isfinite().all()
    assert gradient[0, 3] == gradient[0, 12] == 0  # question and [SEP]


@pytest.mark.parametrize("most", [1, 3, 30])
def test_the_best_span_is_that_of_brute_force(most: int) -> None:
    torch.manual_seed(most)
    read = some_pairs()
    start, end = torch.randn(2, 3, N)
    odds, first, last = best_spans(start, end, read, most)
    for row in range(3):
        inside = inside_text(read)[row].nonzero().flatten().tolist()
        spans = [(i, j) for i in inside for j in inside if i <= j < i + most]
        best = max(spans, key=lambda span, row=row: float(start[row, span[0]] + end[row, span[1]]))  # type: ignore[misc]
        assert (first[row].item(), last[row].item()) == best
        expected = start[row, best[0]] + end[row, best[1]] - start[row, 0] - end[row, 0]
        assert_close(odds[row], expected)


def test_spans_reuse_a_pretrained_encoder() -> None:
    sizes = {"vocab_size": V, "max_positions": 17, "d_model": D, "num_layers": 1, "num_heads": 2}
    trained = BERT(bert_spans.Settings.model_validate(sizes)).state_dict()
    model = bert_spans.Model(bert_spans.Settings.model_validate(sizes))
    taken = set(model.taken_from(trained))
    assert taken == {name for name in model.state_dict() if name.startswith("encoder.")}
    assert set(model.taken_from(model.state_dict())) == taken | {"output.weight"}
