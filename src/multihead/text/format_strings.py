"""Format strings: messages whose directives, such as ``%s``, a program fills (GNU gettext manual, sec. 15.3).

Unnumbered directives are filled in their order, so a translation that changes the order must number them, as
in ``%2$s``, if its format has numbers.

    >>> number("%s of %d")
    '%1$s of %2$d'
    >>> faults("%s of %d", "%d of %s")
    ['argument 1 is %d in place of %s', 'argument 2 is %s in place of %d']
"""

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import regex

from multihead.text.placeholder_patterns import Kind, find

_SIZES = r"[-+#0']*+(?:\d{1,3}|(?P<star>\*))?+(?:\.(?:\d{1,3}|(?P<star>\*))?+)?+"
_KIND = r"(?:hh?|ll?|[Lqjzt])?[a-zA-Z@]|<PRI\w{1,12}>|#@\w{1,60}@"
_PRINTF = regex.compile(
    rf"%%|%(?:\((?P<name>\w{{1,60}})\)|(?P<name>\d{{1,2}})\$)?+{_SIZES}(?P<kind>{_KIND})?"
)
_BRACES = regex.compile(r"\{\{|\}\}|\{(?P<name>\d{0,2})(?P<kind>[!:][^{}]{0,60})?\}")
_QT = regex.compile(r"%L?(?P<name>\d{1,2}|n)(?P<kind>)")
_VARIABLES: frozenset[Kind] = frozenset(("variable", "icu"))


class Directive(NamedTuple):
    """A directive, ``text[start:end]``.

    Attributes:
        name: its number or name; "" if it is filled in its order.
        kind: its conversion, such as ``%s``; "" for ``%%`` and a single ``%``.
        stars: arguments before it, for ``*`` in place of a width.
    """

    start: int
    end: int
    text: str
    name: str
    kind: str
    stars: int


def number(text: str) -> str:
    """Return a format string with numbers in its directives if several are filled in their order."""
    for pattern in (_PRINTF, _BRACES):
        plain = [
            directive for directive in _directives(text, pattern) if directive.kind and not directive.name
        ]
        if len(plain) > 1 and not any(directive.stars for directive in _directives(text, pattern)):
            for count, directive in reversed([*enumerate(plain, start=pattern is _PRINTF)]):
                mark = f"{count}$" if pattern is _PRINTF else str(count)
                text = f"{text[: directive.start + 1]}{mark}{text[directive.start + 1 :]}"
    return text


def without_numbers(text: str, source: str, *, may_number: bool = False) -> str:
    """Return the translation of ``number(source)`` in the style of its source.

    Args:
        text: the translation.
        source: the format string that was numbered.
        may_number: whether to leave the numbers if they say that the order has changed.
    """
    if number(source) == source:
        return text
    plain = regex.sub(r"%\d{1,2}\$", "%", text)
    if any(directive.kind for directive in _directives(source, _BRACES)):
        plain = regex.sub(r"\{\d{1,2}(?=[!:}])", "{", plain)
    return text if may_number and number(plain) != text else plain


def faults(source: str, target: str, *, is_qt: bool = False) -> list[str]:
    """Return why a program cannot fill a translation as it fills its source; empty if it can.

    Args:
        source: the message. Only if it has directives, all ``%`` of the translation count.
        target: its translation.
        is_qt: whether it has Qt's directives, ``%1`` and ``%n``.
    """
    patterns = [_QT] if is_qt else [_PRINTF] if is_format_string(source) else []
    if any(directive.kind and not directive.name for directive in _directives(source, _BRACES)):
        return [problem for pattern in [*patterns, _BRACES] for problem in _faults(source, target, pattern)]
    problems = [problem for pattern in patterns for problem in _faults(source, target, pattern)]
    ours, theirs = ({span.text for span in find(text, _VARIABLES)} for text in (source, target))
    problems += [f"{name} is missing" for name in sorted(ours - theirs)]
    return [*problems, *(f"{name} is not in the source" for name in sorted(theirs - ours))]


def is_format_string(text: str) -> bool:
    """Return whether a text has directives of printf."""
    return any(span.kind == "printf" for span in find(text, frozenset(("printf",))))


def _faults(source: str, target: str, pattern: "regex.Pattern[str]") -> Iterator[str]:
    sides = [list(_directives(text, pattern)) for text in (source, target)]
    escapes = [Counter(directive.text for directive in side if not directive.kind) for side in sides]
    for text in escapes[0] | escapes[1]:
        if escapes[0][text] != escapes[1][text]:
            yield f'"{text}" is there {escapes[1][text]} times in place of {escapes[0][text]}'
    ours, theirs = (_arguments(side, first=pattern is not _BRACES) for side in sides)
    for name in {**ours, **theirs}:
        if ours.get(name) != theirs.get(name):
            yield f"argument {name} is {theirs.get(name, 'missing')} in place of {ours.get(name, 'none')}"


def _directives(text: str, pattern: "regex.Pattern[str]") -> Iterator[Directive]:
    for match in pattern.finditer(text):
        stars = len(match.captures("star")) if pattern is _PRINTF else 0
        name = match["name"] or ""
        yield Directive(match.start(), match.end(), match[0], name, _kind_of(match), stars)


def _kind_of(match: "regex.Match[str]") -> str:
    if match[0] in ("%%", "{{", "}}") or (match.re is _PRINTF and not match["kind"]):
        return ""
    if match.re is _QT:
        return str(match[0])
    return f"{match[0][0]}{match['kind'] or ''}{'}' if match.re is _BRACES else ''}"


def _arguments(directives: list[Directive], first: int) -> dict[str, str]:
    """Return the conversion of each argument by its number, from ``first``, or name."""
    arguments: dict[str, str] = {}
    place = first - 1
    for directive in directives:
        if not directive.kind:
            continue
        for _ in range(directive.stars):
            place += 1
            arguments[str(place)] = "%*"
        place += not directive.name
        name = directive.name or str(place)
        # Two directives may show one argument, but not as two kinds.
        before = arguments.get(name, directive.kind)
        arguments[name] = before if before == directive.kind else f"{before} and {directive.kind}"
    return arguments
