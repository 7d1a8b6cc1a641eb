"""Convert a trained BERT or GPT to longer texts.

    multihead lengthen runs/nsmc --positions 4096 -o runs/long
    multihead train --init runs/long --data.files long-texts.txt

Learned positions are repeated, as the Longformer's authors did (Beltagy et al.
2020, sec. 5), and full attention becomes a window: for an encoder with [CLS]
as a global token (longformer), for a GPT over the last positions (window). On
texts that fit into one window nothing changes; on longer ones, train further.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from multihead.cli import _console, _options
from multihead.workflows.lengthening import lengthen


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    run: _options.RunFolder
    """Run folder of a BERT, a BERT classifier or a GPT."""
    output: _options.NewFolder
    """New run folder."""
    positions: Annotated[int, _options.Option(metavar="N")]
    """Longest text of the new model, in tokens."""
    attention: Annotated[
        Literal["longformer", "window", "alternating", "full"] | None,
        _options.Option(),
    ] = None
    """Attention of the new model. (default: longformer for BERT, window for GPT)"""
    window: Annotated[int | None, _options.Option(metavar="R")] = None
    """Positions that a position attends to. (default: as many as the old model has)"""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    for name in ("positions", "window"):
        if (value := getattr(options, name)) is not None:
            _options.at_least_one(name, value)
    report = lengthen(
        Path(options.run),
        Path(options.output),
        options.positions,
        attention=options.attention,
        window=options.window,
    )
    model = report.recipe.model
    console = _console.output()
    window = f", window {model.window:,}" if model.attention != "full" else ""  # type: ignore[attr-defined]
    console.print(f"{report.recipe.kind}: {options.positions:,} positions, {model.attention}{window}")  # type: ignore[attr-defined]
    console.print(f"to train it further: {_console.program()} train --init {shlex.quote(options.output)}")
    return 0
