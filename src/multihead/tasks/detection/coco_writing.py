"""Scenes as a folder in COCO's format (Lin et al. 2014): images, and one JSON file with their boxes."""

import io
import json
from collections.abc import Iterable, Iterator, Sequence

from PIL import Image

from multihead.tasks.detection.scenes import Scene

ANNOTATIONS = "instances.json"


def coco_files(scenes: Iterable[Scene], names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each file: 00001.png and so on, then ``ANNOTATIONS``.

    Args:
        scenes: the images with their objects.
        names: names of the classes.
    """
    images: list[dict[str, object]] = []
    objects: list[dict[str, object]] = []
    for number, scene in enumerate(scenes, start=1):
        name, (height, width) = f"{number:05}.png", scene.pixels_Chw.shape[1:]
        images.append({"id": number, "file_name": name, "width": width, "height": height})
        for (left, top, right, bottom), kind in zip(
            scene.boxes_M4.tolist(), scene.classes_M.tolist(), strict=True
        ):
            box = [left, top, right - left, bottom - top]
            ids = {"id": len(objects) + 1, "image_id": number, "category_id": kind + 1}
            objects.append({**ids, "bbox": box, "area": box[2] * box[3], "iscrowd": 0})
        content = io.BytesIO()
        Image.fromarray(scene.pixels_Chw.transpose(1, 2, 0)).save(content, "png")
        yield name, content.getvalue()
    categories = [{"id": number, "name": name} for number, name in enumerate(names, start=1)]
    annotations = {"images": images, "annotations": objects, "categories": categories}
    yield ANNOTATIONS, (json.dumps(annotations, indent=1) + "\n").encode()
