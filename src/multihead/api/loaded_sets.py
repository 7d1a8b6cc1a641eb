"""Loaded runs whose output is tags, spans or sets: taggers, models of answers, detectors, models of sets."""

from collections.abc import Sequence
from pathlib import Path

from multihead.inspect.page import HtmlPage, PageOptions, explore_text, make_page
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.tasks.detection.detector import DetectedObject, Detector
from multihead.tasks.sets.odd_one_out import OddOneOut
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.attention import inspect_answer
from multihead.tasks.tagging.attention import inspect_tagging
from multihead.tasks.tagging.tagger import Tagger
from multihead.tasks.translation.text_methods import ListsMethods


class LoadedTagger(ListsMethods, Tagger):
    """Tagger, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a sentence, with its tags.

        Raises:
            UserError: the text has no words.
        """
        explored = explore_text(
            inspect_tagging(self, text), self.model, self.tokenizer, BIDIRECTIONAL, PageOptions(full=full)
        )
        return make_page(explored)


class LoadedAnswerer(ListsMethods, Answerer):
    """Model that answers questions by parts of a text, with inspection of its attention."""

    def inspect(self, question: str, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a question and a text, with the answer.

        Raises:
            UserError: question or text has no words.
        """
        reading = inspect_answer(self, question, text)
        explored = explore_text(reading, self.model, self.tokenizer, BIDIRECTIONAL, PageOptions(full=full))
        return make_page(explored)


class LoadedDetector(ListsMethods, Detector):
    """Object detector."""

    def detect_one(self, picture: str | Path, threshold: float = 0.5) -> list[DetectedObject]:
        """Return the objects in one picture file, best score first.

        Raises:
            UserError: the file is missing, damaged or not a picture.
        """
        return self.detect([picture], threshold)[0]


class LoadedOddOneOut(ListsMethods, OddOneOut):
    """Model of sets of pictures."""

    def odd(self, pictures: Sequence[str | Path]) -> int:
        """Return the place of the odd one among picture files, from 0.

        Raises:
            UserError: fewer than three pictures; a file is missing, damaged or not a picture.
        """
        p_N = self.probabilities(pictures)
        return max(range(len(p_N)), key=p_N.__getitem__)
