"""JoeyNMT in training: its model, loss, optimiser and clipping, in the order of its ``TrainManager``.

Its Transformer's dropout is also inside the feed-forward networks and of attention weights. Its LSTM asks
with the state after the word, not the one before, and reads no context besides what is fed back. Its own
settings know no half precision on a CPU; its training step under bf16 autocast works, and is measured too.
"""

from importlib import metadata
from types import SimpleNamespace
from typing import Any

import torch
from joeynmt.batch import Batch
from joeynmt.builders import build_gradient_clipper, build_optimizer
from joeynmt.model import build_model
from joeynmt.vocabulary import Vocabulary
from training_worker import padded, serve

UNK, PAD, BOS, EOS = range(4)
"""Its special symbols come in this order: it pads with an id that the task does not use."""


class JoeyNMT:
    """JoeyNMT's Transformer, post-norm, or its LSTM with attention."""

    def __init__(self, task: dict[str, Any], settings: dict[str, Any]) -> None:
        assert (task["bos"], task["eos"]) == (BOS, EOS)
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        vocabulary = _vocabulary(task["vocab"])
        self._model = build_model(CONFIGS[task["kind"]](task["model"]), vocabulary, vocabulary).train()
        self._model.loss_function = ("crossentropy", task["label_smoothing"])
        self._clip = build_gradient_clipper({"clip_grad_val": None, "clip_grad_norm": task["clip_norm"]})
        self._optimizer = build_optimizer(
            {"optimizer": "adam", "learning_rate": task["learning_rate"], "adam_betas": task["betas"]},
            self._model.parameters(),
        )
        self._bf16 = settings["precision"] == "bf16"
        self._batches = [_batch(pairs, settings["multiple"]) for pairs in task["batches"]]
        self.parameters = sum(parameter.numel() for parameter in self._model.parameters())
        self.versions = {"joeynmt": metadata.version("joeynmt"), "torch": torch.__version__}

    def update(self, number: int) -> tuple[float, int]:
        """Make one update, see ``training_worker.Trainee``."""
        batch = self._batches[number]
        with torch.autocast("cpu", torch.bfloat16, enabled=self._bf16):
            loss, _, _, _ = self._model(return_type="loss", **vars(batch))
        loss = batch.normalize(loss, normalization="tokens")
        loss.backward()
        told = loss.item()
        self._clip(parameters=self._model.parameters())
        self._optimizer.step()
        self._model.zero_grad()
        return told, batch.ntokens


def _transformer(s: dict[str, Any]) -> dict[str, Any]:
    side = {
        "type": "transformer",
        "num_layers": s["num_layers"],
        "num_heads": s["num_heads"],
        "hidden_size": s["d_model"],
        "ff_size": s["d_ff"],
        "dropout": s["dropout"],
        "layer_norm": "post",
        "activation": "relu",
        "embeddings": {"embedding_dim": s["d_model"], "scale": True, "dropout": s["dropout"]},
    }
    return {"tied_embeddings": True, "tied_softmax": True, "encoder": side, "decoder": side}


def _recurrent(s: dict[str, Any]) -> dict[str, Any]:
    side = {
        "type": "recurrent",
        "rnn_type": "lstm",
        "num_layers": 1,
        "dropout": s["dropout"],
        "embeddings": {"embedding_dim": s["d_embedding"], "scale": False, "dropout": s["dropout"]},
    }
    return {
        "tied_embeddings": True,
        "tied_softmax": True,
        "encoder": {**side, "hidden_size": s["d_encoder"], "bidirectional": True},
        "decoder": {
            **side,
            "hidden_size": s["d_hidden"],
            "attention": "bahdanau",
            "input_feeding": True,
            "init_hidden": "bridge",
            "hidden_dropout": s["dropout"],
        },
    }


CONFIGS = {"transformer": _transformer, "rnn_attention": _recurrent}


def _vocabulary(size: int) -> Vocabulary:
    specials = {
        "unk_token": "<unk>",
        "pad_token": "<pad>",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "sep_token": None,
        "lang_tags": [],
        **{"unk_id": UNK, "pad_id": PAD, "bos_id": BOS, "eos_id": EOS, "sep_id": None},
    }
    return Vocabulary([f"word{number}" for number in range(4, size)], SimpleNamespace(**specials))


def _batch(pairs: dict[str, list[list[int]]], multiple: int) -> Batch:
    # As it sorts its batches itself: its recurrent encoder takes the longest source first.
    both = sorted(zip(pairs["source"], pairs["target"], strict=True), key=lambda pair: -len(pair[0]))
    sources, targets = [pair[0] for pair in both], [pair[1] for pair in both]
    outputs = padded([row[1:] for row in targets], PAD, multiple)
    return Batch(
        src=torch.tensor(padded(sources, PAD, multiple)),
        src_length=torch.tensor([len(row) for row in sources]),
        src_prompt_mask=None,
        trg=torch.tensor([row[:1] + out for row, out in zip(targets, outputs, strict=True)]),
        trg_prompt_mask=None,
        indices=torch.arange(len(outputs)),
        device=torch.device("cpu"),
        pad_index=PAD,
        eos_index=EOS,
    )


serve(JoeyNMT)
