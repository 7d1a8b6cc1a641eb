"""Message catalogues of GNU gettext (.po, .pot)."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from multihead_documents.markup import Markup
from multihead_documents.reading import Text, decode, newline
from multihead_documents.segment import Plural, Segment, State, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.po_syntax import COLUMNS, Entry, entries, plural_forms, quote
from multihead_documents.text_document import TextDocument

_CHARSET = re.compile(rb"Content-Type:[^\"\\\n]*charset=([\w.:+-]+)", re.IGNORECASE)
_NO_LANGUAGE = re.compile(r"(?<![\w-])Language:[ \t]*\\n")
_COMMENT = "# multihead: "
"""Begins a translator's comment of ours."""
_PLACEHOLDER = re.compile(r"%[^\s%]|\{")


def catalogue_text(data: bytes, path: Path, encoding: str | None = None) -> Text:
    """Decode a catalogue by the charset in its header."""
    named = _CHARSET.search(data[: 1 << 16])
    charset = named[1].decode() if named and named[1] != b"CHARSET" else None
    return decode(data, path, encoding or charset)


class Catalogue(TextDocument):
    """A PO file. Comments, references, order and obsolete entries are kept."""

    kind = "po"

    def __init__(self, path: Path, text: Text, target_language: str | None = None) -> None:
        super().__init__(path, text)
        self._entries = list(entries(text))
        self._forms: list[tuple[int, int]] = []
        header = next(
            (entry.forms[0].text for entry in self._entries if _is_header(entry) and 0 in entry.forms), ""
        )
        language = re.search(r"^Language:[ \t]*([\w@.-]+)", header, re.MULTILINE)
        self.target_language = language[1] if language else target_language
        self._plurals = plural_forms(header)
        self._newline = newline(text.text)
        lines = text.text.split(self._newline[-1])
        self._wraps = max(map(len, lines)) <= COLUMNS + 1 and any(
            line.startswith('"') and not line.rstrip().endswith('\\n"') for line in lines
        )
        for number, entry in enumerate(self._entries):
            if not _is_header(entry):
                self._add_entry(number, entry)

    def _add_entry(self, number: int, entry: Entry) -> None:
        plurals: list[Plural | None] = [None]
        if entry.plural:
            count = max(entry.forms) + 1
            plurals = list(self._plurals or (Plural(index, count) for index in range(count)))
        for plural in plurals:
            index = plural.index if plural else 0
            source = entry.text("msgid")
            if plural and not _takes_singular(plural, source, entry.text("msgid_plural")):
                source = entry.text("msgid_plural")
            if not source.strip():
                continue
            target = entry.forms[index].text.strip() if index in entry.forms else ""
            flags = self._flags(entry)
            state: State = "new" if not target else "needs-review" if "fuzzy" in flags else "translated"
            self._forms.append((number, index))
            self._add(
                Segment(
                    len(self.segments),
                    Markup.of(source.strip()),
                    self._text.place(entry.start),
                    target=Markup.of(target) if target else None,
                    state=state,
                    context=entry.text("msgctxt"),
                    note="\n".join(self._comments(entry, "#.", "# ")),
                    plural=plural,
                    flags=tuple(flag for flag in flags if flag != "fuzzy"),
                )
            )

    def _comments(self, entry: Entry, *marks: str) -> Iterator[str]:
        for span in entry.comments:
            line = self._text.text[slice(*span)].strip()
            if line.startswith(marks):
                yield line[2:].strip()

    def _flags(self, entry: Entry) -> list[str]:
        return [flag for line in self._comments(entry, "#,") for flag in line.replace(",", " ").split()]

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        changed: dict[int, dict[int, Translation]] = defaultdict(dict)
        for segment, translation in translations.items():
            number, index = self._forms[segment]
            changed[number][index] = translation
        if changed and self.target_language:
            yield from self._language_edit(self.target_language)
        for number, forms in changed.items():
            entry = self._entries[number]
            yield from self._form_edits(entry, forms)
            whole = len(forms) == (len(self._plurals or entry.forms) if entry.plural else 1)
            yield from self._comment_edits(entry, [form.comment for form in forms.values()])
            yield from self._flag_edits(entry, any(form.review for form in forms.values()), whole)

    def _language_edit(self, language: str) -> Iterator[Edit[str]]:
        """Fill the header's empty ``Language`` field."""
        for entry in self._entries:
            if _is_header(entry) and 0 in entry.forms:
                span = entry.forms[0].span
                if match := _NO_LANGUAGE.search(self._text.text, *span):
                    yield Edit(Span(*match.span()), [f"Language: {language.replace('-', '_')}\\n"])

    def _form_edits(self, entry: Entry, forms: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        source = entry.text("msgid")
        start, end = source[: len(source) - len(source.lstrip())], source[len(source.rstrip()) :]
        added: list[str] = []
        for index, form in sorted(forms.items()):
            keyword = f"msgstr[{index}] " if entry.plural else "msgstr "
            text = f"{start}{form.target.text}{end}" if form.target else ""
            value = quote(text, len(keyword), self._newline, self._wraps)
            if index in entry.forms:
                yield Edit(entry.forms[index].span, [value])
            else:
                added.append(f"{self._newline}{keyword}{value}")
        if added:
            last = max(value.span.end for value in entry.forms.values())
            yield Edit(Span(last, last), added)

    def _comment_edits(self, entry: Entry, comments: Iterable[str]) -> Iterator[Edit[str]]:
        """Replace our translator's comments of an entry, after those of others."""
        text = self._text.text
        place = min([span.start for span in entry.comments] + [entry.start])
        place += text.startswith("\ufeff", place)
        for span in entry.comments:
            if text.startswith(_COMMENT, span.start):
                yield Edit(Span(span.start, text.index(self._newline[-1], span.end) + 1), [])
            elif text[slice(*span)].strip() == "#" or text.startswith("# ", span.start):
                place = text.index(self._newline[-1], span.end) + 1
        lines = dict.fromkeys(line for comment in comments for line in comment.splitlines())
        if lines:
            yield Edit(Span(place, place), [f"{_COMMENT}{line}{self._newline}" for line in lines])

    def _flag_edits(self, entry: Entry, review: bool, whole: bool) -> Iterator[Edit[str]]:
        """Add the ``fuzzy`` flag; or remove it, with ``#|`` comments, once all plural forms are new."""
        fuzzy = "fuzzy" in self._flags(entry)
        if review == fuzzy or (fuzzy and not whole):
            return
        text = self._text.text
        lines = [span for span in entry.comments if text[slice(*span)].lstrip("\ufeff ").startswith("#,")]
        if review and lines:
            yield Edit(Span(lines[0].start, lines[0].start + 2), ["#, fuzzy,"])
        elif review:
            previous = [span.start for span in entry.comments if text.startswith("#|", span.start)]
            start = min([*previous, entry.start])
            start += text.startswith("\ufeff", start)
            yield Edit(Span(start, start), [f"#, fuzzy{self._newline}"])
        else:
            for span in entry.comments:
                line = text[slice(*span)]
                flags = [flag.strip() for flag in line[2:].split(",")]
                rest = ", ".join(flag for flag in flags if flag not in ("fuzzy", ""))
                if line.startswith("#|") or (span in lines and not rest):
                    yield Edit(Span(span.start, text.index(self._newline[-1], span.end) + 1), [])
                elif span in lines:
                    yield Edit(span, [f"#, {rest}"])


def _is_header(entry: Entry) -> bool:
    return not entry.text("msgid") and "msgctxt" not in entry.values


def _takes_singular(plural: Plural, singular: str, many: str) -> bool:
    """True for the form of 1, unless it serves numbers that the singular does not state."""
    if (
        plural.count == 1
        or (plural.numbers and 1 not in plural.numbers)
        or (not plural.numbers and plural.index)
    ):
        return False
    # A form for 1, 21 and 31 needs the number, which "one file" lacks.
    alone = all(number <= 1 for number in plural.numbers)
    return alone or len(_PLACEHOLDER.findall(singular)) >= len(_PLACEHOLDER.findall(many))
