"""The parts of a page that translates in the browser: weights, vocabularies, WebAssembly, and checks."""

from multihead.export.page.exporting import PageParts, parts

__all__ = ["PageParts", "parts"]
