"""``multihead.train``: from a recipe, or a corpus, to a run folder."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console

from multihead.workflows.progress_display import ProgressDisplay
from multihead.workflows.resolve_corpora import chosen_of_corpora, named_corpora, several
from multihead.workflows.resolve_recipe import chosen
from multihead.workflows.train import default_folder
from multihead.workflows.train import train as train_recipe

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
    quiet: bool = False,
) -> Path:
    """Train a model by a recipe, or a translator on a corpus; as ``multihead train``, whose help tells more.

    The same call goes on where an earlier one was cut off.

    Args:
        recipe: a built-in one, or a file; None: settings that suit the size of the corpus.
        source: training file(s) of the source side, or TSV / JSONL files that hold both.
        target: training file(s) of the target side.
        valid_source: validation file(s); none: a part of the training data is held out.
        valid_target: their target side.
        corpora: a corpora.toml: several corpora, languages and directions in one model.
        corpus: the same without a file: ``{"de-en": ["train.de", "train.en"]}``.
        run: run folder; None: ``runs/<recipe>-<hash>``.
        init: begin with the weights and the vocabulary of this run (fine-tuning).
        settings: dotted keys of a recipe that shall be other than there (``{"training.steps": 2000}``).
        quiet: say nothing while it runs.

    Returns:
        The run folder, for :func:`multihead.load` and :func:`multihead.evaluate`.

    Raises:
        UserError: nothing to train on; bad settings; bad data; a run folder that has other settings in it.
        KeyboardInterrupt: the training was interrupted; its state is saved.
    """
    files = {"source": source, "target": target, "valid_source": valid_source, "valid_target": valid_target}
    named = {side: _names(given) for side, given in files.items()}
    begun, first = (None if name is None else Path(name) for name in (run, init))
    listed = [f"{languages}={','.join(_names(files))}" for languages, files in (corpus or {}).items()]
    given = {**(settings or {}), **named_corpora(None if corpora is None else str(corpora), listed)}
    choose = chosen_of_corpora if several(given) else chosen
    made = choose(None if recipe is None else str(recipe), named, given, run=begun, init=first)
    folder = begun or default_folder(made)
    console = Console(
        file=sys.stdout, quiet=quiet, markup=False, highlight=False, emoji=False, soft_wrap=True
    )
    with ProgressDisplay(console) as watcher:
        outcome = train_recipe(made, folder, watcher, init=first)
    if outcome.how == "interrupted":
        raise KeyboardInterrupt(f"after step {outcome.progress.step:,}; the same call goes on")
    return folder


def _names(files: Files) -> tuple[str, ...]:
    return (str(files),) if isinstance(files, str | Path) else tuple(map(str, files))
