"""Bipartite matching of predictions and objects (Carion et al. 2020, sec. 3.1; Kuhn 1955)."""

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def match(costs_BQM: Tensor, objects_BM: Tensor) -> Tensor:
    """The assignment of objects to predictions with the least sum of costs (eq. 1).

    Args:
        costs_BQM: cost of each pair of a prediction and an object.
        objects_BM: True for an object, False for padding.

    Returns:
        The prediction of each object, (B, M); 0 for padding.

    Raises:
        ValueError: an image has more objects than there are predictions.
    """
    costs = costs_BQM.detach().float().cpu().numpy()
    # A training that diverges is reported by its loss, not here.
    costs = np.nan_to_num(costs, nan=1e9, posinf=1e9, neginf=-1e9)
    present = objects_BM.cpu().numpy()
    if present.sum(axis=1).max(initial=0) > costs.shape[1]:
        raise ValueError(f"{present.sum(axis=1).max()} objects, but only {costs.shape[1]} predictions")
    matched = np.zeros(present.shape, dtype=np.int64)
    for row, (cost, there) in enumerate(zip(costs, present, strict=True)):
        columns = np.flatnonzero(there)
        queries, columns_chosen = linear_sum_assignment(cost[:, columns])
        matched[row, columns[columns_chosen]] = queries
    return torch.from_numpy(matched).to(costs_BQM.device)
