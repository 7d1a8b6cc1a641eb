"""A run as a folder for ONNX Runtime, verified by it before the folder appears.

Needs the extra ``pip install 'multihead[export]'``.
"""

import json
import shutil
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import nn

from multihead.apps.export import comparison, manifest
from multihead.apps.export.expressible import different_model, expressible_description
from multihead.apps.export.folder import refuse_used, write_folder
from multihead.apps.export.library import import_library
from multihead.apps.export.onnx import graphs
from multihead.apps.export.onnx.graph import library
from multihead.apps.export.script import install_script, search_settings
from multihead.batch import Source
from multihead.engines.native.tensors import in_arrays
from multihead.errors import UserError
from multihead.nn.description import EncoderDecoderSpec
from multihead.run import Run
from multihead.tasks.translation.lines.line_translator import DEFAULT_LIMIT

SCRIPT = Path(__file__).with_name("translate_script.py")
"""Copied into each export as translate.py."""
POSITIONS = DEFAULT_LIMIT + 256
"""Rows of the table of positional encodings if the model has no limit."""
LENGTHS, STEPS = (13, 7), 5
"""The example of :func:`verify`: two sentences, the second padded, and steps."""
SENTENCES = 200
"""Sentences translated by both runtimes: ONNX Runtime takes them one by one, step by step."""
TOLERANCE = 1e-3
"""Largest difference in a log-probability; float32 rounding accounts for about 1e-5."""


def export(run: Run, folder: Path) -> comparison.RuntimeComparison:
    """Write a run's encoder, decoder step, tokenizers and translate.py to a folder.

    Args:
        run: a trained encoder-decoder of one direction.
        folder: new or empty; it appears when it is complete.

    Returns:
        The comparison of the translations of both runtimes.

    Raises:
        UserError: onnx or ONNX Runtime is not installed; ONNX cannot express this model; ONNX Runtime
            computes something else; the folder is not empty.
    """
    refuse_used(folder)
    onnx, place = library(), str(run.folder)
    if run.directions:
        raise UserError("a model of several directions", place=place, remedy="Export a run of one direction.")
    model = run.load_model().eval()
    described = described_in_arrays(model, place)
    limit: int | None = getattr(model, "limit", None)
    longest = limit or POSITIONS

    def fill(partial: Path) -> comparison.RuntimeComparison:
        metadata = {"multihead.kind": run.recipe.kind}
        onnx.save(graphs.encoder(described, longest, metadata), partial / "encoder.onnx")
        onnx.save(graphs.decoder(described, longest, metadata), partial / "decoder.onnx")
        verify(model, described, partial, place=place)
        for file in run.folder.glob("tokenizer*.json"):
            shutil.copyfile(file, partial / file.name)
        foreign = _script(run, described, partial, longest)
        result = comparison.compare(run, foreign, "float32", sentences=SENTENCES)
        result.write(partial, place=place)
        manifest.write(partial, "onnx", {"opset": graphs.OPSET, "sentences": result.sentences})
        return result

    return write_folder(folder, fill)


def described_in_arrays(model: nn.Module, place: str) -> EncoderDecoderSpec:
    """Return a model's description with NumPy arrays.

    Raises:
        UserError: ONNX cannot express it; the message has every reason.
    """
    return in_arrays(
        expressible_description(
            model, EncoderDecoderSpec, graphs.not_expressible, target="the export to ONNX", place=place
        )
    )


def verify(model: nn.Module, described: EncoderDecoderSpec, folder: Path, *, place: str = "model") -> None:
    """Compare ONNX Runtime's log-probabilities with the model's own on an example.

    The comparison of translations that follows selects rows, as beam search does.

    Raises:
        UserError: they differ by more than ``TOLERANCE``.
    """
    runtime = import_library("onnxruntime")
    encoder, decoder = (runtime.InferenceSession(folder / f"{name}.onnx") for name in ("encoder", "decoder"))
    stepper, vocabulary = cast(Any, model), described.smallest_vocabulary
    longest = min(max(LENGTHS), getattr(model, "limit", None) or max(LENGTHS))
    lengths = np.minimum(np.array(LENGTHS), longest)
    ids_BS = np.arange(2 * longest).reshape(2, longest) * 5 % vocabulary
    mask_BS = (np.arange(longest) < lengths[:, None]).astype(np.int64)
    token_R = np.arange(2) % vocabulary
    keys, values = encoder.run(None, {"ids": ids_BS, "mask": mask_BS})
    shapes = graphs.cache_shapes(described, 2, 0)
    past = {f"past_{name}": np.zeros(shape, np.float32) for name, shape in shapes.items()}
    worst = 0.0
    with torch.inference_mode():
        source = Source(torch.from_numpy(ids_BS), torch.from_numpy(lengths))
        state = stepper.start(source, [[int(token)] for token in token_R])
        for step in range(min(STEPS, longest)):
            logits_RV, state = stepper.step(torch.from_numpy(token_R), state)
            inputs = {"token": token_R, "position": np.array([step]), "mask": mask_BS}
            inputs |= {"source_keys": keys, "source_values": values, **past}
            logits, *caches = decoder.run(None, inputs)
            expected = logits_RV.float().log_softmax(1)
            difference = (torch.from_numpy(logits).log_softmax(1) - expected).abs().max()
            worst = max(worst, float(difference)) if difference.isfinite() else float("inf")
            token_R = (token_R * 3 + step + 1) % vocabulary
            past = dict(zip(past, caches, strict=True))
    if not worst <= TOLERANCE:
        raise different_model("ONNX Runtime", f"log-probabilities differ by {worst:.2g}", place)


def _script(run: Run, described: EncoderDecoderSpec, folder: Path, longest: int) -> comparison.Foreign:
    """Write translate.py and its settings; return its translator."""
    _, target = run.tokenizers()
    search = search_settings(run, target, longest)
    names = sorted(file.name for file in folder.glob("tokenizer*.json"))
    settings = {
        **{key: search[key] for key in ("beam_size", "length_penalty", "max_extra", "max_length")},
        "tokenizers": names,
        "capacity": longest - 1,
        "bos": target.bos_id,
        "eos": target.eos_id,
        "unk": target.unk_id,
        "banned": [target.pad_id, target.bos_id],
        "unknown": next(iter(search["unknown"].values())),
        "caches": graphs.cache_shapes(described, 1, 0),
    }
    (folder / "translate.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")
    foreign: comparison.Foreign = install_script(SCRIPT, folder)(folder)
    return foreign
