"""Translate monolingual text back into pairs to train on.

    multihead synthesise runs/en-de mono.en -o synthetic
    multihead train --src train.de --tgt train.en --synthetic synthetic

The run translates back: from the language of the text, which becomes the
target side, into the source language of the translator to train. The same
command resumes. Search keys choose how: beam search, --method sample, or
--noise, which drops and moves words. `multihead train --mono mono.en` does all
of it by itself.
"""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from multihead.apps.corpus.synthesis import languages_of, synthesise
from multihead.cli import _console, _directions, _options
from multihead.cli._searching import Precision, search_settings
from multihead.errors import UserError
from multihead.run import Run
from multihead.system import hardware
from multihead.tasks.translation.lines import Translator
from multihead.tasks.translation.without_effect import refuse_other_methods
from multihead.text.lines import STDIN
from multihead.workflows.progress_display import ProgressDisplay


@dataclass(frozen=True)
class Options:
    """Options of the command besides search settings."""

    run: _options.RunFolder
    """Run folder of a translator from the language of the text."""
    mono: Annotated[tuple[str, ...], _options.POSITIONAL, _options.Option(metavar="TEXT...")]
    """Text file(s), a sentence a line, plain or compressed."""
    output: _options.NewFolder
    """Folder for the pairs."""
    noise: _options.Flag = False
    """Drop a tenth of the words of each translation, and move words by up to three places."""
    to: _directions.To = None
    """Language to translate the text into, for a model of several directions."""
    of: _directions.From = None
    """Language of the text; checks that the direction was trained."""
    encoding: _options.Encoding = "utf-8"
    """Text encoding of the text."""
    device: _options.Device = "auto"
    precision: Precision = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=("search",), short="search")
    if STDIN in options.mono:
        raise UserError("the text is read more than once", place=STDIN, remedy="Save it to a file.")
    search = search_settings(options.run, keys).model_copy(update={"n_best": 1})
    refuse_other_methods(keys, search.method)
    hardware.keep_memory()
    run = Run.open(options.run)
    translator = Translator.load(options.run, device=options.device, precision=options.precision)
    translator = _directions.choose_direction(translator, options.to, options.of, (), zero_shot=False)
    console = _console.output()
    with ProgressDisplay(console) as display:
        report = synthesise(
            [Path(options.run)],
            options.mono,
            Path(options.output),
            translator,
            search,
            noise=options.noise,
            languages=_languages(run, translator),
            encoding=options.encoding,
            progress=display.on_preparation,
        )
    console.print(report, soft_wrap=True)
    folder = shlex.quote(options.output)
    console.print(
        f"to train on them: multihead train --src FILE --tgt FILE --synthetic {folder}", soft_wrap=True
    )
    return 0


def _languages(run: Run, translator: Translator) -> tuple[str, str]:
    """Return the codes of the translations and of the text, "" if the text may be in several languages."""
    if translator.asked is None or translator.directions is None:
        source, target = languages_of(run)
        return target, source
    target = translator.asked.target
    possible = [source for source, to in translator.directions.trained if to == target]
    source = translator.asked.source or (possible[0] if len(possible) == 1 else "")
    return (target, source) if source else ("", "")
