"""Attention of a masked language model over a text."""

from multihead import hardware
from multihead.generation.mask_filler import MaskFiller
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.inspect.text_inspection import inspect_masked_text
from multihead.run import Run
from multihead.workflows.inspection import Inspection, Question
from multihead.workflows.text_inspection import inspection


def inspect(run: Run, question: Question) -> Inspection:
    """See ``workflows.tasks.inspect``: a text, with gaps or without."""
    where = hardware.pick_device(question.device)
    filler = MaskFiller(run.load_model(where), run.tokenizers()[0], device=where, precision="fp32")
    reading = inspect_masked_text(filler, question.without_target("a model that fills gaps"))
    return inspection(reading, filler.model, filler.tokenizer, BIDIRECTIONAL, question)
