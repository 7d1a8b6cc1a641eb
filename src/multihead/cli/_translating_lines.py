"""``multihead translate RUN < TEXT``: translation of lines, as they are or sentence by sentence."""

from collections.abc import Sequence

from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.translation import Translation
from multihead.tasks.translation.texts.foreign import foreign
from multihead.tasks.translation.texts.text_results import TextTranslation
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text.terms import Glossary


class ByLine:
    """Translates each line as it is."""

    def __init__(self, translator: LineTranslator, search: SearchSettings) -> None:
        self._translator, self._search = translator, search

    caution = ""

    def __call__(self, lines: Sequence[str], prefixes: Sequence[str], number: int) -> list[Translation]:
        """Return the translation of each line; ``number`` is that of the first."""
        return self._translator.translate(lines, self._search, prefixes=prefixes, first_number=number)


class BySentence:
    """Translates the sentences of each line.

    Attributes:
        caution: a caution about the lines that were translated first; "": none.
    """

    def __init__(
        self,
        translator: TextTranslator,
        search: SearchSettings,
        glossary: Glossary | None,
        *,
        sentences: bool,
    ) -> None:
        self._translator, self._search = translator, search
        self._sentences, self._glossary = sentences, glossary
        self._first: list[TextTranslation] = []

    def __call__(self, lines: Sequence[str], prefixes: Sequence[str], number: int) -> list[Translation]:
        """Return the translation of each line; ``number`` is that of the first."""
        translations = self._translator.translate(
            lines, self._search, sentences=self._sentences, glossary=self._glossary
        )
        self._first = self._first or translations
        return [
            Translation(_indent(line, translation.text.strip()), line, note=_note(translation))
            for line, translation in zip(lines, translations, strict=True)
        ]

    @property
    def caution(self) -> str:
        return foreign(self._first, self._translator.source_language)


def _indent(line: str, translation: str) -> str:
    """Return a translation with the indentation of its line."""
    return f"{line[: len(line) - len(line.lstrip())]}{translation}" if translation else ""


def _note(found: TextTranslation) -> str | None:
    notes = list(found.warnings)
    if found.unplaced:
        notes.append(f"set where the source has it: {', '.join(found.unplaced)}")
    if found.missing:
        notes.append(f"without the term for: {', '.join(term.source for term in found.missing)}")
    if not notes and found.doubtful:
        notes.append(f"low confidence ({found.confidence:.2f})")
    return "; ".join(notes) or None
