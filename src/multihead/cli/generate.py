"""Write on where a prompt ends, with a trained language model.

    multihead generate runs/shakespeare --prompt "ROMEO:"
    multihead generate runs/shakespeare --prompt "ROMEO:" -n 3 --temperature 0.7

The text appears as it is written; the prompt is repeated before it.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import tyro

from multihead import recipe as recipes
from multihead.cli import _options
from multihead.errors import UserError
from multihead.generation.text_generator import TextGenerator
from multihead.run import Run
from multihead.text.lines import STDIN, read_lines


@dataclass(frozen=True)
class Options:
    """What can be said besides how to write."""

    run: Annotated[_options.Name, tyro.conf.arg(metavar="RUN")] = None
    """Run folder."""
    prompt: str = ""
    """What the text begins with; "-": standard input."""
    number: Annotated[int, tyro.conf.arg(aliases=["-n"], metavar="N")] = 1
    """How many texts; a line of dashes stands between two."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, given = _options.read_with_keys(
        Options, arguments, sections=("search",), short="search", task="language"
    )
    if options.run is None:
        raise UserError("no run folder is named", remedy='multihead generate RUN --prompt "..."')
    if options.number < 1:
        raise UserError(f"{options.number} texts", place="--number", remedy="Ask for at least one.")
    run = Run.open(options.run).fit_for("language")
    search = recipes.load(run.folder / "recipe.toml", given).search
    prompt = _typed_in() if options.prompt == STDIN else options.prompt
    writer = TextGenerator.load(run.folder, device=options.device)
    for number in range(options.number):
        texts = writer.write(prompt, search, number=number)
        _put("\n---\n" if number else "")
        _put(prompt)
        for text in texts:
            _put(text)
        _put("\n")
    return 0


def _typed_in() -> str:
    """Return standard input, without its last line's end."""
    try:
        return "\n".join(read_lines(STDIN))
    except UserError as error:
        # The reader's remedy may name an option that this command does not have.
        raise UserError(error.fact, place=error.place, remedy="A prompt is plain text in UTF-8.") from None


def _put(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
