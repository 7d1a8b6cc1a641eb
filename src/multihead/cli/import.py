"""Read a Hugging Face folder: GPT-2, BERT, ViT or MarianMT.

    multihead import gpt2/ -o runs/gpt2
    multihead generate runs/gpt2 --prompt "Once upon a time"
    multihead train --init runs/gpt2 --data.files mine.txt

    multihead import opus-mt-de-en/ -o runs/opus-de-en
    multihead translate runs/opus-de-en < letter.de

The folder has config.json, model.safetensors and tokenizer.json; MarianMT may
have source.spm, target.spm and vocab.json instead. ViT has no tokenizer, and
of its preprocessor_config.json mean and deviation of the pixels are taken.
Nothing is fetched, and pickles are not read.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from multihead.cli import _console, _options
from multihead.errors import UserError
from multihead.settings import tasks
from multihead.workflows.importing import import_folder


@dataclass(frozen=True)
class Options:
    """What can be said."""

    folder: Annotated[_options.Name, tyro.conf.arg(metavar="DIR")] = None
    """The folder to read."""
    output: Annotated[_options.Folder, tyro.conf.arg(aliases=["-o"])] = None
    """New run folder."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if options.folder is None or options.output is None:
        missing = "no folder is named" if options.folder is None else "no run folder to write is named"
        raise UserError(missing, remedy="multihead import DIR -o RUN")
    run, missing = import_folder(Path(options.folder), Path(options.output))
    recipe = run.recipe
    size = sum(parameter.numel() for parameter in run.load_model().parameters())
    console = _console.output()
    console.print(f"{recipe.kind}: {size:,} parameters")
    name = shlex.quote(options.output)
    if missing:
        console.print(
            f"the folder has no {missing}: it begins with zeros, and says nothing before fine-tuning"
        )
        console.print(f"to train it: {_console.program()} train --init {name}")
        return 0
    command = tasks.use(recipe.task).format(run=name)
    console.print(f"to use it: {_console.program()} {command}")
    return 0
