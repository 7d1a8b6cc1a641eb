"""Trained and requested directions of a multilingual translator."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text import tagged
from multihead.text.languages import closest
from multihead.text.symbols import kind
from multihead.text.tokenizer import Tokenizer


class RequestedDirection(NamedTuple):
    """A requested direction.

    Attributes:
        target: target language.
        source: source language; "": any.
        tags: further symbols before the source.
        zero_shot: whether the direction was not trained.
    """

    target: str
    source: str
    tags: tuple[str, ...]
    zero_shot: bool

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols before the source: the target language and the tags."""
        return tagged.tags_of(self.target, self.tags)


@dataclass(frozen=True)
class Directions:
    """The directions and tags of a translator's training.

    Attributes:
        trained: (source, target) languages.
        tags: symbols of domains and origins.
        place: the run, for error messages.
    """

    trained: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    place: str

    @classmethod
    def of(cls, trained: Sequence[tuple[str, str]], tokenizer: Tokenizer, place: str) -> "Directions | None":
        """Return the directions of a run; None for a run with a single direction and no tags."""
        if not trained:
            return None
        tags = tuple(symbol for symbol in tokenizer.symbols if kind(symbol) in tagged.OF_A_SOURCE)
        return cls(tuple(trained), tags, place)

    @property
    def sources(self) -> list[str]:
        """Source languages, each once."""
        return list(dict.fromkeys(source for source, _ in self.trained))

    @property
    def targets(self) -> list[str]:
        """Target languages, each once."""
        return list(dict.fromkeys(target for _, target in self.trained))

    def ask(
        self,
        target: str | None,
        source: str | None = None,
        tags: Sequence[str] = (),
        *,
        zero_shot: bool = False,
    ) -> RequestedDirection:
        """Return the direction between two languages.

        Args:
            target: code of the target language; None if there is only one.
            source: code of the source language; None for any.
            tags: names of domains or origins.
            zero_shot: allow a direction without training data, between languages with training data.

        Raises:
            UserError: several targets, but none is named; an unknown language or tag; an untrained direction.
        """
        if target is None:
            reachable = [
                to for start, to in self.trained if source is None or start == closest(source, [start])
            ]
            offered = list(dict.fromkeys(reachable)) or self.targets
            if len(offered) > 1:
                remedy = f"Name one with --to: {', '.join(offered)}."
                raise UserError("it translates to several languages", place=self.place, remedy=remedy)
            target = offered[0]
        target = self._closest(target, self.targets, "to")
        sources = [*self.sources, *self.targets] if zero_shot else self.sources
        source = "" if source is None else self._closest(source, sources, "from")
        symbols = tuple(tagged.tag(name, place="--tag") for name in tags)
        for symbol in symbols:
            if symbol not in self.tags:
                remedy = f"It has {', '.join(self.tags) or 'none'}."
                raise UserError(f"it was not trained with the tag {symbol}", place=self.place, remedy=remedy)
        untrained = bool(source) and (source, target) not in self.trained
        if untrained and source == target:
            raise UserError(f"from {source} to {target}", place=self.place, remedy="Name two languages.")
        if untrained and not zero_shot:
            raise UserError(
                f"it was never trained to translate from {source} to {target}",
                place=self.place,
                remedy=f"Try it with --zero-shot. It was trained in {self}.",
            )
        return RequestedDirection(target, source, symbols, untrained)

    def _closest(self, code: str, offered: Sequence[str], way: str) -> str:
        language = closest(code, offered)
        if language is None:
            fact = f'it does not translate {way} "{code}"'
            raise UserError(fact, place=self.place, remedy=f"It translates {way} {', '.join(offered)}.")
        return language

    def __str__(self) -> str:
        return ", ".join(f"{source}-{target}" for source, target in self.trained)
