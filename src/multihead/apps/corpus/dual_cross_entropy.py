"""Pairs that two small translators of this very corpus find improbable (Junczys-Dowmunt 2018).

Two translators, one a direction, are trained on the pairs that are kept so far. Their scores of the pairs as
they are, and of each source with the next line's target, are separated by logistic regression, as the lexical
evidence is (``data.cleaning.lexical``).
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
"""Of each translator, beside those that the corpus suggests."""
SIDES = ("source", "target")
SCORED = "scores.json"
CHUNK = 2_048
"""Pairs scored in one call."""

Pair = tuple[str, str]
Floats = NDArray[np.float64]


def judged_by_translators(
    pairs: Sequence[Pair], judgement: Judgement, folder: Path, display: ProgressDisplay
) -> Judgement:
    """Return the judgement, with the pairs that two translators find improbable as "unlikely".

    Args:
        pairs: all pairs.
        judgement: the verdicts so far; only pairs without one are scored.
        folder: for the translators; the same call resumes.
        display: shows the progress.

    Raises:
        UserError: see ``train``.
        KeyboardInterrupt: the user interrupted a training; the same call resumes.
    """
    kept = np.flatnonzero(judgement.reasons < 0)
    own = [pairs[number] for number in kept.tolist()]
    files.make_folder(folder)
    for side, name in enumerate(SIDES):
        files.write_text(folder / f"train.{name}", "".join(f"{pair[side]}\n" for pair in own))
    columns: dict[str, list[Floats]] = {"true": [], "false": []}
    nexts = [(own[n][0], own[(n + 1) % len(own)][1]) for n in range(len(own))]
    for name, ways in (("forward", SIDES), ("backward", SIDES[::-1])):
        corpus = {
            "source": (str(folder / f"train.{ways[0]}"),),
            "target": (str(folder / f"train.{ways[1]}"),),
        }
        if train_part(None, corpus, SETTINGS, folder / name, display).status == "interrupted":
            raise KeyboardInterrupt(name)
        for kind, rows in (("true", own), ("false", nexts)):
            turned = rows if name == "forward" else [(target, source) for source, target in rows]
            columns[kind].append(_scores(folder, name, kind, turned, display))
    true, false = (
        np.stack([*columns[kind], np.minimum(*columns[kind])], axis=1) for kind in ("true", "false")
    )
    odds = log_odds(true, true, false)
    found = judgement.odds.copy()
    found[kept] = odds
    reasons = judgement.reasons.copy()
    reasons[kept[odds < DOUBTFUL]] = REASONS.index("unlikely")
    return replace(judgement, reasons=reasons, odds=found)


def _scores(folder: Path, name: str, kind: str, pairs: Sequence[Pair], display: ProgressDisplay) -> Floats:
    """Return the mean log-probability of a target token of each pair, stored once it is computed."""
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
        for one in translator.score(pairs[start : start + CHUNK]):
            count = len(one.token_log_probabilities)
            means.append(one.log_probability / count if count else 0.0)
        display.on_preparation(f"scoring, {name}", len(means), len(pairs))
    if not all(map(np.isfinite, means)):
        raise UserError(
            "scores that are not finite", place=str(folder / name), remedy="Remove it, and try again."
        )
    files.write_text(place, json.dumps({"key": key, "scores": means}) + "\n")
    return np.array(means, dtype=np.float64)
