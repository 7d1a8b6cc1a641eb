"""Fragments of a sentence: the texts between its placeholders and terms, translated one by one."""

from collections.abc import Sequence
from typing import NamedTuple

import regex

from multihead.tasks.translation.texts.protected_line import SearchedLine
from multihead.text.languages import primary
from multihead.text.particles import following_with_particle

_CORE = regex.compile(r"[\p{L}\p{N}](?:.*[\p{L}\p{N}])?[.!?…。！？]?", regex.DOTALL)
_END = regex.compile(r"[.!?…。！？]+$")
_LETTER = regex.compile(r"\p{L}")


class SentenceFragment(NamedTuple):
    """A part of a sentence to translate, or to replace by ``set_as``."""

    text: str
    set_as: str | None = None

    @property
    def core(self) -> str:
        """The text without the punctuation and white space at its ends; a full stop stays."""
        match = _CORE.search(self.text)
        return match[0] if match else self.text


def fragments(line: SearchedLine) -> list[SentenceFragment]:
    """Split a sentence at its placeholders and terms; a term is set as its target."""
    spans = [(span.start, span.end, span.text) for _, span in line.table.entries]
    spans += [(span.start, span.end, span.text) for span in line.table.left]
    inside = [(match.start, match.end, match.term.target) for match in line.matches]
    spans += [term for term in inside if not any(s < term[1] and term[0] < e for s, e, _ in spans)]
    parts, end = [], 0
    for start, stop, text in sorted(spans):
        parts += [
            SentenceFragment(line.unit.text[end:start]),
            SentenceFragment(line.unit.text[start:stop], text),
        ]
        end = stop
    parts.append(SentenceFragment(line.unit.text[end:]))
    return [
        part
        if part.set_as is not None or _LETTER.search(part.text)
        else SentenceFragment(part.text, part.text)
        for part in parts
        if part.text
    ]


def join(parts: Sequence[SentenceFragment], translations: Sequence[str], language: str) -> str:
    """Join fragments; ``translations`` has one for each fragment without ``set_as``.

    Inside the sentence, a full stop or capital that only the translation has is removed. White space is kept.
    """
    rest = iter(translations)
    result = ""
    for number, part in enumerate(parts):
        if part.set_as is not None:
            result += part.set_as
            continue
        text, core = next(rest), part.core
        before, _, after = part.text.partition(core)
        if number + 1 < len(parts) or not _END.search(core):
            text = _END.sub("", text)
        if number and text[1:2].islower() and not core[:1].isupper():
            text = text[:1].lower() + text[1:]
        if number and not before and primary(language) == "ko":
            text = following_with_particle(parts[number - 1].set_as or "", text)
        result += before + text + after
    return result
