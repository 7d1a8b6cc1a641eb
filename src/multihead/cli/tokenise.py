"""Cut text into words as spaCy or Moses do.

    multihead tokenise --rules spacy --language de train.de.gz -o spacy/train.de
    gunzip -c train.de.gz | multihead tokenise --rules moses --language de

Writes a line for each line, one space between words. A training on such text
takes the words as they stand with tokenizer.kind = "spaced", for figures in a
publisher's own setting. Rules only, no model is loaded; needs
pip install 'multihead[published]'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import tyro

from multihead.cli import _options
from multihead.cli._writing import in_blocks, write
from multihead.errors import UserError
from multihead.text.lines import STDIN, read_lines
from multihead.text.published import tokeniser


@dataclass(frozen=True)
class Options:
    """What can be said."""

    file: Annotated[_options.Name, tyro.conf.arg(metavar="[FILE]")] = None
    """Text, plain or compressed; standard input if none is named."""
    rules: Literal["spacy", "moses"] = "spacy"
    """Whose rules."""
    language: _options.Word = ""
    """Language of the text, e.g. de."""
    output: Annotated[_options.File, tyro.conf.arg(aliases=["-o"])] = None
    """File to write; standard output if none is named."""
    encoding: _options.Word = "utf-8"
    """Text encoding of the input."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    if not options.language:
        raise UserError("the language is not named", remedy="Say --language de, or which it is.")
    cut = tokeniser(options.rules, options.language)
    lines = read_lines(options.file or STDIN, options.encoding)
    write((cut(block) for block in in_blocks(lines)), options.output)
    return 0
