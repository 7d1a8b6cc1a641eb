"""Search settings of a run, with overrides from the command line."""

from collections.abc import Mapping
from typing import Annotated

from multihead import recipe as recipes
from multihead import run
from multihead.cli import _options
from multihead.recipe.settings import SearchSettings
from multihead.run.search_record import SearchRecord
from multihead.system import native_library
from multihead.system.imports import is_installed
from multihead.tasks.translation.lines.loading import needs_pytorch

Precision = Annotated[
    native_library.Precision,
    _options.Option(
        help="Precision of matrix products. int8 is fastest and slightly less exact; it needs a CPU and the "
        "native kernels. auto is bf16 if the hardware supports it, otherwise fp32."
    ),
]
"""The option ``--precision`` of commands that translate."""


def search_settings(folder: str, given: Mapping[str, object]) -> SearchSettings:
    """Return the search settings of a run with dotted keys overridden (``search.beam_size``).

    Raises:
        UserError: not a translator's run folder, an unknown key, or an invalid value.
    """
    if (record := SearchRecord.read(folder)) is not None:
        return record.settings(given)
    if not is_installed("torch"):
        raise needs_pytorch(folder)
    opened = run.Run.open(folder).fit_for("translation")
    settings: SearchSettings = recipes.load(opened.folder / "recipe.toml", given).search
    return settings
