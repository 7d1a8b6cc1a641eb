"""Terminal output of training: progress bars on a terminal, one line per log interval elsewhere."""

import importlib
import time
from collections.abc import Mapping, Sequence
from textwrap import indent
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.text import Text

from multihead.recipe import Recipe, tasks
from multihead.recipe.settings import Settings
from multihead.recipe.values import spell_value
from multihead.system import plugins
from multihead.system.terminal import escape_unprintable

if TYPE_CHECKING:
    import torch
    from torch import nn

LINE_SECONDS = 10.0
"""Seconds between two plain lines about one stage of preparation."""


class ProgressDisplay:
    """Shows the progress of data preparation and training; an ``Observer`` of ``workflows.train``.

    Progress bars are shown inside a ``with`` block.

    Attributes:
        began: the step at which training started or resumed.
    """

    def __init__(self, console: Console) -> None:
        self.console = console
        self._bars = _Bars(console)
        self._printed_at = time.monotonic()
        self._steps = 0
        self._limited = False  # the number of updates follows from the time
        self._eta, self._unit = "", "tokens"
        self.began = 0

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    # --- preparation --------------------------------------------------------------------------------

    def on_preparation(self, stage: str, done: int, total: int | None) -> None:
        """Show the progress of a stage."""
        self._bars.show(stage, done, total, f"{done:,}" if done else "")
        at_ends = not done or done == total
        due = time.monotonic() - self._printed_at > LINE_SECONDS
        if not self.console.is_terminal and (at_ends or due):
            self._printed_at = time.monotonic()
            self.console.print(f"{stage}: {done:,}" if done else stage)

    def on_data(self, summary: Sequence[str], tokens_per_epoch: int) -> None:
        """Print the description of the data."""
        for line in summary:
            self.console.print(escape_unprintable(line))

    # --- training -----------------------------------------------------------------------------------

    def on_start(
        self, recipe: Recipe[Settings], model: "nn.Module", device: "torch.device", step: int
    ) -> None:
        """Print model size, device and precision, and the step from which training resumes."""
        self._steps, self._unit = recipe.training.steps, tasks.get_task(recipe.task).speed_unit
        self._limited = bool(recipe.training.minutes)
        size = sum(parameter.numel() for parameter in model.parameters())
        hardware: Any = importlib.import_module(
            "multihead.system.hardware"
        )  # here: cleaning needs no PyTorch
        machine = f"{device.type}, {hardware.training_precision(recipe.training.precision, device)}"
        if device.type == "cpu":
            threads = importlib.import_module("torch").get_num_threads()
            machine += f", {threads} thread{'s' if threads > 1 else ''}"
        self.console.print(f"{plugins.display_name(recipe.kind)}: {size:,} parameters, on {machine}")
        self.began = step
        if 0 < step < self._steps:
            of_all = "" if self._limited else f" of {self._steps:,}"
            self.console.print(f"resumed at step {step:,}{of_all}")
        self._bars.show("training", step, self._steps, "")

    def on_step(self, step: int) -> None:
        """Advance the bar."""
        self._bars.show("training", step, self._steps, self._position(step))

    def on_log(self, event: dict[str, Any]) -> None:
        """Show loss, learning rate, gradient norm, throughput and ETA."""
        step, self._eta = event["step"], f"ETA {format_duration(event['eta_seconds'])}"
        if event.get("last", self._steps) < self._steps:  # the cool-down has begun
            self._steps, self._limited = event["last"], False
        facts = [
            f"loss {format_number(event['loss'])}",
            f"learning rate {event['rate']:.1e}",
            f"gradient norm {format_number(event['norm'])}",
            f"{event['tokens_per_second']:,.0f} {self._unit}/s",
        ]
        self._bars.show("training", step, self._steps, self._position(step), facts)
        if not self.console.is_terminal:
            of_all = "" if self._limited else f"/{self._steps}"
            self.console.print("  ".join([f"step {step}{of_all}", *facts, self._eta]))

    def _position(self, step: int) -> str:
        return f"{step:,}{'' if self._limited else f'/{self._steps:,}'}  {self._eta}"

    def on_validation(self, event: dict[str, Any], samples: str) -> None:
        """Print validation metrics and sample outputs."""
        heading = Text(f"step {event['step']:,}", style="bold")
        heading.append(f"  validation {format_metrics(event)}", style="not bold")
        self.console.print(heading, soft_wrap=not self.console.is_terminal)
        if event["best"]:
            self.console.print("  best so far", style="green")
        self._print_indented(samples)

    def _print_indented(self, text: str) -> None:
        """Print lines indented; on a terminal, the wrapped parts of long lines too."""
        text = escape_unprintable(text, keep="\n\t")
        if self.console.is_terminal:
            self.console.print(Padding(Text(text), (0, 0, 1, 2), expand=False), soft_wrap=False)
        else:
            self.console.print(indent(text, "  ") + "\n")


def reasons(recipe: Recipe[Settings]) -> list[str]:
    """Return a line for each setting that was chosen for the corpus, with its reason."""
    values = recipe.values()
    return [
        f"{key} = {spell_value(values[key])}: {why}" for key, why in recipe.reasons.items() if key in values
    ]


class _Bars(Progress):
    """One progress bar with a line of facts below it. Shows nothing without a terminal."""

    def __init__(self, console: Console) -> None:
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[position]}", markup=False),
        )
        self._task: TaskID | None = None
        self._facts = ""
        super().__init__(
            *columns, console=console, transient=True, expand=True, disable=not console.is_terminal
        )

    def show(
        self, stage: str, done: int, total: int | None, position: str, facts: Sequence[str] | None = None
    ) -> None:
        """Update the bar, and the facts if any are given."""
        if self._task is None:
            self._task = self.add_task(stage, total=total, position=position)
        if facts is not None:
            self._facts = "   ".join(facts)
        self.update(self._task, description=stage, completed=done, total=total, position=position)

    def get_renderables(self) -> Any:
        """Yield the bar and the line of facts."""
        yield from super().get_renderables()
        if self._facts:
            facts: RenderableType = Text(self._facts, style="dim", no_wrap=True, overflow="ellipsis")
            yield facts


def format_metrics(metrics: Mapping[str, Any]) -> str:
    """Return metrics as one line, without integers, flags and the metrics of single directions.

    >>> format_metrics({"step": 7, "loss": 3.21456, "bleu": 23.4, "bleu de-en": 21.5})
    'loss 3.215  bleu 23.40'
    """
    return "  ".join(
        f"{name} {format_number(value)}"
        for name, value in metrics.items()
        if isinstance(value, float) and " " not in name
    )


def format_number(value: float) -> str:
    """Return a measured number with a readable number of digits.

    >>> [format_number(value) for value in (0.000312, 3.21456, 12.345, 1382.3, 1e250)]
    ['0.00031', '3.215', '12.35', '1,382', '1e+250']
    """
    if 0 < abs(value) < 0.01 or abs(value) >= 1e9:
        return f"{value:.2g}"
    digits = 0 if abs(value) >= 100 else 2 if abs(value) >= 10 else 3
    return f"{value:,.{digits}f}"


def format_duration(seconds: float) -> str:
    """Return a duration as ``0:42``, ``12:03`` or ``3:04:05``."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
