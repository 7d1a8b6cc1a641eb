"""Translates lines with the CTranslate2 model in this folder, without multihead.

    pip install ctranslate2 tokenizers
    python translate.py < letter.de > letter.en

In Python: Translator("folder").translate(["A sentence."]). The search is multihead's with the settings
in translate.json: CTranslate2's hypotheses are ranked again, because its length penalty has another formula.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ctranslate2
from tokenizers import Tokenizer

PATIENCE = 2
"""CTranslate2 ends a search after beam_size * PATIENCE hypotheses, multihead when no other can win."""


class Translator:
    """The model, its vocabularies and its search settings.

    Args:
        folder: the exported folder.
        options: options of ctranslate2.Translator, such as device="cuda" or intra_threads=1.
    """

    def __init__(self, folder: str | Path = Path(__file__).parent, **options: Any) -> None:
        folder = Path(folder)
        self.settings = json.loads((folder / "translate.json").read_text(encoding="utf-8"))
        self._source, self._target = (
            _tokenizer(folder / self.settings[side]) for side in ("source", "target")
        )
        self._model = ctranslate2.Translator(str(folder), **options)

    def translate(
        self, lines: Sequence[str], beam_size: int | None = None, length_penalty: float | None = None
    ) -> list[str]:
        """Return the translation of each line, one sentence each.

        Args:
            lines: the sentences.
            beam_size: 1 is greedy search; None: the settings' value.
            length_penalty: exponent of Wu et al. 2016, eq. 14; None: the settings' value.
        """
        return [text for text, _ in self.search(lines, beam_size, length_penalty)]

    def search(
        self, lines: Sequence[str], beam_size: int | None = None, length_penalty: float | None = None
    ) -> list[tuple[str, float]]:
        """Return translations with their scores: log-probability divided by the length penalty."""
        beam = beam_size or self.settings["beam_size"]
        alpha = self.settings["length_penalty"] if length_penalty is None else length_penalty
        sources = [encoding.tokens for encoding in self._source.encode_batch(lines, add_special_tokens=False)]
        longest = [self._longest(len(source) + 1) for source in sources]
        numbers = [number for number, source in enumerate(sources) if source]
        results = self._model.translate_batch(
            [sources[number] for number in numbers],
            beam_size=beam,
            num_hypotheses=beam * (PATIENCE if beam > 1 else 1),
            patience=PATIENCE if beam > 1 else 1,
            length_penalty=0,
            return_scores=True,
            max_decoding_length=max((longest[number] for number in numbers), default=1),
            min_decoding_length=0,
            suppress_sequences=[[token] for token in self.settings["banned"]],
            max_batch_size=2048,
            batch_type="tokens",
        )
        translations = [("", 0.0)] * len(lines)
        for number, result in zip(numbers, results):
            ranked = [
                (score / ((5 + len(tokens) + 1) / 6) ** alpha, tokens)
                for tokens, score in zip(result.hypotheses, result.scores)
            ]
            score, tokens = max(ranked, key=lambda pair: pair[0])
            translations[number] = (self._text(tokens[: longest[number]]), score)
        return translations

    def _longest(self, length: int) -> int:
        longest: int = self.settings["max_length"] or length + self.settings["max_extra"]
        capacity: int | None = self.settings["capacity"]
        return longest if capacity is None else min(longest, capacity)

    def _text(self, tokens: Sequence[str]) -> str:
        decoder = self._target.decoder
        tokens = [self.settings["unknown"].get(token, token) for token in tokens]
        return (decoder.decode(tokens) if decoder else " ".join(tokens)).replace("\n", " ")


def _tokenizer(path: Path) -> Tokenizer:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.encode_special_tokens = True  # input that looks like a symbol is text
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer


def main() -> None:
    """Translate standard input."""
    lines = sys.stdin.buffer.read().decode("utf-8").removesuffix("\n").split("\n")
    translations = Translator().translate([line.removesuffix("\r") for line in lines])
    sys.stdout.buffer.write("".join(f"{text}\n" for text in translations).encode("utf-8"))


if __name__ == "__main__":
    main()
