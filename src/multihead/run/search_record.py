"""search.json: all that a translator's search needs besides its weights and tokenizers, without PyTorch.

A model's layers describe themselves (``multihead.description``), and the native kernels accept a description
only after a proof against the model's own steps; both need PyTorch. Their outcome is recorded here. The
record is valid for the files of the run and the code that it was made from, and is made anew otherwise.
"""

import hashlib
import json
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Self

from multihead.description import EncoderDecoderSpec
from multihead.engines.native import layers, written
from multihead.errors import UserError
from multihead.recipe.checking import check_section
from multihead.recipe.layers import Layer
from multihead.recipe.settings import SearchSettings
from multihead.run import checked_tensors as sealed_file
from multihead.run import files, manifest, vocabulary
from multihead.run import model_json as described
from multihead.run.manifest import Manifest
from multihead.run.names import ENVIRONMENT, MODEL, RECIPE, WEIGHTS
from multihead.system import disk
from multihead.system.native_library import Array
from multihead.system.safe_parsing import parse_json
from multihead.text.tokenizer import Tokenizer

NAME = "search.json"
FORMAT = 2
SOURCES = (RECIPE, ENVIRONMENT, MODEL)
CODE = ("description.py", "system/native_library.py", "models", "nn", "engines")
"""The parts of the package that a description and its proof depend on."""

LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class SearchRecord:
    """Description, settings and languages of a translator's run.

    Attributes:
        folder: the run's folder.
        description: the model's description (``engines.native.written``).
        limit: longest sequence that the model reads and writes, end symbol included; None: no limit.
        search: the recipe's search settings.
        languages: source and target; "" if the recipe names none.
        directions: (source, target) languages of a model of several directions.
        symbols: reserved symbols of the training pairs.
        changed: kinds of placeholders that the training's targets do not keep.
    """

    folder: Path
    description: Any
    limit: int | None
    search: SearchSettings
    languages: tuple[str, str]
    directions: tuple[tuple[str, str], ...]
    symbols: tuple[str, ...]
    changed: tuple[str, ...] = ()

    @classmethod
    def read(cls, folder: str | Path) -> Self | None:
        """Return the record of a run; None: there is none, or it is of other files or other code."""
        path = Path(folder)
        try:
            content = _content(path)
            if content["format"] != FORMAT or content["code"] != code():
                return None
            if content["files"] != _prints(path) or not (path / WEIGHTS).is_file():
                return None
            return cls(
                path,
                content["description"],
                content["limit"],
                SearchSettings.model_validate(content["search"]),
                (content["languages"][0], content["languages"][1]),
                tuple((source, target) for source, target in content["directions"]),
                tuple(content["symbols"]),
                tuple(content["changed"]),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError):
            return None

    def save(self) -> None:
        """Write it to the run folder. A folder that cannot be written is left as it is."""
        content = {
            "format": FORMAT,
            "code": code(),
            "files": _prints(self.folder),
            "description": self.description,
            "limit": self.limit,
            "search": self.search.model_dump(mode="json"),
            "languages": self.languages,
            "directions": self.directions,
            "symbols": self.symbols,
            "changed": self.changed,
        }
        try:
            files.write_text(self.folder / NAME, json.dumps({**content, "sha256": _digest(content)}) + "\n")
        except UserError as error:
            LOG.info("no %s: %s", NAME, error)

    def settings(self, given: Mapping[str, object]) -> SearchSettings:
        """Return the search settings with dotted keys overridden (``search.beam_size``).

        Raises:
            UserError: an unknown key, or an invalid value.
        """
        recorded = Layer(str(self.folder / RECIPE), {})
        typed = Layer("", {}, typed_in=True)
        values = {key: (value, recorded) for key, value in dict(self.search).items()}
        values |= {key.removeprefix("search."): (value, typed) for key, value in given.items()}
        settings = check_section("search", {"search": SearchSettings}, values)
        assert isinstance(settings, SearchSettings)
        return settings

    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Return the tokenizers of source and target, the same object if they share a vocabulary.

        Raises:
            UserError: a tokenizer is missing, damaged, or not the one that the model was trained with.
        """
        path = self.folder / MODEL
        manifest = Manifest.load(self.folder)
        prints = described.origin(path).tokenizers or (manifest.tokenizers if manifest else ())
        return vocabulary.load(self.folder, described.read(path)["vocabularies"], prints)

    def model(self) -> EncoderDecoderSpec:
        """Return the model's description with its weights, accepted by the native kernels.

        Raises:
            UserError: the weights are damaged, another run's, or not those that are described.
        """
        described.refuse_lost_manifest(self.folder)
        for name in SOURCES:
            manifest.check(self.folder, name)
        path = self.folder / WEIGHTS
        with sealed_file.reading(path, "numpy") as content:
            content.check(described.origin(self.folder / MODEL), path, sealed=True)
            weights: dict[str, Array] = content.tensors
            try:
                spec = written.spec_from_json(self.description, weights)
            except ValueError as error:
                raise self._refusal(str(error)) from None
        if reason := layers.declines(spec):
            raise self._refusal(reason)
        sizes = len(spec.source.weight), len(spec.target.weight)
        source, target = self.tokenizers()
        if source.vocab_size > sizes[0] or target.vocab_size > sizes[1]:
            raise self._refusal("the vocabularies are larger than the embeddings")
        return spec

    def _refusal(self, fact: str) -> UserError:
        remedy = f"Remove {NAME}; it is written again where PyTorch is installed."
        return UserError(fact, place=str(self.folder / NAME), remedy=remedy)


def is_whole(folder: Path) -> bool:
    """Return True if a folder's search.json is as it was written, whether or not it is valid."""
    try:
        _content(folder)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False
    return True


def _content(folder: Path) -> dict[str, Any]:
    """Return the content of search.json. Raises ``ValueError`` and others if it is altered."""
    content: dict[str, Any] = parse_json(disk.content(folder / NAME))
    if content.pop("sha256") != _digest(content):
        raise ValueError("its SHA-256 is not the one that it was written with")
    return content


@cache
def code() -> str:
    """Return the SHA-256 of the package's files that a description and its proof depend on."""
    package = Path(__file__).parents[1]
    checksum = hashlib.sha256()
    for name in CODE:
        path = package / name
        for file in [path] if path.is_file() else sorted(path.rglob("*.py")):
            checksum.update(f"{file.relative_to(package)}\0".encode())
            checksum.update(file.read_bytes())
    return checksum.hexdigest()


def _prints(folder: Path) -> dict[str, str]:
    return {name: hashlib.sha256(disk.content(folder / name)).hexdigest() for name in SOURCES}


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
