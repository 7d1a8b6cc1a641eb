"""Comparison of an exported model with its run: the same sentences translated by both runtimes.

The result is written to the export's folder, comparison.json. CTranslate2 keeps a beam full when a hypothesis
ends, this toolkit lets it shrink, so that CTranslate2 finds a better hypothesis now and then. A worse one is
a fault.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Protocol

from multihead.data.pairs import read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import SearchSettings
from multihead.run import Run
from multihead.scores.bleu import bleu
from multihead.tasks.translation.lines import Translation, Translator

NAME = "comparison.json"
SENTENCES = 500
BEAM = 5
TIE = 0.005
"""Difference of two scores that rounding explains."""
MAX_LOSS = 0.3
"""Largest loss of BLEU by quantization."""
WORSE = 0.01
"""Allowed fraction of worse translations with a length penalty: CTranslate2 ends a search without it."""
WORDS = 7
"""Words in a sentence drawn from the vocabulary."""


class Foreign(Protocol):
    """The exported model: see ``search`` in translate.py."""

    def search(
        self, lines: Sequence[str], beam_size: int | None, length_penalty: float | None
    ) -> list[tuple[str, float]]:
        """Return the translation of each line and its score."""
        ...


@dataclass(frozen=True)
class Agreement:
    """Agreement of two runtimes on a set of sentences.

    Attributes:
        same: sentences with the same translation.
        better: other translations, to which the foreign runtime gives at least the score of ours.
        worse: other translations with a lower score.
        cut: other translations that end at the length limit, whose scores cannot be compared.
        bleu: BLEU of the run's and of the export's translations, in percent; None without references.
    """

    same: int = 0
    better: int = 0
    worse: int = 0
    cut: int = 0
    bleu: tuple[float, float] | None = None


@dataclass(frozen=True)
class RuntimeComparison:
    """Result of a comparison.

    Attributes:
        format: format of the exported weights.
        sentences: number of sentences.
        origin: their file, or "its vocabulary".
        greedy: agreement of greedy search.
        beam: agreement of beam search without length penalty.
        settings: agreement with the run's own search settings.
        faults: reasons to refuse the export.
    """

    format: str
    sentences: int
    origin: str
    greedy: Agreement
    beam: Agreement
    settings: Agreement
    faults: tuple[str, ...] = ()

    def write(self, folder: Path, *, place: str, remedy: str | None = None) -> None:
        """Write comparison.json.

        Raises:
            UserError: the translations give a reason to refuse the export of the run ``place``.
        """
        if self.faults:
            raise UserError("; ".join(self.faults), place=place, remedy=remedy)
        (folder / NAME).write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")

    def __str__(self) -> str:
        parts = [f"{self.sentences} sentences of {self.origin} in both runtimes"]
        for name in ("greedy", "beam", "settings"):
            agreement: Agreement = getattr(self, name)
            label = "with the run's settings" if name == "settings" else name
            bleu = f", BLEU {agreement.bleu[0]:.1f} and {agreement.bleu[1]:.1f}" if agreement.bleu else ""
            counts = f"{agreement.same} the same, {agreement.better} better, {agreement.worse} worse"
            parts.append(f"{label}: {counts}{bleu}")
        return "; ".join(parts)


def compare(
    run: Run,
    foreign: Foreign,
    quantization: str,
    max_loss: float = MAX_LOSS,
    *,
    sentences: int = SENTENCES,
) -> RuntimeComparison:
    """Translate a fixed set of sentences with both runtimes.

    The set is the beginning of the run's validation data, else of a test set, else made from its vocabulary.

    Args:
        run: the exported run.
        foreign: the exported model.
        quantization: format of its weights.
        max_loss: largest loss of BLEU by quantization.
        sentences: maximum number of sentences.
    """
    lines, references, origin = sentences_of(run)
    lines, references = lines[:sentences], references[:sentences]
    ours = Translator.load(run.folder, device="cpu", precision="fp32")
    search: SearchSettings = run.recipe.search
    plain = {
        "n_best": 1,
        "min_length": 0,
        "no_repeat_ngram": 0,
        "coverage_penalty": 0.0,
        "replace_unknown": False,
    }
    beam_size = search.beam_size if search.method == "beam" else 1
    searches = {
        "greedy": (1, 0.0, "exact"),
        "beam": (BEAM, 0.0, "exact"),
        "settings": (beam_size, search.length_penalty, search.stop),
    }
    agreements = {}
    for name, (size, alpha, stop) in searches.items():
        method = "beam" if size > 1 else "greedy"
        changed = {"method": method, "beam_size": size, "length_penalty": alpha, "stop": stop}
        settings = search.model_copy(update={**plain, **changed})
        theirs = foreign.search(lines, size, alpha)
        agreements[name] = _agreement(ours.translate(lines, settings), theirs, references)
    faults = tuple(_faults(agreements, quantization, max_loss))
    return RuntimeComparison(quantization, len(lines), origin, **agreements, faults=faults)


def sentences_of(run: Run) -> tuple[list[str], list[str], str]:
    """Return source sentences, their references (none if unknown), and their origin."""
    data = run.recipe.data
    sets = [
        (data.valid_source, data.valid_target),
        *((files[:1], files[1:]) for files in data.tests.values()),
    ]
    for source, target in sets:
        if source and not run.directions:
            try:
                pairs = list(islice(read_pairs(data, source, target), SENTENCES))
            except UserError:  # moved or deleted since the training
                continue
            return [text for text, _ in pairs], [reference for _, reference in pairs], source[0]
    tokenizer = run.tokenizers()[0]
    usual = [number for number in range(tokenizer.vocab_size) if number not in tokenizer.special_ids]
    generator = random.Random(1)
    texts = (tokenizer.decode(generator.choices(usual, k=WORDS)) for _ in range(SENTENCES))
    return [text.replace("\n", " ") for text in texts if text.isprintable()], [], "its vocabulary"


def _agreement(
    ours: Sequence[Translation], theirs: Sequence[tuple[str, float]], references: Sequence[str]
) -> Agreement:
    counts = dict.fromkeys(("same", "better", "worse", "cut"), 0)
    for translation, (text, score) in zip(ours, theirs, strict=True):
        if translation.text == text:
            counts["same"] += 1
        elif translation.hypotheses and translation.hypotheses[0].cut:
            counts["cut"] += 1
        else:
            at_least = not translation.hypotheses or score >= translation.hypotheses[0].score - TIE
            counts["better" if at_least else "worse"] += 1
    agreement = Agreement(counts["same"], counts["better"], counts["worse"], counts["cut"])
    if not references:
        return agreement
    outputs: list[list[str]] = [[translation.text for translation in ours], [text for text, _ in theirs]]
    first, second = (round(bleu(output, references).value, 2) for output in outputs)
    return replace(agreement, bleu=(first, second))


def _faults(agreements: dict[str, Agreement], quantization: str, max_loss: float) -> list[str]:
    """Return the reasons to refuse the export: in float32 all must agree, else BLEU must not fall."""
    faults = []
    for name, agreement in agreements.items():
        total = agreement.same + agreement.better + agreement.worse + agreement.cut
        differing = total - agreement.same if name == "greedy" else agreement.worse
        if name == "settings" and differing <= WORSE * total:
            differing = 0
        if quantization == "float32" and differing:
            faults.append(f"{name}: {differing} of {total} translations differ from those of the run")
        if quantization != "float32" and agreement.bleu and agreement.bleu[0] - agreement.bleu[1] > max_loss:
            faults.append(f"{name}: {agreement.bleu[0] - agreement.bleu[1]:.2f} BLEU lost")
    return faults
