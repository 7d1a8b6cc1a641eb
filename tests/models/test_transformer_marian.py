"""The whole Transformer against Hugging Face's with the same weights: Marian (post-norm), Pegasus (pre-norm).

Their sinusoids are concatenated, sines then cosines, with the paper's wavelengths: the paper's
interleaved encoding with permuted dimensions. So every weight is copied with d_model permuted.
"""

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close
from transformers import MarianConfig, MarianMTModel, PegasusConfig, PegasusForConditionalGeneration
from transformers.models.m2m_100.modeling_m2m_100 import M2M100SinusoidalPositionalEmbedding

from multihead.batch import Source
from multihead.models.transformer import Settings, Transformer
from multihead.nn import DecoderLayer, EncoderLayer, MultiHeadAttention
from multihead.nn.positions import sinusoids
from multihead.search.greedy import greedy
from multihead.search.request import LengthLimits

B, V, D, D_FF, H, LAYERS, DECODER_LAYERS, LONGEST = 37, 29, 42, 53, 3, 3, 2, 31
PAD, BOS, EOS = 0, 2, 3
# Ours at place j is theirs at place ORDER[j]: sine and cosine of a wavelength side by side.
ORDER = torch.arange(D).view(2, D // 2).T.flatten()

KINDS = pytest.mark.parametrize("norm", ["post", "pre"])


def theirs_with(norm: str) -> Any:
    kind, config = {
        "post": (MarianMTModel, MarianConfig),
        "pre": (PegasusForConditionalGeneration, PegasusConfig),
    }[norm]
    model = kind(
        config(
            vocab_size=V,
            d_model=D,
            encoder_layers=LAYERS,
            decoder_layers=DECODER_LAYERS,
            encoder_attention_heads=H,
            decoder_attention_heads=H,
            encoder_ffn_dim=D_FF,
            decoder_ffn_dim=D_FF,
            max_position_embeddings=LONGEST,
            scale_embedding=True,
            activation_function="relu",
            pad_token_id=PAD,
            eos_token_id=EOS,
            forced_eos_token_id=None,
            decoder_start_token_id=BOS,
        )
    ).eval()
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            # Non-neutral biases and norms, and matrices larger than embeddings, so that outputs vary.
            mean = 1.0 if "norm.weight" in name else 0.0
            std = 0.05 if "shared" in name else 0.1 if parameter.dim() == 1 else 0.8
            nn.init.normal_(parameter, mean=mean, std=std)
    return model


# --- copying --------------------------------------------------------------------------------------


def copy(ours: nn.Module, theirs: nn.Module, *, reads: bool = False, writes: bool = False) -> None:
    """Copy weights; permute the axes that read from, or write to, the residual stream."""
    with torch.no_grad():
        for name, parameter in ours.named_parameters():
            weight: Tensor = theirs.get_parameter(name)
            if reads and weight.dim() == 2:
                weight = weight[:, ORDER]
            parameter.copy_(weight[ORDER] if writes else weight)


def copy_attention(ours: MultiHeadAttention, theirs: nn.Module) -> None:
    for our_part, their_part in ((ours.w_q, "q_proj"), (ours.w_k, "k_proj"), (ours.w_v, "v_proj")):
        copy(our_part, theirs.get_submodule(their_part), reads=True)
    copy(ours.w_o, theirs.get_submodule("out_proj"), writes=True)


def copy_layer(ours: EncoderLayer | DecoderLayer, theirs: nn.Module) -> None:
    norms = {"around_feed_forward": "final_layer_norm"}
    copy_attention(ours.self_attention, theirs.get_submodule("self_attn"))
    if isinstance(ours, DecoderLayer):
        copy_attention(ours.cross_attention, theirs.get_submodule("encoder_attn"))
        norms |= {"around_self": "self_attn_layer_norm", "around_cross": "encoder_attn_layer_norm"}
    else:
        norms |= {"around_attention": "self_attn_layer_norm"}
    for around, norm in norms.items():
        copy(ours.get_submodule(f"{around}.norm"), theirs.get_submodule(norm), writes=True)
    copy(ours.get_submodule("feed_forward.w_1"), theirs.get_submodule("fc1"), reads=True)
    copy(ours.get_submodule("feed_forward.w_2"), theirs.get_submodule("fc2"), writes=True)


def ours_from(theirs: Any, norm: str) -> Transformer:
    settings = Settings.model_validate(
        {
            "source_vocab": V,
            "target_vocab": V,
            "d_model": D,
            "d_ff": D_FF,
            "num_heads": H,
            "num_layers": LAYERS,
            "decoder_layers": DECODER_LAYERS,
            "norm": norm,
        }
    )
    ours = Transformer(settings).eval()
    copy(ours.output, theirs.get_submodule("model.shared"), reads=True)
    for our_stack, name in ((ours.encoder, "model.encoder"), (ours.decoder, "model.decoder")):
        for our_layer, their_layer in zip(
            our_stack.layers, theirs.get_submodule(f"{name}.layers").children(), strict=True
        ):
            assert isinstance(our_layer, EncoderLayer | DecoderLayer)
            copy_layer(our_layer, their_layer)
        if norm == "pre":
            copy(our_stack.norm, theirs.get_submodule(f"{name}.layer_norm"), writes=True)
    return ours


# --- comparing ------------------------------------------------------------------------------------


def some_source() -> tuple[Source, Tensor]:
    """Sentences of several lengths, and their mask for Hugging Face."""
    lengths = torch.randint(1, 12, (B,))
    ids = torch.randint(4, V, (B, 11))
    real = torch.arange(11) < lengths[:, None]
    return Source(torch.where(real, ids, PAD), lengths), real


@KINDS
def test_the_logits_equal_theirs(norm: str) -> None:
    theirs = theirs_with(norm)
    ours = ours_from(theirs, norm)
    source, real = some_source()
    target = torch.cat([torch.full((B, 1), BOS), torch.randint(4, V, (B, 12))], dim=1)
    with torch.no_grad():
        expected = theirs(source.ids_BS, attention_mask=real.long(), decoder_input_ids=target).logits
        found = ours(source.ids_BS, target, source.lengths_B)
    assert expected.std() > 0.3
    assert_close(found, expected, atol=1e-4, rtol=0)


@KINDS
def test_greedy_search_equals_theirs(norm: str) -> None:
    theirs = theirs_with(norm)
    ours = ours_from(theirs, norm)
    source, real = some_source()
    longest = 19
    written = theirs.generate(
        source.ids_BS, attention_mask=real.long(), num_beams=1, do_sample=False, max_new_tokens=longest
    )
    expected = []
    for row in written[:, 1:].tolist():
        end = row.index(EOS) if EOS in row else len(row)
        expected.append(tuple(row[:end]))
    found = greedy(ours, source, [[BOS]] * B, eos_id=EOS, limits=LengthLimits(max_length=longest))
    assert [best.tokens[:longest] for (best,) in found] == expected
    assert len(set(expected)) > 2


@KINDS
def test_their_positions_are_ours_in_another_order(norm: str) -> None:
    their_table = theirs_with(norm).get_parameter("model.encoder.embed_positions.weight")
    assert_close(sinusoids(LONGEST, D), their_table[:, ORDER], atol=1e-6, rtol=0)


def test_concatenated_positions_are_those_of_fairseqs_successors() -> None:
    """M2M100's come from tensor2tensor through fairseq."""
    theirs = M2M100SinusoidalPositionalEmbedding.get_embedding(LONGEST, D)
    assert_close(sinusoids(LONGEST, D, interleaved=False), theirs, atol=1e-5, rtol=0)
