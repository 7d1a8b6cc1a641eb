"""Translation with a trained run, or with an ensemble of runs."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

import torch
from torch import nn

from multihead.data.batches import collate
from multihead.engines.choose import LatestStepper
from multihead.errors import UserError
from multihead.inspect.maps import record
from multihead.inspect.maps.calls import evaluating
from multihead.inspect.maps.records import AttentionRecord
from multihead.recipe.settings import SearchSettings
from multihead.run.folder import Run
from multihead.search.consistency import example
from multihead.search.ensemble import Ensemble
from multihead.search.outputs import Hypothesis
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.batching import SourceLine
from multihead.tasks.translation.lines.directions import Directions
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.recording import record_search
from multihead.tasks.translation.lines.scoring import token_log_probabilities
from multihead.tasks.translation.lines.searching import collate_sources, search
from multihead.tasks.translation.lines.translation import PairScore
from multihead.text.tokenizer import Tokenizer

GPU_BATCH_FACTOR = 8
"""Factor on ``search.batch_tokens`` on a GPU, which takes as long for a small batch as for a large one."""


class Translator(LineTranslator):
    """Translates lines and scores given translations.

    Args:
        models: one model, or several as an ensemble, whose probabilities are averaged.
        source_tokenizer: source tokenizer of all models.
        target_tokenizer: target tokenizer of all models.
        device: device of the models.
        precision: precision of matrix products. int8 is for search only; scoring then uses auto.
        settings: default search settings.
        directions: directions of a multilingual model, whose source needs tags, see ``toward``.
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
        directions: Directions | None = None,
    ) -> None:
        limits = [limit for model in models if (limit := getattr(model, "limit", None)) is not None]
        super().__init__(
            source_tokenizer,
            target_tokenizer,
            settings=settings or SearchSettings(),
            directions=directions,
            limit=min(limits, default=None),
        )
        self.models = tuple(models)
        self.device = device
        self._dtype = hardware.pick_dtype(precision, device)
        stepped = torch.int8 if precision == "int8" else self._dtype
        vocabularies = source_tokenizer.vocab_size, target_tokenizer.vocab_size
        pairs = example(*vocabularies, target_tokenizer.bos_id, self.limit)
        self._steppers = [LatestStepper(model, device, stepped, pairs) for model in models]

    @classmethod
    def load(cls, *folders: str | Path, device: str = "auto", precision: Precision = "auto") -> Self:
        """Load a trained run, or several as an ensemble with the first run's search settings.

        Raises:
            UserError: not a run; not a translator; not trained yet; vocabularies differ; no such device; int8
                without native kernels.
        """
        runs = [Run.open(folder).fit_for("translation") for folder in folders]
        vocabularies = [run.tokenizers() for run in runs]
        for run, pair in zip(runs, vocabularies, strict=True):
            for side, tokenizer, first in zip(("source", "target"), pair, vocabularies[0], strict=True):
                if tokenizer.fingerprint != first.fingerprint:
                    raise UserError(
                        f"its {side} vocabulary differs from that of {runs[0].folder}",
                        place=str(run.folder),
                        remedy="Combine runs that were trained with the same tokenizers.",
                    )
        torch_device = hardware.pick_device(device)
        models = [run.load_model(torch_device) for run in runs]
        leader = runs[0]
        translator = cls(
            models,
            *vocabularies[0],
            device=torch_device,
            precision=precision,
            settings=leader.recipe.search,
            directions=Directions.of(leader.directions, vocabularies[0][0], str(leader.folder)),
        )
        if torch_device.type == "cpu":
            for run, latest in zip(runs, translator._steppers, strict=True):
                record_search(run, latest)
        return translator

    def with_models(self) -> Self:
        """Return this translator."""
        return self

    def search_lines(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Search with the chosen engine, or with an ensemble; see ``LineTranslator``."""
        source, target = self.source_tokenizer, self.target_tokenizer
        steppers = [latest.stepper() for latest in self._steppers]
        return search(
            steppers[0] if len(steppers) == 1 else Ensemble(steppers),
            collate_sources(batch, pad_id=source.pad_id, eos_id=source.eos_id).to(self.device),
            [[target.bos_id, *line.prefix] for line in batch],
            settings,
            target=target,
            capacity=None if self.limit is None else self.limit - 1,
            numbers=numbers,
            phrases=[line.phrases for line in batch],
        )

    def attend_source(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionRecord]:
        """Record the first model's attention over the source, teacher-forced; see ``LineTranslator``."""
        if not self.models:
            return []
        target = self.target_tokenizer
        batch = collate(sources, targets, pad_id=target.pad_id, bos_id=target.bos_id, eos_id=target.eos_id)
        return [layer for layer in record(self.models[0], batch) if layer.kind == "cross"]

    def batch_tokens(self, settings: SearchSettings, *, plain: bool) -> int:
        """Return the source tokens per batch: more if one call on a GPU runs the whole beam search."""
        unusual = settings.method == "sample" or settings.min_length or settings.no_repeat_ngram
        whole_search = len(self._steppers) == 1 and hasattr(self._steppers[0].stepper(), "beam")
        large = self.device.type == "cuda" and whole_search and plain and not unusual
        return settings.batch_tokens * (GPU_BATCH_FACTOR if large else 1)

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        batch_tokens: int = 4096,
        progress: OnCount | None = None,
    ) -> list[PairScore]:
        """Return the log-probability of each target given its source.

        An empty target is scored as the end symbol alone.

        Args:
            pairs: (source, target) lines.
            batch_tokens: target tokens of a batch.
            progress: called with the number of finished pairs.

        Raises:
            UserError: a multilingual model without a chosen direction; see ``toward``.
        """
        if (directed := self.with_direction()) is not self:
            return directed.score(pairs, batch_tokens=batch_tokens, progress=progress)
        for latest in self._steppers:
            latest.compare()
        sources = self.source_tokenizer.encode_batch([source for source, _ in pairs])
        targets = self.target_tokenizer.encode_batch([target for _, target in pairs])
        notes = [self.too_long(source, target) for source, target in zip(sources, targets, strict=True)]
        scores = [PairScore(math.nan, (), note) for note in notes]
        scored = [index for index, note in enumerate(notes) if note is None]
        with self.inference():
            rows = token_log_probabilities(
                self.models,
                [sources[index] for index in scored],
                [targets[index] for index in scored],
                self.target_tokenizer,
                batch_tokens=batch_tokens,
                device=self.device,
            )
            for done, (position, row) in enumerate(rows, start=1 + len(pairs) - len(scored)):
                scores[scored[position]] = PairScore(math.fsum(row), row)
                if progress:
                    progress(done, len(pairs))
        return scores

    @contextmanager
    def inference(self) -> Iterator[None]:
        """Set evaluation mode and autocast inside the block; restore the models' modes after it."""
        with ExitStack() as stack:
            for model in self.models:
                stack.enter_context(evaluating(model))
            # One context for all batches, since autocast caches the weights it has cast to bf16.
            stack.enter_context(hardware.autocast(self.device, self._dtype))
            yield
