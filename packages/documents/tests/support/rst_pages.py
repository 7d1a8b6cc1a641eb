"""Pages of reStructuredText: opened, translated, and read by docutils."""

import re
from pathlib import Path
from typing import Any

import pytest
from marked_targets import filled

from multihead_documents import Document, open_document


def opened(folder: Path, text: str) -> Document:
    (folder / "a.rst").write_bytes(text.encode())
    return open_document(folder / "a.rst")


def found(folder: Path, text: str) -> list[str]:
    return [str(segment.source) for segment in opened(folder, text).segments]


def rendered(folder: Path, text: str, *targets: str) -> str:
    return filled(opened(folder, text), *targets)


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
