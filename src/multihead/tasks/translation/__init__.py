"""The translation task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="translation",
    work="translation",
    settings="multihead.recipe.settings.translation:SECTIONS",
    setup="multihead.tasks.translation.data:setup",
    load="multihead.tasks.translation.loaded:LoadedTranslator.load",
    inspect="multihead.tasks.translation.inspection:inspect",
    use="translate {run}",
    ensembles=True,
)
