"""A model folder in the format of the transformers library."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from multihead.errors import UserError
from multihead.run.model_file import read_json
from multihead.text.tokenizer import Tokenizer

CONFIG, TOKENIZER = "config.json", "tokenizer.json"


@dataclass(frozen=True)
class Folder:
    """A local model folder.

    Attributes:
        path: its path.
        config: the content of its config.json.
    """

    path: Path
    config: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """Open a folder. Raises ``UserError`` if it or its config.json is missing or malformed."""
        if not path.is_dir():
            raise UserError("no such folder", place=str(path), remedy="Name a local folder.")
        return cls(path, read_json(path / CONFIG))

    def has(self, name: str) -> bool:
        """Return whether the folder has this file."""
        return (self.path / name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file. Raises ``UserError`` if it is missing or not a JSON object."""
        return read_json(self.path / name)

    def refuse(self, fact: str, *, name: str = CONFIG, remedy: str | None = None) -> UserError:
        """Return an error about an unsupported file."""
        return UserError(fact, place=str(self.path / name), remedy=remedy)

    def require(self, **supported: object) -> None:
        """Raise ``UserError`` if config.json has a different value of a key. A missing key is accepted."""
        for key, value in supported.items():
            if (actual := self.config.get(key, value)) != value:
                raise self.refuse(f"{key} = {actual} is not supported, only {value}")

    def activation(self, key: str, default: str, names: Mapping[str, str]) -> str:
        """Return our name of the activation function under a key. Raises ``UserError`` for an unknown one."""
        name = self.config.get(key, default)
        if name not in names:
            raise self.refuse(f'{key} "{name}" is not supported; supported are {", ".join(names)}')
        return names[name]

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer in tokenizer.json.

        Raises:
            UserError: the file is missing, or cannot be read.
        """
        if not self.has(TOKENIZER):
            remedy = "Write it with AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)."
            raise UserError(f"there is no {TOKENIZER}", place=str(self.path), remedy=remedy)
        return Tokenizer.load(self.path / TOKENIZER)


def one_tokenizer(folder: Folder) -> tuple[Tokenizer, ...]:
    """Return the tokenizer of a model with a single one; raises as ``Folder.tokenizer``."""
    return (folder.tokenizer(),)
