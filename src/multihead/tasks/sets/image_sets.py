"""Sets of labelled images, one of which differs in class: a function of (seed, epoch, number)."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.batch import SetBatch
from multihead.data.images.store import ImageStore
from multihead.data.plan import Indices
from multihead.errors import UserError
from multihead.system import randomness


@dataclass(frozen=True)
class SetMaker:
    """Makes sets from labelled images; image i is the odd one of set i.

    Attributes:
        pixels: the images, (P, channels, size, size).
        labels: their classes, (P,).
        set_size: N, number of images in a set.
        seed: with the epoch, seeds the other images of a set and the place of the odd one.

    Raises:
        UserError: fewer than two classes have enough images.
    """

    pixels: NDArray[np.uint8]
    labels: NDArray[np.int64]
    set_size: int
    seed: int

    def __post_init__(self) -> None:
        rows = {int(kind): np.flatnonzero(self.labels == kind) for kind in np.unique(self.labels)}
        enough = {kind: indices for kind, indices in rows.items() if len(indices) >= self.set_size - 1}
        if len(enough) < 2:
            fact = f"{len(enough)} classes have at least {self.set_size - 1} images; two are needed"
            raise UserError(fact, place="data.set_size", remedy="Give more images, or make smaller sets.")
        object.__setattr__(self, "_rows", enough)

    @classmethod
    def of(cls, store: ImageStore, set_size: int, seed: int) -> "SetMaker":
        """Make sets from a store of images."""
        return cls(store.pixels, store.labels, set_size, seed)

    def members(self, number: int, epoch: int) -> tuple[NDArray[np.int64], int]:
        """Return the images of a set, (N,), and the place of the odd one."""
        bits = np.random.PCG64(randomness.derive(self.seed, "set", epoch, number))
        raw = bits.random_raw(2 + self.set_size)
        rows: dict[int, NDArray[np.int64]] = self._rows  # type: ignore[attr-defined]
        kinds = [kind for kind in rows if kind != self.labels[number]]
        others = rows[kinds[int(raw[0]) % len(kinds)]]
        # Floyd's sampling without replacement: one draw for each image.
        sample: list[int] = []
        for place, draw in enumerate(raw[2 : self.set_size + 1].tolist()):
            top = len(others) - (self.set_size - 1) + place
            pick = draw % (top + 1)
            sample.append(top if pick in sample else pick)
        odd = int(raw[1]) % self.set_size
        members = others[sample].tolist()
        members.insert(odd, number)
        return np.array(members), odd

    def batch(self, indices: Indices, epoch: int) -> SetBatch:
        """Return the sets with these numbers, as drawn in this epoch."""
        sets = [self.members(number, epoch) for number in indices.tolist()]
        pixels = self.pixels[np.concatenate([members for members, _ in sets])]
        shape = (len(sets), self.set_size, *pixels.shape[1:])
        odd_B = torch.tensor([odd for _, odd in sets])
        return SetBatch(torch.from_numpy(pixels).reshape(shape).float() / 255, odd_B)
