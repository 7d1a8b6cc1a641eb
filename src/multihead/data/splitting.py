"""A corpus in three parts that share no sentence: to train on, to choose by, to report on.

In a corpus with several translations of a sentence, a line drawn at random puts one translation into
training and another into the test. Pairs that share a sentence, directly or through other pairs, are a
group; a part takes whole groups only.
"""

from array import array

import numpy as np
from numpy.typing import NDArray

from multihead.data.hashes import Hashes
from multihead.data.plan import shuffled

PARTS = ("train", "valid", "test")
TRAIN, VALID, TEST = range(3)


def connected_groups(sources: Hashes, targets: Hashes) -> NDArray[np.int64]:
    """Return the number of each pair's group, counted from 0 in the order of their first pairs.

    Args:
        sources: hashes of the source sentences, (N,).
        targets: hashes of the target sentences, (N,). The same hash on both sides connects nothing.
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
    """Assign whole groups at random until a part has the pairs that are wanted; the rest is for training.

    A group that would overfill a part is passed over, so very large groups stay in training.

    Args:
        groups: each pair's group, (N,), numbered from 0.
        valid: pairs wanted to validate on.
        test: pairs wanted to test on.
        seed: chooses.

    Returns:
        TRAIN, VALID or TEST for each pair, (N,). A part may be a little short where no group fits.
    """
    sizes = np.bincount(groups)
    part_of = np.full(len(sizes), TRAIN, dtype=np.uint8)
    left = {TEST: test, VALID: valid}
    for group in shuffled(len(sizes), seed, "split"):
        part = next((part for part, room in left.items() if 0 < sizes[group] <= room), None)
        if part is not None:
            part_of[group] = part
            left[part] -= int(sizes[group])
        if not any(left.values()):
            break
    return part_of[groups]
