"""Search of all sentences of texts; sentences whose output loops or lacks something are searched again."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from multihead.recipe.settings import SearchSettings
from multihead.search.phrase import Phrase
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.translation import Output, Translation
from multihead.tasks.translation.texts.confidence import Calibration
from multihead.tasks.translation.texts.fragments import fragments, join
from multihead.tasks.translation.texts.protected_line import Carried, SearchedLine
from multihead.tasks.translation.texts.repetition import loops
from multihead.tasks.translation.texts.requirements import required_phrases
from multihead.tasks.translation.texts.text_results import PlacedTerm, SentenceTranslation
from multihead.text import symbols
from multihead.text.changed_kinds import lost_digits
from multihead.text.format_strings import faults, is_format_string
from multihead.text.marked_view import MarkedView
from multihead.text.terms import Glossary

NO_REPEAT = 3
"""Size of the n-grams that may not repeat in the second search after a loop."""
LOOP = "the translation repeats itself"
EMPTY = "the model gives no translation"
LONG = "far longer than such a text's translation"


@dataclass(frozen=True)
class _Outcome:
    """The output chosen for a line.

    Attributes:
        carried: the output with its placeholders restored.
        score: mean log-probability of its tokens.
        looping: whether it repeats itself.
        note: a warning of the translator.
        alternatives: further complete outputs.
        unplaced: placeholders at their place in the source.
    """

    carried: Carried
    score: float
    looping: bool = False
    note: str | None = None
    alternatives: tuple[str, ...] = ()
    unplaced: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        return self.carried.whole and not self.looping


class SentenceSearch:
    """Searches the sentences of texts.

    Args:
        translator: a translator for one direction.
        known: symbols that the model was trained with.
        calibration: calibration of the confidence.
        language: code of the target language.
        settings: search settings.
        glossary: terms that the translations must contain.
    """

    def __init__(
        self,
        translator: LineTranslator,
        *,
        known: Collection[str],
        calibration: Calibration,
        language: str,
        settings: SearchSettings,
        glossary: Glossary | None,
    ) -> None:
        self._plain, self._known = translator, frozenset(known)
        self.translator = marked_translator(translator) if known else translator
        self._calibration, self._language = calibration, language
        self._settings, self._glossary = settings, glossary

    def __call__(
        self, lines: Sequence[SearchedLine], progress: OnCount | None, first_number: int
    ) -> list[SentenceTranslation]:
        """Return the translation of each line; equal lines are searched once, except in sampling."""
        results: list[_Outcome | None] = [None] * len(lines)
        numbers = [number for number, line in enumerate(lines) if not line.copied]
        groups = self._distinct(lines, numbers)
        distinct = [lines[group[0]] for group in groups]
        first = self._run_search(distinct, self._settings, progress, first_number)
        outcomes = self._mend(distinct, first)
        for group, result in zip(groups, outcomes, strict=True):
            for number in group:
                results[number] = result
        return [self._result(line, result) for line, result in zip(lines, results, strict=True)]

    def _distinct(self, lines: Sequence[SearchedLine], numbers: Sequence[int]) -> list[list[int]]:
        """Group the numbers of equal lines, in the order of first occurrence."""
        if self._settings.method == "sample":
            return [[number] for number in numbers]
        groups: dict[str, list[int]] = {}
        for number in numbers:
            groups.setdefault(lines[number].unit.text, []).append(number)
        return list(groups.values())

    def _run_search(
        self,
        lines: Sequence[SearchedLine],
        settings: SearchSettings,
        progress: OnCount | None = None,
        first_number: int = 0,
        phrases: Sequence[Sequence[Phrase]] | None = None,
    ) -> list[_Outcome]:
        texts = [line.text for line in lines]
        translations = self.translator.translate(
            texts, settings, progress=progress, first_number=first_number, phrases=phrases
        )
        sources = self.translator.source_tokenizer.encode_batch(texts)
        return [
            self._choose(line, source, translation)
            for line, source, translation in zip(lines, sources, translations, strict=True)
        ]

    def _choose(self, line: SearchedLine, source: Sequence[int], translation: Translation) -> _Outcome:
        """Return the first complete hypothesis without a loop, else the first of all."""
        outputs = [self._outcome(line, source, output) for output in translation.hypotheses]
        if not outputs:
            lost = line.receive("", self._glossary, self._language)
            return _Outcome(lost._replace(text=line.unit.text), -float("inf"), note=translation.note)
        good = [output for output in outputs if output.good]
        best = good[0] if good else outputs[0]
        texts = dict.fromkeys(output.carried.text for output in good)
        alternatives = tuple(text for text in texts if text != best.carried.text)
        return replace(best, note=translation.note, alternatives=alternatives)

    def _outcome(self, line: SearchedLine, source: Sequence[int], output: Output) -> _Outcome:
        carried = line.receive(output.text, self._glossary, self._language)
        mean = output.log_probability / (len(output.tokens) + 1)
        unknown = self.translator.source_tokenizer.unk_id
        known_share = 1 - source.count(unknown) / len(source)
        return _Outcome(carried, mean / max(known_share, 0.1), loops(output.tokens, source))

    def _mend(self, lines: Sequence[SearchedLine], first: Sequence[_Outcome]) -> list[_Outcome]:
        """Search again lines whose output loops or lacks something, and at last translate in parts."""
        outcomes = list(first)
        again = [number for number, result in enumerate(outcomes) if result.looping]
        if again:
            settings = self._settings.model_copy(update={"no_repeat_ngram": NO_REPEAT})
            retried = self._run_search([lines[number] for number in again], settings)
            for number, result in zip(again, retried, strict=True):
                if not result.looping:
                    outcomes[number] = result
        self._substitute(lines, outcomes)
        lacking = [number for number, result in enumerate(outcomes) if not result.carried.whole]
        if lacking:
            forced = self._force([lines[number] for number in lacking])
            for number, outcome in zip(lacking, forced, strict=True):
                if outcome is not None and outcome.good:
                    # Forced phrases are improbable in themselves, such as an address spelled by characters.
                    score = (outcome.score + outcomes[number].score) / 2
                    outcomes[number] = replace(outcome, score=score)
        lacking = [number for number, result in enumerate(outcomes) if not result.carried.whole]
        if lacking:
            parts = self._in_parts([lines[number] for number in lacking], [outcomes[n] for n in lacking])
            for number, result in zip(lacking, parts, strict=True):
                outcomes[number] = result
        return outcomes

    def _substitute(self, lines: Sequence[SearchedLine], outcomes: list[_Outcome]) -> None:
        """Search again lines whose output lacks a term, with placeholders in place of the terms."""
        pairs = [
            (number, line)
            for number, result in enumerate(outcomes)
            if result.carried.missing and (line := lines[number].substitute(self._known))
        ]
        if not pairs:
            return
        retried = self._run_search([line for _, line in pairs], self._settings)
        for (number, _), result in zip(pairs, retried, strict=True):
            if result.good:
                outcomes[number] = replace(result, alternatives=())

    def _force(self, lines: Sequence[SearchedLine]) -> list[_Outcome | None]:
        """Search for outputs with all required phrases; None if they cannot be forced."""
        tokenizer = self.translator.target_tokenizer
        phrases = [required_phrases(line, tokenizer) for line in lines]
        numbers = [number for number, line_phrases in enumerate(phrases) if line_phrases]
        # The best output may have a placeholder twice.
        settings = self._settings.model_copy(
            update={"method": "beam", "no_repeat_ngram": 0, "n_best": self._settings.beam_size}
        )
        results: list[_Outcome | None] = [None] * len(lines)
        searched = self._run_search(
            [lines[number] for number in numbers],
            settings,
            phrases=[phrases[number] or () for number in numbers],
        )
        for number, result in zip(numbers, searched, strict=True):
            results[number] = result
        return results

    def _in_parts(self, lines: Sequence[SearchedLine], lacking: Sequence[_Outcome]) -> list[_Outcome]:
        """Translate the fragments between the placeholders and terms of each line."""
        split = [fragments(line) for line in lines]
        flat = [part.core for parts in split for part in parts if part.set_as is None]
        settings = self._settings.model_copy(update={"n_best": 1})
        marks = self.translator is not self._plain
        texts = [symbols.escape(text) if marks else text for text in flat]
        rest = iter(self.translator.translate(texts, settings))
        results = []
        for line, incomplete, parts in zip(lines, lacking, split, strict=True):
            outputs = [next(rest) for part in parts if part.set_as is None]
            translated = [symbols.plain(output.text) if marks else output.text for output in outputs]
            carried = line.check(join(parts, translated, self._language), self._glossary)
            best = [output.hypotheses[0] for output in outputs if output.hypotheses]
            tokens = sum(len(output.tokens) + 1 for output in best)
            mean = sum(output.log_probability for output in best) / tokens if tokens else 0.0
            notes = [output.note for output in outputs if output.note]
            results.append(
                _Outcome(
                    carried,
                    mean,
                    any(loops(output.tokens) for output in best),
                    notes[0] if notes else None,
                    unplaced=tuple(dict.fromkeys((*incomplete.carried.lost, *incomplete.carried.doubled))),
                )
            )
        return results

    def _result(self, line: SearchedLine, outcome: _Outcome | None) -> SentenceTranslation:
        if outcome is None:
            return SentenceTranslation(line.unit.text, line.unit.text, searched=False)
        carried = outcome.carried
        notes = [outcome.note] if outcome.note else []
        notes += [
            f'the digits of "{number}" are missing' for number in lost_digits(line.rewritten, carried.text)
        ]
        if (
            "%" in line.unit.text
            and not (carried.lost or outcome.unplaced)
            and is_format_string(line.unit.text)
        ):
            notes += faults(line.unit.text, carried.text)
        if not carried.text.strip():
            notes.append(EMPTY)
        if self._calibration.too_long(line.unit.text, carried.text):
            notes.append(LONG)
        return SentenceTranslation(
            line.unit.text,
            carried.text,
            outcome.alternatives,
            self._calibration(outcome.score),
            unplaced=tuple(dict.fromkeys((*outcome.unplaced, *carried.lost))),
            terms=self._terms(line, carried.text),
            missing=carried.missing,
            warnings=(*notes, *([LOOP] if outcome.looping else [])),
        )

    def _terms(self, line: SearchedLine, text: str) -> tuple[PlacedTerm, ...]:
        if not self._glossary or not line.matches:
            return ()
        places = self._glossary.term_places(line.matches, text)
        pairs = zip(line.matches, places, strict=True)
        return tuple(PlacedTerm((match.start, match.end), place) for match, place in pairs if place)


def marked_translator(translator: LineTranslator) -> LineTranslator:
    """Return a translator of marked text, with the same models."""
    marked = copy.copy(translator)
    marked.source_tokenizer = MarkedView(translator.source_tokenizer)
    marked.target_tokenizer = MarkedView(translator.target_tokenizer)
    return marked
