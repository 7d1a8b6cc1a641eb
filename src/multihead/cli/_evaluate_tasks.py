"""``multihead evaluate`` for models that do not translate."""

import json
from collections.abc import Sequence

from multihead.cli import _console
from multihead.errors import UserError
from multihead.recipe import tasks
from multihead.run import Run
from multihead.tasks.test_sets import Results


def run(folders: Sequence[str], files: tuple[str, ...], *, json_: bool, device: str) -> int:
    """Evaluate runs on files, or on the test sets of their recipes, and print the scores.

    Raises:
        UserError: there is no test set; a file cannot be read.
    """
    results: dict[str, dict[str, Results]] = {}
    for folder in folders:
        results[folder] = tasks.get_task(Run.open(folder).task).part("evaluate")(folder, files, device)
        if not results[folder]:
            fact = "no test set is named, and the run's recipe has none"
            raise UserError(fact, place=folder, remedy="Give files with --src.")
    if json_:
        shown = results[folders[0]] if len(folders) == 1 else results
        print(json.dumps(shown, indent=2, ensure_ascii=False))
        return 0
    console = _console.output()
    for folder, sets in results.items():
        for name, scores in sets.items():
            console.print(f"{folder} on {name}:")
            width = max(map(len, scores))
            for label, value in scores.items():
                console.print(f"  {label:{width}}  {_show(value)}")
    return 0


def _show(value: object) -> str:
    if value is None:
        return "undefined (no such object)"
    return f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
