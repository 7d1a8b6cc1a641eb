"""Validation of spans: loss, exact match, F1."""

import numpy as np
import torch
from torch import nn

from multihead.data.plan import batch_by_length, evenly_spaced
from multihead.models.bert_spans import span_loss
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.system import hardware
from multihead.tasks.spans.answer_scores import answer_scores
from multihead.tasks.spans.answerer import NO_SPAN, as_answer, spans
from multihead.tasks.spans.question_tables import shorten
from multihead.tasks.spans.questions import PreparedQuestions
from multihead.training import Validation

SAMPLES = 4
"""Questions in the samples."""
CHARACTERS = 120
"""Characters of a text in the samples."""


class Validator:
    """Validates a model on at most ``validation.max_examples`` of the prepared questions."""

    def __init__(self, prepared: PreparedQuestions, recipe: Recipe[Settings], device: torch.device) -> None:
        self.prepared, self.device = prepared, device
        self.max_answer: int = recipe.data.max_answer
        self.dtype = hardware.pick_dtype(recipe.training.precision, device)
        self.threshold = 0.0 if prepared.unanswerable else -float("inf")
        self.rows = evenly_spaced(len(prepared.valid.given), recipe.validation.max_examples)
        chosen = set(self.rows.tolist())
        windows = [n for n, window in enumerate(prepared.valid.windows) if window.row in chosen]
        lengths = prepared.valid.lengths()
        self.batches = batch_by_length(np.array(windows), lengths, lengths, recipe.training.batch_tokens)

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per window, exact match and F1; some questions as samples."""
        texts = self.prepared.valid
        nll, count, best = 0.0, 0, dict.fromkeys(self.rows.tolist(), NO_SPAN)
        for rows in self.batches:
            batch = texts.batch(rows, self.prepared.tokenizer)
            with hardware.autocast(self.device, self.dtype):
                start_BN, end_BN = (one.float().cpu() for one in model(batch.input.to(self.device)))
            nll += span_loss(start_BN, end_BN, batch)["loss"].sum.item()
            count += len(rows)
            chosen = [texts.windows[row] for row in rows.tolist()]
            for row, span in spans(start_BN, end_BN, batch.input, chosen, texts.encoded, self.max_answer):
                best[row] = max(best[row], span, key=lambda one: one.score)
        given = [texts.given[row] for row in best]
        answers = [
            as_answer(one.text, texts.encoded[row], span, self.threshold).text
            for one, (row, span) in zip(given, best.items(), strict=True)
        ]
        scores = answer_scores(answers, [one.answer for one in given])
        samples = [
            f"  text     {shorten(one.text, CHARACTERS)}\n  question {one.question}\n"
            f"  answer   {one.answer or '(none)'}\n  output   {answer or '(none)'}"
            for one, answer in zip(given[:SAMPLES], answers, strict=False)
        ]
        metrics = {"loss": nll / count, "exact": scores.exact, "f1": scores.f1}
        return Validation(metrics, "\n\n".join(samples))
