"""The languages of a translation on the command line: ``--to``, ``--from``, ``--tag``, ``--zero-shot``."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from multihead.cli import _console, _options
from multihead.tasks.translation.lines.line_translator import LineTranslator

To = Annotated[str | None, _options.Option(name="to", metavar="LANGUAGE")]
From = Annotated[str | None, _options.Option(name="from", metavar="LANGUAGE")]
Tags = Annotated[tuple[str, ...], _options.Option(name="tag", metavar="TAG...")]
ZeroShot = _options.Flag

T = TypeVar("T", bound=LineTranslator)


def choose_direction(
    translator: T, to: str | None, of: str | None, tags: Sequence[str], *, zero_shot: bool
) -> T:
    """Return the translator in the requested direction; print a caution if it was never trained.

    Raises:
        UserError: see ``Translator.toward``.
    """
    if translator.directions is None and to is None and of is None and not tags:
        return translator
    direction = translator.toward(to, of, tags, zero_shot=zero_shot)
    if direction.asked is not None and direction.asked.zero_shot:
        fact = f"zero-shot: the model was never trained to translate from {direction.asked.source}"
        _console.messages().print(f"caution: {fact} to {direction.asked.target}", style="yellow")
    return direction
