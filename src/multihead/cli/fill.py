"""Predict the masked words of a text with a BERT model.

    multihead fill runs/reviews "정말 [MASK] 영화"
    multihead fill runs/reviews "정말 [MASK] 영화" --top 10

Each [MASK] stands for one token of the vocabulary.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

from multihead.cli import _options
from multihead.tasks.masked.mask_filler import MaskFiller


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder."""
    text: Annotated[str, _options.POSITIONAL, _options.Option(metavar="TEXT")]
    """Text with one or more [MASK]."""
    top: int = 5
    """Number of predictions per [MASK]."""
    json: _options.Flag = False
    """Print JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    top = _options.at_least_one("top", options.top)
    filled = MaskFiller.load(options.run, options.device).fill(options.text, top)
    if options.json:
        print(json.dumps(asdict(filled), indent=2, ensure_ascii=False))
        return 0
    print(filled.text)
    for number, guesses in enumerate(filled.gaps, start=1):
        line = "   ".join(f"{guess.piece} {100 * guess.probability:.1f} %" for guess in guesses)
        print(f"  [MASK] {number}: {line}" if len(filled.gaps) > 1 else f"  {line}")
    return 0
