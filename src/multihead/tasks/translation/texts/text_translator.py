"""Translation of texts with several sentences, placeholders, tags and terms."""

import copy
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from multihead import run
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run import manifest
from multihead.run.names import FURTHER
from multihead.run.search_record import SearchRecord
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.texts.confidence import Calibration
from multihead.tasks.translation.texts.protected_line import line
from multihead.tasks.translation.texts.sentence_search import SentenceSearch
from multihead.tasks.translation.texts.tag_placement import place_tags
from multihead.tasks.translation.texts.text_layout import TextLayout, laid_out
from multihead.tasks.translation.texts.text_results import SentenceTranslation, TextTranslation
from multihead.text.casing import Casing
from multihead.text.changed_kinds import WHOLE_LINES, not_kept
from multihead.text.lexicon import Lexicon
from multihead.text.markup import Markup
from multihead.text.symbols import PLACEHOLDERS
from multihead.text.terms import Glossary


class TextTranslator:
    """Translates texts of any length with a translator of sentences.

    It splits texts into sentences, protects placeholders, numbers and addresses, searches all sentences of
    all texts together, and places tags by alignment. White space is kept. A sentence whose output loops or
    lacks something is searched again, and at last translated in parts.

    Args:
        translator: a translator for one direction.
        source_language: code of the source language; "": the common rules of its script.
        target_language: code of the target language.
        known: reserved symbols that the model was trained with, ``Run.trained_symbols``. Without them,
            placeholders stay in the text, and a sentence whose output lacks one is translated around it.
        calibration: calibration of the confidence.
        lexicon: word translations, used to place tags.
        casing: usual capitals of source words, for sentences in capitals or without any.
        changed: placeholders that the training's targets change, of ``text.changed_kinds.not_kept``; None:
            identifiers.
    """

    def __init__(
        self,
        translator: LineTranslator,
        source_language: str = "",
        target_language: str = "",
        *,
        known: Collection[str] = (),
        calibration: Calibration | None = None,
        lexicon: Lexicon | None = None,
        casing: Casing | None = None,
        changed: Collection[str] | None = None,
    ) -> None:
        self.translator = translator
        self.source_language, self.target_language = source_language, target_language
        self.known = frozenset(known)
        self.calibration = calibration or Calibration()
        self.lexicon, self.casing = lexicon or Lexicon(), casing or Casing()
        self.changed = frozenset(not_kept({}) if changed is None else changed)

    @classmethod
    def of_runs(cls, translator: LineTranslator, *folders: str | Path) -> Self:
        """Return the text translator of a translator that was loaded from these runs.

        Its languages are the translator's direction, else the languages in the first run's recipe. It uses
        the symbols that all runs were trained with. Only the confidence of a single run is calibrated.

        Raises:
            UserError: a damaged run folder.
        """
        manifest.check_listed(Path(folders[0]), FURTHER)
        symbols, languages, changed = zip(*map(_facts, folders), strict=True)
        source, target = languages[0]
        if translator.asked is not None:
            source, target = translator.asked.source, translator.asked.target
        calibration = Calibration.load(folders[0]) if len(folders) == 1 else None
        return cls(
            translator,
            source,
            target,
            known=frozenset.intersection(*symbols),
            calibration=calibration,
            lexicon=Lexicon.load(folders[0]),
            casing=Casing.load(folders[0]),
            changed=frozenset.union(*changed),
        )

    def toward(self, *arguments: object, **named: object) -> Self:
        """Return this text translator for one direction, see ``Translator.toward``."""
        return self.around(self.translator.toward(*arguments, **named))  # type: ignore[arg-type]

    def around(self, translator: LineTranslator) -> Self:
        """Return a copy with the same translator in another direction, and that direction's languages."""
        directed = copy.copy(self)
        directed.translator = translator
        if (direction := translator.asked) is not None:
            directed.source_language, directed.target_language = direction.source, direction.target
        return directed

    def translate(
        self,
        texts: Sequence[str],
        settings: SearchSettings | None = None,
        *,
        sentences: bool = True,
        glossary: Glossary | None = None,
        progress: OnCount | None = None,
        first_number: int = 0,
    ) -> list[TextTranslation]:
        """Translate texts; results are in their order.

        Args:
            texts: texts of any length; tags that they spell are placed by alignment.
            settings: search settings; None: the translator's. ``n_best`` gives alternatives.
            sentences: whether to split lines into sentences, unless the training never did.
            glossary: terms that the translations must contain.
            progress: called with the number of searched sentences.
            first_number: number of the first sentence; it seeds random samples.

        Raises:
            UserError: texts that are not strings; see ``Translator.translate``.
        """
        if isinstance(texts, str):
            raise UserError("a string, not a list of texts", remedy='Pass a list: translate(["..."]).')
        for index, text in enumerate(texts):
            if not isinstance(text, str):
                raise UserError(f"{text!r} is not a string", place=f"texts[{index}]")
        return self.translate_markup(
            [Markup.of(text) for text in texts],
            settings,
            sentences=sentences,
            glossary=glossary,
            progress=progress,
            first_number=first_number,
        )

    def translate_markup(
        self,
        texts: Sequence[Markup],
        settings: SearchSettings | None = None,
        *,
        sentences: bool = True,
        glossary: Glossary | None = None,
        progress: OnCount | None = None,
        first_number: int = 0,
        bare: bool = False,
    ) -> list[TextTranslation]:
        """Translate texts with tags, such as the segments of a document; for arguments see ``translate``.

        With ``bare``, a sentence without a full stop, such as a heading, gets none in its translation. The
        result has each tag of its source once, and pairs are nested.
        """
        sentences = sentences and WHOLE_LINES not in self.changed
        layouts = [laid_out(text, self.source_language, sentences=sentences) for text in texts]
        tokenizer = self.translator.source_tokenizer
        lines = [
            replace(
                line(unit, self._symbols_in_use, glossary, self.casing, self.changed, tokenizer), bare=bare
            )
            for layout in layouts
            for unit in layout.units
        ]
        search = SentenceSearch(
            self.translator,
            known=self._symbols_in_use,
            calibration=self.calibration,
            language=self.target_language,
            settings=settings or self.translator.settings,
            glossary=glossary,
        )
        searched = iter(search(lines, progress, first_number))
        results = [[next(searched) for _ in layout.units] for layout in layouts]
        translated = [sentence.text for result in results for sentence in result]
        places = iter(place_tags(lines, translated, search.translator, self.lexicon))
        return [
            self._result(text, layout, [next(places) for _ in layout.units], result)
            for text, layout, result in zip(texts, layouts, results, strict=True)
        ]

    @property
    def _symbols_in_use(self) -> frozenset[str]:
        """The symbols in use: none if the model knows no placeholders."""
        return self.known if self.known.intersection(PLACEHOLDERS) else frozenset()

    def _result(
        self,
        text: Markup,
        layout: TextLayout,
        markups: Sequence[Markup],
        sentences: Sequence[SentenceTranslation],
    ) -> TextTranslation:
        count = max((len(sentence.alternatives) for sentence in sentences), default=0)
        ranked = (
            [_rank(markup, sentence, rank) for markup, sentence in zip(markups, sentences, strict=True)]
            for rank in range(count)
        )
        best = layout.render(markups, self.target_language)
        others = dict.fromkeys(layout.render(other, self.target_language).text for other in ranked)
        alternatives = tuple(other for other in others if other != best.text)
        return TextTranslation(text.text, best, alternatives, tuple(sentences))


def _facts(folder: str | Path) -> tuple[frozenset[str], tuple[str, str], frozenset[str]]:
    """Return a run's trained symbols, languages, and kinds of placeholders that its targets change."""
    if (record := SearchRecord.read(folder)) is not None:
        return frozenset(record.symbols), record.languages, frozenset(record.changed)
    opened = run.Run.open(folder)
    data = opened.recipe.data
    languages = getattr(data, "source_language", ""), getattr(data, "target_language", "")
    return frozenset(opened.trained_symbols), languages, frozenset(opened.changed_kinds)


def _rank(markup: Markup, sentence: SentenceTranslation, rank: int) -> Markup:
    """Return the alternative of a sentence at this rank, or its last; without tags."""
    if not sentence.alternatives:
        return markup
    return Markup.of(sentence.alternatives[min(rank, len(sentence.alternatives) - 1)])
