"""The live page: a model that runs in the browser, with its attention drawn as the user types."""

from multihead.inspect.live.assembly import PageBlocks, assemble

__all__ = ["PageBlocks", "assemble"]
