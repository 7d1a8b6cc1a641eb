"""Keys and values that a decoder keeps between steps."""

from torch import Tensor


class LayerCache:
    """One decoder layer's keys and values: the source's, once a sentence; the target's, once a hypothesis.

    The target's lie in a buffer with room to grow, so that a step writes one column and copies nothing.

    Args:
        source_keys: (N, H, S, d_k).
        source_values: (N, H, S, d_v).
    """

    def __init__(self, source_keys: Tensor, source_values: Tensor) -> None:
        self.source_keys, self.source_values = source_keys, source_values
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0

    @property
    def sentences(self) -> int:
        """N: how many sentences are still searched."""
        return self.source_keys.shape[0]

    @property
    def rows(self) -> int:
        """R: how many hypotheses there are; before the first step, one a sentence."""
        return self.sentences if self._keys is None else self._keys.shape[0]

    def append(self, k_RHQd: Tensor, v_RHQd: Tensor) -> tuple[Tensor, Tensor]:
        """Add Q positions; return all so far, (R, H, length, d_k) and (R, H, length, d_v)."""
        start, self.length = self.length, self.length + k_RHQd.shape[2]
        self._keys = _written(self._keys, k_RHQd, start)
        self._values = _written(self._values, v_RHQd, start)
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def last(self, columns: int) -> "LayerCache":
        """Only the last so many positions of the target; the others' memory is given back."""
        new = LayerCache(self.source_keys, self.source_values)
        kept = slice(max(0, self.length - columns), self.length)
        new.length = kept.stop - kept.start
        if self._keys is not None and self._values is not None:
            new._keys, new._values = self._keys[:, :, kept].clone(), self._values[:, :, kept].clone()
        return new

    def select(self, rows: Tensor) -> "LayerCache":
        """The hypotheses ``rows``, in that order."""
        return self._with(self.source_keys, self.source_values, rows)

    def keep(self, sentences: Tensor, rows: Tensor) -> "LayerCache":
        """Only these sentences, and their hypotheses ``rows``."""
        return self._with(
            self.source_keys.index_select(0, sentences), self.source_values.index_select(0, sentences), rows
        )

    def _with(self, source_keys: Tensor, source_values: Tensor, rows: Tensor) -> "LayerCache":
        new = LayerCache(source_keys, source_values)
        new.length = self.length
        if self._keys is not None and self._values is not None:
            new._keys = self._keys.index_select(0, rows)
            new._values = self._values.index_select(0, rows)
        return new


def _written(buffer: Tensor | None, new_RHQd: Tensor, start: int) -> Tensor:
    """The buffer with ``new`` at ``start``; twice as long if it was full."""
    rows, heads, added, width = new_RHQd.shape
    if buffer is None or start + added > buffer.shape[2]:
        room = max(32, 2 * (start + added))
        longer = new_RHQd.new_empty(rows, heads, room, width)
        if buffer is not None:
            longer[:, :, :start] = buffer[:, :, :start]
        buffer = longer
    buffer[:, :, start : start + added] = new_RHQd
    return buffer
