"""Formulas of Markdown: ``$x$``, ``$$x$$``, ``\\(x\\)``, ``\\[x\\]`` and environments of LaTeX.

As Pandoc, GitHub, Jupyter and MathJax have them: in a line, over several lines of a paragraph, or as a block.
"""

import re

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock

_DISPLAY = re.compile(r"\$\$|\\{1,2}\[|\\begin\{(\w{1,30}\*?)\}")
"""Begins a formula that may run over several lines."""
_OPENING = re.compile(rf"{_DISPLAY.pattern}|\\{{1,2}}\(|\$`")
_SINGLE = re.compile(r"\$((?:\\.|[^\\$`]){1,1000}+)\$(?!\d)", re.DOTALL)
_SKIPPED = re.compile(rf"(`++).*?(?<!`)\1(?!`)|(?P<display>{_DISPLAY.pattern.replace('(', '(?:', 1)})|\\.")
_LETTER = re.compile(r"[^\W\d_]")
_SIGN = re.compile(r"[\\^_={}+*/<>|]")
_COMMAND = re.compile(r"(?<!\\)\\[A-Za-z]{2,}")
_BRACES = re.compile(r"\\[A-Za-z]+\*?|\{[^{}]*\}")
_WORD = re.compile(r"(?<![^\s(\[\"'„«“-])[^\W\d_]{2,}(?![^\s.,;:!?)\]\"'»”-])")
_PHRASE = re.compile(rf"{_WORD.pattern}[,;:]?\s+{_WORD.pattern}")
_OTHER = re.compile(r"\\[(\[]|\\begin\{(?:align|equation|gather)|[„“«»”。…]")
"""Text that no formula between dollars contains."""
_UNFINISHED = re.compile(r"\s[^\s\w]*[(\[{=,\"'„«“]\Z|\s[*-]+\Z")
_END = re.compile(r"\s*(?:\{[^}]*\}|\([\w.:-]+\))?[^\w$\\]*\Z")
"""After a displayed formula: its label, or the punctuation of a sentence."""
_MOST = 10_000
"""Limit of a formula in characters."""
_MOST_LINES = 100
"""Limit of a displayed formula in lines."""


def add_formulas(parser: MarkdownIt) -> None:
    """Teach a parser the formulas in paragraphs that look like other blocks to it."""
    parser.block.ruler.before("lheading", "formula", _formula_paragraph)


def formula_end(text: str, start: int, end: int) -> int | None:
    """Return the end of the formula that begins at a place; None if none does."""
    if opening := _OPENING.match(text, start, end):
        closing = _closing(opening)
        place = text.find(closing, opening.end(), min(end, opening.end() + _MOST))
        content = text[opening.end() : place]
        if (
            place > 0
            and content.strip()
            and (opening[0][0] == "$" or opening[1] or _is_math(opening, content))
        ):
            return place + len(closing)
    match = _SINGLE.match(text, start, end)
    return match.end() if match and _is_formula(match) else None


def display_end(state: StateBlock, line: int, offset: int, end: int) -> tuple[int, int] | None:
    """Return the line and the offset after the displayed formula that begins at an offset of a line.

    A formula with empty lines begins and ends with lines of its own, and has no sentence in it.
    """
    text = line_text(state, line)
    opening = _DISPLAY.match(text, offset)
    if not opening:
        return None
    closing = _closing(opening)
    begin = opening.end()
    for number in range(line, min(end, line + _MOST_LINES)):
        content = line_text(state, number)
        place = content.find(closing, begin)
        if place >= 0:
            after = place + len(closing)
            inside = range(line + 1, number)
            if not any(map(state.isEmpty, inside)):
                return number, after
            alone = not (offset or text[opening.end() :].strip() or content[:place].strip())
            prose = any(_has_phrase(line_text(state, other)) for other in inside)
            return (number, after) if alone and not prose and _END.match(content, after) else None
        begin = 0
    return None


def displayed_lines(state: StateBlock, line: int, end: int) -> int | None:
    """Return the last line of the formula that a line begins with; None if it shares its lines with text."""
    place = display_end(state, line, 0, end)
    if not place or not _END.match(line_text(state, place[0]), place[1]):
        return None
    inside = range(line + 1, place[0] + 1)
    lazy = any(state.sCount[number] < state.blkIndent and not state.isEmpty(number) for number in inside)
    return None if lazy else place[0]


def line_text(state: StateBlock, line: int) -> str:
    """Return a line without its indentation and the marks of the blocks that it is in."""
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def _formula_paragraph(state: StateBlock, line: int, end: int, silent: bool) -> bool:
    """Parse a paragraph in which a formula runs over lines, whatever block these would begin."""
    if silent or ("$$" not in state.src and "\\" not in state.src):
        return False
    rules = state.md.block.ruler.getRules("paragraph")
    before, state.parentType = state.parentType, "paragraph"
    number, several = line, False
    while True:
        last = _last_line(state, number, end)
        several = several or last > number
        number = last + 1
        if number >= end or state.isEmpty(number):
            break
        inside = state.sCount[number] - state.blkIndent > 3 or state.sCount[number] < 0
        if not inside and any(rule(state, number, end, True) for rule in rules):
            break
    state.parentType = before
    if not several:
        return False
    state.push("paragraph_open", "p", 1)
    token = state.push("inline", "", 0)
    token.content = state.getLines(line, number, state.blkIndent, False).strip()
    token.map, token.children = [line, number], []
    state.push("paragraph_close", "p", -1)
    state.line = number
    return True


def _last_line(state: StateBlock, line: int, end: int) -> int:
    """Return the line in which the last of the formulas ends that begin in a line, or in such a last line."""
    offset = 0
    while match := _SKIPPED.search(line_text(state, line), offset):
        offset = match.end()
        place = display_end(state, line, match.start(), end) if match["display"] else None
        if place:
            line, offset = place
    return line


def _is_math(opening: re.Match[str], content: str) -> bool:
    """Return whether a text in escaped brackets is a formula: ``\\[^1\\]`` is a bracket of the text."""
    if opening[0] == "\\[":
        return content[0] == "\n" or bool(_COMMAND.search(content))
    return bool(_SIGN.search(content)) or not _is_prose(content)


def _closing(opening: re.Match[str]) -> str:
    spelling = opening[0]
    if opening[1]:
        return f"\\end{{{opening[1]}}}"
    return spelling[:-1] + {"$": "$", "[": "]", "(": ")", "`": ""}[spelling[-1]] if spelling != "$`" else "`$"


def _is_formula(match: re.Match[str]) -> bool:
    """Return whether a text between two dollars is a formula, and not money or variables."""
    content = match[1]
    inside = content.strip()
    before = match.string[match.start() - 1 : match.start()]
    after = match.string[match.end() : match.end() + 1]
    signed = bool(_SIGN.search(content))
    if not inside or _UNFINISHED.search(content) or (after.isalpha() and content[-1] in "/:,.;-"):
        return False  # $10 ($x$), $HOME/$USER
    if content != inside:  # "$ 5 + $ 6" is money, "$x = $" a formula
        glued = after.isascii() and after.isalnum() and not signed
        paired = content[0].isspace() == content[-1].isspace()
        text = _BRACES.sub("", content)
        price = text == content and (inside[0].isdigit() or not _LETTER.search(text))
        words = _WORD.search(text) or _OTHER.search(content)
        return not (words or price or glued or before.isalnum()) and (paired or signed)
    if before.isalnum() and (re.search(r"\s", content) or not (inside[0] in "\\{(" or inside[0].isalpha())):
        return before.isalpha() and inside.isdigit()  # US$5 or A$6, but also time$1$
    if not _is_prose(content):
        return True
    return signed and not content[0].isdigit() and not _has_phrase(content)


def _is_prose(content: str) -> bool:
    """Return whether a text has a word among others, outside of the arguments of commands."""
    return bool(re.search(r"\s", content.strip()) and _WORD.search(_BRACES.sub("", content)))


def _has_phrase(content: str) -> bool:
    """Return whether a text has two words in a row."""
    return bool(_PHRASE.search(_BRACES.sub("", content)))
