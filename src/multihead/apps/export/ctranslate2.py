"""Export of Transformers to CTranslate2 (github.com/OpenNMT/CTranslate2), a C++ runtime with int8 inference.

Its ``TransformerSpec`` covers the paper's model (Vaswani et al. 2017) with post- or pre-norm, ReLU, GELU or
SiLU, and any table of positional encodings. Other models are refused, never approximated.

Needs the extra ``pip install 'multihead[export]'``.
"""

import shutil
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from multihead.apps.export import comparison
from multihead.apps.export.expressible import different_model, expressible_description
from multihead.apps.export.folder import refuse_used, write_folder
from multihead.apps.export.library import import_library
from multihead.apps.export.script import add_script
from multihead.batch import PairBatch, Source
from multihead.engines.parts import keys_of_every_head, stack_layers
from multihead.nn.description import (
    AttentionSpec,
    EncoderDecoderSpec,
    EncoderLayerSpec,
    FeedForwardSpec,
    LinearSpec,
    NormSpec,
    PositionsSpec,
    ResidualSpec,
)
from multihead.run import Run
from multihead.tasks.translation.lines.line_translator import DEFAULT_LIMIT
from multihead.text.tokenizer import Tokenizer

Quantization = Literal[
    "float32", "float16", "bfloat16", "int16", "int8", "int8_float32", "int8_float16", "int8_bfloat16"
]
"""Format of the matrices. A second part, as in int8_float16, is the format of all else; with plain int8
CTranslate2 chooses it for the machine."""

ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "silu": "SWISH"}
"""CTranslate2's names of our activations."""
SENTENCES, LENGTH = 5, 31
"""Number and length of the random sentences that :func:`verify` scores."""
TOLERANCE = 0.01
"""Largest difference in a sentence's log-probability; float32 rounding accounts for less than 0.001."""
POSITIONS = DEFAULT_LIMIT + 256
"""Rows of the table of positional encodings if the model has no limit: the longest line, and room for its
output."""


def export(
    run: Run, folder: Path, quantization: Quantization = "float32", *, max_loss: float = comparison.MAX_LOSS
) -> comparison.RuntimeComparison:
    """Write a run's model, vocabularies and tokenizers to a folder for CTranslate2.

    First CTranslate2 scores a few sentences in float32; the scores must agree with the model's. Then both
    runtimes translate the same sentences (``export.comparison``), CTranslate2 by the script in the folder.

    Args:
        run: a trained Transformer.
        folder: new or empty; it appears when it is complete.
        quantization: format in which weights are stored and products computed.
        max_loss: largest loss of BLEU by quantization.

    Returns:
        The comparison.

    Raises:
        UserError: CTranslate2 is not installed or cannot express this model; its scores or translations
            differ from the model's; the folder is not empty.
    """
    refuse_used(folder)
    model, place, tokenizers = run.load_model().eval(), str(run.folder), run.tokenizers()

    def complete_spec(format: str | None) -> Any:
        spec = specification(model, place=place)
        source, target = ([side.piece(number) for number in range(side.vocab_size)] for side in tokenizers)
        spec.register_source_vocabulary(source)
        spec.register_target_vocabulary(target)
        spec.config.unk_token = target[tokenizers[1].unk_id]
        spec.config.bos_token = spec.config.decoder_start_token = target[tokenizers[1].bos_id]
        spec.config.eos_token = target[tokenizers[1].eos_id]
        spec.config.add_source_eos = True
        spec.validate()
        spec.optimize(quantization=format)
        return spec

    verify(model, complete_spec(None), tokenizers, place=place)
    spec = complete_spec(None if quantization == "float32" else quantization)

    def fill(partial: Path) -> comparison.RuntimeComparison:
        spec.save(str(partial))
        for file in run.folder.glob("tokenizer*.json"):
            shutil.copyfile(file, partial / file.name)
        foreign = add_script(run, partial, tokenizers, getattr(model, "limit", None))
        result = comparison.compare(run, foreign, quantization, max_loss)
        remedy = "Export float32, or allow more with --max-loss." if quantization != "float32" else None
        result.write(partial, place=place, remedy=remedy)
        return result

    return write_folder(folder, fill)


def specification(model: nn.Module, *, place: str = "model") -> Any:
    """Return a ``ctranslate2.specs.TransformerSpec`` with a model's weights, without vocabularies.

    Args:
        model: the model.
        place: for error messages.

    Raises:
        UserError: CTranslate2 is not installed or cannot express this model.
    """
    specs = import_library("ctranslate2.specs")
    described = expressible_description(
        model, EncoderDecoderSpec, not_expressible, target="CTranslate2", place=place
    )
    first: EncoderLayerSpec = described.encoder.layers[0]
    spec = specs.TransformerSpec.from_config(
        (len(described.encoder.layers), len(described.decoder.layers)),
        first.self_attention.heads,
        pre_norm=first.residuals[0].kind == "pre",
        activation=getattr(specs.Activation, ACTIVATIONS[first.feed_forward.activation]),
    )
    spec.config.layer_norm_epsilon = first.residuals[0].norm.epsilon
    spec.encoder.embeddings[0].weight = _array(described.source.weight)
    spec.decoder.embeddings.weight = _array(described.target.weight)
    spec.encoder.scale_embeddings = np.float32(described.source.scale)
    spec.decoder.scale_embeddings = np.float32(described.target.scale)
    width = described.source.weight.shape[1]
    spec.encoder.position_encodings.encodings = _positions(described.source_positions, width)
    spec.decoder.position_encodings.encodings = _positions(described.target_positions, width)
    spec.decoder.projection.weight = _array(described.output.weight)
    if described.output.bias is not None:
        spec.decoder.projection.bias = _array(described.output.bias)
    for to, layer in zip(spec.encoder.layer, described.encoder.layers, strict=True):
        _self_attention(to.self_attention, layer.self_attention, layer.around_attention)
        _feed_forward(to.ffn, layer.feed_forward, layer.around_feed_forward)
    for to, layer in zip(spec.decoder.layer, described.decoder.layers, strict=True):
        _self_attention(to.self_attention, layer.self_attention, layer.around_self)
        _cross_attention(to.attention, layer.cross_attention, layer.around_cross)
        _feed_forward(to.ffn, layer.feed_forward, layer.around_feed_forward)
    for to, stack in ((spec.encoder, described.encoder), (spec.decoder, described.decoder)):
        if stack.norm is not None:
            _norm(to.layer_norm, stack.norm)
    return spec


def not_expressible(described: EncoderDecoderSpec) -> list[str]:
    """Return the properties of a model that CTranslate2 cannot express; empty if there are none."""
    faults = []
    if described.window:
        faults.append(f"window = {described.window}")
    if described.recurrent:
        faults.append("decoder_cell = ssru")
    if described.first_input != "begin":
        faults.append(f"first_input = {described.first_input}")
    for attention in described.attentions:
        faults += _faults_of(attention)
    residuals = [residual for layer in described.layers for residual in layer.residuals]
    kinds = {residual.kind for residual in residuals}
    norms = [stack.norm for stack in (described.encoder, described.decoder) if stack.norm is not None]
    if len(kinds) > 1 or (kinds == {"pre"}) != (len(norms) == 2):
        faults.append("pre- and post-norm are mixed")
    if len({norm.epsilon for norm in (*norms, *(residual.norm for residual in residuals))}) > 1:
        faults.append("layer norms differ in epsilon")
    if len({attention.heads for attention in described.attentions}) > 1:
        faults.append("attention layers differ in their number of heads")
    activations = {layer.feed_forward.activation for layer in described.layers}
    if len(activations) > 1 or not activations <= ACTIVATIONS.keys():
        faults.append(f"activation = {', '.join(sorted(activations))}")
    return list(dict.fromkeys(faults))


def _faults_of(attention: AttentionSpec) -> list[str]:
    d_model = attention.w_o.weight.shape[0]
    score = attention.score
    faults = {
        f"d_k = {attention.d_k}": attention.d_k * attention.heads != d_model,
        f"d_v = {attention.d_v}": attention.d_v != attention.d_k,
        f"score = {score.kind}": score.kind != "dot",
        "unscaled scores": score.kind == "dot" and not score.scaled,
        "rotary positions": attention.rotary is not None,
        "a window of attention": attention.score.window is not None,
    }
    return [name for name, fault in faults.items() if fault]


def verify(model: nn.Module, spec: Any, tokenizers: Sequence[Tokenizer], *, place: str = "model") -> None:
    """Check that CTranslate2 and the model give the same scores to a few random sentences.

    Args:
        model: in evaluation mode.
        spec: complete specification of the model, in float32.
        tokenizers: the source's and the target's.
        place: for error messages.

    Raises:
        UserError: the log-probabilities differ by more than ``TOLERANCE``.
    """
    random = torch.Generator().manual_seed(1)
    length = min(LENGTH, (getattr(model, "limit", None) or LENGTH + 1) - 1)
    words, targets = (_random_sentences(tokenizer, length, random) for tokenizer in tokenizers)
    with TemporaryDirectory() as folder:
        spec.save(folder)
        runtime = import_library("ctranslate2").Translator(
            folder, inter_threads=1, intra_threads=1, compute_type="float32"
        )
        pieces = [
            [[tokenizer.piece(number) for number in line] for line in lines]
            for tokenizer, lines in zip(tokenizers, (words, targets), strict=True)
        ]
        theirs = [sum(scored.log_probs) for scored in runtime.score_batch(*pieces)]
    source, target = tokenizers
    lengths_B = torch.full((SENTENCES,), length + 1)
    sources = Source(torch.tensor([[*line, source.eos_id] for line in words]), lengths_B)
    target_BT = torch.tensor([[target.bos_id, *line, target.eos_id] for line in targets])
    with torch.inference_mode():
        batch = PairBatch(sources, target_BT, lengths_B, SENTENCES * (length + 1))
        ours = cast(Any, model).score(batch).sum(1).tolist()
    off = max(abs(a - b) for a, b in zip(ours, theirs, strict=True))
    if not off <= TOLERANCE:
        raise different_model("CTranslate2", f"log-probabilities of sentences differ by {off:.3f}", place)


def _random_sentences(tokenizer: Tokenizer, length: int, random: torch.Generator) -> list[list[int]]:
    special = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.eos_id, tokenizer.unk_id}
    usual = [number for number in range(tokenizer.vocab_size) if number not in special]
    picked = torch.randint(len(usual), (SENTENCES, length), generator=random)
    return [[usual[place] for place in line] for line in picked.tolist()]


def _array(tensor: Tensor | None) -> npt.NDArray[np.float32]:
    assert tensor is not None
    array: npt.NDArray[np.float32] = tensor.detach().float().cpu().contiguous().numpy()
    return array


def _positions(positions: PositionsSpec, width: int) -> npt.NDArray[np.float32]:
    table = positions.encodings(POSITIONS)
    return np.zeros((POSITIONS, width), dtype=np.float32) if table is None else _array(table)


def _linear(to: Any, *parts: LinearSpec) -> None:
    """Write linear layers of the same input as one stacked layer."""
    weight, bias = stack_layers(*parts)
    to.weight = _array(weight)
    to.bias = _array(weight.new_zeros(len(weight)) if bias is None else bias)


def _norm(to: Any, norm: NormSpec) -> None:
    to.gamma, to.beta = _array(norm.weight), _array(norm.bias)


def _self_attention(to: Any, attention: AttentionSpec, around: ResidualSpec) -> None:
    _linear(to.linear[0], attention.w_q, *keys_of_every_head(attention))
    _linear(to.linear[1], attention.w_o)
    _norm(to.layer_norm, around.norm)


def _cross_attention(to: Any, attention: AttentionSpec, around: ResidualSpec) -> None:
    _linear(to.linear[0], attention.w_q)
    _linear(to.linear[1], *keys_of_every_head(attention))
    _linear(to.linear[2], attention.w_o)
    _norm(to.layer_norm, around.norm)


def _feed_forward(to: Any, network: FeedForwardSpec, around: ResidualSpec) -> None:
    _linear(to.linear_0, network.w_1)
    _linear(to.linear_1, network.w_2)
    _norm(to.layer_norm, around.norm)
