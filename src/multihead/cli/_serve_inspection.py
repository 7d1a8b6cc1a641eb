"""The page of a sentence's attention in ``multihead serve``; imported on first use: it needs PyTorch."""

from multihead.inspect.maps import AlignmentHead
from multihead.inspect.page import PageOptions
from multihead.tasks import base
from multihead.tasks.inspection import InspectionRequest


def inspect(run: str, sentence: str, device: str) -> str:
    """Return the page of a sentence, HTML."""
    view = PageOptions(run, AlignmentHead(), words=False, specials=False, full=False)
    return base.inspect(run, InspectionRequest(sentence, None, device, view)).page().html
