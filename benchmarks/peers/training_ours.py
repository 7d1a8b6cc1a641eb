"""multihead itself in training: its model, its loss, its update."""

import gc
from typing import Any

import torch
from training_worker import serve

from multihead import __version__, hardware, models, native
from multihead.batch import PairBatch
from multihead.data.batches import collate
from multihead.settings import TrainingSettings
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
        module = models.load(task["kind"])
        keys = vocabularies | smoothing | task["model"]
        model = module.Model(module.Settings.model_validate(keys)).train()
        chosen = TrainingSettings.model_validate(
            {
                "precision": settings["precision"],
                "device": "cpu",
                **{key: task[key] for key in ("betas", "eps", "clip_norm")},
            }
        )
        optimizer = make_optimizer(model, chosen)
        set_rate(optimizer, task["learning_rate"])
        self._updater = Updater(model, optimizer, chosen, torch.device("cpu"))
        self._level = native.level() if settings["native"] else ""
        self._batches = [_batch(pairs, task, settings["multiple"]) for pairs in task["batches"]]
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.versions = {
            "multihead": __version__,
            "torch": torch.__version__,
            "kernels": self._level or "none",
        }

    def update(self, number: int) -> tuple[float, int]:
        """Make one update, see ``training_worker.Trainee``."""
        with native.use(self._level):
            told = self._updater.update(number, [self._batches[number]])
        return told.sums["loss"] / told.counts["loss"], told.counts["loss"]


def _batch(pairs: dict[str, list[list[int]]], task: dict[str, Any], multiple: int) -> PairBatch:
    return collate(
        [row[:-1] for row in pairs["source"]],
        [row[1:-1] for row in pairs["target"]],
        pad_id=task["pad"],
        bos_id=task["bos"],
        eos_id=task["eos"],
        multiple=multiple,
    )


serve(Ours)
