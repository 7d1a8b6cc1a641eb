"""Search under a constraint of your own: python examples/search.py [RUN "SENTENCE"]."""

import sys

import torch
from torch import Tensor

import multihead
from multihead.batch import Source
from multihead.search.beam import beam

run, sentence = sys.argv[1:] or ("runs/example", "zweiundvierzig")


def no_stutter(history_RT: Tensor) -> tuple[Tensor, Tensor]:
    """Forbid each row's last token after itself."""
    return torch.arange(len(history_RT)), history_RT[:, -1]


translator = multihead.load(run, precision="fp32").with_models()
source, target = translator.source_tokenizer, translator.target_tokenizer
ids = [*source.encode(sentence), source.eos_id]
batch = Source(torch.tensor([ids]), torch.tensor([len(ids)]))
((best,),) = beam(
    translator.models[0], batch, [[target.bos_id]], eos_id=target.eos_id, constraints=[no_stutter]
)
print(target.decode(best.tokens), f"{best.log_probability:.2f}")
