"""Validation of a translator: likelihood, BLEU, chrF, and sample translations."""

import math
from collections.abc import Collection

import torch
from torch import nn

from multihead.data.batches import PairList, sequential_batches
from multihead.data.plan import evenly_spaced
from multihead.data.prepare import PreparedCorpus
from multihead.inspect.report import AlignedSentence
from multihead.nn.losses import validation_terms
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.recipe.settings.translation import ValidationSettings
from multihead.scores import bleu, character_error_rate, chrf, exact_match, word_error_rate
from multihead.system import hardware
from multihead.tasks.translation.compare import alignment
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.texts.carrying import translate_lines
from multihead.training import Validation

MAPS, MIN_WORDS, MAX_WORDS = 3, 3, 14
"""Number of sentences with attention maps in the report, and their minimum and maximum length in words."""

NEAR = 50
"""Per cent of the characters in which sources and targets differ, at most, for copying to be compared."""


class Validator:
    """Validates a model on at most ``validation.max_examples`` prepared validation pairs.

    It translates with greedy search, which is fast and ranks checkpoints as beam search does.

    Args:
        prepared: prepared data.
        recipe: all settings.
        device: device of the model.
        validation: validation settings in place of the recipe's.
        known: symbols that the training pairs get.
        changed: placeholders that stay in the text, of ``text.changed_kinds.not_kept``.
    """

    def __init__(
        self,
        prepared: PreparedCorpus,
        recipe: Recipe[Settings],
        device: torch.device,
        *,
        validation: ValidationSettings | None = None,
        known: Collection[str] = (),
        changed: Collection[str] = (),
    ) -> None:
        validation = validation or recipe.validation
        self.known, self.changed = known, changed
        self.prepared, self.device = prepared, device
        # The default precision of translation: int8 training does not imply int8 search.
        precision = recipe.training.precision
        self.precision: hardware.Precision = "auto" if precision == "int8" else precision
        self.batch_tokens = recipe.training.batch_tokens
        self.search = recipe.search.model_copy(update={"method": "greedy", "n_best": 1})
        self.lowercase = recipe.data.lowercase
        rows = evenly_spaced(len(prepared.valid), validation.max_examples)
        self.text = [prepared.valid_pairs[i] for i in rows]
        self.pairs = PairList(
            [prepared.valid.source(i) for i in rows], [prepared.valid.target(i) for i in rows]
        )
        self.copying = character_error_rate(*zip(*self.text, strict=True)) if self.text else math.inf
        self.sample_rows = evenly_spaced(len(rows), validation.samples).tolist()

    def __call__(self, model: nn.Module, step: int) -> Validation:
        """Return loss per token (unsmoothed) and further metrics, with translations as samples."""
        metrics = self._likelihood(model, step)
        sources, references = zip(*self.text, strict=True)
        translator = self.translator(model)
        translations = translate_lines(translator, sources, self.search, self.known, self.changed)
        outputs = [translation.text for translation in translations]
        metrics["bleu"] = bleu(outputs, references, lowercase=self.lowercase).value
        metrics["chrf"] = chrf(outputs, references, lowercase=self.lowercase).value
        if self.lowercase:
            outputs_, references_ = ([text.lower() for text in texts] for texts in (outputs, references))
        else:
            outputs_, references_ = outputs, list(references)
        metrics["exact"] = 100 * exact_match(outputs_, references_)
        metrics["wer"] = word_error_rate(outputs_, references_)
        metrics["cer"] = character_error_rate(outputs_, references_)
        samples = [
            f"source     {sources[i]}\nreference  {references[i]}\noutput     {outputs[i].strip()}"
            for i in self.sample_rows
        ]
        if self.copying < NEAR and metrics["cer"] > self.copying:
            samples.insert(
                0,
                f"worse than copying: outputs differ from the references in {metrics['cer']:.1f} % of the "
                f"characters, the sources in {self.copying:.1f} %",
            )
        return Validation(metrics, "\n\n".join(samples))

    def attention_maps(self, model: nn.Module) -> list[AlignedSentence]:
        """Return attention maps for a few validation sentences; none if the model has no attention."""
        translator = self.translator(model)
        suitable = [source for source, _ in self.text if MIN_WORDS <= len(source.split()) <= MAX_WORDS]
        aligned = []
        for source in (suitable[i] for i in evenly_spaced(len(suitable), MAPS)):
            output = translator.translate([source], self.search)[0].text
            map_ = alignment(translator, source, output)
            if map_ is not None:
                aligned.append(AlignedSentence(source, output, map_))
        return aligned

    def translator(self, model: nn.Module) -> Translator:
        """Return a translator with this model."""
        return Translator(
            [model],
            self.prepared.source_tokenizer,
            self.prepared.target_tokenizer,
            device=self.device,
            precision=self.precision,
        )

    def _likelihood(self, model: nn.Module, step: int) -> dict[str, float]:
        dtype = hardware.pick_dtype(self.precision, self.device)
        target = self.prepared.target_tokenizer
        sums = {"nll": 0.0, "accuracy": 0.0}
        tokens = 0
        for _, batch in sequential_batches(
            self.pairs,
            batch_tokens=self.batch_tokens,
            pad_id=target.pad_id,
            bos_id=target.bos_id,
            eos_id=target.eos_id,
        ):
            with hardware.autocast(self.device, dtype):
                loss = model.loss(batch.to(self.device), step)  # type: ignore[operator]
            for name, term in validation_terms(loss, *sums).items():
                sums[name] += term.sum.item()
            tokens += batch.tokens
        nll = sums["nll"] / tokens
        return {
            "loss": nll,
            "perplexity": math.exp(min(nll, 700)),
            "accuracy": sums["accuracy"] / tokens,
        }
