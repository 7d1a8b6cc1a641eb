"""One run, or several together, as a translator: lines in, translations out."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from multihead import hardware
from multihead.batch import PairBatch
from multihead.data.batches import PairList, sequential_batches
from multihead.errors import UserError
from multihead.generation.batching import by_length, to_source
from multihead.generation.searching import search
from multihead.generation.translation import Output, PairScore, Translation
from multihead.hardware import Precision
from multihead.run import Run
from multihead.search.ensemble import Ensemble
from multihead.search.stepper import Stepper
from multihead.settings import SearchSettings
from multihead.text.tokenizer import Tokenizer

MOST_PIECES = 2048
"""The longest line that is read by a model without a limit of its own: memory grows with the square."""

Progress = Callable[[int, int], None]
"""(lines done, lines in all)"""


class Translator:
    """Trained models and their vocabularies.

    Args:
        models: one, or an ensemble: the mean of their probabilities.
        source_tokenizer: of the source, all models' own.
        target_tokenizer: of the target, all models' own.
        device: where the models are.
        precision: of matrix products.
        settings: how to search where ``translate`` is not told.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        device: torch.device,
        precision: Precision = "auto",
        settings: SearchSettings | None = None,
    ) -> None:
        self.models = tuple(models)
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.device = device
        self.settings = settings or SearchSettings()
        self._dtype = hardware.pick_dtype(precision, device)
        steppers = [cast(Stepper[Any], model) for model in models]
        self._stepper: Stepper[Any] = steppers[0] if len(steppers) == 1 else Ensemble(steppers)
        limits = [limit for model in models if (limit := getattr(model, "limit", None)) is not None]
        self.limit: int | None = min(limits, default=None)
        """The longest sequence that all models can read and write, end symbol included; None: any."""

    @classmethod
    def load(cls, *folders: str | Path, device: str = "auto", precision: Precision = "auto") -> Self:
        """Read trained runs; several make an ensemble. The first run's search settings hold.

        Raises:
            UserError: not a run, not trained yet, vocabularies that differ, no such device.
        """
        runs = [Run.open(folder) for folder in folders]
        vocabularies = [run.tokenizers() for run in runs]
        for run, pair in zip(runs, vocabularies, strict=True):
            for side, one, first in zip(("source", "target"), pair, vocabularies[0], strict=True):
                if one.fingerprint != first.fingerprint:
                    raise UserError(
                        f"its {side} vocabulary is not that of {runs[0].folder}",
                        place=str(run.folder),
                        remedy="An ensemble needs runs that were trained with the same tokenizers.",
                    )
        where = hardware.pick_device(device)
        models = [run.load_model(where) for run in runs]
        return cls(
            models, *vocabularies[0], device=where, precision=precision, settings=runs[0].recipe.search
        )

    def translate(
        self,
        lines: Sequence[str],
        settings: SearchSettings | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        progress: Progress | None = None,
        first_number: int = 0,
    ) -> list[Translation]:
        """Translate lines; the results come in their order.

        A line without a word gives an empty text. A line that is longer than the model can read is not
        translated, and its note says so; nothing is ever cut silently.

        Args:
            lines: a sentence each.
            settings: how to search; None: the translator's own settings.
            prefixes: what each translation has to begin with ("" for no wish), whole words.
            progress: is told how many lines are done.
            first_number: the number of the first line, which random samples follow from.

        Raises:
            UserError: settings that contradict each other; a model whose scores are no numbers.
        """
        settings = settings or self.settings
        sources = self.source_tokenizer.encode_batch(lines)
        forced = self.target_tokenizer.encode_batch(prefixes if prefixes is not None else [""] * len(lines))
        if len(forced) != len(lines):
            raise UserError(f"{len(lines):,} lines, but {len(forced):,} prefixes")
        found: list[Translation] = []
        searched: list[int] = []
        for i, (line, ids, prefix) in enumerate(zip(lines, sources, forced, strict=True)):
            note = self._too_long(ids, prefix)
            found.append(Translation("", line, note=note))
            if ids and note is None:
                searched.append(i)
        done = len(lines) - len(searched)
        with self._ready():
            for batch in by_length([len(sources[i]) + 1 for i in searched], settings.batch_tokens):
                places = [searched[k] for k in batch]
                source = to_source(
                    [sources[i] for i in places],
                    pad_id=self.source_tokenizer.pad_id,
                    eos_id=self.source_tokenizer.eos_id,
                )
                hypotheses = search(
                    self._stepper,
                    source.to(self.device),
                    [[self.target_tokenizer.bos_id, *forced[i]] for i in places],
                    settings,
                    target=self.target_tokenizer,
                    capacity=None if self.limit is None else self.limit - 1,
                    numbers=[first_number + i for i in places],
                )
                for i, best in zip(places, hypotheses, strict=True):
                    outputs = tuple(Output.of(h, self.target_tokenizer.decode(h.tokens)) for h in best)
                    found[i] = Translation(outputs[0].text, lines[i], outputs, _cut_note(outputs[0]))
                done += len(places)
                if progress:
                    progress(done, len(lines))
        return found

    def translate_stream(
        self, lines: Iterable[str], settings: SearchSettings | None = None, *, chunk: int = 4096
    ) -> Iterator[Translation]:
        """Translate any number of lines, ``chunk`` at a time; otherwise as :meth:`translate`."""
        rest, number = iter(lines), 0
        while part := list(islice(rest, chunk)):
            yield from self.translate(part, settings, first_number=number)
            number += len(part)

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch_tokens: int = 4096,
        progress: Progress | None = None,
    ) -> list[PairScore]:
        """Return how likely each target is, given its source; an empty one is scored as just its end.

        Args:
            pairs: (source, target) lines.
            batch_tokens: target pieces scored at once.
            progress: is told how many pairs are done.
        """
        sources = self.source_tokenizer.encode_batch([source for source, _ in pairs])
        targets = self.target_tokenizer.encode_batch([target for _, target in pairs])
        notes = [self._too_long(s, t) for s, t in zip(sources, targets, strict=True)]
        found = [PairScore(math.nan, (), note) for note in notes]
        scored = [i for i, note in enumerate(notes) if note is None]
        if not scored:
            return found
        done = len(pairs) - len(scored)
        target = self.target_tokenizer
        with self._ready(), torch.inference_mode():
            for indices, batch in sequential_batches(
                PairList([sources[i] for i in scored], [targets[i] for i in scored]),
                batch_tokens=batch_tokens,
                pad_id=target.pad_id,
                bos_id=target.bos_id,
                eos_id=target.eos_id,
            ):
                rows = self._log_probabilities(batch.to(self.device)).tolist()
                for k, row, length in zip(indices, rows, batch.target_lengths_B.tolist(), strict=True):
                    found[scored[k]] = PairScore(math.fsum(row[:length]), tuple(row[:length]))
                done += len(rows)
                if progress:
                    progress(done, len(pairs))
        return found

    def _log_probabilities(self, batch: PairBatch) -> Tensor:
        """Log-probability of each target token under the mean of the models' probabilities, (B, T - 1)."""
        log_p_MBT = torch.stack([model.score(batch) for model in self.models])  # type: ignore[operator]
        mean_BT: Tensor = log_p_MBT.double().logsumexp(0) - math.log(len(self.models))
        return mean_BT

    def _too_long(self, source: Sequence[int], target: Sequence[int]) -> str | None:
        """Say what is longer than the models can take, if anything is."""
        most = MOST_PIECES if self.limit is None else self.limit - 1
        for name, ids in (("line", source), ("translation", target)):
            if len(ids) > most:
                return f"the {name} has {len(ids):,} pieces, and the model takes at most {most:,}"
        return None

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Evaluation mode and the chosen precision inside the block; the models are left as they were."""
        modes = [(module, module.training) for model in self.models for module in model.modules()]
        for model in self.models:
            model.eval()
        try:
            # One context for all batches: what it casts to bf16, it casts once.
            with hardware.autocast(self.device, self._dtype):
                yield
        finally:
            for module, mode in modes:
                module.training = mode


def _cut_note(best: Output) -> str | None:
    return f"the translation was cut after {len(best.tokens):,} pieces" if best.cut else None
