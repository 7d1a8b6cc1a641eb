"""Translations of documents written with ``{1}`` for the tags of their sources."""

import re

from multihead_documents import Document, Markup


def filled(document: Document, *targets: str) -> str:
    """Return a document whose segments, in order, are replaced; ``{1}`` is the source's first tag."""
    result = {}
    for segment, target in zip(document.segments, targets, strict=False):
        tags = {str(tag): tag for tag in segment.source.tags}
        parts = (tags.get(part, part) for part in re.split(r"(\{/?\d/?\})", target))
        result[segment.number] = Markup.of(*parts)
    return document.render(result).decode()
