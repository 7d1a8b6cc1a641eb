"""Masked language models as ``multihead.load`` returns them, and the inspection of their attention."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.masked.attention import inspect_masked_text
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.text_inspection import inspection, text_page


class LoadedMaskFiller(ListsMethods, MaskFiller):
    """Masked language model, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text, with predictions for each [MASK].

        Raises:
            UserError: the text is empty, or the model does not accept it.
        """
        return text_page(self, inspect_masked_text(self, text), BIDIRECTIONAL, full)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text, with or without masks."""
    where = hardware.pick_device(request.device)
    filler = MaskFiller(run.load_model(where), run.tokenizers()[0], device=where, precision="fp32")
    reading = inspect_masked_text(filler, request.input_alone("a masked language model"))
    return inspection(filler, reading, BIDIRECTIONAL, request)
