"""Find the objects in images with a trained detector.

    multihead detect runs/shapes image.png
    multihead detect runs/shapes image.png -o boxes.png
    multihead detect runs/shapes folder --json

Prints a line for each object: image, class, score, and its box as left, top,
width and height in pixels. Average precision on annotated images:
`multihead evaluate RUN --src FOLDER`, a folder in COCO's format.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated

from multihead.cli import _console, _options
from multihead.data.images.opening import find_images, open_image
from multihead.errors import UserError
from multihead.inspect.figures import METADATA
from multihead.run import files
from multihead.tasks.detection.detections import draw_boxes
from multihead.tasks.detection.detector import DetectedObject, Detector


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    images: Annotated[tuple[str, ...], _options.POSITIONAL, _options.Option(metavar="IMAGE...")]
    """Image files, or folders of them."""
    output: Annotated[_options.File, _options.Option(aliases=("-o",))] = None
    """Also draw the boxes over the image into this file (.png, .svg or .pdf)."""
    threshold: Annotated[float, _options.Option(metavar="PROBABILITY")] = 0.5
    """Least score of an object, from 0 to 1."""
    json: _options.Flag = False
    """Print JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if not 0 <= options.threshold <= 1:
        raise UserError(f"--threshold {options.threshold:g}", remedy="Give a number from 0 to 1.")
    images = [file for name in options.images for file in _files(Path(name))]
    if options.output:
        _check_output(options.output, len(images))
    detector = Detector.load(options.run, options.device)
    detections = detector.detect(images, options.threshold)
    if options.output:
        draw_boxes(open_image(images[0]), detections[0], detector.names, options.output)
    if options.json:
        listed = [
            {"image": str(image), "objects": [asdict(detection) for detection in objects]}
            for image, objects in zip(images, detections, strict=True)
        ]
        print(json.dumps(listed, indent=2, ensure_ascii=False))
        return 0
    for image, objects in zip(images, detections, strict=True):
        for detection in objects:
            print(_line(image, detection))
        if not objects:
            _console.messages().print(f"{image}: no object with a score of at least {options.threshold:g}")
    return 0


def _line(image: Path, one: DetectedObject) -> str:
    left, top, right, bottom = one.box
    box = " ".join(f"{length:.1f}" for length in (left, top, right - left, bottom - top))
    return f"{image}\t{one.name}\t{one.score:.3f}\t{box}"


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


def _check_output(path: str, images: int) -> None:
    if images != 1:
        remedy = "Name one image, or leave -o out."
        raise UserError(f"boxes of {images} images do not fit into one figure", place=path, remedy=remedy)
    if Path(path).suffix.lower() not in METADATA:
        raise UserError("the file extension is not supported", place=path, remedy="Use .svg, .png or .pdf.")
    files.check_file(path)
