"""A trained language model that goes on with a text, token by token."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol, Self, cast

import torch
from torch import Tensor, nn

from multihead import hardware, randomness
from multihead.attention_maps.calls import evaluating
from multihead.batch import Source
from multihead.errors import UserError
from multihead.hardware import Precision
from multihead.run import Run
from multihead.search.distribution import log_normaliser
from multihead.search.sampling import draw, uniform
from multihead.search.stepper import Stepper
from multihead.settings.tasks.language import SearchSettings
from multihead.text.lossless import unknown_characters
from multihead.text.tokenizer import Tokenizer

TORN = "\ufffd"
"""What a character turns into of whose bytes some are still to come."""


class LanguageModel(Stepper[Any], Protocol):
    """What is asked of a model besides being searchable."""

    @property
    def context(self) -> int:
        """How many tokens it sees at once."""
        ...

    @property
    def slides(self) -> bool:
        """Whether a text may go on past the context."""
        ...


class TextGenerator:
    """A language model and its vocabulary.

    Args:
        model: the model.
        tokenizer: its vocabulary.
        device: where the model is.
        precision: of matrix products.
        documents: what was trained on, whole files or lines; a text without a prompt begins as these do.
        settings: how to write where ``write`` is not told.
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
        self._dtype = hardware.pick_dtype(precision, device)
        line_feed = tokenizer.encode("\n")
        plain = documents == "file" and line_feed and tokenizer.unk_id not in line_feed
        self._opening = line_feed if plain else [tokenizer.eos_id]

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Read a trained run.

        Raises:
            UserError: not a run, not a language model, not trained yet, no such device.
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
        """Yield the text that follows a prompt, as soon as a character of it is certain.

        Past the context a model with learned positions reads the last half of it anew, and one without
        positions looks at the last ``context`` tokens: as with a mask that lets nobody look further back.

        Args:
            prompt: what the text begins with; it is not repeated.
            settings: how to write; None: the writer's own settings.
            number: tells several texts of one prompt apart; the same number gives the same text.

        Raises:
            UserError: a prompt with characters that the vocabulary lacks, or longer than the context.
        """
        settings = settings or self.settings
        ids = self.encoded(prompt) or list(self._opening)
        return _until(self._texts(ids, settings, number), settings.stop)

    def encoded(self, prompt: str) -> list[int]:
        """Return a prompt's tokens. Raises ``UserError`` as :meth:`write` does."""
        ids = self.tokenizer.encode(prompt)
        if self.tokenizer.unk_id in ids:
            missing = " ".join(repr(c) for c in unknown_characters(self.tokenizer, prompt))
            raise UserError(
                f"the model does not know {missing}",
                place="prompt",
                remedy="It was trained on text without them; leave them out.",
            )
        if len(ids) > self._stepper.context and not self._stepper.slides:
            raise UserError(
                f"{len(ids):,} tokens are more than the model sees at once ({self._stepper.context:,})",
                place="prompt",
                remedy="Leave out its beginning.",
            )
        return ids

    def _texts(self, ids: list[int], settings: SearchSettings, number: int) -> Iterator[str]:
        """Yield text token by token; what is not yet a whole character waits for the next."""
        pending: list[int] = []
        for token in self._tokens(ids, settings, number):
            if token == self.tokenizer.eos_id:
                break
            pending.append(token)
            text = self.tokenizer.decode(pending)
            if text and not text.endswith(TORN):
                pending.clear()
                yield text
        if pending:
            yield self.tokenizer.decode(pending)

    def _tokens(self, ids: list[int], settings: SearchSettings, number: int) -> Iterator[int]:
        """Yield the tokens that follow, the end symbol included if it comes."""
        key = torch.tensor([randomness.derive(settings.seed, "text", number)], device=self.device)
        silent = [self.tokenizer.pad_id, self.tokenizer.bos_id, self.tokenizer.unk_id]
        silent = [i for i in silent if i != self.tokenizer.eos_id]
        state = None
        for step in range(settings.max_tokens):
            # A generator may be left waiting between two tokens: no context stays open while it does.
            with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
                if state is None or (state.length >= self._stepper.context and not self._stepper.slides):
                    seen = ids if state is None else ids[-max(1, self._stepper.context // 2) :]
                    state = self._stepper.start(_nothing(self.device), [seen])
                logits_1V, state = self._stepper.step(torch.tensor(ids[-1:], device=self.device), state)
                logits_1V = logits_1V.float()
                log_normaliser(logits_1V, step)  # refuses what is no distribution
                logits_1V[:, silent] = -torch.inf
                logits_1V[:, self.tokenizer.vocab_size :] = -torch.inf  # rows that are only padding
                token = int(_chosen(logits_1V, uniform(key, step), settings))
            ids.append(token)
            yield token
            if token == self.tokenizer.eos_id:
                return


def _chosen(logits_1V: Tensor, uniform_1: Tensor, settings: SearchSettings) -> Tensor:
    if settings.temperature == 0:
        return logits_1V.argmax(1)
    return draw(
        logits_1V,
        uniform_1,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
    )


def _nothing(device: torch.device) -> Source:
    """A source without a word."""
    return Source(torch.zeros(1, 0, dtype=torch.long, device=device), torch.zeros(1, dtype=torch.long))


def _until(texts: Iterator[str], stops: Sequence[str]) -> Iterator[str]:
    """Yield text up to where one of the stop texts begins; what may be its beginning is held back."""
    stops = [stop for stop in stops if stop]
    if not stops:
        yield from texts
        return
    held = ""
    for text in texts:
        held += text
        ends = [place for stop in stops if (place := held.find(stop)) >= 0]
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
