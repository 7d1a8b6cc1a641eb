"""The parts of a page that runs a model in the browser: weights, vocabularies, WebAssembly, and checks."""

from multihead.apps.export.page.exporting import PageParts, parts
from multihead.apps.export.page.sequence_exporting import image_parts, masked_parts
from multihead.apps.export.page.text_exporting import text_parts

__all__ = ["PageParts", "image_parts", "masked_parts", "parts", "text_parts"]
