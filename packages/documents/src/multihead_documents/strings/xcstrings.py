"""String catalogues of Xcode (.xcstrings)."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from multihead_documents.document import best_language, languages_match
from multihead_documents.errors import DocumentError
from multihead_documents.markup import Markup
from multihead_documents.reading import Text, newline
from multihead_documents.segment import Segment, State, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.strings.json_strings import Level, StringReader
from multihead_documents.strings.plural_categories import plural_categories, source_category
from multihead_documents.text_document import TextDocument

_STATES: dict[str, State] = {"translated": "translated", "needs_review": "needs-review"}
_SPACE = " \t\r\n"

Steps = tuple[str, ...]
"""Keys from a localization to a string unit: ("variations", "plural", "one")."""


class _Message(NamedTuple):
    """An entry of the catalogue, and its text in the source language where that is not the key."""

    key: str
    entry: Level
    source: Level | None


class _Unit(NamedTuple):
    """A string to be written: its message, its path, its source, and the string unit if it is there."""

    message: _Message
    path: Steps
    text: str
    level: Level | None


class StringCatalogue(TextDocument):
    """A string catalogue. String units of the target language are replaced or added.

    A source with variations (by number or device) is translated with the same ones, unless the target has
    its own. Messages that are stale, or not to be translated, are kept.
    """

    kind = "xcstrings"

    def __init__(self, path: Path, text: Text, target_language: str | None = None) -> None:
        super().__init__(path, text)
        reader = StringReader(text)
        for _ in reader.values():
            pass
        root = reader.top.inner.get("")
        strings = _object(root, "strings") if root else None
        self.source_language = root.strings.get("sourceLanguage") if root else None
        if strings is None or not self.source_language:
            remedy = "A string catalogue of Xcode has sourceLanguage and strings; other JSON ends in .json."
            raise DocumentError("no string catalogue", place=text.place(0), remedy=remedy)
        languages: dict[str, None] = {}
        for entry in strings.inner.values():
            localizations = _object(entry, "localizations")
            languages.update(dict.fromkeys(localizations.inner if localizations else ()))
        others = [code for code in languages if not languages_match(self.source_language, code)]
        if target_language:
            self.target_language = best_language(target_language, others) or target_language.replace("_", "-")
            if languages_match(self.source_language, target_language):
                fact = f"a catalogue in {self.source_language}, the language to translate to"
                raise DocumentError(fact, place=text.place(0), remedy="Name another target language.")
        elif len(others) == 1:
            self.target_language = others[0]
        self._newline = newline(text.text)
        self._colon = " : " if '" : ' in text.text[:1000] else ": "
        self._units: list[_Unit] = []
        for key, entry in strings.inner.items():
            if entry.scalars.get("shouldTranslate") != "false":
                self._add_message(key, entry)

    def _add_message(self, key: str, entry: Level) -> None:
        localizations = _object(entry, "localizations")
        is_kept = entry.strings.get("extractionState") == "stale" or not entry.is_object
        if is_kept or (localizations is None and "localizations" in entry.keys):
            return
        if localizations and (self.target_language or "") in localizations.keys - localizations.inner.keys():
            return  # no object, which a string unit could be added to
        source = localizations.inner.get(self.source_language or "") if localizations else None
        target = localizations.inner.get(self.target_language or "") if localizations else None
        texts = {path: unit.strings["value"] for path, unit in _units(source)}
        message = _Message(key, entry, source if texts else None)
        texts = texts or {(): key}
        targets = dict(_units(target))
        missing = () if targets else tuple(self._missing(texts))
        groups = _groups(texts)
        for path in sorted((*texts, *missing)) if missing else targets or texts:
            near = groups.get(path[:-1]) or next(iter(groups.values()))
            case = source_category("".join(path[-1:]), near, self.target_language)
            self._add_unit(key, _Unit(message, path, near[case], targets.get(path)))

    def _missing(self, texts: Collection[Steps]) -> Iterator[Steps]:
        """Yield the plural variations of the target language beside those of the source."""
        categories = plural_categories(self.target_language) if self.target_language else ()
        for path in texts:
            if path[-2:] == ("plural", "other"):
                yield from (new for name in categories if (new := (*path[:-1], name)) not in texts)

    def _add_unit(self, key: str, unit: _Unit) -> None:
        if not unit.text.strip():
            return
        target = unit.level.strings["value"].strip() if unit.level else ""
        # A new unit may hold a copy of the source.
        state = _STATES.get(unit.level.strings.get("state", "translated"), "new") if unit.level else "new"
        self._units.append(unit)
        self._add(
            Segment(
                len(self.segments),
                Markup.of(unit.text.strip()),
                self._text.place(unit.message.entry.span.start),
                target=Markup.of(target) if target and state != "new" else None,
                state=state if target else "new",
                key=key,
                context=".".join(step for step in unit.path if step != "variations"),
                note=unit.message.entry.strings.get("comment", ""),
            )
        )

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        added: dict[int, dict[Steps, Translation]] = defaultdict(dict)
        for number, translation in translations.items():
            unit = self._units[number]
            if unit.level:
                yield from self._changes(unit.level, unit.text, translation)
            else:
                added[unit.message.entry.span.start][unit.path] = translation
        messages = {unit.message.entry.span.start: unit.message for unit in self._units}
        for start, insertion in added.items():
            yield self._localize(messages[start], insertion)

    def _changes(self, unit: Level, source: str, translation: Translation | None) -> Iterator[Edit[str]]:
        """Yield the edits that give a string unit its translation; None: that leave it new."""
        state = "new" if not translation else "needs_review" if translation.review else "translated"
        if "state" in unit.spans:
            yield Edit(unit.spans["state"], [_quote(state)])
        else:
            yield self._insert(unit, "state", _Raw(_quote(state)))
        if translation:
            yield Edit(unit.spans["value"], [_quote(_space(source, translation))])

    def _localize(self, message: _Message, chosen: Mapping[Steps, Translation]) -> Edit[str]:
        """Return the edit that adds the target language to a message, in the form of the source's."""
        language = self.target_language
        if not language:
            remedy = "Say which language the translations are in."
            raise DocumentError("no target language", place=str(self.path), remedy=remedy)
        localizations = _object(message.entry, "localizations")
        if message.source and localizations:
            new: object = _Raw(self._translated_copy(message.source, chosen))
        else:
            ((_, translation),) = chosen.items()
            state = "needs_review" if translation.review else "translated"
            value = _space(message.key, translation)
            new = {"stringUnit": {"state": state, "value": value}}
        if localizations is None:
            return self._insert(message.entry, "localizations", {language: new})
        if language in localizations.inner:  # without a string unit
            return self._insert(localizations, language, new, localizations.inner[language].span)
        return self._insert(localizations, language, new)

    def _translated_copy(self, source: Level, chosen: Mapping[Steps, Translation]) -> str:
        """Return the source's localization with translations, and further plural variations of theirs."""
        units = dict(_units(source))
        edits: list[Edit[str]] = []
        for path, unit in units.items():
            edits += self._changes(unit, unit.strings["value"], chosen.get(path))
        for path, translation in chosen.items():
            if path not in units:
                unit = units[(*path[:-1], "other")]
                other = unit.outer
                assert other
                assert other.outer
                copy = self._copy(other.span, self._changes(unit, unit.strings["value"], translation))
                edits.append(self._insert(other.outer, path[-1], _Raw(copy)))
        return self._copy(source.span, edits)

    def _copy(self, span: Span, edits: Iterable[Edit[str]]) -> str:
        """Return a part of the file with edits, whose parts are texts."""
        pieces: list[str] = []
        place = span.start
        for changed, parts in sorted(edits, key=lambda edit: edit.span):
            pieces += [self._text.text[place : changed.start], *map(str, parts)]
            place = changed.end
        return "".join([*pieces, self._text.text[place : span.end]])

    def _insert(self, level: Level, key: str, value: object, old: Span | None = None) -> Edit[str]:
        """Return the edit that adds a member to an object, in the order of keys, or replaces its value."""
        text = self._text.text
        start, end = level.span
        if not level.offsets:
            line = text[text.rfind("\n", 0, start) + 1 : start]
            outer = self._newline + line[: len(line) - len(line.lstrip(_SPACE))]
            lead = f"{outer}  "
            return Edit(level.span, ["{", lead, self._member(key, value, lead), outer, "}"])
        lead = text[start + 1 : min(level.offsets.values())]
        member = self._member(key, value, lead)
        if old:
            return Edit(old, [member[len(self._member(key, _Raw(""), lead)) :]])
        after = next((place for name, place in level.offsets.items() if name > key), None)
        if after is not None:
            return Edit(Span(after, after), [member, ",", lead])
        last = start + len(text[start : end - 1].rstrip(_SPACE))
        return Edit(Span(last, last), [",", lead, member])

    def _member(self, key: str, value: object, lead: str) -> str:
        """Return a member of an object as Xcode lays it out, on a line of its own if the first one is."""
        if isinstance(value, _Raw):
            return f"{_quote(key)}{self._colon}{value}"
        if not isinstance(value, dict):
            return f"{_quote(key)}{self._colon}{_quote(str(value))}"
        deeper = f"{lead}  " if "\n" in lead else lead
        members = f",{deeper}".join(self._member(name, inner, deeper) for name, inner in value.items())
        return f"{_quote(key)}{self._colon}{{{deeper}{members}{lead}}}"


class _Raw(str):
    """JSON that is written as it is."""


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _space(source: str, translation: Translation) -> str:
    """Return a translation with the white space around its source."""
    start = source[: len(source) - len(source.lstrip())]
    return f"{start}{translation.target.text}{source[len(source.rstrip()) :]}"


def _object(level: Level, key: str) -> Level | None:
    member = level.inner.get(key)
    return member if member and member.is_object else None


def _units(level: Level | None) -> Iterator[tuple[Steps, Level]]:
    """Yield the string units of a localization: the one of its own, those of variations and substitutions."""
    waiting: list[tuple[Steps, Level]] = [((), level)] if level else []
    while waiting:
        path, level = waiting.pop()
        for key, inner in reversed(level.inner.items()):
            if key != "stringUnit":
                waiting.append(((*path, key), inner))
        unit = _object(level, "stringUnit")
        if unit and "value" in unit.spans and ("state" in unit.spans or "state" not in unit.keys):
            yield path, unit


def _groups(texts: Mapping[Steps, str]) -> dict[Steps, dict[str, str]]:
    """Return the texts by the variation that they belong to, and their cases in it."""
    groups: dict[Steps, dict[str, str]] = defaultdict(dict)
    for path, text in texts.items():
        groups[path[:-1]]["".join(path[-1:])] = text
    return groups
