"""``multihead.train``: trains a recipe, or a translator on a corpus."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from multihead.workflows.finishing import check_longer
from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.resolve_corpora import named_corpora, resolve_corpora, several
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import default_folder
from multihead.workflows.train import train as train_recipe
from multihead.workflows.trial import settle_alternative

Files = str | Path | Sequence[str | Path]


def train(
    recipe: str | Path | None = None,
    *,
    source: Files = (),
    target: Files = (),
    valid_source: Files = (),
    valid_target: Files = (),
    corpora: str | Path | None = None,
    corpus: Mapping[str, Files] | None = None,
    run: str | Path | None = None,
    init: str | Path | None = None,
    settings: Mapping[str, object] | None = None,
    longer: bool = False,
    quiet: bool = False,
) -> Path:
    """Train a model from a recipe, or a translator on a corpus, like ``multihead train``.

    The same call resumes an interrupted training.

    Args:
        recipe: name of a built-in recipe, or a file; None: settings chosen by the size of the corpus.
        source: training file(s) of the source side, or TSV, CSV or JSONL files that contain both sides.
        target: training file(s) of the target side.
        valid_source: validation file(s) of the source side; empty: part of the training data is held out.
        valid_target: validation file(s) of the target side.
        corpora: a corpora.toml: several corpora, languages and directions in one model.
        corpus: the same without a file: ``{"de-en": ["train.de", "train.en"]}``.
        run: run folder; None: ``runs/<recipe>-<hash>``.
        init: run folder whose weights and vocabulary to start from (fine-tuning).
        settings: dotted keys that override the recipe (``{"training.steps": 2000}``).
        longer: continue the training of ``run`` after its end, from before its cool-down.
        quiet: print nothing.

    Returns:
        The run folder, for :func:`multihead.load` and :func:`multihead.evaluate`.

    Raises:
        UserError: no training data, invalid settings or data, or a run folder with other settings.
        KeyboardInterrupt: the training was interrupted; its state is saved.
    """
    options = {"source": source, "target": target, "valid_source": valid_source, "valid_target": valid_target}
    files = {side: _names(paths) for side, paths in options.items()}
    run_folder, init_folder = (None if name is None else Path(name) for name in (run, init))
    listed = [f"{languages}={','.join(_names(paths))}" for languages, paths in (corpus or {}).items()]
    keys = {**(settings or {}), **named_corpora(None if corpora is None else str(corpora), listed)}
    resolve = resolve_corpora if several(keys) else resolve_recipe
    resolved = resolve(None if recipe is None else str(recipe), files, keys, run=run_folder, init=init_folder)
    folder = run_folder or default_folder(resolved)
    if longer:
        check_longer(run_folder)
    console = Console(
        file=sys.stdout, quiet=quiet, markup=False, highlight=False, emoji=False, soft_wrap=True
    )
    with ProgressDisplay(console) as display:
        resolved = settle_alternative(resolved, folder, display)
        outcome = train_recipe(resolved, folder, display, init=init_folder, longer=longer)
    if outcome.status == "interrupted":
        raise KeyboardInterrupt(f"after step {outcome.progress.step:,}; the same call resumes")
    return folder


def _names(files: Files) -> tuple[str, ...]:
    return (str(files),) if isinstance(files, str | Path) else tuple(map(str, files))
