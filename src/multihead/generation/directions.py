"""Directions of a translator of several languages: which were trained, and which one is asked for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from multihead.errors import UserError
from multihead.text import tagged
from multihead.text.languages import closest
from multihead.text.symbols import kind
from multihead.text.tokenizer import Tokenizer


class Asked(NamedTuple):
    """A direction that is asked for.

    Attributes:
        target: language of the output.
        source: language of the input; "" for any.
        tags: further symbols before the source.
        zero_shot: whether the model was never trained in this direction.
    """

    target: str
    source: str
    tags: tuple[str, ...]
    zero_shot: bool

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols before the source."""
        return tagged.tags_of(self.target, self.tags)


@dataclass(frozen=True)
class Directions:
    """The directions and tags that a translator was trained with.

    Attributes:
        trained: its (source, target) languages.
        tags: its symbols of domains and origins.
        place: the run, named by errors.
    """

    trained: tuple[tuple[str, str], ...]
    tags: tuple[str, ...]
    place: str

    @classmethod
    def of(cls, trained: Sequence[tuple[str, str]], tokenizer: Tokenizer, place: str) -> "Directions | None":
        """Return the directions of a run, None of one that translates in one direction without tags."""
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
    ) -> Asked:
        """Return the direction between two languages.

        Args:
            target: code of the target language; None where there is but one.
            source: code of the source language; None for any.
            tags: names of domains or origins.
            zero_shot: allow a direction that was never trained, between languages that were.

        Raises:
            UserError: no target where there are several; a language or a tag that the model does not know; a
                direction that was never trained.
        """
        if target is None:
            reachable = [to for of, to in self.trained if source is None or of == closest(source, [of])]
            offered = list(dict.fromkeys(reachable)) or self.targets
            if len(offered) > 1:
                remedy = f"Name one with --to: {', '.join(offered)}."
                raise UserError("it translates to several languages", place=self.place, remedy=remedy)
            target = offered[0]
        found = self._known(target, self.targets, "to")
        begun = "" if source is None else self._known(source, self.sources, "from")
        symbols = tuple(tagged.tag(name, place="--tag") for name in tags)
        for symbol in symbols:
            if symbol not in self.tags:
                remedy = f"It has {', '.join(self.tags) or 'none'}."
                raise UserError(f"it was trained with no tag {symbol}", place=self.place, remedy=remedy)
        untrained = bool(begun) and (begun, found) not in self.trained
        if untrained and begun == found:
            raise UserError(f"from {begun} to {found}", place=self.place, remedy="Name two languages.")
        if untrained and not zero_shot:
            raise UserError(
                f"it was never trained to translate from {begun} to {found}",
                place=self.place,
                remedy=f"Try it with --zero-shot. It was trained in {self}.",
            )
        return Asked(found, begun, symbols, untrained)

    def _known(self, code: str, offered: Sequence[str], way: str) -> str:
        found = closest(code, offered)
        if found is None:
            fact = f'it does not translate {way} "{code}"'
            raise UserError(fact, place=self.place, remedy=f"It translates {way} {', '.join(offered)}.")
        return found

    def __str__(self) -> str:
        return ", ".join(f"{source}-{target}" for source, target in self.trained)
