"""Parts of Markdown that are kept: formulas, template code, attributes, names of emoji, wiki links."""

import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_inline import StateInline

from multihead_documents.markdown.formulas import displayed_lines, formula_end, line_text

_ATTRIBUTE = (
    r"(?:[#.][\w:-]{1,99}|[\w:-]{1,50}=(?:\"[^\"\n]{0,200}\"|'[^'\n]{0,200}'|[^\s}\"']{1,200})|toc|-)"
)
ATTRIBUTES = re.compile(rf"\{{:?[ \t]*{_ATTRIBUTE}(?:[ \t]+{_ATTRIBUTE}){{0,19}}[ \t]*\}}")
"""``{#id .class key=value}``, as Pandoc, kramdown and Python-Markdown have it."""
PLACEHOLDER = re.compile(r"\{\{\{?(?![<%#/^!>-])[^{}\n]{1,200}\}\}\}?")
"""Template code that stands for words."""
_CODE = r"\{%(?:(?!\{%).){1,2000}?%\}|\{#(?:(?!\{#).){1,2000}?#\}|\{\{[<%#/^!>-](?:(?!\{\{).){1,2000}?\}\}"
_CODE += r"|<%(?:(?!<%).){0,2000}?%>"
_KEPT = (
    ("attributes", ATTRIBUTES),
    ("code", re.compile(_CODE, re.DOTALL)),
    ("role", re.compile(r"\{[\w:-]{1,50}\}(?=`[^`])")),
    ("emoji", re.compile(r"(?<![\w:]):[a-z+-][a-z0-9_+-]{1,50}:(?![\w:])")),
    ("wiki", re.compile(r"\[\[[^\[\]\n]{1,200}\]\](?!\([^()\s]*\))|\[-?@\w[^\[\]\n]{0,200}\]")),
    ("abbreviation", re.compile(r"\A\*\[[^\[\]\n]{1,200}\]:")),
)
_LINE = re.compile(
    rf"(?:(?:{_CODE})\s*)+\Z|{ATTRIBUTES.pattern}\s*\Z|\[TOC\]\s*\Z|\([^()\n]{{1,200}}\)=\s*\Z|\+\+\+(?:\s*\{{.*\}})?\s*\Z"
    r"|(?:import|export)\s.*(?:\sfrom\s+|\simport\s+)(?:\"[^\"]*\"|'[^']*');?\s*\Z|import\s+['\"][^'\"]*['\"];?\s*\Z",
    re.IGNORECASE,
)
_OPENINGS = (
    (re.compile(r"\{%(?!.*%\})"), re.compile(r".*%\}\s*\Z")),
    (re.compile(r"\{\{[<%](?!.*\}\})"), re.compile(r".*\}\}\s*\Z")),
)
"""First lines of several that are kept, and what the last of them looks like."""
_MOST_LINES = 50


def keep(parser: MarkdownIt) -> None:
    """Teach a parser the parts that are kept."""
    parser.inline.ruler.before("escape", "kept", _is_kept)
    parser.block.ruler.before(
        "heading", "kept", _kept_lines, {"alt": ["paragraph", "reference", "blockquote"]}
    )


def with_attributes(rule: Callable[[StateInline, bool], bool]) -> Callable[[StateInline, bool], bool]:
    """Wrap the rule of a link, image or code span to take the attributes that follow it."""

    def extended(state: StateInline, silent: bool) -> bool:
        matched = bool(rule(state, silent))
        if matched and (attributes := ATTRIBUTES.match(state.src, state.pos, state.posMax)):
            state.pos = attributes.end()
        return matched

    return extended


def _is_kept(state: StateInline, silent: bool) -> bool:
    """Take a part that is kept, as a token of type ``kept_...``, or a ``placeholder``."""
    part = _part(state)
    if not part:
        return False
    name, end = part
    if not silent:
        token = state.push(name, "", 0)
        token.content = state.src[state.pos : end]
        token.meta["end"] = end
    state.pos = end
    return True


def _part(state: StateInline) -> tuple[str, int] | None:
    """Return the type and the end of the part that is kept at the current place."""
    if state.src[state.pos] not in "$\\{<:[*":
        return None
    for name, pattern in _KEPT:
        if match := pattern.match(state.src, state.pos, state.posMax):
            return f"kept_{name}", match.end()
    if match := PLACEHOLDER.match(state.src, state.pos, state.posMax):
        return "placeholder", match.end()
    end = formula_end(state.src, state.pos, state.posMax)
    return ("kept_math", end) if end else None


def _kept_lines(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Skip lines that are kept."""
    if state.is_code_block(line):
        return False
    after = _last_kept(state, line, end)
    if after is None:
        return False
    if not silent:
        state.line = after + 1
    return True


def _last_kept(state: StateBlock, line: int, end: int) -> int | None:
    """Return the last of the kept lines that begin with a line; None if none begin there."""
    text = line_text(state, line)
    if text[:1] not in "$\\{[(<+iIeE":
        return None
    if _LINE.match(text):
        return line
    for opening, last in _OPENINGS:
        if opening.match(text):
            for number in range(line + 1, min(end, line + _MOST_LINES)):
                if state.sCount[number] < state.blkIndent and not state.isEmpty(number):
                    return None
                if last.match(line_text(state, number)):
                    return number
    return displayed_lines(state, line, end)
