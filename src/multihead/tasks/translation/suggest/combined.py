"""All decisions together: settings by dotted key, and their reasons."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from multihead.data.pairs import read_pairs
from multihead.recipe.settings import DataSettings
from multihead.tasks.translation.suggest import duration, limits, pieces, sizes
from multihead.tasks.translation.suggest.decision import Decision
from multihead.tasks.translation.suggest.profile import CorpusProfile
from multihead.text.pieces import MAX_PIECE_CHARS, alphabet, count, normalizer, script_pre_tokenizer

PHRASE_RATE = 0.02
"""Share of the batches of running text whose pairs are cut to phrases."""


@dataclass(frozen=True)
class RequestedSettings:
    """Settings that the user asked for; the rest is decided.

    Attributes:
        model: the kind of model.
        kind: the kind of tokenizer; "" for a decision, "file" for one without BPE-dropout from a file.
        target_kind: that of the target side; "" for a decision, or the same as ``kind`` where that is given.
        joint: one vocabulary for both sides, or two.
        optimizer: the optimiser; "" for a decision.
        schedule: the learning-rate schedule; "" for a decision.
        steps: the number of updates; 0 for a decision.
    """

    model: str = "transformer"
    kind: str = ""
    target_kind: str = ""
    joint: bool | None = None
    optimizer: str = ""
    schedule: str = ""
    steps: int = 0


@dataclass(frozen=True)
class Suggestion:
    """Settings by dotted key, and the reasons of those that were decided by the corpus."""

    settings: Mapping[str, object]
    reasons: Mapping[str, str]


def suggest(corpus: CorpusProfile, asked: RequestedSettings | None = None) -> Suggestion:
    """Return settings that suit a corpus, and whatever was asked for."""
    asked = asked or RequestedSettings()
    kinds = _kinds(corpus, asked)
    both = (kinds[0].value, kinds[1].value)
    joint = Decision(asked.joint, "as asked") if asked.joint is not None else pieces.joint(corpus, both)
    row, metric = sizes.size(corpus, both), duration.metric(corpus, both[1])
    formal = corpus.structure.is_formal
    decisions: dict[str, Decision[object]] = {
        "tokenizer.kind": kinds[0],
        **({"tokenizer.target_kind": kinds[1]} if both[0] != both[1] else {}),
        "tokenizer.joint": joint,
        **_vocabularies(corpus, both, row.value, joint=joint.value),
        **_apostrophe(corpus, joint=joint.value),
        "tokenizer.dropout": pieces.decide_dropout(both, row.value.bpe_dropout, formal=formal),
        **_phrases(metric.value),
        "validation.metric": metric,
        "data.valid_fraction": duration.valid_fraction(corpus.pairs),
        **_limits(corpus, both, asked.model),
        "search.beam_size": duration.beam_size(corpus.target, both[1]),
        "search.stop": duration.stop(both[1]),
        "search.max_extra": duration.max_extra(corpus, both),
        **_training(corpus, both, row.value, asked),
    }
    model = sizes.model(row.value, asked.model, both, joint=joint.value, formal=formal)
    decisions |= {f"model.{key}": Decision(value, "") for key, value in model.items()}
    if "d_model" in model:
        decisions["model.d_model"] = Decision(model["d_model"], row.reason)
    return Suggestion(
        {key: decision.value for key, decision in decisions.items()},
        {key: decision.reason for key, decision in decisions.items() if decision.reason},
    )


def alternative(corpus: CorpusProfile, asked: RequestedSettings | None = None) -> RequestedSettings | None:
    """Return a choice of pieces that may suit a corpus as well as the suggested one; None: there is none.

    Kinds come first: whether one vocabulary serves both sides matters less.
    """
    asked = asked or RequestedSettings()
    one, other = (kind.value for kind in _kinds(corpus, asked))
    if not (asked.kind or asked.target_kind or asked.joint):
        if pieces.is_near(corpus):
            return replace(asked, kind="bpe", target_kind="bpe")
        others = (pieces.other_kind(corpus.source) or one, pieces.other_kind(corpus.target) or other)
        if others != (one, other):
            return replace(asked, kind=others[0], target_kind=others[1])
    if asked.joint is None and pieces.joint_is_close(corpus, (one, other)):
        return replace(asked, joint=not pieces.joint(corpus, (one, other)).value)
    return None


def _kinds(corpus: CorpusProfile, asked: RequestedSettings) -> tuple[Decision[str], Decision[str]]:
    """Return the kinds of both sides; one kind where one vocabulary is asked for."""
    decided: list[Decision[str]] = [Decision(*one) for one in pieces.decide_kinds(corpus)]
    if asked.kind:
        decided = [Decision(asked.kind, "")] * 2
    if asked.target_kind:
        decided[1] = Decision(asked.target_kind, "")
    if asked.joint and decided[0].value != decided[1].value:
        decided = [Decision("bpe", "one vocabulary for both sides, which differ, was asked for")] * 2
    return decided[0], decided[1]


def _apostrophe(corpus: CorpusProfile, *, joint: bool) -> dict[str, Decision[object]]:
    """Return the decision where the corpus has apostrophes."""
    decided = pieces.apostrophe(corpus, joint=joint)
    return {"tokenizer.apostrophe": Decision(*decided)} if decided.reason else {}


def _phrases(metric: str) -> dict[str, Decision[object]]:
    """Return the share of batches that are cut to phrases, where outputs are running text."""
    return {"tokenizer.phrase_rate": Decision(PHRASE_RATE, "")} if metric == "bleu" else {}


def _vocabularies(
    corpus: CorpusProfile, kinds: tuple[str, str], row: sizes.Size, *, joint: bool
) -> dict[str, Decision[object]]:
    if joint:
        return {"tokenizer.vocab_size": pieces.vocab_size(corpus, 2, kinds[0], row.vocab_size)}
    source, target = (pieces.vocab_size(corpus, side, kinds[side], row.vocab_size) for side in (0, 1))
    return {"tokenizer.vocab_size": source, "tokenizer.target_vocab_size": target}


def _limits(corpus: CorpusProfile, kinds: tuple[str, str], model: str) -> dict[str, Decision[object]]:
    """Return the limits of pairs where the usual ones do not suit the corpus."""
    ratio, length = limits.decide_length_ratio(corpus), limits.length(corpus, kinds)
    decisions: dict[str, Decision[object]] = {
        "data.max_length_ratio": ratio,
        "data.max_length": length,
        "data.max_chars": limits.decide_characters(corpus),
    }
    if model == "conv_s2s":  # learned positions, one of them for the end token
        decisions["model.max_positions"] = Decision(length.value + 1, length.reason)
    return {key: decision for key, decision in decisions.items() if decision.reason}


def _training(
    corpus: CorpusProfile, kinds: tuple[str, str], row: sizes.Size, asked: RequestedSettings
) -> dict[str, Decision[object]]:
    batch = sizes.batch_tokens(corpus, kinds)
    epoch = max(1, round(sizes.epoch_tokens(corpus, kinds)[0] / batch.value))
    schedule = asked.schedule or "wsd"
    decided = duration.updates(epoch, row.epochs, schedule)
    steps = Decision(asked.steps, "as asked") if asked.steps else decided
    optimizer = asked.optimizer or (row.optimizer if asked.model == "transformer" else "adam")
    rate = sizes.learning_rate(row, optimizer, asked.model)
    rate *= sizes.STABLE_RATE if schedule == "wsd" else 1
    planned = row.epochs * epoch
    return {
        "training.steps": steps,
        "training.batch_tokens": batch,
        "training.optimizer": Decision(optimizer, ""),
        "training.schedule": Decision(
            schedule, "" if asked.schedule else "no fixed horizon: see validation.patience"
        ),
        "training.learning_rate": Decision(round(rate, 6), ""),
        "training.warmup_steps": Decision(min(1000, steps.value // 10, max(100, planned // 10)), ""),
        "training.average": Decision(5, ""),
        "validation.every": duration.interval(epoch, steps.value),
        "validation.patience": Decision(duration.PATIENCE, "training ends when it stops paying"),
        "validation.patience_share": Decision(duration.PATIENCE_SHARE, ""),
        "validation.patience_loss": Decision(True, "the metric alone is noisy early on"),
    }


# --- by size alone ------------------------------------------------------------------------------------

MAX_WORDS = 50_000
"""Limit of counted words; larger than the largest vocabulary."""


@dataclass(frozen=True, slots=True)
class CorpusSize:
    """The size of a corpus.

    Attributes:
        pairs: number of sentence pairs.
        target_characters: number of characters on the target side.
        characters: number of distinct characters on both sides, without very rare ones.
        words: number of distinct words on both sides, or parts of words, that could be one token of two or
            more characters; counted up to about ``MAX_WORDS``.
    """

    pairs: int
    target_characters: int
    characters: int
    words: int


def measure_corpus(data: DataSettings) -> CorpusSize:
    """Measure a corpus by reading its training files once.

    Raises:
        UserError: see ``data.pairs.read_pairs``.
    """
    pairs = characters = 0
    normal = normalizer(data.lowercase)
    words: set[str] = set()
    for source, target in read_pairs(data, data.source, data.target):
        pairs += 1
        characters += len(target)
        if len(words) < MAX_WORDS:
            for text in (source, target):
                words.update(normal.normalize_str(text).split(" "))
    parts = count(words, script_pre_tokenizer(split_digits=False))
    longer = sum(1 < len(part) <= MAX_PIECE_CHARS for part in parts)
    return CorpusSize(pairs, characters, len(alphabet(words)), longer)


def suggest_settings(
    corpus: CorpusSize,
    steps: int | None = None,
    optimizer: str | None = None,
    kind: str = "transformer",
) -> Mapping[str, object]:
    """Return settings by the size of a corpus alone, by dotted key: for several corpora in one model.

    Args:
        corpus: size of the corpus.
        steps: number of updates; None: chosen by the size.
        optimizer: the optimiser; None: chosen by the size.
        kind: model kind.
    """
    tokens = corpus.pairs + corpus.target_characters / sizes.CHARACTERS_A_PIECE
    row = next(row for row in sizes.SIZES if tokens / sizes.SENTENCE <= row.sentences)
    batch_tokens = 2048 if corpus.pairs < 5_000 else 4096
    epoch = max(1, round(tokens / batch_tokens))
    steps = steps or max(500, round(row.epochs * epoch, -2))
    optimizer = optimizer or (row.optimizer if kind == "transformer" else "adam")
    every = max(min(50, steps), min(2 * epoch, steps // 10))
    vocab_size = pieces.subword_vocab_size("bpe", corpus.characters, corpus.words, row.vocab_size)
    model = sizes.model(row, kind, ("bpe", "bpe"), joint=True)
    return {
        "tokenizer.vocab_size": vocab_size,
        "tokenizer.dropout": row.bpe_dropout,
        **{f"model.{key}": value for key, value in model.items()},
        "training.steps": steps,
        "training.batch_tokens": batch_tokens,
        "training.optimizer": optimizer,
        "training.schedule": "cosine",
        "training.learning_rate": sizes.learning_rate(row, optimizer, kind),
        "training.warmup_steps": min(1000, steps // 10),
        "training.average": 5,
        "validation.every": every,
        "validation.patience": 10,
    }
