"""Requests and results of inspecting a model's attention."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from multihead.errors import UserError
from multihead.inspect.maps import Alignment
from multihead.inspect.page import HtmlPage, PageOptions


@dataclass(frozen=True, slots=True)
class InspectionRequest:
    """An input to inspect a model with.

    Attributes:
        input: a sentence, a text, an image file, or a caption.
        target: an output to use in place of the model's own.
        device: device to compute on.
        asked: layer, head and extent of the inspection.
        to: target language of a multilingual translator.
    """

    input: str
    target: str | None = None
    device: str = "auto"
    asked: PageOptions = field(default_factory=PageOptions)
    to: str | None = None

    def input_alone(self, model: str) -> str:
        """Return the input. Raises ``UserError`` where a target is given to a model that takes none."""
        if self.target is not None:
            raise UserError(f"{model} takes no target", place="--target", remedy="Leave it out.")
        return self.input


EVERY_CHOICE = frozenset({"layer", "head", "combine", "words", "specials"})
"""Options that say what of an attention map is shown."""


@dataclass(frozen=True, slots=True)
class Inspection:
    """The results of an inspection, each computed on demand.

    Attributes:
        page: returns the complete HTML page.
        numbers: returns the page's attention weights and other numbers as JSON.
        draw: writes the main figure as .svg, .png or .pdf.
        alignment: returns the numbers of that figure, for the terminal.
        on_page: options that change the page and the JSON.
        in_figure: options that change the figure.
        in_terminal: options that change the figure in the terminal.
    """

    page: Callable[[], HtmlPage]
    numbers: Callable[[], str]
    draw: Callable[[str | Path], None]
    alignment: Callable[[], Alignment]
    on_page: frozenset[str] = EVERY_CHOICE | {"full"}
    in_figure: frozenset[str] = EVERY_CHOICE
    in_terminal: frozenset[str] = EVERY_CHOICE
