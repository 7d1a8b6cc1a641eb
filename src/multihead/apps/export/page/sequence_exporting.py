"""The parts of a page that fills masked words (BERT) or classifies an image (ViT)."""

from collections.abc import Sequence
from typing import Any, TypeVar

import torch
from torch import nn

from multihead.apps.export.page import sequence_weights, vocabulary
from multihead.apps.export.page.exporting import (
    ENGINE,
    PageParts,
    facts_of,
    scripts,
    verified_description,
)
from multihead.apps.export.page.sequence_reference import (
    disagreement,
    example_image,
    image_logits,
    masked_logits,
)
from multihead.nn.description import ImageSpec, MaskedSpec
from multihead.run import Run
from multihead.tasks.masked.mask_tokens import MASK, encode_masked, mask_id
from multihead.text.tokenizer import Tokenizer

MASKED = scripts("tokenizer", "sequence_engine", "masked_text", "masked_worker")
"""The script of the worker of a page that fills masked words."""
IMAGE = scripts("sequence_engine", "image", "image_worker")
"""The script of the worker of a page that classifies an image."""
EXAMPLES = 6
S = TypeVar("S", MaskedSpec, ImageSpec)


def masked_parts(run: Run, examples: Sequence[str] = (), *, exact: bool = False) -> PageParts:
    """Return the parts of the page of a masked language model.

    Args:
        run: a trained masked language model.
        examples: texts that the page offers.
        exact: weights in float32 instead of int8.

    Raises:
        UserError: the page cannot express the model or its vocabulary; a layer differs from its description.
    """
    model, (tokenizer, _) = run.load_model().eval(), run.tokenizers()
    faults = vocabulary.not_expressible(tokenizer)
    mask = mask_id(tokenizer)
    if mask is None:
        faults.append("a vocabulary without a mask token")
    described = _description(run, model, MaskedSpec, faults, tokenizer.vocab_size)
    positions, attention = described.positions.weight, described.stack.layers[0].self_attention
    assert positions is not None
    assert mask is not None
    V = len(described.output.weight)
    offered = [text for text in examples if 0 < len(text) <= 200][:EXAMPLES]
    facts = {
        **facts_of(run, model, described.stack, described.stack, exact=exact),
        "kind": "masked",
        "heads": attention.heads,
        "limit": len(positions),
        "vocabulary": V,
        "begin": tokenizer.bos_id,
        "end": tokenizer.eos_id,
        "mask": mask,
        "mask_text": MASK,
        "banned": sorted({*tokenizer.special_ids, mask, *range(tokenizer.vocab_size, V)}),
        "examples": offered,
        # In float32 alone: rounding changes some tokens.
        "checks": [],
    }
    if exact:
        facts["checks"] = [_fill(described, tokenizer, text, facts["banned"]) for text in offered[:3]]
    packed = sequence_weights.to_bytes(described, torch.float32 if exact else torch.int8)
    vocabularies = {"source": vocabulary.to_json(tokenizer)}
    return PageParts(ENGINE.read_bytes(), packed, vocabularies, facts, MASKED, None)


def image_parts(run: Run, *, exact: bool = False) -> PageParts:
    """Return the parts of the page of an image classifier.

    Args:
        run: a trained vision transformer.
        exact: weights in float32 instead of int8.

    Raises:
        UserError: the page cannot express the model; a layer differs from its description.
    """
    model = run.load_model().eval()
    described = _description(run, model, ImageSpec, [], 0)
    numbers = map(str, range(len(described.classifier.weight)))
    names = getattr(run.recipe.model, "class_names", None) or numbers
    pixels_Chw = example_image(described)
    expected = int(image_logits(described, pixels_Chw / 255).argmax())
    facts = {
        **facts_of(run, model, described.stack, described.stack, exact=exact),
        "kind": "image",
        "heads": described.stack.layers[0].self_attention.heads,
        "channels": described.channels,
        "grid": described.grid,
        "patch": described.patch_size,
        "first": sum(part.reshape(-1, part.shape[-1]).shape[0] for part in described.first),
        "pooling": described.pooling,
        "classes": list(names),
        "examples": [],
        "checks": [{"expected": expected}] if exact else [],
    }
    packed = sequence_weights.to_bytes(described, torch.float32 if exact else torch.int8)
    return PageParts(ENGINE.read_bytes(), packed, {}, facts, IMAGE, None)


def _description(run: Run, model: nn.Module, kind: type[S], faults: list[str], vocabulary_size: int) -> S:
    return verified_description(
        run,
        model,
        kind,
        faults,
        not_expressible=sequence_weights.not_expressible,
        disagreement=lambda described: disagreement(model, described, vocabulary_size),
        remedy="Use `multihead inspect`.",
    )


def _fill(described: MaskedSpec, tokenizer: Tokenizer, text: str, banned: list[int]) -> dict[str, Any]:
    """A text whose middle token is masked, and the most probable token there."""
    ids = encode_masked(tokenizer, text) if MASK in text else tokenizer.encode(text)
    assert described.positions.weight is not None
    ids = ids[: len(described.positions.weight) - 2]
    place = len(ids) // 2
    mask = mask_id(tokenizer)
    assert mask is not None
    ids[place] = mask
    inputs = torch.tensor([tokenizer.bos_id, *ids, tokenizer.eos_id])
    with torch.inference_mode():
        logits_V = masked_logits(described, inputs)[place + 1]
        logits_V[banned] = -torch.inf
    return {"ids": ids, "place": place, "expected": int(logits_V.argmax())}
