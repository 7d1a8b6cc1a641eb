"""model.json as a JSON object: a model's kind and settings, without making the model."""

from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.run import manifest
from multihead.run.manifest import UPDATE
from multihead.run.names import MODEL
from multihead.run.origin import Origin
from multihead.system import disk
from multihead.system.safe_parsing import parse_json

FORMAT = 1
"""Version of the run folder's layout; a newer one is refused."""


def read(path: Path) -> dict[str, Any]:
    """Return the content of a model.json.

    Raises:
        UserError: it cannot be read, is of a newer version, or something is missing.
    """
    content = read_json(path)
    version = content.get("format")
    if isinstance(version, int) and version > FORMAT:
        fact = f"made by a newer multihead (folder format {version}, this one knows {FORMAT})"
        raise UserError(fact, place=str(path.parent), remedy=UPDATE)
    fields = {"format": int, "kind": str, "settings": dict, "vocabularies": list}
    later = {"run": str, "tokenizers": list}  # which version 0.1.0 did not write
    for key, kind in (fields | (later if later.keys() & content.keys() else {})).items():
        if not isinstance(content.get(key), kind):
            raise UserError(f'"{key}" is missing or of the wrong kind', place=str(path))
    return content


def refuse_lost_manifest(folder: Path) -> None:
    """Raise ``UserError`` for a run that was written with a manifest.json and lacks it."""
    if "run" in read(folder / MODEL) and not (folder / manifest.NAME).exists():
        raise UserError("missing", place=str(folder / manifest.NAME), remedy=manifest.REWRITE)


def origin(path: Path) -> Origin:
    """Return the origin that a model.json names; an empty one for a run of version 0.1.0.

    Raises:
        UserError: see :func:`read`.
    """
    content = read(path)
    return Origin(content.get("run", ""), tuple(map(str, content.get("tokenizers", ()))))


def read_json(path: Path) -> dict[str, Any]:
    """Return a JSON object from a file. Raises ``UserError`` if there is none."""
    try:
        content = parse_json(disk.content(path))
    except OSError as error:
        raise UserError(f"cannot be read ({error.strerror})", place=str(path)) from None
    except ValueError as error:
        raise UserError(f"not JSON ({error})", place=str(path)) from None
    if not isinstance(content, dict):
        raise UserError("not a JSON object", place=str(path))
    return content
