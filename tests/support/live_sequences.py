"""Small BERTs and ViTs, and the parts of their pages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import torch
from live_pages import lines
from torch import nn

from multihead.apps.export.page import PageParts, image_parts, masked_parts
from multihead.models import bert, vit
from multihead.run import Run
from multihead.tasks.masked.mask_tokens import learn
from multihead.tasks.masked.settings import TokenizerSettings
from multihead.text.tokenizer import Tokenizer

WIDTHS = {"d_model": 30, "d_ff": 52, "num_layers": 2, "num_heads": 3}
NAMES = ("cat", "dog", "<b>bird</b>", "고양이", "fish")


def vocabulary(**given: Any) -> Tokenizer:
    return learn(lines(97), TokenizerSettings.model_validate({"vocab_size": 301, **given}), lowercase=False)


def masked(tokenizer: Tokenizer, **given: Any) -> bert.BERT:
    settings = {"vocab_size": tokenizer.vocab_size, "max_positions": 29, **WIDTHS, **given}
    torch.manual_seed(5)
    return _varied(bert.BERT(bert.Settings.model_validate(settings)))


def classifier(registers: int = 0, **given: Any) -> vit.VisionTransformer:
    settings = {
        "image_size": 15, "channels": 3, "patch_size": 3, "classes": 5, "class_names": NAMES, **WIDTHS,
    }  # fmt: skip
    torch.manual_seed(7)
    made = vit.Settings.model_validate({**settings, **given})
    return _varied(vit.VisionTransformer(made, vit.paper_parts(made, registers)))


Model = TypeVar("Model", bound=nn.Module)


def _varied(model: Model) -> Model:
    """Enlarge the weights, so that heads and outputs differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.add_(0.08 * torch.randn_like(parameter))
    return model.eval()


def _run(model: Any, tokenizer: Tokenizer | None) -> Run:
    found = {
        "folder": Path("runs/small"),
        "tokenizers": lambda: (tokenizer, tokenizer),
        "load_model": lambda: model,
        "recipe": SimpleNamespace(model=model.settings),
    }
    return cast(Run, SimpleNamespace(**found))


def masked_page(model: Any, tokenizer: Tokenizer, *, exact: bool = True) -> PageParts:
    return masked_parts(_run(model, tokenizer), lines(5, seed=1000), exact=exact)


def image_page(model: Any, *, exact: bool = True) -> PageParts:
    return image_parts(_run(model, None), exact=exact)
