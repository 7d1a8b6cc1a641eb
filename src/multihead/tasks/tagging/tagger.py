"""Tagging with a trained run: a tag for each word."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from torch import nn

from multihead.data.plan import batch_by_length
from multihead.errors import UserError
from multihead.inspect.maps.calls import evaluating
from multihead.run import Run
from multihead.scores.classes import ClassScores, class_scores
from multihead.system import hardware
from multihead.system.hardware import Precision
from multihead.tasks.rows_alone import RowsAlone
from multihead.tasks.tagging.conll import TaggedSentence
from multihead.tasks.tagging.span_scores import SpanScores, are_spans, span_scores
from multihead.tasks.tagging.tagged import EncodedSentence, encode_words, tagged_batch
from multihead.text.tokenizer import Tokenizer

BATCH_TOKENS = 4096


@dataclass(frozen=True)
class TagScores:
    """Scores of predicted tags.

    Attributes:
        scores: accuracy, F1 and confusion matrix over the words.
        exact: fraction of the sentences without a wrong tag.
        sentences: number of sentences.
        spans: scores of labelled spans; None unless all tags are O, B-LABEL or I-LABEL.
    """

    scores: ClassScores
    exact: float
    sentences: int
    spans: SpanScores | None

    @property
    def f1(self) -> float:
        """F1 of labelled spans if there are any, else macro-averaged F1 of the tags."""
        return self.scores.f1 if self.spans is None else self.spans.f1


def tag_scores(
    true: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], names: Sequence[str]
) -> TagScores:
    """Return the scores of predicted tags, sentence by sentence; all tags are among ``names``."""
    numbers = {name: number for number, name in enumerate(names)}
    labels, outputs = ([numbers[tag] for tags in rows for tag in tags] for rows in (true, predicted))
    equal = [tuple(tags) == tuple(output) for tags, output in zip(true, predicted, strict=True)]
    return TagScores(
        class_scores(labels, outputs, len(names)),
        sum(equal) / max(1, len(equal)),
        len(equal),
        span_scores(true, predicted) if are_spans(names) else None,
    )


class Tagger:
    """Tags each word of a sentence.

    Args:
        model: a model with logits of the tags for every position.
        tokenizer: its tokenizer.
        names: the tags.
        max_length: maximum input length in tokens; longer sentences are tagged in parts.
        device: device of the model.
        precision: precision of matrix products.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        names: Sequence[str],
        *,
        max_length: int,
        device: torch.device,
        precision: Precision = "auto",
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self._alone = RowsAlone(model)
        self.names, self.max_length = tuple(names), max_length
        self._dtype = hardware.pick_dtype(precision, device)

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a tagger; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("tagging"), hardware.pick_device(device)
        names: Sequence[str] = run.recipe.model.class_names  # type: ignore[attr-defined]
        length = run.recipe.data.max_length
        return cls(run.load_model(where), run.tokenizers()[0], names, max_length=length, device=where)

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[list[str]]:
        """Return the tags of each sentence's words, in order.

        Args:
            sentences: the words of each sentence. A sentence too long for the model is tagged in parts, each
                without the context of the others.
        """
        parts = [
            (number, part)
            for number, encoded in enumerate(encode_words(sentences, self.tokenizer))
            for part in self._parts(encoded)
        ]
        lengths = np.array([len(part.ids) for _, part in parts], dtype=np.int32)
        part_tags: dict[int, list[str]] = {}
        with evaluating(self.model), hardware.autocast(self.device, self._dtype), torch.inference_mode():
            for rows in batch_by_length(np.arange(len(parts)), lengths, lengths, BATCH_TOKENS):
                group = [parts[row][1] for row in rows.tolist()]
                tags = [np.zeros_like(part.starts) for part in group]
                batch = tagged_batch(group, tags, self.tokenizer, self.max_length).input.to(self.device)
                self._alone.compare(batch)
                best_BN = self.model(batch).argmax(-1).cpu().numpy()
                for row, part, best_N in zip(rows.tolist(), group, best_BN, strict=True):
                    part_tags[row] = [self.names[number] for number in best_N[part.starts + 1]]
        tagged: list[list[str]] = [[] for _ in sentences]
        for row, (number, _) in enumerate(parts):
            tagged[number] += part_tags[row]
        return tagged

    def measure(self, sentences: Iterable[TaggedSentence]) -> TagScores:
        """Return the scores on tagged sentences.

        Raises:
            UserError: a tag that the model does not know, with its place.
        """
        sentences, names = list(sentences), set(self.names)
        for sentence in sentences:
            for tag in sentence.tags:
                if tag not in names:
                    remedy = f"Known: {', '.join(self.names)}."
                    raise UserError(f'unknown tag "{tag}"', place=sentence.place, remedy=remedy)
        predicted = self.tag([sentence.words for sentence in sentences])
        return tag_scores([sentence.tags for sentence in sentences], predicted, self.names)

    def _parts(self, encoded: EncodedSentence) -> list[EncodedSentence]:
        """Divide a sentence between words into parts that fit the model; longer words are truncated."""
        most = self.max_length - 2
        if len(encoded.ids) <= most:
            return [encoded] if len(encoded.starts) else []
        ends = [*encoded.starts[1:].tolist(), len(encoded.ids)]
        parts, first = [], 0
        for word in range(len(ends)):
            last = word + 1 == len(ends)
            if last or ends[word + 1] - encoded.starts[first] > most:
                start = encoded.starts[first]
                ids = encoded.ids[start : ends[word]][:most]
                parts.append(EncodedSentence(ids, encoded.starts[first : word + 1] - start))
                first = word + 1
        return parts
