"""Inspection of a masked language model's attention."""

from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.masked.attention import inspect_masked_text
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.text_inspection import inspection


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text, with or without masks."""
    where = hardware.pick_device(request.device)
    filler = MaskFiller(run.load_model(where), run.tokenizers()[0], device=where, precision="fp32")
    reading = inspect_masked_text(filler, request.input_alone("a masked language model"))
    return inspection(reading, filler.model, filler.tokenizer, BIDIRECTIONAL, request)
