"""Tokens of LaTeX, and the partners of braces, brackets, mathematics and environments."""

import re
from array import array
from collections.abc import Iterator

from multihead_documents.latex.characters import CHARACTER, SHORTHAND
from multihead_documents.latex.commands import COMMANDS, VERBATIM, is_kept

_END = r"(?:\r\n|\r(?!\n)|\n)"
_SPACE = r"[ \t\f]"
_OVERLAY = r"(?:<[\d,+.\-|@:() a-z]{1,40}>)?"
_LENGTH = r"-?(?:\d+\.?\d*|\.\d+)[ \t]*(?:true)?(?:pt|mm|cm|in|em|ex|bp|sp|dd|cc|pc)(?![A-Za-z])"
_GRAMMAR = (
    ("par", rf"{_SPACE}*{_END}{_SPACE}*(?:{_END}{_SPACE}*)+"),
    ("space", r"[ \t\f\r\n]+"),
    ("comment", rf"%[^\r\n]*(?:{_END}{_SPACE}*(?=\S))?"),
    ("char", CHARACTER),
    (
        "code",
        r"\\(?:verb|lstinline)\*?(?:\[[^\]\r\n]{0,200}\])?(?P<bar>[^\sA-Za-z*{\[])(?:(?!(?P=bar))[^\r\n]){0,500}(?P=bar)"
        r"|\\mintinline(?:\[[^\]\r\n]{0,200}\])?\{[^{}\r\n]{0,50}\}(?P<rule>[^\s{])(?:(?!(?P=rule))[^\r\n]){0,500}(?P=rule)",
    ),
    (
        "address",
        r"\\(?:url|nolinkurl|path|href|includegraphics|input|include)\*?(?:\[[^\[\]\r\n]{0,300}\])?"
        r"\{(?:[^{}\\\r\n]|\\[^\r\n]|\{[^{}\r\n]{0,500}\}){0,2000}\}",
    ),
    (
        "setting",
        r"\\(?:[vh]skip|m?kern|raise|lower|[a-z]{0,20}(?:indent|skip|width|height|depth|margin|sep|space|spread))"
        rf"[ \t]*=?[ \t]*{_LENGTH}(?:[ \t]+(?:plus|minus)[ \t]*{_LENGTH}){{0,2}} ?"
        r"|\\[a-z]{0,20}(?:penalty|tolerance|badness)[ \t]*=?[ \t]*-?\d+ ?"
        r"|\\(?:setlength|addtolength)[ \t]*\\[A-Za-z@]+[ \t]*\{[^{}\r\n]{0,200}\}"
        r"|\\cmidrule(?:\[[^\]\r\n]{0,50}\])?(?:\([^()\r\n]{0,50}\))?[ \t]*\{[^{}\r\n]{0,50}\}"
        r"|\\let[ \t]*\\(?:[A-Za-z@]+|[^A-Za-z\s])[ \t]*=?[ \t]*\\?(?:[A-Za-z@]+|[^A-Za-z\s])",
    ),
    ("begin", rf"\\begin[ \t]*\{{[^{{}}\\\r\n]{{1,60}}\}}{_OVERLAY}"),
    ("end", r"\\end[ \t]*\{[^{}\\\r\n]{1,60}\}"),
    ("word", rf"\\[A-Za-z]+\*?{_OVERLAY}"),
    ("symbol", r"\\(?:\\\*?|[^\r\n])"),
    ("verbatim", r"\\"),  # at the end of a line or file
    ("parameter", r"#+\d?"),
    *((sign, re.escape(sign)) for sign in "{}[]$&"),
)
_NAMES = {f"k{number}": name for number, (name, _) in enumerate(_GRAMMAR)}
_TEXT = (
    r"(?P<text>(?:[^\\{}$&%%#~\[\]\s\-`',?!<>\"\u00a0]|-(?!-)|'(?!')|,(?!,)|[?!](?!`)|<(?!<)|>(?!>)|\"%s"
    r"|\u00a0| (?=[^\s%%]))+|.)"
)
_SKIP_ENDS = {"\\makeatletter": "\\makeatother", "\\iffalse": "\\fi", "\\ExplSyntaxOn": "\\ExplSyntaxOff"}
"""Code between two commands, which is kept."""
_CODE_DEFINED = re.compile(
    r"\\(?:lstnewenvironment|DefineVerbatimEnvironment|newtcblisting|NewTCBListing|newminted)"
    r"(?:\[(\w{1,40})\])?[ \t]*\{(\w{1,40})\}"
)
_GERMAN = re.compile(r"[\[,=]\s*(?:n?german|n?austrian|nswissgerman)\s*[,\]]")
_NAME = re.compile(r"\\[A-Za-z]+")
_ENVIRONMENT = re.compile(r"\{([^{}]*)\}")


def _pattern(has_shorthands: bool) -> re.Pattern[str]:
    grammar = dict(_GRAMMAR)
    if has_shorthands:
        grammar["char"] = f"{SHORTHAND}|{CHARACTER}"
    rules = "|".join(f"(?P<k{number}>{rule})" for number, rule in enumerate(grammar.values()))
    return re.compile(f"{rules}|{_TEXT % (f'(?!{SHORTHAND[2:]})' if has_shorthands else '')}", re.DOTALL)


_PATTERNS = {has_shorthands: _pattern(has_shorthands) for has_shorthands in (False, True)}


class Tokens:
    """The tokens of a file, by number; token ``i`` extends from ``starts[i]`` to ``starts[i + 1]``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.is_german = "babel" in text and bool(_GERMAN.search(text))
        """True if babel's German shorthands are in force."""
        self.kinds: list[str] = []
        self.starts = array("l")
        for kind, start in self._find():
            self.kinds.append(kind)
            self.starts.append(start)
        self.starts.append(len(text))
        self.partners = array("l", [-1]) * len(self.kinds)
        """Number of the token that closes this one; -1 without."""
        self.breaks = array("l", [0])
        """Number of tokens before this one that end a paragraph."""
        self._match()

    def __len__(self) -> int:
        return len(self.kinds)

    def raw(self, number: int) -> str:
        """Return the spelling of a token."""
        return self.text[self.starts[number] : self.starts[number + 1]]

    def name(self, number: int) -> str:
        """Return the bare name of a command, or of the environment that begins or ends."""
        raw = self.raw(number)
        environment = _ENVIRONMENT.search(raw) if self.kinds[number] in ("begin", "end") else None
        if environment:
            return environment[1].strip()
        command = _NAME.match(raw)
        return command[0][1:] if command else raw[1:]

    def _find(self) -> Iterator[tuple[str, int]]:
        """Yield kind and start of each token."""
        text = self.text
        verbatim = {*VERBATIM}
        for code in _CODE_DEFINED.finditer(text):
            verbatim |= {code[1] or code[2], f"{code[2]}code"}
        missing: set[str] = set()
        match = _PATTERNS[self.is_german].match
        place = len(text) - len(text.removeprefix("\ufeff"))
        if place:
            yield "par", 0
        while token := match(text, place):
            group = token.lastgroup or ""
            kind = _NAMES.get(group, group)
            end = token.end()
            last = ""
            if kind == "begin":
                name = _ENVIRONMENT.search(token[0])
                last = f"\\end{{{name[1]}}}" if name and name[1] in verbatim else ""
            elif kind == "word":
                last = _SKIP_ENDS.get(token[0], "")
            if last:
                end = -1 if last in missing else text.find(last, end)
                if end < 0:
                    missing.add(last)
                kind, end = "verbatim", end + len(last) if end >= 0 else len(text)
            yield kind, place
            place = end

    def _match(self) -> None:
        """Find the partners, as TeX would: mathematics and brackets end in the group that they begin in."""
        levels = [_Level()]
        skipped = -1
        for number, kind in enumerate(self.kinds):
            level = levels[-1]
            if kind == "{":
                levels.append(_Level(number))
            elif kind == "}":
                if level.brace >= 0:
                    levels.pop()
                    self._pair(level.brace, number)
            elif kind == "par":
                level.brackets.clear()
                level.math = -1
            elif kind == "$":
                if number == skipped:
                    pass
                elif level.math < 0:
                    level.math = number
                    level.is_display = self._is_double(number)
                    skipped = number + 1 if level.is_display else -1
                elif self.kinds[level.math] == "$" and not level.is_display:
                    self._pair(level.math, number)
                    level.math = -1
                elif self.kinds[level.math] == "$" and self._is_double(number):
                    self._pair(level.math, number + 1)
                    self._pair(level.math + 1, number)
                    level.math, skipped = -1, number + 1
            elif kind == "symbol":
                self._match_symbol(level, number)
            elif kind == "[":
                level.brackets.append(number)
            elif kind == "]":
                for opening in level.brackets:
                    self.partners[opening] = number
                level.brackets.clear()
            elif kind == "begin":
                level.environments.setdefault(self.name(number), []).append(number)
            elif kind == "end" and (begun := level.environments.get(self.name(number))):
                self._pair(begun.pop(), number)
        for number, kind in enumerate(self.kinds):
            self.breaks.append(self.breaks[-1] + self._is_break(number, kind))

    def _match_symbol(self, level: "_Level", number: int) -> None:
        sign = self.text[self.starts[number] + 1 : self.starts[number + 1]]
        if sign in ("(", "[") and level.math < 0:
            level.math = number
        elif sign in (")", "]") and level.math >= 0 and self.kinds[level.math] == "symbol":
            self._pair(level.math, number)
            level.math = -1

    def _pair(self, opening: int, closing: int) -> None:
        self.partners[opening], self.partners[closing] = closing, opening

    def _is_double(self, number: int) -> bool:
        return number + 1 < len(self.kinds) and self.kinds[number + 1] == "$"

    def _is_break(self, number: int, kind: str) -> bool:
        if kind in ("par", "verbatim", "&"):
            return True
        if kind == "$" or (kind == "symbol" and self.raw(number)[1] in "()[]"):
            return self.partners[number] < 0
        if kind in ("begin", "end"):
            return self.partners[number] < 0 or not is_kept(self.name(number))
        command = COMMANDS.get(self.name(number)) if kind == "word" else None
        return bool(command and command.role == "divider")


class _Level:
    """A group that is open."""

    __slots__ = ("brace", "brackets", "environments", "is_display", "math")

    def __init__(self, brace: int = -1) -> None:
        self.brace = brace
        self.environments: dict[str, list[int]] = {}
        self.brackets: list[int] = []
        self.math = -1
        self.is_display = False
