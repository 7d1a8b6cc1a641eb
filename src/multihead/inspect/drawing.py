"""One caption and the picture drawn for it: which words each place of the picture was drawn from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from multihead.attention_maps import AttentionRecord, Sentence, Token, record_sequence, sentence
from multihead.attention_maps.alignment import mutual_information
from multihead.data.pictures.opening import Pixels, fitted, open_picture
from multihead.generation.image_generator import ImageGenerator
from multihead.settings.tasks.drawing import SearchSettings

Floats = NDArray[np.float32]
BEGIN, FILLER = "[begin]", "[no word]"
"""What the begin symbol is called, and the places of the text that no word fills."""


@dataclass(frozen=True, slots=True)
class Painting:
    """A picture, its caption, and everything that attention did while it was drawn.

    Attributes:
        caption: what was to be drawn.
        pixels_Chw: the picture that its codes stand for.
        grid: (rows, columns) of codes.
        fits: how well the picture goes with the caption, a cosine; None of a given picture.
        tokens: the whole sequence: begin symbol, caption, fillers, and all codes but the last.
        words: begin symbol and caption, and one for all fillers, if there are any.
        layouts: each layer's.
        records: of kind "self", over the whole sequence; queries, keys and values kept.
    """

    caption: str
    pixels_Chw: Pixels
    grid: tuple[int, int]
    fits: float | None
    tokens: Sentence
    words: tuple[Token, ...]
    layouts: tuple[str, ...]
    records: tuple[AttentionRecord, ...]

    def looks(self) -> list[Floats]:
        """For each layer what each place of the picture takes from each of the words, (H, n, words).

        The query of a place is the one that its code was written from: of the first the last place of the
        text, of the others the code before. What a row lacks to 1 went to the picture.
        """
        n = self.grid[0] * self.grid[1]
        return [_grouped(record.sentence(0)[:, -n:], n, len(self.words)) for record in self.records]

    @property
    def spoken(self) -> list[int]:
        """The places among ``words`` of those of the caption."""
        return [place for place, word in enumerate(self.words) if not word.special]

    def most_informative(self) -> int:
        """The layer, from 1, in which different places look at different words most."""
        shares = [_shares(look_HnC[:, :, self.spoken].mean(axis=0)) for look_HnC in self.looks()]
        return 1 + int(np.argmax([mutual_information(one) for one in shares]))


def paint(
    artist: ImageGenerator, caption: str, settings: SearchSettings | None = None, given: Path | None = None
) -> Painting:
    """Draw a picture for a caption, or take a given one, and record the attention of its drawing.

    Guidance asks the model twice, with the caption and without; recorded is the pass with it.

    Args:
        artist: the model.
        caption: what the picture shall show.
        settings: how to draw.
        given: a picture to look at in place of a drawn one; what is recorded is its codes.

    Raises:
        UserError: a caption with unknown words, or too long; a picture that cannot be read.
    """
    ids, grid = artist.encoded(caption), int(artist.model.settings.grid)
    if given is None:
        drawn = artist.draw(caption, 1, settings)[0]
        codes, fits = list(drawn.codes), drawn.fits
    else:
        pixels = torch.tensor(fitted(open_picture(given), artist.form))[None].to(artist.device).float() / 255
        with torch.no_grad():
            codes, fits = artist.model.codes(pixels)[0].tolist(), None
    text_1T = torch.tensor([ids], device=artist.device)
    lengths_1 = torch.tensor([len(ids)], device=artist.device)
    codes_1n = torch.tensor([codes], device=artist.device)
    decoder, fillers = artist.model.decoder, artist.model.settings.text_length - len(ids)
    records = record_sequence(
        decoder,
        lambda model: model(text_1T, lengths_1, codes_1n),
        1 + len(ids) + fillers + len(codes) - 1,
        keep_inputs=True,
    )
    with torch.no_grad():
        shown = (artist.model.pixels(codes_1n)[0].cpu() * 255).round().byte().numpy()
    said = [token.text for token in sentence(artist.tokenizer, ids).pieces]
    words = [(BEGIN, True), *((word, False) for word in said), *[(FILLER, True)] * bool(fillers)]
    return Painting(
        caption,
        shown,
        (grid, grid),
        fits,
        _sequence(said, fillers, grid, len(codes) - 1),
        tuple(Token(text, place, special) for place, (text, special) in enumerate(words)),
        tuple(artist.model.settings.layouts),
        tuple(records),
    )


def _sequence(said: Sequence[str], fillers: int, columns: int, codes: int) -> Sentence:
    names = [(BEGIN, True), *((word, False) for word in said), *[(FILLER, True)] * fillers]
    names += [(f"{place // columns + 1},{place % columns + 1}", False) for place in range(codes)]
    tokens = tuple(Token(text, place, special) for place, (text, special) in enumerate(names))
    return Sentence(tokens, tokens)


def _grouped(weights_HnK: Floats, n: int, words: int) -> Floats:
    """The columns of the text, those of the fillers as one."""
    text_HnK = weights_HnK[:, :, : weights_HnK.shape[2] - n + 1]
    last = text_HnK[:, :, words - 1 :].sum(axis=2, keepdims=True)
    return np.concatenate([text_HnK[:, :, : words - 1], last], axis=2)


def _shares(look_nC: Floats) -> Floats:
    total: Floats = look_nC.sum(axis=1, keepdims=True)
    total[total == 0] = 1
    return look_nC / total
