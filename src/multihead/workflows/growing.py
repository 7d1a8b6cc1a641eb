"""Transfer of trained weights to a model with a larger vocabulary: new symbols get new embeddings."""

from collections.abc import Mapping

from torch import Tensor


def grow_weights(
    trained: Mapping[str, Tensor], fresh: Mapping[str, Tensor], old: int, new: int
) -> dict[str, Tensor]:
    """Return the trained weights, extended by the fresh model's rows for new tokens.

    Args:
        trained: weights of the trained model.
        fresh: weights of a newly initialised model.
        old: size of the trained model's vocabulary; its ids are the first of the new one.
        new: size of the fresh model's vocabulary.

    Returns:
        The weights. Axes of ``old`` that are ``new`` in the fresh model have grown, as the rows of embeddings
        do; weights that differ in another size too are unchanged.
    """
    found = {}
    for name, weight in trained.items():
        other = fresh.get(name)
        if other is not None and _grows(weight, other, old, new):
            larger = other.clone()
            larger[tuple(slice(size) for size in weight.shape)] = weight
            weight = larger
        found[name] = weight
    return found


def _grows(weight: Tensor, other: Tensor, old: int, new: int) -> bool:
    if weight.ndim != other.ndim or weight.shape == other.shape:
        return False
    sizes = zip(weight.shape, other.shape, strict=True)
    return all(here == there or (here, there) == (old, new) for here, there in sizes)
