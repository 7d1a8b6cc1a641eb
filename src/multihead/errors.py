"""The one error that a user is meant to see."""


class UserError(Exception):
    """Something that the user can put right: what is wrong, where, and what to do about it.

    The command line prints it without a traceback and ends with exit code 2.

    >>> print(UserError("not UTF-8 (byte 0xE4)", place="train.de:4711", remedy="Convert the file."))
    train.de:4711: not UTF-8 (byte 0xE4). Convert the file.
    """

    def __init__(self, fact: str, *, place: str | None = None, remedy: str | None = None) -> None:
        super().__init__(fact, place, remedy)
        self.fact = fact
        self.place = place
        self.remedy = remedy

    def __str__(self) -> str:
        told = f"{self.place}: {self.fact}" if self.place else self.fact
        return f"{told.rstrip('.')}. {self.remedy}" if self.remedy else told
