"""The page's own arithmetic in Python: its stored weights in the native kernels of the lowest level.

WebAssembly computes the same sums in the same order, so the page writes the same tokens.
"""

from collections.abc import Sequence

import torch

from multihead.apps.export.page.weights import as_stored
from multihead.batch import Source
from multihead.engines.transformer import LaidOutTransformer
from multihead.nn.description import EncoderDecoderSpec
from multihead.search.request import BeamRequest, LengthLimits
from multihead.system import native

LEVEL = "baseline"


class PageReference:
    """Translates token ids as the page does, a sentence at a time.

    Args:
        described: the model.
        dtype: type of the page's matrices.
        ids: begin symbol, end symbol and padding.
    """

    def __init__(self, described: EncoderDecoderSpec, dtype: torch.dtype, ids: tuple[int, int, int]) -> None:
        self._begin, self._end, self._padding = ids
        with native.use(LEVEL):
            self._stepper = LaidOutTransformer(as_stored(described, dtype), dtype, native=True)

    def translate(
        self, sentences: Sequence[Sequence[int]], limits: LengthLimits, beam_size: int = 1, alpha: float = 0.0
    ) -> list[tuple[int, ...]]:
        """Return the tokens of the best translation of each sentence, given without its end symbol."""
        banned = tuple(sorted({self._padding, self._begin} - {self._end}))
        request = BeamRequest(self._begin, self._end, banned, beam_size, alpha, 1, "first")
        outputs = []
        with native.use(LEVEL), torch.inference_mode():
            for ids in sentences:
                source = Source(torch.tensor([[*ids, self._end]]), torch.tensor([len(ids) + 1]))
                hypotheses = self._stepper.beam(source, limits.longest(source.lengths_B), request)
                assert hypotheses is not None
                outputs.append(hypotheses[0][0].tokens)
        return outputs


def has_native_kernels() -> bool:
    """Return whether the native kernels are installed."""
    return LEVEL in native.LEVELS
