"""The error that becomes an HTTP error response."""


class RefusedError(Exception):
    """A request that is refused with an HTTP error.

    Attributes:
        status: HTTP status code.
        fact: the reason, for people.
        retry: seconds after which a client may try again; None: trying again does not help.
    """

    def __init__(self, status: int, fact: str, retry: int | None = None) -> None:
        super().__init__(fact)
        self.status, self.fact, self.retry = status, fact, retry
