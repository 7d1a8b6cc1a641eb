"""Write a trained run, or its vocabulary, for other programs.

    multihead export runs/de-en --to ctranslate2 -o de-en.ct2
    multihead export runs/de-en --to ctranslate2 -o small --quantization int8
    multihead export runs/de-en --to sentencepiece -o vocabulary

CTranslate2 is a fast runtime in C++ for machines that have no PyTorch: the
folder holds the model, its vocabulary and the tokenizer. SentencePiece is the
tokenizer of many toolkits: the folder holds spm.model, which gives our ids.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import tyro

from multihead.cli import _console, _options
from multihead.errors import UserError
from multihead.export import ctranslate2, sentencepiece
from multihead.run import Run

HOW = """\
In Python:
  import ctranslate2
  from tokenizers import Tokenizer
  cut = Tokenizer.from_file("{folder}/{source}")
  cut.encode_special_tokens = True  # what only looks like a symbol is text
  pieces = cut.encode("...", add_special_tokens=False).tokens
  translator = ctranslate2.Translator("{folder}")
  found = translator.translate_batch([pieces], beam_size=5)[0].hypotheses[0]"""

NORMAL = "Give it text in Unicode's form NFC, lower-cased where the run is: it does neither by itself."


@dataclass(frozen=True)
class Options:
    """What can be said."""

    run: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="RUN", help_behavior_hint="")] = (
        None
    )
    """Run folder."""
    to: Annotated[str | None, tyro.conf.arg(metavar="FOR", help_behavior_hint="")] = None
    """ctranslate2 or sentencepiece."""
    output: Annotated[_options.Folder, tyro.conf.arg(aliases=["-o"])] = None
    """New folder; it appears when it is complete."""
    quantization: ctranslate2.Quantization = "float32"
    """Format of the weights. int8 is a quarter as large, and fast on a CPU."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if not options.run or not options.to or not options.output:
        fact = "no run folder is named" if not options.run else "nothing, or no folder, to export to"
        raise UserError(fact, remedy="multihead export RUN --to ctranslate2 -o DIR")
    if options.to not in ("ctranslate2", "sentencepiece"):
        remedy = "Runs can be exported to ctranslate2, their vocabularies to sentencepiece."
        raise UserError(f'there is no export to "{options.to}"', place="--to", remedy=remedy)
    run, folder = Run.open(options.run), Path(options.output)
    if options.to == "sentencepiece":
        sentencepiece.export(run.fit_for("translation"), folder)
        console = _console.messages()
        console.print(f"{folder}: {', '.join(sorted(file.name for file in folder.iterdir()))}\n{NORMAL}")
        return 0
    ctranslate2.export(run, folder, options.quantization)
    size = sum(file.stat().st_size for file in folder.iterdir())
    names = sorted(file.name for file in folder.glob("tokenizer*.json"))
    console = _console.messages()
    console.print(f"{folder}: {options.quantization}, {size / 1e6:.1f} MB")
    console.print(HOW.format(folder=folder, source=names[0]))
    return 0
