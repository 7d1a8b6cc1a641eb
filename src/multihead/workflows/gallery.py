"""A page of what a model draws beside what it was trained on: memory is not to be taken for imagination.

For captions that training saw, and for others: the true picture, the same through the discrete VAE's codes, a
picture drawn from the caption alone, and the training picture that is nearest to the drawn one.
"""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from multihead.data.pictures.caption_batches import CaptionBatches
from multihead.data.pictures.captioned import Captioned, prepare
from multihead.data.pictures.opening import as_picture, fitted
from multihead.data.pictures.store import PictureStore
from multihead.generation.image_generator import ImageGenerator
from multihead.run import Run
from multihead.settings.tasks.drawing import SearchSettings

SHOWN = 96
"""Pixels that a picture is wide on the page."""
BLOCK = 1024
"""Training pictures compared at once."""

STYLE = """body{font:15px system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}
table{border-collapse:collapse}th:first-child{width:14rem}
td,th{padding:.3rem .8rem .3rem 0;text-align:left;font-weight:normal}
th{color:#666}img{image-rendering:pixelated;border:1px solid #ccc;display:block}"""


@dataclass(frozen=True)
class Row:
    """One caption's pictures.

    Attributes:
        caption: the caption.
        true: its picture.
        again: the true picture through its codes.
        drawn: one drawn from the caption.
        nearest: the training picture that differs least from the drawn one.
        nearest_caption: its caption.
        difference: root of the mean squared difference of those two, 0 to 255.
    """

    caption: str
    true: Image.Image
    again: Image.Image
    drawn: Image.Image
    nearest: Image.Image
    nearest_caption: str
    difference: float


def gallery(run: Run, artist: ImageGenerator, search: SearchSettings, count: int) -> str:
    """Return the page, as HTML that needs no other file.

    Args:
        run: its recipe says what it was trained on.
        artist: the run, loaded.
        search: how to draw.
        count: captions shown of those seen in training, and of the others.

    Raises:
        UserError: the data is not there any more.
    """
    recipe = run.recipe
    data = prepare(recipe.data, recipe.tokenizer)
    parts = {
        "Captions seen in training": rows(artist, data, data.train, search, count),
        "Captions never seen": rows(artist, data, data.valid, search, count),
    }
    tables = "".join(f"<h2>{title}</h2>{_table(found)}" for title, found in parts.items())
    heading = f"What {escape(run.folder.name)} draws"
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{heading}</title>'
        f"<style>{STYLE}</style></head><body><h1>{heading}</h1>"
        f"<p>{len(data.train):,} pictures were trained on. A drawn picture that is one of them may be "
        f"remembered; one that is not was made.</p>{tables}</body></html>\n"
    )


def rows(
    artist: ImageGenerator, data: Captioned, store: PictureStore, search: SearchSettings, count: int
) -> list[Row]:
    """Return some pictures of a store, spread over it, with what becomes of them."""
    batches = CaptionBatches(data, store)
    chosen = np.linspace(0, len(store) - 1, min(count, len(store))).round().astype(int).tolist()
    with torch.no_grad():
        pixels = batches.batch(chosen).pixels_BChw.to(artist.device)
        again = artist.model.pixels(artist.model.codes(pixels)).cpu()
    found = []
    for number, row in enumerate(chosen):
        drawn = artist.draw(batches.texts[row], 1, search)[0].picture
        place, difference = nearest(fitted(drawn, data.form), data.train.pixels)
        found.append(
            Row(
                caption=batches.texts[row],
                true=as_picture(store.pixels[row]),
                again=as_picture((again[number] * 255).round().byte().numpy()),
                drawn=drawn,
                nearest=as_picture(data.train.pixels[place]),
                nearest_caption=data.captions[int(data.train.labels[place])],
                difference=difference,
            )
        )
    return found


def nearest(pixels: NDArray[np.uint8], among: NDArray[np.uint8]) -> tuple[int, float]:
    """Return which of N pictures differs least from one, and by how much (root of the mean square)."""
    differences = np.concatenate(
        [
            np.square(among[start : start + BLOCK].astype(np.float32) - pixels).mean(axis=(1, 2, 3))
            for start in range(0, len(among), BLOCK)
        ]
    )
    place = int(differences.argmin())
    return place, float(np.sqrt(differences[place]))


def _table(found: Sequence[Row]) -> str:
    titles = ("caption", "true", "through its codes", "drawn", "nearest in training", "")
    head = "".join(f"<th>{title}</th>" for title in titles)
    return f"<table><tr>{head}</tr>{''.join(map(_line, found))}</table>"


def _line(row: Row) -> str:
    pictures = "".join(f"<td>{_image(p)}</td>" for p in (row.true, row.again, row.drawn, row.nearest))
    told = f"{escape(row.nearest_caption)}<br>differs by {row.difference:.1f} of 255"
    return f"<tr><td>{escape(row.caption)}</td>{pictures}<td>{told}</td></tr>"


def _image(picture: Image.Image) -> str:
    content = io.BytesIO()
    picture.save(content, "PNG")
    data = base64.b64encode(content.getvalue()).decode()
    return f'<img width="{SHOWN}" alt="" src="data:image/png;base64,{data}">'
