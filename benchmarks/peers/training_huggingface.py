"""Hugging Face's ``MarianMTModel`` from scratch, in the usual loop: AdamW (fused), clipped gradients."""

from contextlib import nullcontext
from typing import Any

import torch
import transformers
from torch.nn.functional import cross_entropy
from training_worker import padded, serve
from transformers import MarianConfig, MarianMTModel


class HuggingFace:
    """The post-norm Transformer of transformers, without its ``Trainer``, whose bookkeeping costs time."""

    def __init__(self, task: dict[str, Any], settings: dict[str, Any]) -> None:
        torch.set_num_threads(settings["threads"])
        torch.manual_seed(1)
        self._task = task
        self._device = torch.device(settings["device"])
        self._model = _model(task, settings["attention"]).train().to(self._device)
        self._optimizer = torch.optim.AdamW(
            self._model.parameters(),
            lr=task["learning_rate"],
            betas=tuple(task["betas"]),
            eps=task["eps"],
            weight_decay=0.0,
            fused=True,
        )
        self._bf16 = settings["precision"] == "bf16"
        self._batches = [_batch(pairs, task["pad"], settings["multiple"]) for pairs in task["batches"]]
        trained = [parameter for parameter in self._model.parameters() if parameter.requires_grad]
        self.parameters = sum(parameter.numel() for parameter in trained)
        self.versions = {"transformers": transformers.__version__, "torch": torch.__version__}

    def update(self, number: int) -> tuple[float, int]:
        """Make one update, see ``training_worker.Trainee``."""
        inputs, labels_BT, tokens = self._batches[number]
        inputs = {name: tensor.to(self._device) for name, tensor in inputs.items()}
        labels_BT = labels_BT.to(self._device)
        with torch.autocast(self._device.type, torch.bfloat16) if self._bf16 else nullcontext():
            logits_BTV = self._model(**inputs, use_cache=False).logits
            loss = cross_entropy(
                logits_BTV.flatten(0, 1),
                labels_BT.flatten(),
                ignore_index=self._task["pad"],
                label_smoothing=self._task["label_smoothing"],
            )
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._model.parameters(), self._task["clip_norm"], foreach=True)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return loss.item(), tokens


def _model(task: dict[str, Any], attention: str) -> MarianMTModel:
    s = task["model"]
    longest = max(len(row) for pairs in task["batches"] for side in pairs.values() for row in side)
    config = MarianConfig(
        vocab_size=task["vocab"],
        d_model=s["d_model"],
        encoder_layers=s["num_layers"],
        decoder_layers=s["num_layers"],
        encoder_attention_heads=s["num_heads"],
        decoder_attention_heads=s["num_heads"],
        encoder_ffn_dim=s["d_ff"],
        decoder_ffn_dim=s["d_ff"],
        activation_function="relu",
        dropout=s["dropout"],
        attention_dropout=0.0,
        activation_dropout=0.0,
        max_position_embeddings=max(512, longest),
        scale_embedding=True,
        pad_token_id=task["pad"],
        eos_token_id=task["eos"],
        bos_token_id=task["bos"],
        decoder_start_token_id=task["bos"],
        forced_eos_token_id=None,
        tie_word_embeddings=True,
        attn_implementation=attention,
    )
    return MarianMTModel(config)


def _batch(
    pairs: dict[str, list[list[int]]], pad: int, multiple: int
) -> tuple[dict[str, torch.Tensor], torch.Tensor, int]:
    """Return what the model is given, labels, and how many of them are real."""
    source_BS = torch.tensor(padded(pairs["source"], pad, multiple))
    inputs = {
        "input_ids": source_BS,
        "attention_mask": (source_BS != pad).long(),
        "decoder_input_ids": torch.tensor(padded([row[:-1] for row in pairs["target"]], pad, multiple)),
    }
    labels_BT = torch.tensor(padded([row[1:] for row in pairs["target"]], pad, multiple))
    return inputs, labels_BT, int((labels_BT != pad).sum())


serve(HuggingFace)
