"""Tokenise text by the rules of spaCy or Moses.

    multihead tokenise --rules spacy --language de train.de.gz -o spacy/train.de
    gunzip -c train.de.gz | multihead tokenise --rules moses --language de

Writes one line per input line, with a space between tokens. To train on these
tokens, set tokenizer.kind = "spaced"; this reproduces the setting of published
results. Only the rules are used, no model. Needs an extra:
pip install 'multihead[published]'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from multihead.cli import _options
from multihead.cli._writing import in_blocks, write
from multihead.text.lines import STDIN, read_lines
from multihead.text.published import tokeniser


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    file: Annotated[_options.Name, _options.Option(metavar="[FILE]")] = None
    """Text file, plain or compressed. (default: standard input)"""
    rules: Literal["spacy", "moses"] = "spacy"
    """Tokenisation rules."""
    language: Annotated[str, _options.Option(metavar="CODE")]
    """Language of the text, such as de."""
    output: Annotated[_options.File, _options.Option(aliases=("-o",))] = None
    """Output file. (default: standard output)"""
    encoding: _options.Encoding = "utf-8"
    """Text encoding of the input."""


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options = _options.read(Options, arguments)
    tokenise = tokeniser(options.rules, options.language)
    lines = read_lines(options.file or STDIN, options.encoding)
    write((tokenise(block) for block in in_blocks(lines)), options.output)
    return 0
