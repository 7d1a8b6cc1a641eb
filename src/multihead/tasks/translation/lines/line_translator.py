"""Translation of lines, independent of the engine that searches."""

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from multihead.errors import UserError
from multihead.inspect.maps.records import AttentionRecord
from multihead.recipe.settings import SearchSettings
from multihead.search.outputs import Hypothesis
from multihead.search.phrase import Phrase
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.attended_words import word_weights
from multihead.tasks.translation.lines.batching import SourceLine, batch_by_length
from multihead.tasks.translation.lines.coverage import ranked_by_coverage
from multihead.tasks.translation.lines.directions import Directions, RequestedDirection
from multihead.tasks.translation.lines.translation import Output, Translation
from multihead.tasks.translation.lines.unknown import replacement_words
from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.tasks.translation.texts.tag_alignment import Weights
from multihead.text.lexicon import Lexicon
from multihead.text.tagged import TaggedTokenizer
from multihead.text.tokenizer import Tokenizer

DEFAULT_LIMIT = 2048
"""Most tokens of a line for a model without a length limit: attention memory grows quadratically."""


class LineTranslator(ABC):
    """Translates lines; a subclass holds the models and searches.

    Args:
        source_tokenizer: source tokenizer of all models.
        target_tokenizer: target tokenizer of all models.
        settings: default search settings.
        directions: directions of a multilingual model, whose source needs tags, see ``toward``.
        limit: longest sequence that all models can read and write, end symbol included; None: no limit.
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        *,
        settings: SearchSettings,
        directions: Directions | None,
        limit: int | None,
    ) -> None:
        self.source_tokenizer, self.target_tokenizer = source_tokenizer, target_tokenizer
        self.settings, self.directions, self.limit = settings, directions, limit
        self.asked: RequestedDirection | None = None
        """The direction of a translator returned by ``toward``."""

    @abstractmethod
    def with_models(self) -> Any:
        """Return the ``Translator`` with the same runs, tokenizers and direction.

        Raises:
            UserError: it needs PyTorch, which is not installed.
        """

    @abstractmethod
    def search_lines(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Return the outputs for each line, best first by length-normalised log-probability.

        Args:
            batch: the lines, longest first.
            settings: search settings.
            numbers: numbers that identify the lines; they seed random samples.
        """

    @abstractmethod
    def attend_source(
        self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]
    ) -> list[AttentionRecord]:
        """Return the first model's attention over the source by layer; see ``Attended``."""

    def hypotheses(
        self, batch: Sequence[SourceLine], settings: SearchSettings, numbers: Sequence[int]
    ) -> list[list[Hypothesis]]:
        """Return the outputs for each line as ``searched`` does; rank by coverage if the settings say so."""
        beta = settings.coverage_penalty if settings.method == "beam" else 0.0
        if not beta:
            return self.search_lines(batch, settings, numbers)
        wider = settings.model_copy(update={"n_best": max(settings.n_best, settings.beam_size)})
        ranked = ranked_by_coverage(
            self.attend_source,
            [line.tokens for line in batch],
            self.search_lines(batch, wider, numbers),
            beta,
            source=self.source_tokenizer,
            target=self.target_tokenizer,
        )
        return [group[: settings.n_best] for group in ranked]

    def replacements(self, pairs: Sequence[tuple[str, Sequence[int]]]) -> list[list[str]]:
        """Return, for each (line, output tokens), a word of the line for each unknown token."""
        return replacement_words(self.attend_source, pairs, self.source_tokenizer, self.target_tokenizer)

    def word_weights(
        self, lines: Sequence[SearchedLine], texts: Sequence[str], lexicon: Lexicon
    ) -> list[Weights | None]:
        """Return the attention of each translation's words on its source's words; None without attention."""
        return word_weights(self.attend_source, self, lines, texts, lexicon)

    def batch_tokens(self, settings: SearchSettings, *, plain: bool) -> int:
        """Return the source tokens per batch; ``plain``: whether no line has a prefix."""
        return settings.batch_tokens

    def prepare(self, settings: SearchSettings, *, begun: bool, phrases: bool) -> None:  # noqa: B027
        """Load the models that such searches need; a server calls this outside its queue.

        Args:
            settings: search settings.
            begun: whether translations have a forced prefix.
            phrases: whether they must contain given phrases.
        """

    def inference(self) -> AbstractContextManager[object]:
        """Context manager around all searches of one call."""
        return nullcontext()

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
            zero_shot: allow an untrained direction.

        Raises:
            UserError: see ``Directions.ask``; the run names no languages.
        """
        if self.directions is None:
            fact = "this model was not trained with language tags; it translates in one direction"
            raise UserError(fact, place="--to", remedy="Leave the languages and tags out.")
        direction = self.directions.ask(to, source, tags, zero_shot=zero_shot)
        directed = copy.copy(self)
        directed.asked = direction
        base = self.target_tokenizer  # one vocabulary for both sides, and never tagged
        directed.source_tokenizer = TaggedTokenizer(base, direction.symbols)
        return directed

    def with_direction(self) -> Self:
        """Return this translator; if it lacks a direction, the translator for its only direction."""
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

        An empty line gives an empty translation. A line that is too long for the model is not translated, and
        its note says so. Nothing is truncated silently.

        Args:
            lines: one sentence each.
            settings: search settings; None: the translator's.
            prefixes: forced beginning of each translation, in whole words; "" for none.
            progress: called with the number of finished lines.
            first_number: number of the first line; it seeds random samples.
            to: target language of a multilingual model; for this and the following see ``toward``.
            source: source language.
            tags: domains or origins.
            zero_shot: allow an untrained direction, with a warning.
            phrases: phrases that each translation must contain; if it cannot, it is empty, with a note.

        Raises:
            UserError: contradictory settings; scores that are not finite; lines that are not strings; see
                ``toward``.
        """
        named = to is not None or source is not None or bool(tags)
        directed = self.toward(to, source, tags, zero_shot=zero_shot) if named else self.with_direction()
        if named and directed.asked is not None and directed.asked.zero_shot:
            fact = f"the model was never trained to translate from {directed.asked.source}"
            warnings.warn(f"zero-shot: {fact} to {directed.asked.target}", stacklevel=2)
        if isinstance(lines, str):
            raise UserError("a string, not a list of lines", remedy='Pass a list: translate(["..."]).')
        return directed.translate_directed(
            list(lines),
            settings or self.settings,
            prefixes=prefixes,
            progress=progress,
            first_number=first_number,
            phrases=phrases,
        )

    def translate_directed(
        self,
        lines: Sequence[str],
        settings: SearchSettings,
        *,
        prefixes: Sequence[str] | None = None,
        progress: OnCount | None = None,
        first_number: int = 0,
        phrases: Sequence[Sequence[Phrase]] | None = None,
    ) -> list[Translation]:
        """Translate lines in this translator's direction; see ``translate``."""
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
        with self.inference():
            for batch in batch_by_length(pending, self.batch_tokens(settings, plain=not any(prefixes or ()))):
                results = self._search(batch, settings, first_number)
                for source_line, translation in zip(batch, results, strict=True):
                    translations[source_line.index] = translation
                done += len(batch)
                if progress:
                    progress(done, len(lines))
        return translations

    def _search(
        self, batch: Sequence[SourceLine], settings: SearchSettings, first_number: int
    ) -> list[Translation]:
        target = self.target_tokenizer
        numbers = [first_number + line.index for line in batch]
        hypotheses = self.hypotheses(batch, _with_full_beam(settings), numbers)
        pairs = [(line.text, h.tokens) for line, group in zip(batch, hypotheses, strict=True) for h in group]
        unknown = [pair for pair in pairs if settings.replace_unknown and target.unk_id in pair[1]]
        words = dict(zip(unknown, self.replacements(unknown) if unknown else (), strict=True))

        def output(line: str, h: Hypothesis) -> Output:
            # Some vocabularies have a token for the line feed, but one line in gives one line out.
            return Output.of(h, target.decode(h.tokens, words.get((line, h.tokens), ())).replace("\n", " "))

        return [
            Translation.of(line.text, _n_best([output(line.text, h) for h in group], settings))
            for line, group in zip(batch, hypotheses, strict=True)
        ]

    def too_long(self, source: Sequence[int], target: Sequence[int]) -> str | None:
        """Return a message if a side of the pair, without end symbol, is longer than the limit."""
        limit = DEFAULT_LIMIT if self.limit is None else self.limit - 1
        for side, ids in (("line", source), ("translation", target)):
            if len(ids) > limit:
                return f"the {side} has {len(ids):,} tokens; the model accepts at most {limit:,}"
        return None


def _with_full_beam(settings: SearchSettings) -> SearchSettings:
    """Request the whole beam if n_best > 1, because different token sequences may give the same text."""
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
