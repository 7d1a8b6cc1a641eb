"""Verification of an export to the transformers library: by the import, and by the library itself."""

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor, nn

from multihead.apps.export import comparison
from multihead.apps.export.library import import_library
from multihead.apps.huggingface import foreign
from multihead.apps.huggingface.foreign._folder import Folder
from multihead.batch import Input
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import Settings
from multihead.run import Run, tensors

SENTENCES = 200
TOLERANCE = 1e-3
"""Largest difference in a log-probability; float32 rounding accounts for about 1e-5."""
LENGTH = 512
"""Length of a random text in tokens, unless the model's limit is lower."""


def same_weights(folder: Folder, recipe: Recipe[Settings], ours: Mapping[str, Tensor], place: str) -> None:
    """Refuse an export that does not import as the same weights, bit for bit, and the same settings.

    Raises:
        UserError: it does not.
    """
    kind = importlib.import_module(f"{foreign.__name__}.{folder.config['model_type']}")
    theirs, _ = tensors.load(folder.path / "model.safetensors")
    again: dict[str, Tensor] = kind.weights(theirs, folder)
    original = {name: weight.float().cpu() for name, weight in ours.items()}
    differing = [
        name
        for name, weight in again.items()
        if name in original and not torch.equal(weight.reshape(original[name].shape).float(), original[name])
    ]
    differing += sorted(original.keys() - again.keys())
    settings = {key.removeprefix("model."): value for key, value in kind.settings(folder).items()}
    for key in ("d_model", "num_layers", "num_heads", "activation"):
        if key in settings and settings[key] != getattr(recipe.model, key, settings[key]):
            differing.append(key)
    if differing:
        raise UserError(f"the export does not import as the same model: {differing[0]} differs", place=place)


def verify(run: Run, model: nn.Module, folder: Path, architecture: str) -> str:
    """Compare the library's outputs with the run's; return the result in words.

    A translator must give the same translations of at least 200 sentences, another model the same
    log-probabilities.

    Raises:
        UserError: they differ; the library is not installed.
    """
    library = import_library("transformers")
    theirs = getattr(library, architecture).from_pretrained(folder, local_files_only=True).eval()
    if run.recipe.kind != "transformer":
        return _same_scores(run, model, theirs)
    tokenizer = library.AutoTokenizer.from_pretrained(folder, local_files_only=True)
    foreign_model = Translating(theirs, tokenizer, run, getattr(model, "limit", None))
    result = comparison.compare(run, foreign_model, "float32", sentences=SENTENCES)
    result.write(folder, place=str(run.folder))
    return str(result)


def _same_scores(run: Run, model: nn.Module, theirs: Any) -> str:
    """Compare the outputs for random inputs."""
    random = torch.Generator().manual_seed(1)
    s: Any = run.recipe.model
    with torch.inference_mode():
        if run.recipe.kind == "vit":
            # Ours reads pixels from 0 to 1, theirs from -1 to 1.
            pixels = torch.rand(2, s.channels, s.image_size, s.image_size, generator=random)
            ours, expected = cast(Any, model)(pixels), theirs(pixel_values=2 * pixels - 1).logits
        else:
            length = min(LENGTH, getattr(s, "context", LENGTH), getattr(s, "max_positions", LENGTH))
            ids_BN = torch.randint(s.vocab_size, (2, length), generator=random)
            ours, expected = _logits(model, ids_BN, run.recipe.kind), theirs(input_ids=ids_BN)
            expected = expected.prediction_logits if run.recipe.kind == "bert" else expected.logits
    off = float((ours.log_softmax(-1) - expected.log_softmax(-1)).abs().max())
    if not off <= TOLERANCE:
        fact = f"the transformers library computes a different model: log-probabilities differ by {off:.2g}"
        raise UserError(fact, place=str(run.folder))
    return f"log-probabilities of random inputs differ by at most {off:.1g}"


def _logits(model: nn.Module, ids_BN: Tensor, kind: str) -> Tensor:
    if kind == "gpt":
        logits_BNV: Tensor = model(ids_BN)
        return logits_BNV
    lengths_B = torch.full((len(ids_BN),), ids_BN.shape[1])
    logits, _ = model(Input(ids_BN, torch.zeros_like(ids_BN), lengths_B))
    return cast(Tensor, logits)


class Translating:
    """The exported translator with the library's own search (``comparison.Foreign``)."""

    def __init__(self, model: Any, tokenizer: Any, run: Run, limit: int | None) -> None:
        self._model, self._tokenizer, self._search, self._limit = model, tokenizer, run.recipe.search, limit
        self._target = run.tokenizers()[1]

    def search(
        self, lines: Sequence[str], beam_size: int | None, length_penalty: float | None
    ) -> list[tuple[str, float]]:
        """Return the translation of each line and its score; lines of one length are searched together."""
        sources = [self._tokenizer(line)["input_ids"] for line in lines]
        groups: dict[int, list[int]] = {}
        for number, ids in enumerate(sources):
            groups.setdefault(len(ids), []).append(number)
        translations = [("", 0.0)] * len(lines)
        for length, numbers in groups.items():
            if length == 1:
                continue  # the end symbol alone: an empty line
            ids_BS = torch.tensor([sources[number] for number in numbers])
            best = self._best(ids_BS, beam_size or 1, length_penalty or 0.0)
            for number, (tokens, score) in zip(numbers, best, strict=True):
                translations[number] = self._target.decode(tokens).replace("\n", " "), score
        return translations

    def _best(self, ids_BS: Tensor, beam: int, alpha: float) -> list[tuple[list[int], float]]:
        """Return each sentence's best output, with the library's hypotheses ranked by our length penalty."""
        longest = self._search.max_length or ids_BS.shape[1] + self._search.max_extra
        if self._limit is not None:
            longest = min(longest, self._limit - 1)
        several = {"num_return_sequences": beam, "early_stopping": "never"} if beam > 1 else {}
        with torch.inference_mode():
            generated = self._model.generate(
                input_ids=ids_BS,
                attention_mask=torch.ones_like(ids_BS),
                num_beams=beam,
                length_penalty=0.0,
                max_new_tokens=longest + 1,
                max_length=None,
                return_dict_in_generate=True,
                output_scores=True,
                **several,
            )
            beams = getattr(generated, "beam_indices", None)
            steps_RT = self._model.compute_transition_scores(
                generated.sequences, generated.scores, beams, normalize_logits=beam == 1
            )
        end = self._target.eos_id
        outputs = []
        for row, scores in zip(generated.sequences[:, 1:].tolist(), steps_RT.tolist(), strict=True):
            length = row.index(end) + 1 if end in row else len(row)
            total = sum(scores[:length])
            outputs.append((row[: length - (end in row)][:longest], total / ((5 + length) / 6) ** alpha))
        groups = (outputs[first : first + beam] for first in range(0, len(outputs), beam))
        return [max(group, key=lambda output: output[1]) for group in groups]
