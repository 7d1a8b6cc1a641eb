"""Exercises of chapters 11 and 12: language models, masked language models, images."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from multihead.apps.course.exercises.compare import TOLERANCE, Check, Function, compare
from multihead.apps.course.korean import say
from multihead.nn.parts.patches import patches_of


def _next_token_loss(function: Function) -> str | None:
    torch.manual_seed(1)
    logits, ids = torch.randn(2, 5, 7), torch.tensor([[3, 6, 1, 2, 2], [5, 4, 0, 0, 0]])
    targets = torch.tensor([[6, 1, 2, 2], [4, 0, 0, 0]])
    expected = nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), targets.flatten(), ignore_index=0)
    return compare(function(logits, ids), expected, say("logits {}, ids with padding 0", (2, 5, 7)))


def _masking(function: Function) -> str | None:
    ids = torch.tensor([[11, 12, 13, 14, 15]])
    selected = torch.tensor([[True, False, True, True, True]])
    chance = torch.tensor([[0.1, 0.1, 0.79, 0.85, 0.95]])
    others = torch.tensor([[21, 22, 23, 24, 25]])
    expected = torch.tensor([[1, 12, 1, 24, 15]])
    return compare(function(ids, selected, chance, others, 1), expected, f"ids {ids.tolist()}")


def _filling(function: Function) -> str | None:
    def log_probability(text: Sequence[str]) -> float:
        return -float(len(text)) if text[1:] == ["2", "is", "two"] and text[0] == "1" else -99.0

    gap, candidates = ["?", "2", "is", "two"], ["7", "1", "4"]
    answer = function(log_probability, gap, 0, candidates)
    if answer is None:
        return say("nothing is returned")
    if gap[0] != "?":
        return say("it changes the text that it is given; build a new one for every candidate")
    fault = say("it fills {}, not the candidate of the most probable text, {}", repr(answer), "'1'")
    return None if answer == "1" else fault


def _patches(function: Function) -> str | None:
    torch.manual_seed(1)
    image = torch.rand(3, 4, 6)
    return compare(
        function(image, 2), patches_of(image[None], 2)[0], say("an image {}, patches of 2 x 2", (3, 4, 6))
    )


def _nearest_code(function: Function) -> str | None:
    torch.manual_seed(1)
    codes, patches = torch.randn(5, 3), torch.randn(11, 3)
    expected = torch.stack([((patch - codes) ** 2).sum(-1).argmin() for patch in patches])
    return compare(function(patches, codes), expected, say("11 patches, 5 codes"))


def _matching(function: Function) -> str | None:
    costs: list[tuple[list[list[float]], list[int]]] = [
        ([[1.0, 2.0], [1.0, 9.0]], [1, 0]),
        ([[4.0, 1.0, 3.0], [2.0, 0.0, 5.0], [3.0, 2.0, 2.0]], [1, 0, 2]),
    ]
    for rows, expected in costs:
        answer = function(torch.tensor(rows))
        if answer is None:
            return say("nothing is returned")
        if isinstance(answer, Tensor):
            answer = answer.tolist()
        if sorted(answer) != list(range(len(rows))):
            return say("{} does not give every row a column of its own", list(answer))
        total, least = (
            sum(row[column] for row, column in zip(rows, c, strict=True)) for c in (answer, expected)
        )
        if total > least + TOLERANCE:
            return say(
                "costs {}: {} costs {}, and {} only {}",
                rows,
                list(answer),
                f"{total:g}",
                expected,
                f"{least:g}",
            )
    return None


EXERCISES: Mapping[str, Check] = {
    "next-token loss": _next_token_loss,
    "masking": _masking,
    "filling a gap": _filling,
    "patches": _patches,
    "nearest code": _nearest_code,
    "matching": _matching,
}
