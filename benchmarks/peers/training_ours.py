"""multihead itself in training: its model, its loss, its update."""

import gc
from typing import Any

import torch
from training_worker import serve

from multihead import __version__
from multihead.batch import PairBatch
from multihead.data.batches import Shapes, collate
from multihead.recipe import model_kinds
from multihead.recipe.settings import TrainingSettings
from multihead.system import hardware, native
from multihead.tasks.translation.streaming import GPU_SHAPES
from multihead.training.cuda_graphs import CudaGraphUpdater
from multihead.training.optimizers import make_optimizer, set_rate
from multihead.training.update import Updater


class Ours:
    """A model with its ``Updater``, as ``multihead train`` uses them."""

    def __init__(self, task: dict[str, Any], settings: dict[str, Any]) -> None:
        hardware.keep_memory()
        gc.freeze()  # as the command line does
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        vocabularies = {"source_vocab": task["vocab"], "target_vocab": task["vocab"]}
        smoothing = {"label_smoothing": task["label_smoothing"]}
        module = model_kinds.load(task["kind"])
        keys = vocabularies | smoothing | task["model"]
        device = torch.device(settings["device"])
        model = module.Model(module.Settings.model_validate(keys)).train().to(device)
        chosen = TrainingSettings.model_validate(
            {
                "precision": settings["precision"],
                "device": device.type,
                **{key: task[key] for key in ("betas", "eps", "clip_norm")},
            }
        )
        optimizer = make_optimizer(model, chosen)
        set_rate(optimizer, task["learning_rate"])
        kind = CudaGraphUpdater if settings.get("graphs") else Updater
        self._updater = kind(model, optimizer, chosen, device)
        self._level = native.level() if settings.get("native") else ""
        shapes = GPU_SHAPES if device.type == "cuda" else Shapes(settings["multiple"])
        self._batches = [_batch(pairs, task, shapes) for pairs in task["batches"]]
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.versions = {
            "multihead": __version__,
            "torch": torch.__version__,
            "kernels": self._level or "none",
        }

    def update(self, number: int) -> tuple[float, int]:
        """Make one update, see ``training_worker.Trainee``."""
        with native.use(self._level):
            finished = self._updater.update(number, [self._batches[number]])
            stats = [*finished, *self._updater.synchronize()][-1]
        return stats.sums["loss"] / stats.counts["loss"], stats.counts["loss"]


def _batch(pairs: dict[str, list[list[int]]], task: dict[str, Any], shapes: Shapes) -> PairBatch:
    return collate(
        [row[:-1] for row in pairs["source"]],
        [row[1:-1] for row in pairs["target"]],
        pad_id=task["pad"],
        bos_id=task["bos"],
        eos_id=task["eos"],
        shapes=shapes,
    )


serve(Ours)
