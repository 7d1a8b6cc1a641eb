"""Masked language models as ``multihead.load`` returns them."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import BIDIRECTIONAL
from multihead.tasks.loaded import ListsMethods
from multihead.tasks.masked.attention import inspect_masked_text
from multihead.tasks.masked.mask_filler import MaskFiller
from multihead.tasks.text_inspection import text_page


class LoadedMaskFiller(ListsMethods, MaskFiller):
    """Masked language model, with inspection of its attention."""

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text, with predictions for each [MASK].

        Raises:
            UserError: the text is empty, or the model does not accept it.
        """
        return text_page(self, inspect_masked_text(self, text), BIDIRECTIONAL, full)
