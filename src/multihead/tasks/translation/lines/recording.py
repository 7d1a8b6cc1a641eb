"""Writing of a run's search record (``run.search_record``) after PyTorch has verified the engine."""

import torch
from torch import nn

from multihead.engines.choose import NATIVE, LatestStepper
from multihead.engines.native import written
from multihead.errors import UserError
from multihead.nn.description import EncoderDecoderSpec, UndescribedError, describe
from multihead.recipe import model_kinds
from multihead.run.folder import Run
from multihead.run.search_record import SearchRecord
from multihead.search.consistency import example


def record_search(run: Run, latest: LatestStepper) -> None:
    """Write search.json for a finished run that the native kernels accept, unless a valid one exists.

    A model from outside the package gets none, because changes of its code would go unnoticed.

    Args:
        run: run of a translator.
        latest: the stepper of its model.
    """
    model = latest.model
    # An external recipe kind may build a model of a built-in class.
    built_in = run.recipe.kind in model_kinds.built_in() and type(model).__module__.startswith(
        "multihead.models."
    )
    if not (run.has_model and run.sealed and built_in) or SearchRecord.read(run.folder) is not None:
        return
    try:
        if latest.choice().engine != NATIVE or latest.inconsistent:
            return
        record = record_of(run, model)
    except (UserError, UndescribedError, ValueError):
        return  # the translation itself reports it
    record.save()


def record_run(run: Run) -> None:
    """Load a run and call :func:`record_search`."""
    if run.has_model:
        model, (source, target) = run.load_model("cpu"), run.tokenizers()
        pairs = example(source.vocab_size, target.vocab_size, target.bos_id, getattr(model, "limit", None))
        record_search(run, LatestStepper(model, torch.device("cpu"), torch.float32, pairs))


def record_of(run: Run, model: nn.Module) -> SearchRecord:
    """Return the record of a run and its model.

    Raises:
        UndescribedError: the model does not describe itself.
        ValueError: the description has weights that the run's file lacks.
        UserError: the run folder is damaged.
    """
    names = {id(weight): name for name, weight in model.named_parameters()}
    names |= {id(buffer): name for name, buffer in model.named_buffers() if name in model.state_dict()}
    recipe = run.recipe
    data = recipe.data
    return SearchRecord(
        run.folder,
        written.spec_to_json(describe(model, EncoderDecoderSpec), names),
        getattr(model, "limit", None),
        recipe.search,
        (getattr(data, "source_language", ""), getattr(data, "target_language", "")),
        tuple(run.directions),
        run.trained_symbols,
        run.changed_kinds,
    )
