"""Parts of a batch: rows of it, for memory that the whole batch does not fit into.

Losses are sums, and every part divides by the counts of the whole update: the parts' gradients add up to the
batch's.
"""

from collections.abc import Iterator

from torch import Tensor

from multihead.batch import Batch


def rows(batch: Batch) -> int:
    """Return the number of rows of a batch; 1 for a batch that cannot be split by rows."""
    sizes = {tensor.shape[0] if tensor.dim() else 0 for tensor in batch.tensors()}
    return max(1, sizes.pop()) if len(sizes) == 1 else 1


def split(batch: Batch, parts: int) -> Iterator[Batch]:
    """Yield a batch in at most ``parts`` parts of nearly as many rows, in order.

    The plain numbers of a part (``tokens``) are those of the whole batch.
    """
    count = rows(batch)
    parts = min(parts, count)
    if parts < 2:
        yield batch
        return
    for number in range(parts):
        yield _rows(batch, number * count // parts, (number + 1) * count // parts)


def _rows(batch: Batch, first: int, end: int) -> Batch:
    def cut(tensor: Tensor) -> Tensor:
        return tensor[first:end]

    return batch.map_tensors(cut)
