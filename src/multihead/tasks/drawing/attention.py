"""Attention of a text-to-image model from image positions to the words of the caption."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from multihead.data.images.opening import Pixels, fit_image, open_image
from multihead.inspect.maps import AttentionRecord, Sentence, TokenLabel, record_sequence, sentence
from multihead.inspect.maps.alignment import mutual_information, normalise_rows
from multihead.tasks.drawing.image_generator import ImageGenerator
from multihead.tasks.drawing.settings import SearchSettings

Floats = NDArray[np.float32]
BEGIN, PADDING = "[begin]", "[padding]"
"""Labels of the begin symbol and of the text positions without a word."""


@dataclass(frozen=True, slots=True)
class DrawingInspection:
    """An image, its caption, and the attention recorded while it was generated.

    Attributes:
        caption: the prompt.
        pixels_Chw: the image decoded from its codes.
        grid: (rows, columns) of codes.
        similarity: cosine similarity of image and caption; None if the image was not generated.
        tokens: the whole sequence: begin symbol, caption, padding, and all codes but the last.
        words: begin symbol, caption words, and one token for all padding, if there is any.
        layouts: attention layout of each layer.
        records: attention of kind "self" over the whole sequence, with queries, keys and values.
        decoder: the model of the sequence.
        run: feeds the sequence to a model.
    """

    caption: str
    pixels_Chw: Pixels
    grid: tuple[int, int]
    similarity: float | None
    tokens: Sentence
    words: tuple[TokenLabel, ...]
    layouts: tuple[str, ...]
    records: tuple[AttentionRecord, ...]
    decoder: nn.Module
    run: Callable[[Any], object]

    def word_weights(self) -> list[Floats]:
        """Return the attention of each image position to each of the words, layer by layer, (H, n, words).

        The code of a position was predicted from its query: the last text position for the first code, the
        previous code for the others. The rest of a row, up to 1, went to the image.
        """
        n = self.grid[0] * self.grid[1]
        return [_text_columns(record.sentence(0)[:, -n:], n, len(self.words)) for record in self.records]

    @property
    def caption_indices(self) -> list[int]:
        """Indices in ``words`` of the words of the caption."""
        return [i for i, word in enumerate(self.words) if not word.special]

    def most_informative(self) -> int:
        """Return the layer, from 1, with the highest mutual information between image positions and words."""
        information = [
            mutual_information(normalise_rows(weights_HnC[:, :, self.caption_indices].mean(axis=0)))
            for weights_HnC in self.word_weights()
        ]
        return 1 + int(np.argmax(information))


def inspect_drawing(
    generator: ImageGenerator,
    caption: str,
    settings: SearchSettings | None = None,
    given: Path | None = None,
) -> DrawingInspection:
    """Record the attention over the codes of a generated or given image.

    With classifier-free guidance the pass with the caption is recorded.

    Args:
        generator: the model.
        caption: the prompt.
        settings: sampling settings.
        given: an image to use in place of a generated one; its codes are fed to the model.

    Raises:
        UserError: the caption has unknown words or is too long; the image cannot be read.
    """
    ids, grid = generator.encode_text(caption), int(generator.model.settings.grid)
    if given is None:
        drawing = generator.draw(caption, 1, settings)[0]
        codes, similarity = list(drawing.codes), drawing.fits
    else:
        pixels = torch.tensor(fit_image(open_image(given), generator.form))[None].to(generator.device)
        with torch.no_grad():
            codes, similarity = generator.model.codes(pixels.float() / 255)[0].tolist(), None
    text_1T = torch.tensor([ids], device=generator.device)
    lengths_1 = torch.tensor([len(ids)], device=generator.device)
    codes_1n = torch.tensor([codes], device=generator.device)
    decoder, padding = generator.model.decoder, generator.model.settings.text_length - len(ids)

    def run(model: Any) -> object:
        return model(text_1T, lengths_1, codes_1n)

    records = record_sequence(decoder, run, len(ids) + padding + len(codes), keep_inputs=True)
    with torch.no_grad():
        pixels_Chw = (generator.model.pixels(codes_1n)[0].cpu() * 255).round().byte().numpy()
    caption_words = [token.text for token in sentence(generator.tokenizer, ids).pieces]
    words = [(BEGIN, True), *((word, False) for word in caption_words), *[(PADDING, True)] * bool(padding)]
    return DrawingInspection(
        caption,
        pixels_Chw,
        (grid, grid),
        similarity,
        _sequence(caption_words, padding, grid, len(codes) - 1),
        tuple(TokenLabel(text, i, special) for i, (text, special) in enumerate(words)),
        tuple(generator.model.settings.layouts),
        tuple(records),
        decoder,
        run,
    )


def _sequence(caption_words: Sequence[str], padding: int, columns: int, codes: int) -> Sentence:
    names = [(BEGIN, True), *((word, False) for word in caption_words), *[(PADDING, True)] * padding]
    names += [(f"{code // columns + 1},{code % columns + 1}", False) for code in range(codes)]
    tokens = tuple(TokenLabel(text, i, special) for i, (text, special) in enumerate(names))
    return Sentence(tokens, tokens)


def _text_columns(weights_HnK: Floats, n: int, words: int) -> Floats:
    """Return the columns of the text, with the padding summed into one column."""
    text_HnK = weights_HnK[:, :, : weights_HnK.shape[2] - n + 1]
    last = text_HnK[:, :, words - 1 :].sum(axis=2, keepdims=True)
    return np.concatenate([text_HnK[:, :, : words - 1], last], axis=2)
