"""The errors of documents that cannot be read or written."""


class DocumentError(Exception):
    """An error that the user can correct: the fact, its place, and the remedy.

    >>> print(DocumentError("not UTF-8 (byte 0xE4)", place="letter.txt:11", remedy="Convert the file."))
    letter.txt:11: not UTF-8 (byte 0xE4). Convert the file.
    """

    code = 2
    """Exit code of a command."""

    def __init__(self, fact: str, *, place: str | None = None, remedy: str | None = None) -> None:
        super().__init__(fact, place, remedy)
        self.fact = fact
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        message = f"{self.place}: {self.fact}" if self.place else self.fact
        return f"{message.rstrip('.')}. {self.remedy}" if self.remedy else message


class UndecodableError(DocumentError):
    """A byte that is invalid in a text's encoding; a caller may guess the right one from its line.

    Attributes:
        line: the bytes of the line.
        offset: index of the invalid byte in it.
    """

    def __init__(self, encoding: str, *, byte: int, place: str, line: bytes, offset: int) -> None:
        fact = f"not {encoding.upper()} (byte 0x{byte:02X} at column {offset + 1})"
        super().__init__(fact, place=place, remedy="Convert the file to UTF-8, or name its encoding.")
        self.line, self.offset = line, offset
