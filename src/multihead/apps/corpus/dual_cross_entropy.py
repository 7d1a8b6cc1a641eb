"""Pairs that two small translators trained on the same corpus find improbable (Junczys-Dowmunt 2018).

Two translators, one per direction, are trained on the pairs that remain. Logistic regression separates their
scores of these pairs from those of each source with the next line's target, as for the lexical evidence
(``data.cleaning.lexical``).
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from multihead.apps.corpus.additions import train_part
from multihead.apps.corpus.synthesis import weights_hash
from multihead.data.cleaning.lexical import log_odds
from multihead.data.cleaning.verdicts import DOUBTFUL, REASONS, Judgement
from multihead.data.hashes import sentence_hash
from multihead.errors import UserError
from multihead.run import files
from multihead.tasks.translation.lines import Translator
from multihead.workflows.progress_display import ProgressDisplay

SETTINGS: dict[str, object] = {"training.steps": 1_500, "validation.patience": 0}
"""Settings of each translator, in addition to those that the corpus suggests."""
SIDES = ("source", "target")
SCORED = "scores.json"
CHUNK = 2_048
"""Number of pairs scored in one call."""

Pair = tuple[str, str]
Floats = NDArray[np.float64]


def judged_by_translators(
    pairs: Sequence[Pair], judgement: Judgement, folder: Path, display: ProgressDisplay
) -> Judgement:
    """Return the judgement, with "unlikely" for pairs that two translators find improbable.

    Args:
        pairs: all pairs.
        judgement: the verdicts so far; only pairs without one are scored.
        folder: folder of the translators; the same call resumes.
        display: shows the progress.

    Raises:
        UserError: see ``train``.
        KeyboardInterrupt: the user interrupted a training; the same call resumes.
    """
    unmarked = np.flatnonzero(judgement.reasons < 0)
    aligned = [pairs[number] for number in unmarked.tolist()]
    files.make_folder(folder)
    for side, name in enumerate(SIDES):
        files.write_text(folder / f"train.{name}", "".join(f"{pair[side]}\n" for pair in aligned))
    columns: dict[str, list[Floats]] = {"true": [], "false": []}
    nexts = [(aligned[n][0], aligned[(n + 1) % len(aligned)][1]) for n in range(len(aligned))]
    for name, ways in (("forward", SIDES), ("backward", SIDES[::-1])):
        corpus = {
            "source": (str(folder / f"train.{ways[0]}"),),
            "target": (str(folder / f"train.{ways[1]}"),),
        }
        if train_part(None, corpus, SETTINGS, folder / name, display).status == "interrupted":
            raise KeyboardInterrupt(name)
        for kind, rows in (("true", aligned), ("false", nexts)):
            turned = rows if name == "forward" else [(target, source) for source, target in rows]
            columns[kind].append(_scores(folder, name, kind, turned, display))
    true, false = (
        np.stack([*columns[kind], np.minimum(*columns[kind])], axis=1) for kind in ("true", "false")
    )
    odds = log_odds(true, true, false)
    all_odds = judgement.odds.copy()
    all_odds[unmarked] = odds
    reasons = judgement.reasons.copy()
    reasons[unmarked[odds < DOUBTFUL]] = REASONS.index("unlikely")
    return replace(judgement, reasons=reasons, odds=all_odds)


def _scores(folder: Path, name: str, kind: str, pairs: Sequence[Pair], display: ProgressDisplay) -> Floats:
    """Return each pair's mean log-probability per target token; scores are stored."""
    key = [weights_hash(folder / name), str(sum(sentence_hash("\0".join(pair)) for pair in pairs))]
    place = folder / f"{name}.{kind}.{SCORED}"
    if place.is_file():
        try:
            stored = json.loads(place.read_text(encoding="utf-8"))
            if stored["key"] == key and len(stored["scores"]) == len(pairs):
                return np.array(stored["scores"], dtype=np.float64)
        except (ValueError, KeyError, TypeError):
            pass  # damaged: computed again
    translator = Translator.load(str(folder / name))
    means: list[float] = []
    for start in range(0, len(pairs), CHUNK):
        for score in translator.score(pairs[start : start + CHUNK]):
            count = len(score.token_log_probabilities)
            means.append(score.log_probability / count if count else 0.0)
        display.on_preparation(f"scoring, {name}", len(means), len(pairs))
    if not all(map(np.isfinite, means)):
        raise UserError(
            "scores that are not finite", place=str(folder / name), remedy="Remove it, and try again."
        )
    files.write_text(place, json.dumps({"key": key, "scores": means}) + "\n")
    return np.array(means, dtype=np.float64)
