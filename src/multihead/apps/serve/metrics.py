"""Metrics in the format of Prometheus: requests, characters, batches and the queue."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4

TIMES = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of one server; no label has a text, a key or an address."""

    content_type = CONTENT_TYPE_PLAIN_0_0_4

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        registry = self._registry
        self.requests = Counter(
            "multihead_requests", "Requests answered", ["route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "multihead_request_seconds", "Duration of a request", ["route"], buckets=TIMES, registry=registry
        )
        self.characters = Counter(
            "multihead_characters", "Characters translated", ["source", "target"], registry=registry
        )
        self._lines = Histogram("multihead_batch_lines", "Lines of a batch", buckets=SIZES, registry=registry)
        self._batch_seconds = Histogram(
            "multihead_batch_seconds", "Duration of a batch", buckets=TIMES, registry=registry
        )
        self._waiting = Gauge("multihead_waiting_lines", "Lines in the queue", registry=registry)

    def watch_queue(self, waiting: Callable[[], int]) -> None:
        """Report the length of the queue by this function."""
        self._waiting.set_function(waiting)

    def batch(self, lines: int, seconds: float) -> None:
        """Count a batch."""
        self._lines.observe(lines)
        self._batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """Return all metrics as text."""
        return generate_latest(self._registry)
