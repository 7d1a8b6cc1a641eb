"""The methods of a loaded translator, with PyTorch or without it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Self, TypedDict, Unpack, overload

from multihead.recipe.settings import SearchSettings
from multihead.search.phrase import Phrase
from multihead.system.notebook import ResultList
from multihead.system.progress import OnCount
from multihead.tasks.loaded import ListsMethods, change_settings
from multihead.tasks.translation.lines.line_translator import LineTranslator
from multihead.tasks.translation.lines.native_translator import NativeTranslator
from multihead.tasks.translation.lines.translation import Translation
from multihead.tasks.translation.texts.text_results import TextTranslation
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.tasks.translation.without_effect import refuse_other_methods
from multihead.text.terms import Glossary

_ARGUMENTS = ("prefixes", "progress", "first_number", "to", "source", "tags", "zero_shot", "phrases")
"""Arguments of ``Translator.translate`` that are not keys of [search]."""


class SearchKeys(TypedDict, total=False):
    """The keys of [search], see ``SearchSettings``: an editor completes them."""

    method: Literal["beam", "greedy", "sample"]
    beam_size: int
    length_penalty: float
    coverage_penalty: float
    stop: Literal["exact", "first"]
    n_best: int
    max_extra: int
    max_length: int
    min_length: int
    no_repeat_ngram: int
    temperature: float
    top_k: int
    top_p: float
    seed: int
    batch_tokens: int
    replace_unknown: bool


class DirectedKeys(SearchKeys, total=False):
    """The keys of [search], and the direction of a translation."""

    to: str | None
    source: str | None
    tags: Sequence[str]
    zero_shot: bool


class TextKeys(DirectedKeys, total=False):
    """The arguments that one text may have."""

    glossary: Glossary | str | Path | None
    sentences: bool


class LineKeys(DirectedKeys, total=False):
    """The arguments that lines may have."""

    prefixes: Sequence[str] | None
    progress: OnCount | None
    first_number: int
    phrases: Sequence[Sequence[Phrase]] | None


class TextMethods(LineTranslator):
    """Translation of texts and lines with a translator loaded from run folders."""

    folders: tuple[str, ...] = ()
    _text_translator: TextTranslator | None = None

    @overload
    def translate(  # type: ignore[overload-overlap]  # a text is also a sequence of texts
        self, lines: str, settings: SearchSettings | None = None, **given: Unpack[TextKeys]
    ) -> str: ...
    @overload
    def translate(
        self, lines: Sequence[str], settings: SearchSettings | None = None, **given: Unpack[LineKeys]
    ) -> list[Translation]: ...
    def translate(
        self, lines: str | Sequence[str], settings: SearchSettings | None = None, **given: Any
    ) -> str | list[Translation]:
        """Translate one text into a text, or each line into a ``Translation``.

        One text may have several sentences and lines, placeholders and tags, as in
        :meth:`translate_texts`. In a list, each line is one sentence, passed to the model unchanged. The
        translation of an empty line is empty. A line that is too long for the model is not translated; the
        note of its translation says so. Nothing is truncated silently.

        Args:
            lines: one text, or lines of one sentence each.
            settings: search settings; None: the recipe's.
            given: keys of [search] to override (``beam_size=2``), and ``prefixes``, ``progress``,
                ``first_number``, ``phrases`` and, for a model of several directions, ``to``, ``source``,
                ``tags`` and ``zero_shot``, as in :meth:`Translator.translate`. For one text also
                ``glossary`` and ``sentences``.

        Raises:
            UserError: an unknown key, a value out of range, contradictory settings, or a setting without
                effect on the search method.
        """
        if isinstance(lines, str):
            return self.translate_texts([lines], settings, **given)[0].text
        arguments = {key: given.pop(key) for key in _ARGUMENTS if key in given}
        return ResultList(super().translate(lines, self._merge(settings, given), **arguments))

    def translate_texts(
        self,
        texts: Sequence[str],
        settings: SearchSettings | None = None,
        *,
        glossary: Glossary | str | Path | None = None,
        sentences: bool = True,
        to: str | None = None,
        source: str | None = None,
        tags: Sequence[str] = (),
        zero_shot: bool = False,
        **given: Unpack[SearchKeys],
    ) -> list[TextTranslation]:
        """Translate texts of any length, with several sentences, placeholders and tags.

        Args:
            texts: texts with any number of lines and sentences.
            settings: search settings; None: the recipe's.
            glossary: terms that the translations must have, or a file of them.
            sentences: False: each line is one sentence.
            to: target language of a model of several directions; this and the following as in
                :meth:`Translator.toward`.
            source: source language.
            tags: domains or origins.
            zero_shot: allow a direction that was not trained.
            given: keys of [search] to override; ``n_best`` gives alternatives.

        Raises:
            UserError: see :meth:`translate`; a broken glossary.
        """
        named = to is not None or source is not None or bool(tags)
        directed = self.toward(to, source, tags, zero_shot=zero_shot) if named else self.with_direction()
        if isinstance(glossary, str | Path):
            glossary = Glossary.load(glossary)
        settings = self._merge(settings, given)
        translator = self._texts().around(directed)
        return ResultList(translator.translate(texts, settings, sentences=sentences, glossary=glossary))

    def _texts(self) -> TextTranslator:
        """Return the text translator, whose files are read once."""
        if self._text_translator is None:
            folders = self.folders
            self._text_translator = (
                TextTranslator.of_runs(self, *folders) if folders else TextTranslator(self)
            )
        return self._text_translator

    def _merge(self, settings: SearchSettings | None, given: Mapping[str, object]) -> SearchSettings:
        merged = change_settings(settings or self.settings, given)
        refuse_other_methods([f"search.{key}" for key in given], merged.method)
        return merged


class LoadedNativeTranslator(ListsMethods, TextMethods, NativeTranslator):
    """Translator by the native kernels alone: ``multihead.load(run, engine="native")``."""

    @classmethod
    def load(cls, folder: str | Path, precision: str = "auto") -> Self:
        """Load a run; see ``NativeTranslator.load``."""
        loaded = super().load(folder, precision)
        loaded.folders = (str(folder),)
        return loaded
