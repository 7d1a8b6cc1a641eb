"""Pages of reStructuredText: opened, translated, and read by docutils."""

import re
from pathlib import Path
from typing import Any

import pytest

from multihead.documents import Document, Markup, open_document


def opened(folder: Path, text: str) -> Document:
    (folder / "a.rst").write_bytes(text.encode())
    return open_document(folder / "a.rst")


def found(folder: Path, text: str) -> list[str]:
    return [str(segment.source) for segment in opened(folder, text).segments]


def rendered(folder: Path, text: str, *targets: str) -> str:
    """Return a text whose segments, in order, are replaced by these; ``{1}`` is the source's first tag."""
    document = opened(folder, text)
    result = {}
    for segment, target in zip(document.segments, targets, strict=False):
        tags = {str(tag): tag for tag in segment.source.tags}
        parts = (tags.get(part, part) for part in re.split(r"(\{/?\d/?\})", target))
        result[segment.number] = Markup.of(*parts)
    return document.rendered(result).decode()


def nodes(text: str) -> list[tuple[str, str]]:
    """Return the elements that docutils finds, and their texts without white space."""
    core = pytest.importorskip("docutils.core")
    options: dict[str, Any] = {"report_level": 5, "halt_level": 5, "warning_stream": None}
    options |= {"file_insertion_enabled": False, "raw_enabled": False, "_disable_config": True}
    tree = core.publish_doctree(text, settings_overrides=options)
    found = []
    for node in tree.findall():
        name = type(node).__name__
        assert name != "system_message", node.astext()
        if name not in ("Text", "substitution_reference"):
            found.append((name, bare(node.get("alt") or node.astext())))
    return found


def bare(text: str) -> str:
    """Return a text without white space."""
    return re.sub(r"\s+", "", text)
