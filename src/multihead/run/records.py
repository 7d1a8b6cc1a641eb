"""metrics.jsonl and samples.txt: the course of a training."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from multihead.run import journal

METRICS, SAMPLES = "metrics.jsonl", "samples.txt"


class Records:
    """The metrics and samples in a run folder."""

    folder: Path

    @property
    def sealed(self) -> bool:
        """True if each line of metrics.jsonl must have a checksum."""
        return False

    def log(self, event: Mapping[str, Any]) -> None:
        """Append an event, which has a "step", to metrics.jsonl."""
        journal.append(self.folder / METRICS, journal.to_line(event))

    def metrics(self) -> Iterator[dict[str, Any]]:
        """Yield the events of metrics.jsonl in order; a damaged line is skipped, with a logged warning."""
        return journal.events(self.folder / METRICS, summed=self.sealed)

    def add_samples(self, step: int, text: str) -> None:
        """Append the translations of a validation to samples.txt."""
        journal.append(self.folder / SAMPLES, journal.to_block(step, text))

    def samples(self) -> Iterator[tuple[int, str]]:
        """Yield (step, samples) of each validation in samples.txt, in order."""
        return journal.blocks(self.folder / SAMPLES)

    def truncate_after(self, step: int, *, validated: bool = True) -> None:
        """Remove the metrics and samples of later steps, so that each appears once when they come again.

        Args:
            step: last step that is kept.
            validated: keep the validation of that step too.
        """
        journal.truncate_events(self.folder / METRICS, step, summed=self.sealed, validated=validated)
        journal.truncate_blocks(self.folder / SAMPLES, step if validated else step - 1)
