"""One run, or several together, as a translator: lines in, translations out."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import torch
from torch import nn

from multihead import hardware
from multihead.attention_maps.calls import evaluating
from multihead.engines.choose import LatestStepper
from multihead.errors import UserError
from multihead.generation.batching import Asked, by_length, to_source
from multihead.generation.scoring import token_log_probabilities
from multihead.generation.searching import search
from multihead.generation.translation import Output, PairScore, Translation
from multihead.generation.unknown import stand_ins
from multihead.hardware import Precision
from multihead.progress import OnCount
from multihead.run import Run
from multihead.search.ensemble import Ensemble
from multihead.search.hypotheses import Hypothesis
from multihead.settings import SearchSettings
from multihead.text.tokenizer import Tokenizer

GPU_TIMES = 8
"""A GPU searches so many times the ``search.batch_tokens`` at once: few take it as long as many."""

MOST_PIECES = 2048
"""The longest line that is read by a model without a limit of its own: memory grows with the square."""


class Translator:
    """Trained models and their vocabularies.

    Args:
        models: one, or an ensemble: the mean of their probabilities.
        source_tokenizer: of the source, all models' own.
        target_tokenizer: of the target, all models' own.
        device: where the models are.
        precision: of matrix products; int8 is for search alone, and scores are computed as with auto.
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
        stepped = torch.int8 if precision == "int8" else self._dtype
        self._steppers = [LatestStepper(model, device, stepped) for model in models]
        limits = [limit for model in models if (limit := getattr(model, "limit", None)) is not None]
        self.limit: int | None = min(limits, default=None)
        """The longest sequence that all models can read and write, end symbol included; None: any."""

    @classmethod
    def load(cls, *folders: str | Path, device: str = "auto", precision: Precision = "auto") -> Self:
        """Read trained runs; several make an ensemble. The first run's search settings hold.

        Raises:
            UserError: not a run, not a translator, not trained yet, vocabularies that differ, no such device,
                int8 without the native part.
        """
        runs = [Run.open(folder).fit_for("translation") for folder in folders]
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
        progress: OnCount | None = None,
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
            UserError: settings that contradict each other; a model whose scores are no numbers; no texts.
        """
        if isinstance(lines, str):
            raise UserError("one text, not a list of lines", remedy='Put it into a list: translate(["..."]).')
        lines, settings = list(lines), settings or self.settings
        for number, line in enumerate(lines):
            if not isinstance(line, str):
                raise UserError(f"{line!r} is not a text", place=f"lines[{number}]")
        sources = self.source_tokenizer.encode_batch(lines)
        forced = self.target_tokenizer.encode_batch(prefixes if prefixes is not None else [""] * len(lines))
        if len(forced) != len(lines):
            raise UserError(f"{len(lines):,} lines, but {len(forced):,} prefixes")
        notes = [self.too_long(ids, prefix) for ids, prefix in zip(sources, forced, strict=True)]
        found = [Translation("", line, note=note) for line, note in zip(lines, notes, strict=True)]
        asked = [
            Asked(line, ids, prefix, number)
            for number, (line, ids, prefix) in enumerate(zip(lines, sources, forced, strict=True))
            if ids and notes[number] is None
        ]
        done = len(lines) - len(asked)
        with self._ready():
            for batch in by_length(asked, self._batch_tokens(settings, prefixes)):
                for one, translation in zip(batch, self._search(batch, settings, first_number), strict=True):
                    found[one.number] = translation
                done += len(batch)
                if progress:
                    progress(done, len(lines))
        return found

    def _batch_tokens(self, settings: SearchSettings, prefixes: Sequence[str] | None) -> int:
        """Source pieces searched at once: more where a model on a GPU does a plain search by itself."""
        unusual = settings.method == "sample" or settings.min_length or settings.no_repeat_ngram
        unusual = unusual or any(prefixes or ())
        alone = len(self._steppers) == 1 and hasattr(self._steppers[0].stepper(), "beam")
        many = self.device.type == "cuda" and alone and not unusual
        return settings.batch_tokens * (GPU_TIMES if many else 1)

    def _search(
        self, batch: Sequence[Asked], settings: SearchSettings, first_number: int
    ) -> list[Translation]:
        source, target = self.source_tokenizer, self.target_tokenizer
        steppers = [one.stepper() for one in self._steppers]
        hypotheses = search(
            steppers[0] if len(steppers) == 1 else Ensemble(steppers),
            to_source(batch, pad_id=source.pad_id, eos_id=source.eos_id).to(self.device),
            [[target.bos_id, *one.prefix] for one in batch],
            _with_spare(settings),
            target=target,
            capacity=None if self.limit is None else self.limit - 1,
            numbers=[first_number + one.number for one in batch],
        )
        pairs = [(one.line, h.tokens) for one, found in zip(batch, hypotheses, strict=True) for h in found]
        unknown = [pair for pair in pairs if settings.replace_unknown and target.unk_id in pair[1]]
        words = dict(zip(unknown, stand_ins(self.models[0], unknown, source, target), strict=True))

        def output(line: str, h: Hypothesis) -> Output:
            # Some vocabularies have a piece for the end of a line; a line's translation is a line.
            return Output.of(h, target.decode(h.tokens, words.get((line, h.tokens), ())).replace("\n", " "))

        return [
            Translation.of(one.line, _wanted([output(one.line, h) for h in found], settings))
            for one, found in zip(batch, hypotheses, strict=True)
        ]

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch_tokens: int = 4096,
        progress: OnCount | None = None,
    ) -> list[PairScore]:
        """Return how likely each target is, given its source; an empty one is scored as just its end.

        Args:
            pairs: (source, target) lines.
            batch_tokens: target pieces scored at once.
            progress: is told how many pairs are done.
        """
        sources = self.source_tokenizer.encode_batch([source for source, _ in pairs])
        targets = self.target_tokenizer.encode_batch([target for _, target in pairs])
        notes = [self.too_long(source, target) for source, target in zip(sources, targets, strict=True)]
        found = [PairScore(math.nan, (), note) for note in notes]
        scored = [number for number, note in enumerate(notes) if note is None]
        with self._ready():
            rows = token_log_probabilities(
                self.models,
                [sources[number] for number in scored],
                [targets[number] for number in scored],
                self.target_tokenizer,
                batch_tokens=batch_tokens,
                device=self.device,
            )
            for done, (place, row) in enumerate(rows, start=1 + len(pairs) - len(scored)):
                found[scored[place]] = PairScore(math.fsum(row), row)
                if progress:
                    progress(done, len(pairs))
        return found

    def too_long(self, source: Sequence[int], target: Sequence[int]) -> str | None:
        """Say what of a pair, without end symbols, is longer than the models can take; None: nothing."""
        most = MOST_PIECES if self.limit is None else self.limit - 1
        for name, ids in (("line", source), ("translation", target)):
            if len(ids) > most:
                return f"the {name} has {len(ids):,} pieces, and the model takes at most {most:,}"
        return None

    @contextmanager
    def _ready(self) -> Iterator[None]:
        """Evaluation mode and the chosen precision inside the block; the models are left as they were."""
        with ExitStack() as stack:
            for model in self.models:
                stack.enter_context(evaluating(model))
            # One context for all batches: what it casts to bf16, it casts once.
            stack.enter_context(hardware.autocast(self.device, self._dtype))
            yield


def _with_spare(settings: SearchSettings) -> SearchSettings:
    """Ask a beam for all it has where several outputs are wanted: pieces may differ where texts do not."""
    if settings.method != "beam" or not 1 < settings.n_best < settings.beam_size:
        return settings
    return settings.model_copy(update={"n_best": settings.beam_size})


def _wanted(outputs: Sequence[Output], settings: SearchSettings) -> list[Output]:
    """Return the outputs that are told: of a beam's with the same text the best, random samples all."""
    if settings.method == "sample":
        return list(outputs)
    different: dict[str, Output] = {}
    for output in outputs:
        different.setdefault(output.text, output)
    return list(different.values())[: settings.n_best]
