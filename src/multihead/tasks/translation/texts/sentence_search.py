"""Search of the sentences of texts: all at once, then again where an output loops or lacks something."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from multihead.recipe.settings import SearchSettings
from multihead.search.phrase import Phrase
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.translation import Output, Translation
from multihead.tasks.translation.texts.confidence import LOW, Calibration
from multihead.tasks.translation.texts.fragments import fragments, join
from multihead.tasks.translation.texts.protected_line import Carried, SearchedLine
from multihead.tasks.translation.texts.repetition import loops
from multihead.tasks.translation.texts.requirements import required
from multihead.tasks.translation.texts.text_results import PlacedTerm, SentenceTranslation
from multihead.text import symbols
from multihead.text.changed_kinds import lost_digits
from multihead.text.marked_view import MarkedView
from multihead.text.terms import Glossary

NO_REPEAT = 3
"""Size of the n-grams that may not repeat when a sentence is searched again after a loop."""
LOOP = "the translation repeats itself"
EMPTY = "the model gives no translation"
UNFAMILIAR = "unlike the text of the training"
UNFAMILIAR_CONFIDENCE = LOW / 2
"""Most that is expected of a sentence unlike the text of the training, however probable its translation."""


@dataclass(frozen=True)
class _Found:
    """The output chosen for a line.

    Attributes:
        carried: the output with placeholders in their places.
        score: mean log-probability of its tokens.
        looping: True if it repeats itself.
        note: a warning of the translator.
        alternatives: further outputs that lack nothing.
        unplaced: placeholders that stand where the source has them.
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
        translator: of one direction.
        known: symbols that the model was trained with.
        calibration: of the confidence.
        language: code of the target language.
        settings: search settings.
        glossary: terms that must be in the translations.
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
        """Return the translation of each line; equal lines are searched once, unless samples are drawn."""
        found: list[_Found | None] = [None] * len(lines)
        chosen = [number for number, line in enumerate(lines) if not line.copied]
        places = self._distinct(lines, chosen)
        firsts = [group[0] for group in places]
        first = self._run_search([lines[number] for number in firsts], self._settings, progress, first_number)
        mended = self._mend([lines[number] for number in firsts], first)
        for group, one in zip(places, mended, strict=True):
            for number in group:
                found[number] = one
        return [self._result(line, one) for line, one in zip(lines, found, strict=True)]

    def _distinct(self, lines: Sequence[SearchedLine], chosen: Sequence[int]) -> list[list[int]]:
        """Return the numbers of equal lines together, in the order of the first of each."""
        if self._settings.method == "sample":
            return [[number] for number in chosen]
        groups: dict[str, list[int]] = {}
        for number in chosen:
            groups.setdefault(lines[number].unit.text, []).append(number)
        return list(groups.values())

    def _run_search(
        self,
        lines: Sequence[SearchedLine],
        settings: SearchSettings,
        progress: OnCount | None = None,
        first_number: int = 0,
        phrases: Sequence[Sequence[Phrase]] | None = None,
    ) -> list[_Found]:
        texts = [line.text for line in lines]
        translations = self.translator.translate(
            texts, settings, progress=progress, first_number=first_number, phrases=phrases
        )
        sources = self.translator.source_tokenizer.encode_batch(texts)
        return [
            self._choose(line, source, one)
            for line, source, one in zip(lines, sources, translations, strict=True)
        ]

    def _choose(self, line: SearchedLine, source: Sequence[int], translation: Translation) -> _Found:
        """Return the first hypothesis that lacks nothing and does not loop, else the first of all."""
        outputs = [self._received(line, source, output) for output in translation.hypotheses]
        if not outputs:
            lost = line.receive("", self._glossary, self._language)
            return _Found(lost._replace(text=line.unit.text), -float("inf"), note=translation.note)
        good = [output for output in outputs if output.good]
        best = good[0] if good else outputs[0]
        others = dict.fromkeys(output.carried.text for output in good if output is not best)
        return replace(
            best, note=translation.note, alternatives=tuple(o for o in others if o != best.carried.text)
        )

    def _received(self, line: SearchedLine, source: Sequence[int], output: Output) -> _Found:
        carried = line.receive(output.text, self._glossary, self._language)
        mean = output.log_probability / (len(output.tokens) + 1)
        unknown = self.translator.source_tokenizer.unk_id
        known = 1 - source.count(unknown) / len(source)
        return _Found(carried, mean / max(known, 0.1), loops(output.tokens, source))

    def _mend(self, lines: Sequence[SearchedLine], found: list[_Found]) -> list[_Found]:
        """Search again what loops or lacks something; translate in parts what still lacks something."""
        found = list(found)
        again = [number for number, one in enumerate(found) if one.looping]
        if again:
            settings = self._settings.model_copy(update={"no_repeat_ngram": NO_REPEAT})
            retried = self._run_search([lines[number] for number in again], settings)
            for number, one in zip(again, retried, strict=True):
                if not one.looping:
                    found[number] = one
        self._substitute(lines, found)
        lacking = [number for number, one in enumerate(found) if not one.carried.whole]
        if lacking:
            forced = self._force([lines[number] for number in lacking])
            for number, other in zip(lacking, forced, strict=True):
                if other is not None and other.good:
                    # What is forced is improbable in itself, such as an address spelled by characters.
                    score = (other.score + found[number].score) / 2
                    found[number] = replace(other, score=score)
        lacking = [number for number, one in enumerate(found) if not one.carried.whole]
        if lacking:
            parts = self._in_parts([lines[number] for number in lacking], [found[n] for n in lacking])
            for number, one in zip(lacking, parts, strict=True):
                found[number] = one
        return found

    def _substitute(self, lines: Sequence[SearchedLine], found: list[_Found]) -> None:
        """Search again what lacks a term, with placeholders that stand for the terms."""
        pairs = [
            (number, line)
            for number, one in enumerate(found)
            if one.carried.missing and (line := lines[number].substitute(self._known))
        ]
        if not pairs:
            return
        for (number, _), one in zip(
            pairs, self._run_search([line for _, line in pairs], self._settings), strict=True
        ):
            if one.good:
                found[number] = replace(one, alternatives=())

    def _force(self, lines: Sequence[SearchedLine]) -> list[_Found | None]:
        """Search for outputs that contain all that is required; None where that cannot be asked for."""
        tokenizer = self.translator.target_tokenizer
        phrases = [required(line, tokenizer) for line in lines]
        chosen = [number for number, own in enumerate(phrases) if own]
        # The best may have a placeholder twice.
        settings = self._settings.model_copy(
            update={"method": "beam", "no_repeat_ngram": 0, "n_best": self._settings.beam_size}
        )
        found: list[_Found | None] = [None] * len(lines)
        searched = self._run_search(
            [lines[number] for number in chosen],
            settings,
            phrases=[phrases[number] or () for number in chosen],
        )
        for number, one in zip(chosen, searched, strict=True):
            found[number] = one
        return found

    def _in_parts(self, lines: Sequence[SearchedLine], lacking: Sequence[_Found]) -> list[_Found]:
        """Translate what stands between the placeholders and terms of each line."""
        split = [fragments(line) for line in lines]
        flat = [part.core for parts in split for part in parts if part.set_as is None]
        settings = self._settings.model_copy(update={"n_best": 1})
        marks = self.translator is not self._plain
        texts = [symbols.escape(text) if marks else text for text in flat]
        rest = iter(self.translator.translate(texts, settings))
        results = []
        for line, one, parts in zip(lines, lacking, split, strict=True):
            outputs = [next(rest) for part in parts if part.set_as is None]
            translated = [symbols.unescape(output.text) if marks else output.text for output in outputs]
            carried = line.check(join(parts, translated, self._language), self._glossary)
            best = [output.hypotheses[0] for output in outputs if output.hypotheses]
            tokens = sum(len(output.tokens) + 1 for output in best)
            mean = sum(output.log_probability for output in best) / tokens if tokens else 0.0
            notes = [output.note for output in outputs if output.note]
            results.append(
                _Found(
                    carried,
                    mean,
                    any(loops(output.tokens) for output in best),
                    notes[0] if notes else None,
                    unplaced=tuple(dict.fromkeys((*one.carried.lost, *one.carried.doubled))),
                )
            )
        return results

    def _result(self, line: SearchedLine, found: _Found | None) -> SentenceTranslation:
        if found is None:
            return SentenceTranslation(line.unit.text, line.unit.text, searched=False)
        carried = found.carried
        notes = [found.note] if found.note else []
        notes += [f'"{written}" was read as "{read}"' for written, read in line.read]
        notes += [
            f'the digits of "{number}" are missing' for number in lost_digits(line.rewritten, carried.text)
        ]
        if not carried.text.strip():
            notes.append(EMPTY)
        confidence = self._calibration(found.score)
        (ids,) = self.translator.source_tokenizer.encode_batch([line.text])
        if self._calibration.unfamiliar(len(ids), len(line.text)):
            confidence = min(confidence, UNFAMILIAR_CONFIDENCE)
            notes.append(UNFAMILIAR)
        return SentenceTranslation(
            line.unit.text,
            carried.text,
            found.alternatives,
            confidence,
            unplaced=tuple(dict.fromkeys((*found.unplaced, *carried.lost))),
            terms=self._terms(line, carried.text),
            missing=carried.missing,
            warnings=(*notes, *([LOOP] if found.looping else [])),
        )

    def _terms(self, line: SearchedLine, text: str) -> tuple[PlacedTerm, ...]:
        if not self._glossary or not line.matches:
            return ()
        places = self._glossary.term_places(line.matches, text)
        pairs = zip(line.matches, places, strict=True)
        return tuple(PlacedTerm((match.start, match.end), place) for match, place in pairs if place)


def marked_translator(translator: LineTranslator) -> LineTranslator:
    """Return a translator of marked text, with the same models."""
    made = copy.copy(translator)
    made.source_tokenizer = MarkedView(translator.source_tokenizer)
    made.target_tokenizer = MarkedView(translator.target_tokenizer)
    return made
