"""`multihead doctor` with PyTorch: the device, and the engine that runs a trained model on it."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from multihead.apps.export.ctranslate2 import not_expressible
from multihead.engines.choose import OWN_STEPS, choose
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.run import Run
from multihead.search.consistency import drawing_inconsistency, example, inconsistency, text_inconsistency
from multihead.system import hardware, native
from multihead.system.imports import is_installed
from multihead.tasks.translation.lines.loading import native_record
from multihead.tasks.translation.lines.recording import record_run


def engine_report(run: Run) -> Iterator[tuple[str, str]]:
    """Yield the device, the engine for the run's model, and the reasons against faster engines."""
    device = hardware.pick_device()
    model = run.load_model(device).eval()
    yield (
        "model",
        f"{run.recipe.kind}, {sum(parameter.numel() for parameter in model.parameters()):,} parameters",
    )
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    dtype = hardware.pick_dtype("auto", device)
    yield "precision", str(dtype).removeprefix("torch.")
    if run.task != "translation":
        yield "engine", f"{OWN_STEPS}: other engines are for translators only"
        if differs := _inconsistency(run, model, device):
            yield "caution", differs
        return
    choice = choose(model, device, dtype)
    if device.type == "cpu":
        record_run(run)
        alone = native_record(run.folder) is not None
    yield "engine", choice.engine
    for name, reason in choice.declined.items():
        yield "", f"not {name}: {reason}"
    if differs := _inconsistency(run, model, device):
        yield "caution", differs
    if device.type == "cpu":
        yield "PyTorch", "not needed for translation" if alone else "needed for translation"
    yield "export", _export(model)


def _inconsistency(run: Run, model: nn.Module, device: torch.device) -> str | None:
    """Return how training and search differ, for the models that search; None: they agree."""
    untyped: Any = model
    if run.task == "language":
        return text_inconsistency(model, run.tokenizers()[0].vocab_size, untyped.context, device)
    if run.task == "drawing":
        return drawing_inconsistency(model, device)
    if run.task != "translation":
        return None
    source, target = run.tokenizers()
    pairs = example(source.vocab_size, target.vocab_size, target.bos_id, getattr(model, "limit", None))
    return inconsistency(model, pairs, device)


def _export(model: nn.Module) -> str:
    """Report whether the model can be exported to CTranslate2."""
    try:
        reasons = not_expressible(describe(model, EncoderDecoderSpec))
    except UndescribedError as error:
        reasons = [str(error)]
    return f"not to ctranslate2: {', '.join(reasons)}" if reasons else "to ctranslate2"


def hardware_report() -> Iterator[tuple[str, str]]:
    """Yield the device, its number formats, and the instructions of a CPU."""
    device = hardware.pick_device()
    yield "device", torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    if device.type == "cuda":
        triton = is_installed("triton")
        yield "triton", "compiles GPU kernels" if triton else "not installed: PyTorch's own kernels are used"
    fast = hardware.has_fast_bf16(device)
    yield (
        "bf16",
        "supported by the hardware" if fast else "not supported by the hardware: fp32 is used",
    )
    yield "training", f"matrix products in {hardware.training_precision('auto', device)}"
    if device.type == "cpu":
        features = {name for name, supported in torch.cpu.get_capabilities().items() if supported is True}
        extensions = sorted(
            features & {"avx2", "avx512_f", "avx512_bf16", "amx_bf16", "sve", "sve_bf16", "bf16"}
        )
        yield "processor", ", ".join(extensions) or "no vector instructions known to PyTorch"
        if not fast:
            yield "hint", "training is two to six times slower than with bf16 instructions"
            if native.level() == "avx2":
                yield "hint", "`translate --precision int8` is about 1.3 times as fast as fp32"
