"""What is seen in a model, in each of the forms that it can be had in."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from multihead.attention_maps import Alignment
from multihead.errors import UserError
from multihead.inspect.page import Page, PageOptions


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody wants to look into a model with.

    Attributes:
        what: the sentence, the text, the picture's file, or the caption.
        target: what to take in place of the model's own output.
        device: where to compute.
        asked: which layer and head, and how much.
    """

    what: str
    target: str | None = None
    device: str = "auto"
    asked: PageOptions = field(default_factory=PageOptions)

    def without_target(self, what: str) -> str:
        """Return what to look at. Raises ``UserError`` where an output is given and the model has none."""
        if self.target is not None:
            raise UserError(f"{what} has no other side", place="--target", remedy="Leave it out.")
        return self.what


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was seen. Nothing is computed before it is asked for.

    Attributes:
        page: the page of everything.
        numbers: all weights and what else is on the page, as JSON.
        draw: writes the picture that says most, as .svg, .png or .pdf.
        alignment: that picture's numbers, to be drawn in the terminal.
    """

    page: Callable[[], Page]
    numbers: Callable[[], str]
    draw: Callable[[str | Path], None]
    alignment: Callable[[], Alignment]
