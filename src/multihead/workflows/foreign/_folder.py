"""A folder as the transformers library writes it: its config.json, and the other files as they are wanted."""

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
    """A local folder.

    Attributes:
        path: where it is.
        config: the content of its config.json.
    """

    path: Path
    config: Mapping[str, Any]

    @classmethod
    def open(cls, path: Path) -> "Folder":
        """Return the folder. Raises ``UserError`` where it, or its config.json, is missing or no JSON."""
        if not path.is_dir():
            raise UserError("no such folder", place=str(path), remedy="Name a folder on this machine.")
        return cls(path, read_json(path / CONFIG))

    def has(self, name: str) -> bool:
        """Tell whether a file is there."""
        return (self.path / name).is_file()

    def json(self, name: str) -> dict[str, Any]:
        """Return the content of another file. Raises ``UserError`` where it is missing or no JSON object."""
        return read_json(self.path / name)

    def refuse(self, fact: str, *, name: str = CONFIG, remedy: str | None = None) -> UserError:
        """Return the error that one of its files cannot be used as it is."""
        return UserError(fact, place=str(self.path / name), remedy=remedy)

    def insist(self, **wanted: object) -> None:
        """Refuse a config.json that says something else of these keys; what it leaves out is as wanted."""
        for key, value in wanted.items():
            if (found := self.config.get(key, value)) != value:
                raise self.refuse(f"{key} = {found}, but a model here can only have {value}")

    def activation(self, key: str, default: str, known: Mapping[str, str]) -> str:
        """Return our name of the activation that config.json names at a key; refuse one that is not known."""
        name = self.config.get(key, default)
        if name not in known:
            raise self.refuse(f'{key} "{name}" is not known here ({", ".join(known)} are)')
        return known[name]

    def tokenizer(self) -> Tokenizer:
        """Return the tokenizer of tokenizer.json.

        Raises:
            UserError: there is none; it cannot be read.
        """
        if not self.has(TOKENIZER):
            remedy = "Have it written: AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR)."
            raise UserError(f"there is no {TOKENIZER}", place=str(self.path), remedy=remedy)
        return Tokenizer.load(self.path / TOKENIZER)


def one_tokenizer(folder: Folder) -> tuple[Tokenizer, ...]:
    """Return the tokenizer of a model that has one; raises as ``Folder.tokenizer``."""
    return (folder.tokenizer(),)
