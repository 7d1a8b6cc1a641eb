"""A page of generated images next to their nearest training images, to reveal memorisation.

For seen and unseen captions: the original image, its reconstruction by the discrete
VAE, an image generated from the caption alone, and the training image nearest to the generated one.
"""

import io
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from multihead.data.images.opening import as_image, fit_image
from multihead.data.images.store import ImageStore
from multihead.data.plan import evenly_spaced
from multihead.inspect.page import HtmlPage
from multihead.inspect.report.markup import Child, SafeHtml, tag
from multihead.inspect.report.parts import card, png_image, report, scrolling, table
from multihead.inspect.report.words import say
from multihead.run import Run
from multihead.tasks.drawing.caption_batches import CaptionBatches
from multihead.tasks.drawing.captioned import Captioned, prepare
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.settings import SearchSettings

BLOCK = 1024
"""Training images compared in one batch."""


@dataclass(frozen=True)
class CaptionRow:
    """The images of one caption.

    Attributes:
        caption: the caption.
        original: its image.
        reconstruction: the original image, encoded and decoded by the discrete VAE.
        generated: an image generated from the caption.
        nearest: the training image nearest to the generated one.
        nearest_caption: caption of that training image.
        difference: root mean square difference between generated and nearest image, 0 to 255.
    """

    caption: str
    original: Image.Image
    reconstruction: Image.Image
    generated: Image.Image
    nearest: Image.Image
    nearest_caption: str
    difference: float


def gallery(run: Run, generator: ImageGenerator, search: SearchSettings, count: int) -> HtmlPage:
    """Return the page.

    Args:
        run: the run; its recipe names the training data.
        generator: the run's image generator.
        search: sampling settings.
        count: number of seen captions, and of unseen captions.

    Raises:
        UserError: the training data is missing.
    """
    recipe = run.recipe
    data = prepare(recipe.data, recipe.tokenizer)
    seen, unseen = (rows(generator, data, store, search, count) for store in (data.train, data.valid))
    return page_of(run.folder.name, len(data.train), seen, unseen)


def page_of(name: str, images: int, seen: Sequence[CaptionRow], unseen: Sequence[CaptionRow]) -> HtmlPage:
    """Return the page of a run with so many training images, from the rows of seen and unseen captions."""
    lead = say(
        "The training set has {} images. A generated image that equals its nearest training image may be "
        "memorised.",
        f"{images:,}",
    )
    main = [
        tag("h1", name),
        tag("p", lead, class_="sub"),
        card(say("Captions seen in training"), _table(seen)),
        card(say("Captions not seen in training"), _table(unseen)),
    ]
    return report(name, say("generated images"), main, None)


def rows(
    generator: ImageGenerator, data: Captioned, store: ImageStore, search: SearchSettings, count: int
) -> list[CaptionRow]:
    """Return rows for evenly spaced images of a store."""
    batches = CaptionBatches(data, store)
    indices = evenly_spaced(len(store), count).tolist()
    with torch.no_grad():
        pixels = batches.batch(indices).pixels_BChw.to(generator.device)
        reconstructions = generator.model.pixels(generator.model.codes(pixels)).cpu()
    out = []
    for number, row in enumerate(indices):
        generated = generator.draw(batches.texts[row], 1, search)[0].image
        index, difference = nearest(fit_image(generated, data.form), data.train.pixels)
        out.append(
            CaptionRow(
                caption=batches.texts[row],
                original=as_image(store.pixels[row]),
                reconstruction=as_image((reconstructions[number] * 255).round().byte().numpy()),
                generated=generated,
                nearest=as_image(data.train.pixels[index]),
                nearest_caption=data.captions[int(data.train.labels[index])],
                difference=difference,
            )
        )
    return out


def nearest(pixels: NDArray[np.uint8], among: NDArray[np.uint8]) -> tuple[int, float]:
    """Return the index of the nearest of N images, and its root mean square difference."""
    differences = np.concatenate(
        [
            np.square(among[start : start + BLOCK].astype(np.float32) - pixels).mean(axis=(1, 2, 3))
            for start in range(0, len(among), BLOCK)
        ]
    )
    index = int(differences.argmin())
    return index, float(np.sqrt(differences[index]))


def _table(captions: Sequence[CaptionRow]) -> SafeHtml:
    titles = ("caption", "original", "reconstruction", "generated", "nearest in training", "its caption")
    return scrolling(table([say(title) for title in titles], map(_cells, captions)), say("generated images"))


def _cells(row: CaptionRow) -> list[Child]:
    difference = say("RMS difference {} of 255", f"{row.difference:.1f}")
    images = (row.original, row.reconstruction, row.generated, row.nearest)
    return [row.caption, *map(_image, images), [row.nearest_caption, tag("div", difference)]]


def _image(image: Image.Image) -> SafeHtml:
    content = io.BytesIO()
    image.save(content, "PNG")
    return png_image(content.getvalue(), "", "pixels")
