"""Transfer of trained weights to a model with a larger vocabulary: new symbols get new embeddings."""

from collections.abc import Mapping

from torch import Tensor


def grown(
    trained: Mapping[str, Tensor], fresh: Mapping[str, Tensor], old: int, new: int
) -> dict[str, Tensor]:
    """Return the trained weights, extended by the fresh model's rows for new tokens.

    Args:
        trained: weights of the trained model.
        fresh: weights of a newly initialised model.
        old: size of the trained model's vocabulary; its ids are the first of the new one.
        new: size of the fresh model's vocabulary.

    Returns:
        The weights. Matrices with a row per token have ``new`` rows; all others, and those that differ in
        another size too, are unchanged.
    """
    found = {}
    for name, weight in trained.items():
        other = fresh.get(name)
        if other is not None and _grows(weight, other, old, new):
            larger = other.clone()
            larger[:old] = weight
            weight = larger
        found[name] = weight
    return found


def _grows(weight: Tensor, other: Tensor, old: int, new: int) -> bool:
    rows = weight.shape[:1] == (old,) and other.shape[:1] == (new,)
    return rows and weight.shape[1:] == other.shape[1:]
