"""Text-to-image generation with a trained DALL-E run."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from multihead.data.images.opening import Form, as_image, fit_image, open_image
from multihead.errors import UserError
from multihead.run import Run
from multihead.search.consistency import drawing_inconsistency, warn
from multihead.search.sampling import draw, uniform
from multihead.system import hardware, randomness
from multihead.tasks.drawing.settings import SearchSettings
from multihead.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class Drawing:
    """A generated image.

    Attributes:
        image: the image.
        fits: the ranker's cosine similarity of image and caption, -1 to 1.
        codes: the image's codes in raster order (row by row).
    """

    image: Image.Image
    fits: float
    codes: tuple[int, ...]


class ImageGenerator:
    """Generates images from captions.

    Args:
        model: a ``models.dalle`` model.
        tokenizer: the caption tokenizer.
        device: device to compute on.
        precision: precision of matrix products.
        settings: default sampling settings.
    """

    def __init__(
        self,
        model: nn.Module,
        tokenizer: Tokenizer,
        *,
        device: torch.device,
        precision: hardware.Precision = "fp32",
        settings: SearchSettings | None = None,
    ) -> None:
        self.model: Any = model  # a DALLE; nn.Module does not declare its methods
        self.model.to(device).eval()
        self.tokenizer, self.device = tokenizer, device
        self.dtype = hardware.pick_dtype(precision, device)
        self.settings = settings or SearchSettings()
        sizes: Any = model.settings
        self.form = Form(sizes.image_size, sizes.channels)
        self._compared = False

    @classmethod
    def load(cls, folder: str | Path, device: str = "auto") -> Self:
        """Load a trained run.

        Raises:
            UserError: not a run; not a text-to-image model; not trained yet; no such device.
        """
        run, where = Run.open(folder).fit_for("drawing"), hardware.pick_device(device)
        model = run.load_model(where)
        return cls(model, run.tokenizers()[0], device=where, settings=run.recipe.search)

    def draw(
        self,
        caption: str,
        count: int = 1,
        settings: SearchSettings | None = None,
        *,
        complete: Path | None = None,
    ) -> list[Drawing]:
        """Generate images for a caption and return the best matches, best first.

        Args:
            caption: the prompt.
            count: number of images to return.
            settings: sampling settings; None: the generator's default.
            complete: an image to complete. Its upper half is kept; all of it if it is wider than tall.

        Raises:
            UserError: the caption has unknown words or is too long; the image cannot be read.
        """
        settings = settings or self.settings
        ids = self.encode_text(caption)
        rows = max(count, settings.candidates)
        given_n = self.upper_codes(complete) if complete else torch.empty(0, dtype=torch.long)
        keys = [randomness.derive(settings.seed, "drawing", number) for number in range(rows)]
        codes_Rn = self.codes([ids] * rows, settings, keys=keys, given_Rn=given_n.expand(rows, -1))
        with torch.no_grad():
            pixels_RChw = self.model.pixels(codes_Rn.to(self.device))
            text_1T = torch.tensor([ids], device=self.device)
            about_1d = self.model.ranker.text(text_1T, torch.tensor([len(ids)], device=self.device))
            fits_R = (self.model.ranker.image(pixels_RChw) @ about_1d[0]).tolist()
        images = (pixels_RChw.cpu() * 255).round().byte().numpy()
        order = sorted(range(rows), key=lambda row: -fits_R[row])[:count]
        return [Drawing(as_image(images[row]), fits_R[row], tuple(codes_Rn[row].tolist())) for row in order]

    def encode_text(self, caption: str) -> list[int]:
        """Return a caption's token ids. Raises ``UserError``: unknown words, or no or too many tokens."""
        ids, limit = self.tokenizer.encode(caption), self.model.settings.text_length
        unknown = [word for word in caption.split() if self.tokenizer.unk_id in self.tokenizer.encode(word)]
        if unknown:
            fact = f"words not in the vocabulary: {', '.join(unknown)}"
            raise UserError(fact, place="caption", remedy="Use words from the training captions.")
        if len(ids) > limit:
            fact = f"{len(ids)} tokens; the model accepts at most {limit}"
            raise UserError(fact, place="caption", remedy="Shorten it.")
        if not ids:
            raise UserError("empty caption", place="caption", remedy="Describe what to draw.")
        return ids

    @torch.inference_mode()
    def codes(
        self,
        texts: Sequence[Sequence[int]],
        settings: SearchSettings,
        *,
        keys: Sequence[int],
        given_Rn: Tensor | None = None,
    ) -> Tensor:
        """Sample an image's codes for each caption, (R, n).

        A row depends only on its own key, caption and given codes, not on the rest of the batch.

        Args:
            texts: token ids of R captions.
            settings: sampling settings.
            keys: R random keys.
            given_Rn: codes to start from.
        """
        if not self._compared:
            self._compared = True
            warn(self.model, drawing_inconsistency(self.model, self.device))
        given_Rn = torch.empty(len(texts), 0, dtype=torch.long) if given_Rn is None else given_Rn
        guided = settings.guidance != 1.0
        lengths = [len(ids) for ids in texts]
        width = max([1, *lengths])
        text_RT = torch.tensor([[*ids, *[0] * (width - len(ids))] for ids in texts], device=self.device)
        lengths_R = torch.tensor(lengths, device=self.device)
        codes_Rn, key_R = given_Rn.to(self.device), torch.tensor(keys, device=self.device)
        if guided:  # the second half of the batch repeats every row without its caption
            text_RT, codes_Rn = text_RT.repeat(2, 1), codes_Rn.repeat(2, 1)
            lengths_R = torch.cat([lengths_R, torch.zeros_like(lengths_R)])
        decoder, total = self.model.decoder, self.model.settings.grid**2
        with hardware.autocast(self.device, self.dtype):
            logits_RK, caches = decoder.begin(text_RT, lengths_R, codes_Rn)
            for step in range(codes_Rn.shape[1], total):
                scores_RK = guide(logits_RK.float(), settings.guidance) if guided else logits_RK.float()
                code_R = _next_codes(scores_RK, uniform(key_R, step), settings)
                code_R = code_R.repeat(2) if guided else code_R
                codes_Rn = torch.cat([codes_Rn, code_R[:, None]], dim=1)
                if step + 1 < total:
                    logits_RK = decoder.step(code_R, caches)
        return codes_Rn[: len(texts)].cpu()

    def upper_codes(self, path: Path) -> Tensor:
        """Return the codes of an image's upper part, in whole rows: at most half of the grid for a square.

        Raises:
            UserError: the image cannot be read, or is shorter than one row of codes.
        """
        image = open_image(path)
        width, height = image.size
        grid, size = self.model.settings.grid, self.form.size
        rows = min(grid // 2 if height >= width else height * grid // width, grid - 1)
        if not rows:
            fact = f"{width} x {height} pixels do not fill one row of the generated image"
            raise UserError(fact, place=str(path), remedy="Give a taller image.")
        # Crop before scaling: a narrow image could otherwise be scaled to any height.
        square = image.crop((0, 0, width, min(width, height)))
        scaled = square.resize((size, max(1, round(square.height * size / width))), Image.Resampling.BICUBIC)
        paper = Image.new(image.mode, (size, size), "white")
        paper.paste(scaled, (0, 0))
        pixels = torch.from_numpy(np.array(fit_image(paper, self.form)))[None].float() / 255
        with torch.no_grad():
            codes_1n: Tensor = self.model.codes(pixels.to(self.device)).cpu()
        return codes_1n[:, : rows * grid]


def guide(logits_2RK: Tensor, guidance: float) -> Tensor:
    """Classifier-free guidance: unconditional + guidance * (conditional - unconditional), (R, K).

    Args:
        logits_2RK: R rows with their captions, then the same R rows without.
        guidance: guidance scale; 1 gives the conditional log-probabilities.
    """
    conditional_RK, unconditional_RK = logits_2RK.log_softmax(dim=-1).chunk(2)
    return torch.lerp(unconditional_RK, conditional_RK, guidance)


def _next_codes(scores_RK: Tensor, uniform_R: Tensor, settings: SearchSettings) -> Tensor:
    if settings.temperature == 0:
        return scores_RK.argmax(dim=1)
    return draw(
        scores_RK,
        uniform_R,
        temperature=settings.temperature,
        top_k=settings.top_k,
        top_p=settings.top_p,
    )
