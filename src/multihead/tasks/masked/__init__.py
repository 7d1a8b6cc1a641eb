"""The masked-language-modelling task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="masked",
    work="masked language modelling",
    settings="multihead.tasks.masked.settings:SECTIONS",
    setup="multihead.tasks.masked.data:setup",
    load="multihead.tasks.masked.loaded:LoadedMaskFiller.load",
    evaluate="multihead.tasks.masked.evaluation:evaluate",
    inspect="multihead.tasks.masked.loaded:inspect",
    use='fill {run} "... [MASK] ..."',
)
