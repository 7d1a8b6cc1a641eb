"""Eole in training: its model, its loss, its optimiser, stepped by its own ``Trainer``, batch by batch.

Its layers are pre-norm: two layer norms more, at the ends of the two stacks. Its dropout is also inside the
feed-forward networks.
"""

from importlib import metadata
from types import SimpleNamespace
from typing import Any

import torch
from eole.config.run import TrainConfig
from eole.constants import DefaultTokens
from eole.inputters.inputter import dict_to_vocabs
from eole.models.model import get_model_class
from eole.trainer import Trainer, TrainerConfig
from eole.utils import Statistics
from eole.utils.loss import LossCompute
from eole.utils.optimizers import Optimizer
from training_worker import padded, serve


class Eole:
    """Eole's encoder-decoder; in bf16 under autocast with fp32 weights, its default."""

    def __init__(self, task: dict[str, Any], settings: dict[str, Any]) -> None:
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        config, vocabularies = _config(task, settings), _vocabularies(task)
        model = get_model_class(config.model).for_training(
            config.model, vocabularies, config.training, device_id=-1
        )
        loss = LossCompute.from_config(config, model, vocabularies)
        self._trainer = Trainer(
            model,
            loss,
            valid_loss=loss,
            scoring_preparator=SimpleNamespace(transforms={}),
            valid_scorers={},
            optim=Optimizer.from_config(model, config),
            config=TrainerConfig(
                norm_method="tokens",
                n_gpu=0,
                gpu_rank=-1,
                dropout=config.training.dropout,
                attention_dropout=config.training.attention_dropout,
            ),
        )
        self._batches = [_batch(pairs, task["pad"], settings["multiple"]) for pairs in task["batches"]]
        self.parameters = sum(parameter.numel() for parameter in model.parameters())
        self.versions = {"eole": metadata.version("eole"), "torch": torch.__version__}

    def update(self, number: int) -> tuple[float, int]:
        """Make one update, see ``training_worker.Trainee``."""
        batch, tokens = self._batches[number]
        total, told = Statistics(), Statistics()
        self._trainer._train_step([batch], tokens, total, told, step=self._trainer.optim.training_step)
        return told.loss / told.n_tokens, told.n_tokens


def _config(task: dict[str, Any], settings: dict[str, Any]) -> TrainConfig:
    s = task["model"]
    return TrainConfig(
        src_vocab="not read",
        tgt_vocab="not read",
        share_vocab=True,
        data={},
        model={
            "architecture": "transformer",
            "layers": s["num_layers"],
            "hidden_size": s["d_model"],
            "heads": s["num_heads"],
            "transformer_ff": s["d_ff"],
            "mlp_activation_fn": "relu",
            "add_qkvbias": True,
            "add_final_linear_bias": True,
            "add_ffnbias": True,
            "generator_bias": False,
            "share_embeddings": True,
            "share_decoder_embeddings": True,
            "embeddings": {"word_vec_size": s["d_model"], "position_encoding_type": "SinusoidalInterleaved"},
        },
        training={
            "compute_dtype": settings["precision"],
            "optim": settings["optimizer"],
            "learning_rate": task["learning_rate"],
            "decay_method": "none",
            "adam_beta1": task["betas"][0],
            "adam_beta2": task["betas"][1],
            "adam_eps": task["eps"],
            "max_grad_norm": task["clip_norm"],
            "label_smoothing": task["label_smoothing"],
            "dropout": [s["dropout"]],
            "attention_dropout": [0.0],
            "dropout_steps": [0],
            "normalization": "tokens",
            "param_init_method": "xavier_uniform",
            "world_size": 1,
            "gpu_ranks": [],
        },
    )


def _vocabularies(task: dict[str, Any]) -> dict[str, Any]:
    """A joint vocabulary of so many words, the special symbols where the task has them."""
    words = [f"word{number}" for number in range(task["vocab"])]
    for name, word in (("pad", DefaultTokens.PAD), ("bos", DefaultTokens.BOS), ("eos", DefaultTokens.EOS)):
        words[task[name]] = word
    words[1] = DefaultTokens.UNK
    return dict_to_vocabs({"src": words, "tgt": words, "specials": {}})


def _batch(pairs: dict[str, list[list[int]]], pad: int, multiple: int) -> tuple[dict[str, Any], int]:
    """Return what the trainer is given, and how many target tokens are real."""
    count = len(pairs["source"])
    outputs = padded([row[1:] for row in pairs["target"]], pad, multiple)
    batch = {
        "src": torch.tensor(padded(pairs["source"], pad, multiple)),
        "srclen": torch.tensor([len(row) for row in pairs["source"]]),
        "tgt": torch.tensor([row[:1] + out for row, out in zip(pairs["target"], outputs, strict=True)]),
        "images": None,
        "prefix_len": None,
        "cid": ["corpus"] * count,
        "cid_line_number": list(range(count)),
    }
    return batch, sum(len(row) - 1 for row in pairs["target"])


serve(Eole)
