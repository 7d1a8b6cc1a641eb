"""Continue a prompt with a language model.

    multihead generate runs/shakespeare --prompt "ROMEO:"
    multihead generate runs/shakespeare --prompt "ROMEO:" -n 3 --temperature 0.7

The output starts with the prompt and is streamed token by token.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from multihead import recipe as recipes
from multihead.cli import _options
from multihead.errors import UserError
from multihead.run import Run
from multihead.tasks.language.text_generator import TextGenerator
from multihead.tasks.translation.without_effect import refuse_keys
from multihead.text.lines import STDIN, read_lines

SAMPLING_KEYS = ("search.top_k", "search.top_p", "search.seed")
"""Keys of [search] that have no effect at temperature 0."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides sampling settings."""

    run: _options.RunFolder
    """Run folder."""
    prompt: Annotated[str, _options.Option(metavar="TEXT")] = ""
    """Beginning of the text; "-" reads standard input. (default: empty)"""
    number: Annotated[int, _options.Option(aliases=("-n",), metavar="N")] = 1
    """Number of texts, separated by a line of dashes."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", task="language"
    )
    _options.at_least_one("number", options.number)
    run = Run.open(options.run).fit_for("language")
    search = recipes.load(run.folder / "recipe.toml", keys).search
    if search.temperature == 0:
        refuse_keys(keys, SAMPLING_KEYS, "at temperature 0, where the most probable token is taken")
    prompt = _standard_input() if options.prompt == STDIN else options.prompt
    generator = TextGenerator.load(run.folder, device=options.device)
    for number in range(options.number):
        texts = generator.write(prompt, search, number=number)
        _put("\n---\n" if number else "")
        _put(prompt)
        for text in texts:
            _put(text)
        _put("\n")
    return 0


def _standard_input() -> str:
    """Return standard input without the end of its last line."""
    try:
        return "\n".join(read_lines(STDIN))
    except UserError as error:
        # The original remedy may mention an option that this command does not have.
        raise UserError(error.fact, place=error.place, remedy="Give plain text in UTF-8.") from None


def _put(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
