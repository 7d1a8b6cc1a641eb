"""Connections that do not keep the server waiting: time-outs for slow, silent and deaf clients."""

import asyncio
import socket
from typing import Any, cast

from uvicorn.protocols.http.h11_impl import H11Protocol

READ_SECONDS = 10.0
"""Time for a client to send a request's headers, and again to send its body."""
IDLE_SECONDS = 30
"""Time that a connection may wait for its next request."""
BACKLOG = 2_048


def timed_protocol(read_seconds: float = READ_SECONDS) -> type[asyncio.Protocol]:
    """Return a protocol class for uvicorn that closes connections whose clients are slow.

    uvicorn itself closes only connections that are idle after a response. A client that connects and sends
    nothing, sends a request byte by byte, or does not read its response would stay for ever.

    Args:
        read_seconds: time for a whole request to arrive, and for a whole response to be read.
    """

    class TimedProtocol(H11Protocol):
        _timer: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            # asyncio sets it only for sockets made with an explicit protocol number.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._watch(restart=True)

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            before = cast(Any, self.cycle)
            super().data_received(data)
            # A new request has begun: its body gets its own time limit.
            self._watch(restart=cast(Any, self.cycle) is not before)

        def on_response_complete(self) -> None:
            super().on_response_complete()
            self._watch(restart=True)

        def _watch(self, *, restart: bool) -> None:
            """Keep the timer running as long as the client has something to send or to read."""
            if not self._client_is_due():
                self._stop()
            elif restart or self._timer is None:
                self._stop()
                self._timer = self.loop.call_later(read_seconds, self._close)

        def _client_is_due(self) -> bool:
            cycle = cast(Any, self.cycle)
            if cycle is None:
                return True
            if not cycle.response_complete:
                return bool(cycle.more_body)
            unread = self.transport.get_write_buffer_size() > 0
            begun = bool(self.conn.trailing_data[0])
            return unread or begun

        def _stop(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _close(self) -> None:
            self._timer = None
            if self._client_is_due():
                self.transport.abort()

    return TimedProtocol
