"""How to search: as the run's recipe says, but for what the command line says."""

from collections.abc import Mapping
from typing import Annotated

import tyro

from multihead import hardware
from multihead import recipe as recipes
from multihead.run import Run
from multihead.settings import SearchSettings

Precision = Annotated[
    hardware.Precision,
    tyro.conf.arg(
        help="Of matrix products while translating: fp32, bf16, int8 (fastest, a little less exact; on a "
        "CPU, with the native part), or auto: bf16 where the processor computes in it."
    ),
]
"""An option of what translates."""


def search_settings(folder: str, given: Mapping[str, object]) -> SearchSettings:
    """Return the search settings of a run, changed by dotted keys (``search.beam_size``).

    Raises:
        UserError: not a run, not a translator's; an unknown key, a value of the wrong kind or out of range.
    """
    run = Run.open(folder).fit_for("translation")
    found: SearchSettings = recipes.load(run.folder / "recipe.toml", given).search
    return found
