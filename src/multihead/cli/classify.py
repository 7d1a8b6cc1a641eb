"""Classify images or texts, or evaluate a classifier.

    multihead classify runs/clothes shoe.png shirt.png
    multihead classify runs/reviews "정말 재미있는 영화"
    multihead classify runs/reviews -i reviews.txt
    multihead classify runs/pairs -i pairs.tsv
    multihead classify runs/clothes --tests
    multihead classify runs/clothes --labelled photos/
    multihead classify runs/odd-one-out set/

A folder stands for all images in it. Images are converted to the size and
channels that the model was trained on. A model of sets gives each image's
probability to be the odd one of all images given. A text file has one text per
line, or two texts with a tab between them if the run was trained on pairs; an
empty line gives an empty line.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

from multihead.cli import _classify_texts, _console, _options
from multihead.cli._confusion import as_json, show
from multihead.cli._effect import refuse_options
from multihead.data.images.listing import Listing, list_images
from multihead.data.images.opening import find_images
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.images.image_classifier import ImageClassifier, Views
from multihead.tasks.sets.odd_one_out import OddOneOut

Run_ = Annotated[str, _options.POSITIONAL, _options.Option(metavar="RUN")]
Images = Annotated[tuple[str, ...], _options.POSITIONAL, _options.Option(metavar="[IMAGE|TEXT...]")]


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: Run_
    """Run folder of a classifier."""
    images: Images = ()
    """Image files or folders, or texts."""
    input: Annotated[_options.File, _options.Option(aliases=("-i",))] = None
    """Text file with one text per line, plain or compressed; "-" is standard input."""
    labelled: _options.Files = ()
    """Evaluate on labelled data: a folder of class folders, a CSV file or two idx files; texts: TSV files."""
    tests: _options.Flag = False
    """Evaluate on the test sets of the run's recipe."""
    views: Views = 1
    """Average over views of an image: 2 adds the mirror image, 10 also shifts both in each direction."""
    top: int = 3
    """Number of classes shown per input."""
    json: _options.Flag = False
    """Print JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    _options.at_least_one("top", options.top)
    if options.json:
        refuse_options(options, ("top",), "with --json, which prints all classes")
    if options.tests or options.labelled:
        refuse_options(options, ("top",), "when a classifier is evaluated")
    if Run.open(options.run).task == "sets":
        return _odd_one(options)
    if Run.open(options.run).task == "classification":
        if options.views != 1:
            raise UserError("a text has no views", place="--views", remedy="Leave the option out.")
        return _classify_texts.run(
            options.run,
            options.images,
            options.input,
            options.labelled,
            tests=options.tests,
            top=options.top,
            json_=options.json,
            device=options.device,
        )
    if options.input:
        raise UserError(
            "this run classifies images, not texts", place=options.input, remedy="Give image files instead."
        )
    sets = _sets(options)
    if bool(sets) == bool(options.images):
        fact = "images and test sets exclude each other" if sets else "there is nothing to classify"
        remedy = "Give either images, or --tests or --labelled."
        raise UserError(fact, place="multihead classify", remedy=remedy)
    images = [file for name in options.images for file in _files(Path(name))]
    classifier = ImageClassifier.load(options.run, options.device)
    if sets:
        _measure(classifier, sets, options)
    else:
        _classify(classifier, images, options)
    return 0


def _odd_one(options: Options) -> int:
    """Print the probability of each image of a set to be the odd one."""
    used = ("run", "images", "json", "device")
    idle = [field.name for field in fields(options) if field.name not in used]
    refuse_options(options, idle, "on the odd one of a set; `multihead evaluate` measures it")
    images = [file for name in options.images for file in _files(Path(name))]
    probabilities = OddOneOut.load(options.run, options.device).probabilities(images)
    if options.json:
        listed = [{"image": str(path), "odd": p} for path, p in zip(images, probabilities, strict=True)]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return 0
    for path, p in zip(images, probabilities, strict=True):
        print(f"{path}\t{100 * p:.1f} %")
    return 0


def _sets(options: Options) -> dict[str, Listing]:
    sets = {}
    if options.tests:
        data = Run.open(options.run).fit_for("images").recipe.data
        if not data.tests:
            remedy = "Give labelled images with --labelled."
            raise UserError(
                "the run's recipe has no test sets (data.tests)", place=options.run, remedy=remedy
            )
        for name, files in data.tests.items():
            sets[name] = list_images(files, Path(data.dir), f"data.tests.{name}")
    if options.labelled:
        sets[options.labelled[0]] = list_images(options.labelled, Path(), "--labelled")
    return sets


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files, note = find_images(path)
    if not files:
        remedy = "Name another folder, or convert its images to PNG or JPEG."
        raise UserError(f"this folder has no images{note and '; '}{note}", place=str(path), remedy=remedy)
    if note:
        _console.messages().print(f"{path}: {note}")
    return files


def _measure(classifier: ImageClassifier, sets: dict[str, Listing], options: Options) -> None:
    scores = {name: classifier.measure(images, views=options.views) for name, images in sets.items()}
    if options.json:
        results = {name: as_json(result, classifier.names) for name, result in scores.items()}
        print(json.dumps(results, indent=2, ensure_ascii=False))
        return
    console = _console.output()
    for name, result in scores.items():
        show(f"{options.run} on {name}: {result.count:,} images", result, classifier.names, console)


def _classify(classifier: ImageClassifier, images: list[Path], options: Options) -> None:
    rows = []
    guesses = classifier.classify(images, views=options.views)
    for path, guess in zip(images, guesses, strict=True):
        rows.append({"image": str(path), "probabilities": guess.probabilities})
        if not options.json:
            top = list(guess.probabilities.items())[: options.top]
            # Not through the console, which would expand the tabs.
            print("\t".join([str(path), *(f"{name} {100 * p:.1f} %" for name, p in top)]))
    if options.json:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
