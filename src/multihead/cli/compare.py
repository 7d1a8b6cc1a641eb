"""Compare trained translators in one HTML report.

    multihead compare runs/lstm runs/attention runs/transformer -o report.html
    multihead compare runs/a runs/b --src test.de --tgt test.en -o report.html

The report has scores, learning curves, sentences and alignments on one page
that works offline. Every run is compared with the first one (paired bootstrap).
The default test sets are those of the first run's recipe.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from rich.console import Console
from rich.table import Table

from multihead import recipe as recipes
from multihead.cli import _console, _options
from multihead.cli._counting import progress_bar
from multihead.cli._effect import FILE_READING, SEARCH_OF_THE_BEST
from multihead.inspect.report import RunComparison, RunFacts, TestSetResults, compare_page
from multihead.inspect.report.compared_numbers import to_dict
from multihead.run import files
from multihead.scores import Comparison, format_perplexity
from multihead.system.progress import OnProgress
from multihead.tasks.translation.compare import comparable_runs, compare_runs, requested_tests
from multihead.tasks.translation.evaluate import named_sources
from multihead.tasks.translation.without_effect import refuse_fields, refuse_keys, refuse_other_methods

USED = {"search": SEARCH_OF_THE_BEST, "data": ("dir", "tests", *FILE_READING)}
"""Keys of a recipe that have an effect here."""


@dataclass(frozen=True)
class Options:
    """Options of the command besides recipe keys."""

    runs: _options.RunFolders
    """Run folders; the first is the baseline."""
    src: _options.File = None
    """Source side of the test set, or a TSV, CSV or JSONL file with both sides."""
    tgt: _options.File = None
    """Target side of the test set."""
    output: Annotated[str, _options.Option(aliases=("-o",), metavar="FILE")] = "report.html"
    """HTML file to write."""
    json: _options.File = None
    """Also write all numbers to this file, as JSON."""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(
        Options, arguments, sections=("search", "data"), short="search", used=USED
    )
    for path in filter(None, (options.output, options.json)):
        files.check_file(path)
    fit = comparable_runs(options.runs)
    if options.src:
        refuse_keys(keys, ("data.dir", "data.tests"), "on files that --src names")
    for folder in fit.folders:
        recipe = recipes.load(Path(folder) / "recipe.toml", keys)
        refuse_other_methods(keys, recipe.search.method)
        refuse_fields(keys, recipe.data, named_sources(recipe.data, options.src))
    tests, notes = requested_tests(fit.folders, options.src, options.tgt, keys)
    with _progress() as progress:
        compared = compare_runs(
            fit.folders,
            tests,
            given=keys,
            notes=[*fit.notes, *notes],
            device=options.device,
            progress=progress,
        )
    compare_page(compared).save(options.output)
    if options.json:
        numbers = json.dumps(to_dict(compared), indent=2, ensure_ascii=False, allow_nan=False)
        files.write_text(Path(options.json), f"{numbers}\n")
    console = _console.output()
    lowercase = any(run.settings.get("data.lowercase") == "true" for run in compared.runs)
    for test in compared.tests:
        show(compared.runs, test, console, lowercase=lowercase)
    _show_notes(compared)
    console.print(f"report: {options.output}")
    return 0


@contextmanager
def _progress() -> Iterator[OnProgress]:
    """Show a progress bar during the block."""
    with progress_bar("translating") as bar:
        yield lambda stage, done, total: bar(done, total)


def show(
    runs: Sequence[RunFacts], test: TestSetResults, console: Console, *, lowercase: bool = False
) -> None:
    """Print the scores on a test set.

    Args:
        runs: the runs.
        test: their results.
        console: output.
        lowercase: print lower-cased scores, for runs of which one was trained on lower-cased text.
    """
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("run")
    for name in ("perplexity", "BLEU", "chrF", "BLEU versus the first"):
        table.add_column(name, justify="right", no_wrap=True)
    for i, (run, result) in enumerate(zip(runs, test.runs, strict=True)):
        scores = result.lowercase if lowercase else result.cased
        table.add_row(
            run.name,
            format_perplexity(result.perplexity),
            _interval(scores["bleu"]),
            _interval(scores["chrf"]),
            _difference(scores["bleu"]) if i else "",
        )
    console.print(f"{test.name}: {test.pairs:,} pairs{', lower-cased' if lowercase else ''}")
    console.print(table, soft_wrap=False)
    console.print()


def _interval(comparison: Comparison) -> str:
    return f"{comparison.system.score:.2f} ± {comparison.system.half_width:.2f}"


def _difference(comparison: Comparison) -> str:
    difference = comparison.system.score - comparison.baseline.score
    return f"{difference:+.2f}, p = {comparison.p_value:.3f}" + ("" if comparison.significant else " (n.s.)")


def _show_notes(compared: RunComparison) -> None:
    for note in compared.notes:
        _console.messages().print(note, style="yellow")
