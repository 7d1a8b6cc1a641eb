"""The parts of a language model's page: refusals, packing, verification."""

from typing import Any, cast

import torch

from multihead.apps.export.page import text_vocabulary, text_weights
from multihead.apps.export.page.exporting import (
    ENGINE,
    PageParts,
    facts_of,
    scripts,
    verified_description,
)
from multihead.apps.export.page.text_reference import disagreement
from multihead.nn.description import CausalSpec
from multihead.run import Run

SCRIPTS = scripts("tokenizer", "text_tokenizer", "random", "text_engine", "text_worker")
CARRIED = 24
"""Length of the text with which the page checks itself, in tokens."""


def text_parts(run: Run, *, exact: bool = False) -> PageParts:
    """Return the parts of a language model's page.

    Args:
        run: a trained language model.
        exact: weights in float32 instead of int8.

    Raises:
        UserError: the page cannot express the model or its vocabulary; a layer differs from its description.
    """
    model, (tokenizer, _) = run.load_model().eval(), run.tokenizers()
    described = verified_description(
        run,
        model,
        CausalSpec,
        text_vocabulary.not_expressible(tokenizer),
        not_expressible=text_weights.not_expressible,
        disagreement=lambda described: disagreement(model, described, tokenizer.vocab_size),
        remedy="Use `multihead generate` and `multihead inspect`.",
    )
    recipe: Any = run.recipe
    settings = recipe.search
    line_feed = tokenizer.encode("\n")
    begins = recipe.data.documents == "file" and line_feed and tokenizer.unk_id not in line_feed
    prompt = line_feed if begins else [tokenizer.eos_id]
    silent = {tokenizer.pad_id, tokenizer.bos_id, tokenizer.unk_id} - {tokenizer.eos_id}
    first = described.stack.layers[0].self_attention
    facts = {
        **facts_of(run, model, described.stack, described.stack, exact=exact),
        "kind": "language",
        "heads": first.heads,
        "width": described.embedding.weight.shape[1],
        "context": described.context,
        "slides": described.positions.kind == "none",
        "vocabulary": len(described.output.weight),
        "end": tokenizer.eos_id,
        "banned": sorted({*silent, *range(tokenizer.vocab_size, len(described.output.weight))}),
        "prompt": prompt,
        "temperature": settings.temperature,
        "top_k": settings.top_k,
        "top_p": settings.top_p,
        "max_tokens": settings.max_tokens,
        "examples": [],
        # In float32 alone: rounding changes some tokens of a long greedy text.
        "checks": [_greedy(model, prompt, sorted(silent), described.context)] if exact else [],
    }
    packed = text_weights.to_bytes(described, torch.float32 if exact else torch.int8)
    vocabularies = {"source": text_vocabulary.to_json(tokenizer)}
    return PageParts(ENGINE.read_bytes(), packed, vocabularies, facts, SCRIPTS, None)


@torch.inference_mode()
def _greedy(model: torch.nn.Module, prompt: list[int], banned: list[int], context: int) -> dict[str, Any]:
    """The most probable tokens after the prompt, from the model's own forward pass."""
    ids = list(prompt)
    for _ in range(min(CARRIED, context - len(prompt))):
        logits_V = cast(Any, model)(torch.tensor([ids]))[0, -1].float()
        logits_V[banned] = -torch.inf
        ids.append(int(logits_V.argmax()))
    return {"source": prompt, "target": ids[len(prompt) :]}
