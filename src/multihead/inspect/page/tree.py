"""The beam while it searches: every step's branches, kept and pruned."""

from dataclasses import dataclass, field
from typing import Any, cast

import torch

from multihead.attention_maps import sentence
from multihead.attention_maps.calls import evaluating
from multihead.generation import Translator
from multihead.generation.batching import SourceLine, collate_sources
from multihead.generation.searching import search
from multihead.inspect import pictures
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Json
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Branches, Fate
from multihead.search.stepper import Stepper
from multihead.text.tokenizer import Tokenizer

_FATES = {Fate.PRUNED: "pruned", Fate.KEPT: "kept", Fate.FINISHED: "finished", Fate.CUT: "cut"}


@dataclass(slots=True)
class Watch:
    """An observer that notes the beam of one sentence.

    Attributes:
        tokenizer: of the target.
        pruned: how many of the likeliest pruned branches to note at each step.
        steps: for each step, its branches, likeliest first.
    """

    tokenizer: Tokenizer
    pruned: int
    steps: list[list[Json]] = field(default_factory=list)

    def __call__(self, branches: Branches) -> None:
        """Note one step."""
        sums, fates = branches.log_probabilities[0], branches.fates[0]
        order = [place for place in sums.argsort(descending=True).tolist() if sums[place] > -torch.inf]
        pruned = [place for place in order if fates[place] == Fate.PRUNED][: self.pruned]
        shown = [place for place in order if fates[place] != Fate.PRUNED] + pruned
        self.steps.append([self._branch(branches, place) for place in shown])

    def _branch(self, branches: Branches, place: int) -> Json:
        token = int(branches.tokens[0, place])
        return {
            "id": token,
            "text": pictures.visible(sentence(self.tokenizer, [token]).pieces[0].text, 40),
            "parent": int(branches.parents[0, place]),
            "row": int(branches.rows[0, place]),
            "fate": _FATES[Fate(int(branches.fates[0, place]))],
            "sum": packing.rounded(branches.log_probabilities[0, place].item()),
        }


def search_tree(translator: Translator, text: str) -> tuple[list[Hypothesis], Json]:
    """Search once more, in fp32, and look on.

    Args:
        translator: of one run; the size of the beam and its limits are those of its settings.
        text: what to translate.

    Returns:
        The hypotheses, best first, and the tree.
    """
    s, target = translator.settings, translator.target_tokenizer
    ids = translator.source_tokenizer.encode(text)
    source = collate_sources(
        [SourceLine(text, ids, (), 0)],
        pad_id=translator.source_tokenizer.pad_id,
        eos_id=translator.source_tokenizer.eos_id,
    )
    watch = Watch(target, pruned=s.beam_size)
    model = translator.models[0]
    with evaluating(model):
        [found] = search(
            cast(Stepper[Any], model),
            source.to(translator.device),
            [[target.bos_id]],
            s.model_copy(update={"method": "beam", "n_best": s.beam_size}),
            target=target,
            capacity=None if translator.limit is None else translator.limit - 1,
            numbers=[0],
            observer=watch,
        )
    tree = {"beam_size": s.beam_size, "length_penalty": s.length_penalty, "steps": watch.steps}
    return found, tree
