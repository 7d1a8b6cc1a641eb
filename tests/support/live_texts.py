"""Texts that are hard to segment, and small language models for exported pages."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, cast

import numpy as np
import torch
from live_pages import WORDS

from multihead.apps.export.page import PageParts, text_parts
from multihead.models.gpt import GPT, Settings
from multihead.run import Run
from multihead.tasks.language.settings import SearchSettings
from multihead.text.lossless import learn
from multihead.text.tokenizer import Tokenizer

TEXT = "The king said that he would\nnot go, and the queen did go alone. Über 7 Käse, 9 Hunde!\n" * 3
HARD = [
    "", " ", "  a  b ", "▁▁ x▁y", "ﬁancé é Å İSTANBUL ΣΑΣ ǅ", "👩‍👩‍👧 \u200d\u00a0x", "\ttab\tx",
    "<s> </s> <pad> <0x41>", "a" * 997, "l’été ‘x’ o'Brien", "\ud7a3\u1100\u1161\u11a8",
    "日本語カタカナひらがな ー漢字漢", "\r\n y", "１２３ ½ ٣٤ 7.5", "\x00\x01 nul", "\U0010ffff \ufffd",
    "über" * 41, "ein Hund\u0301 läuft!!! ?! …", "가나다라 마바사 ㄱㄴ ㅏ",
]  # fmt: skip


def unicode_lines(count: int) -> list[str]:
    chance = np.random.default_rng(11)
    ranges = [(32, 127), (160, 600), (0x370, 0x500), (0x5D0, 0x700), (0xAC00, 0xD7A4), (0x3040, 0x30FF)]
    ranges += [(0x4E00, 0x5000), (0x1F300, 0x1F600), (0x300, 0x340)]

    def letter() -> str:
        low, high = ranges[chance.integers(len(ranges))]
        return chr(int(chance.integers(low, high)))

    def word() -> str:
        if chance.random() < 0.4:
            return str(chance.choice(WORDS))
        return "".join(letter() for _ in range(chance.integers(1, 7)))

    return [" ".join(word() for _ in range(chance.integers(1, 9))) for _ in range(count)]


def lossless(kind: Literal["bpe", "chars"] = "chars") -> Tokenizer:
    return learn([TEXT], kind, 301, 2)


def gpt(tokenizer: Tokenizer, **given: Any) -> GPT:
    torch.manual_seed(5)
    settings = {
        "vocab_size": tokenizer.vocab_size,
        "context": 23,
        "d_model": 30,
        "num_layers": 2,
        "num_heads": 3,
    }
    model = GPT(Settings.model_validate({**settings, **given})).eval()
    with torch.no_grad():  # large enough for heads that differ
        for name, parameter in model.named_parameters():
            if "norm" not in name:
                parameter.mul_(4)
    return model


def parts_of(model: GPT, tokenizer: Tokenizer, *, exact: bool = True) -> PageParts:
    recipe = SimpleNamespace(search=SearchSettings(), data=SimpleNamespace(documents="file"))
    found = {
        "folder": Path("runs/text"),
        "tokenizers": lambda: (tokenizer, tokenizer),
        "load_model": lambda: model,
        "recipe": recipe,
    }
    return text_parts(cast(Run, SimpleNamespace(**found)), exact=exact)
