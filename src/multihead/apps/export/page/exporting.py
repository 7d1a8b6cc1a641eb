"""The parts of a page for one run: refusals, packing, verification."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import eq
from pathlib import Path
from typing import Any, TypeVar

import torch

from multihead.apps.export.expressible import different_model, expressible_description
from multihead.apps.export.greedy_tokens import greedy_tokens
from multihead.apps.export.page import expressible, vocabulary, weights
from multihead.apps.export.page.reference import PageReference, has_native_kernels
from multihead.engines.proof import disagreement
from multihead.engines.transformer import LaidOutTransformer
from multihead.inspect.live import PageBlocks
from multihead.nn.description import EncoderDecoderSpec, StackSpec
from multihead.run import Run
from multihead.search.consistency import example, inconsistency, warn
from multihead.search.request import LengthLimits
from multihead.tasks.translation.lines.directions import Directions
from multihead.tasks.translation.lines.line_translator import DEFAULT_LIMIT
from multihead.text.tagged import tags_of
from multihead.text.tokenizer import Tokenizer

S = TypeVar("S")
HERE = Path(__file__).parent
ENGINE = HERE / "engine.wasm"
"""The kernels in WebAssembly, compiled by ``make wasm``."""
CHECKED, LONGEST = 64, 60
"""Number of sentences that the export compares, and their maximum length in tokens."""
CARRIED = 3
"""Number of sentences with which the page checks itself."""


@dataclass(frozen=True, slots=True)
class PageParts(PageBlocks):
    """The parts that a page is assembled from.

    Attributes:
        agreement: fraction of validation sentences for which the page writes the model's own greedy tokens;
            None if it was not measured.
    """

    agreement: float | None


def scripts(*names: str) -> tuple[Path, ...]:
    """Return the files of a worker's script, in order: those of every worker, then these."""
    return tuple(HERE / "scripts" / f"{name}.js" for name in ("checksum", "blocks", "instance", *names))


SCRIPTS = scripts("tokenizer", "segments", "random", "forward", "engine", "unknown", "worker")


def facts_of(run: Run, model: torch.nn.Module, *stacks: StackSpec, exact: bool) -> dict[str, Any]:
    """Return the facts that every page reports; ``stacks``: the encoder's and the decoder's."""
    return {
        "name": run.folder.resolve().name,
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "precision": "float32" if exact else "int8",
        "layers": [len(stack.layers) for stack in stacks],
    }


def parts(run: Run, lines: Sequence[str], *, exact: bool = False) -> PageParts:
    """Return the parts of a translator's page.

    Args:
        run: a trained translator.
        lines: sentences of the source language, for examples and verification.
        exact: weights in float32 instead of int8.

    Raises:
        UserError: the page cannot express the model or a vocabulary; a layer differs from its description.
    """
    model, place = run.load_model().eval(), str(run.folder)
    source, target = run.tokenizers()
    faults: list[str] = []
    for side, tokenizer in (("source: ", source), ("target: ", target)):
        faults += [side + fault for fault in vocabulary.not_expressible(tokenizer)]
    directions = Directions.of(run.directions, source, place)
    described = verified_description(
        run,
        model,
        EncoderDecoderSpec,
        faults,
        not_expressible=expressible.not_expressible,
        disagreement=lambda described: disagreement(
            model, LaidOutTransformer(described, torch.float32, native=False), torch.device("cpu"), described
        ),
        remedy="Export it to ctranslate2, or train a Transformer or a student (`multihead distill`).",
    )
    pairs = example(source.vocab_size, target.vocab_size, target.bos_id, getattr(model, "limit", None))
    warn(model, inconsistency(model, pairs, torch.device("cpu")))

    dtype = torch.float32 if exact else torch.int8
    packed = weights.to_bytes(described, dtype)
    limit = getattr(model, "limit", None)
    settings = run.recipe.search
    tagged = [] if directions is None else _directions(directions, source)
    sentences = [source.encode(line) for line in lines]
    most = LONGEST if limit is None else min(LONGEST, limit - 1)
    usable = [number for number, ids in enumerate(sentences) if 0 < len(ids) <= most]
    first_tags = tagged[0]["tags"] if tagged else []
    limits = LengthLimits(settings.max_extra, settings.max_length, 0, None if limit is None else limit - 1)
    sources = [[*first_tags, *sentences[number]] for number in usable[:CHECKED]]
    checks: list[dict[str, Any]] = []
    agreement = None
    if has_native_kernels() and sources:
        reference = PageReference(described, dtype, (target.bos_id, target.eos_id, target.pad_id))
        written = reference.translate(sources, limits)
        banned = [target.pad_id, target.bos_id]
        expected = [greedy_tokens(model, target, ids, limits, banned) for ids in sources]
        agreement = sum(map(eq, written, expected)) / len(expected)
        checks = [
            {"source": sources[number], "target": written[number]}
            for number in _spread(len(sources), CARRIED)
        ]
    facts = {
        **facts_of(run, model, described.encoder, described.decoder, exact=exact),
        "source_language": _language(run, "source"),
        "target_language": _language(run, "target"),
        "directions": tagged,
        "heads": described.encoder.layers[0].self_attention.heads,
        "scale": described.encoder.layers[0].self_attention.scale,
        "width": described.target.weight.shape[1],
        "recurrent": described.recurrent,
        "begin": len(described.output.weight) if described.first_input == "zero" else target.bos_id,
        "end": target.eos_id,
        "banned": sorted({target.pad_id, target.bos_id} - {target.eos_id}),
        "max_extra": settings.max_extra,
        "max_length": settings.max_length,
        "limit": (DEFAULT_LIMIT if limit is None else limit - 1),
        "beam_size": settings.beam_size if settings.method == "beam" else 4,
        "length_penalty": settings.length_penalty,
        "stop_at_first": settings.stop == "first",
        "replace_unknown": settings.replace_unknown,
        "examples": [lines[number] for number in _examples(usable, sentences)],
        "checks": checks,
        "agreement": agreement,
    }
    vocabularies = {"source": vocabulary.to_json(source)}
    if source.fingerprint != target.fingerprint:
        vocabularies["target"] = vocabulary.to_json(target)
    return PageParts(ENGINE.read_bytes(), packed, vocabularies, facts, SCRIPTS, agreement)


def verified_description(
    run: Run,
    model: torch.nn.Module,
    kind: type[S],
    faults: list[str],
    *,
    not_expressible: Callable[[S], list[str]],
    disagreement: Callable[[S], str | None],
    remedy: str,
) -> S:
    """Return a model's description, checked: the page can express it, and it gives the model's scores.

    Args:
        run: the model's run.
        model: the model.
        kind: class of the description.
        faults: reasons why the page cannot express the rest of the run.
        not_expressible: returns the reasons why the page cannot express a description.
        disagreement: returns the difference between the model and its description, if any.
        remedy: remedy for an inexpressible model.
    """
    place = str(run.folder)
    described = expressible_description(
        model, kind, not_expressible, target="a page", place=place, remedy=remedy, faults=faults
    )
    if difference := disagreement(described):
        raise different_model("the page", difference, place)
    return described


def _directions(directions: Directions, source: Tokenizer) -> list[dict[str, Any]]:
    return [
        {"source": origin, "target": to, "tags": [source.symbols[name] for name in tags_of(to)]}
        for origin, to in directions.trained
    ]


def _language(run: Run, side: str) -> str:
    return str(getattr(run.recipe.data, f"{side}_language", "") or "")


def _spread(count: int, most: int) -> list[int]:
    """Return up to ``most`` places, evenly spread over ``count``."""
    return sorted({place * count // most for place in range(most)}) if count else []


def _examples(usable: Sequence[int], sentences: Sequence[Sequence[int]], most: int = 6) -> list[int]:
    """Return the places of a few sentences of middle length."""
    ranked = sorted(usable, key=lambda number: abs(len(sentences[number]) - 12))
    return sorted(ranked[:most])
