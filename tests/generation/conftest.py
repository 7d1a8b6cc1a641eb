"""A small translator that was never trained."""

import pytest
import torch
from gru import Gru

from multihead.generation import Translator
from multihead.settings import SearchSettings, TokenizerSettings
from multihead.text.tokenizer import Tokenizer
from multihead.text.training import train


@pytest.fixture(scope="module")
def german() -> Tokenizer:
    return train(["ein Hund und eine Katze"] * 3, TokenizerSettings(vocab_size=300))


@pytest.fixture(scope="module")
def english() -> Tokenizer:
    return train(["a dog and a cat"] * 3, TokenizerSettings(vocab_size=290))


@pytest.fixture
def translator(german: Tokenizer, english: Tokenizer) -> Translator:
    torch.manual_seed(1)
    model = Gru(german.vocab_size, english.vocab_size)
    return Translator(
        [model],
        german,
        english,
        device=torch.device("cpu"),
        precision="fp32",
        settings=SearchSettings(max_extra=5, beam_size=3),
    )
