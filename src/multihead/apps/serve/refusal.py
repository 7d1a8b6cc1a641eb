"""Refusals of requests, and HTTP error responses."""

from starlette.responses import JSONResponse, Response


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


def error_response(status: int, fact: str, headers: dict[str, str] | None = None) -> Response:
    """Return an error as LibreTranslate's clients read it ("error") and as DeepL's do ("message")."""
    return JSONResponse({"error": fact, "message": fact}, status, headers)


def refusal(error: RefusedError) -> Response:
    """Return the response to a refused request."""
    headers = {} if error.retry is None else {"Retry-After": str(error.retry)}
    return error_response(error.status, error.fact, headers)
