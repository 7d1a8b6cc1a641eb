"""Results of ``multihead train --dry-run`` as a table."""

from rich.console import Console
from rich.table import Table

from multihead.recipe import tasks
from multihead.training.disk_space import megabytes
from multihead.workflows.dry_run import DryRun
from multihead.workflows.progress_display import format_duration


def show(found: DryRun, console: Console) -> None:
    """Print size, memory, speed and duration of the training."""
    training = found.recipe.training
    most = "at most " if training.schedule == "wsd" else ""
    rows = {
        **found.sizes,
        "parameters": f"{found.parameters:,}",
        "device": f"{found.device}, {found.dtype}",
        "largest batch": ", ".join(f"{count:,} {name}" for name, count in found.largest_batch.items()),
        "peak memory": f"{found.peak_memory / 2**30:.1f} GiB",
        "disk": f"{megabytes(found.space)} for checkpoints, {megabytes(found.free)} free",
        "one epoch": f"{found.batches_per_epoch / training.accumulate:,.0f} updates",
        "training": f"{most}{found.updates:,} updates, {found.epochs:.1f} epochs",
        "speed": f"{found.tokens_per_second:,.0f} {tasks.get_task(found.recipe.task).speed_unit}/s, "
        f"{_short(found.seconds_per_update)} per update",
        "time": f"{most}about {format_duration(3600 * found.hours)}, without validation",
    }
    table = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        table.add_row(name, value)
    console.print(table, soft_wrap=False)


def _short(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{1000 * seconds:.1f} ms"
