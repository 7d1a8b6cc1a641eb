"""``multihead evaluate`` for models that do not translate, by task."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from multihead.cli import _classify_texts, _console
from multihead.cli._classify_texts import GENERATED
from multihead.data.images.listing import list_images
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.classification.text_classifier import TextClassifier
from multihead.tasks.detection.coco import read_coco
from multihead.tasks.detection.detector import Detector
from multihead.tasks.detection.objects import generated_test_scenes
from multihead.tasks.language.text_likelihood import TextLikelihood
from multihead.tasks.masked.masked_likelihood import MaskedMeasure
from multihead.tasks.pictures.picture_classifier import PictureClassifier
from multihead.tasks.sets.odd_one_out import OddOneOut
from multihead.tasks.spans import key_values
from multihead.tasks.spans.answerer import Answerer
from multihead.tasks.spans.questions import questions_of
from multihead.tasks.tagging.tagged import generated_test_sentences, sentences_of
from multihead.tasks.tagging.tagger import Tagger

Results = Mapping[str, Any]
"""Scores by name, ready for JSON."""


def run(folders: Sequence[str], files: tuple[str, ...], *, json_: bool, device: str) -> int:
    """Evaluate runs on files, or on the test sets of their recipes, and print the scores.

    Raises:
        UserError: there is no test set; a file cannot be read.
    """
    found: dict[str, dict[str, Results]] = {}
    for folder in folders:
        found[folder] = TASKS[Run.open(folder).task](folder, files, device)
        if not found[folder]:
            fact = "no test set is named, and the run's recipe has none"
            raise UserError(fact, place=folder, remedy="Give files with --src.")
    if json_:
        one = found[folders[0]] if len(folders) == 1 else found
        print(json.dumps(one, indent=2, ensure_ascii=False))
        return 0
    console = _console.output()
    for folder, sets in found.items():
        for name, scores in sets.items():
            console.print(f"{folder} on {name}:")
            width = max(map(len, scores))
            for label, value in scores.items():
                console.print(f"  {label:{width}}  {_show(value)}")
    return 0


def _show(value: object) -> str:
    if value is None:
        return "undefined (no such object)"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"


def _sets(data: Any, files: tuple[str, ...]) -> dict[str, tuple[str, ...]]:
    return {files[0]: tuple(str(Path(file).absolute()) for file in files)} if files else dict(data.tests)


def _tagging(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    data = Run.open(folder).recipe.data
    tagger = Tagger.load(folder, device)
    sets = {name: sentences_of(data, names) for name, names in _sets(data, files).items()}
    if data.generate and not files:
        sets[GENERATED] = generated_test_sentences(data)
    found: dict[str, Results] = {}
    for name, sentences in sets.items():
        scores = tagger.measure(sentences)
        found[name] = {
            "sentences": scores.sentences,
            "words": scores.scores.count,
            "accuracy": scores.scores.accuracy,
            "exact": scores.exact,
            "f1": scores.f1,
        }
        if scores.spans is not None:
            found[name] |= {"precision": scores.spans.precision, "recall": scores.spans.recall}  # type: ignore[operator]
    return found


def _spans(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    data = Run.open(folder).recipe.data
    answerer = Answerer.load(folder, device)
    sets = {name: questions_of(data, names) for name, names in _sets(data, files).items()}
    if data.generate and not files:
        sets[GENERATED] = key_values.test_questions(data)
    found: dict[str, Results] = {}
    for name, questions in sets.items():
        scores = answerer.measure(questions)
        counts = {"questions": scores.count, "answerable": scores.answerable}
        found[name] = {**counts, "exact": scores.exact, "f1": scores.f1}
    return found


def _detection(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    data = Run.open(folder).recipe.data
    detector = Detector.load(folder, device)
    base = Path(data.dir)
    measured = {}
    for name, names in _sets(data, files).items():
        if data.generate and not files:
            measured[name] = detector.measure_generated(generated_test_scenes(data, names))
        else:
            measured[name] = detector.measure(
                read_coco(names, base, "--src" if files else f"data.tests.{name}")
            )
    if data.generate == "shapes" and not files:
        measured[GENERATED] = detector.measure_generated(generated_test_scenes(data))
    found: dict[str, Results] = {}
    for name, scores in measured.items():
        values = {"AP": scores.ap, "AP50": scores.ap50, "AP75": scores.ap75}
        values |= {f"AP {area}": value for area, value in scores.by_area.items()} | {"AR": scores.recall}
        by_class = {
            f"AP {name}": value for name, value in zip(detector.names, scores.by_class(), strict=True)
        }
        defined = {key: None if math.isnan(value) else value for key, value in (values | by_class).items()}
        found[name] = {"pictures": scores.pictures, "objects": scores.objects, **defined}
    return found


def _odd_ones(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    data = Run.open(folder).recipe.data
    model = OddOneOut.load(folder, device)
    found: dict[str, Results] = {}
    for name, names in _sets(data, files).items():
        scores = model.measure(list_images(names, Path(data.dir), "--src" if files else f"data.tests.{name}"))
        found[name] = {"sets": scores.sets, "accuracy": scores.accuracy, "chance": scores.chance}
    return found


def _classification(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    classifier = TextClassifier.load(folder, device)
    sets = _classify_texts.sets_of(Run.open(folder).recipe.data, files, tests=not files)
    found: dict[str, Results] = {}
    for name, one in _classify_texts.measure(folder, classifier, sets).items():
        scores = {"accuracy": one.scores.accuracy, "f1": one.scores.f1}
        found[name] = {"texts": one.scores.count, "empty": one.empty, **scores}
    return found


def _pictures(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    data = Run.open(folder).recipe.data
    classifier = PictureClassifier.load(folder, device)
    found: dict[str, Results] = {}
    for name, names in _sets(data, files).items():
        place = "--src" if files else f"data.tests.{name}"
        scores = classifier.measure(list_images(names, Path(data.dir), place))
        found[name] = {"images": scores.count, "accuracy": scores.accuracy, "f1": scores.f1}
    return found


def _language(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    if not files:
        return {}
    found = TextLikelihood.load(folder, device).measure(files)
    return {
        files[0]: {
            "tokens": found.tokens,
            "unknown": found.unknown,
            "perplexity": found.perplexity,
            "bits per character": found.bits_per_character,
            "accuracy": found.accuracy,
        }
    }


def _mask(folder: str, files: tuple[str, ...], device: str) -> dict[str, Results]:
    if not files:
        return {}
    found = MaskedMeasure.load(folder, device).measure(files)
    counts = {
        "texts": found.texts,
        "empty": found.empty,
        "cut off": found.cut,
        "unknown tokens": found.unknown,
    }
    scores = {"masked tokens": found.masked, "perplexity": found.perplexity, "accuracy": found.accuracy}
    return {files[0]: {**counts, **scores}}


TASKS: Mapping[str, Callable[[str, tuple[str, ...], str], dict[str, Results]]] = {
    "classification": _classification,
    "tagging": _tagging,
    "spans": _spans,
    "pictures": _pictures,
    "language": _language,
    "masked": _mask,
    "detection": _detection,
    "sets": _odd_ones,
}
"""Evaluation by task."""
