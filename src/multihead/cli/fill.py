"""Say what is missing in a text, with a trained BERT.

    multihead fill runs/reviews "정말 [MASK] 영화"
    multihead fill runs/reviews "정말 [MASK] 영화" --top 10

Every [MASK] is one piece of the vocabulary.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from multihead.cli import _options
from multihead.errors import UserError
from multihead.generation.mask_filler import MaskFiller


@dataclass(frozen=True)
class Options:
    """What can be said."""

    run: Annotated[_options.Name, tyro.conf.arg(metavar="RUN")] = None
    """Run folder."""
    text: Annotated[_options.Name, tyro.conf.arg(metavar="TEXT")] = None
    """The text, with [MASK] where something is missing."""
    top: int = 5
    """Pieces told for each gap."""
    json: _options.Flag = False
    """Print JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.run is None or options.text is None:
        missing = "no run folder is named" if options.run is None else "there is no text"
        raise UserError(missing, remedy='multihead fill RUN "... [MASK] ..."')
    top = _options.at_least_one("top", options.top)
    filled = MaskFiller.load(options.run, options.device).fill(options.text, top)
    if options.json:
        print(json.dumps(asdict(filled), indent=2, ensure_ascii=False))
        return 0
    print(filled.text)
    for number, guesses in enumerate(filled.gaps, start=1):
        told = "   ".join(f"{guess.piece} {100 * guess.probability:.1f} %" for guess in guesses)
        print(f"  gap {number}: {told}" if len(filled.gaps) > 1 else f"  {told}")
    return 0
