"""Hugging Face transformers' ``generate`` on the same weights: Marian (post-norm) or Pegasus (pre-norm)."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from transformers import (
    MarianConfig,
    MarianMTModel,
    PegasusConfig,
    PegasusForConditionalGeneration,
)
from worker import Ids, Translate, serve

NAMES = {"w_q": "q_proj", "w_k": "k_proj", "w_v": "v_proj", "w_o": "out_proj"}


def load(folder: Path, settings: dict[str, object]) -> Translate:
    """Put the run's weights into their model."""
    torch.set_num_threads(int(str(settings["threads"])))
    s = json.loads((folder / "run" / "model.json").read_text(encoding="utf-8"))["settings"]
    controls = json.loads((folder / "controls.json").read_text(encoding="utf-8"))
    model = _model(s, controls, load_file(folder / "run" / "model.safetensors"), folder)
    dtype = torch.float32 if settings["precision"] == "float32" else torch.bfloat16
    model = model.to(str(settings["device"]), dtype).eval()
    size = int(str(settings["batch"]))

    def translate(ids: Ids, beam: int) -> Ids:
        order = sorted(range(len(ids)), key=lambda number: -len(ids[number]))
        found: Ids = [[] for _ in ids]
        for start in range(0, len(order), size):
            batch = order[start : start + size]
            width = len(ids[batch[0]]) + 1
            rows = [[*ids[n], controls["eos"]] for n in batch]
            padded = torch.tensor([row + [controls["pad"]] * (width - len(row)) for row in rows])
            padded = padded.to(model.device)
            with torch.inference_mode():
                written = model.generate(
                    input_ids=padded,
                    attention_mask=(padded != controls["pad"]).long(),
                    num_beams=beam,
                    do_sample=False,
                    length_penalty=float(str(settings["length_penalty"])),
                    max_new_tokens=width + 51,
                )
            for n, row in zip(batch, written.tolist(), strict=True):
                found[n] = [token for token in row if token not in controls.values()]
        return found

    return translate


def _model(s: dict[str, Any], controls: dict[str, int], weights: dict[str, Any], folder: Path) -> Any:
    pre = s["norm"] == "pre"
    kind, config = (PegasusForConditionalGeneration, PegasusConfig) if pre else (MarianMTModel, MarianConfig)
    table = load_file(folder / "positions.safetensors")["table"]
    model = kind(
        config(
            vocab_size=s["target_vocab"],
            d_model=s["d_model"],
            encoder_layers=s["num_layers"],
            decoder_layers=s["decoder_layers"] or s["num_layers"],
            encoder_attention_heads=s["num_heads"],
            decoder_attention_heads=s["num_heads"],
            encoder_ffn_dim=s["d_ff"],
            decoder_ffn_dim=s["d_ff"],
            activation_function=s["activation"],
            max_position_embeddings=len(table),
            scale_embedding=True,
            pad_token_id=controls["pad"],
            eos_token_id=controls["eos"],
            bos_token_id=controls["bos"],
            decoder_start_token_id=controls["bos"],
            forced_eos_token_id=None,
            tie_word_embeddings=True,
        )
    )
    assert s["tied"] == "all", "their model has one matrix for all three"
    names = ("source_embedding.weight", "target_embedding.weight", "output.weight")
    matrix = next(weights[name] for name in names if name in weights)  # a shared one is stored once
    theirs = {"model.shared.weight": matrix, "lm_head.weight": matrix}
    for side in ("encoder", "decoder"):
        theirs[f"model.{side}.embed_tokens.weight"] = matrix
        theirs[f"model.{side}.embed_positions.weight"] = table
        if pre:
            theirs |= _both(weights, f"{side}.norm", f"model.{side}.layer_norm")
        for number in range(s["num_layers"] if side == "encoder" else s["decoder_layers"] or s["num_layers"]):
            ours, to = f"{side}.layers.{number}", f"model.{side}.layers.{number}"
            parts = [("self_attention", "self_attn")]
            parts += [("cross_attention", "encoder_attn")] if side == "decoder" else []
            for part, name in parts:
                for matrix_name, their_name in NAMES.items():
                    theirs |= _both(weights, f"{ours}.{part}.{matrix_name}", f"{to}.{name}.{their_name}")
            around = {"around_feed_forward": "final_layer_norm"}
            around |= (
                {"around_attention": "self_attn_layer_norm"}
                if side == "encoder"
                else {"around_self": "self_attn_layer_norm", "around_cross": "encoder_attn_layer_norm"}
            )
            for part, name in around.items():
                theirs |= _both(weights, f"{ours}.{part}.norm", f"{to}.{name}")
            theirs |= _both(weights, f"{ours}.feed_forward.w_1", f"{to}.fc1")
            theirs |= _both(weights, f"{ours}.feed_forward.w_2", f"{to}.fc2")
    outcome = model.load_state_dict(theirs, strict=False)
    missing = [name for name in outcome.missing_keys if name != "final_logits_bias"]
    assert not missing, missing
    assert not outcome.unexpected_keys, outcome.unexpected_keys
    return model


def _both(weights: dict[str, Any], ours: str, theirs: str) -> dict[str, Any]:
    return {f"{theirs}.{part}": weights[f"{ours}.{part}"] for part in ("weight", "bias")}


serve(load)
