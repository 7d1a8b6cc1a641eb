"""Import a model from a Hugging Face folder or the hub.

    multihead import gpt2/ -o runs/gpt2
    multihead import openai-community/gpt2 -o runs/gpt2
    multihead generate runs/gpt2 --prompt "Once upon a time"
    multihead train --init runs/gpt2 --data.files mine.txt

    multihead import opus-mt-de-en/ -o runs/opus-de-en
    multihead translate runs/opus-de-en < letter.de

GPT-2, Llama, Mistral, Mixtral, BERT, ViT and MarianMT can be imported.
The folder must contain config.json, model.safetensors and tokenizer.json.
MarianMT may have source.spm, target.spm and vocab.json instead. ViT has no
tokenizer; the mean and standard deviation of its pixels come from
preprocessor_config.json. OWNER/MODEL, if it is not a folder, is downloaded from
the hub ($HF_ENDPOINT, $HF_TOKEN). Pickle files are not read.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from multihead.apps.huggingface import hub
from multihead.apps.huggingface.importing import import_folder
from multihead.cli import _console, _options
from multihead.recipe import tasks


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    folder: Annotated[str, _options.POSITIONAL, _options.Option(metavar="DIR|OWNER/MODEL")]
    """Hugging Face folder, or a model on the hub."""
    output: _options.NewFolder
    """New run folder."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    path = Path(options.folder)
    folder = hub.download(options.folder) if hub.is_hub_name(options.folder) else path
    run, missing_part = import_folder(folder, Path(options.output), name=path.resolve().name)
    recipe = run.recipe
    size = sum(parameter.numel() for parameter in run.load_model().parameters())
    console = _console.output()
    console.print(f"{recipe.kind}: {size:,} parameters")
    name = shlex.quote(options.output)
    if missing_part:
        console.print(f"the folder has no {missing_part}; it is initialised to zero and needs fine-tuning")
        console.print(f"to train it: {_console.program()} train --init {name}")
        return 0
    if command := tasks.get_task(recipe.task).use:
        console.print(f"to use it: {_console.program()} {command.format(run=name)}")
    return 0
