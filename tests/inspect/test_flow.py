"""The data flow of a model: its parts in order, their sizes, and what the output side reads of the source."""

from typing import Any

import pytest
import small_models
import torch
from gru import Gru
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.masked.attention import inspect_masked_text
from small_translators import recurrent_translator, small_translator
from torch import nn

from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.inspect.maps import record
from multihead.inspect.page import explore_text
from multihead.inspect.page.flow import flow, units
from multihead.inspect.page.kinds import BIDIRECTIONAL, CAUSAL
from multihead.models import conv_s2s, vit
from multihead.tasks.translation.attention import pair
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.page import explore

SOURCE, TARGET = "zwei Hunde laufen .", "two dogs run ."
Json = dict[str, Any]


def of_pair(model: Any, batch: PairBatch) -> Json:
    records = record(model, batch, keep_inputs=True)
    return flow(model, lambda one: one.score(batch), records, batch.target_BT)


def of(translator: Translator) -> tuple[list[Json], PairBatch]:
    """Return the parts, after a check that every parameter is counted once."""
    batch = pair(translator, SOURCE, translator.target_tokenizer.encode(TARGET))
    found = of_pair(translator.models[0], batch)
    check_sums(found, translator.models[0])
    return found["parts"], batch


def check_sums(found: Json, model: nn.Module) -> None:
    every = sum(one.numel() for one in model.parameters())
    assert found["parameters"] == every
    assert sum(part["parameters"] for part in found["parts"]) + found["elsewhere"] == every


def roles(parts: list[Json], *, target: bool) -> list[str]:
    return [part["role"] for part in parts if part["target"] == target]


def conv_translator() -> Translator:
    translator = small_translator()
    sizes = {"source_vocab": translator.source_tokenizer.vocab_size, "d_embedding": 11, "d_hidden": 13}
    given = {**sizes, "target_vocab": translator.target_tokenizer.vocab_size, "num_layers": 2}
    translator.models = (conv_s2s.Model(conv_s2s.Settings.model_validate(given)).eval(),)
    return translator


def test_a_post_norm_transformer_adds_before_it_normalises() -> None:
    parts, batch = of(small_translator())
    layer = ["attention", "norm", "feed-forward", "norm"]
    assert roles(parts, target=False) == ["embedding", "positions", *layer, *layer]
    decoder = ["attention", "norm", *layer]
    assert roles(parts, target=True) == ["embedding", "positions", *decoder, *decoder, "output"]
    S, T = batch.source.ids_BS.shape[1], batch.target_in.shape[1]
    assert {(*part["shape"],) for part in parts} == {(S, 24), (T, 24), (T, 290)}
    assert {part["inner"] for part in parts if part["role"] == "feed-forward"} == {37}


def test_a_pre_norm_transformer_normalises_first_and_once_more_at_its_end() -> None:
    parts, _ = of(small_translator(norm="pre", num_layers=1))
    assert roles(parts, target=False) == [
        *("embedding", "positions"), *("norm", "attention", "norm", "feed-forward"), "norm",
    ]  # fmt: skip
    assert parts[3]["residual"] == parts[2]["residual"] != parts[4]["residual"]


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_cross_attention_alone_reads_the_encoders_last_part(norm: str) -> None:
    parts, _ = of(small_translator(norm=norm))
    last = sum(not part["target"] for part in parts) - 1
    for part in parts:
        crosses = bool(part["attention"] and part["attention"]["kind"] == "cross")
        assert part["reads"] == ([last] if crosses else [])
    crossing = [part["attention"] for part in parts if part["reads"]]
    assert [(one["layer"], one["heads"], one["d_k"]) for one in crossing] == [(1, 3, 8), (2, 3, 8)]


def test_each_decoder_layer_of_seq2seq_starts_from_the_state_of_its_encoder_layer() -> None:
    parts, _ = of(recurrent_translator("seq2seq"))
    assert roles(parts, target=False) == ["embedding"] + ["recurrent"] * 4
    assert [part["reads"] for part in parts if part["target"]] == [[], [1], [2], [3], [4], []]


def test_a_step_wise_decoder_uses_its_parts_once_a_token() -> None:
    parts, batch = of(recurrent_translator("rnn_attention"))
    T = batch.target_in.shape[1]
    assert roles(parts, target=False) == ["embedding", "recurrent", "recurrent", "keys", "linear"]
    assert roles(parts, target=True) == ["embedding", "attention", "recurrent", "linear", "output"]
    attention, cell = parts[6], parts[7]
    assert (attention["calls"], cell["calls"], cell["shape"]) == (T, T, [T, 13])
    assert attention["reads"] == [1, 2, 3, 4]  # both directions as values, the keys, and the initial state
    (of_keys,), of_attention = parts[3]["tensors"], attention["tensors"]
    assert parts[3]["parameters"] == of_keys[1][0] * of_keys[1][1]
    assert of_keys in of_attention
    assert attention["parameters"] > 0


def test_positions_of_the_target_are_on_its_side() -> None:
    parts, _ = of(conv_translator())
    assert roles(parts, target=False)[:2] == roles(parts, target=True)[:2] == ["embedding", "positions"]
    # The values are z + e (Gehring et al. 2017, eq. 2): the embeddings are read as well.
    crossing = [part["reads"] for part in parts if part["role"] == "attention"]
    assert crossing == [[0, 1, 5], [0, 1, 5]]


def test_tied_weights_are_counted_where_they_are_used_first() -> None:
    parts, _ = of(small_translator(tied="decoder"))
    assert (parts[-1]["role"], parts[-1]["shared"], parts[-1]["parameters"]) == ("output", True, 0)
    generator = small_models.gpt_generator()
    read = inspect_text(generator, "the king")
    found = explore_text(read, generator.model, generator.tokenizer, CAUSAL).content["flow"]
    check_sums(found, generator.model)
    assert [part["role"] for part in found["parts"]][-2:] == ["norm", "output"]
    assert {part["target"] for part in found["parts"]} == {False}


def test_a_bert_has_segments_and_leaves_out_no_weight_but_the_bias_of_its_output() -> None:
    filler = small_models.mask_filler()
    read = inspect_masked_text(filler, "the [MASK]")
    found = explore_text(read, filler.model, filler.tokenizer, BIDIRECTIONAL).content["flow"]
    check_sums(found, filler.model)
    assert roles(found["parts"], target=False)[:4] == ["embedding", "segments", "positions", "norm"]
    assert found["elsewhere"] == filler.tokenizer.vocab_size


def test_a_model_of_no_known_class_is_shown_by_what_ran() -> None:
    model = Gru(29, 23)
    batch = collate([[5, 6, 7]], [[8, 9]], pad_id=0, bos_id=1, eos_id=2)
    found = of_pair(model, batch)
    check_sums(found, model)
    assert roles(found["parts"], target=False) == ["embedding", "recurrent"]
    assert roles(found["parts"], target=True) == ["embedding", "recurrent", "attention", "linear", "output"]
    assert [part["reads"] for part in found["parts"] if part["target"]] == [[], [1], [1], [], []]


def test_a_part_of_an_unknown_class_is_a_unit_if_it_has_weights() -> None:
    class Scale(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = nn.Parameter(torch.ones(1))

    model = nn.Sequential(nn.Sequential(Scale(), nn.ReLU()), nn.Linear(2, 2))
    assert units(model) == {"0.0": "0.0", "1": "1"}


@pytest.mark.parametrize(
    "changed",
    [
        {"positions": "rotary"},
        {"decoder_cell": "ssru"},
        {"tied": "all"},
        {"activation": "swiglu"},
        {"window": 3},
        {"residual": False, "norm": "post"},
    ],
    ids=str,
)
def test_every_parameter_of_a_changed_layer_is_in_one_part(changed: dict[str, Any]) -> None:
    parts, _ = of(small_translator(num_layers=1, **changed))
    assert sum(part["role"] == "feed-forward" for part in parts) == 2
    assert len([part for part in parts if part["reads"]]) == 1


def test_the_model_is_unchanged_and_the_hooks_are_gone() -> None:
    translator = small_translator()
    (model,) = translator.models
    model.train()
    before = {name: one.clone() for name, one in model.state_dict().items()}
    of(translator)
    assert model.training
    assert not any(one._forward_hooks or one._forward_pre_hooks for one in model.modules())
    assert all(torch.equal(one, before[name]) for name, one in model.state_dict().items())


def test_the_parts_of_a_vision_transformer_are_measured_on_its_patches() -> None:
    classifier = small_models.image_classifier()
    assert isinstance(classifier.model, vit.Model)
    image = torch.rand(1, 3, 15, 15)
    found = flow(classifier.model, lambda model: model(image), [])
    check_sums(found, classifier.model)
    shapes = {part["role"]: part["shape"] for part in found["parts"]}
    assert shapes["patches"] == [25, 12]
    assert shapes["attention"] == [26, 12]  # the class token is one more
    assert (shapes["pooling"], shapes["output"]) == ([12], [2])
    assert found["elsewhere"] == 12  # the class token, which is no module


def test_every_page_has_the_flow_of_its_sentence() -> None:
    content = explore(small_translator(), SOURCE, TARGET).content
    assert content["flow"]["parts"][0]["shape"] == [len(content["source"]["pieces"]), 24]
