"""Translation of lines, with placeholders carried as symbols as in texts, and each searched once."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from multihead.recipe.settings import SearchSettings
from multihead.system.progress import OnCount
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.translation import Translation
from multihead.tasks.translation.texts.protected_line import line
from multihead.tasks.translation.texts.sentence_search import marked_translator
from multihead.tasks.translation.texts.text_layout import SentenceUnit
from multihead.text.casing import Casing
from multihead.text.symbols import PLACEHOLDERS


def translate_lines(
    translator: LineTranslator,
    sources: Sequence[str],
    search: SearchSettings,
    known: Collection[str],
    changed: Collection[str],
    *,
    progress: OnCount | None = None,
) -> list[Translation]:
    """Translate lines; validation and evaluation measure what users of texts get.

    Args:
        translator: a translator of lines.
        sources: plain text.
        search: search settings.
        known: symbols that the model was trained with; without placeholders, lines are searched as they are.
        changed: placeholders that stay in the text, of ``text.changed_kinds.not_kept``.
        progress: called with the number of translated lines.

    Raises:
        UserError: see ``Translator.translate``.
    """
    if not set(known).intersection(PLACEHOLDERS):
        return translator.translate(sources, search, progress=progress)
    symbols, stay = frozenset(known), frozenset(changed)
    lines = [
        line(SentenceUnit(source), symbols, None, Casing(), stay, translator.source_tokenizer)
        for source in sources
    ]
    texts = [one.text if source.strip() else source for one, source in zip(lines, sources, strict=True)]
    outputs = marked_translator(translator).translate(texts, search, progress=progress)
    return [
        replace(output, source=source, text=one.receive(output.text, None, "").text if output.text else "")
        for output, source, one in zip(outputs, sources, lines, strict=True)
    ]
