"""Translation with a trained run, or with an ensemble of runs."""

import copy
import math
import warnings
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
from multihead.generation.batching import SourceLine, batch_by_length, collate_sources
from multihead.generation.directions import Asked, Directions
from multihead.generation.scoring import token_log_probabilities
from multihead.generation.searching import search
from multihead.generation.translation import Output, PairScore, Translation
from multihead.generation.unknown import replacement_words
from multihead.hardware import Precision
from multihead.progress import OnCount
from multihead.run import Run
from multihead.search.ensemble import Ensemble
from multihead.search.hypotheses import Hypothesis
from multihead.search.phrases import Phrase
from multihead.settings import SearchSettings
from multihead.text.tagged import TaggedTokenizer
from multihead.text.tokenizer import Tokenizer

GPU_BATCH_FACTOR = 8
"""Factor on ``search.batch_tokens`` on a GPU, where a small batch takes as long as a large one."""

DEFAULT_LIMIT = 2048
"""Most tokens of a line for a model without a length limit: attention memory grows with the square."""


class Translator:
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
        self.directions = directions
        self.asked: Asked | None = None
        """The direction of a translator returned by ``toward``."""
        self.models = tuple(models)
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.device = device
        self.settings = settings or SearchSettings()
        self._dtype = hardware.pick_dtype(precision, device)
        stepped = torch.int8 if precision == "int8" else self._dtype
        self._steppers = [LatestStepper(model, device, stepped) for model in models]
        limits = [limit for model in models if (limit := getattr(model, "limit", None)) is not None]
        self.limit: int | None = min(limits, default=None)
        """Longest sequence that all models can read and write, end symbol included; None: no limit."""

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
            for side, one, first in zip(("source", "target"), pair, vocabularies[0], strict=True):
                if one.fingerprint != first.fingerprint:
                    raise UserError(
                        f"its {side} vocabulary differs from that of {runs[0].folder}",
                        place=str(run.folder),
                        remedy="Combine runs that were trained with the same tokenizers.",
                    )
        where = hardware.pick_device(device)
        models = [run.load_model(where) for run in runs]
        leader = runs[0]
        return cls(
            models,
            *vocabularies[0],
            device=where,
            precision=precision,
            settings=leader.recipe.search,
            directions=Directions.of(leader.directions, vocabularies[0][0], str(leader.folder)),
        )

    def toward(
        self,
        to: str | None = None,
        source: str | None = None,
        tags: Sequence[str] = (),
        *,
        zero_shot: bool = False,
    ) -> Self:
        """Return this translator for one direction, with the same models.

        Args:
            to: target language; None if there is only one.
            source: source language, to check that the direction was trained; None for any.
            tags: domains ("legal") or origins of the source.
            zero_shot: allow a direction that was not trained, see ``asked``.

        Raises:
            UserError: see ``Directions.ask``; the run names no languages.
        """
        if self.directions is None:
            fact = "this model was not trained with language tags; it translates in one direction"
            raise UserError(fact, place="--to", remedy="Leave the languages and tags out.")
        asked = self.directions.ask(to, source, tags, zero_shot=zero_shot)
        directed = copy.copy(self)
        directed.asked = asked
        base = self.target_tokenizer  # one vocabulary for both sides, and never tagged
        directed.source_tokenizer = TaggedTokenizer(base, asked.symbols)
        return directed

    def directed(self) -> Self:
        """Return this translator if it has a direction or needs none, else the one for its only direction."""
        return self if self.directions is None or self.asked is not None else self.toward()

    def translate(
        self,
        lines: Sequence[str],
        settings: SearchSettings | None = None,
        *,
        prefixes: Sequence[str] | None = None,
        progress: OnCount | None = None,
        first_number: int = 0,
        to: str | None = None,
        source: str | None = None,
        tags: Sequence[str] = (),
        zero_shot: bool = False,
        phrases: Sequence[Sequence[Phrase]] | None = None,
    ) -> list[Translation]:
        """Translate lines; results are in the order of the lines.

        An empty line gives an empty translation. A line that is longer than the model accepts is not
        translated, and its note says so. Nothing is truncated silently.

        Args:
            lines: one sentence each.
            settings: search settings; None: the translator's own.
            prefixes: forced beginning of each translation, in whole words; "" for none.
            progress: called with the number of finished lines.
            first_number: number of the first line; it seeds random samples.
            to: target language of a multilingual model; for this and the following see ``toward``.
            source: source language.
            tags: domains or origins.
            zero_shot: allow a direction that was not trained, with a warning.
            phrases: that each translation must contain; one that cannot is empty, with a note.

        Raises:
            UserError: contradictory settings; scores that are not finite; lines that are not strings; see
                ``toward``.
        """
        named = to is not None or source is not None or bool(tags)
        directed = self.toward(to, source, tags, zero_shot=zero_shot) if named else self.directed()
        if named and directed.asked is not None and directed.asked.zero_shot:
            fact = f"the model was never trained to translate from {directed.asked.source}"
            warnings.warn(f"zero-shot: {fact} to {directed.asked.target}", stacklevel=2)
        if directed is not self:
            return Translator.translate(
                directed,
                lines,
                settings,
                prefixes=prefixes,
                progress=progress,
                first_number=first_number,
                phrases=phrases,
            )
        if isinstance(lines, str):
            raise UserError("a string, not a list of lines", remedy='Pass a list: translate(["..."]).')
        lines, settings = list(lines), settings or self.settings
        for index, line in enumerate(lines):
            if not isinstance(line, str):
                raise UserError(f"{line!r} is not a string", place=f"lines[{index}]")
        sources = self.source_tokenizer.encode_batch(lines)
        forced = self.target_tokenizer.encode_batch(prefixes if prefixes is not None else [""] * len(lines))
        if len(forced) != len(lines):
            raise UserError(f"{len(lines):,} lines, but {len(forced):,} prefixes")
        notes = [self.too_long(ids, prefix) for ids, prefix in zip(sources, forced, strict=True)]
        translations = [Translation("", line, note=note) for line, note in zip(lines, notes, strict=True)]
        pending = [
            SourceLine(line, ids, prefix, index, phrases[index] if phrases else ())
            for index, (line, ids, prefix) in enumerate(zip(lines, sources, forced, strict=True))
            if ids and notes[index] is None
        ]
        done = len(lines) - len(pending)
        with self._inference():
            for batch in batch_by_length(pending, self._batch_tokens(settings, prefixes)):
                results = self._search(batch, settings, first_number)
                for source_line, translation in zip(batch, results, strict=True):
                    translations[source_line.index] = translation
                done += len(batch)
                if progress:
                    progress(done, len(lines))
        return translations

    def _batch_tokens(self, settings: SearchSettings, prefixes: Sequence[str] | None) -> int:
        """Return the source tokens of a batch: more where one call on a GPU runs the whole beam search."""
        unusual = settings.method == "sample" or settings.min_length or settings.no_repeat_ngram
        unusual = unusual or any(prefixes or ())
        whole_search = len(self._steppers) == 1 and hasattr(self._steppers[0].stepper(), "beam")
        large = self.device.type == "cuda" and whole_search and not unusual
        return settings.batch_tokens * (GPU_BATCH_FACTOR if large else 1)

    def _search(
        self, batch: Sequence[SourceLine], settings: SearchSettings, first_number: int
    ) -> list[Translation]:
        source, target = self.source_tokenizer, self.target_tokenizer
        steppers = [latest.stepper() for latest in self._steppers]
        hypotheses = search(
            steppers[0] if len(steppers) == 1 else Ensemble(steppers),
            collate_sources(batch, pad_id=source.pad_id, eos_id=source.eos_id).to(self.device),
            [[target.bos_id, *line.prefix] for line in batch],
            _with_full_beam(settings),
            target=target,
            capacity=None if self.limit is None else self.limit - 1,
            numbers=[first_number + line.index for line in batch],
            phrases=[line.phrases for line in batch],
        )
        pairs = [(line.text, h.tokens) for line, found in zip(batch, hypotheses, strict=True) for h in found]
        unknown = [pair for pair in pairs if settings.replace_unknown and target.unk_id in pair[1]]
        words = dict(zip(unknown, replacement_words(self.models[0], unknown, source, target), strict=True))

        def output(line: str, h: Hypothesis) -> Output:
            # Some vocabularies have a token for the line feed, but one line in gives one line out.
            return Output.of(h, target.decode(h.tokens, words.get((line, h.tokens), ())).replace("\n", " "))

        return [
            Translation.of(line.text, _n_best([output(line.text, h) for h in found], settings))
            for line, found in zip(batch, hypotheses, strict=True)
        ]

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
        if (directed := self.directed()) is not self:
            return directed.score(pairs, batch_tokens=batch_tokens, progress=progress)
        sources = self.source_tokenizer.encode_batch([source for source, _ in pairs])
        targets = self.target_tokenizer.encode_batch([target for _, target in pairs])
        notes = [self.too_long(source, target) for source, target in zip(sources, targets, strict=True)]
        scores = [PairScore(math.nan, (), note) for note in notes]
        scored = [index for index, note in enumerate(notes) if note is None]
        with self._inference():
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

    def too_long(self, source: Sequence[int], target: Sequence[int]) -> str | None:
        """Return a message where a side of the pair, without end symbol, is longer than the limit."""
        limit = DEFAULT_LIMIT if self.limit is None else self.limit - 1
        for side, ids in (("line", source), ("translation", target)):
            if len(ids) > limit:
                return f"the {side} has {len(ids):,} tokens; the model accepts at most {limit:,}"
        return None

    @contextmanager
    def _inference(self) -> Iterator[None]:
        """Set evaluation mode and autocast inside the block; restore the models' modes after it."""
        with ExitStack() as stack:
            for model in self.models:
                stack.enter_context(evaluating(model))
            # One context for all batches, since autocast caches the weights it has cast to bf16.
            stack.enter_context(hardware.autocast(self.device, self._dtype))
            yield


def _with_full_beam(settings: SearchSettings) -> SearchSettings:
    """Request the whole beam where n_best > 1, because different token sequences may give the same text."""
    if settings.method != "beam" or not 1 < settings.n_best < settings.beam_size:
        return settings
    return settings.model_copy(update={"n_best": settings.beam_size})


def _n_best(outputs: Sequence[Output], settings: SearchSettings) -> list[Output]:
    """Return the n best outputs with different texts; all outputs of random sampling."""
    if settings.method == "sample":
        return list(outputs)
    by_text: dict[str, Output] = {}
    for output in outputs:
        by_text.setdefault(output.text, output)
    return list(by_text.values())[: settings.n_best]
