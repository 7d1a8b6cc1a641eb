"""Text generation with a trained language model, streamed token by token."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, cast

import torch
from torch import Tensor, nn

from multihead.batch import Source
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.search.consistency import text_inconsistency, warn
from multihead.search.distribution import log_normaliser
from multihead.search.sampling import draw, uniform
from multihead.search.stepper import Stepper
from multihead.system import hardware, randomness
from multihead.system.hardware import Precision
from multihead.tasks.language.settings import SearchSettings
from multihead.text.lossless import unknown_characters
from multihead.text.tokenizer import Tokenizer

REPLACEMENT_CHARACTER = "\ufffd"
"""Decoded in place of a character whose bytes are incomplete."""


class LanguageModel(Stepper[Any], Protocol):
    """A stepper with a context length."""

    @property
    def context(self) -> int:
        """Context length in tokens."""
        ...

    @property
    def slides(self) -> bool:
        """True if the context is a sliding window: steps may continue past its end."""
        ...


class TextGenerator:
    """Generates text with a language model.

    Args:
        model: a language model.
        tokenizer: its tokenizer.
        device: device of the model.
        precision: precision of matrix products.
        documents: the training documents, "file" or "line"; without a prompt, a text begins like one.
        settings: default sampling settings.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        *,
        device: torch.device,
        precision: Precision = "auto",
        documents: str = "file",
        settings: SearchSettings | None = None,
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.settings = settings or SearchSettings()
        self._stepper = cast(LanguageModel, model)
        self._compared = False
        self._dtype = hardware.pick_dtype(precision, device)
        line_feed = tokenizer.encode("\n")
        has_line_feed = documents == "file" and line_feed and tokenizer.unk_id not in line_feed
        self._default_prompt = line_feed if has_line_feed else [tokenizer.eos_id]

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a language model; not trained yet; no such device.
        """
        run = Run.open(folder).fit_for("language")
        recipe, where = run.recipe, hardware.pick_device(device)
        return cls(
            run.load_model(where),
            run.tokenizers()[0],
            device=where,
            documents=recipe.data.documents,
            settings=recipe.search,
        )

    def write(
        self, prompt: str = "", settings: SearchSettings | None = None, *, number: int = 0
    ) -> Iterator[str]:
        """Yield the continuation of a prompt, as soon as its next characters are complete.

        When the context is full, a model with learned positions restarts from its last half. A model
        without positions keeps attending to the last ``context`` tokens (a sliding window).

        Args:
            prompt: beginning of the text; it is not repeated.
            settings: sampling settings; None: the generator's default.
            number: distinguishes several texts of one prompt; the same number gives the same text.

        Raises:
            UserError: the prompt has characters that the vocabulary lacks, or is longer than the context.
        """
        self._compare()
        settings = settings or self.settings
        ids = self.encode_text(prompt) or list(self._default_prompt)
        return _until(self._texts(ids, settings, number), settings.stop)

    def _compare(self) -> None:
        """Warn, before the first text, if steps compute something different from training."""
        if self._compared:
            return
        self._compared = True
        sizes = self.tokenizer.vocab_size, self._stepper.context
        warn(self.model, text_inconsistency(self.model, *sizes, self.device))

    def encode_text(self, prompt: str) -> list[int]:
        """Return a prompt's token ids. Raises ``UserError`` as :meth:`write` does."""
        ids = self.tokenizer.encode(prompt)
        if self.tokenizer.unk_id in ids:
            missing = " ".join(repr(c) for c in unknown_characters(self.tokenizer, prompt))
            raise UserError(
                f"characters not in the vocabulary: {missing}",
                place="prompt",
                remedy="Leave them out: the training text has none.",
            )
        if len(ids) > self._stepper.context and not self._stepper.slides:
            raise UserError(
                f"{len(ids):,} tokens; the context length is {self._stepper.context:,}",
                place="prompt",
                remedy="Shorten it at the beginning.",
            )
        return ids

    def _texts(self, ids: list[int], settings: SearchSettings, number: int) -> Iterator[str]:
        """Yield text token by token, holding incomplete characters back."""
        pending: list[int] = []
        for token in self._tokens(ids, settings, number):
            if token == self.tokenizer.eos_id:
                break
            pending.append(token)
            text = self.tokenizer.decode(pending)
            if text and not text.endswith(REPLACEMENT_CHARACTER):
                pending.clear()
                yield text
        if pending:
            yield self.tokenizer.decode(pending)

    def _tokens(self, ids: list[int], settings: SearchSettings, number: int) -> Iterator[int]:
        """Yield at most ``max_tokens`` sampled tokens, up to and including the end symbol."""
        key = torch.tensor([randomness.derive(settings.seed, "text", number)], device=self.device)
        specials = (self.tokenizer.pad_id, self.tokenizer.bos_id, self.tokenizer.unk_id)
        banned = [token for token in specials if token != self.tokenizer.eos_id]
        state = None
        for step in range(settings.max_tokens):
            # Entered again for each token: a suspended generator must not hold global modes open.
            with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
                if state is None or (state.length >= self._stepper.context and not self._stepper.slides):
                    context = ids if state is None else ids[-max(1, self._stepper.context // 2) :]
                    state = self._stepper.start(_empty_source(self.device), [context])
                logits_1V, state = self._stepper.step(torch.tensor(ids[-1:], device=self.device), state)
                logits_1V = logits_1V.float()
                log_normaliser(logits_1V, step)  # raises if the logits are not finite
                logits_1V[:, banned] = -torch.inf
                logits_1V[:, self.tokenizer.vocab_size :] = -torch.inf  # padding rows of the output layer
                token = int(_next_token(logits_1V, uniform(key, step), settings))
            ids.append(token)
            yield token
            if token == self.tokenizer.eos_id:
                return


def _next_token(logits_1V: Tensor, uniform_1: Tensor, settings: SearchSettings) -> Tensor:
    if settings.temperature == 0:
        return logits_1V.argmax(1)
    return draw(
        logits_1V,
        uniform_1,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
    )


def _empty_source(device: torch.device) -> Source:
    """Return a source sentence of length 0: a language model has no source."""
    return Source(torch.zeros(1, 0, dtype=torch.long, device=device), torch.zeros(1, dtype=torch.long))


def _until(texts: Iterator[str], stops: Sequence[str]) -> Iterator[str]:
    """Yield text up to the first stop string; a possible beginning of one is held back."""
    stops = [stop for stop in stops if stop]
    if not stops:
        yield from texts
        return
    held = ""
    for text in texts:
        held += text
        ends = [start for stop in stops if (start := held.find(stop)) >= 0]
        if ends:
            if min(ends):
                yield held[: min(ends)]
            return
        longest = max(
            (n for stop in stops for n in range(1, len(stop)) if held.endswith(stop[:n])), default=0
        )
        if len(held) > longest:
            yield held[: len(held) - longest]
            held = held[len(held) - longest :]
    if held:
        yield held
