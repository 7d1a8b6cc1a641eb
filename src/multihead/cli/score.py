"""Print the log-probability of given translations.

    multihead score runs/de-en --src test.de --tgt test.en > scores.txt

Each line of the output is the natural logarithm of the probability of one
target sentence, including its end symbol. A pair that is too long for the model
gets "nan".
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Annotated

from multihead import recipe as recipes
from multihead.cli import _console, _directions, _options
from multihead.cli._effect import FILE_READING
from multihead.cli._writing import write
from multihead.data.pairs import read_pairs
from multihead.errors import UserError
from multihead.recipe.settings import DataSettings
from multihead.run import Run
from multihead.tasks.translation.lines import PairScore, Translator
from multihead.tasks.translation.without_effect import refuse_fields, refuse_keys

CHUNK = 4096
"""Number of pairs scored together."""


USED = {"data": FILE_READING}
"""Keys of a recipe that have an effect here."""


@dataclass(frozen=True)
class Options:
    """Options of the command."""

    runs: _options.RunFolders
    """Run folder(s); several form an ensemble."""
    src: _options.Files
    """File(s) of the source side, or TSV, CSV or JSONL files with both sides."""
    tgt: _options.Files = ()
    """File(s) of the target side, aligned with the source line by line."""
    output: Annotated[_options.File, _options.Option(aliases=("-o",))] = None
    """Output file, which appears when it is complete. (default: standard output)"""
    to: _directions.To = None
    """Target language, for a model of several directions."""
    of: _directions.From = None
    """Source language; checks that the direction was trained."""
    tags: _directions.Tags = ()
    """Domains of the text ("legal"), for a model trained with them."""
    zero_shot: _directions.ZeroShot = False
    """Allow a direction that was never trained."""
    per_token: _options.Flag = False
    """Divide by the number of target tokens, including the end symbol."""
    encoding: Annotated[str | None, _options.Option(metavar="ENCODING")] = None
    """Text encoding of the files. (default: that of the run)"""
    device: _options.Device = "auto"


def main(arguments: Sequence[str]) -> int:
    """Run the command."""
    options, keys = _options.read_with_keys(Options, arguments, sections=("data",), used=USED)
    run = Run.open(options.runs[0]).fit_for("translation")
    if options.encoding is not None:
        refuse_keys(keys, ("data.encoding",), "beside --encoding")
    overrides = {**keys, **({} if options.encoding is None else {"data.encoding": options.encoding})}
    data = recipes.load(run.folder / "recipe.toml", overrides).data
    refuse_fields(keys, data, options.src)
    translator = _directions.choose_direction(
        Translator.load(*options.runs, device=options.device),
        options.to,
        options.of,
        options.tags,
        zero_shot=options.zero_shot,
    )
    total = Total()
    write(_blocks(translator, total, options, data), options.output)
    _console.messages().print(str(total))
    return 0


@dataclass
class Total:
    """Sums over the scored pairs."""

    pairs: int = 0
    tokens: int = 0
    log_probability: float = 0.0

    def add(self, score: PairScore) -> None:
        """Add a pair unless it was not scored."""
        if score.note is None:
            self.pairs += 1
            self.tokens += len(score.token_log_probabilities)
            self.log_probability += score.log_probability

    def __str__(self) -> str:
        if not self.tokens:
            return "no pair was scored"
        perplexity = math.exp(min(700.0, -self.log_probability / self.tokens))
        rounded = f"{perplexity:.3f}" if perplexity < 1e9 else f"{perplexity:.3g}"
        return (
            f"{self.pairs:,} pairs, {self.tokens:,} tokens, log-probability {self.log_probability:.2f}, "
            f"perplexity {rounded} per token"
        )


def _blocks(
    translator: Translator, total: Total, options: Options, data: DataSettings
) -> Iterator[list[str]]:
    pairs = read_pairs(data.model_copy(update={"dir": "."}), options.src, options.tgt)
    number = 0
    while chunk := list(islice(pairs, CHUNK)):
        scores = translator.score(chunk)
        for pair, score in enumerate(scores, start=number + 1):
            if score.note is None and not math.isfinite(score.log_probability):
                fact = f"pair {pair:,}: the model's log-probability is {score.log_probability}"
                raise UserError(fact, remedy="The training diverged or the weights are damaged; train again.")
            total.add(score)
            if score.note:
                _console.messages().print(f"pair {pair:,}: {score.note}")
        yield [_spell(score, per_token=options.per_token) for score in scores]
        number += len(chunk)


def _spell(score: PairScore, *, per_token: bool) -> str:
    count = len(score.token_log_probabilities) if per_token else 1
    return f"{score.log_probability / max(1, count):.4f}"
