"""Name the class of pictures or texts, or measure a classifier.

    multihead classify runs/clothes shoe.png shirt.png
    multihead classify runs/reviews "정말 재미있는 영화"
    multihead classify runs/reviews -i reviews.txt
    multihead classify runs/clothes --tests
    multihead classify runs/clothes --labelled photos/

A folder stands for the pictures in it. Pictures are brought to the size and the
channels that the model was trained on. Of a file of texts every line is one;
an empty line gives an empty line.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from multihead.cli import _classify_texts, _console, _options
from multihead.cli._confusion import as_json, show
from multihead.data.pictures.listing import Listing, listed
from multihead.data.pictures.opening import SUFFIXES
from multihead.errors import UserError
from multihead.generation.picture_classifier import PictureClassifier, Views
from multihead.run import Run

Run_ = Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="RUN")]
Pictures = Annotated[
    tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="PICTURE|TEXT", help_behavior_hint="")
]


@dataclass(frozen=True)
class Options:
    """What can be said."""

    run: Run_
    """Run folder of a classifier."""
    pictures: Pictures = ()
    """Picture files, or folders of them; or texts."""
    input: Annotated[_options.File, tyro.conf.arg(aliases=["-i"])] = None
    """Texts, one a line, plain or compressed; "-": standard input."""
    labelled: _options.Files = ()
    """Measure on what has known classes. Pictures: a folder of class folders, a CSV file, or two idx files;
    texts: TSV files."""
    tests: _options.Flag = False
    """Measure on the test sets of the run's recipe."""
    views: Views = 1
    """Average over so many views of a picture: 2, its mirror image too; 10, both also moved each way."""
    top: int = 3
    """Classes shown for each."""
    json: _options.Flag = False
    """Print JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    _options.at_least_one("top", options.top)
    if Run.open(options.run).task == "classification":
        if options.views != 1:
            raise UserError("a text has one view", place="--views")
        return _classify_texts.run(
            options.run,
            options.pictures,
            options.input,
            options.labelled,
            tests=options.tests,
            top=options.top,
            json_=options.json,
            device=options.device,
        )
    if options.input:
        raise UserError("a file of texts, but the run is a classifier of pictures", place=options.input)
    sets = _sets(options)
    if bool(sets) == bool(options.pictures):
        remedy = "Name pictures, or say --tests or --labelled."
        raise UserError("what shall be classified?", place="multihead classify", remedy=remedy)
    pictures = [file for name in options.pictures for file in _files(Path(name))]
    classifier = PictureClassifier.load(options.run, options.device)
    if sets:
        _measure(classifier, sets, options)
    else:
        _classify(classifier, pictures, options)
    return 0


def _sets(options: Options) -> dict[str, Listing]:
    sets = {}
    if options.tests:
        data = Run.open(options.run).fit_for("pictures").recipe.data
        if not data.tests:
            remedy = "Name pictures whose classes are known: --labelled."
            raise UserError("its recipe names no test sets (data.tests)", place=options.run, remedy=remedy)
        for name, files in data.tests.items():
            sets[name] = listed(files, Path(data.dir), f"data.tests.{name}")
    if options.labelled:
        sets[options.labelled[0]] = listed(options.labelled, Path(), "--labelled")
    return sets


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if not found:
        raise UserError("no picture in this folder", place=str(path))
    return found


def _measure(classifier: PictureClassifier, sets: dict[str, Listing], options: Options) -> None:
    scores = {name: classifier.measure(pictures, views=options.views) for name, pictures in sets.items()}
    if options.json:
        told = {name: as_json(found, classifier.names) for name, found in scores.items()}
        print(json.dumps(told, indent=2, ensure_ascii=False))
        return
    console = _console.output()
    for name, found in scores.items():
        show(f"{options.run} on {name}: {found.count:,} pictures", found, classifier.names, console)


def _classify(classifier: PictureClassifier, pictures: list[Path], options: Options) -> None:
    found = []
    guesses = classifier.classify(pictures, views=options.views)
    for path, guess in zip(pictures, guesses, strict=True):
        found.append({"picture": str(path), "probabilities": guess.probabilities})
        if not options.json:
            likeliest = list(guess.probabilities.items())[: options.top]
            # Not by the console, which would make spaces of tabs.
            print("\t".join([str(path), *(f"{name} {100 * p:.1f} %" for name, p in likeliest)]))
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
