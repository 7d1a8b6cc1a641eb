"""Translation of requests: choice of direction, language identification, texts, HTML and alternatives."""

import asyncio
import copy
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from multihead.apps.serve.fair_queue import BusyError, DeadlineError, FairQueue
from multihead.apps.serve.queued import QueuedTranslator, Ticket
from multihead.apps.serve.refusal import RefusedError
from multihead.apps.serve.request import Format
from multihead.data.documents import about_documents, is_installed, not_installed
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.tasks.translation.texts.foreign import foreign
from multihead.tasks.translation.texts.text_results import SentenceTranslation, TextTranslation
from multihead.tasks.translation.texts.text_translator import TextTranslator
from multihead.text import identify
from multihead.text.languages import closest
from multihead.text.languages import language as language_of
from multihead.text.terms import Glossary

THREADS = 256
"""Number of requests prepared at a time; they wait for the queue, which translates in one thread."""

UNSURE = "low confidence"

T = TypeVar("T")


@dataclass(frozen=True)
class ServedDirection:
    """A served translator.

    Attributes:
        name: run folder.
        source: source language.
        target: target language.
        texts: the translator of texts, around a ``QueuedTranslator``.
        settings: search settings.
    """

    name: str
    source: str
    target: str
    texts: TextTranslator
    settings: SearchSettings


class Review(NamedTuple):
    """A place to review, and the reason."""

    place: str
    reason: str


@dataclass(frozen=True)
class TranslatedText:
    """A translated text.

    Attributes:
        text: the best translation.
        alternatives: the next best translations, best first.
        confidence: expected sentence chrF, from 0 to 1.
        notes: warnings for the user, such as a term that is missing.
        sentences: source and translation of each sentence; empty for HTML.
        review: places to review: those of the notes, and sentences of low confidence.
    """

    text: str
    alternatives: tuple[str, ...] = ()
    confidence: float = 1.0
    notes: tuple[str, ...] = ()
    sentences: tuple[SentenceTranslation, ...] = ()
    review: tuple[Review, ...] = ()


@dataclass(frozen=True)
class Options:
    """Options of a translation.

    Attributes:
        alternatives: number of further translations of each text.
        format: "html" keeps tags and gives no alternatives.
        sentences: split lines into sentences; False: each line is one sentence.
        glossary: terms that the translation must have.
    """

    alternatives: int = 0
    format: Format = "text"
    sentences: bool = True
    glossary: Glossary | None = None


class Service:
    """All served translators.

    Args:
        directions: the translators.
        queue: the queue that their searches go through.
        seconds: time that a request may take.

    Raises:
        UserError: two translators have the same pair of languages.
    """

    def __init__(
        self, directions: Sequence[ServedDirection], queue: FairQueue, *, seconds: float = 60.0
    ) -> None:
        self.directions, self.queue, self.seconds = tuple(directions), queue, seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="request")
        seen: dict[tuple[str, str], str] = {}
        for direction in directions:
            pair = direction.source, direction.target
            first = seen.setdefault(pair, direction.name)
            if first != direction.name:
                raise UserError(
                    f"{first} and {direction.name} both translate from {pair[0]} to {pair[1]}",
                    remedy="Serve one of them, or start a second server with another --port.",
                )

    @property
    def sources(self) -> list[str]:
        """Source languages, each once."""
        return list(dict.fromkeys(direction.source for direction in self.directions))

    @property
    def targets(self) -> list[str]:
        """Target languages, each once."""
        return list(dict.fromkeys(direction.target for direction in self.directions))

    def direction(self, source: str, target: str, text: str = "", *, sure: bool = True) -> ServedDirection:
        """Return the translator between two languages.

        Args:
            source: a language code; "": the text's language.
            target: a language code; "": the only target language.
            text: identifies the source language if none is named.
            sure: whether the text is plain, without the markup of a document.

        Raises:
            RefusedError: there is none, the text is surely in another language, or a language must be named.
        """
        target_language = closest(target, self.targets) if target else None
        fitting = [
            direction for direction in self.directions if not target or direction.target == target_language
        ]
        if source:
            source_language = closest(source, [direction.source for direction in fitting])
            fitting = [direction for direction in fitting if direction.source == source_language]
        if not fitting:
            raise RefusedError(
                400,
                f"no translator from {source or 'any language'} to {target or 'any language'}; "
                f"this server translates {self}",
            )
        if not source:
            if sure:
                self._refuse_other_language(text, fitting)
            fitting = self._of_language(text, fitting)
        if len(fitting) > 1 and not target:
            raise RefusedError(400, f'"target" must be named; this server translates {self}')
        return fitting[0]

    def _refuse_other_language(self, text: str, fitting: Sequence[ServedDirection]) -> None:
        sources = {direction.texts.source_language for direction in fitting}
        codes = {identify.other_language(text, source) for source in sources}
        code = codes.pop()
        if code and not codes:
            fact = f"the text is in {language_of(code).name}, as it seems; this server translates {self}"
            raise RefusedError(400, fact)

    def _of_language(self, text: str, fitting: Sequence[ServedDirection]) -> list[ServedDirection]:
        """Return the directions from a text's identified language."""
        sources = list(dict.fromkeys(direction.source for direction in fitting))
        if len(sources) == 1:
            return list(fitting)
        if not identify.available():
            raise RefusedError(400, '"source" must be named: language identification is not installed')
        guesses = identify.identify(text, among=sources, most=1)
        language = guesses[0].code if guesses else sources[0]
        return [direction for direction in fitting if direction.source == language]

    def __str__(self) -> str:
        return ", ".join(f"{direction.source} to {direction.target}" for direction in self.directions)

    async def translate(
        self, texts: Sequence[str], direction: ServedDirection, options: Options, client: str = ""
    ) -> list[TranslatedText]:
        """Translate texts in one direction.

        Raises:
            RefusedError: a sentence that cannot be translated, a full queue, or the deadline.
        """
        return await self.run(lambda ticket: _translate(texts, direction, options, ticket), client)

    async def run(self, compute: Callable[[Ticket], T], client: str = "") -> T:
        """Run a function in a thread; cancelling this call gives up its ticket.

        Raises:
            RefusedError: the queue is full, or the deadline passed.
        """
        ticket = Ticket(client, self.seconds)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, compute, ticket)
        except BusyError:
            raise RefusedError(503, "the queue is full; try again in a moment", retry=1) from None
        except DeadlineError:
            fact = f"it took more than {self.seconds:g} seconds; split the request"
            raise RefusedError(504, fact) from None
        finally:
            ticket.give_up()


def for_request(direction: ServedDirection, ticket: Ticket) -> TextTranslator:
    """Return the translator of a direction for one request."""
    texts = copy.copy(direction.texts)
    translator = texts.translator
    assert isinstance(translator, QueuedTranslator)
    texts.translator = translator.for_request(ticket)
    return texts


def refuse_html_without_library(options: Options) -> None:
    """Raise ``RefusedError`` if HTML is to be translated, and multihead-documents is not installed."""
    if options.format == "html" and not is_installed():
        raise RefusedError(501, str(not_installed("HTML")))


def _translate(
    texts: Sequence[str], direction: ServedDirection, options: Options, ticket: Ticket
) -> list[TranslatedText]:
    settings = direction.settings
    if count := options.alternatives:
        beam = max(settings.beam_size, count + 1)
        settings = settings.model_copy(update={"n_best": count + 1, "beam_size": beam, "method": "beam"})
    translator = for_request(direction, ticket)
    refuse_html_without_library(options)
    if options.format == "html":
        return [_html(text, translator, settings, options) for text in texts]
    translations = translator.translate(
        texts, settings, sentences=options.sentences, glossary=options.glossary
    )
    source = translator.source_language
    return [_answer(translation, count, foreign([translation], source)) for translation in translations]


def _html(
    text: str, translator: TextTranslator, settings: SearchSettings, options: Options
) -> TranslatedText:
    """Translate the text of an HTML fragment or page; everything else stays as it is."""
    library = about_documents("multihead.data.documents.library", "HTML")
    page = library.html_fragment(text)
    translated = translator.translate_markup(
        [library.to_translate(segment.source) for segment in page.segments],
        settings,
        sentences=options.sentences,
        glossary=options.glossary,
    )
    answers = [_answer(segment_translation, 0) for segment_translation in translated]
    translations = {
        number: library.to_document(segment_translation.markup)
        for number, segment_translation in enumerate(translated)
    }
    html: bytes = library.render(page, translations) if translated else text.encode()
    lengths = [max(1, len(segment_translation.source)) for segment_translation in translated]
    mean = sum(a.confidence * n for a, n in zip(answers, lengths, strict=True)) / max(1, sum(lengths))
    notes = tuple(
        f"text {number}, {note}" for number, answer in enumerate(answers, start=1) for note in answer.notes
    )
    review = tuple(
        Review(f"text {number}, {place}", reason)
        for number, answer in enumerate(answers, start=1)
        for place, reason in answer.review
    )
    if other := foreign(translated, translator.source_language):
        notes = (other, *notes)
    return TranslatedText(
        html.decode("utf-8"), confidence=mean if answers else 1.0, notes=notes, review=review
    )


def _answer(result: TextTranslation, alternatives: int, note: str = "") -> TranslatedText:
    notes, review = [note] if note else [], []
    for number, part in enumerate(result.sentences, start=1):
        # A sentence that was not translated at all could go unnoticed in the answer.
        if part.searched and part.warnings and not part.confidence and part.text == part.source:
            raise RefusedError(400, f"sentence {number}: {'; '.join(part.warnings)}")
        place, reasons = f"sentence {number}", _notes(part)
        notes += [f"{place}: {reason}" for reason in reasons]
        review += [Review(place, reason) for reason in reasons or ([UNSURE] if part.doubtful else [])]
    best = result.alternatives[:alternatives]
    return TranslatedText(result.text, best, result.confidence, tuple(notes), result.sentences, tuple(review))


def _notes(sentence: SentenceTranslation) -> list[str]:
    notes = list(sentence.warnings)
    notes += [f"the place of {markup} is uncertain" for markup in sentence.unplaced]
    notes += [f'the term "{term.target}" for "{term.source}" is missing' for term in sentence.missing]
    return notes


def detect_languages(text: str) -> list[identify.Guess]:
    """Return the most probable languages of a text.

    Raises:
        RefusedError: language identification is not installed.
    """
    try:
        return identify.identify(text, most=5)
    except UserError as error:
        raise RefusedError(501, str(error)) from None
