"""The model's own greedy search, which an export must agree with."""

from collections.abc import Sequence
from typing import Any, cast

import torch
from torch import nn

from multihead.batch import Source
from multihead.search.constraints import Banned
from multihead.search.greedy import greedy
from multihead.search.request import LengthLimits
from multihead.text.tokenizer import Tokenizer


@torch.inference_mode()
def greedy_tokens(
    model: nn.Module, target: Tokenizer, ids: Sequence[int], limits: LengthLimits, banned: Sequence[int]
) -> tuple[int, ...]:
    """Return the most probable token of each step for a sentence, given without its end symbol."""
    source = Source(torch.tensor([[*ids, target.eos_id]]), torch.tensor([len(ids) + 1]))
    ((best,),) = greedy(
        cast(Any, model),
        source,
        [[target.bos_id]],
        eos_id=target.eos_id,
        limits=limits,
        constraints=[Banned(banned)],
    )
    return best.tokens
