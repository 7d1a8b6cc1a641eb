"""Training data of multilingual translators, from several corpora."""

from collections.abc import Sequence
from pathlib import Path

import torch

from multihead.data import corpora
from multihead.data.corpora import Corpus
from multihead.data.directions import Joined, MixedStream
from multihead.data.mixing import draw_epoch
from multihead.data.plan import Indices
from multihead.data.prepare_corpora import PreparedCorpora, prepare_corpora
from multihead.data.sanity_checks import sanity_warnings
from multihead.data.stream import StreamPosition
from multihead.errors import UserError
from multihead.recipe import Recipe, with_vocabularies
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.system.progress import OnProgress
from multihead.tasks.base import TaskSetup
from multihead.tasks.translation.calibrating import calibration_files, find_changed, word_files
from multihead.tasks.translation.direction_validation import DirectionsValidator
from multihead.tasks.translation.evaluate import unreadable
from multihead.tasks.translation.streaming import marking, stream_settings
from multihead.tasks.translation.vocabulary_line import vocabulary_line
from multihead.text.bpe_dropout import check_dropout
from multihead.text.changed_kinds import not_kept
from multihead.text.corpus import remarks


def setup(
    recipe: Recipe[Settings], device: torch.device, *, progress: OnProgress, init_run: Run | None
) -> TaskSetup:
    """See ``tasks.base.setup``."""
    all_corpora = corpora.corpora(recipe.data)
    trained = _trained_directions(all_corpora, init_run)
    _refuse_unlearned(all_corpora, trained, corpora.place(recipe.data))
    prepared = prepare_corpora(
        recipe.data,
        recipe.tokenizer,
        progress=progress,
        init_tokenizers=init_run.tokenizers() if init_run else None,
    )
    tokenizer = prepared.tokenizer
    if recipe.tokenizer.dropout:
        check_dropout(tokenizer)
    recipe = with_vocabularies(recipe, tokenizer.vocab_size, tokenizer.vocab_size)
    counts = prepared.counts(recipe.data.temperature)
    names = [direction.name for direction in prepared.directions]
    parts = [direction.prepared.train for direction in prepared.directions]
    changed = find_changed([(part, tokenizer, tokenizer) for part in parts])
    mark = marking(recipe, Joined(parts), (tokenizer, tokenizer), changed)
    known = mark.symbols if mark else ()
    validator = DirectionsValidator(prepared, recipe, device, known=known, changed=not_kept(changed))

    def stream(position: StreamPosition) -> MixedStream:
        settings = stream_settings(recipe, (tokenizer, tokenizer), position, device, mark)
        return MixedStream(parts, counts, labels=names, **settings)

    return TaskSetup(
        recipe=recipe,
        tokenizers=(tokenizer, tokenizer),
        fingerprint=prepared.fingerprint,
        files=named_files(all_corpora),
        data={
            "pairs": sum(counts),
            "directions": trained,
            **({"symbols": list(mark.symbols)} if mark else {}),
            **changed,
            "epoch": dict(zip(names, counts, strict=True)),
        },
        summary=[*_summary(prepared, counts, all_corpora), vocabulary_line([tokenizer], recipe.tokenizer)],
        sizes=_sizes(prepared, counts),
        tokens_per_epoch=_tokens(prepared, _first_epoch(prepared, counts, recipe.training.seed)),
        stream=stream,
        validate=validator,
        attention_maps=validator.attention_maps,
        further_files=lambda model: {
            **calibration_files(list(validator.validators.values()), model, recipe.search),
            **word_files([(part, tokenizer, tokenizer) for part in parts]),
        },
    )


def _trained_directions(all_corpora: Sequence[Corpus], init_run: Run | None) -> list[tuple[str, str]]:
    """Return the directions of the training, including the initial run's."""
    before = init_run.directions if init_run else []
    return list(dict.fromkeys([*before, *corpora.directions(all_corpora)]))


def _refuse_unlearned(all_corpora: Sequence[Corpus], trained: Sequence[tuple[str, str]], where: str) -> None:
    """Raise ``UserError`` if a corpus for evaluation alone has a language that no other corpus teaches."""
    targets = {target for _, target in trained}
    languages = targets | {source for source, _ in trained}
    for corpus in all_corpora:
        for source, target in corpus.directions:
            if source in languages and target in targets:
                continue
            fact = f'no corpus with a weight teaches "{source if source not in languages else target}"'
            fact += f", for {source}-{target} of {corpus.name}, whose weight is 0"
            remedy = "Give it a weight, leave it out, or set its both_directions to false."
            raise UserError(fact, place=where, remedy=remedy)


def named_files(all_corpora: Sequence[Corpus]) -> list[Path]:
    """Return the training and validation files of all corpora, each once."""
    names = (name for corpus in all_corpora for key in corpora.FILES for name in getattr(corpus.files, key))
    return list(dict.fromkeys(map(Path, names)))


def _first_epoch(prepared: PreparedCorpora, counts: Sequence[int], seed: int) -> Indices:
    return draw_epoch([len(direction.prepared.train) for direction in prepared.directions], counts, seed, 0)


def _tokens(prepared: PreparedCorpora, indices: Indices) -> int:
    """Return the number of target tokens of these pairs, end tokens included."""
    lengths = Joined([direction.prepared.train for direction in prepared.directions]).target_lengths
    return int(lengths[indices].sum()) + len(indices)


# --- description --------------------------------------------------------------------------------------


def _summary(prepared: PreparedCorpora, counts: Sequence[int], all_corpora: Sequence[Corpus]) -> list[str]:
    lines = []
    for corpus, pairs in zip(all_corpora, prepared.corpora, strict=True):
        lines.append(f"corpus {corpus.name}: {pairs.report}; validation: {len(pairs.valid):,} pairs")
        if pairs.shared:
            lines.append(f"  {pairs.shared:,} that share a sentence with a held-out pair were removed")
        noted = (
            *remarks(corpus.files, (*corpus.files.source, *corpus.files.valid_source)),
            *sanity_warnings(pairs),
        )
        lines += [f"corpus {corpus.name}: {line}" for line in noted]
        lines += unreadable(corpus.files, f" of {corpus.name}")
    for direction, count in zip(prepared.directions, counts, strict=True):
        times = count / len(direction.prepared.train)
        lines.append(f"direction {direction.name}: {count:,} pairs an epoch, each {times:.2f} times")
    return lines


def _sizes(prepared: PreparedCorpora, counts: Sequence[int]) -> dict[str, str]:
    return {
        "training pairs": f"{sum(counts):,} in {len(counts)} directions",
        "validation pairs": f"{sum(len(corpus.valid) for corpus in prepared.corpora):,}",
        "vocabulary": f"{prepared.tokenizer.vocab_size:,}",
    }
