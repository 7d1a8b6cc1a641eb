"""Settings for labelled texts and running text, chosen by number and length, each with its reason.

The sizes are those of translators (``translation.suggest.sizes``), by the tokens of an epoch.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from multihead.errors import UserError
from multihead.recipe import Recipe, model_kinds
from multihead.recipe.settings import Settings
from multihead.run import Run
from multihead.tasks.text_examples import pretrained_tokenizer
from multihead.tasks.translation.suggest import duration, pieces, sizes
from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import MOST_PARTS, SideProfile, number_of_parts
from multihead.tasks.translation.suggest.within_time import ENOUGH, SMALLEST, WARM_UP
from multihead.text.bpe_dropout import supports_dropout
from multihead.text.pieces import alphabet, normalizer

Decisions = dict[str, Decision[Any]]
"""Settings by dotted key, with their reasons."""

LONGEST, MULTIPLE = 512, 8
"""Limit of the suggested input length in tokens, and the number that it is a multiple of."""
ROOM = 2
"""Inputs may be so much longer than the estimate for 99 % of the texts: new words have many pieces."""
FINE_TUNING = {"optimizer": "adamw", "learning_rate": 6e-4, "weight_decay": 0.01, "layer_decay": 0.8}
"""[training] of fine-tuning: that of nsmc-classify, its rate for schedule wsd."""
FEWEST = 4
"""Validations within a time limit, at least."""
MADE_BY_DATA = {"vocab_size", "classes", "class_names"}
"""Settings of a model that the data sets."""


@dataclass(frozen=True)
class TextSuggestion:
    """Settings for a corpus of texts.

    Attributes:
        decisions: the settings.
        epoch: tokens of an epoch, about.
        length: tokens of a text, about.
    """

    decisions: Decisions
    epoch: float
    length: int


def suggest_for_texts(
    recipe: Recipe[Settings], texts: Iterable[str], *, unit: str, init_run: Run | None
) -> TextSuggestion:
    """Return settings that suit texts.

    Args:
        recipe: the settings of the user and of the recipe; others are decided.
        texts: the texts of the training files; a pair counts as one text.
        unit: their name in reasons, in the plural.
        init_run: a run whose weights and vocabulary training starts from; None: random initialisation.

    Raises:
        UserError: there is no text; the run is of another task; see ``texts``.
    """
    side, normal = SideProfile(), normalizer(getattr(recipe.data, "lowercase", False))
    for text in texts:
        side.add(normal.normalize_str(text))
    if not side.words:
        raise UserError("the training files have no text", place="data.files", remedy="Check the columns.")
    kind, why = pieces.decide_kind(side)
    closed = kind == "spaced"  # every word is a piece of its own
    kind = _typed_value(recipe, "tokenizer", "kind") or ("chars" if kind == "chars" else "bpe")
    epoch = sizes.tokens(side, "chars" if kind == "chars" else "spaced" if closed else "bpe")
    row = next(row for row in sizes.SIZES if epoch / sizes.SENTENCE <= row.sentences)
    drops = kind == "bpe" and not closed and not recipe.tokenizer.file
    longest = ceil(side.long_line * epoch / side.total_characters) + 2
    length = MULTIPLE * ceil(max(ROOM * longest, 2 * MULTIPLE) / MULTIPLE)
    length = min(length, LONGEST, _typed_value(recipe, "model", "max_positions") or LONGEST)
    reason = f"{side.lines:,} {unit}, of the length of {epoch / sizes.SENTENCE:,.0f} sentences"
    shape = {key: getattr(row, key) for key in ("d_ff", "num_layers", "num_heads")}
    full = getattr(recipe.model, "attention", "full") == "full"
    shape["positions"] = "relative" if full else "learned"
    decisions: Decisions = {
        "tokenizer.kind": Decision(kind, why),
        "tokenizer.vocab_size": _vocab_size(side, kind, row.vocab_size),
        "tokenizer.dropout": pieces.decide_dropout((kind, kind), row.bpe_dropout if drops else 0.0),
        "data.max_length": Decision(length, f"99 % of the {unit} have up to about {longest:,} tokens"),
        "model.max_positions": Decision(
            MULTIPLE * ceil((_typed_value(recipe, "data", "max_length") or length) / MULTIPLE), ""
        ),
        "model.d_model": Decision(row.d_model, reason),
        "model.dropout": Decision(row.dropout, reason),
        **{f"model.{key}": Decision(value, "") for key, value in shape.items()},
        **_training(recipe, row, epoch),
    }
    if init_run:
        decisions = _fine_tuned(decisions, recipe.task, init_run, row.bpe_dropout)
    return TextSuggestion(decisions, epoch, ceil(epoch / side.lines))


def within(settings: Mapping[str, Any], affordable: float, epoch: float) -> Decisions:
    """Return the settings that differ where time is limited.

    Few passes do not mean less dropout, as for translators: labels are learned by heart within a few.

    Args:
        settings: those of a training without a limit, by dotted key.
        affordable: tokens that the time is enough for.
        epoch: tokens of an epoch.
    """
    batch = long_batch = int(settings["training.batch_tokens"])
    while batch > SMALLEST and affordable / batch < ENOUGH:
        batch //= 2
    updates = max(1, int(affordable / batch))
    reason = f"the time is enough for about {updates:,} updates, {affordable / epoch:.1f} epochs"
    every = settings["validation.every"] * long_batch // batch
    values = {
        "training.batch_tokens": batch,
        "training.warmup_steps": min(settings["training.warmup_steps"], max(1, updates // WARM_UP)),
        "validation.every": min(every, max(1, updates // FEWEST)),
    }
    return {key: Decision(value, reason) for key, value in values.items() if value != settings[key]}


def _typed_value(recipe: Recipe[Settings], section: str, key: str) -> Any:
    """Return a setting that the recipe or the user names; None: neither does."""
    settings = recipe.section(section)
    return getattr(settings, key) if key in settings.model_fields_set else None


def _vocab_size(side: SideProfile, kind: str, wished: int) -> Decision[int]:
    characters = len(alphabet(side.types))
    if kind == "chars":
        return Decision(pieces.CONTROL_AND_BYTES + characters + 1, f"{characters:,} characters, and bytes")
    words = number_of_parts(list(side.types)[:MOST_PARTS])
    size = 1 + pieces.subword_vocab_size(kind, characters, words, wished)  # with [MASK]
    return Decision(size, f"{len(side.types):,} different words of {characters:,} characters")


def _training(recipe: Recipe[Settings], row: sizes.Size, epoch: float) -> Decisions:
    batch = next(size for most, size in sizes.SMALL_BATCHES if epoch <= most)
    updates = max(1, round(epoch / batch))
    schedule = _typed_value(recipe, "training", "schedule") or "wsd"
    steps = duration.updates(updates, row.epochs, schedule)
    suited = row.optimizer if recipe.kind in model_kinds.built_in() else "adam"  # Muon is not for all
    optimizer = _typed_value(recipe, "training", "optimizer") or suited
    rate = sizes.learning_rate(row, optimizer, "transformer")
    rate *= sizes.STABLE_RATE if schedule == "wsd" else 1
    last = _typed_value(recipe, "training", "steps") or steps.value
    warm = min(1000, last // 10, max(100, row.epochs * updates // 10))
    return {
        "training.batch_tokens": Decision(batch, f"an epoch has about {epoch:,.0f} tokens"),
        "training.steps": steps,
        "training.optimizer": Decision(optimizer, ""),
        "training.learning_rate": Decision(round(rate, 6), ""),
        "training.schedule": Decision(schedule, "no fixed horizon: see validation.patience"),
        "training.warmup_steps": Decision(warm, ""),
        "validation.every": duration.interval(updates, last),
        "validation.patience": Decision(duration.PATIENCE, "training ends when it stops paying"),
        "validation.patience_share": Decision(duration.PATIENCE_SHARE, ""),
    }


def _fine_tuned(decisions: Decisions, task: str, init_run: Run, rate: float) -> Decisions:
    """Return the decisions for weights and a vocabulary that exist."""
    kept = {key: value for key, value in decisions.items() if not key.startswith(("tokenizer.", "model."))}
    tokenizer = pretrained_tokenizer(init_run, task)
    if tokenizer is not None and supports_dropout(tokenizer):
        kept["tokenizer.dropout"] = decisions["tokenizer.dropout"]._replace(value=rate)
    theirs = {key: value for key, value in init_run.recipe.model if key not in MADE_BY_DATA}
    kept |= {f"model.{key}": Decision(value, "") for key, value in theirs.items()}
    kept |= {f"training.{key}": Decision(value, "") for key, value in FINE_TUNING.items()}
    longest = theirs.get("max_positions", LONGEST)
    length, why = kept["data.max_length"]
    return kept | {"data.max_length": Decision(min(length, longest), why)}
