"""BERT for little text: exact matches of pairs, relative positions, BPE-dropout of tags."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from multihead.batch import Input
from multihead.errors import UserError
from multihead.models import bert, bert_classifier
from multihead.recipe import from_toml, refuse_contradictions
from multihead.tasks.masked.mask_tokens import learn
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.tasks.tagging.tagged import encode_words, reencode_words
from multihead.text.bpe_dropout import BPEDropout

SIZES = {"vocab_size": 41, "max_positions": 19, "d_model": 14, "num_heads": 2, "num_layers": 2, "d_ff": 22}


def read(ids: list[int], first: int) -> Input:
    """Return a pair whose first text, with its symbols, has so many tokens."""
    segments = [int(place >= first) for place in range(len(ids))]
    return Input(torch.tensor([ids]), torch.tensor([segments]), torch.tensor([len(ids)]))


def test_a_token_is_marked_if_the_other_text_has_it_wherever() -> None:
    pair = read([2, 11, 13, 13, 3, 17, 13, 11, 23, 3], first=5)
    expected = [False, True, True, True, True, False, True, True, False, True]
    assert bert_classifier.exact_matches(pair).tolist() == [expected]


def test_repetition_within_a_text_is_no_match_and_a_single_text_has_none() -> None:
    assert not bert_classifier.exact_matches(read([2, 11, 11, 3], first=4)).any()


@torch.no_grad()
def test_a_mark_changes_the_class_and_begins_without_effect() -> None:
    plain = bert_classifier.Model(bert_classifier.Settings.model_validate(SIZES)).eval()
    settings = bert_classifier.Settings.model_validate({**SIZES, "exact_match": True})
    marking = bert_classifier.Model(settings).eval()
    assert marking.matched is not None
    for parameter in plain.parameters():
        torch.nn.init.normal_(parameter, std=0.4)
    marking.load_state_dict({**marking.state_dict(), **plain.state_dict()})
    pair = read([2, 11, 3, 11, 3], first=3)
    assert_close(marking(pair), plain(pair))
    marking.matched.add_(torch.arange(14) / 7)
    assert not torch.allclose(marking(pair), plain(pair), atol=1e-2)


def test_relative_positions_see_order_without_a_table_of_places() -> None:
    settings = bert.Settings.model_validate({**SIZES, "positions": "relative"})
    encoder = bert.BERTEncoder(settings).eval()
    for table in (part for name, part in encoder.named_parameters() if "score" in name):
        torch.nn.init.normal_(table)
    there, here = encoder(read([7, 11, 13], first=3)), encoder(read([7, 13, 11], first=3))
    assert not torch.allclose(there[0, 1], here[0, 2], atol=1e-3)
    assert "encoder.positions.weight" not in dict(encoder.named_parameters())


def test_relative_positions_are_for_full_attention() -> None:
    overrides = {"model.kind": "bert", "model.positions": "relative", "model.attention": "window"}
    with pytest.raises(UserError, match="relative"):
        from_toml("", overrides=overrides)


def test_each_word_keeps_its_start_under_another_segmentation() -> None:
    words = [("lower", "lowest", "newer"), ("wider", "x"), ("newest",)]
    text = [" ".join(sentence) for sentence in words] * 7
    tokenizer = learn(text, TokenizerSettings(kind="bpe", vocab_size=300), lowercase=False)
    plain = list(encode_words(words, tokenizer))
    dropout = BPEDropout(tokenizer, 0.5, seed=1)
    first, again, other = (
        reencode_words(plain, dropout, [(epoch, row) for row in range(3)]) for epoch in (0, 0, 1)
    )
    for sentence, original in zip(first, words, strict=True):
        edges = [*sentence.starts.tolist(), len(sentence.ids)]
        spelt = [tokenizer.decode(sentence.ids[start:end].tolist()) for start, end in pairwise(edges)]
        assert tuple(spelt) == original
    assert all(np.array_equal(one.ids, two.ids) for one, two in zip(first, again, strict=True))
    assert not all(np.array_equal(one.ids, two.ids) for one, two in zip(first, other, strict=True))
    assert sum(len(one.ids) for one in first) > sum(len(one.ids) for one in plain)


def test_dropout_of_merges_needs_bpe() -> None:
    made = from_toml("", overrides={"model.kind": "bert_tagger", "tokenizer.dropout": 0.1})
    with pytest.raises(UserError, match=r"leaves out merges of BPE, and tokenizer.kind is .wordpiece"):
        refuse_contradictions(made)
