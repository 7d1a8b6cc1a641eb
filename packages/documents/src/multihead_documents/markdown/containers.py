"""Containers of Markdown: admonitions, tabs, directives, definitions and notes, whose text is translated.

As Python-Markdown, its extensions, Pandoc, Docusaurus, VuePress and MyST have them.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

from multihead_documents.markdown.formulas import line_text
from multihead_documents.rst.directives import DIRECTIVES, OPTIONS

_INDENTED = re.compile(
    r"(?:(?:!!!|\?{3}\+?)[ ]?[\w-]+(?:[ ]+[\w-]+)*(?:[ ]+\"(?P<title>.*)\")?"
    r"|={3}[!+]?[ ]+\"(?P<tab>.+)\")\s*\Z"
)
"""The line before an indented body."""
_FENCE = re.compile(
    r":{3,}[ ]*(?:\{[^{}]*\}|[\w-]*)"
    r"(?:\[(?P<label>(?:\\.|[^\]\\])+)\]|[ ]+(?![{:])(?P<title>.*[^\s:]))?[\s:]*\Z"
    r"|/{3,}[ ]*(?:[\w-]+(?:[ ]*\|[ ]*(?P<caption>\S.*))?)?\s*\Z"
)
"""A line that begins or ends a body which is not indented."""
_DIRECTIVE = re.compile(
    r"(?P<fence>`{3,}|~{3,}|:{3,})[ ]?\{(?P<name>\w[\w:.+-]*)\}[ \t]*(?P<argument>.*?)\s*\Z"
)
"""The first line of a directive of MyST."""
_OPTION = re.compile(r":([\w-]+):(?:[ \t]+(.*)|\Z)")
_DEFINITION = re.compile(r":[ \t]+(?=\S)")
_NOTE = re.compile(r"\[\^[^\]\s]+\]:[ \t]*")
_ENDS = ["paragraph", "reference", "blockquote", "list"]


def contain(parser: MarkdownIt) -> None:
    """Teach a parser the containers."""
    ruler = parser.block.ruler
    ruler.before("fence", "directive", _directive, {"alt": _ENDS})
    ruler.before("heading", "admonition", _admonition, {"alt": _ENDS})
    ruler.before("heading", "fenced_container", _fence, {"alt": _ENDS})
    ruler.before("reference", "marked", _is_marked, {"alt": ["paragraph"]})


def _admonition(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Parse ``!!! note "Title"``, ``??? note`` or ``=== "Tab"`` and the indented lines below."""
    match = None if state.is_code_block(line) else _INDENTED.match(line_text(state, line))
    last = _body_end(state, line + 1, end) if match else line + 1
    if not match or last == line + 1:
        return False
    if not silent:
        _title(state, line, match["title"] or match["tab"])
        _body(state, line + 1, last, state.blkIndent + 4)
    return True


def _fence(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Skip the marks of ``::: note Title`` and ``/// note | Title``, not their title."""
    text = line_text(state, line)
    if state.is_code_block(line):
        return False
    match = _FENCE.match(text)
    if not match and not text.startswith(":::"):
        return False
    if not silent:
        if match and not _DIRECTIVE.match(text):
            _title(state, line, match["label"] or match["title"] or match["caption"])
        state.line = _after_options(state, line + 1, end) if text[:1] == ":" else line + 1
    return True


def _directive(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Parse a directive of MyST: a fence with the information ``{note}``."""
    match = None if state.is_code_block(line) else _DIRECTIVE.match(line_text(state, line))
    if not match:
        return False
    kinds = DIRECTIVES.get(match["name"].rpartition(":")[2].lower())
    if kinds is None and match["fence"][0] == ":":
        return False
    closing = re.compile(rf"{match['fence']}{match['fence'][0]}*\s*\Z")
    last = next((n for n in range(line + 1, end) if closing.match(line_text(state, n))), None)
    if last is None:
        return False
    if silent:
        return True
    state.line = line + 1
    if kinds:
        argument, content = kinds
        if argument == "version":
            _title(state, line, match["argument"].partition(" ")[2])
        elif argument != "kept":
            _title(state, line, match["argument"])
        first = _after_options(state, line + 1, last)
        if content == "terms":
            _glossary(state, first, last)
        elif content == "text" or argument in ("body", "version"):
            _body(state, first, last, state.blkIndent)
    else:
        token = state.push("untranslated", "", 0)
        token.content, token.map = f"the text of {{{match['name']}}} is not translated", [line, line + 1]
    state.line = last + 1
    return True


def _glossary(state: StateBlock, line: int, end: int) -> None:
    """Parse the definitions of a glossary; its terms, which ``{term}`` names, are kept."""
    indent = state.blkIndent
    while line < end:
        begin = line
        is_mark = bool(_DEFINITION.match(line_text(state, line)))
        line += 1
        if state.isEmpty(begin) or not (is_mark or state.sCount[begin] > indent):
            continue
        while line < end and not _is_term(state, line, end, indent):
            line += 1
        _body(state, begin, line, indent if is_mark else state.sCount[begin])


def _is_term(state: StateBlock, line: int, end: int, indent: int) -> bool:
    """Return whether a line of a glossary is a term: what follows it is its definition."""
    if state.isEmpty(line) or state.sCount[line] > indent or _DEFINITION.match(line_text(state, line)):
        return False
    after = line + 1
    deeper = after < end and state.sCount[after] > indent
    return state.isEmpty(line - 1) or deeper or bool(after < end and _mark(state, after))


def _is_marked(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Parse ``: text`` below a term, or ``[^1]: text``, with the indented lines below it."""
    mark = None if state.is_code_block(line) else _mark(state, line)
    if not mark:
        return False
    if not silent:
        before = state.bMarks[line], state.tShift[line], state.sCount[line]
        indent = before[2] + min(mark.end(), 4)
        state.bMarks[line] += state.tShift[line] + mark.end()
        state.tShift[line], state.sCount[line] = 0, indent
        _body(state, line, _body_end(state, line + 1, end, lazy=True), indent)
        state.bMarks[line], state.tShift[line], state.sCount[line] = before
    return True


def _mark(state: StateBlock, line: int) -> re.Match[str] | None:
    """Return the mark of a note, or of a definition at most one line below its term."""
    text = line_text(state, line)
    match = _DEFINITION.match(text)
    if not match:
        return _NOTE.match(text)
    term = line - 1 if line and not state.isEmpty(line - 1) else line - 2
    return match if term >= 0 and not state.isEmpty(term) else None


def _after_options(state: StateBlock, line: int, end: int) -> int:
    """Return the line after the options of a directive, of which texts such as ``:alt: A dog`` are parsed."""
    if line < end and line_text(state, line).strip() == "---":
        return next((n + 1 for n in range(line + 1, end) if line_text(state, n).strip() == "---"), line)
    while line < end and (option := _OPTION.match(line_text(state, line))):
        if option[1] in OPTIONS:
            _title(state, line, option[2])
        line += 1
    return line


def _body_end(state: StateBlock, line: int, end: int, lazy: bool = False) -> int:
    """Return the line after the last of those that are indented by four columns, or empty between such.

    Args:
        state: the parser's state.
        line: the first of them.
        end: the line after the container that they are in.
        lazy: the first lines may be indented less, up to an empty one or the next mark.
    """
    last = line
    for number in range(line, end):
        if state.isEmpty(number):
            lazy = False
        elif lazy and _mark(state, number):
            break
        elif lazy or state.sCount[number] >= state.blkIndent + 4:
            last = number + 1
        else:
            break
    return last


def _body(state: StateBlock, line: int, end: int, indent: int) -> None:
    """Parse the lines of a container; the level grows, so that the parser's limit of nesting holds."""
    before = state.blkIndent, state.lineMax
    state.push("container_open", "div", 1)
    state.blkIndent, state.lineMax = indent, end
    state.md.block.tokenize(state, line, end)
    state.blkIndent, state.lineMax = before
    state.push("container_close", "div", -1)
    state.line = end


def _title(state: StateBlock, line: int, title: str | None) -> None:
    if title and title.strip():
        state.push("title_open", "div", 1)
        token = state.push("inline", "", 0)
        token.content, token.map, token.children = title.strip(), [line, line + 1], []
        state.push("title_close", "div", -1)
