"""Pairs to add to a training: named on the command line, or made from monolingual text."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from multihead.apps.corpus.synthesis import languages_of, synthesise
from multihead.data.pairs import Pair, read_pairs
from multihead.data.prepare import prepare
from multihead.data.selection import TRAIN, VALID, select
from multihead.errors import UserError
from multihead.recipe import Recipe
from multihead.recipe.settings import DataSettings, Settings
from multihead.run import Run, files
from multihead.system.addresses import absolute
from multihead.tasks.translation.lines import Translator
from multihead.training import Outcome
from multihead.workflows.progress_display import ProgressDisplay, reasons
from multihead.workflows.resolve_recipe import resolve_recipe
from multihead.workflows.train import default_folder, train

HELD_OUT = "corrections.held-out.jsonl"
"""File in a run folder: corrections held out of training."""
PARTS = ".parts"
"""Suffix of the folder beside a run that holds its training's parts."""
CORPUS, BACK, SYNTHETIC = "corpus", "back", "synthetic"
FILES = {"source": "train.source", "target": "train.target"}
FILES |= {"valid_source": "valid.source", "valid_target": "valid.target"}
OWN = ("data.dir", *(f"data.{key}" for key in ("source", "target", "valid_source", "valid_target", "format")))
"""Settings that the plain copy of a corpus replaces."""

Corpus = Mapping[str, tuple[str, ...]]
"""Files by key of [data]."""


def named_additions(
    synthetic: Sequence[str], copied: Sequence[str], corrections: Sequence[str]
) -> dict[str, object]:
    """Return settings from ``--synthetic``, ``--copy`` and ``--corrections``, independent of the folder."""
    named = {"data.synthetic": synthetic, "data.copied": copied, "data.corrections": corrections}
    return {key: tuple(map(absolute, names)) for key, names in named.items() if names}


def plain_copy(data: DataSettings, folder: Path) -> Corpus:
    """Write a corpus as aligned lines and return the files; hold out validation if no files are named.

    Pairs that cleaning drops are left out. Existing files are kept.
    """
    paths = {key: folder / name for key, name in FILES.items()}
    if not all(path.exists() for path in paths.values()):
        files.make_folder(folder)
        pairs = list(read_pairs(data, data.source, data.target))
        selection = select(pairs, data, hold_out=not data.valid_source)
        held_out = (
            read_pairs(data, data.valid_source, data.valid_target)
            if data.valid_source
            else _with_role(pairs, selection.roles == VALID)
        )
        for start, part in (("valid_", held_out), ("", _with_role(pairs, selection.roles == TRAIN))):
            rows = list(part)
            for side, key in enumerate(("source", "target")):
                files.write_text(paths[start + key], "".join(f"{row[side]}\n" for row in rows))
    return {key: (str(path),) for key, path in paths.items()}


def _with_role(pairs: Iterable[Pair], rows: Sequence[bool]) -> Iterable[Pair]:
    return (pair for pair, selected in zip(pairs, rows, strict=True) if selected)


def reverse_direction(corpus: Corpus) -> Corpus:
    """Return the files of the opposite direction."""
    other = {"source": "target", "target": "source"}
    other |= {"valid_source": "valid_target", "valid_target": "valid_source"}
    return {key: corpus[other[key]] for key in corpus}


def way(data: DataSettings, *, back: bool) -> dict[str, object]:
    """Return the settings that name the languages of a direction."""
    languages = (data.source_language, data.target_language)[:: -1 if back else 1]
    return {"data.source_language": languages[0], "data.target_language": languages[1]}


def without_files(settings: Mapping[str, object]) -> dict[str, object]:
    """Return settings without test sets and files, which a plain copy of the corpus replaces."""
    gone = (*OWN, "data.tests", "data.source_field", "data.target_field", "data.synthetic")
    return {key: value for key, value in settings.items() if not key.startswith(gone)}


def train_part(
    name: str | None,
    corpus: Corpus,
    overrides: Mapping[str, object],
    folder: Path,
    display: ProgressDisplay,
) -> Outcome:
    """Train or resume a model that is part of a larger training."""
    recipe = resolve_recipe(name, corpus, overrides, run=folder, init=None)
    for line in reasons(recipe):
        display.console.print(line)
    return train(recipe, folder, display)


def from_mono(
    name: str | None,
    corpus: Corpus,
    overrides: Mapping[str, object],
    mono: Sequence[str],
    run: Path | None,
    display: ProgressDisplay,
) -> dict[str, object] | None:
    """Train a backward translator, translate monolingual text, and return settings that add the pairs.

    Complete parts are not repeated.

    Args:
        name: the recipe, see ``resolve_recipe``.
        corpus: the named files.
        overrides: settings by dotted key.
        mono: text in the target language.
        run: the run folder of the training.
        display: shows the progress of all parts.

    Returns:
        the settings; None if the user interrupted the training.

    Raises:
        UserError: see ``resolve_recipe``, ``train`` and ``synthesise``.
    """
    recipe = resolve_recipe(name, corpus, overrides, run=None, init=None)
    if recipe.task != "translation":
        raise UserError("only a translator learns from a text alone", place="--mono", remedy="Leave it out.")
    parts = Path(f"{run or default_folder(recipe)}{PARTS}")
    plain = plain_copy(recipe.data, parts / CORPUS)
    settings = {**without_files(overrides), **way(recipe.data, back=True)}
    display.console.print(f"1 of 3: a translator back, {parts / BACK}")
    if train_part(name, reverse_direction(plain), settings, parts / BACK, display).status == "interrupted":
        return None
    display.console.print(f"2 of 3: its translations, {parts / SYNTHETIC}")
    back = Run.open(parts / BACK)
    text, source = languages_of(back)
    translator = Translator.load(parts / BACK)
    synthetic = synthesise(
        [parts / BACK],
        mono,
        parts / SYNTHETIC,
        translator,
        back.recipe.search.model_copy(update={"n_best": 1}),
        languages=(source, text),
        encoding=recipe.data.encoding,
        progress=display.on_preparation,
    )
    display.console.print(synthetic)
    display.console.print("3 of 3: the translator")
    return named_additions([str(parts / SYNTHETIC)], [], [])


def held_out_corrections(folder: Path, recipe: Recipe[Settings]) -> Path | None:
    """Write the corrections that a run was not trained on into its folder; None if there are none."""
    if not recipe.data.corrections:
        return None
    run = Run.open(folder)
    prepared = prepare(recipe.data, recipe.tokenizer, init_tokenizers=run.tokenizers())
    pairs = [pair for added in prepared.added for pair in added.held_out]
    if not pairs:
        return None
    rows = ({"source": source, "target": target} for source, target in pairs)
    files.write_text(folder / HELD_OUT, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return folder / HELD_OUT
