"""What a dry run found, as a table."""

from rich.console import Console
from rich.table import Table

from multihead.cli._console import duration
from multihead.workflows.dry_run import DryRun


def show(found: DryRun, console: Console) -> None:
    """Print what a training would be."""
    training = found.recipe.training
    sentences, length = found.largest_batch
    rows = {
        "training pairs": f"{len(found.prepared.train):,}",
        "validation pairs": f"{len(found.prepared.valid):,}",
        "vocabulary": " and ".join(f"{size:,}" for size in _vocabularies(found)),
        **{
            f"{side} length": f"median {median:.0f}, 99 % at most {most:.0f}, longest {longest:,} pieces"
            for side, (median, most, longest) in found.lengths.items()
        },
        "parameters": f"{found.parameters:,}",
        "device": f"{found.device}, {found.dtype}",
        "largest batch": f"{sentences:,} pairs of up to {length:,} pieces",
        "peak memory": f"{found.peak_memory / 2**30:.1f} GiB",
        "an epoch": f"{found.batches_an_epoch / training.accumulate:,.0f} updates",
        "in all": f"{training.steps:,} updates, {found.epochs:.1f} epochs",
        "speed": f"{found.tokens_a_second:,.0f} tokens/s, {found.seconds_an_update:.2f} s an update",
        "time": f"about {duration(3600 * found.hours)} (validations not counted)",
    }
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table, soft_wrap=False)


def _vocabularies(found: DryRun) -> list[int]:
    source, target = found.prepared.source_tokenizer, found.prepared.target_tokenizer
    return [source.vocab_size] if source is target else [source.vocab_size, target.vocab_size]
