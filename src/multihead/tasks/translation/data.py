"""Training data of translators, from a parallel corpus."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from multihead.data import corpora
from multihead.data.added import added_kinds
from multihead.data.batches import BatchStream, Mark, Pairs, StreamPosition
from multihead.data.directions import MixedStream
from multihead.data.mixing import shares
from multihead.data.prepare import PreparedCorpus, prepare
from multihead.data.sanity_checks import sanity_warnings
from multihead.data.statistics import quantiles
from multihead.recipe import Recipe, with_vocabularies
from multihead.recipe.settings import DataSettings, Settings, TokenizerSettings
from multihead.run import Run
from multihead.system.addresses import locate_file
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.translation import of_corpora
from multihead.tasks.translation.calibrating import calibration_files, find_changed, word_files
from multihead.tasks.translation.evaluate import unreadable
from multihead.tasks.translation.streaming import marking, stream_settings
from multihead.tasks.translation.validation import Validator
from multihead.tasks.translation.vocabulary_line import vocabulary_line
from multihead.text.bpe_dropout import check_dropout
from multihead.text.changed_kinds import not_kept
from multihead.text.corpus import corpus_files, remarks
from multihead.text.tokenizer import Tokenizer


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    if corpora.several(recipe.data):
        return of_corpora.setup(recipe, device, progress=progress, init_run=init_run)
    prepared = prepare(
        recipe.data,
        recipe.tokenizer,
        progress=progress,
        init_tokenizers=init_run.tokenizers() if init_run else None,
    )
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    if recipe.tokenizer.dropout:
        for kind, tokenizer in zip(recipe.tokenizer.kinds, (source, target), strict=True):
            if kind == "bpe" or recipe.tokenizer.target_kind == "same":
                check_dropout(tokenizer)
    recipe = with_vocabularies(recipe, source.vocab_size, target.vocab_size)
    counts = mixed_counts(prepared)
    changed = find_changed([(prepared.train, source, target)])
    mark = marking(recipe, prepared.train, (source, target), changed)
    symbols = {"symbols": list(mark.symbols)} if mark else {}
    known = mark.symbols if mark else ()
    validator = Validator(prepared, recipe, device, known=known, changed=not_kept(changed))
    return TaskSetup(
        recipe=recipe,
        tokenizers=(source, target),
        fingerprint=prepared.fingerprint,
        files=named_files(recipe.data),
        data={
            "pairs": len(prepared.train),
            "cleaning": prepared.report.to_dict(),
            **symbols,
            **changed,
            **_add(prepared, counts),
        },
        summary=_summary(prepared, recipe.data, recipe.tokenizer),
        sizes=_sizes(prepared),
        tokens_per_epoch=_tokens(prepared, counts),
        stream=lambda position: batches(recipe, prepared, position, device, mark),
        validate=validator,
        attention_maps=validator.attention_maps,
        further_files=lambda model: {
            **calibration_files([validator], model, recipe.search),
            **word_files([(prepared.train, source, target)]),
        },
    )


def batches(
    recipe: Recipe[Settings],
    prepared: PreparedCorpus,
    position: StreamPosition,
    device: torch.device,
    mark: Mark | None = None,
) -> BatchStream:
    """Return the endless stream of training batches from a position, in shapes that suit the device."""
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    settings = stream_settings(recipe, tokenizers, position, device, mark)
    if not prepared.added:
        sources = recipe.data.source
        return BatchStream(prepared.train, place=sources[0] if len(sources) == 1 else "", **settings)
    return MixedStream(_parts(prepared), mixed_counts(prepared), **settings)


def mixed_counts(prepared: PreparedCorpus) -> list[int]:
    """Return the number of pairs per epoch from the corpus and from each kind of added pairs."""
    weights = [1.0, *(added.weight for added in prepared.added)]
    return shares([len(part) for part in _parts(prepared)], weights, temperature=1.0)


def _parts(prepared: PreparedCorpus) -> list[Pairs]:
    return [prepared.train, *(added.train for added in prepared.added)]


def _tokens(prepared: PreparedCorpus, counts: Sequence[int]) -> int:
    """Return the number of target tokens per epoch, end tokens included."""
    parts = _parts(prepared)
    means = [1 + float(part.target_lengths.mean()) for part in parts]
    return round(sum(count * mean for count, mean in zip(counts, means, strict=True)))


def _add(prepared: PreparedCorpus, counts: Sequence[int]) -> dict[str, Any]:
    """Return the number of pairs per epoch by kind; empty without added pairs."""
    kinds = ["corpus", *(added.kind for added in prepared.added)]
    return {"epoch": dict(zip(kinds, counts, strict=True))} if prepared.added else {}


def named_files(data: DataSettings) -> list[Path]:
    """Return the training and validation files, without standard input."""
    training = corpus_files(data, data.source, data.target).train
    validation = corpus_files(data, data.valid_source, data.valid_target).train
    names = [name for side in (*training, *validation) for name in side]
    more = (name for kind in added_kinds(data) for name in (*kind.files.source, *kind.files.target))
    return [*(locate_file(data.dir, name) for name in names if name != "-"), *map(Path, more)]


# --- description --------------------------------------------------------------------------------------


def _summary(prepared: PreparedCorpus, data: DataSettings, tokenizer: TokenizerSettings) -> Sequence[str]:
    validation = f"validation: {len(prepared.valid):,} pairs"
    if prepared.held_out:
        validation += ", held out of the training data"
    if prepared.shared:
        validation += f"; {prepared.shared:,} training pairs that share a sentence with them were removed"
    return (
        *str(prepared.report).split("\n"),
        *_added_lines(prepared),
        validation,
        vocabulary_line(_vocabularies(prepared), tokenizer),
        *remarks(data, [] if data.target else data.source),
        *remarks(data, [] if data.valid_target else data.valid_source),
        *sanity_warnings(prepared),
        *unreadable(data),
    )


def _added_lines(prepared: PreparedCorpus) -> Iterator[str]:
    for added, count in zip(prepared.added, mixed_counts(prepared)[1:], strict=True):
        times = count / len(added.train)
        yield f"{added.kind}: {added.report}"
        yield f"  {len(added.train):,} trained on: {count:,} an epoch, each {times:.2f} times"
        if added.held_out:
            yield f"  {len(added.held_out):,} held out to measure their effect"


def _sizes(prepared: PreparedCorpus) -> dict[str, str]:
    lengths = {"source": prepared.train.source_lengths, "target": prepared.train.target_lengths}
    return {
        "training pairs": f"{len(prepared.train):,}",
        "validation pairs": f"{len(prepared.valid):,}",
        "vocabulary": " and ".join(f"{tokenizer.vocab_size:,}" for tokenizer in _vocabularies(prepared)),
        **{f"{side} length": _distribution(values) for side, values in lengths.items()},
    }


def _vocabularies(prepared: PreparedCorpus) -> list[Tokenizer]:
    source, target = prepared.source_tokenizer, prepared.target_tokenizer
    return [source] if source is target else [source, target]


def _distribution(lengths: np.ndarray) -> str:
    median, percentile_99 = quantiles(lengths, (0.5, 0.99))
    return f"median {median:.0f}, 99th percentile {percentile_99:.0f}, maximum {lengths.max():,} tokens"
