"""Common parts of the classes that ``multihead.load`` returns."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError

from multihead.errors import UserError
from multihead.recipe.settings import Settings
from multihead.recipe.values import in_words, spell_value

AnySettings = TypeVar("AnySettings", bound=Settings)


class ListsMethods:
    """Lists the public methods in the ``AttributeError`` for a method of another kind of run."""

    # Hidden from type checkers, which would otherwise accept every attribute.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> None:
            kind = type(self)
            if name.startswith("_"):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            methods = [
                each for each in dir(kind) if not each.startswith("_") and callable(getattr(kind, each))
            ]
            available = ", ".join(f"{each}()" for each in methods if each != "load")
            raise AttributeError(f"{kind.__name__} has no method {name!r}; available are {available}")


def change_settings(settings: AnySettings, given: Mapping[str, Any]) -> AnySettings:
    """Return settings with some keys changed. Raises ``UserError``: unknown key, value out of range."""
    fields = type(settings).model_fields
    try:
        return type(settings).model_validate({**dict(settings), **given})
    except ValidationError as error:
        key = str(error.errors()[0]["loc"][0])
    if key not in fields:
        raise UserError(f'there is no setting "{key}"', remedy=f"The settings are {', '.join(fields)}.")
    raise UserError(f"{key} = {spell_value(given[key])}, but it must be {in_words(fields[key])}")
