"""The live page: a model that runs in the browser, with its attention drawn while one types."""

from multihead.inspect.live.assembly import PageBlocks, assemble

__all__ = ["PageBlocks", "assemble"]
