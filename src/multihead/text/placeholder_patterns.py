"""Finds the parts of a text that must survive translation: variables, markup, addresses, numbers, names.

Time is linear in the length of the text: repetitions are possessive or bounded, and a pattern starts only
where its run of characters starts. Of overlapping spans the first wins; of several kinds at one place, the
kind listed first, but for identifiers, which win if they are longer.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from heapq import merge
from typing import Literal, NamedTuple, get_args

import regex

Kind = Literal[
    "icu",
    "variable",
    "printf",
    "tag",
    "entity",
    "url",
    "email",
    "path",
    "number",
    "integer",
    "identifier",
    "unknown",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
DEFAULT = frozenset(KINDS) - {"integer", "identifier", "unknown"}
"""All kinds but whole numbers of one or two digits, which many languages spell out or inflect, and
identifiers: only the translations of some corpora keep them (``text.changed_kinds``). Unknown words depend
on a vocabulary (``text.unknown_words``)."""
CARRIED: frozenset[Kind] = frozenset(KINDS) - {"tag"}
"""Kinds that search carries through a sentence as symbols; tags are placed by alignment instead."""
IDENTIFIERS: Mapping[str, "regex.Pattern[str]"] = {
    "options": regex.compile("^-"),
    "digits": regex.compile(r"\d"),
    "inner capitals": regex.compile("[a-z][A-Z]"),
    "signs": regex.compile(r"[_.:@~+]"),
    "joined names": regex.compile("^[A-Z][A-Za-z]*+(?:[/-][A-Z][A-Za-z]*+)++$"),
    "slashes": regex.compile("/"),
    "hyphens": regex.compile("-"),
    "capitals": regex.compile(""),
}
"""Forms of identifiers: --help, gtk3, libX, foo_bar, TCP/IP, tar/cpio, apt-get, ASCII; the first that fits
counts."""


class PlaceholderSpan(NamedTuple):
    """A part of a text, ``text[start:end]``."""

    start: int
    end: int
    kind: Kind
    text: str

    @property
    def shape(self) -> str:
        """The kind, of some with their form: "number €0.0,0" for €1.250,00, "identifier digits" for gtk3."""
        if self.kind == "number":
            return f"number {_RUN.sub('0', self.text)}"
        if self.kind == "identifier":
            return "identifier " + next(form for form in IDENTIFIERS if IDENTIFIERS[form].search(self.text))
        return self.kind


WORD = "word "
"""Prefix of a translated word among kinds and shapes."""
_JOINT = regex.compile("[/-]")
_CODE = regex.compile(r"\d|[_.:@~+]|[a-z][A-Z]")
_RUN = regex.compile(r"\d+")
_LATIN = r"A-Za-zÀ-ɏ"
_NO_WORD = rf"(?![{_LATIN}\d_])"
_BARE = "disabled|checked|required|hidden|selected|async|defer|controls|readonly|multiple|autofocus|open|loop"
"""Attributes without a value."""
_ATTRIBUTE = rf"""\s++(?:[\w:@.-]++\s*+=\s*+(?:"[^"<]*+"|'[^'<]*+'|[^\s"'<>=`]++)|(?:{_BARE})(?![\w=-]))"""
_FIELD = r"(?:\d{1,9}|[^\W\d]\w{0,60}+(?:[.-]\w{1,60}+|\[[^\[\]{}\n]{1,60}+\]){0,9}+)"
_URL = (
    r"(?:[!#$%&'()*+,\-./:;=?@\[\]_~0-9A-Za-z\u00a1-\u00aa\u00ac-\u00ba\u00bc-\u10ff\u1e00-\u1fff]|"
    r"\{[\w.]{0,40}+\})"
)
"""A character of a URL (from scripts with spaces between words), or a variable in it."""
_TOP = "com|org|net|io|dev|app|edu|gov|info|biz|eu|uk|de|fr|at|ch|es|it|nl|pl|kr|jp|cn|us|ca|au"
_NAME = r"[A-Za-z0-9_@+\-À-ɏ.]"
_EXTENSION = (
    "txt|md|rst|pdf|docx?|xlsx?|pptx?|od[tsp]|csv|tsv|jsonl?|xml|ya?ml|toml|ini|cfg|conf|log|html?|css|jsx?|tsx?|py|"
    "java|cpp|hpp|[ch]|rs|go|rb|php|sh|bat|exe|dll|so|zip|tar|gz|tgz|bz2|xz|7z|png|jpe?g|gif|svg|webp|mp[34]|wav|avi|"
    "mov|sql|db|pot?|xliff?|xlf|tmx|srt|vtt|properties"
)
_SPACE = r"[ \u00a0\u2009\u202f]"
_SIGN = r"%(?!%|\d{1,2}\$|[sdifu@](?![A-Za-z]))|‰|°[CF]?|℃|℉|\p{Sc}"
_UNIT = (
    r"(?:USD|EUR|GBP|JPY|KRW|CHF|CNY|[kcmdµμn]?m[²³]?(?:/s[²]?|/h)?|mph|kph|[kmµμ]?g|[kMGTP](?:i?B|bit|bps)(?:/s)?|"
    r"[kMG]?Hz|[kMG]Wh?|[mk]V|mA|kN|[hkM]?Pa|bar|[kM]J|k?cal|[mcdh]?l|ms|s|min|h|ha|px|pt|r?em|[dp]pi|fps|dB|lbs?|"
    rf"oz|ft|yd|mol|rpm){_NO_WORD}(?!-[{_LATIN}])"
)
_LONE = rf"[VAWKNJBLTt]{_NO_WORD}"
"""Units of one letter that are words after a space."""
_DIGITS = rf"\d++(?:[.,:/'’–\-]\d++)*+(?:{_SPACE}\d{{3}}(?!\d)(?:[.,]\d++)?){{0,4}}+"
_NUMBER = (
    rf"\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d{{1,9}})?)?(?:Z|[+-]\d\d:?\d\d)?{_NO_WORD}"
    rf"|\+\d{{1,3}}+(?:[ /-]?(?:\(\d{{1,5}}+\)|\d{{2,9}}+)){{1,5}}+{_NO_WORD}"
    rf"|(?:(?:\p{{Sc}}|US\$){_SPACE}?)?[-+−±]?(?:\p{{Sc}})?v?{_DIGITS}(?:[eE][-+]?\d++)?[¼½¾⅓⅔⅛]?"
    rf"(?:-?(?:alpha|beta|rc)\d{{0,3}})?(?:{_SPACE}?(?:{_SIGN}|{_UNIT})|{_LONE}|{_NO_WORD})|[¼½¾⅓⅔⅛]"
)

_SIGNS = r"_/.:@~+\-"
_PART = rf"[A-Za-z\d{_SIGNS}]*?"

_PATTERNS: Mapping[Kind, str] = {
    "tag": rf"</?[A-Za-z][\w:.-]*+(?:{_ATTRIBUTE})*+\s*+/?>|</?\d{{1,3}}/?>"
    r"|<!--(?:[^-<]++|-(?!->)|<(?!!--))*+-->|<\?(?!=)[^<>?]*+\?>",
    "variable": r"\{\{\{?[^{}\n]{1,200}+\}\}\}?|<%=[^%<>\n]{1,200}+%>|<\?=[^?<>\n]{1,200}+\?>"
    r"|\{%[^%{}\n]{1,200}+%\}|[$#%]\{[^{}\n]{1,200}+\}"
    r"|\{[#.][^{}\n]{1,200}+\}"
    rf"|\{{(?:\s{{0,3}}{_FIELD}\s{{0,3}})?(?:![rsa])?(?::(?![\s\"'])(?:[^{{}}\n]|\{{\w{{0,60}}\}}){{1,99}}+)?\}}"
    r"|(?<![A-Za-z0-9_])\$(?:t\([^()\n]{1,200}+\)|[A-Za-z_@][A-Za-z0-9_@]{0,60}+\$(?![A-Za-z0-9_]))"
    r"|(?<![\w$])\$[a-z_]\w{0,60}+(?![\w$])",
    "printf": r"%(?:\d{1,2}\$)?#@\w{1,60}@|%arg(?!\w)"  # variables of Apple's plural rules
    r"|%%|%@|%(?:\d{1,2}\$)?[-+#0]{0,4}+\d{0,3}<PRI\w{1,12}>|%(?:\(\w{1,60}\)|\d{1,2}\$)?[-+#0]{0,4}+(?:\d{1,3}|\*)?(?:\.(?:\d{1,3}|\*))?"
    r"(?:hh?|ll?|[Lqjzt])?(?:[disfu@](?![A-Za-z]{3})|[oxXeEFgGaAcCSpnb](?![A-Za-z]))(?![\d_])|%L?[1-9]\d?(?![\d$.\w])",
    "url": rf"(?<![{_LATIN}\d_])(?:[A-Za-z][A-Za-z0-9+.-]{{1,20}}://|www\.)(?=[\w{{\[]){_URL}++|mailto:{_URL}++"
    rf"|(?<![\w@.-])(?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}(?:{_TOP}){_NO_WORD}(?![.-]?\w)(?:/{_URL}*+)?",
    "email": r"(?<![A-Za-z0-9._%+-])[A-Za-z0-9._%+-]{1,64}+@(?:[A-Za-z0-9-]{1,63}\.){1,8}[A-Za-z]{2,24}",
    "path": rf"(?<![\w\\])[A-Za-z]:\\[^\s<>:\"|?*]*+|(?<![\w\\])\\\\[\w.-]{{1,99}}\\[^\s<>:\"|?*]*+"
    rf"|(?<![\w/.<~:-])(?:~|\.\.?)?/(?=[^\s/]*[A-Za-z])(?:{_NAME}++/?)++"
    rf"|(?<![{_LATIN}\d_./-])(?:{_NAME}{{1,64}}/){{0,20}}{_NAME}{{1,64}}\.(?:{_EXTENSION}){_NO_WORD}",
    "entity": r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#\d{1,7}|#[xX][0-9A-Fa-f]{1,6});",
    "number": rf"(?<![{_LATIN}\d_.,])(?<!\d[:/'’–−+±-])(?:{_NUMBER})",
}
_ANY = regex.compile("|".join(f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS.items()))
_IDENTIFIER = regex.compile(
    rf"(?P<identifier>(?<![{_LATIN}\d{_SIGNS}])(?:--?(?=[A-Za-z])|(?={_PART}[A-Za-z])"
    rf"(?={_PART}(?:[a-z][A-Z]|[A-Za-z]\d|\d[A-Za-z]|[A-Za-z\d][{_SIGNS}]{{1,2}}[A-Za-z\d]|[A-Z][A-Z])))"
    rf"[A-Za-z\d]++(?:[{_SIGNS}]{{1,2}}[A-Za-z\d]++)*+(?:\+\+)?{_NO_WORD})"
)
_ANYTHING = regex.compile(r"[\d<{$%@/\\&¼½¾⅓⅔⅛~+#_]|[.:-]\w|[A-Z][A-Z]|[a-z][A-Z]")
"""Every span has one of these; most sentences of plain prose have none."""
_ICU = regex.compile(
    r"\{\s{0,9}[\w.]{1,60}\s{0,9},\s{0,9}"
    r"(?:plural|select|selectordinal|number|date|time|spellout|ordinal|duration|choice)(?!\w)"
)
_TRAILING = ".,;:!?'*_"


def find(
    text: str,
    kinds: Collection[Kind] = DEFAULT,
    without: Collection[str] = (),
    unknown: Sequence[PlaceholderSpan] = (),
) -> list[PlaceholderSpan]:
    """Return the spans of a text that must survive, in order; they do not overlap.

    Args:
        text: plain text.
        kinds: the kinds to return.
        without: kinds, shapes (``PlaceholderSpan.shape``) and, after ``WORD``, translated words to leave out.
        unknown: further spans, of ``text.unknown_words``.
    """
    if not _ANYTHING.search(text):
        return list(unknown)
    spans = [span for span in _spans(text) if span.kind in kinds and not _left_out(span, without)]
    kept: list[PlaceholderSpan] = []
    if "identifier" in kinds:
        identifiers = (_span(match) for match in _IDENTIFIER.finditer(text))
        kept = [span for span in identifiers if not _left_out(span, without)]
    result: list[PlaceholderSpan] = []
    for span in merge(spans, kept, unknown, key=lambda span: (span.start, -span.end)):
        if not result or span.start >= result[-1].end:
            result.append(span)
    return result


def _left_out(span: PlaceholderSpan, without: Collection[str]) -> bool:
    return bool(without) and (
        span.kind in without
        or span.shape in without
        or (span.kind == "identifier" and _is_translated(span.text, without))
    )


def _is_translated(identifier: str, without: Collection[str]) -> bool:
    """Return whether the corpus translates an identifier, or its words.

    One translated word is enough in joined words ("pure-Python"), but not in what has digits or signs
    ("xfce4-panel"): there all must be ("18-channel").
    """
    words = [word for word in _JOINT.split(identifier) if not word.isdigit()]
    known = [WORD + word in without or WORD + word.lower() in without for word in words]
    some = all if _CODE.search(identifier) else any
    return WORD + identifier in without or some(known)


def _spans(text: str) -> Iterator[PlaceholderSpan]:
    """Yield the spans of all kinds but identifiers."""
    blocks = iter(sorted(_icu_blocks(text).items()))
    block = next(blocks, None)
    match = _ANY.search(text)
    while block or match:
        if block and (match is None or block[0] <= match.start()):
            span = PlaceholderSpan(*block, "icu", text[slice(*block)])
        else:
            assert match is not None
            span = _span(match)
        yield span
        while block and block[0] < span.end:
            block = next(blocks, None)
        if match and match.start() < span.end:
            match = _ANY.search(text, span.end)


def _span(match: "regex.Match[str]") -> PlaceholderSpan:
    kind: Kind = match.lastgroup
    start, end = match.span()
    if kind in ("url", "path"):
        end = _trim(match.string, start, end)
    text = match.string[start:end]
    if kind == "number" and text.isdigit() and len(text) < 3:
        kind = "integer"
    return PlaceholderSpan(start, end, kind, text)


def _trim(text: str, start: int, end: int) -> int:
    """Return the end of an address without the punctuation of the sentence around it."""
    excess = {"()": 0, "[]": 0}
    for pair in excess:
        excess[pair] = text.count(pair[1], start, end) - text.count(pair[0], start, end)
    while end > start + 1:
        last = text[end - 1]
        pair = next((pair for pair in excess if pair[1] == last and excess[pair] > 0), "")
        if pair:
            excess[pair] -= 1
        elif last not in _TRAILING:
            break
        end -= 1
    return end


def _icu_blocks(text: str) -> dict[int, int]:
    """Return the ends of ICU messages, as ``{n, plural, one {# file} other {# files}}``, by their starts."""
    starts = [match.start() for match in _ICU.finditer(text)]
    if not starts:
        return {}
    plain, quoted = _braces(text, quotes=False), _braces(text, quotes=True)
    ends = {start: quoted.get(start, plain.get(start, 0)) for start in starts}
    return {start: end for start, end in ends.items() if end}


def _braces(text: str, *, quotes: bool) -> dict[int, int]:
    """Return the end of each pair of braces, by its start; with ICU's quotes, quoted braces are text."""
    ends: dict[int, int] = {}
    opened: list[int] = []
    skip = 0
    for match in regex.finditer(r"[{}]|'(?=[{}])", text):
        place = match.start()
        if place < skip:
            continue
        if match[0] == "{":
            opened.append(place)
        elif match[0] == "}":
            if opened:
                ends[opened.pop()] = place + 1
        elif quotes:
            skip = text.find("'", place + 1) + 1 or len(text)
    return ends
