"""Batches of images with objects, mirrored and scaled at random."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from multihead.batch import SceneBatch
from multihead.data.images.random_numbers import uniforms
from multihead.tasks.detection.objects import GREY, SceneSet
from multihead.tasks.detection.scenes import VISIBLE, Scene


@dataclass(frozen=True)
class SceneBatches:
    """Makes batches of a set of images.

    Attributes:
        scenes: the images.
        seed: with the epoch, seeds the augmentation.
        flip: whether to mirror half of the images.
        scale_jitter: how far the random scale of an image may be from 1.
    """

    scenes: SceneSet
    seed: int = 0
    flip: bool = False
    scale_jitter: float = 0.0

    def batch(self, indices: NDArray[np.int64], epoch: int) -> SceneBatch:
        """Return the images at ``indices`` for this epoch."""
        scenes = [self.scenes.scene(index, epoch) for index in indices.tolist()]
        if self.flip or self.scale_jitter:
            u_B4 = uniforms(self.seed, epoch, indices.tolist(), 4)
            scenes = [self._augment(scene, u_4) for scene, u_4 in zip(scenes, u_B4, strict=True)]
        return collate(scenes)

    def _augment(self, scene: Scene, u_4: NDArray[np.float64]) -> Scene:
        if self.flip and u_4[0] < 0.5:
            scene = _mirror(scene)
        if self.scale_jitter:
            scene = rescale(scene, 1 + self.scale_jitter * (2 * u_4[1] - 1), (u_4[2], u_4[3]))
        return scene


def _mirror(scene: Scene) -> Scene:
    width = scene.pixels_Chw.shape[-1]
    boxes = scene.boxes_M4.copy()
    boxes[:, [0, 2]] = width - scene.boxes_M4[:, [2, 0]]
    return Scene(scene.pixels_Chw[..., ::-1], boxes, scene.classes_M)


def rescale(scene: Scene, scale: float, place: tuple[float, float]) -> Scene:
    """Scale an image, then cut it or fill it with grey to its size again (Ghiasi et al. 2021, sec. 3).

    Args:
        scene: a square image; objects that are cut to less than a third of their area are left out.
        scale: factor of its width and height.
        place: where the cut-out or the image lies, from 0 (left, top) to 1.
    """
    size = scene.pixels_Chw.shape[-1]
    left, top = (round(share * (size - size * scale)) for share in place)
    reach = max(1, round(size * scale))
    image = Image.fromarray(np.ascontiguousarray(scene.pixels_Chw.transpose(1, 2, 0)))
    window = image.resize((reach, reach), Image.Resampling.BILINEAR)
    canvas = Image.new("RGB", (size, size), (GREY, GREY, GREY))
    canvas.paste(window, (left, top))
    moved_M4 = scene.boxes_M4 * (reach / size) + np.array([left, top, left, top], dtype=np.float32)
    boxes_M4 = moved_M4.clip(0, size)
    visible_M = _areas(boxes_M4) >= VISIBLE * _areas(moved_M4)
    pixels_Chw = np.asarray(canvas).transpose(2, 0, 1)
    return Scene(pixels_Chw, boxes_M4[visible_M], scene.classes_M[visible_M])


def _areas(boxes_M4: NDArray[np.float32]) -> NDArray[np.float32]:
    areas: NDArray[np.float32] = (boxes_M4[:, 2:] - boxes_M4[:, :2]).prod(axis=1)
    return areas


def collate(scenes: Sequence[Scene]) -> SceneBatch:
    """Return images of one size as a batch."""
    pixels = torch.from_numpy(np.stack([scene.pixels_Chw for scene in scenes])).float() / 255
    size = scenes[0].pixels_Chw.shape[-1]
    most = max(1, *(len(scene.classes_M) for scene in scenes))
    boxes, classes = np.zeros((len(scenes), most, 4), np.float32), np.full((len(scenes), most), -1)
    for row, scene in enumerate(scenes):
        left, top, right, bottom = scene.boxes_M4.T / size
        count = len(scene.classes_M)
        boxes[row, :count] = np.stack([(left + right) / 2, (top + bottom) / 2, right - left, bottom - top], 1)
        classes[row, :count] = scene.classes_M
    objects = int((classes >= 0).sum())
    return SceneBatch(pixels, torch.from_numpy(boxes), torch.from_numpy(classes), objects)
