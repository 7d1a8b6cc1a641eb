"""Web pages (.html, .htm)."""

import html
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from multihead_documents.document import languages_match
from multihead_documents.inline import Inline, Item, pair_tags, parts, trim
from multihead_documents.markup import Kind, Markup, Tag
from multihead_documents.reading import Text, decode
from multihead_documents.segment import Segment, Translation
from multihead_documents.splice import Edit, Span
from multihead_documents.text_document import TextDocument
from multihead_documents.web.elements import (
    ATTRIBUTES,
    BLOCKS,
    BUTTONS,
    CHARSETS,
    ELEMENT_ATTRIBUTES,
    META,
    UNTRANSLATED,
    VOID,
)
from multihead_documents.web.nesting import SkippedElement
from multihead_documents.web.templates import Templates, words
from multihead_documents.web.tokens import Attribute, Token, html_tokens
from multihead_documents.writing import is_right_to_left

_CHARSET = re.compile(rb"""<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_XML = re.compile(rb"""\A(?:\xef\xbb\xbf)?<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)""")
_PART = re.compile(r"&(?:#\w{1,32}|\w{1,40});?|&|[^&\t\n\f\r ]+(?: [^&\t\n\f\r ]+)*|[\t\n\f\r ]+")
_LOOSE = frozenset(("", "br", "wbr", "img", "input"))
"""Tags that are left out of a segment at its ends; "" is a comment."""
_PAGES = frozenset(("pagebreak", "page-list", "doc-pagebreak", "doc-pagelist"))
"""Types and roles of elements in e-books that hold the numbers of printed pages."""
_UNNAMED = re.compile("[\x80-\x9f\ufdd0-\ufdef\ufffe\uffff]")
"""Characters without a numeric reference: &#128; is a euro sign."""
_REFERENCE = re.compile(r"&#?\w{1,40};|&#\w{1,40}|&\w{1,40}(?![=\w;])")


def page_text(data: bytes, path: Path, encoding: str | None = None) -> Text:
    """Decode a page in the encoding that it declares."""
    named = _CHARSET.search(data[:4096]) or _XML.search(data[:4096])
    charset = named[1].decode().lower() if named else None
    return decode(data, path, encoding or CHARSETS.get(charset or "", charset))


class _Value(NamedTuple):
    """A translatable attribute value."""

    span: Span
    quote: str


class Page(TextDocument):
    """An HTML page. Its segments are paragraphs and human-readable attributes.

    Code, also that of templates, scripts, styles, preformatted text, pictures in SVG and whatever says
    ``translate="no"`` or ``class="notranslate"`` stay as they are.
    """

    kind = "html"
    unencodable = "xmlcharrefreplace"
    void = VOID
    """Elements without an end tag."""
    untranslated = UNTRANSLATED
    """Elements whose content stays as it is."""

    def __init__(
        self, path: Path, text: Text, source_language: str | None = None, target_language: str | None = None
    ) -> None:
        super().__init__(path, text)
        self._languages = source_language, target_language
        self._named: list[Attribute] = []
        """Attributes that name the language which is translated."""
        self._direction: Edit[str] | None = None
        """Turns the page from right to left, or back."""
        self._contents: list[Inline | _Value] = []
        self._items: list[Item] = []
        self._skipped: SkippedElement | None = None
        """The untranslated element that is open."""
        self._templates = Templates(text.text)
        for token in self._tokens(self._templates.mask_code(text.text)):
            if self._skipped:
                self._skip(token)
            else:
                self._take(token)
        self._flush()

    def _tokens(self, text: str) -> Iterator[Token]:
        return html_tokens(text)

    def _take(self, token: Token) -> None:
        """Take a token outside of untranslated elements."""
        if token.kind == "text":
            self._take_text(token.span)
            return
        if token.kind in ("start", "end", "empty"):
            if token.name in BLOCKS:
                self._flush()
            if token.kind != "end":
                self._take_attributes(token)
            if token.kind == "start" and token.name not in self.void and self._is_untranslated(token):
                self._skipped = SkippedElement(token)
                return
        if token.name not in BLOCKS:
            self._take_tag(token)

    def _take_text(self, span: Span) -> None:
        place = span.start
        for code in self._templates.within(span):
            self._items += _texts(self._text.text, Span(place, code.span.start))
            raw, place = self._text.text[slice(*code.span)], code.span.end
            if code.kind == "statement":
                self._flush()
            else:
                self._items.append(
                    Item(raw if code.kind == "placeholder" else Tag("", "alone", "", raw), code.span)
                )
        self._items += _texts(self._text.text, Span(place, span.end))

    def _take_tag(self, token: Token) -> None:
        raw = self._text.text[slice(*token.span)]
        kind: Kind = "alone"
        if token.kind in ("start", "end") and token.name not in self.void:
            kind = "open" if token.kind == "start" else "close"
        if token.name == "br" and kind != "close":
            last = next((item for item in reversed(self._items) if item.piece != " "), None)
            if last and isinstance(last.piece, Tag) and last.piece.name == "br":
                self._flush()  # an empty line is the end of a paragraph
        before = self._items[-1].piece if self._items else ""
        # Two links without a space between them, as in a menu, are two words.
        beside = isinstance(before, Tag) and (before.name, before.kind) == ("a", "close")
        text = " " if token.name == "br" or (beside and (token.name, kind) == ("a", "open")) else ""
        tag = Tag("", kind, token.name, raw, text)
        self._items.append(Item(tag, token.span))

    def _skip(self, token: Token) -> None:
        """Take a token inside an untranslated element; an inline one becomes a single tag."""
        assert self._skipped
        end = self._skipped.end_with(token)
        if end is None:
            return
        skipped, self._skipped = self._skipped.start, None
        if skipped.name not in BLOCKS:
            span = Span(skipped.span.start, end)
            tag = Tag("", "alone", skipped.name, self._text.text[slice(*span)])
            self._items.append(Item(tag, span))
        if end == token.span.start:
            self._take(token)

    def _take_attributes(self, token: Token) -> None:
        for attribute in token.attributes:
            if attribute.name in ("lang", "xml:lang"):
                self._take_language(token, attribute)
            if not _is_shown(token, attribute, self._text.text):
                continue
            if any(code.kind != "placeholder" for code in self._templates.within(attribute.value)):
                continue
            value = _attribute_text(self._text.text[slice(*attribute.value)])
            if words(value).strip() and not self._is_untranslated(token):
                self._contents.append(_Value(attribute.value, attribute.quote))
                place = self._text.place(attribute.value.start)
                source = Markup.of(value.strip())
                self._add(
                    Segment(len(self.segments), source, place, context=f"{token.name} {attribute.name}")
                )

    def _take_language(self, token: Token, attribute: Attribute) -> None:
        named = self._text.text[slice(*attribute.value)].strip()
        if token.name == "html" and self.source_language is None:
            self.source_language = named or None
        source = self._languages[0] or self.source_language
        if named and source and languages_match(source, named):
            self._named.append(attribute)
            if token.name == "html":
                self._turn(token, attribute, source)

    def _turn(self, token: Token, language: Attribute, source: str) -> None:
        """Note where the page names its direction, or could, if the translation has the other one."""
        target = self._languages[1]
        if not target or is_right_to_left(source) == is_right_to_left(target):
            return
        direction = "rtl" if is_right_to_left(target) else "ltr"
        named = next((attribute for attribute in token.attributes if attribute.name == "dir"), None)
        if named is not None and self._text.text[slice(*named.value)].strip().lower() in ("ltr", "rtl"):
            self._direction = Edit(named.value, [direction])
        elif named is None:
            end = language.value.end + len(language.quote)
            self._direction = Edit(Span(end, end), [f' dir="{direction}"'])

    def _is_untranslated(self, token: Token) -> bool:
        """Return True for an element whose content and attributes are not translated."""
        return token.name in self.untranslated or _says_untranslated(token, self._text.text)

    def _is_loose(self, tag: Tag) -> bool:
        """Return True for a single tag that is left out of a segment at its ends."""
        return tag.name in _LOOSE

    def _flush(self) -> None:
        """End a paragraph."""
        items, self._items = self._items, []
        if not items:
            return
        place = self._text.place(items[0].span.start)
        inline = trim(pair_tags(items), place, loose=self._is_loose)
        if inline and words(inline.markup.text).strip():
            self._contents.append(inline)
            first = next(item for item in inline.core if isinstance(item.piece, str))
            place = self._text.place(first.span.start)
            self._add(Segment(len(self.segments), inline.markup, place))

    def _edits(self, translations: Mapping[int, Translation]) -> Iterator[Edit[str]]:
        target = self._languages[1]
        if translations and target:
            yield from (Edit(attribute.value, [target]) for attribute in self._named)
            if self._direction:
                yield self._direction
        for number, translation in translations.items():
            content = self._contents[number]
            if isinstance(content, Inline):
                yield Edit(content.span, parts(translation.target.collapsed(), content.tags, self._escape))
                continue
            text = self._escape(translation.target.text, content.quote or '"')
            yield Edit(content.span, [text if content.quote else f'"{text}"'])

    def _escape(self, text: str, quote: str = "") -> str:
        if not self._text.encoding.lower().startswith("utf"):
            text = _UNNAMED.sub("\ufffd", text)
        return self._templates.escape(text, quote)


def _texts(text: str, span: Span) -> Iterator[Item]:
    """Yield words, character references and white space, collapsed to single spaces."""
    for match in _PART.finditer(text, span.start, span.end):
        raw = match[0]
        piece = html.unescape(raw) if raw[0] == "&" else " " if raw[0] in "\t\n\f\r " else raw
        yield Item(piece, Span(*match.span()))


def _attribute_text(raw: str) -> str:
    """Decode an attribute value, in which ``&copy=`` is not a reference (``?a=1&copy=2``)."""
    return _REFERENCE.sub(lambda found: html.unescape(found[0]), raw)


def _says_untranslated(token: Token, text: str) -> bool:
    """True for an element with attributes that exclude it from translation."""
    says, classes = token.attribute("translate"), token.attribute("class")
    for purpose in (token.attribute("epub:type"), token.attribute("role")):
        if purpose and not _PAGES.isdisjoint(text[slice(*purpose.value)].split()):
            return True
    if says and text[slice(*says.value)].strip().lower() == "no":
        return True
    return classes is not None and "notranslate" in text[slice(*classes.value)].split()


def _is_shown(token: Token, attribute: Attribute, text: str) -> bool:
    if attribute is not token.attribute(attribute.name):
        return False  # only the first one of a name counts
    if attribute.name in ATTRIBUTES or ELEMENT_ATTRIBUTES.get(token.name) == attribute.name:
        return True

    def value(name: str) -> str:
        attribute = token.attribute(name)
        return text[slice(*attribute.value)].strip().lower() if attribute else ""

    if token.name == "input" and attribute.name == "value":
        return value("type") in BUTTONS
    return (
        token.name == "meta"
        and attribute.name == "content"
        and bool(META & {value("name"), value("property")})
    )
