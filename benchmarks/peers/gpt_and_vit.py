"""CPU time of GPT and ViT, ours and their peers' in turns: an update of AdamW, and a use of the model.

    python benchmarks/peers/gpt_and_vit.py --nanogpt FOLDER [--write]

FOLDER has nanoGPT's model.py; Hugging Face's models come with transformers, timm's with `pip install timm`;
a peer that is missing is left out. One thread, the allocator's setting and AdamW in one kernel for all, bf16
by autocast beside fp32; the smallest of the rounds counts, because other work on the machine only ever adds.
GPT: the recipe shakespeare-char-cpu, 12 windows of 64 letters; its use is a forward pass. ViT: small-vit with
linear patches and without what is left out at random, 128 images of 64 x 64 in 10 classes. Inputs are random:
time does not depend on what is in them. Prints JSON; with --write also to results/bench-gpt-vit-peers.json.
"""

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
import tyro
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from multihead import recipe as recipes
from multihead.batch import ImageBatch, TextBatch
from multihead.models import gpt, vit
from multihead.run.environment import environment
from multihead.system import hardware
from multihead.training import optimizers
from multihead.training.update import Updater

ROUNDS, UPDATES = 9, 6
LETTERS, WINDOWS, CONTEXT = 65, 12, 64
IMAGES, PIXELS, CLASSES, SMOOTHING = 128, 64, 10, 0.1
WIDTH, INNER, LAYERS, HEADS, PATCH = 128, 256, 3, 4, 8
FORMATS = {"bf16": torch.bfloat16, "fp32": torch.float32}
CPU = torch.device("cpu")
RESULT = Path(__file__).parents[2] / "results" / "bench-gpt-vit-peers.json"
Work = Callable[[], object]


def letters(extra: int = 0) -> Tensor:
    """Random windows, (windows, context + extra)."""
    return torch.randint(0, LETTERS, (WINDOWS, CONTEXT + extra))


def pictures() -> tuple[Tensor, Tensor]:
    """Random images and classes."""
    return torch.rand(IMAGES, 3, PIXELS, PIXELS), torch.randint(0, CLASSES, (IMAGES,))


def our_update(recipe: str, model: nn.Module, precision: str, batch: Callable[[], Any]) -> Work:
    """Return what makes one update of ours."""
    settings: Any = recipes.load(recipe, {"training.precision": precision, "training.optimizer": "adamw"})
    updater = Updater(model, optimizers.make_optimizer(model, settings.training), settings.training, CPU)
    optimizers.set_rate(updater.optimizer, 1e-3)
    return lambda: updater.update(1, [batch()])


def our_pictures() -> ImageBatch:
    """A batch of images of one class each."""
    pixels, labels = pictures()
    return ImageBatch(pixels, torch.stack([labels, labels], 1), torch.tensor([[1.0, 0.0]]).repeat(IMAGES, 1))


def their_update(model: nn.Module, dtype: torch.dtype, loss_of: Callable[[], Tensor], rate: float) -> Work:
    """Return what makes one update of a peer's model, as its own training loops do."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.1, fused=True)

    def update() -> None:
        with hardware.autocast(CPU, dtype):
            loss = loss_of()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        loss.item()

    return update


def one_use(model: nn.Module, dtype: torch.dtype, inputs: Callable[[], tuple[Tensor, ...]]) -> Work:
    """Return what uses a model once."""
    model.eval()

    def use() -> None:
        with torch.inference_mode(), hardware.autocast(CPU, dtype):
            model(*inputs())

    return use


def gpts(nanogpt: Path | None) -> Iterator[tuple[str, str, Work]]:
    """Yield (what, whose and format, work) of GPT."""
    settings: Any = recipes.load("shakespeare-char-cpu", {"model.vocab_size": LETTERS})
    for name, dtype in FORMATS.items():
        model = gpt.GPT(settings.model)
        yield (
            "GPT, update",
            f"ours, {name}",
            our_update("shakespeare-char-cpu", model, name, lambda: TextBatch(letters(1))),
        )
        ready = gpt.GPT(settings.model)
        yield "GPT, use", f"ours, {name}", one_use(ready, dtype, lambda: (letters(),))
    if nanogpt is None:
        return
    sys.path.insert(0, str(nanogpt))
    module: Any = __import__("model")
    sizes = {"block_size": CONTEXT, "vocab_size": LETTERS, "n_layer": 4, "n_head": 4, "n_embd": 128}
    for name, dtype in FORMATS.items():
        theirs = module.GPT(module.GPTConfig(**sizes, dropout=0.0, bias=False))

        def loss(theirs: Any = theirs) -> Tensor:
            ids = letters(1)
            loss: Tensor = theirs(ids[:, :-1], ids[:, 1:].contiguous())[1]
            return loss

        yield "GPT, update", f"nanoGPT, {name}", their_update(theirs, dtype, loss, 1e-3)
        ready = module.GPT(module.GPTConfig(**sizes, dropout=0.0, bias=False))
        # With targets it computes the scores of all places, as ours does.
        yield (
            "GPT, use",
            f"nanoGPT, {name}",
            one_use(ready, dtype, lambda: (letters(),) * 2),
        )


def vits() -> Iterator[tuple[str, str, Work]]:
    """Yield the same of ViT."""
    sizes = {"d_model": WIDTH, "d_ff": INNER, "num_layers": LAYERS, "num_heads": HEADS, "patch_size": PATCH}
    ours = {
        "image_size": PIXELS,
        "channels": 3,
        "classes": CLASSES,
        "label_smoothing": SMOOTHING,
        "dropout": 0.0,
    }
    makers: dict[str, Callable[[], Any]] = {}
    if importlib.util.find_spec("timm"):
        timm: Any = importlib.import_module("timm.models.vision_transformer")
        makers["timm"] = lambda: timm.VisionTransformer(
            img_size=PIXELS,
            patch_size=PATCH,
            num_classes=CLASSES,
            embed_dim=WIDTH,
            depth=LAYERS,
            num_heads=HEADS,
            mlp_ratio=INNER / WIDTH,
        )
    if importlib.util.find_spec("transformers"):
        makers["Hugging Face"] = _huggingface
    for name, dtype in FORMATS.items():
        model = vit.VisionTransformer(vit.Settings(**ours, **sizes))
        yield "ViT, update", f"ours, {name}", our_update("small-vit", model, name, our_pictures)
        ready = vit.VisionTransformer(vit.Settings(**ours, **sizes))
        yield "ViT, use", f"ours, {name}", one_use(ready, dtype, lambda: pictures()[:1])
        for whose, make in makers.items():
            theirs = make().train()

            def loss(theirs: Any = theirs) -> Tensor:
                pixels, labels = pictures()
                return cross_entropy(_logits(theirs(pixels)).float(), labels, label_smoothing=SMOOTHING)

            yield "ViT, update", f"{whose}, {name}", their_update(theirs, dtype, loss, 1e-3)
            ready = make()
            yield "ViT, use", f"{whose}, {name}", one_use(ready, dtype, lambda: pictures()[:1])


def _huggingface() -> Any:
    transformers: Any = importlib.import_module("transformers")
    return transformers.ViTForImageClassification(
        transformers.ViTConfig(
            image_size=PIXELS,
            patch_size=PATCH,
            num_labels=CLASSES,
            hidden_size=WIDTH,
            intermediate_size=INNER,
            num_hidden_layers=LAYERS,
            num_attention_heads=HEADS,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
        )
    )


def _logits(answer: Any) -> Tensor:
    logits: Tensor = getattr(answer, "logits", answer)
    return logits


def main(nanogpt: Path | None = None, write: bool = False) -> None:
    """Measure and print.

    Args:
        nanogpt: folder of nanoGPT's model.py.
        write: also write the result.
    """
    torch.set_num_threads(1)
    hardware.keep_memory()
    works = {(what, whose): work for what, whose, work in (*gpts(nanogpt), *vits())}
    spent: dict[tuple[str, str], list[float]] = {key: [] for key in works}
    for number in range(ROUNDS):
        for key, work in works.items():
            began = time.process_time()
            for _ in range(UPDATES):
                work()
            if number:  # the first round warms up
                spent[key].append((time.process_time() - began) / UPDATES * 1000)
    measured: dict[str, dict[str, dict[str, float]]] = {}
    for (what, whose), times in spent.items():
        figures = {"smallest": round(min(times), 2), "median": round(statistics.median(times), 2)}
        measured.setdefault(what, {})[whose] = figures
    told = json.dumps({"milliseconds": measured, **environment({})}, indent=2)
    print(told)
    if write:
        RESULT.write_text(told + "\n", encoding="utf-8")


if __name__ == "__main__":
    tyro.cli(main, description=__doc__)
