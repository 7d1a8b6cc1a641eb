"""API keys, and the rate limit of each key or address."""

import hashlib
import hmac
import string
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from multihead.apps.serve.refusal import RefusedError
from multihead.errors import UserError
from multihead.text.lines import read_lines

HASHED = "sha256:"
SHORTEST = 16
"""Minimum length of a key: a shorter key could be guessed."""
MOST_CLIENTS = 10_000
"""Number of addresses whose use is remembered."""
MINUTE = 60.0


class ApiKeys:
    """API keys; memory has only their digests.

    Args:
        digests: name and SHA-256 digest of each key.
    """

    def __init__(self, digests: Iterable[tuple[str, bytes]]) -> None:
        self._digests = tuple(digests)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file with one key per line: ``NAME KEY`` or ``NAME sha256:DIGEST``; "#" starts a remark.

        Raises:
            UserError: the file is missing or has no keys; a line is malformed; a key is short.
        """
        digests: dict[str, bytes] = {}
        for number, line in enumerate(read_lines(str(path), "utf-8"), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            place = f"{path}:{number}"
            words = line.split()
            if len(words) != 2:
                raise UserError("not a name and a key", place=place, remedy="Write NAME KEY on a line.")
            name, key = words
            if name in digests:
                raise UserError(f'the name "{name}" is used twice', place=place)
            digests[name] = _digest_of(key, place)
        if not digests:
            raise UserError("no keys", place=str(path), remedy="Write NAME KEY on a line.")
        return cls(digests.items())

    def name_of(self, key: str) -> str | None:
        """Return the name of a key, None for an unknown one; the time does not depend on the key."""
        digest = hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
        match = None
        for name, stored in self._digests:
            if hmac.compare_digest(digest, stored):
                match = name
        return match


def _digest_of(key: str, place: str) -> bytes:
    if key.startswith(HASHED):
        digits = key.removeprefix(HASHED)
        if len(digits) != 64 or not set(digits) <= set(string.hexdigits):
            raise UserError("not a SHA-256 digest of 64 hexadecimal digits", place=place)
        return bytes.fromhex(digits)
    if len(key) < SHORTEST:
        remedy = "Make one: python3 -c 'import secrets; print(secrets.token_urlsafe())'."
        raise UserError(f"a key of fewer than {SHORTEST} characters", place=place, remedy=remedy)
    return hashlib.sha256(key.encode()).digest()


def key_in(headers: Mapping[str, str], values: Mapping[str, object]) -> str | None:
    """Return a request's key, from its Authorization header or its field ``api_key``."""
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if rest and scheme.lower() in ("bearer", "deepl-auth-key"):
        return rest.strip()
    key = values.get("api_key")
    return key if isinstance(key, str) and key else None


@dataclass
class _Use:
    left: float
    at: float


class Rate:
    """Token bucket for each client: ``per_minute`` may be spent at once, and comes back in a minute.

    Args:
        per_minute: amount a minute; None: no limit.
        name: the unit, for error messages.
        clock: time in seconds.
    """

    def __init__(
        self, per_minute: int | None, name: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.per_minute, self._name, self._clock = per_minute, name, clock
        self._used: OrderedDict[str, _Use] = OrderedDict()

    def spend(self, client: str, amount: int) -> None:
        """Spend an amount of a client's budget. An amount above the whole budget needs a full one.

        Raises:
            RefusedError: too little is left; ``retry`` is the time until there is enough.
        """
        if self.per_minute is None:
            return
        now = self._clock()
        use = self._used.pop(client, None) or _Use(self.per_minute, now)
        speed = self.per_minute / MINUTE
        use = _Use(min(self.per_minute, use.left + (now - use.at) * speed), now)
        self._used[client] = use
        if len(self._used) > MOST_CLIENTS:
            self._used.popitem(last=False)
        needed = min(amount, self.per_minute)
        if use.left < needed:
            wait = 1 + int((needed - use.left) / speed)
            raise RefusedError(429, f"more than {self.per_minute:,} {self._name} a minute", retry=wait)
        use.left -= amount
