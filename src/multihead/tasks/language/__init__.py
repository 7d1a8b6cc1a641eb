"""The language-modelling task."""

from multihead.recipe.tasks import Task

TASK = Task(
    name="language",
    work="text generation",
    settings="multihead.tasks.language.settings:SECTIONS",
    setup="multihead.tasks.language.data:setup",
    suggest="multihead.tasks.language.suggest:suggest",
    load="multihead.tasks.language.loaded:LoadedTextGenerator.load",
    evaluate="multihead.tasks.language.evaluation:evaluate",
    inspect="multihead.tasks.language.loaded:inspect",
    use='generate {run} --prompt "..."',
)
