"""Invalid settings of a model are refused with its name."""

import pytest
import torch
from ladder import V, model_of, pairs
from torch.testing import assert_close

from multihead.errors import UserError
from multihead.models.seq2seq import reversed_within
from multihead.models.transformer import Settings, Transformer
from multihead.recipe import load, model_kinds


@pytest.mark.parametrize(
    ("recipe", "key", "value", "said"),
    [
        (
            "seq2seq-multi30k",
            "num_heads",
            "3",
            'the model "seq2seq" has no key "num_heads", which belongs to transformer',
        ),
        (
            "multi30k-de-en",
            "reverse_source",
            "true",
            'the model "transformer" has no key "reverse_source", which belongs',
        ),
        (
            "conv-s2s-multi30k",
            "cell",
            "gru",
            'no key "cell", which belongs to gnmt and rnn_attention and seq2seq',
        ),
        ("rnn-attention-multi30k", "kernel_size", "3", 'the model "rnn_attention" has no key "kernel_size"'),
        ("seq2seq-multi30k", "d_modle", "3", 'unknown key "model.d_modle"'),
        ("conv-s2s-multi30k", "kernel_size", "4", "kernel_size 4 is even; it must be odd"),
        ("multi30k-de-en", "window", "4", "window 4 is even; it must be odd"),
        ("rnn-attention-multi30k", "score", "dot", 'score = "dot" needs equal widths, but d_hidden is 256'),
        ("rnn-attention-multi30k", "score", "add", 'must be one of "additive", "dot", "general", "concat"'),
        ("seq2seq-multi30k", "teacher_forcing", "1.5", "a number of at least 0 and of at most 1"),
    ],
)
def test_nonsense_is_refused(recipe: str, key: str, value: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load(recipe, {f"model.{key}": value})
    assert said in str(caught.value)
    assert caught.value.place == f"--model.{key}"


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "conv_s2s"])
def test_a_tied_model_needs_one_vocabulary(kind: str) -> None:
    with pytest.raises(ValueError, match='tied = "all" needs one vocabulary, not two of 11 and 13'):
        model_kinds.load(kind).Settings(source_vocab=11, target_vocab=13, tied="all")


@pytest.mark.parametrize("kind", ["seq2seq", "rnn_attention", "conv_s2s"])
def test_the_papers_model_is_the_default_and_takes_no_memory_on_the_meta_device(kind: str) -> None:
    module = model_kinds.load(kind)
    with torch.device("meta"):
        model = module.Model(module.Settings())
    assert {parameter.device.type for parameter in model.parameters()} == {"meta"}


@pytest.mark.parametrize(
    ("recipe", "vocabularies", "millions"),
    [
        ("tutorial-seq2seq", (7_855, 5_893), 13.9),
        ("tutorial-transformer", (7_855, 5_893), 7.5),
        ("multi30k-de-en", (6_000, 6_000), 2.1),
        ("seq2seq-multi30k", (6_000, 6_000), 2.1),
        ("rnn-attention-multi30k", (6_000, 6_000), 2.1),
        ("conv-s2s-multi30k", (6_000, 6_000), 2.1),
    ],
)
def test_the_recipes_have_equal_sizes_and_the_tutorials_have_theirs(
    recipe: str, vocabularies: tuple[int, int], millions: float
) -> None:
    chosen = load(recipe)
    sizes = {"source_vocab": vocabularies[0], "target_vocab": vocabularies[1]}
    module = model_kinds.load(chosen.kind)
    with torch.device("meta"):
        model = module.Model(module.Settings.model_validate(chosen.model.model_dump() | sizes))
    assert sum(parameter.numel() for parameter in model.parameters()) / 1e6 == pytest.approx(
        millions, rel=0.04
    )


def test_a_source_is_reversed_except_its_end_symbol_and_padding() -> None:
    ids = torch.tensor([[5, 6, 7, 8, 3], [9, 3, 0, 0, 0], [3, 0, 0, 0, 0], [4, 5, 3, 0, 0]])
    lengths = torch.tensor([5, 2, 1, 3])
    assert reversed_within(ids, lengths).tolist() == [
        [8, 7, 6, 5, 3],
        [9, 3, 0, 0, 0],
        [3, 0, 0, 0, 0],
        [5, 4, 3, 0, 0],
    ]


@torch.no_grad()
def test_a_reversing_model_equals_the_plain_one_on_reversed_sources() -> None:
    one, other = model_of("seq2seq"), model_of("seq2seq", reverse_source=False)
    plain, turned = pairs([[5, 9, 4, 11]], [[7, 5]]), pairs([[11, 4, 9, 5]], [[7, 5]])
    assert_close(one(plain.source, plain.target_in), other(turned.source, turned.target_in))


def test_only_positions_limit_the_length() -> None:
    assert model_of("conv", max_positions=11).limit == 11
    assert getattr(model_of("seq2seq"), "limit", None) is None
    batch = pairs([[5] * 11], [[6]])
    with pytest.raises(ValueError, match="position 12 is beyond the 11 learned positions"):
        model_of("conv", max_positions=11)(batch.source, batch.target_in)


@torch.no_grad()
def test_a_window_hides_distant_words_in_one_layer() -> None:
    given = {"source_vocab": V, "target_vocab": V, "d_model": 12, "d_ff": 19, "num_layers": 1, "num_heads": 3}
    model = Transformer(Settings.model_validate({**given, "window": 5})).eval()
    ids = torch.randint(4, V, (1, 11))
    changed = ids.clone()
    changed[0, 5] = (ids[0, 5] - 3) % (V - 4) + 4
    moved = (model.encode(ids, None) - model.encode(changed, None)).abs().amax(2)[0] > 1e-6
    assert moved.nonzero()[:, 0].tolist() == [3, 4, 5, 6, 7]


@torch.no_grad()
def test_a_wide_window_changes_nothing() -> None:
    given = {"source_vocab": V, "target_vocab": V, "d_model": 12, "d_ff": 19, "num_layers": 2, "num_heads": 3}
    batch = pairs()
    outputs = []
    for window in (0, 101):
        torch.manual_seed(1)
        model = Transformer(Settings.model_validate({**given, "window": window})).eval()
        outputs.append(model(batch.source.ids_BS, batch.target_in, batch.source.lengths_B))
    assert_close(*outputs)
