"""A translator without a model, which translates as a function says."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.lines import Output, Translation, Translator
from multihead.text.tokenizer import Tokenizer

Script = Callable[[str, SearchSettings], Sequence[str]]
"""(line, settings) -> hypotheses, best first; none: the line is too long."""


class ScriptedTranslator(Translator):
    """Calls a function for each line; ``calls`` holds the lines of each call.

    Args:
        tokenizer: of both sides.
        script: the function.
        log_probability: of every output token.
    """

    def __init__(self, tokenizer: Tokenizer, script: Script, log_probability: float = -0.5) -> None:
        super().__init__([], tokenizer, tokenizer, device=torch.device("cpu"))
        self.script, self.log_probability = script, log_probability
        self.calls: list[list[str]] = []

    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **_: Any
    ) -> list[Translation]:
        settings = settings or self.settings
        self.calls.append(list(lines))
        return [self._one(line, settings) for line in lines]

    def _one(self, line: str, settings: SearchSettings) -> Translation:
        outputs = []
        for text in self.script(line, settings):
            tokens = tuple(self.target_tokenizer.encode(text))
            total = self.log_probability * (len(tokens) + 1)
            outputs.append(Output(text, tokens, total, total, cut=False))
        return (
            Translation.of(line, outputs) if outputs else Translation("", line, note="the line is too long")
        )
