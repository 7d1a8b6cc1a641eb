"""Language models as ``multihead.load`` returns them, and the inspection of their attention."""

from multihead.inspect.page import HtmlPage
from multihead.inspect.page.kinds import CAUSAL
from multihead.run import Run
from multihead.tasks.inspection import Inspection, InspectionRequest
from multihead.tasks.language.attention import inspect_text
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.loaded import ListsMethods, change_settings
from multihead.tasks.text_inspection import inspection, text_page


class LoadedTextGenerator(ListsMethods, TextGenerator):
    """Language model that returns whole texts; :meth:`write` streams them."""

    def generate(self, prompt: str = "", *, number: int = 0, **search: object) -> str:
        """Return a prompt with its continuation.

        Args:
            prompt: the beginning of the text.
            number: index of the sample; each index gives a different text for the same prompt and seed.
            search: keys of [search] that override the run's recipe: max_tokens, temperature, top_k, top_p,
                seed, stop.

        Raises:
            UserError: a prompt that the model does not accept, an unknown key, or a value out of range.
        """
        return prompt + "".join(self.write(prompt, change_settings(self.settings, search), number=number))

    def inspect(self, text: str, *, full: bool = False) -> HtmlPage:
        """Return a page of the model's attention over a text, with predictions for the next token.

        Raises:
            UserError: the text is empty, or the model does not accept it.
        """
        return text_page(self, inspect_text(self, text), CAUSAL, full)


def inspect(run: Run, request: InspectionRequest) -> Inspection:
    """See ``tasks.base.inspect``. The input is a text."""
    generator = TextGenerator.load(run.folder, request.device)
    reading = inspect_text(generator, request.input_alone("a language model"))
    return inspection(generator, reading, CAUSAL, request)
