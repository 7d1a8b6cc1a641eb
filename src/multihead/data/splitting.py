"""Split of a corpus into training, validation and test sets that share no sentence.

If a corpus has several translations of a sentence, a random split puts one into training and another into the
test set. So pairs that share a sentence, directly or through other pairs, form a group that is never divided.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes
from multihead.data.plan import shuffle_indices

PARTS = ("train", "valid", "test")
TRAIN, VALID, TEST = range(3)


def connected_groups(sources: Hashes, targets: Hashes) -> NDArray[np.int64]:
    """Return the group of each pair, (N,): the connected components, numbered from 0 by first pair.

    Args:
        sources: hashes of the source sentences, (N,).
        targets: hashes of the target sentences, (N,). Equal hashes on different sides connect nothing.
    """
    source_names, source_nodes = np.unique(sources, return_inverse=True)
    target_nodes = np.unique(targets, return_inverse=True)[1] + len(source_names)
    parents = array("q", range(int(target_nodes.max(initial=-1)) + 1))
    for source, target in zip(source_nodes.tolist(), target_nodes.tolist(), strict=True):
        left, right = _root(parents, source), _root(parents, target)
        parents[max(left, right)] = min(left, right)
    roots = np.array([_root(parents, node) for node in source_nodes.tolist()], dtype=np.int64)
    _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
    ranks = np.empty(len(first), dtype=np.int64)
    ranks[np.argsort(first)] = np.arange(len(first))
    return ranks[inverse]


def _root(parents: "array[int]", node: int) -> int:
    """Return the representative of a node's group (union-find with path halving)."""
    while parents[node] != node:
        parents[node] = parents[parents[node]]
        node = parents[node]
    return node


def split(groups: NDArray[np.int64], *, valid: int, test: int, seed: int) -> NDArray[np.uint8]:
    """Fill the test and validation sets with random whole groups; the rest is the training set.

    A group too large for the remaining room is skipped, so very large groups stay in training.

    Args:
        groups: group of each pair, (N,), numbered from 0.
        valid: number of validation pairs.
        test: number of test pairs.
        seed: seeds the choice.

    Returns:
        TRAIN, VALID or TEST for each pair, (N,). A set may be slightly short if no group fits.
    """
    sizes = np.bincount(groups)
    part_of = np.full(len(sizes), TRAIN, dtype=np.uint8)
    left = {TEST: test, VALID: valid}
    for group in shuffle_indices(len(sizes), seed, "split"):
        part = next((part for part, room in left.items() if 0 < sizes[group] <= room), None)
        if part is not None:
            part_of[group] = part
            left[part] -= int(sizes[group])
        if not any(left.values()):
            break
    return part_of[groups]
