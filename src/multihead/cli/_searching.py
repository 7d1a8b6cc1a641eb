"""How to search: as the run's recipe says, but for what the command line says."""

from collections.abc import Mapping

from multihead import recipe as recipes
from multihead.run import Run
from multihead.settings import SearchSettings


def search_settings(folder: str, given: Mapping[str, object]) -> SearchSettings:
    """Return the search settings of a run, changed by dotted keys (``search.beam_size``).

    Raises:
        UserError: not a run, not a translator's; an unknown key, a value of the wrong kind or out of range.
    """
    run = Run.open(folder).fit_for("translation")
    found: SearchSettings = recipes.load(run.folder / "recipe.toml", given).search
    return found
