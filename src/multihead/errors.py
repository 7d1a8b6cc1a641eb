"""The error type for mistakes that the user can correct."""


class UserError(Exception):
    """An error that the user can correct: the fact, its place, and the remedy.

    The command line prints it without a traceback and exits with code 2.

    >>> print(UserError("not UTF-8 (byte 0xE4)", place="train.de:4711", remedy="Convert the file."))
    train.de:4711: not UTF-8 (byte 0xE4). Convert the file.
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

    def _render_traceback_(self) -> list[str]:
        """Return what IPython and Jupyter print in place of a traceback."""
        return [str(self)]
