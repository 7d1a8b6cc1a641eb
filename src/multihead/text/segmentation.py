"""Sentences of a text, and the white space between them.

A candidate is a sentence terminator of Unicode (UAX 29: ``Sentence_Break`` STerm or ATerm), an ellipsis or an
emoji, with the quotation marks and brackets that close after it. The rules of the language decide whether a
sentence ends there (``text.sentence_rules``). A line feed always ends one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import regex

from multihead.text.languages import primary
from multihead.text.sentence_rules import NEAR, Candidate, ends

_UNSPACED = ("zh", "ja", "yue", "wuu", "th", "lo", "km", "my", "bo")
"""Languages written without spaces between sentences."""

_EMOJI = (
    r"(?:\p{Emoji_Presentation}[\p{Emoji_Presentation}\p{Emoji_Modifier}\u200d\ufe0f]*+|[:;]-?[()D](?!\w))"
)
_CLOSING = rf"(?:[\p{{Pe}}\p{{Pf}}\"'«*_]|\[\d{{1,3}}\]|[⁰¹²³⁴-⁹]|[ ]?{_EMOJI})"
_MARK = r"[\p{Sentence_Break=STerm}\p{Sentence_Break=ATerm}…‥♪]++"
_SMILE = r"(?<=[요다까죠네지어아야음][ ]?)(?:\^\^|ㅋㅋ++|ㅎㅎ++|ㅠㅠ++)"
"""Korean marks of mood after the ending of a sentence."""
_CANDIDATE = regex.compile(
    rf"(?P<mark>{_MARK})(?P<closing>{_CLOSING}*+)(?P<gap>\s*+)"
    rf"|(?P<mark>{_EMOJI}|{_SMILE})(?P<closing>)(?P<gap>\s++)"
)
# Closing quotation marks which a space sets apart, or which in other languages open.
_FRENCH_CLOSING = regex.compile(r"[ \u00a0\u202f]»(?P<gap>\s*+)")
_GERMAN_CLOSING = regex.compile(r"[“‘](?P<gap>\s*+)")


@dataclass(frozen=True)
class Segments:
    """The sentences of a text and the white space around them: ``str()`` of it is the text.

    Attributes:
        sentences: the sentences, without white space around them; none is empty.
        spaces: the white space before, between and after sentences: one more than there are sentences.
    """

    sentences: tuple[str, ...]
    spaces: tuple[str, ...]

    def __str__(self) -> str:
        pairs = zip(self.sentences, self.spaces[1:], strict=True)
        return self.spaces[0] + "".join(part for pair in pairs for part in pair)


def adapt(space: str, language: str) -> str:
    """Return the white space between two sentences as a language has it; unchanged for the language ""."""
    code = primary(language)
    if code in _UNSPACED and space in (" ", "\u3000"):
        return ""
    return " " if code and code not in _UNSPACED and not space else space


def split(text: str, language: str = "") -> Segments:
    """Split a text into sentences; a line is one or more. ``str(split(text)) == text`` for any text.

    Args:
        text: of any length and script.
        language: its code, for ordinals and reporting clauses; abbreviations are those of all languages.
    """
    sentences: list[str] = []
    spaces = [""]
    start = 0
    for end in [*_boundaries(text, primary(language)), len(text)]:
        part = text[start:end]
        sentence = part.strip()
        lead = len(part) - len(part.lstrip())
        spaces[-1] += part[:lead]
        if sentence:
            sentences.append(sentence)
            spaces.append(part[lead + len(sentence) :])
        start = end
    return Segments(tuple(sentences), tuple(spaces))


def _boundaries(text: str, language: str) -> Iterator[int]:
    """Yield the places inside a text where a sentence or a line starts."""
    start = 0
    while (feed := text.find("\n", start)) >= 0:
        yield from _within(text[start:feed], start, language)
        start = feed + 1
        yield start
    yield from _within(text[start:], start, language)


def _within(line: str, offset: int, language: str) -> Iterator[int]:
    caseless = not any(map(str.isupper, line))
    closing_after = _FRENCH_CLOSING if language == "fr" else _GERMAN_CLOSING if "„" in line else None
    start = end = 0
    while match := _CANDIDATE.search(line, end):
        mark, closing, end = match["mark"], match["closing"], match.end()
        gap = match["gap"]
        if closing_after and (more := closing_after.match(line, end - len(gap))):
            closing, gap, end = closing + more[0].rstrip(), more["gap"], more.end()
        before = line[max(start, match.start() - NEAR) : match.start()]
        after = line[end : end + NEAR]
        if after and ends(Candidate(before, mark, closing, gap, after, caseless), language):
            start = end
            yield offset + end
