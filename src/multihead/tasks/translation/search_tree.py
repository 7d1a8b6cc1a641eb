"""Record of a beam search: the kept and pruned branches of every step."""

from dataclasses import dataclass, field
from typing import Any, cast

import torch

from multihead.inspect import figures
from multihead.inspect.maps import sentence
from multihead.inspect.maps.calls import evaluating
from multihead.inspect.page import packing
from multihead.inspect.page.packing import Json
from multihead.search.hypotheses import Hypothesis
from multihead.search.observer import Branches, Fate
from multihead.search.stepper import Stepper
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.lines.batching import SourceLine
from multihead.tasks.translation.lines.searching import collate_sources, search
from multihead.text.tokenizer import Tokenizer

_FATES = {Fate.PRUNED: "pruned", Fate.KEPT: "kept", Fate.FINISHED: "finished", Fate.CUT: "cut"}


@dataclass(slots=True)
class BeamRecorder:
    """Search observer that records the beam of one sentence.

    Attributes:
        tokenizer: target tokenizer.
        pruned: number of pruned branches to record per step, the most probable ones.
        steps: branches of each step, most probable first.
    """

    tokenizer: Tokenizer
    pruned: int
    steps: list[list[Json]] = field(default_factory=list)

    def __call__(self, branches: Branches) -> None:
        """Record one step."""
        sums, fates = branches.log_probabilities[0], branches.fates[0]
        order = [i for i in sums.argsort(descending=True).tolist() if sums[i] > -torch.inf]
        pruned = [i for i in order if fates[i] == Fate.PRUNED][: self.pruned]
        recorded = [i for i in order if fates[i] != Fate.PRUNED] + pruned
        self.steps.append([self._branch(branches, i) for i in recorded])

    def _branch(self, branches: Branches, i: int) -> Json:
        token = int(branches.tokens[0, i])
        return {
            "id": token,
            "text": figures.visible(sentence(self.tokenizer, [token]).pieces[0].text, 40),
            "parent": int(branches.parents[0, i]),
            "row": int(branches.rows[0, i]),
            "fate": _FATES[Fate(int(branches.fates[0, i]))],
            "sum": packing.round_number(branches.log_probabilities[0, i].item()),
        }


def search_tree(translator: Translator, text: str) -> tuple[list[Hypothesis], Json]:
    """Run the beam search in fp32 and record every step.

    Args:
        translator: a translator of a single run, whose settings give beam size and limits.
        text: the source sentence.

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
    recorder = BeamRecorder(target, pruned=s.beam_size)
    model = translator.models[0]
    with evaluating(model):
        [hypotheses] = search(
            cast(Stepper[Any], model),
            source.to(translator.device),
            [[target.bos_id]],
            s.model_copy(update={"method": "beam", "n_best": s.beam_size}),
            target=target,
            capacity=None if translator.limit is None else translator.limit - 1,
            numbers=[0],
            observer=recorder,
        )
    tree = {"beam_size": s.beam_size, "length_penalty": s.length_penalty, "steps": recorder.steps}
    return hypotheses, tree
